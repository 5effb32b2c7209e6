"""Reading of streams, files and corpora, in the ways that tests of the readers need."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from canvass.traces.arrow import sources_of
from canvass.traces.errors import TraceError
from canvass.traces.ndjson import EventReader
from canvass.traces.parquet import DatasetFile, FactFinder
from canvass.traces.run import Corpus, LoadedRun
from canvass.traces.schema import Event, encode
from support.trace_events import plain_event

LINE = encode(plain_event(0)).decode()
NEXT = encode(plain_event(1)).decode()


class Pieces:
    """Bytes that come in pieces of one size."""

    def __init__(self, data: bytes, size: int) -> None:
        self._file = BytesIO(data)
        self._size = size

    def read(self, size: int, /) -> bytes:
        return self._file.read(min(size, self._size))


def reader_of(data: bytes, piece: int = 1 << 20) -> EventReader:
    return EventReader(Pieces(data, piece), "s", 0)


def read(data: bytes, piece: int = 1 << 20) -> tuple[list[Event], EventReader]:
    reader = reader_of(data, piece)
    return list(reader), reader


def outcome(data: bytes, piece: int) -> Any:
    """The events, facts and number of lines that a reader gives for some bytes, or its error."""
    try:
        events, reader = read(data, piece)
    except TraceError as error:
        return error.args
    return events, reader.facts, reader.lines


def refusal(data: bytes) -> TraceError:
    with pytest.raises(TraceError) as caught:
        read(data)
    return caught.value


def load_file(path: Path) -> Iterator[LoadedRun]:
    """All runs of a file of a data set."""
    finder, events = FactFinder(), dict[tuple[str, int], list[Event]]()
    with DatasetFile(path) as file:
        for table, columns in file.read():
            finder.look(columns)
            for row, source in enumerate(sources_of(table)):
                name = columns.runs[columns.run[row]], int(columns.member[row])
                events.setdefault(name, []).append(replace(columns.event(row), source=source))
        for run_id, entry in file.runs.items():
            own = {i: tuple(found) for (run, i), found in events.items() if run == run_id}
            yield LoadedRun(entry.run, own, tuple(finder.facts_of(entry)))


def load_corpus(path: Path) -> list[LoadedRun]:
    """All runs of a corpus."""
    corpus = Corpus(path)
    found = [folder.load() for folder in corpus.run_folders()]
    return found + [run for file in corpus.files for run in load_file(file)]

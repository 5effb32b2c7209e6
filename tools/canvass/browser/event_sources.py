"""Which lines of event logs the events of a run account for, and the lines themselves.

A run that was not imported has no such lines. The logs are not part of a run: they are looked for
where the page imported them from, else in the run's folder and beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from canvass.traces.aeron_log.errors import AeronLogError
from canvass.traces.aeron_log.source import LogSource
from canvass.traces.arrow import sources_of
from canvass.traces.parquet import DatasetFile
from canvass.traces.run import RunFolder
from canvass.traces.schema import Source
from canvass.traces.streams import StreamFile

PIECE_BYTES: Final = 1 << 18
MAX_LINES: Final = 8
"""Of one event: more are counted."""


class _Line(msgspec.Struct):
    step: int
    source: Source | None = None


class EventSources:
    """The sources of a run's events, by member and step.

    Parameters
    ----------
    path
        The run folder, or the file of a data set.
    run_id
        Which run of it.
    logs
        Where the logs are that the run was imported from, if that is known.
    """

    def __init__(self, path: Path, run_id: str, logs: Path | None = None) -> None:
        found = _of_folder(path) if path.is_dir() else _of_data_set(path, run_id)
        self._sources = {(member, step): source for member, step, source in found}
        self._folders = (path, path.parent) if logs is None else (logs, logs.parent)

    def __bool__(self) -> bool:
        """Say whether the run was imported from logs."""
        return bool(self._sources)

    def of(self, member: int, step: int) -> Source | None:
        """Give the source of a step; None if no line shows it."""
        return self._sources.get((member, step))

    def lines(self, source: Source) -> tuple[str, ...]:
        """Give the lines themselves; none if the log is not found."""
        log = self._log(source.file)
        if log is None:
            return ()
        try:
            return tuple(_lines_of(log, source.lines[:MAX_LINES]))
        except AeronLogError:
            return ()

    def _log(self, name: str) -> Path | None:
        # A run may come from elsewhere: no other file than a log with a plain name is read.
        if Path(name).name != name or ".log" not in name:
            return None
        for folder in self._folders:
            found = folder / name
            if found.is_file() and not found.is_symlink():
                return found
        return None


def place_text(source: Source) -> str:
    """Write where a source is: the file without its packing, and the first and last line."""
    name = source.file.removesuffix(".gz").removesuffix(".zst")
    first, last = source.lines[0], source.lines[-1]
    return f"{name}:{first}" if first == last else f"{name}:{first}-{last}"


def _of_folder(path: Path) -> Iterator[tuple[int, int, Source]]:
    decoder = msgspec.json.Decoder(_Line)
    for member, stream in RunFolder(path).streams.items():
        with StreamFile(stream) as opened:
            rest = b""
            while piece := opened.read(PIECE_BYTES):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if b'"source"' in line:
                        found = decoder.decode(line)
                        if found.source is not None and found.source.lines:
                            yield member, found.step, found.source


def _of_data_set(path: Path, run_id: str) -> Iterator[tuple[int, int, Source]]:
    with DatasetFile(path) as file:
        for number in file.groups_of(run_id):
            table = file.table(number)
            columns = (table.column(name).to_pylist() for name in ("run", "member", "step"))
            for run, member, step, source in zip(*columns, sources_of(table), strict=True):
                if run == run_id and source is not None and source.lines:
                    yield member, step, source


def _lines_of(log: Path, wanted: tuple[int, ...]) -> Iterator[str]:
    """Read some lines of a log, in ascending order."""
    number, rest, waiting = 0, b"", list(wanted)
    for piece in LogSource(log).pieces():
        *lines, rest = (rest + piece).split(b"\n")
        while waiting and waiting[0] <= number + len(lines):
            yield lines[waiting.pop(0) - number - 1].decode("utf-8", "replace")
        number += len(lines)
        if not waiting:
            return
    if waiting and waiting[0] == number + 1 and rest:
        yield rest.decode("utf-8", "replace")

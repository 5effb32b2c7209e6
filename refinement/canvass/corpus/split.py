"""Units that are too large for one task, split into parts: row groups of a file, bytes of streams.

The driver splits large units. It reads no events, only a file's footer or ``run.json``. A unit that
cannot be opened stays whole, and its reader says what is wrong. Compressed streams and Aeron's logs
can be read only from their beginning, so they are not split.

A task reads the bytes of its part as whole lines, with the line before them. A line belongs to the
range that has its first byte. So each line is in exactly one range.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from canvass.corpus.plan import TASK_COST, Part, Unit, UnitKind, cost_of, on_this_machine
from canvass.traces.columns import EventColumns, read_columns
from canvass.traces.errors import Code, TraceError
from canvass.traces.limits import MAX_LINE_BYTES
from canvass.traces.ndjson import EventReader
from canvass.traces.parquet import DatasetFile
from canvass.traces.run import RunFolder
from canvass.traces.streams import StreamFile, open_regular


def split_large(units: Iterable[Unit], cost: int = TASK_COST) -> list[Unit]:
    """Replace each unit that costs more than two tasks should by parts that cost about as much."""
    return [part for unit in units for part in _parts(unit, cost)]


def _parts(unit: Unit, cost: int) -> list[Unit]:
    if unit.cost <= 2 * cost or unit.kind not in (UnitKind.FILE, UnitKind.RUN):
        return [unit]
    places = _row_groups if unit.kind is UnitKind.FILE else _byte_ranges
    try:
        with on_this_machine([unit], outline=True) as (here,):
            found = list(places(here, cost))
    except (TraceError, OSError):
        return [unit]
    if len(found) < 2:
        return [unit]
    return [
        replace(unit, cost=share, part=replace(part, number=number))
        for number, (part, share) in enumerate(found)
    ]


def _row_groups(unit: Unit, cost: int) -> Iterator[tuple[Part, int]]:
    with DatasetFile(unit.location) as file:
        count = file.row_groups
    pieces = min(count, -(-unit.cost // cost))
    for piece in range(pieces):
        first, end = piece * count // pieces, (piece + 1) * count // pieces
        yield Part(0, first, end, end == count), unit.cost // pieces


def _byte_ranges(unit: Unit, cost: int) -> Iterator[tuple[Part, int]]:
    for member, path in RunFolder(unit.location).streams.items():
        size = path.lstat().st_size
        whole = cost_of(path.name, size)
        pieces = 1 if path.suffix != ".ndjson" else max(1, -(-whole // cost))
        for piece in range(pieces):
            first, end = piece * size // pieces, (piece + 1) * size // pieces
            yield Part(0, first, end, end == size, member), whole // pieces


_STEP = 1 << 14


class RangeReader:
    """The events of a range of a member's stream.

    Parameters
    ----------
    path, first, end
        The stream's file, and the range; a compressed file is read whole.
    run_id, member_id, member_count
        Run and member of the stream.

    Attributes
    ----------
    reader
        Knows at the end which steps are missing; its line 1 is the context line, if there is one.
    context
        Whether the line before the range was read first.
    """

    def __init__(
        self, path: Path, first: int, end: int, run_id: str, member_id: int, member_count: int
    ) -> None:
        self._source: _Lines | StreamFile
        if path.suffix == ".ndjson":
            self._source = _Lines(path, first, end)
            self.context = self._source.context
        else:
            self._source = StreamFile(path)
            self.context = False
        self.reader = EventReader(self._source, str(path), member_id, member_count)
        self._columns = read_columns(self.reader, run_id, member_count)

    def batches(self) -> Iterator[EventColumns]:
        """Yield the events; the context line is a context row.

        Raises
        ------
        TraceError
            At the first line that is no event. Its line number counts from the range's first line.
        """
        for number, (columns, _) in enumerate(self._columns):
            own = columns
            if self.context and not number:
                own = dataclasses.replace(columns, context=1)
            if len(own) > own.context:
                yield own

    def close(self) -> None:
        """Close the file."""
        self._source.close()


class _Lines:
    """The bytes of a range: from the line before it to the end of its last line."""

    def __init__(self, path: Path, first: int, end: int) -> None:
        self._name = str(path)
        self._file: BinaryIO = open_regular(path, self._name)
        self._size = self._file.seek(0, 2)
        start, self._left = self._line_at(first), self._line_at(end)
        self.context = start > 0 and start < self._left
        at = self._line_before(start) if self.context else start
        self._left -= at
        self._file.seek(at)

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, none at the end."""
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _line_at(self, place: int) -> int:
        """Return where the first line begins that begins at a place or later."""
        if place <= 0 or place >= self._size:
            return max(0, min(place, self._size))
        self._file.seek(place - 1)
        line = self._file.readline(MAX_LINE_BYTES + 2)
        if not line.endswith(b"\n") and place - 1 + len(line) < self._size:
            raise self._too_long()
        return place - 1 + len(line)

    def _line_before(self, place: int) -> int:
        """Return where the line begins that ends just before a place."""
        end = place - 1
        at = end
        while at > 0:
            low = max(0, at - _STEP)
            self._file.seek(low)
            found = self._file.read(at - low).rfind(b"\n")
            if found >= 0:
                return low + found + 1
            at = low
            if end - at > MAX_LINE_BYTES:
                raise self._too_long()
        return 0

    def _too_long(self) -> TraceError:
        reason = f"more than {MAX_LINE_BYTES} bytes"
        return TraceError(Code.LINE_TOO_LONG, self._name, 0, 1, reason)

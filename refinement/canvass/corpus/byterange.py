"""A range of bytes of a plain stream, read as whole lines with the line before them.

A line belongs to the range that its first byte is in, so that ranges that meet share no line and
leave none out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Self

from canvass.traces.column_builder import read_columns
from canvass.traces.columns import EventColumns
from canvass.traces.errors import Code, TraceError
from canvass.traces.limits import MAX_LINE_BYTES
from canvass.traces.ndjson import EventReader
from canvass.traces.streams import StreamFile, open_regular

_STEP = 1 << 14


class RangeReader:
    """The events of a range of a member's stream.

    Parameters
    ----------
    path, first, end
        The stream's file, and the range; a compressed file is read whole.
    run_id, member_id, member_count
        Whose stream it is.

    Attributes
    ----------
    reader
        Tells afterwards which steps are missing, in lines counted from the context line.
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
        """Give the events; the context line is a context row.

        Raises
        ------
        TraceError
            At the first line that is no event. Its line is not that of the file.
        """
        for number, (columns, _) in enumerate(self._columns):
            own = columns
            if self.context and not number:
                own = replace(columns, context=1)
            if len(own) > own.context:
                yield own

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def __enter__(self) -> Self:
        """Give the reader."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the file."""
        self.close()


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
        """Give the next bytes, none at the end."""
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _line_at(self, place: int) -> int:
        """Give where the first line begins that begins there or later."""
        if place <= 0 or place >= self._size:
            return max(0, min(place, self._size))
        self._file.seek(place - 1)
        line = self._file.readline(MAX_LINE_BYTES + 2)
        if not line.endswith(b"\n") and place - 1 + len(line) < self._size:
            raise self._too_long()
        return place - 1 + len(line)

    def _line_before(self, place: int) -> int:
        """Give where the line begins that ends just before."""
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

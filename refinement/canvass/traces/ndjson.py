"""NDJSON: a member's stream, one event a line. msgspec decodes and encodes it.

A block of whole lines is decoded at once. A block that msgspec refuses is decoded again line by
line. So the error has the line, and its reason, from msgspec, has the path in the JSON.

The invariant: for any bytes, a reader yields events or raises one `TraceError`.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TypeVar, cast

import msgspec
import zstandard

from canvass.cluster.messages import NULL_VALUE
from canvass.traces.errors import Code, TraceError, file_named_in_errors
from canvass.traces.schema import (
    MAX_LINE_BYTES,
    Event,
    Fact,
    FactKind,
    Run,
    encode_lines,
    event_problem,
)
from canvass.traces.streams import Source

BLOCK_BYTES: Final = 1 << 16
"""The bytes of one read. The number is large, so that calls cost little. It is small, so that the
block fits into the caches and the allocator reuses its memory.
"""
MAX_GAPS: Final = 1_000
"""The most gaps that are kept for one stream. One gap decides the verdict, others help the user."""

_EVENTS: Final = msgspec.json.Decoder(Event)
_RUN: Final = msgspec.json.Decoder(Run)
_REFUSALS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError, ValueError)

_T = TypeVar("_T")


class EventReader:
    """Events of one member's stream, in batches.

    Parameters
    ----------
    source
        The bytes of the stream, in pieces of any size.
    name
        The name of the stream in errors.
    member_id
        The member of the stream.
    member_count
        The number of members of the cluster, if known.
    run_id
        The run of the stream, for its facts.

    Attributes
    ----------
    member_id
        As given.
    facts
        What is missing so far: a late start and gaps, together at most `MAX_GAPS`. After the last
        batch also the place where the stream stops within a line, if it does.
    lines
        Lines read so far.
    """

    def __init__(
        self,
        source: Source,
        name: str,
        member_id: int,
        member_count: int | None = None,
        run_id: str = "",
    ) -> None:
        self._source = source
        self._name = name
        self.member_id = member_id
        self._member_count = member_count
        self._next_step = 0
        self._run_id = run_id
        self.facts: list[Fact] = []
        self.lines = 0

    def __iter__(self) -> Iterator[Event]:
        """Yield the events; raise `TraceError` at the first line that is not an event."""
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[Event]]:
        """Yield the events in batches.

        Raises
        ------
        TraceError
            At the first line that is not an event. Events before it in its block are not yielded.
        """
        rest = b""
        while data := self._source.read(BLOCK_BYTES):
            rest += data
            start = 0
            while end := (rest.rfind(b"\n", start, start + 2 * BLOCK_BYTES) + 1) or (
                rest.find(b"\n", start) + 1
            ):
                yield self._block(rest[start:end])
                start = end
            rest = rest[start:]
            if len(rest) > MAX_LINE_BYTES:
                raise self._error(Code.LINE_TOO_LONG, f"more than {MAX_LINE_BYTES} bytes")
        if rest:
            try:
                events = self._block(rest + b"\n")
            except TraceError as error:
                if not _is_cut(rest):
                    raise
                self._note(FactKind.TRUNCATED, error.line, detail="the last line is incomplete")
            else:
                yield events
        if not self.is_truncated and getattr(self._source, "cut", False):
            detail = "the compressed file stops early"
            self._note(FactKind.TRUNCATED, self.lines + 1, detail=detail)

    @property
    def is_truncated(self) -> bool:
        """Whether the stream stops within a line; only known after the last batch."""
        return any(fact.kind is FactKind.TRUNCATED for fact in self.facts)

    def _note(self, kind: FactKind, line: int, step: int = NULL_VALUE, detail: str = "") -> None:
        self.facts.append(Fact(kind, self._run_id, self.member_id, step, line, detail))

    def _block(self, block: bytes) -> list[Event]:
        """Decode whole lines."""
        try:
            events = _EVENTS.decode_lines(block)
        except _REFUSALS:
            events = []
        if len(events) != block.count(b"\n"):
            lines = block[:-1].split(b"\n")
            events = [self._line(line, number) for number, line in enumerate(lines, self.lines + 1)]
        for number, event in enumerate(events, self.lines + 1):
            self._check(event, number)
        self.lines += len(events)
        return events

    def _line(self, line: bytes, number: int) -> Event:
        if not line.strip(b" \t\r"):
            raise TraceError(Code.EMPTY_LINE, self._name, number, 0, "a line without an event")
        return decode_document(_EVENTS, line, self._name, number)

    def _check(self, event: Event, number: int) -> None:
        """Check the contents of a decoded event, and its place in the stream."""
        problem = event_problem(event, self.member_id)
        members, step, due = len(event.state.members), event.step, self._next_step
        if members != self._member_count:
            if self._member_count is not None:
                problem = f"state.members does not have {self._member_count} records"
            self._member_count = members
        if step != due:
            if step < due:
                problem = f"step {step} is not after step {due - 1}"
            elif len(self.facts) < MAX_GAPS:
                self._note(FactKind.GAP if number > 1 else FactKind.LATE_START, number, step)
        if problem:
            raise TraceError(Code.BAD_EVENT, self._name, number, 0, problem)
        self._next_step = step + 1

    def _error(self, code: Code, reason: str) -> TraceError:
        return TraceError(code, self._name, self.lines + 1, 0, reason)


def decode_document(decoder: msgspec.json.Decoder[_T], data: bytes, name: str, line: int) -> _T:
    """Decode one document of a known schema.

    Raises
    ------
    TraceError
        If the document does not have this schema; the reason has the path in the JSON.
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise TraceError(Code.BAD_VALUE, name, line, 0, str(error)) from None
    except _REFUSALS as error:
        raise TraceError(Code.BAD_SYNTAX, name, line, 0, str(error)) from None


def checked_line(event: Event, member_id: int) -> bytes:
    """Encode an event of a member, after checking it: its values may have wrong types.

    Raises
    ------
    ValueError, TypeError, OverflowError
        If the event does not fit the format.
    """
    line = encode_lines([event])
    problem = event_problem(_EVENTS.decode(line), member_id)
    if problem:
        raise ValueError(problem)
    return line


def _is_cut(line: bytes) -> bool:
    """Tell whether a line without a line end is the beginning of an event."""
    try:
        _EVENTS.decode(line)
    except msgspec.ValidationError:
        return False
    except _REFUSALS as error:
        reason = str(error)
        # A number may be cut after its sign.
        return reason == "Input data was truncated" or reason.endswith(f"(byte {len(line)})")
    return False


def decode_run(data: bytes, name: str) -> Run:
    """Decode ``run.json``.

    Raises
    ------
    TraceError
        If it is no ``run.json``.
    """
    return decode_document(_RUN, data, name, 1)


class _NamedFile(io.FileIO):
    """A file that names itself in each error."""

    def write(self, data: Any, /) -> int:
        """See `io.FileIO.write`."""
        with file_named_in_errors(self.name):
            return super().write(data)


def open_stream(path: Path, mode: Literal["xb", "ab"] = "xb") -> BinaryIO:
    """Open a stream's file for writing, compressed by the suffix of its name.

    Parameters
    ----------
    path
        ``member-<id>.ndjson``; ``.gz`` or ``.zst`` after it compresses the file.
    mode
        ``ab`` writes at the end of a file that may exist; otherwise the file must not exist.
    """
    file = io.BufferedWriter(_NamedFile(path, mode))
    if path.suffix == ".zst":
        return cast(BinaryIO, zstandard.ZstdCompressor().stream_writer(file))
    if path.suffix == ".gz":
        # The header has neither name nor time, so that equal events make equal files.
        zipped: Any = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
        zipped.myfileobj = file  # The gzip file closes this file when it is closed.
        return cast(BinaryIO, zipped)
    return file

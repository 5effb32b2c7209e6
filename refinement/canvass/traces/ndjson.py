"""NDJSON: a member's stream, one event a line, read strictly and written canonically.

**How reading is both strict and fast.** A block of whole lines is decoded and encoded again. If the
bytes are the same, each line is canonical: no key occurs twice, and spaces and order are those of
the format. A block with other bytes is read line by line, and a line that is no event is scanned to
find the place and the reason. A block with a backslash is always read line by line, because an
escaped NUL is canonical too.

The scanner of one JSON document is strict and slow. It knows no schema. It returns the place of
each value, or raises the first error.

The invariant: for any bytes, a reader yields events or raises one `TraceError`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, TypeVar, cast

import msgspec
import zstandard

from canvass.traces.errors import Code, TraceError, file_named_in_errors
from canvass.traces.limits import (
    MAX_DEPTH,
    MAX_INT,
    MAX_LINE_BYTES,
    MAX_STREAM_LINES,
    MAX_STRING_LENGTH,
    MAX_TOKENS,
    MIN_INT,
)
from canvass.traces.schema import Event, Run, encode, encode_lines, event_problem
from canvass.traces.streams import Source

# Without possessive quantifiers, which Python 3.11.2 matches wrongly; none of these backtracks far.
_TEXT: Final = r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*'
_TOKEN: Final = re.compile(
    rf'[{{}}\[\],:]|{_TEXT}"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null'
)
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_OPEN_TEXT: Final = re.compile(rf"{_TEXT}(?:\\(?:u[0-9a-fA-F]{{0,3}})?)?\Z")
_NO_NUMBER: Final = re.compile(r"-?(?:NaN|Infinity)")
_WORDS: Final = ("true", "false", "null", "-")
_INT_DIGITS: Final = 20


def _space_end(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def scan(data: bytes, name: str, line: int) -> dict[str, int]:
    """Check a document and return the column of each value; ``name`` and ``line`` are for errors.

    Returns
    -------
    dict
        Path such as ``$.state.members[0].vote`` to the column of the value; for an object's field
        also ``path + "="`` to the column of its key.

    Raises
    ------
    TraceError
        At the first error. ``ENDS_EARLY`` if the document is the beginning of a valid one.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        good = data[: error.start].decode()
        cut = error.end == len(data) and error.reason == "unexpected end of data"
        if not cut:
            raise TraceError(Code.BAD_UTF8, name, line, len(good) + 1, "not UTF-8") from None
        text = good + "\ufffd"
    return _Scanner(text, name, line).run()


class _Scanner:
    """One pass over one document, by recursive descent; the depth is bounded."""

    def __init__(self, text: str, name: str, line: int) -> None:
        self.text = text
        self.places: dict[str, int] = {}
        self._place = name, line
        self._at = self._tokens = 0

    def run(self) -> dict[str, int]:
        self._value(*self._token(), "$", 0)
        end = _space_end(self.text, self._at)
        if end < len(self.text):
            if _TOKEN.match(self.text, end):
                raise self._error(Code.BAD_SYNTAX, end + 1, "text after the document")
            raise self._no_token(end, may_end_early=False)
        return self.places

    def _token(self) -> tuple[str, int]:
        """Return the next token, and where it begins."""
        start = _space_end(self.text, self._at)
        match = _TOKEN.match(self.text, start)
        if match is None:
            raise self._no_token(start, may_end_early=True)
        self._tokens += 1
        if self._tokens > MAX_TOKENS:
            reason = f"more than {MAX_TOKENS} tokens"
            raise self._error(Code.TOO_MANY_TOKENS, start + 1, reason)
        self._at = match.end()
        return match[0], start

    def _no_token(self, position: int, *, may_end_early: bool) -> TraceError:
        """Explain why there is no token here."""
        rest = self.text[position : position + MAX_STRING_LENGTH + 2]
        column = position + 1
        if not rest:
            return self._error(Code.ENDS_EARLY, column, "ends within the document")
        if rest[0] == "\ufeff":
            return self._error(Code.BAD_CHARACTER, column, "a byte order mark")
        if _NO_NUMBER.match(rest):
            return self._error(Code.BAD_NUMBER, column, "not a number that JSON has")
        if may_end_early and (
            _OPEN_TEXT.match(self.text, position) or any(word.startswith(rest) for word in _WORDS)
        ):
            return self._error(Code.ENDS_EARLY, column, "ends within a value")
        if rest[0] == '"':
            bad = re.search(r"[\x00-\x1f]", rest)
            if bad:
                return self._error(
                    Code.BAD_CHARACTER, column + bad.start(), "a control character in a string"
                )
            return self._error(Code.BAD_SYNTAX, column, "a string with an unknown escape")
        if rest[0] < " ":
            return self._error(Code.BAD_CHARACTER, column, "a control character")
        return self._error(Code.BAD_SYNTAX, column, f"unexpected {rest[0]!r}")

    def _value(self, token: str, start: int, path: str, depth: int) -> None:
        self.places[path] = start + 1
        if token in ("{", "["):
            if depth == MAX_DEPTH:
                raise self._error(Code.TOO_DEEP, start + 1, f"nested deeper than {MAX_DEPTH}")
            (self._object if token == "{" else self._array)(path, depth + 1)
        elif token[0] == '"':
            self._string(token, start)
        elif token[0] in "-0123456789":
            self._check_number(token, start)
        elif token in "}],:":
            raise self._unexpected(token, start)

    def _object(self, path: str, depth: int) -> None:
        keys = set[str]()
        token, start = self._token()
        while token != "}":
            if keys:
                self._expect(",", token, start)
                token, start = self._token()
            if token[0] != '"':
                raise self._unexpected(token, start)
            key = self._string(token, start)
            if key in keys:
                raise self._error(Code.DUPLICATE_KEY, start + 1, f"a second {key!r}")
            keys.add(key)
            self.places[f"{path}.{key}="] = start + 1
            self._expect(":", *self._token())
            self._value(*self._token(), f"{path}.{key}", depth)
            token, start = self._token()

    def _array(self, path: str, depth: int) -> None:
        index = 0
        token, start = self._token()
        while token != "]":
            if index:
                self._expect(",", token, start)
                token, start = self._token()
            self._value(token, start, f"{path}[{index}]", depth)
            token, start = self._token()
            index += 1

    def _expect(self, mark: str, token: str, start: int) -> None:
        if token != mark:
            raise self._unexpected(token, start)

    def _unexpected(self, token: str, start: int) -> TraceError:
        return self._error(Code.BAD_SYNTAX, start + 1, f"unexpected {token!r}")

    def _string(self, token: str, start: int) -> str:
        if len(token) - 2 > MAX_STRING_LENGTH:
            reason = f"more than {MAX_STRING_LENGTH} characters"
            raise self._error(Code.STRING_TOO_LONG, start + 1, reason)
        if "\\" not in token:
            return token[1:-1]
        text: str = json.loads(token)
        if any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in text):
            raise self._error(Code.BAD_STRING, start + 1, "NUL or a lone surrogate in a string")
        return text

    def _check_number(self, token: str, start: int) -> None:
        if any(mark in token for mark in ".eE"):
            if len(token) > 2 * _INT_DIGITS or not abs(float(token)) < float("inf"):
                raise self._error(Code.BAD_NUMBER, start + 1, "a number out of range")
        elif len(token) > _INT_DIGITS or not MIN_INT <= int(token) <= MAX_INT:
            raise self._error(Code.BAD_NUMBER, start + 1, "an integer that is not signed 64-bit")

    def _error(self, code: Code, column: int, reason: str) -> TraceError:
        return TraceError(code, *self._place, column, reason)


BLOCK_BYTES: Final = 1 << 16
"""Bytes of one read: large, so that calls are cheap; small, so that the block fits the caches and
the allocator reuses its memory.
"""
MAX_GAPS: Final = 1_000
"""Maximum gaps kept for one stream: one gap decides the verdict, the others help its user."""

_EVENTS: Final = msgspec.json.Decoder(Event)
_RUN: Final = msgspec.json.Decoder(Run)
_PLACE: Final = re.compile(r" - at `(?P<path>[^`]*)`\Z")
_KEY: Final = re.compile(r"Object contains unknown field `(?P<key>[^`]*)`")
_REFUSALS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError, ValueError)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Truncation:
    """A stream that stops within a line."""

    line: int
    """The line that is incomplete, from 1."""
    reason: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Steps that are missing."""

    line: int
    """The line of the first event after the gap, from 1."""
    step: int
    """The first step after the gap."""


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

    Attributes
    ----------
    member_id
        As given.
    gaps
        The first `MAX_GAPS` places where steps are missing, the beginning included.
    truncated
        After the last batch: where the stream stops within a line, or None.
    lines
        Lines read so far.
    """

    def __init__(
        self, source: Source, name: str, member_id: int, member_count: int | None = None
    ) -> None:
        self._source = source
        self._name = name
        self.member_id = member_id
        self._member_count = member_count
        self._next_step = 0
        self.gaps: list[Gap] = []
        self.truncated: Truncation | None = None
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
                raise self._error(Code.LINE_TOO_LONG, 1, f"more than {MAX_LINE_BYTES} bytes")
        if rest:
            try:
                events = self._block(rest + b"\n")
            except TraceError as error:
                if error.code is not Code.ENDS_EARLY:
                    raise
                self.truncated = Truncation(error.line, "the last line is incomplete")
            else:
                yield events
        if self.truncated is None and getattr(self._source, "cut", False):
            self.truncated = Truncation(self.lines + 1, "the compressed file stops early")

    def _block(self, block: bytes) -> list[Event]:
        """Decode whole lines."""
        try:
            events = _EVENTS.decode_lines(block)
            sound = encode_lines(events) == block
        except _REFUSALS:
            sound = False
        if not sound or b"\\" in block or len(block) > MAX_LINE_BYTES:
            lines = block[:-1].split(b"\n")
            events = [self._line(line, number) for number, line in enumerate(lines, self.lines + 1)]
        else:
            member_id, member_count, due = self.member_id, self._member_count, self._next_step
            for number, event in enumerate(events, self.lines + 1):
                if (
                    event.step != due
                    or len(event.state.members) != member_count
                    or event_problem(event, member_id)
                ):
                    self._next_step = due
                    self._check(event, number)
                    due, member_count = event.step, self._member_count
                due += 1
            self._next_step = due
        self.lines += len(events)
        if self.lines > MAX_STREAM_LINES:
            raise self._error(Code.TOO_MANY_LINES, 0, f"more than {MAX_STREAM_LINES} lines")
        return events

    def _line(self, line: bytes, number: int) -> Event:
        if len(line) > MAX_LINE_BYTES:
            reason = f"more than {MAX_LINE_BYTES} bytes"
            raise TraceError(Code.LINE_TOO_LONG, self._name, number, 1, reason)
        if not line.strip(b" \t\r"):
            raise TraceError(Code.EMPTY_LINE, self._name, number, 1, "a line without an event")
        event = decode_document(_EVENTS, line, self._name, number)
        self._check(event, number)
        return event

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
            elif len(self.gaps) < MAX_GAPS:
                self.gaps.append(Gap(number, step))
        if problem:
            raise TraceError(Code.BAD_EVENT, self._name, number, 1, problem)
        self._next_step = step + 1

    def _error(self, code: Code, column: int, reason: str) -> TraceError:
        return TraceError(code, self._name, self.lines + 1, column, reason)


def decode_document(decoder: msgspec.json.Decoder[_T], data: bytes, name: str, line: int) -> _T:
    """Decode one document of a known schema, strictly.

    Raises
    ------
    TraceError
        If the document does not have this schema.
    """
    try:
        value = decoder.decode(data)
    except _REFUSALS as error:
        raise _explain(data, name, line, error) from None
    canonical = encode(value)
    if data == canonical and b"\\" not in data:
        return value
    if b"\\" in data or _may_repeat(data, canonical):
        scan(data, name, line)
    return value


def _may_repeat(data: bytes, canonical: bytes) -> bool:
    """Tell whether a decoded document without a backslash may have a key twice.

    Compared with its canonical form, the document can have keys with default values and keys that
    occur twice. Both add quotes. Order and spaces do not.
    """
    if data.count(b'"') == canonical.count(b'"'):
        return False

    def unique(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) != len(pairs):
            raise ValueError

    try:
        json.loads(data, object_pairs_hook=unique)
    except ValueError:
        return True
    return False


def _explain(data: bytes, name: str, line: int, error: Exception) -> TraceError:
    """Return the error of a refused document, with place and reason."""
    places = scan(data, name, line)
    reason = str(error)
    if not isinstance(error, msgspec.ValidationError):
        return TraceError(Code.BAD_SYNTAX, name, line, 1, reason)
    place = _PLACE.search(reason)
    path = place["path"] if place else "$"
    unknown = _KEY.match(reason)
    column = places.get(f"{path}.{unknown['key']}=" if unknown else path, 1)
    return TraceError(Code.BAD_VALUE, name, line, column, reason)


def decode_run(data: bytes, name: str) -> Run:
    """Decode ``run.json``.

    Raises
    ------
    TraceError
        If it is no ``run.json``. The line is 1, and the column counts from the start of the file.
    """
    scan(data, name, 1)
    return decode_document(_RUN, data, name, 1)


class EventWriter:
    """Writes events to a new file, or to the end of an old one, compressed by the suffix of its
    name.

    Parameters
    ----------
    path
        ``member-<id>.ndjson``; ``.gz`` or ``.zst`` after it compresses the file.
    member_id
        The member of the stream.
    append
        Write at the end of an existing file; otherwise the file must not exist.
    check
        Read each line back before it is written. Events from a reader need no check.

    Raises
    ------
    OSError
        As the file system says, from each method.
    """

    def __init__(
        self, path: Path, member_id: int, *, append: bool = False, check: bool = True
    ) -> None:
        self.member_id = member_id
        self._path, self._check = path, check
        self._file = path.open("ab" if append else "xb")
        self._compressor: BinaryIO | None = None
        if path.suffix == ".gz":
            # Neither name nor time in the header: equal events make equal files.
            zipped = gzip.GzipFile("", "wb", fileobj=self._file, mtime=0)
            self._compressor = cast(BinaryIO, zipped)
        elif path.suffix == ".zst":
            writer = zstandard.ZstdCompressor().stream_writer(self._file, closefd=False)
            self._compressor = cast(BinaryIO, writer)
        self._out = self._compressor or self._file

    def write(self, events: Sequence[Event]) -> None:
        """Write events.

        Raises
        ------
        ValueError
            If a reader would refuse one of them. Nothing is written then.
        """
        self.write_lines(self.checked_lines(events))

    def checked_lines(self, events: Sequence[Event]) -> bytes:
        """Give the lines of events, for `write_lines`.

        Raises
        ------
        ValueError, TypeError, OverflowError
            If they do not fit the format, or a reader would refuse one of them.
        """
        lines = encode_lines(events)
        if self._check:
            try:
                read = EventReader(BytesIO(lines), "the event", self.member_id)
                count = sum(map(len, read.batches()))
            except TraceError as error:
                raise ValueError(str(error)) from None
            assert count == len(events)
        return lines

    def write_lines(self, lines: bytes) -> None:
        """Write what `checked_lines` gave."""
        with file_named_in_errors(self._path):
            self._out.write(lines)

    def flush(self) -> None:
        """Hand what was written to the operating system."""
        with file_named_in_errors(self._path):
            self._out.flush()
            self._file.flush()

    def close(self) -> None:
        """Finish the file."""
        with file_named_in_errors(self._path):
            try:
                if self._compressor is not None:
                    self._compressor.close()
            finally:
                self._file.close()

    def __enter__(self) -> Self:
        """Give the writer."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Finish the file."""
        self.close()

"""Reading one line of a log into a record of the cluster component.

A line is scanned by the names of its fields, in time linear in its length: the scan never goes
back.

A `ClusterLineParser` is made from one row of `event_types`. It reads the lines of all releases.

A `Framing` is what a container or logger has put around the text that Aeron wrote. A file has one
framing. Its first line of an event log decides which, so a file without framing costs nothing. A
line that does not have the file's framing is read from its stamp on: it may be damaged, but it is
not lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn, TypeAlias

import msgspec

from canvass.cluster.messages import NULL_VALUE
from canvass.traces.aeron_log.event_types import (
    ALIASES,
    CONSTANTS,
    OLDEST,
    PAIRS,
    EventType,
    Field,
    Release,
)
from canvass.traces.aeron_log.records import (
    SENDER_FIELDS,
    ClusterEvent,
    Notation,
    ProcessStart,
    Start,
)
from canvass.traces.schema import MAX_INT, MAX_LINE_BYTES, MIN_INT

_MAX_SHOWN: Final = 120
"""Characters of a line that a message repeats; enough to recognise it, short enough for a terminal.
"""


class LineProblem(Exception):
    """The fault of one line. This package catches it and makes a record of the line."""

    def __init__(self, column: int, reason: str) -> None:
        super().__init__(column, reason)
        self.column = column
        self.reason = reason


class OpenQuote(LineProblem):
    """A quoted value does not end: the line may be the first one of an event with several lines."""


def shown(text: str) -> str:
    """Text of a log, quoted, escaped and shortened, so that it is safe to print."""
    return ascii(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "...")


_NS_PER_S: Final = 1_000_000_000
_BEFORE: Final = len(ClusterEvent.__struct_fields__)
"""The number of fields of a record before those of its event."""
_TRUNCATED_SUFFIX: Final = " (truncated)"

_STAMP: Final = re.compile(r"\[(-?[0-9]{1,10})\.(-?[0-9]{1,9})\] ")
"""The monotonic stamp at the beginning of a line."""
_LENGTHS: Final = re.compile(r"(?: \[[0-9]{1,10}/[0-9]{1,10}\])?:?(?= |$)")
_TRANSITION: Final = re.compile(r"([A-Za-z][A-Za-z0-9_]*) -> ([A-Za-z][A-Za-z0-9_]*)(?= |$)")
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9]{0,63})=")
_NEXT_KEY: Final = re.compile(r"$| (?=[A-Za-z][A-Za-z0-9]{0,63}=)")
_ANY_INT: Final = re.compile(r"-?[0-9]{1,19}")
_VERSION: Final = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})")
_ANY_NAME: Final = re.compile(r'(?:[A-Za-z][A-Za-z0-9_]*)|"null"')
_FLAGS: Final = re.compile(r"0b([01]{1,8})")


def stamp_of(line: str) -> tuple[int, int] | None:
    """Read the monotonic stamp: nanoseconds, and the index at which the rest of the line begins.

    Notes
    -----
    Java's division rounds towards zero. So a negative clock prints a negative fraction, which is
    not padded.
    """
    match = _STAMP.match(line)
    if match is None:
        return None
    seconds, fraction = match.groups()
    if fraction[0] != "-" and len(fraction) != 9:
        return None
    nanos = abs(int(fraction))
    negative = seconds[0] == "-" or fraction[0] == "-"
    time_ns = abs(int(seconds)) * _NS_PER_S + nanos
    return (-time_ns if negative else time_ns), match.end()


def _int(text: str, column: int) -> int:
    if _ANY_INT.fullmatch(text):
        value = int(text)
        if MIN_INT <= value <= MAX_INT:
            return value
    raise LineProblem(column, f"not a 64-bit integer: {shown(text)}")


def _bool(text: str, column: int) -> bool:
    if text in ("true", "false"):
        return text == "true"
    raise LineProblem(column, f"neither true nor false: {shown(text)}")


def _flags(text: str, column: int) -> int:
    match = _FLAGS.fullmatch(text)
    value = int(match[1], 2) if match else _int(text, column)
    if 0 <= value <= 255:
        return value
    raise LineProblem(column, f"not a byte of flags: {shown(text)}")


def _version(text: str, column: int) -> int:
    match = _VERSION.fullmatch(text)
    if match is None:
        return _int(text, column)
    major, minor, patch = map(int, match.groups())
    return major << 16 | minor << 8 | patch


def _name(text: str, column: int) -> str:
    if _ANY_NAME.fullmatch(text):
        return text.strip('"')
    raise LineProblem(column, f"not a constant: {shown(text)}")


def _text(text: str, column: int) -> str:
    del column
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


_READ: Final[dict[Notation, Callable[[str, int], object]]] = {
    Notation.INT: _int,
    Notation.BOOL: _bool,
    Notation.FLAGS: _flags,
    Notation.VERSION: _version,
    Notation.NAME: _name,
    Notation.TEXT: _text,
    Notation.REASON: _text,
}


class ClusterLineParser:
    """Reads the lines of one event.

    Attributes
    ----------
    unknown_fields
        For each name of a field that is not in the table, the number of its occurrences. A newer
        release may print such fields.
    """

    def __init__(self, row: EventType) -> None:
        self.name = row.name
        # A test checks that the fields of the table fit those of the class.
        self._record: Callable[..., ClusterEvent] = row.record
        self.fields = row.fields
        self.unknown_fields: dict[str, int] = {}
        sender = SENDER_FIELDS.get(row.record)
        place = row.record.__struct_fields__.index(sender) - _BEFORE if sender else -1
        self._ids = ("memberId", row.fields[place].log_name) if sender else ()

    def scan(self, file: int, number: int, line: str, release: Release = OLDEST) -> ClusterEvent:
        """The record of a line of any release, read by the names of its fields.

        Parameters
        ----------
        release
            The release that wrote the log, or the oldest one that can have written it.

        Raises
        ------
        LineProblem
            If the line lacks a field that the release prints.
        """
        stamp = stamp_of(line)
        if stamp is None:
            raise LineProblem(1, "no monotonic stamp of seconds and nine digits")
        cut = line.endswith(_TRUNCATED_SUFFIX)
        text = line[: -len(_TRUNCATED_SUFFIX)] if cut else line
        start = stamp[1] + len("CLUSTER: ") + len(self.name)
        lengths = _LENGTHS.match(text, start)
        try:
            found = split_fields(text, lengths.end() if lengths else start)
            self._check_ids(found)
            member_id = self._member(found, len(text))
            values = list(self._values(found, len(text), release))
        except LineProblem as problem:
            if cut:  # If Aeron cut the line, the next line does not continue it, even in a quote.
                raise LineProblem(problem.column, problem.reason) from None
            raise
        for name in found:
            self.unknown_fields[name] = self.unknown_fields.get(name, 0) + 1
        return self._record(file, number, stamp[0], member_id, *values)

    def _check_ids(self, found: dict[str, tuple[str, int]]) -> None:
        """Refuse a received message whose sender or receiver has an id that no member can have."""
        for name in self._ids:
            if name in found and found[name][0].startswith("-"):
                value, column = found[name]
                reason = f"no member has the id {shown(value)}"
                raise LineProblem(column, reason)

    def _member(self, found: dict[str, tuple[str, int]], length: int) -> int:
        """Take the member that wrote the line out of the values that were found."""
        value = found.pop("memberId", None)
        if value is not None:
            return _int(*value)
        if self._record is not Start:
            _missing("memberId", length)
        return NULL_VALUE

    def _values(
        self, found: dict[str, tuple[str, int]], length: int, release: Release
    ) -> Iterator[object]:
        """Take the record's other fields out of the values that were found."""
        for field in self.fields:
            if field.kind in PAIRS:
                yield from self._pair(field, found, length)
                continue
            value = found.pop(field.log_name, None)
            if value is not None:
                yield _READ[field.kind](*value)
            elif field.since <= release:
                _missing(field.log_name, length)
            else:
                yield None

    def _pair(self, field: Field, found: dict[str, tuple[str, int]], length: int) -> Iterator[str]:
        for name in ("oldState", "newState"):
            if name not in found:
                _missing(name, length)
            text, column = found.pop(name)
            constant = _name(text, column)
            if constant not in CONSTANTS.get(field.kind, (constant,)):
                reason = (
                    f"{shown(constant)} is none of the {field.kind.name.lower().replace('_', ' ')}"
                )
                raise LineProblem(column, reason)
            yield constant


def _missing(name: str, length: int) -> NoReturn:
    raise LineProblem(length + 1, f"the line ends without {name}")


def split_fields(text: str, start: int) -> dict[str, tuple[str, int]]:
    """Split a line into values by name.

    Parameters
    ----------
    start
        The index at which the first value may begin.

    Returns
    -------
    dict
        For each name, the value as written (quotes kept) and its column. A pair ``OLD -> NEW``,
        which has no names, gets those of 1.53. A name in `ALIASES` is replaced by the newer one.

    Raises
    ------
    LineProblem
        If a part of the text is no value, a quoted value does not end, or a name comes twice.
    """
    found: dict[str, tuple[str, int]] = {}
    at, end = start, len(text)
    while at < end:
        if text[at] == " ":
            at += 1
            continue
        pair = _TRANSITION.match(text, at)
        if pair:
            _add(found, "oldState", pair[1], pair.start(1))
            _add(found, "newState", pair[2], pair.start(2))
            at = pair.end()
            continue
        key = _KEY.match(text, at)
        if key is None:
            raise LineProblem(at + 1, f"neither name=value nor OLD -> NEW: {shown(text[at:])}")
        stop = _value_end(text, key[1], key.end())
        _add(found, ALIASES.get(key[1], key[1]), text[key.end() : stop], key.end())
        at = stop
    return found


def _add(found: dict[str, tuple[str, int]], name: str, value: str, index: int) -> None:
    if name in found:
        raise LineProblem(index + 1, f"{name} comes twice")
    found[name] = (value, index + 1)


def _value_end(text: str, name: str, at: int) -> int:
    """The index after the value that begins at ``at``."""
    if text[at : at + 1] == '"':
        # A reason may contain quotes and even ` name=`, so it ends at the last quote of the line.
        # Another value ends at the first quote that the end of the line or a field can follow.
        quote = text.rfind('"', at + 1) if name == "reason" else text.find('"', at + 1)
        while quote > at and not _NEXT_KEY.match(text, quote + 1):
            if name == "reason":
                break
            quote = text.find('"', quote + 1)
        if quote <= at or not _NEXT_KEY.match(text, quote + 1):
            raise OpenQuote(at + 1, f"the quoted value of {name} does not end")
        return quote + 1
    if name == "reason":
        return len(text)
    space = text.find(" ", at)
    return len(text) if space < 0 else space


_MARKS: Final = ("] log started ", "] TEST: ")
_START: Final = re.compile(
    r"\[-?[0-9]{1,10}\.-?[0-9]{1,9}\] (?:log started |\u0020\[[0-9T:.-]{19,29}\] TEST: )"
)
_HEADER: Final = re.compile(
    r"log started ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}[+-][0-9]{4})"
    r"(?:, enabled loggers: \{([^}]*)\}|, .*)?"
    r"|\u0020\[([0-9T:-]{19}(?:\.[0-9]{1,9})?)\] TEST: .*"
)
"""Groups: the time of the wall clock, the loggers; the time in a header of Aeron's own build."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def find_header(line: str) -> int:
    """The index at which a header begins, or -1 if the line has none.

    A line that a crash cut has no line end, so the header of the next process follows on the same
    line. Aeron's own build writes the log of a failed test under a header with the test's name.
    Source: ``CollectingEventLogReaderAgent``.
    """
    if _MARKS[0] not in line and _MARKS[1] not in line:
        return -1
    found = _START.search(line)
    return found.start() if found else -1


def parse_header(file: int, number: int, text: str) -> ProcessStart:
    """Make the record of a header.

    Raises
    ------
    LineProblem
        If there is no stamp, or no time of the wall clock after it.
    """
    stamp = stamp_of(text)
    found = _HEADER.fullmatch(text, stamp[1]) if stamp else None
    try:
        if stamp is None or found is None:
            raise ValueError
        moment = datetime.fromisoformat(found[1] or found[3])
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        wall_time_ms = (moment - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise LineProblem(1, f"not the header of a log: {shown(text)}") from None
    parts = [part.partition(": ") for part in found[2].split(", ")] if found[2] else []
    loggers = tuple((component, version) for component, _, version in parts)
    return ProcessStart(file, number, stamp[0], wall_time_ms, loggers)


_Part: TypeAlias = tuple[str, bool]
"""The text in a line, and whether the next line continues it."""

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_CRI: Final = re.compile(r"[0-9T:.Z+-]{20,40} (?:stdout|stderr) ([FP])(?::\S*)? (.*)", re.DOTALL)
_SYSLOG: Final = re.compile(
    r"(?:[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8}|[0-9T:.Z+-]{19,40}) \S+ [^\s:]+(?:\[[0-9]+\])?: (.*)",
    re.DOTALL,
)
_PREFIX: Final = re.compile(rf"(?:.{{0,400}}?[\s>|:-])?({_STAMP.pattern}.*)", re.DOTALL)


class _Json(msgspec.Struct):
    log: str = ""
    MESSAGE: str = ""


def _json(line: str) -> _Part | None:
    if not line.startswith("{"):
        return None
    try:
        found = msgspec.json.decode(line, type=_Json)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return found.MESSAGE or found.log.rstrip("\r\n"), not (found.MESSAGE or found.log[-1:] == "\n")


def _cri(line: str) -> _Part | None:
    found = _CRI.fullmatch(line)
    return (found[2], found[1] == "P") if found else None


def _after(pattern: re.Pattern[str]) -> Callable[[str], _Part | None]:
    def rest(line: str) -> _Part | None:
        found = pattern.fullmatch(line)
        return (found[1], False) if found else None

    return rest


FRAMINGS: Final[dict[str, Callable[[str], _Part | None]]] = {
    "JSON (Docker's json-file, journald)": _json,
    "Kubernetes CRI": _cri,
    "syslog or journald": _after(_SYSLOG),
    "a prefix before the stamp": _after(_PREFIX),
}
"""The known framings, the most specific ones first."""

COLOURS: Final = "terminal colours"
"""A name for terminal colours as a framing. They can be inside any framing, or in plain lines."""


def without_colours(line: str) -> str:
    """A line without the terminal's control sequences."""
    return _COLOUR.sub("", line) if "\x1b" in line else line


class Framing:
    """The framing of a file.

    Attributes
    ----------
    name
        Its name in `FRAMINGS`.
    part
        The beginning of a text that the next line continues.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.part = ""
        self._take = FRAMINGS[name]

    def text(self, line: str) -> str:
        """The whole text up to a line; empty if the next line continues it."""
        found = self._take(line)
        if found is None:
            stamp = _STAMP.search(line)
            found = line[stamp.start() if stamp else 0 :], False
        text, is_part = self.part + found[0], found[1] and len(self.part) < MAX_LINE_BYTES
        self.part = text if is_part else ""
        return "" if is_part else text


def framing_of(line: str) -> Framing | None:
    """The framing in which a line is a line of an event log; None if there is no such framing."""
    for name, take in FRAMINGS.items():
        found = take(line)
        if found is not None and stamp_of(without_colours(found[0])) is not None:
            return Framing(name)
    return None

"""Reading the bytes of one member's log into records.

The records do not depend on how the bytes are divided into pieces. The parser keeps one line and
one piece in memory. It opens no files.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from typing import Final

from canvass.traces.aeron_log.event_types import EVENT_TYPES, OLDEST, release_of
from canvass.traces.aeron_log.incarnations import Broken, IncarnationStream, LineCounts
from canvass.traces.aeron_log.line import (
    COLOURS,
    ClusterLineParser,
    Framing,
    LineProblem,
    OpenQuote,
    find_header,
    framing_of,
    parse_header,
    stamp_of,
    without_colours,
)
from canvass.traces.aeron_log.records import LogRecord
from canvass.traces.aeron_log.source import AeronLogError, LogCode
from canvass.traces.schema import MAX_LINE_BYTES

PROBE_LINES: Final = 1000
"""The number of lines within which the first line of an event log must come. An application may log
before it."""

JOINED_LINES: Final = 64
"""The most lines of an event whose text contains line ends. It keeps the time linear."""

_UTF_16_MARKS: Final = "\xff\xfe"
_EVENT: Final = re.compile(r"([A-Z][A-Z0-9_]*): ([A-Za-z][A-Za-z0-9_]*)(?=[ :]|$)")
_MEMBER: Final = re.compile(r" memberId=(-?[0-9]{1,19})(?= |$)")
_OTHER_COMPONENTS: Final = frozenset({"ARCHIVE", "DRIVER", "SEQUENCER", "STANDBY"})
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f]")
_LAST_FIELDS: Final = (
    "leaderId|flags|voterId|vote|protocolVersion|isStartup|serviceId|timeUnit|appendPosition"
    "|newPosition|senderMemberId|hasSynced|followerMemberId|catchupPosition|catchupEndpoint"
    "|logPosition"
)
_TORN: Final = re.compile(rf'(?:^| )(?:{_LAST_FIELDS})=[\w.:-]+$|(?:^| )reason="[^"]*"$')
_TORN_TAIL_CHARS: Final = 400
_WHOLE: Final = re.compile(
    r'(?:"|=(?:true|false|-1)| flags=(?:0b[01]{8}|[0-9])| -> [A-Z_]+|timeUnit=[A-Z]*SECONDS'
    r"|(?:leader|followerMember|voter|senderMember|service)Id=[0-9]"
    r"|protocolVersion=(?:[0-9]+\.[0-9]+\.[0-9]+|65536))$"
)
_OLD_LINE: Final = re.compile(r" ELECTION_STATE_CHANGE \[.*\]: memberId=\S+ [A-Z_]+ -> [A-Z_]+$")
_WHOLE_HEADER: Final = re.compile(r"\}$|\.[0-9]{3}[+-][0-9]{4}$")


class LogParser:
    """Reads the log of one member, which may be spread over several files.

    Parameters
    ----------
    member
        The member whose lines are read; lines of other members are passed over. By default all
        lines are read as those of one member.

    Notes
    -----
    The order of calls is, for each file, `begin_file`, any number of `feed`, `end_file`; and after
    all files `close`.
    """

    def __init__(self, member: int | None = None) -> None:
        self._member = member
        self._stream = IncarnationStream(alone=member is None)
        self._parsers = {name: ClusterLineParser(row) for name, row in EVENT_TYPES.items()}
        self._release = OLDEST
        self._name, self._file, self._line = "", -1, 0
        self._tail = bytearray()
        self._is_log, self._probed, self._joined = False, 0, 0
        self._hint = ""
        self._framing: Framing | None = None
        self._too_old: list[tuple[str, int]] = []

    @property
    def counts(self) -> LineCounts:
        """The counts of the lines that have been read so far."""
        return self._stream.counts

    @property
    def unknown_fields(self) -> dict[str, int]:
        """For each unknown field, as ``EVENT.name``, the number of its occurrences."""
        parsers = sorted(self._parsers.items())
        return {f"{e}.{n}": count for e, p in parsers for n, count in p.unknown_fields.items()}

    @property
    def fault(self) -> AeronLogError | None:
        """The error for a file that has lines so far, but none of an event log."""
        if self._is_log or not self._probed:
            return None
        reason = "no line is of the form `[seconds.nanoseconds] COMPONENT: EVENT ...`"
        place = (self._name, 1, 1)
        return AeronLogError(*place, LogCode.NOT_A_LOG, f"{reason}{self._hint}")

    def begin_file(self, name: str = "") -> None:
        """Begin a file. This must be called for the first file, too."""
        self._name, self._file, self._line = name, self._file + 1, 0
        self._tail.clear()
        self._is_log, self._probed, self._hint = False, 0, ""
        self._framing = None

    def feed(self, data: bytes) -> list[LogRecord]:
        """Read the next piece of the file, of any length.

        Raises
        ------
        AeronLogError
            If the file is no event log, or breaks a limit.
        """
        end = data.rfind(b"\n")
        if end >= 0:
            block = bytes(self._tail) + data[:end]
            self._tail.clear()
            self._read(block)
        self._tail += data[end + 1 :]
        if len(self._tail) > MAX_LINE_BYTES:
            raise self._too_long(self._line + 1)
        return self._stream.take()

    def end_file(self, *, cut: bool = False) -> list[LogRecord]:
        """End the file.

        Parameters
        ----------
        cut
            Whether the compressed file ends too early, so that data at its end are missing.

        Raises
        ------
        AeronLogError
            If the file has lines, and none of them is of an event log.
        """
        tail = bytes(self._tail)
        self._tail.clear()
        text = decoded(tail.removeprefix(BOM_UTF8) if self._line == 0 else tail)
        if self._framing is not None:
            text = self._framing.text(text)
            text, self._framing.part = text or self._framing.part, ""
        if tail and not cut and (not text or shows_its_end(text)):
            self._read(tail)
        elif tail or cut:
            self._line += 1
            reason = "the compressed file ends too early" if cut else "the line does not end"
            if stamp_of(text) is not None:
                self._is_log = True
            elif text:
                self._probe(text)
            self._break(text, LineProblem(len(text) + 1, reason))
        if (fault := self.fault) is not None:
            raise fault
        return self._stream.take()

    def close(self) -> list[LogRecord]:
        """End the log, after all files.

        Raises
        ------
        AeronLogError
            If the log was written by a release that is too old.
        """
        self._stream.close()
        # A single such line may be a newer one that was cut there.
        if len(self._too_old) > 1 and "ELECTION_STATE_CHANGE" not in self.counts.events:
            reason = (
                f"a line of a release before {OLDEST.major}.{OLDEST.minor}, the oldest one whose"
                " lines are read: ELECTION_STATE_CHANGE has no leaderId and positions there"
            )
            raise AeronLogError(*self._too_old[0], 0, LogCode.OLD_RELEASE, reason)
        return self._stream.take()

    def _read(self, block: bytes) -> None:
        """Read a block of whole lines. The end of the last line has been removed."""
        if self._line == 0:
            block = block.removeprefix(BOM_UTF8)
        too_long = -1
        if len(block) > MAX_LINE_BYTES:
            sizes = enumerate(map(len, block.split(b"\n")))
            too_long = next((n for n, size in sizes if size > MAX_LINE_BYTES), -1)
        lines = decoded_lines(block)[: too_long if too_long >= 0 else None]
        for line in lines:
            self._line += 1
            self._other(line if self._framing is None else self._framing.text(line))
        if too_long >= 0:
            raise self._too_long(self._line + 1)

    def _other(self, line: str) -> None:
        """Read one line: a header, an event, or a line without a stamp."""
        if not (self._is_log or self._framing is not None or stamp_of(line)):
            self._framing = framing_of(line)
            if self._framing is not None:
                self.counts.framings.add(self._framing.name)
                line = self._framing.text(line)
        if (uncoloured := without_colours(line)) is not line:
            self.counts.framings.add(COLOURS)
            line = uncoloured
        at = find_header(line)
        if at >= 0:
            self._header(line, at)
            return
        stamp = stamp_of(line)
        if stamp is None:
            self._unstamped(line)
            return
        self._is_log = True
        found = _EVENT.match(line, stamp[1])
        if found is None:
            reason = "no component and event after the stamp"
            self._break(line, LineProblem(stamp[1] + 1, reason))
        elif found[1] == "CLUSTER":
            self._cluster(found[2], line)
        elif found[1] in _OTHER_COMPONENTS:
            self._stream.other_component()
        else:
            self._stream.unknown_event(f"{found[1]}: {found[2]}")

    def _header(self, line: str, at: int) -> None:
        """Read a header, and a truncated line that may stand before it on the same line."""
        if at > 0:
            reason = "the line goes over into a header"
            self._break(line[:at], LineProblem(at + 1, reason))
        if at == 0 or stamp_of(line) is not None:
            self._is_log = True
        else:  # The text before the header may be a prefix of each line, not a truncated line.
            self._probe(line)
        try:
            header = parse_header(self._file, self._line, line[at:])
        except LineProblem as problem:
            self._break(line[at:], problem)
        else:
            self._release = release_of(header) or OLDEST
            if not self._stream.header(header):
                reason = "this header is there already: the log, or a part of it, is there twice"
                place = (self._name, self._line, 0)
                raise AeronLogError(*place, LogCode.DUPLICATE_LOG, reason)

    def _cluster(self, event: str, line: str) -> None:
        """Read a line of the cluster component by the names of its fields."""
        if self._is_of_another(line):
            self._stream.other_member()
            return
        parser = self._parsers.get(event)
        if parser is None:
            self._stream.unknown_event(event)
            return
        try:
            record = parser.scan(self._file, self._line, line, self._release)
        except LineProblem as problem:
            if len(self._too_old) < 2 and _OLD_LINE.search(line):
                self._too_old.append((self._name, self._line))
            self._break(line, problem)
        else:
            self._stream.event(event, record, line)

    def _is_of_another(self, line: str) -> bool:
        """Whether a line names another member than the one whose lines are read."""
        found = _MEMBER.search(line) if self._member is not None else None
        return found is not None and int(found[1]) != self._member

    def _unstamped(self, line: str) -> None:
        """Read a line without a stamp: the rest of an event, a damaged line, or a foreign line."""
        if self._continues_event(line):
            return
        if line:
            self._probe(line)
        if _CONTROL.search(line):
            reason = "the line holds control characters"
            self._break(line, LineProblem(1, reason))
        elif _TORN.search(line[-_TORN_TAIL_CHARS:]):
            reason = "the line has the end of an event and not its beginning"
            self._break(line, LineProblem(1, reason))
        else:
            self._stream.foreign()

    def _continues_event(self, line: str) -> bool:
        """Whether the line is the next one of an event whose text contains a line end."""
        broken = self._stream.broken
        if broken is None or not isinstance(broken.problem, OpenQuote):
            return False
        text = f"{broken.text}\n{line}"
        event = _EVENT.search(text)
        full = self._joined >= JOINED_LINES or len(text) > MAX_LINE_BYTES
        if event is None or full or broken.file != self._file:
            return False
        self._joined += 1
        self._stream.foreign()
        self._stream.broken = broken._replace(text=text)
        if '"' in line:
            try:
                parser = self._parsers[event[2]]
                record = parser.scan(broken.file, broken.line, text, self._release)
            except LineProblem:
                return True
            self._stream.broken = None
            self._stream.event(event[2], record, text)
        return True

    def _break(self, text: str, problem: LineProblem) -> None:
        if self._is_of_another(text):
            self._stream.other_member()
            return
        self._joined = 0
        self._stream.break_off(Broken(self._file, self._line, text, problem))

    def _probe(self, line: str) -> None:
        self._probed += 1
        if self._is_log:
            return
        self._hint = self._hint or _hint(line)
        if self._probed >= PROBE_LINES and (fault := self.fault) is not None:
            raise fault

    def _too_long(self, number: int) -> AeronLogError:
        reason = f"the line is longer than {MAX_LINE_BYTES} bytes"
        return AeronLogError(self._name, number, 0, LogCode.LINE_TOO_LONG, reason)


def _hint(line: str) -> str:
    """Advice for a line that is a line of an event log in another encoding; empty for others."""
    if "\0" in line and stamp_of(line.replace("\0", "").lstrip(_UTF_16_MARKS)) is not None:
        return "; the file is UTF-16: convert it to UTF-8"
    return ""


def shows_its_end(line: str) -> bool:
    """Whether a line without a line end is complete.

    A crash can cut a line anywhere. An editor or a copy may remove only the line end. A line of the
    cluster component is complete if its last value cannot be the beginning of a longer value, as a
    quoted text, a constant or the id of a member. Lines of other components always count as
    complete.
    """
    stamp = stamp_of(line)
    if stamp is None:
        return False
    event = _EVENT.match(line, stamp[1])
    if event is None:
        return find_header(line) == 0 and _WHOLE_HEADER.search(line) is not None
    return event[1] != "CLUSTER" or _WHOLE.search(line) is not None


def decoded(data: bytes) -> str:
    """The text of one line. The agent writes one byte per character, the built-in logger UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.removesuffix("\r")


def decoded_lines(block: bytes) -> list[str]:
    """The texts of several lines, without their line ends."""
    if block.isascii():
        lines = block.decode("ascii").split("\n")
        return [line.removesuffix("\r") for line in lines] if b"\r" in block else lines
    return [decoded(line) for line in block.split(b"\n")]

"""The picture of a running cluster in bounded memory, the changes of the picture, and its metrics.

Memory is bounded, as only the lines of the last elections are kept. Members report positions all
the time; only the latest reports before each other line are kept. The metrics are in Prometheus'
text format.

Logs are read as they grow: rolled files, truncated files, new members. If a file is rolled, the
lines read from it have its new name from then on.
"""

from __future__ import annotations

import os
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from canvass.explanation.evidence import Evidence
from canvass.explanation.leaderships import sentence_of
from canvass.explanation.report import Explanation, explain
from canvass.explanation.timeline import make_timeline
from canvass.traces.aeron_log.errors import AeronLogError, LogCode
from canvass.traces.aeron_log.logs import MemberLog, members_named, read_cluster
from canvass.traces.aeron_log.parser import LogParser
from canvass.traces.aeron_log.records import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    LogRecord,
    NewElection,
)
from canvass.traces.aeron_log.source import LogSource

_CURRENT: Final = re.compile(r"member-([0-9]{1,9})\.log")
_ROLLED: Final = re.compile(r"member-([0-9]{1,9})\.log\.[0-9]{1,9}(?:\.gz|\.zst)?")
CHUNK_BYTES: Final = 1 << 20
"""Bytes read of one file at once, so that a busy member does not delay the others."""


class FollowedLog:
    """The log of one member, as far as it has been read.

    Parameters
    ----------
    path
        The file that is being written; it need not be there yet.
    rolled
        Files that were rolled before, in the order in which they were written.

    Attributes
    ----------
    names
        Names of the files read; a record's ``file`` is an index into it.
    lines
        How many records have been read.
    read_bytes
        How much has been read.
    """

    def __init__(self, path: Path, rolled: list[Path]) -> None:
        self.path = path
        self.names: list[str] = []
        self.lines = 0
        self.read_bytes = 0
        self._parser = LogParser(max_lines=sys.maxsize)
        self._rolled = rolled
        self._file: BinaryIO | None = None
        self._inode = 0
        self._inodes: set[int] = set()

    def read(self) -> tuple[list[LogRecord], bool]:
        """Read the lines written since the last call.

        Returns
        -------
        tuple
            Records in the order of the lines, and whether the end of the file was reached.

        Raises
        ------
        AeronLogError
            If a file is not an event log.
        """
        found: list[LogRecord] = []
        while self._rolled:
            found += self._whole(self._rolled.pop(0))
        if self._file is None and not self._open():
            self.lines += len(found)
            return found, True
        assert self._file is not None
        data = self._file.read(CHUNK_BYTES)
        self.read_bytes += len(data)
        found += self._parser.feed(data)
        at_end = len(data) < CHUNK_BYTES
        if at_end and self._has_changed():
            rest = self._file.read()
            self.read_bytes += len(rest)
            found += self._parser.feed(rest)
            self.close()
            self._find_rolled()
            found += self._parser.end_file()
            at_end = False
        self.lines += len(found)
        return found, at_end

    def files(self) -> list[Path]:
        """The files that are there now, the oldest first, the one that is written last."""
        rolled = [
            path
            for path in self.path.parent.glob(f"{self.path.name}.*")
            if _ROLLED.fullmatch(path.name)
        ]
        rolled.sort(key=lambda path: path.stat().st_mtime_ns)
        return [*rolled, self.path] if self.path.is_file() else rolled

    def _whole(self, path: Path) -> Iterator[LogRecord]:
        source = LogSource(path)
        self._inodes.add(path.stat().st_ino)
        self._parser.begin_file(str(path))
        self.names.append(path.name)
        for piece in source.pieces():
            self.read_bytes += len(piece)
            yield from self._parser.feed(piece)
        yield from self._parser.end_file(cut=source.cut)

    def _open(self) -> bool:
        try:
            self._file = self.path.open("rb", buffering=0)
        except FileNotFoundError:
            return False
        except OSError as error:
            reason = error.strerror or "cannot be read"
            raise AeronLogError(str(self.path), 0, 0, LogCode.UNREADABLE, reason) from None
        self._inode = os.fstat(self._file.fileno()).st_ino
        self._inodes.add(self._inode)
        self._parser.begin_file(str(self.path))
        self.names.append(self.path.name)
        return True

    def _has_changed(self) -> bool:
        """Whether the file has been rolled or truncated since it was opened."""
        assert self._file is not None
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False
        return there.st_ino != self._inode or there.st_size < self._file.tell()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _find_rolled(self) -> None:
        """Find the name that the file was given when it was rolled, and files that were written
        and rolled since then.
        """
        unread = []
        for path in self.path.parent.glob(f"{self.path.name}.*"):
            inode = path.stat().st_ino
            if inode == self._inode:
                self.names[-1] = path.name
            # A packed file is a copy of one that was read.
            elif inode not in self._inodes and re.fullmatch(r"\.[0-9]{1,9}", path.suffix):
                unread.append(path)
        self._rolled = _in_order(unread)


class FollowedLogs:
    """The logs in a folder; a member whose log comes later is found, too.

    Parameters
    ----------
    folder
        Holds ``member-<id>.log``, and beside it the files that were rolled.

    Attributes
    ----------
    members
        By member id, as the file names say.

    Raises
    ------
    AeronLogError
        If the folder cannot be listed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.members: dict[int, FollowedLog] = {}
        self.look()

    def look(self) -> None:
        """Find logs that are new in the folder."""
        try:
            names = sorted(path.name for path in self.folder.iterdir())
        except OSError as error:
            reason = error.strerror or "cannot be listed"
            raise AeronLogError(str(self.folder), 0, 0, LogCode.UNREADABLE, reason) from None
        for name in names:
            match = _CURRENT.fullmatch(name) or _ROLLED.fullmatch(name)
            if match is None or int(match[1]) in self.members:
                continue
            member_id = int(match[1])
            rolled = [self.folder / one for one in names if _is_rolled(one, member_id)]
            path = self.folder / f"member-{match[1]}.log"
            self.members[member_id] = FollowedLog(path, _in_order(rolled))

    def __enter__(self) -> FollowedLogs:
        return self

    def __exit__(self, *caught: object) -> None:
        for log in self.members.values():
            log.close()

    def read(self) -> tuple[dict[int, list[LogRecord]], bool]:
        """Read the new lines of every member, and say whether all of them were read."""
        found, at_end = {}, True
        for member_id, log in self.members.items():
            found[member_id], reached = log.read()
            at_end &= reached
        return found, at_end


def _is_rolled(name: str, member_id: int) -> bool:
    match = _ROLLED.fullmatch(name)
    return match is not None and int(match[1]) == member_id


def _in_order(paths: list[Path]) -> list[Path]:
    """Files in the order in which they were written, by their headers: numbers do not show it."""
    if len(paths) < 2:
        return paths
    logs = read_cluster(paths)
    return [path for log in logs.members.values() for path in log.files]


MAX_RECORDS: Final = 1_500
"""Records of one member. Beyond it the older half is forgotten, up to the start of an election."""
_MAX_KEYS: Final = 10_000
"""Announcements that are remembered; the oldest are forgotten."""


class KeptRecords:
    """The records of one member that the picture needs.

    Attributes
    ----------
    newest_ns
        The stamp of the last line.
    """

    def __init__(self) -> None:
        self._kept: list[LogRecord] = []
        self._latest: dict[tuple[type, int], LogRecord] = {}
        self.newest_ns = 0

    def add(self, records: Iterable[LogRecord]) -> bool:
        """Add records; say whether one of them is not a report of a position."""
        news = False
        for record in records:
            if isinstance(record, AppendPosition | CanvassPosition):
                self._latest[type(record), record.follower_member_id] = record
            elif isinstance(record, CommitPosition):
                self._latest[type(record), record.leader_member_id] = record
            else:
                self._kept += self._positions()
                self._latest.clear()
                self._kept.append(record)
                news = True
            self.newest_ns = record.time_ns or self.newest_ns
        if len(self._kept) > MAX_RECORDS:
            self._forget()
        return news

    def _positions(self) -> list[LogRecord]:
        return sorted(self._latest.values(), key=lambda record: (record.file, record.line))

    def _forget(self) -> None:
        half = len(self._kept) // 2
        starts = (k for k in range(half, len(self._kept)) if isinstance(self._kept[k], NewElection))
        del self._kept[: next(starts, half)]

    def records(self) -> list[LogRecord]:
        """What is kept, in the order of the lines."""
        return [*self._kept, *self._positions()]


@dataclass(frozen=True, slots=True)
class News:
    """Something that the picture did not show before.

    Parameters
    ----------
    kind
        ``election``, ``leadership``, ``stuck`` or ``risk``.
    severity
        ``danger``, ``warning`` or ``note``. The end of a risk or of a stuck phase is a note.
    text
        Everything that the explanation has about it, in one line, with the lines that show it.
    """

    kind: str
    severity: str
    text: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.text}"


@dataclass(slots=True)
class Totals:
    """What counters show: it only grows."""

    elections: int = 0
    without_leader_ns: int = 0
    risks: dict[str, int] = field(default_factory=dict)


class Picture:
    """The state of a cluster whose logs are being written.

    Parameters
    ----------
    settings
        Timeouts, as for `explain`.

    Attributes
    ----------
    explanation
        From the kept lines; none before the first line of a cluster.
    totals
        Since the beginning.
    """

    def __init__(self, settings: Mapping[str, int] | None = None) -> None:
        self.explanation: Explanation | None = None
        self.totals = Totals()
        self._settings = dict(settings or {})
        self._members: dict[int, KeptRecords] = {}
        self._seen: set[tuple[object, ...]] = set()
        self._order: deque[tuple[object, ...]] = deque()

    def add(self, found: Mapping[int, list[LogRecord]]) -> bool:
        """Add records of members; say whether the picture changes."""
        news = False
        for member_id, records in found.items():
            kept = self._members.setdefault(member_id, KeptRecords())
            news |= kept.add(records)
        return news

    def lags(self) -> dict[int, int]:
        """For each member how far it is behind the highest position that any line shows."""
        ends: dict[int, int] = {}
        for kept in self._members.values():
            for record in kept.records()[-64:]:
                if isinstance(record, AppendPosition):
                    who, position = record.follower_member_id, record.log_position
                elif isinstance(record, CommitPosition):
                    who, position = record.leader_member_id, record.log_position
                else:
                    continue
                ends[who] = max(ends.get(who, 0), position)
        highest = max(ends.values(), default=0)
        return {member_id: highest - end for member_id, end in sorted(ends.items())}

    def update(self, names: Mapping[int, list[str]]) -> list[News]:
        """Explain the kept lines, and say what is new.

        Parameters
        ----------
        names
            Of each member's files.
        """
        logs = {
            member_id: MemberLog(
                member_id, tuple(Path(name) for name in names[member_id]), kept.records()
            )
            for member_id, kept in self._members.items()
        }
        named = set().union(*(members_named(log.records) for log in logs.values()))
        timeline = make_timeline(logs, tuple(sorted(named - logs.keys() - {NULL_VALUE})))
        if not timeline.members:
            return []
        self.explanation = explain(timeline, None, self._settings)
        return list(self._news(self.explanation))

    def _news(self, found: Explanation) -> Iterator[News]:
        for one in found.elections:
            won = one.leader_member_id is not None and one.opened
            if won and self._is_new("election", one.sentence.evidence):
                self.totals.elections += 1
                yield News("election", "note", str(one.sentence))
        for row in found.leaderships:
            ended = row.ended_by not in ("log ends", "unknown")
            if ended and self._is_new("leadership", row.evidence[:1]):
                yield News("leadership", "note", str(sentence_of(row)))
        for gap in found.gaps:
            if gap.leadership_term_id is not None and self._is_new("gap", gap.sentence.evidence):
                self.totals.without_leader_ns += gap.until_ns - (gap.from_ns or gap.until_ns)
        yield from self._troubles(found)

    def _troubles(self, found: Explanation) -> Iterator[News]:
        for stuck in found.stuck:
            first, *rest = map(str, stuck.sentences)
            begin = stuck.sentences[0].evidence[:1]
            if self._is_new(stuck.kind, begin):
                text = " ".join(filter(None, (first, stuck.waits_for, *rest)))
                yield News("stuck", "warning", text)
                self._is_over(stuck.kind, stuck.until_ns, begin)
            elif self._is_over(stuck.kind, stuck.until_ns, begin):
                yield News("stuck", "note", f"no longer stuck: {first}")
        for risk in found.risks:
            # A line that comes later can make a note a danger.
            kind, lines = f"{risk.severity} {risk.kind}", risk.sentences[0].evidence
            first, *rest = map(str, risk.sentences)
            if self._is_new(kind, lines):
                risks = self.totals.risks
                risks[risk.severity] = risks.get(risk.severity, 0) + 1
                yield News("risk", risk.severity, " ".join((f"{risk.title}:", first, *rest)))
                self._is_over(kind, risk.until_ns, lines)
            elif self._is_over(kind, risk.until_ns, lines):
                text = " ".join((f"no longer: {risk.title}:", first, *rest[-1:]))
                yield News("risk", "note", text)

    def _is_over(self, kind: str, until_ns: int | None, lines: Iterable[Evidence]) -> bool:
        """Whether an end is known that was not known before."""
        return until_ns is not None and self._is_new(f"end of {kind}", lines)

    def _is_new(self, kind: str, lines: Iterable[Evidence]) -> bool:
        # Not by the name of the file: a file that is rolled gets another one.
        key = (kind, *((line.member_id, line.line, line.time_ns) for line in lines))
        if key in self._seen:
            return False
        self._seen.add(key)
        self._order.append(key)
        if len(self._order) > _MAX_KEYS:
            self._seen.discard(self._order.popleft())
        return True


CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def render(
    picture: Picture,
    lines: Mapping[int, int],
    read_bytes: Mapping[int, int],
    behind_s: float,
    verdict: str,
    seconds_ago: float,
) -> str:
    """Write the metrics.

    Parameters
    ----------
    lines, read_bytes
        Records and bytes read, by member.
    behind_s
        Seconds since all lines of the logs had been read.
    verdict
        Of the last check; empty if there was none.
    seconds_ago
        Seconds since that check.
    """
    rows: list[str] = []
    totals, found = picture.totals, picture.explanation
    rows += _metric("elections_total", "counter", "Elections that a member won.", totals.elections)
    seconds = round(totals.without_leader_ns / 1e9, 3)
    what = "Time between leaders, of gaps that have ended."
    rows += _metric("without_leader_seconds_total", "counter", what, seconds)
    last = found.leaderships[-1] if found and found.leaderships else None
    leads = last is not None and last.ended_by == "log ends"
    leader = last.leader_member_id if last is not None and leads else None
    rows += _metric(
        "leader_member_id",
        "gauge",
        "The leader; -1 if there is none.",
        -1 if leader is None else leader,
    )
    term = -1 if last is None else last.leadership_term_id
    rows += _metric("leadership_term_id", "gauge", "The last term that was opened.", term)
    rows += _labelled(
        "member_lag_bytes", "gauge", "Behind the highest position.", "member", picture.lags()
    )
    stuck = sum(one.until_ns is None for one in found.stuck) if found else 0
    rows += _metric("stuck_members", "gauge", "Members that are stuck now.", stuck)
    risks = {severity: totals.risks.get(severity, 0) for severity in ("danger", "warning", "note")}
    rows += _labelled("risks", "counter", "What was at risk.", "severity", risks)
    rows += _labelled("lines_total", "counter", "Lines of events read.", "member", lines)
    rows += _labelled("read_bytes_total", "counter", "Bytes read.", "member", read_bytes)
    rows += _metric("seconds_behind", "gauge", "Since all lines had been read.", round(behind_s, 3))
    if verdict:
        rows += _labelled("verdict", "gauge", "Verdict of the last check.", "verdict", {verdict: 1})
        rows += _metric("verdict_age_seconds", "gauge", "Since then.", round(seconds_ago, 1))
    return "".join(f"{row}\n" for row in rows)


def _metric(name: str, kind: str, text: str, value: float) -> Iterator[str]:
    yield f"# HELP canvass_{name} {text}"
    yield f"# TYPE canvass_{name} {kind}"
    yield f"canvass_{name} {value}"


def _labelled(
    name: str, kind: str, text: str, label: str, values: Mapping[str, int] | Mapping[int, int]
) -> Iterator[str]:
    yield f"# HELP canvass_{name} {text}"
    yield f"# TYPE canvass_{name} {kind}"
    for key, value in values.items():
        yield f'canvass_{name}{{{label}="{key}"}} {value}'

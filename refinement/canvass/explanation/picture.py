"""The picture of a running cluster in bounded memory, and the changes of the picture.

Memory is bounded, as only the lines of the last elections are kept, and the last dangers. Members
report positions all the time; only the latest reports before each other line are kept. Clocks are
compared by all lines, before any is left out. `followed_logs` reads the lines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from canvass.cluster.messages import NULL_VALUE
from canvass.explanation.evidence import Evidence
from canvass.explanation.explanation import Explanation, explain
from canvass.explanation.leaderships import ALIVE_NS, Leadership, sentence_of
from canvass.explanation.risks import FEW_DISKS, TRUNCATED, RiskReport
from canvass.explanation.timeline import CLOSED, HostClock, UnreadLines, timeline_of
from canvass.traces.aeron_log.clocks import ClockBounds, ClockedLog
from canvass.traces.aeron_log.logs import MemberLog, members_named
from canvass.traces.aeron_log.records import (
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    ElectionStateChange,
    LogRecord,
    NewElection,
    ProcessStart,
    StateChange,
)
from canvass.traces.releases import GrowingReleases

MAX_RECORDS: Final = 1_500
"""Records of one member. If an explanation has more, old ones are forgotten after it."""
_TOO_MANY: Final = 4
"""An explanation is due at once when a member has this many times `MAX_RECORDS`."""
_BEFORE: Final = 50
"""Records before an election that are kept with it: they show how the last leader ended."""
_DANGERS: Final = 20
"""The last dangers are kept when their lines are forgotten."""
_MAX_KEYS: Final = 10_000
"""Announcements that are remembered; the oldest are forgotten."""
_MAX_MESSAGES: Final = 10_000
"""Messages that are remembered to compare clocks, while one log is read before another."""

_Timed: TypeAlias = tuple[LogRecord, int]
"""A record, and its time by `HostClock`."""


class KeptRecords:
    """The records of one member that the picture needs."""

    def __init__(self) -> None:
        self._kept: list[_Timed] = []
        self._latest: dict[tuple[type, int], _Timed] = {}
        self._signs: deque[_Timed] = deque()

    def add(self, records: Iterable[LogRecord], times: Iterable[int]) -> bool:
        """Add records; say whether one of them is not a report of a position."""
        news = False
        for record, time_ns in zip(records, times, strict=True):
            if isinstance(record, AppendPosition | CanvassPosition):
                self._note((record, time_ns), record.follower_member_id)
            elif isinstance(record, CommitPosition):
                self._note((record, time_ns), record.leader_member_id)
            else:
                self._kept += self._positions()
                self._latest.clear()
                self._signs.clear()
                self._kept.append((record, time_ns))
                news = True
        return news

    def __len__(self) -> int:
        return len(self._kept)

    def _note(self, line: _Timed, by: int) -> None:
        """Keep the latest position of each member, and some of the last second: they show that this
        member was not paused.
        """
        record, time_ns = line
        self._latest[type(record), by] = line
        if not self._signs or time_ns - self._signs[-1][1] >= ALIVE_NS // 4:
            self._signs.append(line)
        while self._signs[0][1] < time_ns - ALIVE_NS:
            self._signs.popleft()

    def _positions(self) -> list[_Timed]:
        noted = (*self._latest.values(), *self._signs)
        found = {(line[0].file, line[0].line): line for line in noted}
        return [found[place] for place in sorted(found)]

    def forget(self) -> None:
        """Forget old records, if there are more than `MAX_RECORDS`.

        About half of `MAX_RECORDS` remain, from the beginning of an election on, with some lines
        before it. A leadership that lasts keeps the line that began it.
        """
        if len(self) <= MAX_RECORDS:
            return
        old = len(self) - MAX_RECORDS // 2
        starts = (k for k in range(old, len(self)) if isinstance(self._kept[k][0], NewElection))
        cut = max(next(starts, old) - _BEFORE, 0)
        changes = (line for line in reversed(self._kept[:cut]) if _changes_leadership(line[0]))
        opening = [
            line
            for line in islice(changes, 1)
            if isinstance(line[0], ElectionStateChange) and line[0].new_state == CLOSED
        ]
        self._kept = [*opening, *self._kept[cut:]]

    def lines(self) -> list[_Timed]:
        """The records that are kept with their times, in the order of the lines."""
        return [*self._kept, *self._positions()]

    def latest(self, count: int) -> list[_Timed]:
        """The last of these records, but none before lines that could not be read."""
        lines = self.lines()[-count:]
        unread = (k for k in range(len(lines), 0, -1) if isinstance(lines[k - 1][0], UnreadLines))
        return lines[next(unread, 0) :]


def _changes_leadership(record: LogRecord) -> bool:
    """Whether a record can begin or end the leadership of its member."""
    if isinstance(record, StateChange):
        return record.new_state == CLOSED
    return isinstance(record, ElectionStateChange | NewElection | ProcessStart | UnreadLines)


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
    """The totals that counters show: they only grow."""

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
    leadership
        The last one whose beginning a line showed; a newer one if lines show that only.
    dangers
        The last ones, also if their lines have been forgotten.
    totals
        Since the beginning.
    """

    def __init__(self, settings: Mapping[str, int] | None = None) -> None:
        self.explanation: Explanation | None = None
        self.leadership: Leadership | None = None
        self.totals = Totals()
        self._dangers: dict[tuple[object, ...], RiskReport] = {}
        self._has_forgotten = False
        self._settings = dict(settings or {})
        self._members: dict[int, KeptRecords] = {}
        self._clocks: dict[int, HostClock] = {}
        self._bounds = ClockBounds(_MAX_MESSAGES)
        self._releases = GrowingReleases()
        self._seen: set[tuple[object, ...]] = set()
        self._order: deque[tuple[object, ...]] = deque()

    def add(self, found: Mapping[int, list[LogRecord]]) -> bool:
        """Add records of members; say whether the picture changes."""
        news = False
        for member_id, records in found.items():
            kept = self._members.setdefault(member_id, KeptRecords())
            times = self._clocks.setdefault(member_id, HostClock()).times(records)
            self._bounds.add(member_id, records, times)
            self._releases.add(member_id, records)
            news |= kept.add(records, times)
        return news

    @property
    def is_full(self) -> bool:
        """Whether enough lines came since the last explanation that `update` is due."""
        return any(len(kept) > _TOO_MANY * MAX_RECORDS for kept in self._members.values())

    @property
    def dangers(self) -> list[RiskReport]:
        """The last dangers, in the order in which they were found."""
        return list(self._dangers.values())

    def lags(self) -> dict[int, int]:
        """For each member how far it is behind the highest position that any line shows.

        Lines before the place from which on a log could not be read do not count.
        """
        ends: dict[int, int] = {}
        for kept in self._members.values():
            for record, _ in kept.latest(64):
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
        """Explain the kept lines, say what is new, and forget old lines.

        Parameters
        ----------
        names
            Of each member's files.
        """
        logs, clocked = {}, {}
        for member_id, kept in self._members.items():
            lines = kept.lines()
            records = [record for record, _ in lines]
            files = tuple(Path(name) for name in names[member_id])
            logs[member_id] = MemberLog(member_id, files, records)
            if lines:
                clocked[member_id] = ClockedLog(records, [time_ns for _, time_ns in lines])
        named = set().union(*(members_named(log.records) for log in logs.values()))
        missing = tuple(sorted(named - logs.keys() - {NULL_VALUE}))
        timeline = timeline_of(logs, clocked, self._bounds.offsets(), missing)
        if not timeline.members:
            return []
        timeline.releases = self._releases.of(logs)
        self.explanation = explain(timeline, None, self._settings)
        self._see_leadership(self.explanation.leaderships)
        news = list(self._news(self.explanation))
        for kept in self._members.values():
            before = len(kept)
            kept.forget()
            self._has_forgotten |= len(kept) < before
        return news

    def _see_leadership(self, rows: Sequence[Leadership]) -> None:
        exact = [row for row in rows if row.is_exact]
        self.leadership = exact[-1] if exact else self.leadership
        for row in rows:
            last = self.leadership
            if last is None or row.leadership_term_id > last.leadership_term_id:
                self.leadership = row

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
            if self._has_forgotten and gap.from_ns == found.begin_ns:
                continue  # It begins with the first line that is kept.
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
            kind = TRUNCATED if risk.kind == FEW_DISKS else risk.kind
            lines = risk.sentences[0].evidence
            first, *rest = map(str, risk.sentences)
            if self._is_graver(kind, risk.severity, lines):
                risks = self.totals.risks
                risks[risk.severity] = risks.get(risk.severity, 0) + 1
                yield News("risk", risk.severity, " ".join((f"{risk.title}:", first, *rest)))
                self._is_over(kind, risk.until_ns, lines)
            elif self._is_over(kind, risk.until_ns, lines):
                text = " ".join((f"no longer: {risk.title}:", first, *rest[-1:]))
                yield News("risk", "note", text)
            if risk.severity == "danger":
                self._dangers[_key(kind, lines)] = risk
        while len(self._dangers) > _DANGERS:
            del self._dangers[next(iter(self._dangers))]

    def _is_graver(self, kind: str, severity: str, lines: tuple[Evidence, ...]) -> bool:
        """Whether no risk of this severity or a graver one was announced for these lines.

        A line that comes later can make a note a danger. A line that is forgotten makes no danger
        a note.
        """
        graver = _SEVERITIES[_SEVERITIES.index(severity) :]
        if any(_key(f"{one} {kind}", lines) in self._seen for one in graver):
            return False
        return self._is_new(f"{severity} {kind}", lines)

    def _is_over(self, kind: str, until_ns: int | None, lines: Iterable[Evidence]) -> bool:
        """Whether an end is known that was not known before."""
        return until_ns is not None and self._is_new(f"end of {kind}", lines)

    def _is_new(self, kind: str, lines: Iterable[Evidence]) -> bool:
        key = _key(kind, lines)
        if key in self._seen:
            return False
        self._seen.add(key)
        self._order.append(key)
        if len(self._order) > _MAX_KEYS:
            self._seen.discard(self._order.popleft())
        return True


_SEVERITIES: Final = ("note", "warning", "danger")


def _key(kind: str, lines: Iterable[Evidence]) -> tuple[object, ...]:
    """A key without the names of the files: a file that is rolled gets another one."""
    return kind, *((line.member_id, line.line, line.time_ns) for line in lines)

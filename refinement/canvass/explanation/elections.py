"""Each election of the cluster: from the end of one leader to the next leader.

An election of the cluster consists of the members' elections since the end of the last leader. It
ends when a member wins. If no member wins, it ends with the logs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from canvass.cluster.messages import Record
from canvass.explanation.leaderships import Span
from canvass.explanation.phases import BallotReport, PhaseReport, report_ballot, report_phase
from canvass.explanation.timeline import (
    CLOSED,
    LEADING,
    SEEKING,
    Evidence,
    Phase,
    Sentence,
    Timeline,
    shown_ns,
)
from canvass.explanation.timeouts import Timeout
from canvass.traces.aeron_log import records
from canvass.traces.errors import counted
from canvass.traces.timeouts import HEARTBEAT_TIMEOUT, STARTUP_CANVASS

MAX_PHASES: Final = 200
"""The most phases of one member in one election that are listed. A stuck member has thousands."""
_MAX_CAUSES: Final = 4
"""The most elections of one member whose reasons are given."""


class ElectionReport(Record, frozen=True):
    """One election of the cluster.

    Parameters
    ----------
    number
        The number of the election, counted from 1.
    leader_member_id, leadership_term_id
        The member that won, and its term; null if no member won.
    from_ns, until_ns
        The times, on the common clock, at which the first member had no leader, and at which the
        winner's election closed or the winner gave up its term.
    opened
        Whether the winner opened its term.
    detection_ms
        The time from the last sign of the last leader to the first member's election; null if
        unknown.
    phases
        The phases of all members, in the order of their beginning.
    left_out
        The number of phases of stuck members that are not listed.
    """

    number: int
    leader_member_id: int | None
    leadership_term_id: int | None
    from_ns: int
    until_ns: int
    duration_ms: float
    opened: bool
    detection_ms: float | None
    causes: tuple[Sentence, ...]
    phases: tuple[PhaseReport, ...]
    ballots: tuple[BallotReport, ...]
    slowest: Sentence
    setting: str | None
    left_out: int
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class _Win:
    """A won ballot: the winner's first and last phase as leader."""

    first: Phase
    last: Phase

    @property
    def opened(self) -> bool:
        """Whether the winner opened its term."""
        return self.last.left_by is not None and self.last.left_by.new_state == CLOSED

    @property
    def end(self) -> int:
        """The index of the line that shows the end of the last phase, or of the member's last."""
        return min(self.last.end, len(self.last.one.records) - 1)

    @property
    def end_ns(self) -> int:
        """The time of that line, on the common clock."""
        return self.last.one.times[self.end]

    @property
    def goes_on(self) -> bool:
        """Whether the winner's log ends while the winner is still opening its term."""
        at_end = self.end == len(self.last.one.records) - 1
        return not self.opened and at_end and self.last.attempt.outcome == "log ends"


def find_elections(
    timeline: Timeline, spans: list[Span], timeouts: dict[str, Timeout]
) -> list[ElectionReport]:
    """List the elections in the order in which they ended."""
    wins = sorted(_wins(timeline), key=lambda win: win.first.begin_ns)
    found: list[ElectionReport] = []
    ends = sorted([timeline.begin_ns - 1, *(win.end_ns for win in wins)])
    for position, win in enumerate(wins):
        # A member can win before an earlier winner has opened its term.
        before_ns = ends[bisect_left(ends, win.first.begin_ns) - 1]
        following = wins[position + 1 : position + 2]
        until = following[0].first.begin_ns if following else timeline.end_ns
        found.append(_won(timeline, spans, timeouts, len(found) + 1, before_ns, win, until))
    ended = max((span.until_ns or timeline.end_ns for span in spans), default=ends[-1])
    goes_on = any(win.goes_on for win in wins)
    if not goes_on and not any(span.row.ended_by == "log ends" for span in spans):
        last = _unwon(timeline, len(found) + 1, max(ends[-1], ended))
        if last is not None:
            found.append(last)
    return found


def _wins(timeline: Timeline) -> Iterator[_Win]:
    for attempt in timeline.attempts():
        for position, phase in enumerate(attempt.phases):
            if phase.state == "LEADER_LOG_REPLICATION":
                *_, last = takewhile(lambda p: p.state in LEADING, attempt.phases[position:])
                yield _Win(phase, last)


def _seeking(phases: list[Phase], before_ns: int, at_ns: int) -> int | None:
    """The index of the first phase in which a member has no leader at ``at_ns``.

    If the member is in no such phase then, it is the first one of the last such phases before that
    time. None if there are no such phases after ``before_ns``.

    Notes
    -----
    A phase in which a follower joins a leader counts only if it lasts beyond ``at_ns``: a follower
    may join the last leader after that leader's election has closed.
    """
    last = -1
    for position, phase in enumerate(phases):
        if phase.begin_ns >= at_ns:
            break
        if phase.end_ns > before_ns:
            last = position
    if last < 0:
        return None
    if phases[last].state not in SEEKING:
        return last if phases[last].end_ns > at_ns else None
    first = last
    while first > 0 and phases[first - 1].state in SEEKING:
        if phases[first - 1].end_ns <= before_ns or _closed_between(phases, first):
            break
        first -= 1
    return first


def _joining(phases: list[Phase], win: _Win, until_ns: int) -> int | None:
    """The index of the first phase after ``win``; none if it belongs to no election of that win.

    A member may notice late that the old leader is gone, and join the new leader after that one has
    opened its term. A process that starts after the opening takes no part in the election.
    """
    first = next((k for k, p in enumerate(phases) if win.first.begin_ns < p.begin_ns), None)
    if first is None or phases[first].begin_ns <= win.end_ns:
        return first
    attempt = phases[first].attempt
    joins = attempt.outcome == "closed" and attempt.one.times[attempt.end] <= until_ns
    return first if joins and not attempt.is_startup else None


def _closed_between(phases: list[Phase], position: int) -> bool:
    earlier, later = phases[position - 1].attempt, phases[position].attempt
    return earlier is not later and earlier.outcome == "closed"


def _won(
    timeline: Timeline,
    spans: list[Span],
    timeouts: dict[str, Timeout],
    number: int,
    before_ns: int,
    win: _Win,
    until_ns: int,
) -> ElectionReport:
    one, at_ns = win.first.one, win.first.begin_ns
    old = _leader_before(spans, at_ns)
    chosen: list[list[Phase]] = []
    starts: list[int] = []
    for member in timeline.members.values():
        listed = list(member.phases)
        first = _seeking(listed, before_ns, at_ns)
        first = _joining(listed, win, until_ns) if first is None else first
        if first is None:
            continue
        kept = [p for p in listed[first:] if p.begin_ns < until_ns or p is win.first]
        if kept:
            chosen.append(_until_closed(kept, at_ns))
            starts += [p.begin_ns for p in listed[first : first + 1] if p.state in SEEKING]
    working = old.working_ns if old is not None else None
    start_ns = min(starts, default=at_ns)
    if working is not None:
        start_ns = max(start_ns, min(working, at_ns))
    term = win.first.own.leadership_term_id
    detection = None if working is None else max(start_ns - working, 0)
    causes, phases, ballots, left_out = _reports(chosen, start_ns)
    slowest, setting = _slowest(win, start_ns, old, detection, phases, timeouts)
    failed = sum(ballot.outcome == "failed" for ballot in ballots)
    text = f"Election {number}: member {one.member_id} won term {term} after"
    text += f" {shown_ns(at_ns - start_ns)}"
    text += f" and {counted(failed, 'failed ballot')}" if failed else ""
    if win.opened:
        text += f"; the term was open after {shown_ns(win.end_ns - start_ns)}."
    else:
        text += "; it never opened the term."
    return ElectionReport(
        number, one.member_id, term, start_ns, win.end_ns,
        round((win.end_ns - start_ns) / 1e6, 3), win.opened,
        None if detection is None else round(detection / 1e6, 3),
        causes, phases, ballots, slowest, setting, left_out,
        one.say(text, win.first.begin, win.end),
    )  # fmt: skip


def _leader_before(spans: list[Span], at_ns: int) -> Span | None:
    """The last leadership before an election; none if its leader's own lines are missing."""
    earlier = [one for one in spans if one.from_ns < at_ns]
    last = max(earlier, key=lambda one: one.row.leadership_term_id, default=None)
    return last if last is not None and last.row.is_exact else None


def _until_closed(phases: list[Phase], at_ns: int) -> list[Phase]:
    """The phases up to the end of the first election that ends at or after ``at_ns``."""
    kept: list[Phase] = []
    for phase in phases:
        if kept and kept[-1].attempt is not phase.attempt and kept[-1].end_ns >= at_ns:
            break
        kept.append(phase)
    return kept


def _reports(
    chosen: list[list[Phase]], start_ns: int
) -> tuple[tuple[Sentence, ...], tuple[PhaseReport, ...], tuple[BallotReport, ...], int]:
    """The causes, the phases, the ballots, and the number of phases that are left out."""
    every = sorted((p for phases in chosen for p in phases), key=lambda p: p.begin_ns)
    listed = [p for phases in chosen for p in phases[:MAX_PHASES]]
    listed.sort(key=lambda p: (p.begin_ns, p.one.member_id))
    ran = [p for p in every if p.state == "CANDIDATE_BALLOT"][:MAX_PHASES]
    causes = tuple(_causes(chosen, start_ns))
    reports, ballots = tuple(map(report_phase, listed)), tuple(map(report_ballot, ran))
    return causes, reports, ballots, len(every) - len(listed)


def _causes(chosen: list[list[Phase]], start_ns: int) -> Iterator[Sentence]:
    """Say why each member began its first elections."""
    for phases in sorted(chosen, key=lambda phases: phases[0].one.member_id):
        attempts = dict.fromkeys(phase.attempt for phase in phases)
        began = [a for a in attempts if a.one.times[a.begin] >= start_ns - 1_000_000_000]
        for attempt in began[:_MAX_CAUSES]:
            one, record = attempt.one, attempt.one.records[attempt.begin]
            if isinstance(record, records.NewElection):
                why = record.reason or "no reason logged"
                text = f"Member {one.member_id} began an election: {why}."
                yield one.say(text, attempt.begin)


def _slowest(
    win: _Win,
    start_ns: int,
    old: Span | None,
    detection: int | None,
    phases: tuple[PhaseReport, ...],
    timeouts: dict[str, Timeout],
) -> tuple[Sentence, str | None]:
    """The longest part of the winner's election, and the timeout that bounds this part."""
    one, attempt = win.first.one, win.first.attempt
    last_ns = one.records[win.end].time_ns
    own = [
        phase
        for phase in phases
        if phase.member_id == one.member_id
        and phase.duration_ms is not None
        and phase.from_ns <= last_ns
        and phase.from_ns + one.offset_ns >= start_ns - 1_000_000
    ]
    longest = max(own, key=lambda phase: phase.duration_ms or 0.0, default=None)
    longest_ns = 0 if longest is None else round((longest.duration_ms or 0) * 1e6)
    wait_ns = one.times[attempt.begin] - start_ns
    noticed = _noticed(one.cluster, start_ns)
    worked = None if old is None else old.working_by
    noticed_ns = 0 if noticed is None or worked is None else detection or 0
    if wait_ns > max(longest_ns, noticed_ns):
        text = f"Slowest part: {shown_ns(wait_ns)} until the winner itself began its election"
        return one.say(f"{text} ({attempt.reason or 'no reason logged'}).", attempt.begin), None
    if noticed_ns > longest_ns and noticed is not None and worked is not None:
        text = f"Slowest part: {shown_ns(noticed_ns)} until the leader's end was noticed"
        text += f"{_bound(timeouts, HEARTBEAT_TIMEOUT)}."
        return Sentence(text, (worked, noticed)), HEARTBEAT_TIMEOUT
    if longest is None:
        return win.first.say("The lines of the winner's phases are not in the log."), None
    why = longest.sentence.text.partition(": ")[2].removesuffix(".")
    text = f"Slowest part: {longest.state} of member {one.member_id} for {shown_ns(longest_ns)}"
    text += f": {why}"
    if longest.setting is not None:
        text += _bound(timeouts, longest.setting)
        if longest.setting == STARTUP_CANVASS:
            text += "; the canvass ends earlier when every member has answered"
    elif longest.governed_by != "unknown":
        text += "; no timeout bounds it"
    return Sentence(f"{text}.", longest.sentence.evidence), longest.setting


def _bound(timeouts: dict[str, Timeout], setting: str) -> str:
    timeout = timeouts[setting]
    return f"; {setting} bounds it ({timeout.source}: {shown_ns(timeout.value_ns)})"


def _noticed(timeline: Timeline, start_ns: int) -> Evidence | None:
    """The first election since a time, if the leader heartbeat timeout began it."""
    found = timeline.merged(records.NewElection)
    place = bisect_left(found, start_ns - 1_000_000, key=lambda row: row[0])
    if place == len(found):
        return None
    _, one, index = found[place]
    is_late = getattr(one.records[index], "reason", "") == "leader heartbeat timeout"
    return one.evidence(index) if is_late else None


def _unwon(timeline: Timeline, number: int, before_ns: int) -> ElectionReport | None:
    """The election after the last leader that no member has won; none if no member began one."""
    found = [
        [p for p in one.phases if p.begin_ns >= before_ns and p.state in SEEKING]
        for one in timeline.members.values()
    ]
    chosen = [phases for phases in found if phases]
    if not chosen:
        return None
    first = min((phases[0] for phases in chosen), key=lambda p: p.begin_ns)
    causes, phases, ballots, left_out = _reports(chosen, first.begin_ns)
    lasted = timeline.end_ns - first.begin_ns
    text = f"Election {number}: no member has won after {shown_ns(lasted)}, when the logs end."
    longest = max((p for phases in chosen for p in phases), key=lambda p: p.lasted_ns)
    slowest = f"Longest phase: {longest.state} of member {longest.one.member_id} for at least"
    slowest += f" {shown_ns(longest.lasted_ns)}."
    report = report_phase(longest)
    return ElectionReport(
        number, None, None, first.begin_ns, timeline.end_ns, round(lasted / 1e6, 3), False, None,
        causes, phases, ballots, Sentence(slowest, report.sentence.evidence), report.setting,
        left_out, Sentence(text, (first.one.evidence(first.begin), timeline.last_line())),
    )  # fmt: skip

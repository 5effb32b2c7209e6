"""Each election of the cluster: from the end of one leader to the next leader.

An election of the cluster consists of the members' elections since the end of the last leader. It
ends when a member wins. If no member wins, it ends with the logs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from canvass.cluster.messages import Record
from canvass.explanation.leaderships import Span
from canvass.explanation.phases import BallotReport, PhaseReport, report_ballot, report_phase
from canvass.explanation.timeline import (
    CLOSED,
    LEADING,
    SEEKING,
    Attempt,
    Evidence,
    MemberTimeline,
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


@dataclass(slots=True)
class _Win:
    """A won ballot: the winner's attempt, its first phase as leader, and the end of its last."""

    attempt: Attempt
    phase: Phase
    at_ns: int
    end_ns: int
    end: int
    opened: bool


@dataclass(slots=True)
class _Place:
    """One phase with its attempt and its times on the common clock."""

    attempt: Attempt
    phase: Phase
    begin_ns: int
    end_ns: int


def find_elections(
    timeline: Timeline, spans: list[Span], timeouts: dict[str, Timeout]
) -> list[ElectionReport]:
    """List the elections in the order in which they ended."""
    wins = sorted(_wins(timeline), key=lambda win: win.at_ns)
    places = {m: list(_places(timeline, m)) for m in timeline.members}
    found: list[ElectionReport] = []
    ends = sorted([timeline.begin_ns - 1, *(win.end_ns for win in wins)])
    for position, win in enumerate(wins):
        # A member can win before an earlier winner has opened its term.
        before_ns = ends[bisect_left(ends, win.at_ns) - 1]
        until = wins[position + 1].at_ns if position + 1 < len(wins) else timeline.end_ns
        found.append(_won(timeline, places, spans, timeouts, len(found) + 1, before_ns, win, until))
    ended = max((span.until_ns or timeline.end_ns for span in spans), default=ends[-1])
    goes_on = any(_goes_on(timeline, win) for win in wins)
    if not goes_on and not any(span.row.ended_by == "log ends" for span in spans):
        last = _unwon(timeline, places, len(found) + 1, max(ends[-1], ended))
        if last is not None:
            found.append(last)
    return found


def _wins(timeline: Timeline) -> Iterator[_Win]:
    for attempt in timeline.attempts():
        one = timeline.members[attempt.member_id]
        for position, phase in enumerate(attempt.phases):
            if phase.state != "LEADER_LOG_REPLICATION":
                continue
            last = phase
            for following in attempt.phases[position:]:
                if following.state not in LEADING:
                    break
                last = following
            end = min(last.end, len(one.records) - 1)
            opened = last.left_by is not None and last.left_by.new_state == CLOSED
            yield _Win(attempt, phase, one.times[phase.begin], one.times[end], end, opened)


def _goes_on(timeline: Timeline, win: _Win) -> bool:
    """Whether the log of a winner ends while the winner is still opening its term."""
    last = len(timeline.members[win.attempt.member_id].records) - 1
    return not win.opened and win.end == last and win.attempt.outcome == "log ends"


def _places(timeline: Timeline, member_id: int) -> Iterator[_Place]:
    one = timeline.members[member_id]
    last = len(one.records) - 1
    for attempt in one.attempts:
        for phase in attempt.phases:
            end = one.last_before(phase.end) if _is_silent(one, phase.end) else phase.end
            end_ns = one.times[min(end, last)]
            yield _Place(attempt, phase, one.times[phase.begin], end_ns)


def _is_silent(one: MemberTimeline, end: int) -> bool:
    """Whether a phase ends with its process, which wrote no line about that."""
    return end < len(one.records) and isinstance(one.records[end], records.ProcessStart)


def _seeking(places: list[_Place], before_ns: int, at_ns: int) -> tuple[int, int] | None:
    """The first and last index of the phases in which a member has no leader at ``at_ns``.

    If the member is in no such phase then, they are its last ones before that time. None if there
    are no such phases after ``before_ns``.

    Notes
    -----
    A phase in which a follower joins a leader counts only if it lasts beyond ``at_ns``: a follower
    may join the last leader after that leader's election has closed.
    """
    last = -1
    for position, place in enumerate(places):
        if place.begin_ns >= at_ns:
            break
        if place.end_ns > before_ns:
            last = position
    if last < 0:
        return None
    first = last
    if places[last].phase.state not in SEEKING:
        return (first, last) if places[last].end_ns > at_ns else None
    while first > 0 and places[first - 1].phase.state in SEEKING:
        if places[first - 1].end_ns <= before_ns or _closed_between(places, first):
            break
        first -= 1
    return first, last


def _joining(one: MemberTimeline, places: list[_Place], win: _Win, until_ns: int) -> int | None:
    """The index of the first phase after ``win``; none if it belongs to no election of that win.

    A member may notice late that the old leader is gone, and join the new leader after that one has
    opened its term. A process that starts after the opening takes no part in the election.
    """
    first = next((k for k, p in enumerate(places) if win.at_ns < p.begin_ns), None)
    if first is None or places[first].begin_ns <= win.end_ns:
        return first
    attempt = places[first].attempt
    joins = attempt.outcome == "closed" and one.times[attempt.end] <= until_ns
    return first if joins and not attempt.is_startup else None


def _closed_between(places: list[_Place], position: int) -> bool:
    earlier, later = places[position - 1].attempt, places[position].attempt
    return earlier is not later and earlier.outcome == "closed"


def _won(
    timeline: Timeline,
    places: dict[int, list[_Place]],
    spans: list[Span],
    timeouts: dict[str, Timeout],
    number: int,
    before_ns: int,
    win: _Win,
    until_ns: int,
) -> ElectionReport:
    winner = win.attempt.member_id
    old = _leader_before(spans, win)
    chosen: dict[int, list[_Place]] = {}
    starts: list[tuple[int, int]] = []
    for member_id, listed in places.items():
        found = _seeking(listed, before_ns, win.at_ns)
        if found is None:
            first = _joining(timeline.members[member_id], listed, win, until_ns)
            if first is None:
                continue
            found = (first, first)
        kept = [p for p in listed[found[0] :] if p.begin_ns < until_ns or p.phase is win.phase]
        chosen[member_id] = _until_closed(kept, win.at_ns)
        if listed[found[0]].phase.state in SEEKING and chosen[member_id]:
            starts.append((listed[found[0]].begin_ns, member_id))
    working = old.working_ns if old is not None else None
    if working is not None:
        starts = [(max(start, min(working, win.at_ns)), m) for start, m in starts]
    start_ns, _ = min(starts, default=(win.at_ns, winner))
    one = timeline.members[winner]
    won_at, closed_at = one.evidence(win.phase.begin), one.evidence(win.end)
    opened_by = win.phase.entered_by
    term = getattr(opened_by, "leadership_term_id", None)
    phases, left_out = _reports(timeline, chosen)
    ballots = tuple(_ballots(timeline, chosen))
    detection = None if working is None or old is None else max(start_ns - working, 0)
    slowest, setting = _slowest(timeline, win, start_ns, old, detection, phases, timeouts)
    failed = sum(ballot.outcome == "failed" for ballot in ballots)
    text = (
        f"Election {number}: member {winner} won term {term} after {shown_ns(win.at_ns - start_ns)}"
    )
    text += f" and {counted(failed, 'failed ballot')}" if failed else ""
    if win.opened:
        text += f"; the term was open after {shown_ns(win.end_ns - start_ns)}."
    else:
        text += "; it never opened the term."
    return ElectionReport(
        number, winner, term, start_ns, win.end_ns, round((win.end_ns - start_ns) / 1e6, 3),
        win.opened, None if detection is None else round(detection / 1e6, 3),
        tuple(_causes(timeline, chosen, start_ns)), phases, ballots, slowest,
        setting, left_out, Sentence(text, (won_at, closed_at)),
    )  # fmt: skip


def _leader_before(spans: list[Span], win: _Win) -> Span | None:
    """The last leadership before an election; none if its leader's own lines are missing."""
    earlier = [one for one in spans if one.from_ns < win.at_ns]
    last = max(earlier, key=lambda one: one.row.leadership_term_id, default=None)
    return last if last is not None and last.row.is_exact else None


def _until_closed(places: list[_Place], at_ns: int) -> list[_Place]:
    """The phases up to the end of the first election that ends at or after ``at_ns``."""
    kept: list[_Place] = []
    for place in places:
        if kept and kept[-1].attempt is not place.attempt and kept[-1].end_ns >= at_ns:
            break
        kept.append(place)
    return kept


def _reports(
    timeline: Timeline, chosen: dict[int, list[_Place]]
) -> tuple[tuple[PhaseReport, ...], int]:
    listed = [
        (place.begin_ns, member_id, place)
        for member_id, places in chosen.items()
        for place in places[:MAX_PHASES]
    ]
    listed.sort(key=lambda one: one[:2])
    left_out = sum(max(0, len(places) - MAX_PHASES) for places in chosen.values())
    reports = [report_phase(timeline, p.attempt, p.phase) for _, m, p in listed]
    return tuple(reports), left_out


def _ballots(timeline: Timeline, chosen: dict[int, list[_Place]]) -> Iterator[BallotReport]:
    listed = [
        (place.begin_ns, place.phase)
        for places in chosen.values()
        for place in places
        if place.phase.state == "CANDIDATE_BALLOT"
    ]
    for _, phase in sorted(listed, key=lambda one: one[0])[:MAX_PHASES]:
        if (report := report_ballot(timeline, phase)) is not None:
            yield report


def _causes(
    timeline: Timeline, chosen: dict[int, list[_Place]], start_ns: int
) -> Iterator[Sentence]:
    """Say why each member began an election."""
    for member_id, places in sorted(chosen.items()):
        one = timeline.members[member_id]
        seen: set[int] = set()
        for place in places:
            attempt = place.attempt
            if attempt.begin in seen or one.times[attempt.begin] < start_ns - 1_000_000_000:
                continue
            seen.add(attempt.begin)
            record = one.records[attempt.begin]
            if isinstance(record, records.NewElection) and len(seen) <= 4:
                text = (
                    f"Member {member_id} began an election: {record.reason or 'no reason logged'}."
                )
                yield Sentence(text, (one.evidence(attempt.begin),))


def _slowest(
    timeline: Timeline,
    win: _Win,
    start_ns: int,
    old: Span | None,
    detection: int | None,
    phases: tuple[PhaseReport, ...],
    timeouts: dict[str, Timeout],
) -> tuple[Sentence, str | None]:
    """The longest part of the winner's election, and the timeout that bounds this part."""
    one = timeline.members[win.attempt.member_id]
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
    wait_ns = one.times[win.attempt.begin] - start_ns
    by = _first_election(timeline, start_ns)
    worked = None if old is None else old.working_by
    noticed_ns = 0
    if by is not None and worked is not None and by[1].reason == "leader heartbeat timeout":
        noticed_ns = detection or 0
    if wait_ns > max(longest_ns, noticed_ns):
        text = f"Slowest part: {shown_ns(wait_ns)} until the winner itself began its election"
        text += f" ({win.attempt.reason or 'no reason logged'})."
        return Sentence(text, (one.evidence(win.attempt.begin),)), None
    if noticed_ns > longest_ns and by is not None and worked is not None:
        text = f"Slowest part: {shown_ns(noticed_ns)} until the leader's end was noticed;"
        text += f" {HEARTBEAT_TIMEOUT} bounds it{_value_of(timeouts, HEARTBEAT_TIMEOUT)}."
        return Sentence(text, (worked, by[0])), HEARTBEAT_TIMEOUT
    if longest is None:
        text = "The lines of the winner's phases are not in the log."
        return Sentence(text, (one.evidence(win.phase.begin),)), None
    text = f"Slowest part: {longest.state} of member {one.member_id}"
    why = longest.sentence.text.partition(": ")[2].removesuffix(".")
    text += f" for {shown_ns(round((longest.duration_ms or 0) * 1e6))}: {why}"
    if longest.setting is not None:
        text += f"; {longest.setting} bounds it{_value_of(timeouts, longest.setting)}"
        if longest.setting == STARTUP_CANVASS:
            text += "; the canvass ends earlier when every member has answered"
        text += "."
    else:
        text += "." if longest.governed_by == "unknown" else "; no timeout bounds it."
    return Sentence(text, longest.sentence.evidence), longest.setting


def _value_of(timeouts: dict[str, Timeout], setting: str) -> str:
    timeout = timeouts[setting]
    return f" ({timeout.source}: {shown_ns(timeout.value_ns)})"


def _first_election(
    timeline: Timeline, start_ns: int
) -> tuple[Evidence, records.NewElection] | None:
    found = timeline.merged(records.NewElection)
    place = bisect_left(found, start_ns - 1_000_000, key=lambda row: row[0])
    if place == len(found):
        return None
    _, member_id, index = found[place]
    record = timeline.record(member_id, index)
    assert isinstance(record, records.NewElection)
    return timeline.members[member_id].evidence(index), record


def _unwon(
    timeline: Timeline, places: dict[int, list[_Place]], number: int, before_ns: int
) -> ElectionReport | None:
    """The election after the last leader that no member has won; none if no member began one."""
    chosen = {
        member_id: kept
        for member_id, listed in places.items()
        if (kept := [p for p in listed if p.begin_ns >= before_ns and p.phase.state in SEEKING])
    }
    if not chosen:
        return None
    start_ns = min(kept[0].begin_ns for kept in chosen.values())
    phases, left_out = _reports(timeline, chosen)
    first = min(chosen, key=lambda m: chosen[m][0].begin_ns)
    one = timeline.members[first]
    place = chosen[first][0].phase
    lasted = timeline.end_ns - start_ns
    text = f"Election {number}: no member has won after {shown_ns(lasted)}, when the logs end."
    every = [place for kept in chosen.values() for place in kept]
    longest = max(every, key=lambda place: place.end_ns - place.begin_ns)
    member_id, took = longest.phase.member_id, shown_ns(longest.end_ns - longest.begin_ns)
    slowest = f"Longest phase: {longest.phase.state} of member {member_id} for at least {took}."
    report = report_phase(timeline, longest.attempt, longest.phase)
    return ElectionReport(
        number, None, None, start_ns, timeline.end_ns, round(lasted / 1e6, 3), False, None,
        tuple(_causes(timeline, chosen, start_ns)), phases, tuple(_ballots(timeline, chosen)),
        Sentence(slowest, report.sentence.evidence), report.setting, left_out,
        Sentence(text, (one.evidence(place.begin), timeline.last_line())),
    )  # fmt: skip

"""Who is stuck, and why: a member that stays in an election longer than its timeout, and the guard
of the spec that is not satisfied, with values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from canvass.explanation.evidence import Evidence, Sentence, shown_ns
from canvass.explanation.guards import UnmetGuard, unmet_guard
from canvass.explanation.states import States
from canvass.explanation.timeline import SEEKING, Attempt, MemberTimeline, Phase, Timeline
from canvass.explanation.timeouts import Timeout
from canvass.traces.aeron_log.records import ClusterEvent, ElectionStateChange, LifeStart
from canvass.traces.timeouts import ELECTION, HEARTBEAT_TIMEOUT, STARTUP_CANVASS

_LOOPS: Final = 3
"""Errors, or returns to CANVASS, in one election from which on it counts as going round."""
_STARTS: Final = 3
"""Starts of the process without one line of the cluster from which on it counts as failing."""
_BALLOTS: Final = frozenset({"NOMINATE", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT"})


class StuckReport(msgspec.Struct, frozen=True, rename="camel"):
    """A member that does not get on.

    Parameters
    ----------
    kind
        ``phase`` (one state for longer than its timeout), ``loop`` (the same states again and
        again), ``start`` (the process ends before it takes part) or ``silent`` (no line in an
        election for longer than the timeout: the member hears nobody, or its process has ended).
    state
        The election state; of a loop the one in which it fails.
    from_ns, until_ns
        By the member's own clock; ``until_ns`` is null if it is stuck where its log ends.
    guard
        The condition that is not satisfied, as the spec names it; empty where no line shows it.
    page
        The finding that describes it; empty if none does.
    """

    member_id: int
    kind: str
    state: str
    from_ns: int
    until_ns: int | None
    duration_ms: float
    guard: str
    page: str
    sentences: tuple[Sentence, ...]


def find_stuck(
    timeline: Timeline, timeouts: dict[str, Timeout], states: States | None
) -> list[StuckReport]:
    """List the members that are or were stuck, in the order of time."""
    found: list[tuple[int, StuckReport]] = []
    for one in timeline.members.values():
        for attempt in one.attempts:
            report = _loop(timeline, one, attempt, timeouts, states)
            if report is None:
                report = _phase(timeline, one, attempt, timeouts, states)
            if report is None:
                report = _silent(timeline, one, attempt, timeouts, states)
            if report is not None:
                found.append((report.from_ns + one.offset_ns, report))
        found += [(report.from_ns + one.offset_ns, report) for report in _starts(one)]
    return [report for _, report in sorted(found, key=lambda pair: pair[0])]


def _limit(attempt: Attempt, phase: Phase, timeouts: dict[str, Timeout]) -> tuple[str, int]:
    """The timeout that bounds a state, or where none does the one within which a member is missed.

    Twice the value: members act on a timeout late, and some timeouts begin anew with a message.
    """
    first = (
        attempt.is_startup and phase.begin <= attempt.phases[min(1, len(attempt.phases) - 1)].begin
    )
    setting = HEARTBEAT_TIMEOUT
    if phase.state in _BALLOTS:
        setting = ELECTION
    elif phase.state == "CANVASS" and first:
        setting = STARTUP_CANVASS
    return setting, timeouts[setting].value_ns


def _ended(one: MemberTimeline, index: int) -> tuple[int | None, Evidence, int]:
    """When something ended that ends at an index: its own time, its line, its common time; the
    last line before it, where a process ended without a line.
    """
    if index < len(one.records) and isinstance(one.records[index], LifeStart):
        last = one.last_before(index)
        return one.records[last].time_ns, one.evidence(last), one.times[last]
    if index < len(one.records):
        return one.records[index].time_ns, one.evidence(index), one.times[index]
    last = len(one.records) - 1
    return None, one.evidence(last), one.times[last]


def _loop(
    timeline: Timeline,
    one: MemberTimeline,
    attempt: Attempt,
    timeouts: dict[str, Timeout],
    states: States | None,
) -> StuckReport | None:
    """An election that loops: it fails in the same state for the same reason."""
    fails: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], Phase] = {}
    for phase in attempt.phases:
        by = phase.left_by
        if by is None or not _goes_back(by):
            continue
        key = (phase.state, _kind_of(by.reason or ""))
        fails[key] += 1
        last[key] = phase
    if not fails:
        return None
    (state, _), count = fails.most_common(1)[0]
    phase = last[fails.most_common(1)[0][0]]
    until, end_line, end_ns = _ended(one, attempt.end)
    lasted = end_ns - one.times[attempt.begin]
    setting = HEARTBEAT_TIMEOUT
    if count < _LOOPS or lasted < timeouts[setting].value_ns:
        return None
    by = phase.left_by
    assert by is not None
    guard = unmet_guard(timeline, one, phase, states)
    if by.new_state == "INIT" and state in SEEKING:
        guard = UnmetGuard("", guard.page, ())
    back = one.evidence(phase.end)
    text = (
        f"Member {one.member_id} loops: {count} times from {state} back to {by.new_state}"
        f" in {shown_ns(lasted)}, {_how_it_ended(attempt)}."
    )
    sentences = [Sentence(text, (one.evidence(attempt.begin), back, end_line))]
    if by.reason:
        sentences.append(Sentence(f"The last reason is: {by.reason}.", (back,)))
    sentences += guard.sentences
    return StuckReport(
        one.member_id,
        "loop",
        state,
        one.records[attempt.begin].time_ns,
        until,
        round(lasted / 1e6, 3),
        guard.condition,
        guard.page,
        tuple(sentences),
    )


def _goes_back(by: ElectionStateChange) -> bool:
    if by.new_state == "INIT":
        return True
    if by.new_state != "CANVASS":
        return False
    # Copying one term after the other returns to CANVASS each time: that is progress.
    return by.old_state not in ("INIT", "FOLLOWER_LOG_REPLICATION")


def _kind_of(reason: str) -> str:
    """A reason without its numbers: the same trouble with other values is the same."""
    return "".join("#" if sign.isdigit() else sign for sign in reason)[:60]


def _how_it_ended(attempt: Attempt) -> str:
    if attempt.outcome == "closed":
        return "then it joined"
    if attempt.outcome == "process ended":
        return "then its process ended"
    if attempt.outcome == "new election":
        return "then it began another election"
    return "and it has not joined when its log ends"


def _phase(
    timeline: Timeline,
    one: MemberTimeline,
    attempt: Attempt,
    timeouts: dict[str, Timeout],
    states: States | None,
) -> StuckReport | None:
    """The longest stay that is over its limit."""
    worst: tuple[int, Phase, str, int] | None = None
    for phase in attempt.phases:
        _, _, end_ns = _ended(one, phase.end)
        lasted = end_ns - one.times[phase.begin]
        setting, limit = _limit(attempt, phase, timeouts)
        if lasted > limit + limit // 4 and (worst is None or lasted > worst[0]):
            worst = (lasted, phase, setting, limit)
    if worst is None:
        return None
    lasted, phase, setting, limit = worst
    until, end_line, _ = _ended(one, phase.end)
    guard = unmet_guard(timeline, one, phase, states)
    how = "and its log ends there" if phase.end >= len(one.records) else _left(phase, attempt)
    text = (
        f"Member {one.member_id} was in {phase.state} for {shown_ns(lasted)}, {how};"
        f" {setting} is {shown_ns(limit)} ({timeouts[setting].source})."
    )
    sentences = (Sentence(text, (one.evidence(phase.begin), end_line)), *guard.sentences)
    return StuckReport(
        one.member_id,
        "phase",
        phase.state,
        one.records[phase.begin].time_ns,
        until,
        round(lasted / 1e6, 3),
        guard.condition,
        guard.page,
        sentences,
    )


def _silent(
    timeline: Timeline,
    one: MemberTimeline,
    attempt: Attempt,
    timeouts: dict[str, Timeout],
    states: States | None,
) -> StuckReport | None:
    """An election whose last line is followed by none for longer than the limit.

    A member that hears nobody writes no line, and nor does one whose process was killed.
    """
    if attempt.outcome not in ("process ended", "log ends") or not attempt.phases:
        return None
    phase = attempt.phases[-1]
    last = one.last_before(phase.end)
    if phase.end < len(one.records):
        if not isinstance(one.records[phase.end], LifeStart):
            return None
        then, how = one.evidence(phase.end), "until its next process started"
        until, end_ns = then.time_ns, one.times[phase.end]
    else:
        other = max(timeline.members.values(), key=lambda each: each.times[-1])
        then, how = other.evidence(len(other.records) - 1), f"and member {other.member_id} went on"
        until, end_ns = None, other.times[-1]
    lasted = end_ns - one.times[last]
    setting, limit = _limit(attempt, phase, timeouts)
    if lasted <= limit + limit // 4:
        return None
    guard = unmet_guard(timeline, one, phase, states)
    text = (
        f"Member {one.member_id} wrote no line in {phase.state} for {shown_ns(lasted)} {how}: it"
        f" heard nobody, or its process had ended; {setting} is {shown_ns(limit)}"
        f" ({timeouts[setting].source})."
    )
    sentences = (Sentence(text, (one.evidence(last), then)), *guard.sentences)
    return StuckReport(
        one.member_id,
        "silent",
        phase.state,
        one.records[last].time_ns,
        until,
        round(lasted / 1e6, 3),
        guard.condition,
        guard.page,
        sentences,
    )


def _left(phase: Phase, attempt: Attempt) -> str:
    if phase.left_by is None:
        return (
            "until its process ended" if attempt.outcome == "process ended" else "as far as shown"
        )
    return f"then in {phase.left_by.new_state}"


def _starts(one: MemberTimeline) -> Iterator[StuckReport]:
    """Starts of the process, one after the other, after which it writes nothing of the cluster."""
    failing: list[int] = []
    for index, record in enumerate([*one.records, None]):
        if isinstance(record, LifeStart):
            failing.append(index)
        elif isinstance(record, ClusterEvent) or record is None:
            starts = failing if record is None else failing[:-1]
            if len(starts) >= _STARTS:
                yield _failing(one, starts, None if record is None else failing[-1])
            failing = []


def _failing(one: MemberTimeline, starts: list[int], then: int | None) -> StuckReport:
    last = starts[-1] if then is None else then
    lasted = one.times[last] - one.times[starts[0]]
    text = (
        f"Member {one.member_id} started {len(starts)} times in {shown_ns(lasted)} and ended each"
        " time before the cluster's first line."
    )
    return StuckReport(
        one.member_id,
        "start",
        "",
        one.records[starts[0]].time_ns,
        None if then is None else one.records[then].time_ns,
        round(lasted / 1e6, 3),
        "",
        "",
        (Sentence(text, (one.evidence(starts[0]), one.evidence(last))),),
    )

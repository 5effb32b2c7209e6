"""Members that stay in an election longer than its timeouts, and the guards for which they wait.

A guard has the name that the spec gives it. It is reported with the values that lines show; each
value comes with its line.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from canvass.cluster.member import ElectionState
from canvass.cluster.messages import NULL_VALUE, Record
from canvass.explanation.phases import votes_in
from canvass.explanation.timeline import (
    CLOSED,
    LEADING,
    POSITIONS,
    SEEKING,
    Attempt,
    Evidence,
    MemberTimeline,
    Phase,
    Sentence,
    Timeline,
    in_findings,
    last_of_each,
    seconds_of,
    shown_ns,
    term_of,
)
from canvass.explanation.timeouts import Timeout
from canvass.traces.aeron_log import records
from canvass.traces.errors import counted, member_names
from canvass.traces.timeouts import ELECTION, HEARTBEAT_TIMEOUT, STARTUP_CANVASS


@dataclass(frozen=True, slots=True)
class _UnmetGuard:
    """A condition of the spec that is not satisfied, and sentences about its values.

    Parameters
    ----------
    condition
        The operator and the conjunct of the spec.
    page
        The finding that describes the situation; empty if none does.
    """

    condition: str
    page: str
    sentences: tuple[Sentence, ...]


def _unmet_guard(stay: Phase) -> _UnmetGuard:
    """Name the guard of the step that ends a phase, and the values that lines show."""
    condition, template, values = _GUARDS.get(stay.state, ("", "", None))
    said = []
    if template:
        others = counted(stay.one.cluster.quorum - 1, "other member")
        said.append(stay.say(template.format(stay.own, others)))
    if values is not None:
        said += values(stay)
    return _UnmetGuard(condition, _page(stay), tuple(said))


def _page(stay: Phase) -> str:
    """The finding that describes the situation; empty if none does."""
    state, kinds = stay.state, (records.NewLeadershipTerm, records.CommitPosition)
    if state == "LEADER_LOG_REPLICATION":
        return "L-A"
    if state == "FOLLOWER_REPLAY":
        commit = stay.last(*kinds, begin=stay.attempt.begin)
        return "L-B" if commit is not None and _commit_of(commit[1]) <= 0 else ""
    if state in ("FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_LOG_AWAIT", "FOLLOWER_CATCHUP_INIT"):
        return "L-D" if stay.own.log_position > stay.own.append_position >= 0 else ""
    leader = stay.last(*kinds) if state == "CANVASS" else None
    if leader is None:
        return ""
    term: int = getattr(leader[1], "leadership_term_id", NULL_VALUE)
    return "L-C" if stay.own.log_leadership_term_id > term else ""


def _commit_of(record: records.Line) -> int:
    if isinstance(record, records.NewLeadershipTerm):
        return -1 if record.commit_position is None else record.commit_position
    return record.log_position if isinstance(record, records.CommitPosition) else -1


def _votes(stay: Phase) -> Iterator[Sentence]:
    """The votes that the candidate lacks."""
    if not any(isinstance(record, records.Vote) for record in stay.one.records):
        return
    answers = votes_in(stay, stay.own.candidate_term_id)
    if silent := {*stay.one.cluster.ids} - {stay.one.member_id} - answers.keys():
        places = (index for index, _ in answers.values())
        yield stay.say(f"No vote came from {member_names(silent)}.", *places)


def _canvass(stay: Phase) -> Iterator[Sentence]:
    """The canvass positions that the member has received and lacks, and newer logs among them."""
    one, own = stay.one, stay.own
    heard = stay.last_reports(records.CanvassPosition)
    others = {*stay.one.cluster.ids} - {one.member_id}
    silent = sorted(others - heard.keys())
    if not any(isinstance(record, records.CanvassPosition) for record in one.records):
        yield stay.say(
            "Its log has no CANVASS_POSITION line, so no line shows which members it heard."
        )
    elif silent:
        received = "no canvass position"
        if heard:
            received = f"canvass positions of {member_names(heard)}, but none"
        needed = counted(stay.one.cluster.quorum - 1, "other member")
        yield stay.say(
            f"It received {received} of {member_names(silent)}. A quorum needs {needed}.",
            stay.begin,
            *(index for index, _ in heard.values()),
        )
    mine = (own.log_leadership_term_id, own.append_position)
    for member_id, (index, position) in sorted(heard.items()):
        its = (position.log_leadership_term_id, position.log_position)
        if its > mine:
            yield stay.say(
                f"Member {member_id} has a newer log, ({its[0]}, {its[1]}), than its own"
                f" ({mine[0]}, {mine[1]}).",
                index,
                stay.begin,
            )
    announced = stay.last(records.NewLeadershipTerm)
    # A canvassing member ignores an announcement that is for logs of another term.
    if announced is not None and announced[1].log_leadership_term_id != mine[0]:
        index, leader = announced
        yield stay.say(
            f"Member {leader.leader_member_id} announces term {leader.leadership_term_id} for logs"
            f" of term {leader.log_leadership_term_id}; its own log ends in term {mine[0]}.",
            index,
            stay.begin,
        )


def _reported(stay: Phase) -> Iterator[Sentence]:
    """The positions that the leader knows."""
    reported = stay.last_reports(*POSITIONS)
    for member_id in stay.one.cluster.ids:
        if member_id == stay.one.member_id:
            continue
        if member_id not in reported:
            yield stay.say(f"In that time no line shows a position of member {member_id}.")
            continue
        index, record = reported[member_id]
        text = f"Member {member_id} last reported {record.log_position} in term {term_of(record)}."
        yield stay.say(text, index)


def _replication(stay: Phase) -> Iterator[Sentence]:
    """The end of the copy, the position at which it has to end, and the needed commit position."""
    stop = None
    begin = stay.begin
    for index in range(begin - 1, max(begin - 4, -1), -1):
        record = stay.one.records[index]
        if isinstance(record, records.NewLeadershipTerm):  # This message began the phase.
            base, end = record.next_term_base_log_position, record.next_log_position
            stop = base if stay.own.append_position < base else end
            yield stay.say(f"It copies its leader's log up to {stop}.", index)
            break
    if (ended := stay.last(records.ReplicationEnded)) is not None:
        yield stay.say(f"The copy ended at {ended[1].position}.", ended[0])
    yield from _commit(stay, stop)


def _commit(stay: Phase, needed: int | None = None) -> Iterator[Sentence]:
    """The highest commit position of which the member was notified."""
    notified = [
        (value, index)
        for index, record in stay.lines(max(stay.begin - 3, 0))
        if (value := _commit_of(record)) >= 0
    ]
    if not notified:
        yield stay.say("In that time no line shows a commit position of its leader.")
        return
    value, best = max(notified)
    text = f"The highest commit position that it was notified of is {value}."
    if needed is not None:
        text = f"It waits for a commit position of at least {needed}; the highest was {value}."
    yield stay.say(text, best)
    yield from _reported_to(stay)


def _reported_to(stay: Phase) -> Iterator[Sentence]:
    """The last position that each member reported to the leader during the phase."""
    one = stay.one
    other = one.cluster.members.get(stay.own.leader_member_id)
    if other is None or other is one:
        return
    begin = bisect_left(other.times, stay.begin_ns)
    end = bisect_right(other.times, one.times[min(stay.end, len(one.records) - 1)])
    last = last_of_each(other, begin, end, records.AppendPosition)
    for member_id, (place, record) in sorted(last.items(), key=lambda item: item[0]):
        text = f"Member {member_id} last reported {record.log_position} to the leader in term"
        yield other.say(f"{text} {record.leadership_term_id}.", place)


def _catchup(stay: Phase) -> Iterator[Sentence]:
    stop = stay.last(records.StopCatchup)
    if stop is None:
        yield stay.say("No STOP_CATCHUP line ends its catch-up.")
    else:
        yield stay.say("Its leader has stopped the catch-up.", stop[0])
    yield from _commit(stay)


def _image(stay: Phase) -> Iterator[Sentence]:
    own = stay.own
    if own.log_position > own.append_position >= 0:
        text = f"It has processed {own.log_position} and holds its log only up to"
        text += f" {own.append_position}: no image of the leader's log can begin at"
        yield stay.say(f"{text} {own.log_position}.")
    else:
        text = "It waits for an image of the leader's log that begins at"
        yield stay.say(f"{text} {own.log_position}.")


def _services(stay: Phase) -> Iterator[Sentence]:
    """The last acknowledgement of a service."""
    ack = stay.last(records.ServiceAck)
    if ack is None:
        yield stay.say("No SERVICE_ACK line came in that time: it waits for its services to join.")
    else:
        index, record = ack
        text = f"Service {record.service_id} acknowledged {record.log_position}."
        yield stay.say(text, index)


_Values: TypeAlias = Callable[[Phase], Iterator[Sentence]]


_GUARDS: Final[dict[str, tuple[str, str, _Values | None]]] = {
    "CANVASS": ("Canvass: IsUnanimousCandidate \\/ (timeout /\\ IsQuorumCandidate)", "", _canvass),
    "NOMINATE": (
        "Nominate: timeout",
        "It waits for a random part of half of the election timeout.",
        None,
    ),
    "CANDIDATE_BALLOT": (
        "CandidateBallot: IsUnanimousLeader \\/ (timeout /\\ IsQuorumLeader)",
        "It waits for the votes of all members; after the election timeout a majority is enough.",
        _votes,
    ),
    "FOLLOWER_BALLOT": (
        "OnNewLeadershipTerm: m.leadershipTermId = s.candidateTermId",
        "It has voted, and waits for a leader to announce term {0.candidate_term_id}.",
        None,
    ),
    "LEADER_LOG_REPLICATION": (
        "LeaderLogReplication: BoundedQuorumPosition >= appendPosition",
        "It needs {1} at {0.append_position}.",
        _reported,
    ),
    "LEADER_REPLAY": ("LeaderReplay: commitPosition >= appendPosition", "", _services),
    "LEADER_INIT": ("LeaderInit (archive and services)", "", _services),
    "LEADER_READY": (
        "LeaderReady: HasQuorumAtPosition(leadershipTermId, appendPosition)",
        "It needs {1} at {0.append_position} in term {0.leadership_term_id}.",
        _reported,
    ),
    "FOLLOWER_LOG_REPLICATION": (
        (
            "FollowerLogReplication: recordedPosition = replicationStopPosition"
            " /\\ notifiedCommitPosition >= appendPosition"
        ),
        "",
        _replication,
    ),
    "FOLLOWER_REPLAY": (
        "FollowerReplay: notifiedCommitPosition > 0 /\\ commitPosition >= replayStopPosition",
        "It has processed its log up to {0.log_position} and holds it up to {0.append_position}.",
        _commit,
    ),
    "FOLLOWER_CATCHUP_INIT": (
        "FollowerCatchupInit (the transport takes the CatchupPosition)",
        "",
        _image,
    ),
    "FOLLOWER_CATCHUP_AWAIT": ("FollowerCatchupAwait (an image at logPosition)", "", _image),
    "FOLLOWER_CATCHUP": (
        (
            "FollowerCatchup: commitPosition >= catchupJoinPosition"
            " /\\ commitPosition >= notifiedCommitPosition /\\ ~catchupDestination"
        ),
        "It catches up from {0.log_position} and joins at {0.catchup_join_position} or later.",
        _catchup,
    ),
    "FOLLOWER_LOG_INIT": ("FollowerLogInit (a log subscription)", "", None),
    "FOLLOWER_LOG_AWAIT": ("FollowerLogAwait (an image at logPosition)", "", _image),
    "FOLLOWER_READY": ("FollowerReady (the transport takes the AppendPosition)", "", None),
}
"""For each election state, the guard of the step that ends it, in the words of the spec, a sentence
with fields of the line that began the phase and the number of members that are needed, and a
function that gives the values that other lines show.
"""


_LOOPS: Final = 3
"""If an election has so many errors or returns to CANVASS, the member is in a loop."""
_STARTS: Final = 3
"""If so many starts of the process follow each other without a line of the cluster, they fail."""
_NO_GUARD: Final = _UnmetGuard("", "", ())
_ORDER: Final = {state.value: place for place, state in enumerate(ElectionState)}


class StuckReport(Record, frozen=True):
    """A member that makes no progress in an election.

    Parameters
    ----------
    kind
        ``phase`` (in one state for longer than its timeout), ``loop`` (in the same states again and
        again), ``start`` (the process ends before it takes part), ``standstill`` (a follower
        records nothing while the log grows) or ``silent`` (no line in an election for longer than
        the timeout: the member receives no message, or its process has ended).
    state
        The election state; for a loop, the state in which the member fails.
    from_ns, until_ns
        The begin and the end, by the member's own clock; ``until_ns`` is null if the member is
        still stuck at the end of its log.
    guard
        The condition that is not satisfied, as the spec names it; empty if no line shows it.
    page
        The finding that describes the situation; empty if none does.
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

    @property
    def said(self) -> tuple[Sentence, ...]:
        """The sentences. One that names the guard and its finding is added after the first one."""
        if not self.guard:
            return self.sentences
        first, *rest = self.sentences
        waits = f"It waits for {self.guard}{in_findings(self.page)}."
        return (first, Sentence(waits, first.evidence[:1]), *rest)


Timeouts: TypeAlias = dict[str, Timeout]


def find_stuck(timeline: Timeline, timeouts: Timeouts) -> list[StuckReport]:
    """List the members that are or were stuck, in the order of time."""
    found = [report for attempt in timeline.attempts() for report in _within(attempt, timeouts)]
    # If the logs have no event of the cluster, they do not show what follows a start.
    if timeline.merged(records.ClusterEvent):
        found += [report for one in timeline.members.values() for report in _starts(one)]
    found += _standstills(timeline, timeouts[HEARTBEAT_TIMEOUT].value_ns)

    offsets = {member_id: one.offset_ns for member_id, one in timeline.members.items()}
    return sorted(found, key=lambda report: report.from_ns + offsets.get(report.member_id, 0))


def _within(attempt: Attempt, timeouts: Timeouts) -> Iterator[StuckReport]:
    """The loop of a member in one election, and the state in which it was stuck after the loop."""
    rest = attempt.phases
    loop = _loop(attempt, timeouts)
    if loop is not None:
        report, end = loop
        yield report
        rest = [phase for phase in rest if phase.begin >= end]
    stay = _phase(rest, timeouts) or (_silent(rest[-1], timeouts) if rest else None)
    if stay is not None:
        yield stay


def _report(
    one: MemberTimeline,
    kind: str,
    state: str,
    begin: int,
    until_ns: int | None,
    lasted_ns: int,
    sentences: Iterable[Sentence],
    guard: _UnmetGuard = _NO_GUARD,
) -> StuckReport:
    """Make a report: the sentences about the events, then the sentences about the guard."""
    return StuckReport(
        one.member_id, kind, state, one.records[begin].time_ns, until_ns, round(lasted_ns / 1e6, 3),
        guard.condition, guard.page, (*sentences, *guard.sentences),
    )  # fmt: skip


def _limit(phase: Phase, timeouts: Timeouts) -> tuple[int, str]:
    """The limit of a phase in ns, and a clause that names the limit.

    Some states are bounded by no timeout. Their limit is the leader heartbeat timeout.
    """
    attempt, setting = phase.attempt, HEARTBEAT_TIMEOUT
    if phase.state in ("NOMINATE", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT"):
        setting = ELECTION
    elif phase.state == "CANVASS" and attempt.is_startup and phase in attempt.phases[:2]:
        setting = STARTUP_CANVASS
    value_ns = timeouts[setting].value_ns
    return value_ns, f"{setting} is {shown_ns(value_ns)} ({timeouts[setting].source})."


def _is_over(lasted_ns: int, limit_ns: int) -> bool:
    """Whether a duration is a quarter longer than its limit: members act late on timeouts."""
    return lasted_ns > limit_ns + limit_ns // 4


def _until(one: MemberTimeline, end: int) -> int | None:
    """The time of an end by the member's own clock; none if the log ends first."""
    return None if end >= len(one.records) else one.records[one.sign_of_end(end)].time_ns


def _loop(attempt: Attempt, timeouts: Timeouts) -> tuple[StuckReport, int] | None:
    """The loop of an election, and the index at which the loop ends; none if there is no loop.

    In a loop the election fails again and again in the same state for the same reason.
    """
    one = attempt.one
    fails: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], tuple[Phase, records.ElectionStateChange]] = {}
    for phase in attempt.phases:
        by = phase.left_by
        if by is None or not goes_back(by):
            continue
        key = (phase.state, re.sub(r"\d", "#", by.reason or "")[:60])  # Numbers may differ.
        fails[key] += 1
        last[key] = phase, by
    if not fails:
        return None
    key, count = fails.most_common(1)[0]
    phase, by = last[key]
    end, how = _after_loop(attempt, phase)
    sign = one.sign_of_end(end)
    lasted = one.times[sign] - one.times[attempt.begin]
    if count < _LOOPS or lasted < timeouts[HEARTBEAT_TIMEOUT].value_ns:
        return None
    guard = _unmet_guard(phase)
    if by.new_state == "INIT" and phase.state in SEEKING:
        guard = _UnmetGuard("", guard.page, ())
    text = (
        f"Member {one.member_id} loops: {count} times from {phase.state} back to {by.new_state}"
        f" in {shown_ns(lasted)}, {how}."
    )
    sentences = [one.say(text, attempt.begin, phase.end, sign)]
    if by.reason:
        sentences.append(one.say(f"The last reason is: {by.reason}.", phase.end))
    until = _until(one, end)
    report = _report(one, "loop", phase.state, attempt.begin, until, lasted, sentences, guard)
    return report, end


def _after_loop(attempt: Attempt, looped: Phase) -> tuple[int, str]:
    """The index at which a loop ends, and a clause about what followed.

    That is the state that the member reached after its last return, or the end of its election.
    """
    further = next(
        (
            phase
            for phase in attempt.phases
            if phase.begin >= looped.end and _is_further(phase.state, looped.state)
        ),
        None,
    )
    if further is None:
        return attempt.end, _HOW_ENDED[attempt.outcome]
    if further.state == "LEADER_LOG_REPLICATION":
        return further.begin, f"before it won term {further.own.leadership_term_id}"
    if attempt.outcome == "closed":
        return attempt.end, _HOW_ENDED["closed"]
    return further.begin, f"before it reached {further.state}"


def _is_further(state: str, looped: str) -> bool:
    """Whether a member can reach a state only after leaving the state in which it looped."""
    if state in SEEKING or state not in _ORDER or looped not in _ORDER:
        return False
    return _ORDER[state] > _ORDER[looped] or (state in LEADING and looped not in LEADING)


def goes_back(by: records.ElectionStateChange) -> bool:
    """Whether a change of state undoes progress."""
    if by.new_state == "INIT":
        return True
    if by.new_state != "CANVASS":
        return False
    # A member that copies one term after the other returns to CANVASS after each: that is progress.
    return by.old_state not in ("INIT", "FOLLOWER_LOG_REPLICATION")


_HOW_ENDED: Final = {
    "closed": "before its election closed",
    "process ended": "before its process ended",
    "new election": "before it began another election",
    "log ends": "up to the end of its log",
}


def _phase(phases: list[Phase], timeouts: Timeouts) -> StuckReport | None:
    """Report the longest one of the phases that exceed their limits."""
    over = [
        phase
        for phase in phases
        # A majority that is not unanimous wins only after the election timeout.
        if not (phase.left_by and phase.left_by.new_state == "LEADER_LOG_REPLICATION")
        and _is_over(phase.lasted_ns, _limit(phase, timeouts)[0])
    ]
    if not over:
        return None
    phase = max(over, key=lambda phase: phase.lasted_ns)
    one, sign = phase.one, phase.one.sign_of_end(phase.end)
    text = f"Member {one.member_id} was in {phase.state} for {shown_ns(phase.lasted_ns)},"
    text += f" {_left(phase)}; {_limit(phase, timeouts)[1]}"
    sentences = [phase.say(text, phase.begin, sign)]
    guard, reason = _unmet_guard(phase), phase.entered_by.reason
    if not guard.condition and reason:
        # It waits for no guard: only the reason for which it entered the state says more.
        sentences.append(phase.say(f"It entered {phase.state} with the reason: {reason}."))
    until, lasted = _until(one, phase.end), phase.lasted_ns
    return _report(one, "phase", phase.state, phase.begin, until, lasted, sentences, guard)


def _silent(phase: Phase, timeouts: Timeouts) -> StuckReport | None:
    """Report an election after whose last line the member wrote nothing for longer than the limit.

    A member that receives no messages writes no lines, and neither does a killed process.
    """
    one, at_end = phase.one, phase.end >= len(phase.one.records)
    last = one.sign_of_end(phase.end)
    if not at_end and last == phase.end:
        return None
    if at_end:
        other = max(one.cluster.members.values(), key=lambda each: each.times[-1])
        how, then = f"up to the last line of member {other.member_id}", len(other.records) - 1
    else:
        other, how, then = one, "until its next process started", phase.end
    lasted = other.times[then] - one.times[last]
    limit, named = _limit(phase, timeouts)
    if not _is_over(lasted, limit):
        return None
    text = (
        f"Member {one.member_id} wrote no line in {phase.state} for {shown_ns(lasted)} {how}: it"
        f" received no messages, or its process had ended; {named}"
    )
    said = Sentence(text, (one.evidence(last), other.evidence(then)))
    until = None if at_end else one.records[then].time_ns
    return _report(one, "silent", phase.state, last, until, lasted, (said,), _unmet_guard(phase))


def _left(phase: Phase) -> str:
    """How a phase that was too long ended."""
    if phase.end >= len(phase.one.records):
        return "and its log ends there"
    if phase.left_by is not None:
        state = phase.left_by.new_state
        return "until its election closed" if state == CLOSED else f"then in {state}"
    if phase.attempt.outcome == "process ended":
        return "until its process ended"
    return "and the line that ends the phase is missing"


def _starts(one: MemberTimeline) -> Iterator[StuckReport]:
    """Report consecutive starts of the process without a line of the cluster between them."""
    failing: list[int] = []
    for index, record in enumerate([*one.records, None]):
        if isinstance(record, records.ProcessStart):
            failing.append(index)
        elif isinstance(record, records.ClusterEvent) or record is None:
            starts = failing if record is None else failing[:-1]
            if len(starts) >= _STARTS:
                yield _failing(one, starts, None if record is None else failing[-1])
            failing = []


def _failing(one: MemberTimeline, starts: list[int], then: int | None) -> StuckReport:
    last = starts[-1] if then is None else then
    lasted = one.times[last] - one.times[starts[0]]
    text = (
        f"Member {one.member_id} started {len(starts)} times in {shown_ns(lasted)}, and its process"
        " ended each time before a CLUSTER line."
    )
    sentence = Sentence(text, (one.evidence(starts[0]), one.evidence(last)))
    until = None if then is None else one.records[then].time_ns
    return _report(one, "start", "", starts[0], until, lasted, (sentence,))


@dataclass(slots=True)
class _Standing:
    """Reports of one follower to one leader that name the same position.

    Parameters
    ----------
    lines
        At first only the last report. Once another member has the log beyond the position, four
        lines: the last report before that, the first line with a greater position, the last report,
        and the line with the greatest position.
    since_ns, last_ns
        The times of the first of these lines and of the last report.
    """

    key: tuple[int, int]
    lines: list[Evidence]
    since_ns: int
    last_ns: int
    highest: int = 0


def _standstills(timeline: Timeline, limit_ns: int) -> Iterator[StuckReport]:
    """Report followers that report the same position for long while the log grows beyond it."""
    standing: dict[int, _Standing] = {}
    for time_ns, one, index in timeline.merged(records.AppendPosition, records.CommitPosition):
        record = one.records[index]
        assert isinstance(record, records.AppendPosition | records.CommitPosition)
        line, position = one.evidence(index), record.log_position
        follower = getattr(record, "follower_member_id", NULL_VALUE)
        for other, each in standing.items():
            if other != follower and position > max(each.key[1], each.highest):
                each.highest = position
                each.lines[1:] = [*(each.lines[1:2] or [line]), each.lines[-2:][0], line]
        if follower == NULL_VALUE:
            continue
        known = standing.get(follower)
        if known is None or known.key != (one.member_id, position):
            if known is not None:
                yield from _standstill(timeline, follower, known, line, limit_ns)
            standing[follower] = _Standing((one.member_id, position), [line], time_ns, time_ns)
            continue
        known.last_ns = time_ns
        known.lines[2 if known.highest else 0] = line
        known.since_ns = known.since_ns if known.highest else time_ns
    for follower, known in standing.items():
        yield from _standstill(timeline, follower, known, None, limit_ns)


def _standstill(
    timeline: Timeline, member_id: int, known: _Standing, then: Evidence | None, limit_ns: int
) -> Iterator[StuckReport]:
    """Report a standstill, unless it was short, or the member was in an election."""
    lasted, one = known.last_ns - known.since_ns, timeline.members.get(member_id)
    if not known.highest or not _is_over(lasted, limit_ns) or _elects(one, known):
        return
    since_ns = known.since_ns - (one.offset_ns if one else 0)
    text = (
        f"Member {member_id} has recorded nothing since {seconds_of(since_ns)}: for"
        f" {shown_ns(lasted)} it reported {known.key[1]} while others had the log up to"
        f" {known.highest}."
    )
    said = [Sentence(text, tuple(known.lines))]
    if then is not None:
        said.append(Sentence("Its next report names another position.", (then,)))
    until, ms = None if then is None else then.time_ns, round(lasted / 1e6, 3)
    yield StuckReport(member_id, "standstill", "", since_ns, until, ms, "", "", tuple(said))


def _elects(one: MemberTimeline | None, known: _Standing) -> bool:
    """Whether a member was in an election while it stood still."""
    return one is not None and any(
        one.times[attempt.begin] <= known.last_ns
        and one.times[min(attempt.end, len(one.times) - 1)] >= known.since_ns
        for attempt in one.attempts
    )

"""Drives one member through its log, record by record, until the end or a contradiction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from canvass.cluster.core import step as core_step
from canvass.cluster.member import (
    NO_INPUT,
    ElectionState,
    Input,
    ModuleState,
    Role,
)
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_import.channels import Delivery
from canvass.traces.aeron_import.closings import close_unlogged
from canvass.traces.aeron_import.deliveries import Plan
from canvass.traces.aeron_import.evidence import (
    STARTED,
    MemberEvidence,
    is_message,
    message_of,
    sender_of,
)
from canvass.traces.aeron_import.lost_receipts import EXCUSED, receive, suppositions
from canvass.traces.aeron_import.meeting import meet
from canvass.traces.aeron_import.proposal import NEVER, Proposal
from canvass.traces.aeron_import.regaining import before_change, with_snapshot, with_term
from canvass.traces.aeron_import.search import EFFORT, Search
from canvass.traces.aeron_import.sending import commit_to, flush, publish
from canvass.traces.aeron_import.step import Contradiction, Step, require
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import Line

_TICKS: Final[Mapping[ElectionState, str]] = {
    state: "".join(word.capitalize() for word in state.value.split("_"))
    for state in ElectionState
    if state not in (ElectionState.INIT, ElectionState.CLOSED)
} | {ElectionState.INIT: "ElectionInit", ElectionState.CLOSED: "EnterElection"}


@dataclass(slots=True)
class Failure:
    """A record that nothing explains.

    Parameters
    ----------
    member_id, index, time
        The member, the index of the record in its log, and when it was.
    reason
        What is wrong, in one line.
    end
        Of the header before it, if the record is of a process's start; -1 if not.
    sender
        Of the message, if it is a receipt that nobody sent; else -1.
    is_bound_met
        Whether an explanation may have been missed, because the search for one is bounded.
    """

    member_id: int
    index: int
    time: int
    reason: str
    end: int = -1
    sender: int = NULL_VALUE
    is_bound_met: bool = False


def begin(rules: Rules, plan: Plan, evidence: MemberEvidence) -> Proposal:
    """Nothing proposed yet."""
    return Proposal(rules, plan, evidence, persistent_member(rules))


def drive(
    rules: Rules,
    plan: Plan,
    evidence: MemberEvidence,
    missing_before: Collection[int] = (),
    effort: int = EFFORT,
    *,
    excuse: bool = False,
) -> tuple[Proposal, Failure | None]:
    """Propose the steps of one member.

    Parameters
    ----------
    rules, plan, evidence
        As of a `Proposal`.
    missing_before
        Indexes of records before which lines are known to be missing.
    effort
        Of the search.
    excuse
        Whether receipts may be missing for which nothing else can be supposed.

    Returns
    -------
    tuple
        The proposal, and what it failed at; then its last step is the one that was observed and
        cannot be.
    """
    proposal = begin(rules, plan, evidence)
    proposal.missing_before, proposal.excuses = missing_before, excuse
    times = evidence.times
    place = find_begin(evidence)
    if place > 0:
        _begin_late(proposal, place)
    elif evidence.lacks_lives:
        proposal.late = proposal.gap = True
    search = Search(proposal, _meet, place, effort)
    try:
        search.run()
    except Contradiction as found:
        proposal.time = max(proposal.time, times[found.index])
        observe(proposal, found.index)
        failure = Failure(proposal.member_id, found.index, times[found.index], found.reason)
        failure.end = _end_before(evidence, found.index)
        failure.is_bound_met = search.is_bound_met or proposal.lacks_tries
        return proposal, failure
    if proposal.steps:
        proposal.steps[-1].lines += proposal.waiting
        proposal.waiting = []
        proposal.steps[-1].gap |= proposal.gap
    return proposal, None


def _meet(proposal: Proposal, index: int) -> None:
    """Send what is to be sent before a record, and meet it; or send what is left at the end."""
    proposal.index = index
    if proposal.evidence.holes and _is_in_hole(proposal, index):
        return
    flush(proposal, index)
    if index in proposal.missing_before:
        proposal.gap = True
    times = proposal.evidence.times
    if index < len(times):
        proposal.time = max(proposal.time, times[index])
        publish(proposal, proposal.time)
        if index in proposal.forced:
            commit_to(proposal, proposal.forced[index])
        if index in proposal.evidence.closings:
            close_unlogged(proposal, index)
        if proposal.excuses and isinstance(proposal.record(index), EXCUSED):
            _meet_or_suppose(proposal, index)
        else:
            meet(proposal, index)
        return
    publish(proposal, NEVER)
    for queue in proposal.queues.values():
        while queue:
            proposal.pass_over(queue[0])


def _meet_or_suppose(proposal: Proposal, index: int) -> None:
    """Meet a record, if need be with what must have been received before it."""
    before = proposal.mark()
    try:
        meet(proposal, index)
    except Contradiction:
        proposal.restore(before)
        for messages in list(suppositions(proposal, index)):
            if receive(proposal, messages) and _meets(proposal, index):
                return
            proposal.restore(before)
        meet(proposal, index)


def _meets(proposal: Proposal, index: int) -> bool:
    try:
        meet(proposal, index)
    except Contradiction:
        return False
    return True


def _is_in_hole(proposal: Proposal, index: int) -> bool:
    """Whether a record comes after lines that are missing, and before the member is known again."""
    for start, end in proposal.evidence.holes.items():
        if start <= index < end:
            if isinstance(proposal.evidence.records[index], records.LifeStart):
                proposal.life_time = proposal.evidence.times[index]
            if isinstance(proposal.evidence.records[index], records.ClusterEvent):
                _require_chain(proposal.evidence, index)
                proposal.waiting.append(index)
            proposal.changes.clear()
            proposal.module = ""
            return True
        if index == end:
            _begin_late(proposal, index, again=True)
    return False


def _require_chain(evidence: MemberEvidence, index: int) -> None:
    """Refuse a change that does not begin where the one before it has led, if no line is missing
    between the two; what the member did besides is not known.
    """
    change = evidence.records[index]
    if not isinstance(change, _CHANGING):
        return
    begin = max(hole for hole in evidence.holes if hole <= index)
    for place in range(index - 1, begin - 1, -1):
        before = evidence.records[place]
        if isinstance(before, _BREAKING):
            return
        if type(before) is type(change):
            led = before.new_state
            require(led == change.old_state, index, f"the change before led to {led}")
            return


_BREAKING: Final = (records.LifeStart, records.NewElection, records.TruncatedLine)
_CHANGING: Final = (records.ElectionStateChange, records.RoleChange, records.StateChange)


def _end_before(evidence: MemberEvidence, index: int) -> int:
    """The header of the life that a record is among the first of, if the life before was killed."""
    found = evidence.records
    shown = 0
    for place in range(index, 0, -1):
        record = found[place]
        if isinstance(record, records.LifeStart):
            before = found[place - 1]
            closed = isinstance(before, records.StateChange) and before.new_state == "CLOSED"
            return -1 if closed else place
        shown += isinstance(record, records.ElectionStateChange)
        if shown > 1 or is_message(record):
            return -1
    return -1


def find_begin(evidence: MemberEvidence) -> int:
    """Index of the record to begin with: 0, but in a log whose first life has lost its beginning.

    There it is the first election: only that shows where a member stands.
    """
    for record in evidence.records:
        if isinstance(record, records.NewElection) and record.reason == STARTED:
            return 0
        if is_message(record) or isinstance(record, _SHOWING):
            return evidence.elections[0] if evidence.elections else len(evidence.records)
    return 0


_SHOWING: Final = (
    records.ElectionStateChange,
    records.NewElection,
    records.RoleChange,
    records.ReplayNewLeadershipTerm,
)


def _begin_late(proposal: Proposal, begin: int, *, again: bool = False) -> None:
    """Take the member as an election shows it; what was before is not known."""
    evidence = proposal.evidence
    proposal.gap = True
    if not again:
        proposal.unknown_past = proposal.late = True
        proposal.module = ""
        proposal.waiting += [
            index
            for index in range(begin)
            if isinstance(evidence.records[index], records.ClusterEvent)
        ]
    for queue in proposal.queues.values():
        while queue and queue[0].due < begin:
            dropped = queue.popleft()
            if again:
                dropped.excused = True
                proposal.unsent.append(dropped)
    record = proposal.record(begin)
    if isinstance(record, records.ElectionStateChange):
        proposal.state = before_change(proposal, record)
    if isinstance(record, records.NewElection) and record.reason != STARTED:
        # Of a log that lacks its beginning nothing is kept: there was nothing before.
        kept, term = proposal.state, record.leadership_term_id
        reached = min(kept.recorded_position, record.append_position)
        log = with_term(proposal, kept.recording_log, term, reached) if term >= 0 else ()
        candidate = max(kept.persisted_candidate_term_id, term)
        known = persistent_member(proposal.rules, candidate, log, record.append_position)
        proposal.state = replace(
            known,
            module_state=ModuleState.ACTIVE,
            module_leadership_term_id=term,
            commit_position=record.log_position,
        )
        if not again:
            proposal.found = proposal.state
    following = proposal.next_election(begin + 1, started=True) if again else None
    if following is not None and isinstance(record, _KNOWN):
        # What a later life begins with was snapshot before if it was processed by then.
        position = min(following.log_position, record.log_position)
        if position == following.log_position:
            proposal.state = with_snapshot(proposal.state, position)


_KNOWN: Final = (records.ElectionStateChange, records.NewElection)
"""Records with which a member is known again."""


def observe(proposal: Proposal, index: int) -> None:
    """End with a step that shows what was logged and cannot be."""
    action, given, seen = _seen(proposal, proposal.evidence.records[index])
    state = replace(proposal.state, **seen)
    outcome = core_step(proposal.rules, proposal.member_id, proposal.state, action, given)
    if outcome is not None and outcome.next == state:
        # What was logged fits by itself, but not here: a step that is never enabled stands for it.
        action = "LeaderInit" if action != "LeaderInit" else "FollowerReady"
        given = NO_INPUT
    delivery = proposal.plan.by_record.get((proposal.member_id, index))
    if given.message is None:
        delivery = None
    elif delivery is None:
        sender = max(sender_of(proposal.evidence.records[index]), 0)
        delivery = Delivery(sender, proposal.member_id, given.message, index, proposal.time, 0)
    step = Step(action, given, state, proposal.time, delivery, (), proposal.numbers)
    step.impossible = True
    step.gap, proposal.gap = proposal.gap, False
    step.lines = sorted({*proposal.waiting, index})
    proposal.waiting = []
    step.observed = [f"state.{name}" for name in seen]
    proposal.steps.append(step)


def _seen(proposal: Proposal, record: Line) -> tuple[str, Input, dict[str, Any]]:
    """The action that a record would belong to, its input, and what it shows of the state."""
    s = proposal.state
    match record:
        case records.ElectionStateChange():
            seen: dict[str, Any] = {
                "election_state": ElectionState(record.new_state),
                "commit_position": record.log_position,
                "leader_member_id": record.leader_member_id,
            }
            if record.new_state != "CLOSED":
                seen |= {
                    "candidate_term_id": record.candidate_term_id,
                    "leadership_term_id": record.leadership_term_id,
                    "log_leadership_term_id": record.log_leadership_term_id,
                    "append_position": record.append_position,
                }
            return _TICKS[ElectionState(record.old_state)], NO_INPUT, seen
        case records.NewElection():
            seen = {
                "election_state": ElectionState.CANVASS,
                "commit_position": record.log_position,
                "append_position": record.append_position,
                "leadership_term_id": record.leadership_term_id,
            }
            return "EnterElection", NO_INPUT, seen
        case records.ReplayNewLeadershipTerm():
            given = Input(
                position=record.log_position,
                leadership_term_id=record.leadership_term_id,
                term_base_log_position=record.term_base_log_position,
            )
            return (
                "OnReplayNewLeadershipTermEvent",
                given,
                {
                    "commit_position": record.log_position,
                    "module_leadership_term_id": record.leadership_term_id,
                },
            )
        case records.TruncateLogEntry():
            return (
                "RecordLog",
                Input(position=record.new_position),
                {"recorded_position": record.new_position},
            )
        case records.RoleChange():
            return _TICKS[s.election_state], NO_INPUT, {"role": Role(record.new_state)}
        case _ if is_message(record):
            message = message_of(record)
            change = proposal.changes[0] if proposal.changes else None
            seen = {} if change is None else {"election_state": ElectionState(change.old)}
            return "On" + type(message).__name__, Input(message=message), seen
        case _:
            return "LeaderInit", NO_INPUT, {}

"""The steps that meet what a member logged: one function for each kind of record.

A record that no step explains raises `Contradiction`. A record without a meaning for the protocol
waits for the next step, which accounts for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from canvass.cluster.copies import replace
from canvass.cluster.member import (
    NO_INPUT,
    ElectionState,
    Input,
    Member,
    Role,
)
from canvass.cluster.messages import (
    MESSAGE_TYPES,
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    NewLeadershipTerm,
    RequestVote,
    Vote,
)
from canvass.traces.aeron_import import changing, log_lines
from canvass.traces.aeron_import.evidence import RECEIPTS, STARTED
from canvass.traces.aeron_import.places import LEADING
from canvass.traces.aeron_import.proposal import NEVER, Proposal
from canvass.traces.aeron_import.regaining import found_on_disk, with_snapshot, with_term
from canvass.traces.aeron_import.reports import after_report, before_report
from canvass.traces.aeron_import.sending import (
    consume_to,
    publish,
    published_at,
    record_to,
    write_on,
)
from canvass.traces.aeron_import.step import Contradiction, Step, require
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import Line

_STREAM_ENDED: Final = "eos=true"

_ACTION_OF: Final = {kind: "On" + kind.__name__ for kind in MESSAGE_TYPES}
_REPORTS: Final = (AppendPosition, CanvassPosition)
_ANSWERED: Final = (CanvassPosition, RequestVote)
_OF_THE_NEXT: Final = (records.RoleChange, records.TruncateLogEntry)
"""What is logged before the change that it belongs to."""
_OF_AN_ELECTION: Final = (records.NewElection, *_OF_THE_NEXT)
"""What may stand after a message that starts an election."""

# To look an enum's member up by its class takes longer than what is done with it here.
_LEADER: Final = Role.LEADER
_FOLLOWER: Final = Role.FOLLOWER


def meet(proposal: Proposal, index: int) -> None:
    """Meet the record at ``index``.

    Raises
    ------
    Contradiction
        If no step explains it.
    """
    record = proposal.evidence.records[index]
    handler = _HANDLERS.get(type(record))
    if handler is not None:
        handler(proposal, index, record)
    else:
        proposal.waiting.append(index)


def _require_shown(proposal: Proposal, index: int) -> None:
    """Refuse a record while a change of the election state is owed, which comes at once."""
    if proposal.changes:
        change = proposal.changes[0]
        reason = f"the change from {change.old} to {change.new} is not logged"
        raise Contradiction(index, reason)


# Messages.


def _on_message(proposal: Proposal, index: int, _record: Line) -> None:
    """Take the step of a received message, after what must have been before it."""
    if proposal.changes:
        _require_shown(proposal, index)
    delivery = proposal.plan.by_record[proposal.member_id, index]
    message = delivery.message
    action, given = _ACTION_OF[type(message)], replace(NO_INPUT, message=message)
    leads = proposal.is_closed(_LEADER)
    follows = not leads and proposal.is_closed(_FOLLOWER)
    if leads or follows:
        if type(proposal.record(index + 1)) in _OF_AN_ELECTION:
            _before_closed_hears(proposal, index, action, given)
        if follows and isinstance(message, CommitPosition):
            _record_committed(proposal, message)
    elif proposal.election_state == "FOLLOWER_REPLAY":
        changing.before_replay_message(proposal, message)
    elif proposal.election_state == "CANVASS":
        changing.before_canvass_message(proposal, message)
    counts = leads or proposal.election_state in LEADING
    report = message if counts and isinstance(message, _REPORTS) else None
    if report is not None:
        before_report(proposal, report.follower_member_id, report.log_position)
        if leads and isinstance(report, AppendPosition):
            write_on(proposal, report)
    if isinstance(message, _ANSWERED):
        given = _with_active(proposal, given, delivery.sender)
    proposal.waiting.append(index)
    step = proposal.take(action, given, delivery=delivery)
    assert step is not None, "messages can be received in every state"
    step.observed += ("input.from", "input.message")
    if report is not None:
        after_report(proposal)
    elif not (leads or follows) and proposal.election_state == "FOLLOWER_REPLAY":
        changing.start_replay_if_due(proposal, index)


def _before_closed_hears(proposal: Proposal, index: int, action: str, given: Input) -> None:
    """Settle what was before, if the message starts an election."""
    following = _following(proposal, index)
    if isinstance(following, records.NewElection) and following.reason != STARTED:
        outcome = proposal.attempt(action, given)
        if outcome is not None and outcome.next.election_state is not ElectionState.CLOSED:
            _settle_before_election(proposal, following, index)


def _record_committed(proposal: Proposal, message: CommitPosition) -> None:
    """Let the archive have recorded what the leader says is committed, if it had so by the next
    election: what a member reports lags behind what it has recorded.
    """
    s, position = proposal.state, message.log_position
    if not s.log_subscription or message.leadership_term_id != s.module_leadership_term_id:
        return
    if message.leader_member_id != s.leader_member_id or position <= s.recorded_position:
        return
    following = proposal.next_election(proposal.index)
    if following is None or following.append_position >= position:
        record_to(proposal, position)


def _with_active(proposal: Proposal, given: Input, sender: int) -> Input:
    """Choose who counts as active so that the answer is the one received, if there is one."""
    s = proposal.state
    if s.role is not Role.LEADER or sender not in proposal.queues:
        return given
    queue = proposal.queues[sender]
    place = 1 if queue and isinstance(queue[0].message, Vote) else 0
    answer = queue[place].message if place < len(queue) else None
    if not isinstance(answer, NewLeadershipTerm):
        return replace(given, active=proposal.everyone)
    if proposal.is_closed(Role.LEADER):
        if queue[place].reply and queue[place].due == proposal.index:
            published_at(proposal, answer.log_position)
            if answer.commit_position > s.commit_position:
                consume_to(proposal, answer.commit_position)
        return given
    if answer.commit_position == 0:
        # Before the leader's first duty cycle its own record is not active yet.
        return given
    noted = {}
    if isinstance(given.message, CanvassPosition):
        noted[sender] = given.message.log_position
    active = proposal.active_for(
        s.append_position, answer.commit_position, noted, renewed=tuple(noted)
    )
    return replace(given, active=proposal.everyone if active is None else active)


def _following(proposal: Proposal, index: int) -> Line | None:
    """The record that a message's step may be shown by."""
    index += 1
    found = proposal.evidence.records
    while index < len(found) and isinstance(found[index], _OF_THE_NEXT):
        index += 1
    return found[index] if index < len(found) else None


# Elections.


def _settle_before_election(proposal: Proposal, record: records.NewElection, index: int) -> None:
    """Let the log be recorded and processed as far as the next election shows, and be written as
    far as others have it of this leader.
    """
    publish(proposal, NEVER)
    if proposal.state.recorded_position < record.append_position:
        record_to(proposal, record.append_position)
    if proposal.state.commit_position < record.log_position:
        consume_to(proposal, record.log_position)
    _check_election(proposal, record, index)


def _check_election(proposal: Proposal, record: records.NewElection, index: int) -> None:
    s = proposal.state
    recorded, processed = s.recorded_position, s.commit_position
    require(
        recorded == record.append_position,
        index,
        f"appendPosition is {record.append_position}, and {recorded} is recorded",
    )
    require(
        processed == record.log_position,
        index,
        f"logPosition is {record.log_position}, and {processed} is processed",
    )


_ELECTION_FIELDS: Final = ("state.appendPosition", "state.commitPosition", "state.leadershipTermId")


def _on_new_election(proposal: Proposal, index: int, record: records.NewElection) -> None:
    if record.reason == STARTED:
        _restart(proposal, index, record)
    elif proposal.changes and proposal.changes[0].old == "CLOSED":
        proposal.attach(index, proposal.changes[0].step, _ELECTION_FIELDS)
    else:
        _require_shown(proposal, index)
        _settle_before_election(proposal, record, index)
        leader = NULL_VALUE
        if _STREAM_ENDED in record.reason:
            leader = proposal.state.leader_member_id
        proposal.waiting.append(index)
        step = proposal.take("EnterElection", Input(graceful_closed_leader_id=leader))
        if step is None:
            proposal.waiting.pop()
            raise Contradiction(index, "an election runs already")
        _check_role(proposal, step, index)
        step.observed += _ELECTION_FIELDS
    term = proposal.state.log_leadership_term_id
    reason = f"leadershipTermId is {record.leadership_term_id}, and it is {term}"
    require(term == record.leadership_term_id, index, reason)


def _restart(proposal: Proposal, index: int, record: records.NewElection) -> None:
    """Start the process on what is on disk."""
    torn = proposal.gap or index in proposal.evidence.holes.values()
    if torn and proposal.steps and not proposal.late:
        _take_from_disk(proposal, index, record)
    elif proposal.steps:
        _settle_before_crash(proposal, record)
    else:
        proposal.state = proposal.found = found_on_disk(proposal, index, record)
    proposal.changes.clear()
    proposal.module = "INIT"
    now, proposal.time = proposal.time, max(proposal.life_time, proposal.last_time)
    proposal.waiting.append(index)
    step = proposal.take("Restart")
    assert step is not None, "a restart is always possible"
    proposal.time = now
    step.observed += _ELECTION_FIELDS
    _check_election(proposal, record, index)


def _take_from_disk(proposal: Proposal, index: int, record: records.NewElection) -> None:
    """Let the disk be as the new life found it, where the last lines before are missing."""
    _settle_before_crash(proposal, record)
    s, term, position = proposal.state, record.leadership_term_id, record.append_position
    change = proposal.next_change(index + 1)
    candidate = s.persisted_candidate_term_id
    if change is not None:
        candidate = max(candidate, change.candidate_term_id)
    in_hole = index in proposal.evidence.holes.values()
    # In a hole the log may have been cut, but not of what was committed; a kill cuts nothing.
    is_cut = in_hole and s.commit_position <= position < s.recorded_position
    log = s.recording_log
    if is_cut or term > (log[-1].leadership_term_id if log else NULL_VALUE):
        log = with_term(proposal, log, term, min(s.recorded_position, position))
    proposal.state = replace(
        s,
        persisted_candidate_term_id=candidate,
        recording_log=log,
        recorded_position=position if is_cut else max(s.recorded_position, position),
    )
    if in_hole:
        proposal.state = with_snapshot(proposal.state, record.log_position)
    # What was settled may have been the first step after the gap.
    proposal.gap |= proposal.state != s


_BEFORE_CRASH: Final = {
    "FOLLOWER_LOG_INIT": ("FollowerLogInit", "FollowerLogAwait"),
    "FOLLOWER_LOG_AWAIT": ("FollowerLogAwait",),
    "FOLLOWER_CATCHUP_INIT": ("FollowerCatchupInit", "FollowerCatchupAwait"),
    "FOLLOWER_CATCHUP_AWAIT": ("FollowerCatchupAwait",),
    "FOLLOWER_LOG_REPLICATION": ("FollowerLogReplication",),
}
"""What may have gone before a crash that took the lines with it."""


def _settle_before_crash(proposal: Proposal, record: records.NewElection) -> None:
    """Let the life that has ended have recorded, and snapshot, what the next one has found."""
    publish(proposal, NEVER)
    s = proposal.state
    if s.snapshot_log_position < record.log_position == proposal.snapshot_position:
        log_lines.take_snapshot(proposal, record.log_position)
    if s.recorded_position >= record.append_position:
        return
    if not record_to(proposal, record.append_position):
        for action in _BEFORE_CRASH.get(proposal.election_state, ()):
            proposal.take(action)
        record_to(proposal, record.append_position)


def _on_election_state_change(
    proposal: Proposal, index: int, record: records.ElectionStateChange
) -> None:
    if proposal.changes:
        change = proposal.changes[0]
        old = "INIT" if change.old == "CLOSED" else change.old
        require(
            (old, change.new) == (record.old_state, record.new_state),
            index,
            f"the change from {old} to {change.new} is due",
        )
        step = change.step
    else:
        state = proposal.election_state
        require(state == record.old_state, index, f"the election is in {state}")
        taken = changing.change(proposal, index, record)
        if taken is None:
            raise Contradiction(index, f"no step leads from {state} to {record.new_state} here")
        step = taken
    _check_role(proposal, step, index)
    proposal.changes.popleft()
    proposal.attach(index, step, ["state.electionState"])
    _check_change(step, index, record)
    if record.new_state == "CLOSED" and step is proposal.steps[-1] and len(proposal.steps) > 1:
        _check_closing(proposal.steps[-2].state, index, record)
    if record.new_state == "FOLLOWER_REPLAY":
        changing.start_replay_if_due(proposal, index)


def _check_role(proposal: Proposal, step: Step, index: int) -> None:
    """Compare a change of the role that was printed just before with what the step has led to."""
    shown = proposal.evidence.records[index - 1] if index else None
    if isinstance(shown, records.RoleChange):
        role = step.state.role.value
        require(role == shown.new_state, index - 1, f"the role becomes {role} here")


def _check_change(step: Step, index: int, record: records.ElectionStateChange) -> None:
    """Compare what a state change printed with the state that the step has led to."""
    s = step.state
    closed = s.election_state is ElectionState.CLOSED
    compared = {
        "leader_member_id": (s.leader_member_id, record.leader_member_id),
        "commit_position": (s.commit_position, record.log_position),
    }
    if closed:
        term = (s.module_leadership_term_id, record.leadership_term_id)
        compared["module_leadership_term_id"] = term
    else:
        compared |= {
            "leadership_term_id": (s.leadership_term_id, record.leadership_term_id),
            "candidate_term_id": (s.candidate_term_id, record.candidate_term_id),
            "log_leadership_term_id": (s.log_leadership_term_id, record.log_leadership_term_id),
            "append_position": (s.append_position, record.append_position),
        }
    for name, (inferred, logged) in compared.items():
        require(inferred == logged, index, f"{name} is {inferred}, and {logged} was logged")
        step.observed.append(f"state.{name}")


def _check_closing(s: Member, index: int, record: records.ElectionStateChange) -> None:
    """Compare what an election that closes printed with what it had before."""
    compared = (
        ("candidate_term_id", s.candidate_term_id, record.candidate_term_id),
        ("log_leadership_term_id", s.log_leadership_term_id, record.log_leadership_term_id),
        ("append_position", s.append_position, record.append_position),
    )
    for name, inferred, logged in compared:
        require(inferred == logged, index, f"{name} is {inferred}, and {logged} was logged")


_HANDLERS: Final[dict[type[Line], Callable[[Proposal, int, Any], None]]] = {
    **dict.fromkeys(RECEIPTS, _on_message),
    records.NewElection: _on_new_election,
    records.ElectionStateChange: _on_election_state_change,
    records.ReplayNewLeadershipTerm: log_lines.on_replay,
    records.TruncateLogEntry: log_lines.on_truncate,
    records.ReplicationEnded: log_lines.on_replication_ended,
    records.ServiceAck: log_lines.on_service_ack,
    records.StateChange: log_lines.on_state_change,
    records.RoleChange: log_lines.on_role_change,
    records.LifeStart: log_lines.on_life_start,
    records.TruncatedLine: log_lines.on_damage,
    records.DamagedLine: log_lines.on_damage,
}

"""The steps that meet what a member logged: one function for each kind of record.

A record that no step explains raises `Contradiction`. A record without a meaning for the protocol
waits for the next step, which accounts for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from canvass.cluster.member import ElectionState, Input, Member, Role, TermEntry
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    NewLeadershipTerm,
    Vote,
)
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_import import changing
from canvass.traces.aeron_import.evidence import STARTED, is_message, message_of, sender_of
from canvass.traces.aeron_import.places import LEADING
from canvass.traces.aeron_import.proposal import Contradiction, Proposal, Step
from canvass.traces.aeron_import.sending import (
    after_report,
    before_report,
    consume_to,
    published_at,
    record_to,
)
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import Line

_STREAM_ENDED: Final = "eos=true"


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
    elif is_message(record):
        _on_message(proposal, index, record)
    else:
        proposal.waiting.append(index)


def _require(condition: bool, index: int, reason: str) -> None:
    if not condition:
        raise Contradiction(index, reason)


def _require_shown(proposal: Proposal, index: int) -> None:
    """Refuse a record while a change of the election state is owed, which comes at once."""
    if proposal.changes:
        change = proposal.changes[0]
        reason = f"the change from {change.old} to {change.new} is not logged"
        raise Contradiction(index, reason)


# Messages.


def _on_message(proposal: Proposal, index: int, record: Line) -> None:
    """Take the step of a received message, after what must have been before it."""
    _require_shown(proposal, index)
    message = message_of(record)
    action = "On" + type(message).__name__
    if proposal.is_closed(Role.LEADER) or proposal.is_closed(Role.FOLLOWER):
        following = _following(proposal, index)
        if isinstance(following, records.NewElection) and following.reason != STARTED:
            outcome = proposal.attempt(action, Input(message=message))
            if outcome is not None and outcome.next.election_state is not ElectionState.CLOSED:
                _settle_before_election(proposal, following, index)
    if isinstance(message, CommitPosition) and proposal.is_closed(Role.FOLLOWER):
        _record_committed(proposal, message)
    elif proposal.election_state == "FOLLOWER_REPLAY":
        changing.before_replay_message(proposal, message)
    elif proposal.election_state == "CANVASS":
        changing.before_canvass_message(proposal, message)
    counted = proposal.is_closed(Role.LEADER) or proposal.election_state in LEADING
    if counted and isinstance(message, AppendPosition | CanvassPosition):
        before_report(proposal, message.follower_member_id, message.log_position)
    given = Input(message=message)
    if action in ("OnCanvassPosition", "OnRequestVote"):
        given = _with_active(proposal, given, sender_of(record))
    proposal.waiting.append(index)
    delivery = proposal.plan.by_record.get((proposal.member_id, index))
    step = proposal.take(action, given, delivery=delivery)
    assert step is not None, "messages can be received in every state"
    step.observed += ["input.from", "input.message"]
    if counted and isinstance(message, AppendPosition | CanvassPosition):
        after_report(proposal)
    if proposal.election_state == "FOLLOWER_REPLAY":
        changing.start_replay_if_due(proposal, index)


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
    active = proposal.active_for(s.append_position, answer.commit_position)
    return replace(given, active=proposal.everyone if active is None else active)


def _following(proposal: Proposal, index: int) -> Line | None:
    """The record that a message's step may be shown by."""
    index += 1
    while isinstance(proposal.record(index), records.RoleChange | records.TruncateLogEntry):
        index += 1
    return proposal.record(index)


# Elections.


def _settle_before_election(proposal: Proposal, record: records.NewElection, index: int) -> None:
    """Let the log be recorded and processed as far as the next election shows."""
    if proposal.state.recorded_position < record.append_position:
        record_to(proposal, record.append_position)
    if proposal.state.commit_position < record.log_position:
        consume_to(proposal, record.log_position)
    _check_election(proposal, record, index)


def _check_election(proposal: Proposal, record: records.NewElection, index: int) -> None:
    s = proposal.state
    recorded, processed = s.recorded_position, s.commit_position
    _require(
        recorded == record.append_position,
        index,
        f"appendPosition is {record.append_position}, and {recorded} is recorded",
    )
    _require(
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
        step.observed += _ELECTION_FIELDS
    term = proposal.state.log_leadership_term_id
    reason = f"leadershipTermId is {record.leadership_term_id}, and it is {term}"
    _require(term == record.leadership_term_id, index, reason)


def _restart(proposal: Proposal, index: int, record: records.NewElection) -> None:
    """Start the process on what is on disk."""
    if proposal.steps:
        _settle_before_crash(proposal, record)
    else:
        proposal.state = proposal.found = _found_on_disk(proposal, index, record)
    proposal.changes.clear()
    proposal.module = "INIT"
    now, proposal.time = proposal.time, max(proposal.life_time, proposal.last_time)
    proposal.waiting.append(index)
    step = proposal.take("Restart")
    assert step is not None, "a restart is always possible"
    proposal.time = now
    step.observed += _ELECTION_FIELDS
    _check_election(proposal, record, index)


def _found_on_disk(proposal: Proposal, index: int, record: records.NewElection) -> Member:
    """What the first life of a log has found, as far as the log shows it."""
    term, position = record.leadership_term_id, record.append_position
    if term == NULL_VALUE and position == 0:
        return persistent_member(proposal.rules)
    proposal.unknown_past = True
    change = proposal.next_change(index + 1)
    candidate = term if change is None else change.candidate_term_id
    base = record.log_position
    known = proposal.plan.event_bases.get(term, base)
    log = () if term == NULL_VALUE else (TermEntry(term, known, NULL_VALUE),)
    snapshot = record.log_position > 0
    return persistent_member(
        proposal.rules,
        candidate,
        log,
        position,
        term if snapshot else NULL_VALUE,
        known if snapshot else 0,
        record.log_position,
    )


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
    s = proposal.state
    if s.snapshot_log_position < record.log_position == proposal.snapshot_position:
        take_snapshot(proposal, record.log_position)
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
        _require(
            (old, change.new) == (record.old_state, record.new_state),
            index,
            f"the change from {old} to {change.new} is due",
        )
        step = change.step
    else:
        state = proposal.election_state
        _require(state == record.old_state, index, f"the election is in {state}")
        taken = changing.change(proposal, index, record)
        if taken is None:
            raise Contradiction(index, f"no step leads from {state} to {record.new_state} here")
        step = taken
    proposal.changes.popleft()
    proposal.attach(index, step, ["state.electionState"])
    _check_change(step, index, record)
    if record.new_state == "FOLLOWER_REPLAY":
        changing.start_replay_if_due(proposal, index)


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
        _require(inferred == logged, index, f"{name} is {inferred}, and {logged} was logged")
        step.observed.append(f"state.{name}")


# The log.


def _on_replay(proposal: Proposal, index: int, record: records.ReplayNewLeadershipTerm) -> None:
    """Process the first entry of a term."""
    state = proposal.election_state
    if state == "FOLLOWER_REPLAY":
        changing.start_follower_replay(proposal)
    elif state == "LEADER_REPLAY":
        changing.start_leader_replay(proposal)
    if proposal.state.commit_position < record.term_base_log_position:
        consume_to(proposal, record.term_base_log_position)
    lacking = proposal.state.recorded_position < record.log_position
    if lacking and state in ("CLOSED", "FOLLOWER_CATCHUP"):
        record_to(proposal, record.log_position)
    given = Input(
        position=record.log_position,
        leadership_term_id=record.leadership_term_id,
        term_base_log_position=record.term_base_log_position,
    )
    proposal.waiting.append(index)
    step = proposal.take("OnReplayNewLeadershipTermEvent", given)
    if step is None:
        proposal.waiting.pop()
        raise Contradiction(index, "the entry cannot be processed here")
    step.observed += ["input.position", "input.leadershipTermId", "input.termBaseLogPosition"]


def _on_truncate(proposal: Proposal, index: int, record: records.TruncateLogEntry) -> None:
    step = proposal.changes[0].step if proposal.changes else None
    before = proposal.steps[-2].state if len(proposal.steps) > 1 else None
    if step is None or step.state.election_state is not ElectionState.INIT or before is None:
        raise Contradiction(index, "nothing is to be cut off here")
    old, new = before.append_position, step.state.recorded_position
    reason = f"the log is to be cut from {old} to {new}"
    _require((old, new) == (record.old_position, record.new_position), index, reason)
    proposal.attach(index, step, ["state.recordedPosition"])


def _on_replication_ended(proposal: Proposal, index: int, record: records.ReplicationEnded) -> None:
    if proposal.election_state == "FOLLOWER_LOG_REPLICATION":
        if not proposal.state.log_replication:
            proposal.take("FollowerLogReplication")
        s = proposal.state
        if s.recorded_position < record.position <= s.replication_stop_position:
            record_to(proposal, record.position)
    proposal.waiting.append(index)


# The module.


def take_snapshot(proposal: Proposal, position: int) -> Step | None:
    """Snapshot at a position."""
    consume_to(proposal, position)
    return proposal.take("TakeSnapshot") if proposal.state.commit_position == position else None


def _on_service_ack(proposal: Proposal, index: int, record: records.ServiceAck) -> None:
    if proposal.module == "SNAPSHOT" and record.relevant_id != NULL_VALUE:
        proposal.snapshot_position = record.log_position
    proposal.waiting.append(index)


def _on_state_change(proposal: Proposal, index: int, record: records.StateChange) -> None:
    old, proposal.module = proposal.module, record.new_state
    s = proposal.state
    if old == "INIT" and proposal.steps:
        proposal.attach(index, proposal.steps[-1], ["state.moduleState"])
        return
    proposal.waiting.append(index)
    if old == "SNAPSHOT" and s.snapshot_log_position < proposal.snapshot_position:
        take_snapshot(proposal, proposal.snapshot_position)
    elif record.new_state == "TERMINATING" and proposal.is_closed(Role.LEADER):
        if s.termination_position == NULL_VALUE:
            found = proposal.next_election(index, started=True)
            if found is not None:
                published_at(proposal, found.append_position)
            proposal.take("InitiateTermination")
    elif record.new_state == "CLOSED" and s.termination_position != NULL_VALUE:
        if s.role is Role.FOLLOWER:
            consume_to(proposal, s.termination_position)
        elif s.recorded_position < s.termination_position:
            record_to(proposal, s.termination_position)
        proposal.take("Terminate")


def _on_role_change(proposal: Proposal, index: int, record: records.RoleChange) -> None:
    if proposal.changes and proposal.state.role.value == record.new_state:
        proposal.attach(index, proposal.changes[0].step, ["state.role"])
    else:
        proposal.waiting.append(index)


def _on_life_start(proposal: Proposal, index: int, _record: records.LifeStart) -> None:
    proposal.life_time = proposal.evidence.times[index]
    for waiting in proposal.waiting:
        if proposal.steps:
            proposal.steps[-1].lines.append(waiting)
    proposal.waiting.clear()
    proposal.changes.clear()


def _on_damage(proposal: Proposal, _index: int, _record: records.TruncatedLine) -> None:
    proposal.gap = True


_HANDLERS: Final[dict[type[Line], Callable[[Proposal, int, Any], None]]] = {
    records.NewElection: _on_new_election,
    records.ElectionStateChange: _on_election_state_change,
    records.ReplayNewLeadershipTerm: _on_replay,
    records.TruncateLogEntry: _on_truncate,
    records.ReplicationEnded: _on_replication_ended,
    records.ServiceAck: _on_service_ack,
    records.StateChange: _on_state_change,
    records.RoleChange: _on_role_change,
    records.LifeStart: _on_life_start,
    records.TruncatedLine: _on_damage,
    records.DamagedLine: _on_damage,
}

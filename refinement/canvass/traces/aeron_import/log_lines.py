"""The steps that meet lines about the log, the module and the process: entries of terms, cuts,
copies, snapshots, states of the module, starts.
"""

from __future__ import annotations

from itertools import islice

from canvass.cluster.member import ElectionState, Input, Role
from canvass.cluster.messages import NULL_VALUE, NewLeadershipTerm, TerminationPosition
from canvass.traces.aeron_import import changing
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_import.sending import (
    LOOK_AHEAD,
    consume_to,
    position_of,
    published_at,
    record_to,
    send,
)
from canvass.traces.aeron_import.step import Contradiction, Step, require
from canvass.traces.aeron_log import records

# The log.


def on_replay(proposal: Proposal, index: int, record: records.ReplayNewLeadershipTerm) -> None:
    """Process the first entry of a term."""
    state = proposal.election_state
    changing.start_replay(proposal)
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


def on_truncate(proposal: Proposal, index: int, record: records.TruncateLogEntry) -> None:
    """Hold the cut of the log against the step that made it."""
    step = proposal.changes[0].step if proposal.changes else None
    before = proposal.steps[-2].state if len(proposal.steps) > 1 else None
    if step is None or step.state.election_state is not ElectionState.INIT or before is None:
        raise Contradiction(index, "nothing is to be cut off here")
    old, new = before.append_position, step.state.recorded_position
    reason = f"the log is to be cut from {old} to {new}"
    require((old, new) == (record.old_position, record.new_position), index, reason)
    proposal.attach(index, step, ["state.recordedPosition"])


def on_replication_ended(proposal: Proposal, index: int, record: records.ReplicationEnded) -> None:
    """Let what was copied be recorded."""
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
    changing.start_replay(proposal)
    consume_to(proposal, position)
    return proposal.take("TakeSnapshot") if proposal.state.commit_position == position else None


def on_service_ack(proposal: Proposal, index: int, record: records.ServiceAck) -> None:
    """Note the position of a snapshot; the line that says that one is taken may be missing."""
    if proposal.module in ("ACTIVE", "SNAPSHOT") and record.relevant_id != NULL_VALUE:
        proposal.snapshot_position = record.log_position
    proposal.waiting.append(index)


def on_state_change(proposal: Proposal, index: int, record: records.StateChange) -> None:
    """Snapshot, ask for termination or terminate, as the module's state shows it."""
    old = proposal.module or record.old_state
    if old != record.old_state:
        require(index in proposal.evidence.state_holes, index, f"the module is in {old}")
        if old == "SNAPSHOT" and proposal.state.snapshot_log_position < proposal.snapshot_position:
            take_snapshot(proposal, proposal.snapshot_position)
        old = record.old_state
    proposal.module = record.new_state
    s = proposal.state
    if old == "INIT" and proposal.steps:
        proposal.attach(index, proposal.steps[-1], ["state.moduleState"])
        return
    proposal.waiting.append(index)
    if old == "SNAPSHOT" and s.snapshot_log_position < proposal.snapshot_position:
        take_snapshot(proposal, proposal.snapshot_position)
    elif record.new_state == "TERMINATING" and proposal.is_closed(Role.LEADER):
        if s.termination_position == NULL_VALUE:
            _initiate_termination(proposal, index)
    elif record.old_state == "TERMINATING" and s.termination_position != NULL_VALUE:
        if s.role is Role.FOLLOWER:
            consume_to(proposal, s.termination_position)
        elif s.recorded_position < s.termination_position:
            record_to(proposal, s.termination_position)
        found = proposal.next_election(index, started=True)
        if found is not None and proposal.state.recorded_position < found.append_position:
            record_to(proposal, found.append_position)
        proposal.take("Terminate")


def _written_at_last(proposal: Proposal, index: int) -> int:
    """How far a leader is known to have written in its term: nothing is written after its end."""
    term = proposal.state.module_leadership_term_id
    found = proposal.next_election(index)
    known = [NULL_VALUE if found is None else found.append_position]
    known += [position for _, position in proposal.plan.published.get(term, [])]
    for queue in proposal.queues.values():
        for delivery in islice(queue, LOOK_AHEAD):
            message = delivery.message
            if isinstance(message, NewLeadershipTerm) and message.leadership_term_id == term:
                known.append(message.log_position)
    return max(known)


def _initiate_termination(proposal: Proposal, index: int) -> None:
    """Name the position at which all shall end: the one that others have received, if any have."""
    position = NULL_VALUE
    for queue in proposal.queues.values():
        ahead = list(islice(queue, LOOK_AHEAD))
        asked = [k for k, one in enumerate(ahead) if isinstance(one.message, TerminationPosition)]
        if asked and ahead[asked[0]].due <= index + 1:
            position = position_of(ahead[asked[0]].message)
            for _ in range(asked[0]):
                send(proposal, queue[0])
    if position == NULL_VALUE:
        position = _written_at_last(proposal, index)
    published_at(proposal, position)
    proposal.take("InitiateTermination")


def on_role_change(proposal: Proposal, index: int, record: records.RoleChange) -> None:
    """Account for a change of role: it belongs to the step before or to the next one."""
    if proposal.changes and proposal.state.role.value == record.new_state:
        proposal.attach(index, proposal.changes[0].step, ["state.role"])
    else:
        role = proposal.state.role.value
        require(role == record.old_state, index, f"the role is {role}")
        proposal.waiting.append(index)


def on_life_start(proposal: Proposal, index: int, _record: records.LifeStart) -> None:
    """End what the life before has left open."""
    proposal.life_time = proposal.evidence.times[index]
    for waiting in proposal.waiting:
        if proposal.steps:
            proposal.steps[-1].lines.append(waiting)
    proposal.waiting.clear()
    proposal.changes.clear()


def on_damage(proposal: Proposal, _index: int, _record: records.TruncatedLine) -> None:
    """Note that a line is lost."""
    proposal.gap = True

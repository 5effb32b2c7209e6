"""The steps that send what others have received: for each message the member's next step that sends
it, with the hidden steps that must come before.

A message that cannot be sent is noted in the proposal and passed over; the receipt then has no
send, which the checker reports.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from canvass.cluster.copies import replace
from canvass.cluster.member import NO_INPUT, Input, Role
from canvass.cluster.messages import (
    CATCHUP_FLAG,
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CatchupPosition,
    CommitPosition,
    NewLeadershipTerm,
    RequestVote,
    TerminationAck,
    TerminationPosition,
)
from canvass.traces.aeron_import.channels import Delivery
from canvass.traces.aeron_import.consuming import consume, consume_unlogged
from canvass.traces.aeron_import.places import UNPLANNED
from canvass.traces.aeron_import.proposal import NEVER, Proposal
from canvass.traces.aeron_log import records

# To look an enum's member up by its class takes longer than what is done with it here.
_LEADER: Final = Role.LEADER
_FOLLOWER: Final = Role.FOLLOWER

LOOK_AHEAD: Final = 64
"""Messages that are looked at to see what is to be sent before a report is replaced: more than a
leader sends to one member in the time that the others take to report.
"""

SHOWING: Final = (CommitPosition, NewLeadershipTerm)
"""The messages that show a leader's quorum position."""

_LEADER_TICKS = {
    "LEADER_LOG_REPLICATION": "LeaderLogReplication",
    "LEADER_REPLAY": "LeaderReplay",
    "LEADER_READY": "LeaderReady",
}


def flush(proposal: Proposal, index: int) -> None:
    """Send everything that is to be sent before the record at ``index``."""
    while True:
        best: Delivery | None = None
        for queue in proposal.queues.values():
            head = queue.head
            while head is not None and (head.due == UNPLANNED or (head.reply and head.due < index)):
                proposal.pass_over(head)
                head = queue.head
            if head is None or head.due > index or (head.due == index and head.reply):
                continue
            if best is None or head.time < best.time:
                best = head
        if best is None:
            return
        now = proposal.time_at(index)
        proposal.time = max(proposal.time, min(best.time, now))
        publish(proposal, proposal.time)
        send(proposal, best)


def send(proposal: Proposal, delivery: Delivery) -> bool:
    """Send the message of a delivery that is at the head of its queue, or note that it cannot be
    sent; say whether that is settled, or has to wait.
    """
    queue = proposal.queues[delivery.receiver]
    delivery.due = min(delivery.due, proposal.index)
    for supposed in delivery.supposed:
        if supposed.excused or any(
            step.delivery is supposed for step in proposal.steps[-LOOK_AHEAD:]
        ):
            continue
        proposal.take(
            "On" + type(supposed.message).__name__,
            Input(message=supposed.message, active=proposal.everyone),
            delivery=supposed,
        )
    if delivery.number >= 0:
        return True
    _emit(proposal, delivery)
    if not queue or queue[0] is not delivery:
        return True
    slack = proposal.plan.slack_ns
    if slack > 0 and proposal.time_at(proposal.index) <= delivery.time + slack:
        # The clocks are known no better: what makes the message possible may have been before.
        delivery.due = proposal.index + 1
        return False
    proposal.pass_over(delivery)
    return True


def _emit(proposal: Proposal, delivery: Delivery) -> None:
    match delivery.message:
        case AppendPosition():
            _emit_append_position(proposal, delivery.message)
        case CanvassPosition():
            action = {"CANVASS": "Canvass", "NOMINATE": "Nominate"}.get(proposal.election_state)
            if action:
                proposal.take(action, Input(interval=True))
        case RequestVote():
            _emit_request_vote(proposal)
        case NewLeadershipTerm() | CommitPosition():
            if proposal.election_state in _LEADER_TICKS:
                announce(proposal, delivery)
            elif isinstance(delivery.message, CommitPosition):
                commit_to(proposal, delivery.message.log_position)
        case CatchupPosition():
            proposal.take("FollowerCatchupInit")
        case TerminationPosition():
            published_at(proposal, delivery.message.log_position)
            proposal.take("InitiateTermination")
        case TerminationAck():
            consume_to(proposal, delivery.message.log_position)
            proposal.take("Terminate")
        case _:
            return


def _emit_request_vote(proposal: Proposal) -> None:
    if proposal.election_state != "CANDIDATE_BALLOT":
        return
    # Who starts later is asked then. Where no ballot was received it may have been sent and lost.
    accepted = {
        j
        for j in proposal.others
        if (head := proposal.head(j)) is None
        or (isinstance(head.message, RequestVote) and proposal.may_meet(head))
    }
    proposal.take("CandidateBallot", Input(accepted=frozenset(accepted)))


def position_of(message: object) -> int:
    """The quorum position that a leader's message shows."""
    return (
        message.commit_position
        if isinstance(message, NewLeadershipTerm)
        else getattr(message, "log_position", NULL_VALUE)
    )


def announce(proposal: Proposal, delivery: Delivery) -> None:
    """Send NewLeadershipTerm or CommitPosition in an election, both at once where both came."""
    s, message = proposal.state, delivery.message
    starts = s.replay_stop_position == NULL_VALUE
    replays = proposal.election_state == "LEADER_REPLAY" and not starts
    silent = replays or proposal.election_state == "LEADER_READY"
    renewed = () if silent else (proposal.member_id,)
    active = proposal.active_for(s.append_position, position_of(message), renewed=renewed)
    if active is None:
        return
    announces = isinstance(message, NewLeadershipTerm)
    follows = announces != (proposal.election_state == "LEADER_READY")
    queue = proposal.queues[delivery.receiver]
    both = (
        follows
        and len(queue) > 1
        and isinstance(queue[1].message, SHOWING)
        and isinstance(queue[1].message, NewLeadershipTerm) != announces
        and not queue[1].reply
        and position_of(queue[1].message) == position_of(message)
    )
    given = Input(interval=announces or both, commit_interval=not announces or both, active=active)
    action = _LEADER_TICKS[proposal.election_state]
    outcome = proposal.attempt(action, given)
    stays = outcome is not None and outcome.next.election_state is s.election_state
    if stays or proposal.may_change():
        # A tick that ends the state is not taken where the log shows that the state goes on.
        proposal.take(action, given, outcome=outcome)


def published_at(proposal: Proposal, position: int) -> None:
    """Let a closed leader have written up to a position."""
    if position > proposal.state.publication_position:
        proposal.take("AppendEntry", replace(NO_INPUT, position=position))


def publish(proposal: Proposal, time: int) -> None:
    """Let a closed leader write what others had recorded by a time."""
    if proposal.state.role is not _LEADER or not proposal.is_closed(_LEADER):
        return
    term = proposal.state.module_leadership_term_id
    needs = proposal.plan.published.get(term, [])
    place = proposal.published_place.get(term, 0)
    position = NULL_VALUE
    while place < len(needs) and needs[place][0] <= time:
        position = max(position, needs[place][1])
        place += 1
    proposal.published_place[term] = place
    published_at(proposal, position)


def write_on(proposal: Proposal, report: AppendPosition) -> None:
    """Let a closed leader write on before a report that would end a catch-up, if that is shown to
    be ended later: who has reached the end of what is written is told to stop.
    """
    s, j, position = proposal.state, report.follower_member_id, report.log_position
    catches_up = s.members[j].catchup_replay or report.flags == CATCHUP_FLAG
    if not catches_up or position < s.publication_position:
        return
    ended = next((one for one in proposal.stops[j] if one.number < 0 and not one.lost), None)
    if ended is None or not proposal.index < ended.due or proposal.asks_again(j, ended.due):
        return
    term = s.module_leadership_term_id
    needs = proposal.plan.published.get(term, [])
    first = proposal.published_place.get(term, 0)
    later = (needs[place][1] for place in range(first, len(needs)) if needs[place][1] > position)
    known = [next(later, NULL_VALUE)]
    found = proposal.next_election(proposal.index)
    known.append(NULL_VALUE if found is None else found.append_position)
    ending = proposal.record(ended.due)
    if isinstance(ending, records.AppendPosition):
        known.append(ending.log_position)
    for queue in proposal.queues.values():
        for delivery in islice(queue, LOOK_AHEAD):
            message = delivery.message
            if isinstance(message, NewLeadershipTerm) and message.leadership_term_id == term:
                if message.log_position <= position and _is_to_answer(proposal, delivery):
                    return  # It says later that it has written no more, so this end got lost.
                known.append(message.log_position)
    beyond = [one for one in known if one > position]
    if beyond and min(beyond) <= _ended_before(proposal, j, ended.due):
        published_at(proposal, min(beyond))


def _is_to_answer(proposal: Proposal, delivery: Delivery) -> bool:
    """Whether a message answers a record that comes later."""
    return delivery.reply and delivery.due > proposal.index and not delivery.lost


def _ended_before(proposal: Proposal, follower: int, due: int) -> int:
    """How far a leader has written at most by what ends the catch-ups of others before a record."""
    limit = NEVER
    for j, stops in proposal.stops.items():
        ended = next((one for one in stops if one.number < 0 and not one.lost), None)
        if j == follower or ended is None or not proposal.index < ended.due < due:
            continue
        answered = proposal.record(ended.due)
        if isinstance(answered, records.AppendPosition):
            limit = min(limit, answered.log_position)
    return limit


def flush_append_positions(proposal: Proposal, position: int) -> None:
    """Report what was received of positions below ``position``, before more is recorded."""
    queue = proposal.queues.get(proposal.state.leader_member_id)
    while queue is not None and (head := queue.head) is not None:
        message = head.message
        if (
            not isinstance(message, AppendPosition)
            or not proposal.state.recorded_position <= message.log_position < position
            or head.due == UNPLANNED
            or head.due > proposal.segment_end()
        ):
            return
        _emit(proposal, head)
        if queue.head is head:
            return


def flush_commit_positions(proposal: Proposal, position: int) -> None:
    """Send what was received of commit positions below ``position``, before the leader's own log
    grows and they can no longer be reached.
    """
    term, own = proposal.state.module_leadership_term_id, proposal.state.recorded_position
    for queue in proposal.queues.values():
        pending = 0
        for place, delivery in enumerate(queue):
            message = delivery.message
            if (
                not isinstance(message, CommitPosition)
                or message.leadership_term_id != term
                or message.log_position >= position
                or delivery.due == UNPLANNED
            ):
                break
            if message.log_position >= own:
                pending = place + 1
        for _ in range(pending):
            first = queue[0].message if queue else None
            if isinstance(first, CommitPosition):
                left = len(queue)
                commit_to(proposal, first.log_position)
                if len(queue) == left:
                    break


def record_to(proposal: Proposal, position: int) -> bool:
    """Let the archive have recorded exactly up to a position."""
    s = proposal.state
    if s.recorded_position < position:
        if proposal.is_closed(_LEADER):
            published_at(proposal, position)
            flush_commit_positions(proposal, position)
        else:
            flush_append_positions(proposal, position)
        if proposal.state.recorded_position < position:
            proposal.take("RecordLog", replace(NO_INPUT, position=position))
    return proposal.state.recorded_position == position


def commit_to(proposal: Proposal, position: int) -> bool:
    """Let a closed leader compute a quorum position, and send it."""
    s = proposal.state
    if not proposal.is_closed(_LEADER):
        return False
    if position > s.recorded_position:
        behind = [j for j in proposal.others if s.members[j].log_position >= position]
        if len(behind) < proposal.rules.member_count // 2:
            return False
        record_to(proposal, position)
        s = proposal.state
    active: frozenset[int] | None = proposal.everyone
    if not proposal.finds_as_it_is(position):
        note_own_position(proposal)
        active = proposal.active_for(s.recorded_position, position, renewed=(proposal.member_id,))
    if active is None:
        return False
    given = replace(NO_INPUT, active=active, commit_interval=position <= s.commit_position)
    return proposal.take("UpdateLeaderPosition", given) is not None


def note_own_position(proposal: Proposal) -> None:
    """Let a closed leader note what it has recorded, which counts from its next duty cycle on.

    In the cycle that notes it nothing is committed: where all members would commit more, the
    others have not been heard of.
    """
    s, i = proposal.state, proposal.member_id
    if s.members[i].log_position == s.recorded_position:
        return
    for active in (proposal.everyone, frozenset({i})):
        given = replace(NO_INPUT, active=active)
        outcome = proposal.attempt("UpdateLeaderPosition", given)
        if outcome is not None and not outcome.sends:
            proposal.take("UpdateLeaderPosition", given, outcome=outcome)
            return


def consume_to(proposal: Proposal, position: int) -> bool:
    """Let a member have processed its log up to a position."""
    s, state = proposal.state, proposal.election_state
    if s.commit_position < position:
        if proposal.is_closed(_LEADER):
            return commit_to(proposal, position)
        records = proposal.is_closed(_FOLLOWER) or state == "FOLLOWER_CATCHUP"
        if records and s.recorded_position < position:
            record_to(proposal, position)
        consume(proposal, position)
    return proposal.state.commit_position == position


def _emit_append_position(proposal: Proposal, message: AppendPosition) -> None:
    s, position = proposal.state, message.log_position
    state = proposal.election_state
    if proposal.is_closed(_FOLLOWER):
        if message.flags == 0 and record_to(proposal, position):
            proposal.take("UpdateFollowerPosition")
    elif state == "FOLLOWER_READY" and s.commit_position == position:
        proposal.take("FollowerReady")
    elif state == "FOLLOWER_REPLAY":
        proposal.take("FollowerReplay", Input(interval=True))
    elif state == "FOLLOWER_LOG_REPLICATION":
        if not s.log_replication:
            proposal.take("FollowerLogReplication")
        if record_to(proposal, position):
            proposal.take("FollowerLogReplication", Input(interval=True))
    elif (
        state == "FOLLOWER_CATCHUP"
        and message.flags == CATCHUP_FLAG
        and record_to(proposal, position)
    ):
        consume_unlogged(proposal, message.leadership_term_id)
        proposal.take("FollowerCatchup", Input(interval=True))

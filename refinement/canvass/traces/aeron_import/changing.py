"""The steps that change the election state without a message: for each state the tick, with the
facts of clock, archive and transport that lead where the log says, and the hidden steps before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Final

from canvass.cluster.member import NO_INPUT, ElectionState, Input
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
)
from canvass.cluster.outcome import Outcome
from canvass.cluster.predicates import is_unanimous_candidate
from canvass.traces.aeron_import.consuming import consume
from canvass.traces.aeron_import.deliveries import EVENT_BYTES
from canvass.traces.aeron_import.places import UNPLANNED
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_import.sending import consume_to, record_to, send
from canvass.traces.aeron_import.step import Step
from canvass.traces.aeron_log.records import ElectionStateChange

_TIMED: Final[Mapping[str, str]] = {
    "CANVASS": "Canvass",
    "NOMINATE": "Nominate",
    "CANDIDATE_BALLOT": "CandidateBallot",
    "FOLLOWER_BALLOT": "FollowerBallot",
}
_PLAIN: Final[Mapping[str, str]] = {
    "INIT": "ElectionInit",
    "LEADER_INIT": "LeaderInit",
    "FOLLOWER_CATCHUP_INIT": "FollowerCatchupInit",
    "FOLLOWER_CATCHUP_AWAIT": "FollowerCatchupAwait",
    "FOLLOWER_LOG_INIT": "FollowerLogInit",
    "FOLLOWER_LOG_AWAIT": "FollowerLogAwait",
    "FOLLOWER_READY": "FollowerReady",
}


def change(proposal: Proposal, index: int, record: ElectionStateChange) -> Step | None:
    """Take the step that a state change shows; None if there is none."""
    old, new = record.old_state, record.new_state
    if new == "INIT":
        return _fail(proposal, index, record)
    if old in _PLAIN:
        return _take(proposal, _PLAIN[old], [NO_INPUT], new)
    if old in _TIMED:
        return _take(proposal, _TIMED[old], [NO_INPUT, Input(timeout=True)], new)
    handler = _HANDLERS.get(old)
    return None if handler is None else handler(proposal, index, record)


def _fail(proposal: Proposal, index: int, record: ElectionStateChange) -> Step | None:
    """Take an error, with the log recorded and processed as far as the election after it shows."""
    following = proposal.next_change(index + 1)
    if record.old_state == "FOLLOWER_REPLAY":
        start_follower_replay(proposal)
    if record.old_state == "FOLLOWER_LOG_REPLICATION":
        _report_copied(proposal, record.append_position)
    begins = following is not None and following.old_state == "INIT"
    if following is not None and begins:
        record_to(proposal, following.append_position)
    if proposal.state.commit_position < record.log_position:
        consume_to(proposal, record.log_position)
    return proposal.take("ElectionError")


def _report_copied(proposal: Proposal, position: int) -> None:
    """Report what was copied of a leader's log up to a position: what is not reported is not known
    to the election.
    """
    if proposal.state.append_position >= position:
        return
    if not proposal.state.log_replication:
        proposal.take("FollowerLogReplication")
    if record_to(proposal, position):
        proposal.take("FollowerLogReplication", Input(interval=True))


def _take(proposal: Proposal, action: str, options: list[Input], new: str) -> Step | None:
    """Take the first of some steps that leads to a state."""
    for given in options:
        outcome = proposal.attempt(action, given)
        if outcome is not None and outcome.next.election_state.value == new:
            return proposal.take(action, given, outcome=outcome)
    return None


def _matched(proposal: Proposal, outcome: Outcome) -> int:
    """How good the sends of a step are: those that were received count, the others are a cost."""
    places = dict.fromkeys(proposal.queues, 0)
    score = 0
    for sent in outcome.sends:
        queue, place = proposal.queues[sent.to], places[sent.to]
        wanted = place < len(queue) and queue[place].message == sent.message
        if wanted and proposal.may_meet(queue[place]):
            places[sent.to] += 1
            score += 100
        else:
            score -= 1
    return score


def _leader_options(proposal: Proposal, position: int) -> list[Input]:
    """Inputs of a leader's tick, those that send nothing first."""
    actives = [proposal.everyone]
    for queue in proposal.queues.values():
        message = queue[0].message if queue else None
        if isinstance(message, NewLeadershipTerm | CommitPosition):
            reached = (
                message.commit_position
                if isinstance(message, NewLeadershipTerm)
                else message.log_position
            )
            active = proposal.active_for(
                proposal.state.append_position, reached, renewed=(proposal.member_id,)
            )
            if active is not None and active not in actives:
                actives.append(active)
    flags = product((False, True), repeat=2)
    return [
        Input(interval=interval, commit_interval=commit, active=active, position=position)
        for (interval, commit), active in product(flags, actives)
    ]


def _lead(
    proposal: Proposal, action: str, record: ElectionStateChange, position: int = NULL_VALUE
) -> Step | None:
    best: tuple[int, Input, Outcome] | None = None
    for given in _leader_options(proposal, position):
        outcome = proposal.attempt(action, given)
        if outcome is None or outcome.next.election_state.value != record.new_state:
            continue
        score = _matched(proposal, outcome)
        if outcome.next.commit_position != record.log_position:
            score -= 1000
        if best is None or score > best[0]:
            best = score, given, outcome
    return None if best is None else proposal.take(action, best[1], outcome=best[2])


def _leader_log_replication(
    proposal: Proposal, _index: int, record: ElectionStateChange
) -> Step | None:
    return _lead(proposal, "LeaderLogReplication", record)


def start_leader_replay(proposal: Proposal) -> None:
    """Begin the replay of a leader, if there is anything to replay."""
    s = proposal.state
    if s.replay_stop_position == NULL_VALUE and s.commit_position < s.append_position:
        proposal.take("LeaderReplay", Input(active=proposal.everyone))


def _leader_replay(proposal: Proposal, _index: int, record: ElectionStateChange) -> Step | None:
    start_leader_replay(proposal)
    s = proposal.state
    if s.commit_position < s.append_position:
        consume(proposal, s.append_position)
    return _lead(proposal, "LeaderReplay", record)


def _leader_ready(proposal: Proposal, _index: int, record: ElectionStateChange) -> Step | None:
    s = proposal.state
    known = proposal.plan.event_ends.get(s.leadership_term_id, NULL_VALUE)
    end = known if known > s.publication_position else s.publication_position + EVENT_BYTES
    return _lead(proposal, "LeaderReady", record, end)


def _follower_log_replication(
    proposal: Proposal, _index: int, record: ElectionStateChange
) -> Step | None:
    s = proposal.state
    if not s.log_replication and s.append_position < s.replication_stop_position:
        proposal.take("FollowerLogReplication")
    s = proposal.state
    if s.log_replication:
        record_to(proposal, s.replication_stop_position)
    options = [NO_INPUT, Input(interval=True)]
    return _take(proposal, "FollowerLogReplication", options, record.new_state)


def replay_target(proposal: Proposal) -> int:
    """How far a replay of the follower's log would go if it began now."""
    s = proposal.state
    return min(s.append_position, s.notified_commit_position)


def before_replay_message(proposal: Proposal, message: Message) -> None:
    """Send the reports of a follower that waits for a commit position, before it hears of one."""
    s = proposal.state
    position = (
        message.log_position
        if isinstance(message, CommitPosition)
        else message.commit_position
        if isinstance(message, NewLeadershipTerm)
        else 0
    )
    if position <= 0 or s.notified_commit_position > 0 or s.leader_member_id < 0:
        return
    queue = proposal.queues.get(s.leader_member_id)
    end = proposal.segment_end()
    while queue and isinstance(queue[0].message, AppendPosition):
        head = queue[0]
        if head.due == UNPLANNED or head.due > end or not send(proposal, head):
            return


def before_canvass_message(proposal: Proposal, message: Message) -> None:
    """Send the own canvass positions before the member hears what makes it stand at its next one,
    if the log shows that it stood later.
    """
    if not isinstance(message, CanvassPosition | AppendPosition):
        return
    outcome = proposal.attempt("On" + type(message).__name__, Input(message=message))
    if outcome is None or outcome.next.election_state is not ElectionState.CANVASS:
        return
    rules, i = proposal.rules, proposal.member_id
    if not is_unanimous_candidate(rules, i, outcome.next) or is_unanimous_candidate(
        rules, i, proposal.state
    ):
        return
    following = proposal.record(proposal.index + 1)
    if isinstance(following, ElectionStateChange):
        return
    end = proposal.segment_end()
    for queue in proposal.queues.values():
        while queue and isinstance(queue[0].message, CanvassPosition):
            if not UNPLANNED < queue[0].due <= end or proposal.time < queue[0].not_before:
                break
            if not send(proposal, queue[0]):
                break


def start_replay_if_due(proposal: Proposal, index: int) -> None:
    """Begin the replay of a follower's log as soon as it would end where the log shows."""
    s = proposal.state
    if s.replay_stop_position != NULL_VALUE or s.commit_position >= s.append_position:
        return
    leaving = proposal.next_change(index + 1)
    target = replay_target(proposal)
    if s.commit_position < target and (leaving is None or leaving.log_position == target):
        proposal.take("FollowerReplay")


def start_follower_replay(proposal: Proposal) -> None:
    """Begin the replay of a follower's log, if it has not begun and there is one to do."""
    s = proposal.state
    if s.replay_stop_position == NULL_VALUE and s.commit_position < replay_target(proposal):
        proposal.take("FollowerReplay")


def start_replay(proposal: Proposal) -> None:
    """Begin a replay, if the member is to replay its log now, and has not begun."""
    if proposal.election_state == "FOLLOWER_REPLAY":
        start_follower_replay(proposal)
    elif proposal.election_state == "LEADER_REPLAY":
        start_leader_replay(proposal)


def _follower_replay(proposal: Proposal, _index: int, record: ElectionStateChange) -> Step | None:
    start_follower_replay(proposal)
    s = proposal.state
    if s.replay_stop_position > s.commit_position:
        consume(proposal, s.replay_stop_position)
    return _take(proposal, "FollowerReplay", [NO_INPUT], record.new_state)


def _follower_catchup(proposal: Proposal, _index: int, record: ElectionStateChange) -> Step | None:
    consume_to(proposal, record.log_position)
    options = [NO_INPUT, Input(interval=True)]
    return _take(proposal, "FollowerCatchup", options, record.new_state)


_HANDLERS: Final[Mapping[str, Callable[[Proposal, int, ElectionStateChange], Step | None]]] = {
    "LEADER_LOG_REPLICATION": _leader_log_replication,
    "LEADER_REPLAY": _leader_replay,
    "LEADER_READY": _leader_ready,
    "FOLLOWER_LOG_REPLICATION": _follower_log_replication,
    "FOLLOWER_REPLAY": _follower_replay,
    "FOLLOWER_CATCHUP": _follower_catchup,
}

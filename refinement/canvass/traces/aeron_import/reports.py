"""What a leader sends before and after it hears how far a member has recorded the log: quorum
positions that follow from what was reported until then, or from now on.

What is sent at other times is the business of `canvass.traces.aeron_import.sending`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from canvass.cluster.member import Role
from canvass.cluster.messages import CommitPosition
from canvass.traces.aeron_import.channels import Channel, Delivery
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_import.sending import (
    LOOK_AHEAD,
    SHOWING,
    announce,
    commit_to,
    position_of,
)

# To look an enum's member up by its class takes longer than what is done with it here.
_LEADER = Role.LEADER


def before_report(proposal: Proposal, sender: int, position: int) -> None:
    """Send what was received of quorum positions that only what this member has reported explains,
    before its next report replaces that.
    """
    closed = proposal.is_closed(_LEADER)
    own = proposal.state.recorded_position if closed else proposal.state.append_position
    for old in _replaced(proposal, sender, position, own):
        for queue in proposal.queues.values():
            for _ in range(_showing(proposal, queue, old)):
                left = len(queue)
                if closed and left:
                    commit_to(proposal, position_of(queue[0].message))
                elif left:
                    announce(proposal, queue[0])
                if len(queue) == left:
                    break


def _replaced(proposal: Proposal, sender: int, position: int, own: int) -> Iterator[int]:
    """The positions that a member's report replaces: what it has reported before and, if it makes a
    quorum reach to the end of a new leader's log, the less that the leader has announced so far.
    """
    old = proposal.state.members[sender].log_position
    reached = proposal.quorum_position(own)
    waits = proposal.election_state == "LEADER_LOG_REPLICATION"
    if waits and reached < own <= proposal.quorum_position(own, {sender: position}):
        yield reached
    if position != old and 0 < old < own:
        yield old


def _showing(proposal: Proposal, queue: Channel, position: int) -> int:
    """How many messages from the first on have to be sent for the last one that shows a position
    to be sent now; those that need more of the leader's own log are for later.
    """
    s = proposal.state
    closed = proposal.is_closed(_LEADER)
    own = s.recorded_position if closed else s.append_position
    count = 0
    for place, delivery in enumerate(islice(queue, LOOK_AHEAD)):
        if not _shows_at_most(proposal, delivery, own):
            break
        if position_of(delivery.message) == position:
            count = place + 1
    return count


def _shows_at_most(proposal: Proposal, delivery: Delivery, position: int) -> bool:
    """Whether a message shows this leader's quorum position, and it is not beyond one."""
    message = delivery.message
    if delivery.reply or not isinstance(message, SHOWING):
        return False
    s = proposal.state
    closed = proposal.is_closed(_LEADER)
    term = s.module_leadership_term_id if closed else s.leadership_term_id
    within = message.leadership_term_id == term and position_of(message) <= position
    return within and proposal.may_meet(delivery)


def after_report(proposal: Proposal) -> None:
    """Send the next commit position, if somebody received it and a quorum has reported it now."""
    s = proposal.state
    if not proposal.is_closed(_LEADER):
        return
    for queue in proposal.queues.values():
        head = queue.head
        message = None if head is None else head.message
        if head is None or not isinstance(message, CommitPosition):
            continue
        position = message.log_position
        if position <= proposal.state.commit_position:
            continue
        cap = proposal.commit_cap()
        if cap is not None and cap < position:
            continue
        reached = sum([s.members[j].log_position >= position for j in proposal.others])
        if reached >= proposal.rules.member_count // 2 and _shows_at_most(proposal, head, position):
            commit_to(proposal, position)

"""The quorum position that a leader publishes and commits, in LEADER_READY and when closed."""

from __future__ import annotations

from collections.abc import Set

from msgspec.structs import replace

from canvass.cluster.effects import Effects
from canvass.cluster.member import Input, Member
from canvass.cluster.messages import CommitPosition
from canvass.cluster.outcome import broadcast
from canvass.cluster.predicates import bounded_quorum_position
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import advance_commit, with_record


def note_own_position(i: int, s: Member, own: int) -> Member:
    """The state of member ``i`` with position ``own`` in its own record."""
    renewed = replace(s.members[i], log_position=own)
    return replace(s, members=with_record(s.members, i, renewed))


def leader_quorum_position(
    rules: Rules, i: int, s: Member, term: int, own: int, active: Set[int]
) -> int:
    """The quorum position that leader ``i`` publishes and commits.

    Parameters
    ----------
    rules, i, s
        The rules, the leader and its state.
    term
        The term of the leader.
    own
        The position up to which it has recorded.
    active
        The members heard from within the heartbeat timeout, before this step.

    Notes
    -----
    From 1.50 the leader computes the quorum position before it renews its own record. So it counts
    with the position of its previous duty cycle, and only if it is active itself. 1.49 renews its
    record first. Source: ``ConsensusModuleAgent.updateLeaderPosition``.
    """
    if rules.is_149:
        noted = note_own_position(i, s, own)
        return min(bounded_quorum_position(rules, noted, term, own, active), own)
    return bounded_quorum_position(rules, s, term, own, active)


def commit_leader_position(
    rules: Rules, i: int, s: Member, x: Input, own: int, reached: int
) -> tuple[Member, Effects]:
    """Renew the leader's own record, then publish and commit the quorum position if that is due.

    Parameters
    ----------
    rules, i, s, x
        The rules, the leader, its state and its input.
    own
        The position up to which the leader has recorded.
    reached
        The quorum position. It falls if a member is no longer active, and is published even then.

    Returns
    -------
    tuple of Member and Effects
        The next state and the effects. The commit position only rises; in 1.49 it becomes
        ``reached``.

    Notes
    -----
    It is due if ``x.commit_interval``, or if the quorum position is above the commit position.
    Source: ``ConsensusModuleAgent.updateLeaderPosition``.
    """
    after = note_own_position(i, s, own)
    if reached <= s.commit_position and not x.commit_interval:
        return after, ()
    commit = reached if rules.is_149 else max(s.commit_position, reached)
    published = CommitPosition(s.module_leadership_term_id, reached, i)
    sends = broadcast(i, rules.member_count, published)
    return replace(after, commit_position=commit), advance_commit(s.commit_position, commit) + sends

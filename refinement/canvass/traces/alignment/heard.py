"""Whom a leader has heard of: what decides between sets of active members that explain the same.

The spec leaves to chance which members are active, so that each set is a possible one. A log is
explained best if those count that the leader has heard of, and nobody else.
"""

from __future__ import annotations

from canvass.cluster.member import ElectionState, Member
from canvass.cluster.quorum import is_quorum


def heard_of(i: int, s: Member) -> frozenset[int]:
    """Member ``i`` and the members it has heard of, in this election or in the term it leads."""
    closed = s.election_state is ElectionState.CLOSED
    heard = {
        j
        for j, known in enumerate(s.members)
        if known.log_position >= 0
        and (not closed or known.leadership_term_id == s.module_leadership_term_id)
    }
    return frozenset({i, *heard})


def is_reported_by_quorum(i: int, s: Member, position: int) -> bool:
    """Whether enough members have reported a position in the term that ``i`` leads.

    What a member had in an older term counts for the leader while the member is active, but need
    not be what the leader has there.
    """
    reported = [j for j in heard_of(i, s) if j != i and s.members[j].log_position >= position]
    return is_quorum(1 + len(reported), len(s.members))

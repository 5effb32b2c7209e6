"""Why a cluster elects no lasting leader although all faults have ended.

The members' states distinguish the known liveness hazards of the protocol. This module does not
decide whether a cluster is stuck.
"""

from __future__ import annotations

from collections.abc import Sequence

from canvass.cluster.member import ElectionState, Member, Role
from canvass.cluster.predicates import is_closed


def promised_more(s: Member, leader_term: int) -> bool:
    """Whether a member that canvasses has promised a term above the leader's (hardened HZ3)."""
    canvasses = s.election_state is ElectionState.CANVASS
    return canvasses and s.candidate_term_id > leader_term >= 0


def _reason(s: Member, leader_term: int, highest_candidate_term: int) -> str:
    state: ElectionState = s.election_state
    name = str(state.value)
    match state:
        case ElectionState.LEADER_LOG_REPLICATION | ElectionState.LEADER_READY:
            return f"{name}: waits for followers without a deadline (L-A)"
        case ElectionState.FOLLOWER_REPLAY if s.notified_commit_position == 0:
            return f"{name}: waits for a commit position without a deadline (L-B)"
        case _ if s.commit_position > s.recorded_position:
            return f"{name}: has processed more than it has recorded (L-D)"
        case ElectionState.CANVASS if s.log_leadership_term_id > leader_term >= 0:
            return f"{name}: its log term is above the leader's, who does not answer (L-C)"
        case _ if promised_more(s, leader_term):
            return f"{name}: has promised a term above the leader's (hardened HZ3)"
        case ElectionState.FOLLOWER_CATCHUP if s.recorded_position > s.commit_position:
            return f"{name}: has recorded more than it knows to be committed"
        case ElectionState.CLOSED:
            return f"serves as {s.role.value}"
        case _ if leader_term < 0 and s.candidate_term_id < highest_candidate_term:
            return f"{name}: others have promised a higher candidate term (L-E)"
        case _:
            return name


def reasons(members: Sequence[Member], *, storm: bool = False) -> tuple[str, ...]:
    """Say whether a leader serves, then of each member where it is, and at which known hazard.

    Parameters
    ----------
    members
        The states after all the time that recovery may take.
    storm
        Whether they have taken more steps than any recovery needs.
    """
    led = max(
        (s.module_leadership_term_id for s in members if is_closed(s, Role.LEADER)), default=-1
    )
    serves = "a leader serves" if led >= 0 else "no leader serves"
    if storm:
        serves += ", in a storm of messages"
    leads = [s.leadership_term_id for s in members if s.role is Role.LEADER]
    term = led if led >= 0 else max(leads, default=-1)
    highest = max(s.candidate_term_id for s in members)
    return (
        serves,
        *(
            f"{i} in term {s.module_leadership_term_id}, log term {s.log_leadership_term_id}, "
            f"candidate term {s.candidate_term_id}, recorded {s.recorded_position}, "
            f"committed {s.commit_position}: {_reason(s, term, highest)}"
            for i, s in enumerate(members)
        ),
    )

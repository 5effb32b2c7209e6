"""What the proposals of different members ask of each other: a member records from a leader's log
only what that leader has written by then.

Nothing here takes a step; what is lacking is noted in the plan, and the leader is driven again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

from canvass.cluster.member import ElectionState, Member, Role
from canvass.traces.aeron_import.deliveries import Plan
from canvass.traces.aeron_import.proposal import NEVER, Proposal

# To look an enum's member up by its class takes longer than what is done with it here.
_LEADER: Final = Role.LEADER
_CLOSED: Final = ElectionState.CLOSED

_Written = dict[int, tuple[list[int], list[int]]]


def demand_writing(plan: Plan, proposals: Mapping[int, Proposal]) -> set[int]:
    """Note in the plan what leaders have to have written, and have not; give those leaders."""
    written = {member_id: _written(proposal) for member_id, proposal in proposals.items()}
    lacking: set[int] = set()
    for proposal in proposals.values():
        before = proposal.found
        for step in proposal.steps:
            if step.action == "RecordLog" and before.role is not _LEADER:
                leader, term = before.leader_member_id, _followed(before)
                times, positions = written.get(leader, {}).get(term, ([], []))
                place = bisect_left(times, step.time) - 1
                position = step.state.recorded_position
                if times and (place < 0 or positions[place] < position):
                    need = (step.time, position)
                    needs = plan.published[term]
                    at = bisect_left(needs, need)
                    if needs[at : at + 1] != [need]:
                        needs.insert(at, need)
                        lacking.add(leader)
            before = step.state
    return lacking


def _followed(s: Member) -> int:
    closed = s.election_state is _CLOSED
    return s.module_leadership_term_id if closed else s.leadership_term_id


def _written(proposal: Proposal) -> _Written:
    """For each term that a member led when it had written how far."""
    written: _Written = {}
    latest = -1
    for step in proposal.steps:
        s = step.state
        if s.publication_position != latest:
            latest = s.publication_position
            if latest >= 0:
                times, positions = written.setdefault(_followed(s), ([], []))
                times.append(step.time)
                positions.append(latest)
    return written


def is_circular(proposals: Mapping[int, Proposal]) -> bool:
    """Whether a step comes before itself: what it consumes depends on what it causes."""
    done = dict.fromkeys(proposals, 0)
    sent = dict.fromkeys(proposals, 0)
    moved = True
    while moved:
        moved = False
        for member_id, proposal in proposals.items():
            steps, place = proposal.steps, done[member_id]
            while place < len(steps):
                step = steps[place]
                cause = step.delivery
                if cause is not None and cause.number >= sent.get(cause.sender, NEVER):
                    break
                sent[member_id] = step.first + len(step.sends)
                place += 1
            moved |= place > done[member_id]
            done[member_id] = place
    return any(place < len(proposals[member_id].steps) for member_id, place in done.items())

"""Bounds of the quantities that grow by themselves: recorded, committed, published positions.

The lower bound is the state of the trajectory. The upper one comes from the next step that fixes
the value, and from what received messages said of it.

The spec leaves to chance which members are active, so that each set is a possible one. A log is
explained best if those count that the leader has heard of, and nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from canvass.cluster.member import ElectionState, Member, Role
from canvass.cluster.messages import NULL_VALUE, AppendPosition
from canvass.cluster.quorum import is_quorum
from canvass.traces.alignment.moves import END_OF_LIFE
from canvass.traces.alignment.replay import Step, Trajectory

UNBOUNDED: Final = 1 << 60
_CLOSED: Final = ElectionState.CLOSED


class Upper(Struct):
    """Upper bounds in one state, and how far a leader must have written by then.

    A member that copies its leader's log notes what it reports: ``reported`` is the position that
    it has noted when that is over.
    """

    recorded: int
    committed: int
    published: int
    written: int = NULL_VALUE
    reported: int = UNBOUNDED


def upper_bounds(trajectory: Trajectory) -> list[Upper]:
    """The upper bounds after each step, by the steps that follow."""
    steps = trajectory.steps
    bounds: list[Upper] = []
    recorded = committed = reported = UNBOUNDED
    for index in range(len(steps) - 1, -1, -1):
        step, s = steps[index], steps[index].state
        if s.election_state is not ElectionState.FOLLOWER_LOG_REPLICATION:
            reported = s.append_position
        bounds.append(
            Upper(
                max(recorded, s.recorded_position),
                max(committed, s.commit_position),
                UNBOUNDED,
                reported=reported,
            )
        )
        before = steps[index - 1].state if index else None
        if step.resynchronised or step.action in (END_OF_LIFE, "Terminate"):
            committed = reported = UNBOUNDED
            if step.resynchronised:
                recorded = UNBOUNDED
        elif _begins_election(step, before):
            recorded = s.append_position
            committed = UNBOUNDED if step.action == "Restart" else s.commit_position
        elif before is not None and s.recorded_position < before.recorded_position:
            recorded = UNBOUNDED
        elif step.action in ("OnReplayNewLeadershipTermEvent", "TakeSnapshot"):
            committed = before.commit_position if before is not None else 0
        elif step.lines and step.given.message is None:
            committed = s.commit_position
    bounds.reverse()
    _note_written(steps, bounds)
    return bounds


def _note_written(steps: list[Step], bounds: list[Upper]) -> None:
    """Note what leaders have written by what followers report of it in the leader's term."""
    term, written = NULL_VALUE, NULL_VALUE
    for step, upper in zip(steps, bounds, strict=True):
        s, m = step.state, step.given.message
        if s.module_leadership_term_id != term or not leads_closed(s, term):
            term, written = s.module_leadership_term_id, NULL_VALUE
        if leads_closed(s, term) and isinstance(m, AppendPosition) and m.leadership_term_id == term:
            written = max(written, m.log_position)
        upper.written = written


def _begins_election(step: Step, before: Member | None) -> bool:
    if step.action in ("Restart", "ElectionInit"):
        return True
    if before is None:
        return False
    return before.election_state is _CLOSED and step.state.election_state is not _CLOSED


def leads_closed(s: Member, term: int) -> bool:
    """Whether a member leads a term and no election runs."""
    return (
        s.role is Role.LEADER
        and s.election_state is _CLOSED
        and s.module_leadership_term_id == term
    )


def bound_back(
    trajectory: Trajectory, bounds: list[Upper], index: int, change: Callable[[Upper, Member], None]
) -> None:
    """Bound the states before a step of a leader, as far back as it led that term."""
    steps = trajectory.steps
    term = steps[index].state.module_leadership_term_id
    for at in range(index - 1, -1, -1):
        s = steps[at].state
        if not leads_closed(s, term):
            return
        change(bounds[at], s)


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

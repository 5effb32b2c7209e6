"""The states of members' steps, where a run has them: recorded by the member, or inferred by an
import.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canvass.cluster.member import Member


@dataclass(frozen=True, slots=True)
class MemberStates:
    """The states of one member, each from a time on.

    Parameters
    ----------
    times
        On the common clock of the timeline, never falling.
    """

    times: Sequence[int]
    states: Sequence[Member]

    def at(self, time_ns: int) -> Member | None:
        """The state after the last step up to a time; none before the first."""
        place = bisect_right(self.times, time_ns)
        return self.states[place - 1] if place else None


@dataclass(frozen=True, slots=True)
class States:
    """The states of a run.

    Parameters
    ----------
    inferred
        Whether an import made them, rather than the members themselves.
    """

    members: Mapping[int, MemberStates]
    inferred: bool

    def at(self, member_id: int, time_ns: int) -> Member | None:
        """A member's state at a time; none if it is not known."""
        found = self.members.get(member_id)
        return None if found is None else found.at(time_ns)

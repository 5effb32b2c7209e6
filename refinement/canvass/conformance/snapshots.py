"""Whether all members of a run took the snapshots that one of them took.

A snapshot is asked for by an entry of the log, so that each member that processes the entry takes
one there. What entries say is not in a trace, and the spec lets a member snapshot anywhere: this
asks of each position at which a member took a snapshot whether another one went past it without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from canvass.conformance.timing import Doubt
from canvass.conformance.verdict import TimingRule
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import EventColumns
from canvass.traces.layout import STATE_INDEX

Ints = NDArray[np.int64]


@dataclass(slots=True)
class Snapshots:
    """Notes the snapshots of a run, and where its members' commit positions rise."""

    _taken: dict[int, set[int]] = field(default_factory=dict)
    _rises: dict[int, list[Ints]] = field(default_factory=dict)

    def take(self, member: int, columns: EventColumns) -> None:
        """Take the next events of a member."""
        own = slice(columns.context, len(columns))
        before, place = columns.predecessor[own], STATE_INDEX["commit_position"]
        action, after = columns.action[own], columns.state[own, place]
        taken = after[action == ACTIONS.index(Action.TAKE_SNAPSHOT)]
        self._taken.setdefault(member, set()).update(taken.tolist())
        old = columns.state[before, place]
        rises = (before >= 0) & (action != ACTIONS.index(Action.RESTART)) & (after > old)
        found = np.stack([columns.step[own], action, old, after], axis=1)[rises]
        self._rises.setdefault(member, []).append(found)

    def left_out(self) -> Iterator[Doubt]:
        """Give the members that processed the log through such a position without a snapshot."""
        takers = {at: member for member, taken in self._taken.items() for at in taken}
        for member, parts in self._rises.items():
            step, action, old, after = np.concatenate(parts).T
            for at in sorted(takers.keys() - self._taken[member]):
                # A restart may have begun at the position, from a snapshot that is in no event.
                reached = np.logical_or.accumulate((old < at) & (after >= at))
                beyond = np.flatnonzero(reached & (old <= at) & (after > at))
                for row in beyond[:1].tolist():
                    yield Doubt(
                        TimingRule.SNAPSHOT_LEFT_OUT, member, int(step[row]),
                        ACTIONS[int(action[row])], "",
                        f"goes past {at} without a snapshot, where member {takers[at]} took one",
                    )  # fmt: skip

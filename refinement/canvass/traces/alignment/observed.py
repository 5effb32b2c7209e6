"""How much of a run the lines of the logs show, and how much is inferred.

A step is shown by a line that it accounts for, a message by the line of its receipt, and a position
that a member reached by a line of its own log or by the receipt of a message from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from msgspec import Struct

from canvass.cluster.member import Member
from canvass.cluster.messages import Message
from canvass.cluster.names import wire_name
from canvass.traces.aeron_log.records import Line

_POSITIONS: Final = attrgetter("recorded_position", "publication_position", "commit_position")
_names: Final[dict[type, tuple[str, ...]]] = {}


class Share(Struct, rename=wire_name):
    """How many of some things lines show, and how many there are."""

    observed: int = 0
    total: int = 0


def add_up(shares: Iterable[Share]) -> Share:
    """The shares of several members as one."""
    found = Share()
    for one in shares:
        found.observed += one.observed
        found.total += one.total
    return found


def positions_of(shown: Line | Message) -> tuple[int, ...]:
    """The positions that a line or a message holds."""
    kind = type(shown)
    if kind not in _names:
        names = shown.__struct_fields__ if isinstance(shown, Line) else kind.__match_args__
        _names[kind] = tuple(name for name in names if name.endswith("position"))
    return tuple([getattr(shown, name) for name in _names[kind]])


class ObservedMember:
    """Counts what lines show of one member.

    Attributes
    ----------
    positions
        The positions that it reached, and those among them that lines show.
    sends
        Of how many of its messages a line shows the receipt.

    Notes
    -----
    What is shown and what is reached is remembered for a segment of the logs and the next one, so
    that the memory does not grow with the logs.
    """

    def __init__(self) -> None:
        self.positions, self.sends = Share(), 0
        self._last: tuple[int, ...] = ()
        self._shown: list[set[int]] = [set(), set()]
        self._open: list[Counter[int]] = [Counter(), Counter()]

    def receipt(self, message: Message) -> None:
        """Note that a line shows the receipt of a message of the member."""
        self.sends += 1
        self.show(positions_of(message))

    def show(self, positions: Iterable[int]) -> None:
        """Note that a line shows positions of the member."""
        for position in positions:
            self._shown[-1].add(position)
            for reached in self._open:
                self.positions.observed += reached.pop(position, 0)

    def reach(self, before: Member, states: Iterable[Member]) -> None:
        """Count the positions that the steps of a segment reach."""
        last = self._last or _POSITIONS(before)
        for state in states:
            after: tuple[int, ...] = _POSITIONS(state)
            if after != last:
                for old, new in zip(last, after, strict=True):
                    if new != old:
                        self._count(new)
                last = after
        self._last = last

    def _count(self, position: int) -> None:
        self.positions.total += 1
        if any(position in shown for shown in self._shown):
            self.positions.observed += 1
        else:
            self._open[-1][position] += 1

    def begin_segment(self) -> None:
        """Forget what was before the last segment."""
        self._shown = [self._shown[-1], set()]
        self._open = [self._open[-1], Counter()]

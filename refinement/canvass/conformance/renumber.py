"""A step with small numbers in place of its own, and the way back.

TLC has integers of 32 bits, and positions of production logs have 64. The spec compares numbers and
adds one to terms, so that a step with the ranks of its numbers has the same outcomes up to the
names of numbers, which `Renumbered.restore` gives back.
"""

from __future__ import annotations

from dataclasses import dataclass

from canvass.cluster.member import Member
from canvass.steps.canonical import map_message, map_state, map_step, ranks
from canvass.steps.step import Sends, Step
from canvass.traces.layout import Kind, kind


@dataclass(frozen=True, slots=True)
class Renumbered:
    """A step with ranks for numbers."""

    step: Step
    back: dict[Kind, dict[int, int]]

    def _restored(self, name: str, value: int) -> int:
        table = self.back.get(kind(name))
        if table is None:
            return value
        for distance in (0, 1, -1):
            if value - distance in table:
                return table[value - distance] + distance
        return value

    def restore(self, state: Member, sends: Sends) -> tuple[Member, Sends]:
        """Give an outcome of the renumbered step with the numbers of the step itself."""
        return (
            map_state(state, self._restored),
            tuple((to, map_message(message, self._restored)) for to, message in sends),
        )


def renumbered(step: Step) -> Renumbered:
    """Replace the terms and the positions of a step by their ranks."""
    found: dict[Kind, set[int]] = {Kind.TERM: set(), Kind.POSITION: set()}

    def collect(name: str, value: int) -> int:
        found.get(kind(name), set()).add(value)
        return value

    map_step(step, collect)
    forth = {which: ranks(values, terms=which is Kind.TERM) for which, values in found.items()}

    def rename(name: str, value: int) -> int:
        table = forth.get(kind(name))
        return value if table is None else table[value]

    back = {which: {new: old for old, new in table.items()} for which, table in forth.items()}
    return Renumbered(map_step(step, rename), back)

"""Steering: which options to try next, by what runs before have found that no other had.

First all options are drawn afresh. Then some of each run's are taken from one that found something
new: what rare finds have in common comes up more often, and the rest stays as various as it was.
What counts as new is told by the caller. All follows from the first options and what is told.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final

from canvass.simulation.options import Faults, Options, rng_of, swarm

WARM_UP: Final = 20
"""So many runs are drawn afresh first: nearly everything that they take is new."""
FRESH: Final = 0.35
"""How often options are drawn afresh later."""
SHARE: Final = 0.3
"""How many of a run's options are taken from one that found something."""
POOL: Final = 24
"""How many options are kept: those that have found most."""
_FADES: Final = 0.7
"""What options have found counts for less each time they are varied."""
_VARIED: Final = (
    "network_delay_ns",
    "offer_mean_ns",
    "service_count",
    "cold_start",
    "timing",
)


@dataclass
class _Kept:
    options: Options
    worth: float


class Steering:
    """Chooses the options of one run after the other.

    Parameters
    ----------
    base
        Members, revision, steps and the first seed.
    """

    def __init__(self, base: Options) -> None:
        self._base = base
        self._rng = rng_of(base.seed, "steering")
        self._pool: list[_Kept] = []
        self._seed = base.seed
        self._parent: _Kept | None = None

    def next(self) -> Options:
        """Choose options; each has a seed of its own."""
        seed, self._seed = self._seed, self._seed + 1
        drawn = swarm(replace(self._base, seed=seed))
        self._parent = None
        warm = seed - self._base.seed >= WARM_UP
        if not warm or not self._pool or self._rng.random() < FRESH:
            return drawn
        weights = [kept.worth for kept in self._pool]
        self._parent = self._rng.choices(self._pool, weights)[0]
        return self._varied(self._parent.options, drawn)

    def tell(self, options: Options, news: int) -> None:
        """Take note of how much a run has found that no run before had.

        Parameters
        ----------
        options
            What `next` gave last.
        news
            How much.
        """
        if self._parent is not None:
            self._parent.worth *= _FADES
        if news:
            self._pool.append(_Kept(options, float(news)))
            self._pool.sort(key=lambda kept: -kept.worth)
            del self._pool[POOL:]

    def _varied(self, parent: Options, drawn: Options) -> Options:
        """Take some of the options of a run that found something in place of those drawn."""
        rng = self._rng
        faults = {
            field.name: getattr(parent.faults, field.name)
            for field in fields(Faults)
            if rng.random() < SHARE
        }
        others = {name: getattr(parent, name) for name in _VARIED if rng.random() < SHARE}
        mixed = replace(drawn.faults, **faults)
        if mixed.cut_mean and not mixed.cut_kinds:
            mixed = replace(mixed, cut_mean=0)
        return replace(drawn, faults=mixed, **others)

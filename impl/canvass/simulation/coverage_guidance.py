"""Coverage guidance: the options to try next, chosen by what earlier runs found.

Three choices matter most for what a run finds: its faults, its length, and how fast its log grows.
Each choice is a bandit. Its reward is the number of new steps of the graph for each step taken.
An arm is drawn by Thompson sampling. Rewards fade with every draw, because an easy find counts
once. The caller says what is new. The sequence depends on the first options and the rewards only.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from canvass.simulation.options import PROFILES, SELDOM_NS, Options, rng_of

_A = TypeVar("_A", bound=Hashable)

SHARES: Final = (1, 2, 4, 8)
"""A run takes this part of the steps that it may take at most."""
_FADES: Final = 0.98
"""What arms have earned counts for less each time that their bandit is pulled."""
_HOPED_STEPS: Final = 300
_HOPED_NEWS: Final = 15
"""An arm that was never pulled counts as if so many steps had brought so much."""


@dataclass
class _Earned:
    news: float = _HOPED_NEWS
    steps: float = _HOPED_STEPS


class _Bandit(Generic[_A]):
    """Arms, and what each of them has earned lately."""

    def __init__(self, arms: Sequence[_A], rng: random.Random) -> None:
        self._arms = {arm: _Earned() for arm in arms}
        self._rng = rng
        self.pulled = arms[0]

    def pull(self) -> _A:
        """Draw an arm: the more likely, the more news a step of it brings."""

        def drawn(earned: _Earned) -> float:
            return self._rng.gammavariate(max(earned.news, 0.5), 1 / max(earned.steps, 1.0))

        rates = {arm: drawn(earned) for arm, earned in self._arms.items()}
        self.pulled = max(rates, key=lambda arm: rates[arm])
        return self.pulled

    def reward(self, news: int, steps: int) -> None:
        """Add the news and the steps of the last run to the arm that was drawn."""
        for earned in self._arms.values():
            earned.news *= _FADES
            earned.steps *= _FADES
        self._arms[self.pulled].news += news
        self._arms[self.pulled].steps += steps


class CoverageGuidance:
    """Chooses the options of one run after the other.

    Parameters
    ----------
    base
        Members, revision, the first seed, and the steps that a run takes at most.
    """

    def __init__(self, base: Options) -> None:
        self._base, self._seed = base, base.seed
        rng = rng_of(base.seed, "coverage guidance")
        self._profile = _Bandit(tuple(PROFILES), rng)
        self._share = _Bandit(SHARES, rng)
        self._seldom = _Bandit((False, True), rng)

    def next(self) -> Options:
        """Choose options; each has a seed of its own."""
        seed, self._seed = self._seed, self._seed + 1
        steps = max(1, self._base.steps // self._share.pull())
        options = PROFILES[self._profile.pull()](replace(self._base, seed=seed, steps=steps))
        if self._seldom.pull():
            options = replace(options, offer_mean_ns=SELDOM_NS)
        return options

    def reward(self, news: int, steps: int) -> None:
        """Record the result of a run with the last options.

        Parameters
        ----------
        news
            How much it has found that no run before had.
        steps
            How many steps it has taken.
        """
        for bandit in (self._profile, self._share, self._seldom):
            bandit.reward(news, steps)

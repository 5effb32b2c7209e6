"""Steering: which options to try next, by what runs before have found that no other had.

What a run finds anew depends on three choices more than on anything else: its faults, how long it
is, and how fast its log grows. Each of them is a bandit of its own that is paid in news per step:
an arm is drawn by Thompson sampling, and what it has earned fades with every pull of the bandit, as
what is easy to find is found once. What counts as new is told by the caller. All follows from the
first options and what is told.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from canvass.simulation.options import Options, rng_of
from canvass.simulation.profiles import PROFILES, SELDOM_NS

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

    def tell(self, news: int, steps: int) -> None:
        """Take note of what the arm that was pulled has earned."""
        for earned in self._arms.values():
            earned.news *= _FADES
            earned.steps *= _FADES
        self._arms[self.pulled].news += news
        self._arms[self.pulled].steps += steps


class Steering:
    """Chooses the options of one run after the other.

    Parameters
    ----------
    base
        Members, revision, the first seed, and the steps that a run takes at most.
    """

    def __init__(self, base: Options) -> None:
        self._base, self._seed = base, base.seed
        rng = rng_of(base.seed, "steering")
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

    def tell(self, news: int, steps: int) -> None:
        """Take note of what a run with the last options has come to.

        Parameters
        ----------
        news
            How much it has found that no run before had.
        steps
            How many steps it has taken.
        """
        for bandit in (self._profile, self._share, self._seldom):
            bandit.tell(news, steps)

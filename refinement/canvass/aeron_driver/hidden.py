"""State of Aeron that the spec does not have, and that a drive varies: see ``Hidden.java``."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

HIDDEN: Final = (
    "a recording exists with nothing in it",
    "the module is suspended",
    "the quorum position has gone backwards before",
    "the live destination was added already",
    "forgotten member records hold old values",
    "a catch-up or copy of earlier has left its positions",
    "the election began when the process started",
    "the election began in the module's term",
    "replay or catch-up began before the commit position",
    "replay and copy wait to be closed",
    "the archive is slow to record",
    "the log joins elsewhere than the own log ends",
    "the termination was asked for by another member",
)
"""The departures, in the order of their bits."""

VARIED: Final = HIDDEN.index("the archive is slow to record")
"""How many of them a drive varies: the others are asked for by situations of their own
(`canvass.aeron_driver.situations`).
"""


def names_of(mask: int) -> list[str]:
    """Name the departures of a mask."""
    return [name for bit, name in enumerate(HIDDEN) if mask >> bit & 1]


def masks(count: int, seed: int) -> NDArray[Any]:
    """Draw a mask for each of some steps: each departure in half of them."""
    return np.random.default_rng(seed).integers(1, 1 << VARIED, count, dtype=np.int32)


def single_masks(mask: int) -> list[int]:
    """Give the masks of the departures of a mask, one by one."""
    return [1 << bit for bit in range(len(HIDDEN)) if mask >> bit & 1]

"""The reviewed classes of differences between Aeron and the spec, each with its reason.

A difference that no class explains makes ``canvass drive`` fail. A class is here only if it cannot
hide a wrong run; its reason says why. ``docs/theory/java.md`` has a row for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from canvass.aeron_driver.class_path import REVISION_149, REVISION_150
from canvass.aeron_driver.drivable import Flags, Requests
from canvass.traces.actions import Action


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """One class.

    Parameters
    ----------
    name
        In reports and in kept answers.
    reason
        Why Aeron departs from the spec there, and why no wrong run can hide in it.
    revisions
        In which it occurs.
    where
        Which steps may differ by it.
    """

    name: str
    reason: str
    revisions: tuple[str, ...]
    where: Callable[[Requests], Flags]


_BOTH: Final = (REVISION_149, REVISION_150)

KNOWN: Final = (
    KnownDifference(
        "acknowledgement nobody asked for",
        "A leader that has asked nobody to terminate throws a NullPointerException at a"
        " TerminationAck of its own term. No member sends one before it was asked, so that the"
        " input occurs in the graph only, whose environment sends any well-formed message.",
        _BOTH,
        lambda r: r.is_of(Action.ON_TERMINATION_ACK) & (r.state("termination_position") == -1),
    ),
)


def explain(requests: Requests, revision: str) -> list[str]:
    """Name for each step the class that may explain a difference, empty if there is none."""
    names = [""] * len(requests)
    for known in KNOWN:
        if revision in known.revisions:
            for row in np.flatnonzero(known.where(requests)).tolist():
                names[row] = names[row] or known.name
    return names

"""The nearest violation from a moment on: `MCFrom.tla` with the moment in it, searched by TLC."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from canvass.distance.moment import Moment
from canvass.tlc import CheckResult, Outcome, TlcOptions, Violation, check
from canvass.tlc.config import TlcConfig, parse_config

MODULE: Final = "MCFrom"
PROPERTIES: Final = (
    "CommittedIsDurable",
    "StateMachineSafety",
    "LeaderCompleteness",
    "LogMatching",
)
"""What can be searched for: properties of one state, that hold of a sound cluster at any time."""
STACK_MIB: Final = 64


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a search goes.

    Parameters
    ----------
    steps
        Of the behaviour.
    crashes
        In it.
    under_way
        Messages at once, besides those at the beginning.
    seconds
        Limit of time.
    heap_mib
        Java heap.
    workers
        Threads of TLC. With more than one the behaviour found may be a step longer.
    """

    steps: int = 12
    crashes: int = 1
    under_way: int = 1
    seconds: float = 60.0
    heap_mib: int = 512
    workers: int = 1


@dataclass(frozen=True, slots=True)
class Distance:
    """What a search found.

    Attributes
    ----------
    steps
        Of the shortest behaviour found that violates the property; null if none was found.
    faults
        Which of these steps are faults, by kind.
    searched
        Behaviours up to this length were all looked at.
    complete
        Whether all behaviours within the bounds were looked at.
    failure
        Why TLC could not search; empty if it did.
    violation
        What TLC found.
    """

    label: str
    steps: int | None
    faults: dict[str, int]
    searched: int
    states: int
    seconds: float
    complete: bool
    failure: str = ""
    violation: Violation | None = field(repr=False, default=None)


FAULTS: Final = {"RestartMember": "crash", "TETakeEnterElection": "lost leader"}
"""Steps that are faults of the environment, and their names."""


def configuration(root: Path, wanted: str) -> TlcConfig:
    """Give the configuration of the search for a property."""
    text = (root / f"{MODULE}.cfg").read_text(encoding="utf-8")
    return parse_config(text.replace("INVARIANTS CommittedIsDurable", f"INVARIANTS {wanted}"))


def search(
    root: Path,
    moment: Moment,
    options: TlcOptions,
    bounds: Bounds,
    wanted: str = PROPERTIES[0],
) -> Distance:
    """Search from a moment for the nearest violation.

    Raises
    ------
    TlcError
        If TLC cannot run, or cannot read the moment.
    """
    small, _ = moment.without_idle_talk().small()
    constants = small.constants() | {
        "MaxSteps": bounds.steps + 1,
        "MaxCrashes": bounds.crashes,
        "MaxUnderWay": bounds.under_way + len(small.under_way),
    }
    result = check(
        root / f"{MODULE}.tla",
        configuration(root, wanted),
        constants=constants,
        jar=options.jar,
        java=options.java,
        workers=bounds.workers,
        heap_mib=bounds.heap_mib,
        stack_mib=STACK_MIB,
        timeout_s=bounds.seconds,
        check_deadlock=False,
        library=(root,),
    )
    violation = result.violations[0] if result.violations else None
    steps = len(violation.states) - 1 if violation else None
    faults: Counter[str] = Counter()
    for state in violation.states if violation else ():
        if state.action in FAULTS:
            faults[FAULTS[state.action]] += 1
    depth = result.depth or 0
    complete = result.outcome is Outcome.SUCCESS
    return Distance(
        label=moment.label,
        steps=steps,
        faults=dict(faults),
        searched=bounds.steps if complete else max(depth - 2, 0),
        states=result.distinct or 0,
        seconds=result.seconds,
        complete=complete,
        failure=result.message if _failed(result) else "",
        violation=violation,
    )


def _failed(result: CheckResult) -> bool:
    return not (result.ok or result.outcome.is_violation or result.outcome is Outcome.TIMEOUT)

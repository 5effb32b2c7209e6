"""Look for a course of walks to a rare sighting: `python -m support.guided_walks NAME...`.

The search goes in stages, each one run of `MCWalk`. Its walks begin where the course so far ends,
and it ends when one of them reaches the next goal; the course then follows that walk. A stage
that reaches nothing begins again from another walk of the stage before it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from canvass.cli.models import config_of
from canvass.spec import load_manifest, spec_root
from canvass.tlc import TlcOptions, run
from support.tla_values import bound

Course = tuple[tuple[int, int], ...]

WALKS: Final = 100
"""Walks of a stage, if the aim does not say."""


@dataclass(frozen=True)
class Aim:
    """A sighting: the operator of `MCWalk` that notes the way, its goals in order, the model."""

    operator: str
    goals: tuple[str, ...]
    model: str = "MCWalk"
    walks: int = WALKS
    """Walks of a stage."""


AIMS: Final = {
    "Figure8": Aim("TowardsFigure8", ("HasMore", "OpenedApart", "IsCandidate", "Wins", "Figure8")),
    "HZ6": Aim("TowardsHZ6", ("Committed", "TwoTerms", "ReplaysTwo", "ReplaysLess", "HZ6")),
    "HZ6-1.49": Aim("TowardsHZ6", ("Committed", "TwoTerms", "Lowered", "HZ6"), "MCWalk149"),
    "HZ8": Aim("TowardsHZ8", ("AnnouncedLate", "CanvassesLate", "HZ8"), walks=40),
    "HZ9": Aim("TowardsHZ9", ("Noted", "Kept", "HZ9"), walks=40),
}
STEPS: Final = 400
"""Steps of a stage's walks beyond the course so far."""
CANDIDATES: Final = 3
"""Walks of a stage from which the next one is tried."""


def stage(aim: Aim, course: Course, goal: str) -> list[tuple[int, int]]:
    """Give the first walks that reach the goal, each with the step after which it has."""
    entry = next(model for model in load_manifest().models if model.name == aim.model)
    begin = course[-1][1] if course else 0
    constants = {
        "Goals": f"<- {aim.operator}",
        "Walks": f"= {aim.walks}",
        "Length": f"= {begin + STEPS}",
    }
    config = config_of(spec_root(), entry)
    config = replace(config, constants={**config.constants, **constants})
    options = TlcOptions(workers=1, heap_mib=512, library=(spec_root(),))
    module = spec_root() / f"{entry.module}.tla"
    found: list[tuple[int, int]] = []
    with TemporaryDirectory() as folder:
        module, config = bound(module, config, "Course", course, Path(folder))
        with run(module, config, options) as tlc:
            for value in tlc.printed_values():
                _, name, walk, step = value
                if name == goal and step >= begin:
                    found.append((walk, step + 1))
                    if len(found) == CANDIDATES:
                        break
            else:
                assert tlc.wait().ok
    return found


def search(aim: Aim, course: Course = (), stages: int = 0) -> tuple[Course | None, int]:
    """Give a course that reaches the last goal, and how many stages were run to find it."""
    goal = aim.goals[len(course)]
    found = stage(aim, course, goal)
    stages += 1
    sys.stdout.write(f"{goal}: {found} after {course}\n")
    sys.stdout.flush()
    for walk, until in found:
        longer = (*course, (walk, until))
        if goal == aim.goals[-1]:
            return longer, stages
        result, stages = search(aim, longer, stages)
        if result is not None:
            return result, stages
    return None, stages


def main(names: list[str]) -> None:
    """Search for each of these sightings, and print the courses."""
    for name in names:
        course, stages = search(AIMS[name])
        sys.stdout.write(
            f"{name}: {course}, {stages} stages of {AIMS[name].walks} walks, {STEPS} steps each\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:] or list(AIMS))

"""A divergence as reports of all forms need it: explained, found in its file, drawn in its lanes.

Nothing here decides anything; what is wrong was found by `canvass.conformance.diagnose`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final

from canvass.conformance.diagnose import LoadedRun, load
from canvass.conformance.explain import Explanation, explain
from canvass.conformance.report import show_command
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verdict import Divergence, RunVerdict
from canvass.lanes.model import Diagram
from canvass.lanes.of_run import RunLanes
from canvass.traces.errors import TraceError
from canvass.traces.facts import FactKind
from canvass.traces.run import RunFolder

EVENTS_BEFORE: Final = 24
"""Events that the divergence rests on, drawn before it: what a person looks through."""
EVENTS_AFTER: Final = 4
"""Events drawn after it: whether the run went on."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an event is written."""

    file: str
    line: int = 0
    """From 1; 0 where the file has no lines."""

    def __str__(self) -> str:
        """Say it as compilers do."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Case:
    """One divergence with all that reports show of it."""

    run: RunVerdict
    explanation: Explanation
    place: Place
    diagram: Diagram

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that show it again, each in one line."""
        path = quote(self.run.path)
        return (
            f"canvass verify {path}",
            show_command(self.run.path, self.explanation.divergence),
            f"canvass trace shrink {path} --out shrunk",
        )


def make_case(run: RunVerdict, lookup: StepLookup) -> Case:
    """Put together what there is to say of a run's first divergence."""
    loaded = load(Path(run.path), run.run_id)
    first = run.divergences[0]
    return Case(
        run=run,
        explanation=explain(loaded, first, lookup),
        place=place_of(run, first),
        diagram=draw(loaded, first),
    )


def make_cases(runs: Iterable[RunVerdict], lookup: StepLookup, limit: int) -> list[Case]:
    """Do so for the first runs that diverge, up to ``limit``."""
    wrong = [run for run in runs if run.divergences][:limit]
    return [make_case(run, lookup) for run in wrong]


def draw(loaded: LoadedRun, divergence: Divergence) -> Diagram:
    """Draw what a divergence rests on, itself, and a little of what follows."""
    lanes = RunLanes(loaded.columns)
    row = loaded.row_of(divergence.member, divergence.step)
    before = lanes.leading_to(row, EVENTS_BEFORE)
    place = lanes.place[row]
    after = lanes.rows[place + 1 : place + 1 + EVENTS_AFTER]
    return lanes.diagram([*before, *after], marks={row: divergence.name})


_SHIFTING: Final = frozenset({FactKind.GAP, FactKind.LATE_START})


def stream_place(run: RunVerdict, member: int, line: int = 0) -> Place:
    """Find the file of a member's stream; the run's own path if it is not there."""
    path = Path(run.path)
    try:
        if path.is_dir():
            return Place(str(RunFolder(path).streams[member]), line)
    except (TraceError, KeyError):
        pass  # The stream is missing, or the folder was changed since.
    return Place(run.path)


def log_lines_of(run: RunVerdict, member: int, step: int) -> tuple[Place, int] | None:
    """Find the lines of the event log that a step was imported from: the first, and the last.

    None if no line shows the step, or the run was not imported or is not a folder.
    """
    path = Path(run.path)
    if not path.is_dir():
        return None
    try:
        for batch in RunFolder(path).batches(member):
            for event in batch:
                if event.step == step and event.source is not None and event.source.lines:
                    source = event.source
                    return Place(source.file, source.lines[0]), source.lines[-1]
                if event.step >= step:
                    return None
    except (TraceError, KeyError):
        return None  # The stream is missing, or the folder was changed since.
    return None


def place_of(run: RunVerdict, divergence: Divergence) -> Place:
    """Find the file and line of the step at which a run diverges."""
    return place_of_step(run, divergence.member, divergence.step)


def place_of_step(run: RunVerdict, member: int, step: int) -> Place:
    """Find the file and line of a step."""
    place = stream_place(run, member, step + 1)
    shifts = any(fact.member_id == member and fact.kind in _SHIFTING for fact in run.facts)
    if not place.line or not shifts:
        return place
    line = 0
    for batch in RunFolder(Path(run.path)).batches(member):
        for event in batch:
            line += 1
            if event.step == step:
                return Place(place.file, line)
    return Place(place.file)

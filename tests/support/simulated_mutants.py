"""Mutants of the core in simulated clusters: the seed that catches each, and the way it is caught.

The members are whole: their duty cycle is the mutant's, too, because it uses the core's rules. A
mutant is *caught by verification* if the spec does not allow a step of its recorded run. It is
*caught by the simulation* if a hardened run of it violates a property, raises an error or gets
stuck, and the core's run with the same options does not. Seeds are tried in their order, without
recording, until a step of a run differs from the core's, or a run fails. A run with a different
step is repeated, recorded and verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from canvass.cluster import core
from canvass.cluster.duty_cycle import DutyCycle, StepFunction, StepRecorder
from canvass.cluster.effects import Outcome
from canvass.cluster.member import Input, Member
from canvass.cluster.rules import Rules
from canvass.conformance.findings import DivergenceClass
from canvass.conformance.verify import check_units
from canvass.node import node
from canvass.selftest.simulation_series import simulate
from canvass.simulation.options import Options
from canvass.simulation.simulator import Simulator
from canvass.steps.answers import StepLookup
from canvass.traces.recorder import RunRecorder
from canvass.traces.schema import Run
from support.mutant_search import search_options
from support.mutants import Core, Mutant, load_member

RECORDED: Final = 300
"""Number of step attempts after the first different step, so that this step is recorded."""
WRONG_STEPS: Final = (
    DivergenceClass.IMPLEMENTATION_STEP,
    DivergenceClass.INSTRUMENTATION_GAP,
)
"""The classes of divergence for a step that the spec does not allow."""
_OF_NO_REVISION: Final = (
    "FailStop",
    "CandidateTermMonotonic",
    "NothingSentBeforeDurable",
    "RecordingEndsAsReported",
)
"""Findings that the core shows in no revision, not even in one with hazards."""
By = Literal["verification", "simulation", "nothing"]


class Differs(Exception):
    """A step differs from the core's; the rest of the run is not needed."""


@dataclass(frozen=True, slots=True)
class SimulatedKill:
    """The result of a mutant."""

    mutant: Mutant
    by: By
    seeds: int
    """Number of tried seeds, the last one included."""
    reason: str
    """The property that the run violates, or its divergence."""


@contextmanager
def members_with(cycle: type[DutyCycle]) -> Iterator[None]:
    """Give members that start this duty cycle."""
    place: Any = node
    kept, place.DutyCycle = place.DutyCycle, cycle
    try:
        yield
    finally:
        place.DutyCycle = kept


def wrong_with(options: Options, step: StepFunction, recorders: Sequence[StepRecorder] = ()) -> str:
    """Simulate a run; name its first finding in one line, empty if there is none."""
    try:
        result = Simulator(options, recorders, step).run() if recorders else simulate(options, step)
    except Differs:
        return ""
    except Exception as error:  # noqa: BLE001 - any error of a mutant is a finding
        return f"raises {type(error).__name__}"
    if result.findings:
        return result.findings[0].property_name
    return f"stuck: {result.stuck[0]}" if result.stuck else ""


@dataclass(slots=True)
class Watched:
    """A mutant that notes whether a step differs from the core's."""

    broken: Core
    differs: bool = False

    def step(self, rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
        """Take one step; a step that is not taken does not show in a run, so it is not compared."""
        if (outcome := self.broken.step(rules, i, s, action, x)) is not None:
            sound = core.step(rules, i, s, action, x)
            self.differs |= sound is None or (outcome.next, outcome.sends) != (
                sound.next,
                sound.sends,
            )
        return outcome


class _Stopping(Watched):
    """Ends the run a few steps after the first different step."""

    left: int = 0
    """Number of further steps."""

    def step(self, rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
        if self.differs:
            if self.left == 0:
                raise Differs
            self.left -= 1
            return self.broken.step(rules, i, s, action, x)
        outcome = super().step(rules, i, s, action, x)
        if outcome is not None and x.message is None:
            # A member does not take a step that changes and sends nothing.
            self.differs &= bool(outcome.effects) or outcome.next != s
        return outcome


def simulate_mutant(
    mutant: Mutant, seeds: Sequence[int], folder: Path, lookup: StepLookup
) -> SimulatedKill:
    """Try seeds until a mutant is caught.

    Parameters
    ----------
    mutant, seeds
        The mutant, and the seeds to try.
    folder
        Folder for the recorded runs.
    lookup
        Checks the steps.
    """
    broken, cycle = load_member(mutant)
    for count, seed in enumerate(seeds, start=1):
        options = search_options(mutant, seed)
        watched = _Stopping(broken)
        with members_with(cycle):
            wrong = wrong_with(options, watched.step)
        if watched.differs:
            reason = _verified(mutant, (broken, cycle), options, folder, lookup)
            if reason:
                return SimulatedKill(mutant, "verification", count, reason)
        elif wrong and (reason := _sound_but_for(options, broken, cycle)):
            return SimulatedKill(mutant, "simulation", count, reason)
    return SimulatedKill(mutant, "nothing", len(seeds), "")


def _sound_but_for(options: Options, broken: Core, cycle: type[DutyCycle]) -> str:
    """Name the finding of a mutant, if the core has none with the same options.

    Any change of a run may bring the core to a hazard, so findings of hazards count only in the
    hardened revision.
    """
    with members_with(cycle):
        wrong = wrong_with(options, broken.step)
    if wrong not in _OF_NO_REVISION:
        options = replace(options, revision="hardened")
        with members_with(cycle):
            wrong = wrong_with(options, broken.step)
    return wrong if wrong and not wrong_with(options, core.step) else ""


def _verified(
    mutant: Mutant,
    member: tuple[Core, type[DutyCycle]],
    options: Options,
    folder: Path,
    lookup: StepLookup,
) -> str:
    """Record a run and verify it; name its first wrong step, empty if there is none."""
    run_id = f"{mutant.name.replace('_', '-')[:48]}-{options.seed}"
    run = Run(
        schema="canvass.run/1",
        run_id=run_id,
        revision=mutant.revision,  # type: ignore[arg-type]  # It is one of the three.
        member_count=options.member_count,
    )
    broken, cycle = member
    with RunRecorder(folder / run_id, run, flush=False) as recorder, members_with(cycle):
        members = [recorder.member(i) for i in range(options.member_count)]
        stopping = _Stopping(broken)
        stopping.left = RECORDED
        wrong_with(options, stopping.step, members)
    (verdict,) = check_units([folder / run_id], lookup).runs
    # Revisions with hazards violate properties without a mutant, by steps that the spec allows.
    steps = [one.name for one in verdict.divergences if one.kind in WRONG_STEPS]
    return steps[0] if steps else ""

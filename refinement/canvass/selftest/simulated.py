"""Mutants of the core in simulated clusters: which seed gives each of them away, and to whom.

A mutant is *caught by verification* if its recorded run diverges, and *caught by the simulation* if
a run of it violates a property, raises an error or does not recover where the core's run with the
same options does. Seeds are tried in their order, without recording, until a run takes a step that
is none of the core's, or goes wrong; that run is done again, recorded and verified.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from canvass.cluster import core
from canvass.cluster.member import Input, Member
from canvass.cluster.outcome import Outcome
from canvass.cluster.ports import StepFunction, StepRecorder
from canvass.cluster.rules import Rules
from canvass.conformance.check import check_units
from canvass.conformance.judge import Judge
from canvass.conformance.verdict import Verdict
from canvass.selftest.mutation import Mutant, load
from canvass.selftest.traced import Watched
from canvass.simulation.options import Options, swarm
from canvass.simulation.simulator import Simulator
from canvass.traces.recorder import RunRecorder
from canvass.traces.schema import Run

STEPS: Final = 700
RECORDED: Final = 300
"""Attempts at a step after the first that is none of the core's: it is recorded by then."""
By = Literal["verification", "simulation", "nothing"]


class Differs(Exception):
    """A step was none of the core's: the rest of the run is of no interest."""


@dataclass(frozen=True, slots=True)
class SimulatedKill:
    """What became of a mutant."""

    mutant: Mutant
    by: By
    seeds: int
    """How many were tried, the last one included."""
    told: str
    """What the run violates, or how it diverges."""


def _options(mutant: Mutant, seed: int) -> Options:
    return swarm(Options(seed, mutant.member_count, mutant.revision, STEPS))


def wrong_with(options: Options, step: StepFunction, recorders: Sequence[StepRecorder] = ()) -> str:
    """Do a run; say in one line what is wrong with it, or nothing."""
    try:
        result = Simulator(options, recorders, step).run()
    except Differs:
        return ""
    except Exception as error:  # noqa: BLE001 - whatever a mutant raises gives it away
        return f"raises {type(error).__name__}"
    if result.findings:
        return result.findings[0].property_name
    return f"stuck: {result.stuck[0]}" if result.stuck else ""


class _Stopping(Watched):
    """Ends the run a few steps after the first that is none of the core's."""

    left: int = 0
    """How many more steps are taken."""

    def step(self, rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
        outcome = super().step(rules, i, s, action, x)
        if self.differs:
            if self.left == 0:
                raise Differs
            self.left -= 1
        return outcome


def simulate_mutant(
    mutant: Mutant, seeds: Sequence[int], folder: Path, judge: Judge
) -> SimulatedKill:
    """Try seeds until a mutant is caught.

    Parameters
    ----------
    mutant, seeds
        What is tried.
    folder
        Where its runs are recorded.
    judge
        Decides steps.
    """
    broken = load(mutant)
    for count, seed in enumerate(seeds, start=1):
        options = _options(mutant, seed)
        watched = _Stopping(broken)
        wrong = wrong_with(options, watched.step)
        if watched.differs:
            told = _verified(mutant, options, folder, judge)
            if told:
                return SimulatedKill(mutant, "verification", count, told)
        elif wrong and not wrong_with(options, core.step):
            return SimulatedKill(mutant, "simulation", count, wrong)
    return SimulatedKill(mutant, "nothing", len(seeds), "")


def _verified(mutant: Mutant, options: Options, folder: Path, judge: Judge) -> str:
    """Record a run and verify it; say how it diverges, or nothing if it does not."""
    run_id = f"{mutant.name.replace('_', '-')[:48]}-{options.seed}"
    run = Run(
        schema="canvass.run/1",
        run_id=run_id,
        revision=mutant.revision,  # type: ignore[arg-type]  # It is one of the three.
        member_count=mutant.member_count,
    )
    with RunRecorder(folder / run_id, run, flush=False) as recorder:
        members = [recorder.member(i) for i in range(mutant.member_count)]
        stopping = _Stopping(load(mutant))
        stopping.left = RECORDED
        wrong_with(options, stopping.step, members)
    (verdict,) = check_units([folder / run_id], judge).runs
    if verdict.verdict is not Verdict.DIVERGES:
        return ""
    first = verdict.divergences[0]
    return f"{first.name} of member {first.member}"


def simulate_mutants(
    mutants: Iterable[Mutant], seeds: Sequence[int], folder: Path, judge: Judge
) -> list[SimulatedKill]:
    """Try each mutant."""
    return [simulate_mutant(mutant, seeds, folder, judge) for mutant in mutants]

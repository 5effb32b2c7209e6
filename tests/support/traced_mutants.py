"""Mutants of the core in recorded runs: the checker must reject each step that differs.

Each step of a mutant is compared with the core's. If no step differs in the state or the sends, the
run is also a run of the core. If a step differs, the run must diverge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from canvass.cluster import core
from canvass.cluster.effects import Outcome
from canvass.cluster.member import Input, Member
from canvass.cluster.rules import Rules
from canvass.conformance.findings import RunVerdict, Verdict
from canvass.conformance.verify import check_units
from canvass.selftest.runs import record_run
from canvass.steps.answers import StepLookup
from support.mutants import Core, Mutant, load


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


@dataclass(frozen=True, slots=True)
class TracedRun:
    """A run of a mutant."""

    mutant: Mutant
    differs: bool
    """Whether a step differs from the core's."""
    raised: str
    """Type of the error that ended the run; empty without one."""
    verdict: RunVerdict

    @property
    def is_right(self) -> bool:
        """Whether the checker rejects the run if and only if a step differs."""
        return self.differs == (self.verdict.verdict is Verdict.DIVERGES)


def trace_mutants(
    folder: Path, mutants: Iterable[Mutant], seeds: Sequence[int], steps: int, lookup: StepLookup
) -> list[TracedRun]:
    """Record runs of mutants and check them.

    Parameters
    ----------
    folder
        Folder for the runs, new or empty.
    mutants, seeds
        A run is made for each pair.
    steps
        Approximate number of steps of a run.
    lookup
        Checks the steps.
    """
    made: list[tuple[Mutant, Watched, str, Path]] = []
    for mutant in mutants:
        rules = Rules.of(mutant.revision, mutant.member_count)
        for seed in seeds:
            watched = Watched(load(mutant))
            path = folder / f"{mutant.name.replace('_', '-')[:48]}-{seed}"
            raised = ""
            try:
                record_run(
                    path,
                    rules,
                    seed,
                    steps,
                    faults=(0.0, 0.01, 0.03)[seed % 3],
                    run_id=path.name,
                    step=watched.step,
                )
            except Exception as error:  # noqa: BLE001 - a mutant may raise, and the run ends there
                raised = type(error).__name__
            made.append((mutant, watched, raised, path))
    verdicts = check_units([path for *_, path in made], lookup).runs
    return [
        TracedRun(mutant, watched.differs, raised, verdict)
        for (mutant, watched, raised, _), verdict in zip(made, verdicts, strict=True)
    ]

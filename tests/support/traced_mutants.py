"""Mutants of the core in recorded runs: what a mutant does otherwise, the checker has to reject.

While a mutant runs, each step that it takes is compared with the core's. If none differs in the
state or the sends, the run is a run of the core: the mutant is equivalent to it there, which is
proved step by step. If one differs, the run must diverge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from canvass.cluster import core
from canvass.cluster.member import Input, Member
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules
from canvass.conformance.check import check_units
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verdict import RunVerdict, Verdict
from canvass.selftest.kill_matrix import Core, Mutant, load
from canvass.selftest.runs import record_run


@dataclass(slots=True)
class Watched:
    """A core that notes whether it does what the unbroken one would not."""

    broken: Core
    differs: bool = False

    def step(self, rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
        """Take one step; not to take one is no difference that a run can show."""
        outcome = self.broken.step(rules, i, s, action, x)
        if outcome is not None:
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
    """Whether some step is not the core's."""
    raised: str
    """What the mutant, or the cluster around it, raised at the end of the run; empty if nothing."""
    verdict: RunVerdict

    @property
    def is_right(self) -> bool:
        """Whether the checker rejects the run if and only if it is none of the core."""
        return self.differs == (self.verdict.verdict is Verdict.DIVERGES)


def trace_mutants(
    folder: Path, mutants: Iterable[Mutant], seeds: Sequence[int], steps: int, lookup: StepLookup
) -> list[TracedRun]:
    """Record runs of mutants and check them.

    Parameters
    ----------
    folder
        New or empty.
    mutants, seeds
        There is a run for each pair.
    steps
        About how many a run has.
    lookup
        Decides steps.
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

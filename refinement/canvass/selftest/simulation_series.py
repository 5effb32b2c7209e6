"""Series of simulated runs for ``canvass simulate``: draw, run, record, check and report.

Each run is recorded and checked as `canvass verify` does it, without asking TLC.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from canvass.cluster import core
from canvass.cluster.duty_cycle import StepFunction
from canvass.cluster.messages import Record
from canvass.conformance.findings import Verdict, step_name
from canvass.simulation.events import Finding
from canvass.simulation.options import PROFILES, Options
from canvass.simulation.simulator import RunResult, Simulator
from canvass.traces.errors import counted
from canvass.traces.recorder import RunRecorder
from canvass.traces.schema import Run
from canvass.traces.timeouts import settings_of


def replay_command(options: Options, profile: str = "swarm") -> str:
    """Give the command that repeats and records a run."""
    chosen = "" if profile == "swarm" else f"--profile {profile} "
    return (
        f"canvass simulate --members {options.member_count} --seeds 1 --seed-start {options.seed} "
        f"--steps {options.steps} --revision {options.revision} {chosen}--out CORPUS"
    )


def run_id_of(options: Options) -> str:
    """Name a recorded run and its folder."""
    return f"sim-{options.revision}-{options.member_count}-{options.seed}"


def record_run(
    options: Options,
    folder: Path,
    step: StepFunction = core.step,
    prepare: Callable[[Simulator], object] = lambda _: None,
) -> RunResult:
    """Simulate one run and record it in a new folder within ``folder``.

    Parameters
    ----------
    options, folder
        The options of the run, and where it is recorded.
    step
        The protocol core.
    prepare
        Called with the simulator before the run.
    """
    source = {
        "kind": "simulation",
        "seed": options.seed,
        "options": asdict(options),
        "timeouts": settings_of(options.timing),
    }
    run = Run.of(options.rules, run_id_of(options), source)
    place = folder / run.run_id
    with RunRecorder(place, run, suffix=".zst", flush=False) as recorder:
        members = [recorder.member(i) for i in range(options.member_count)]
        simulator = Simulator(options, members, step)
        prepare(simulator)
        return simulator.run()


class SimulationFinding(Record, frozen=True):
    """A property that a run violated, or a run that got stuck."""

    seed: int
    name: str
    """The property, or ``Stuck``."""
    violation: str
    step: int
    """The number of steps that the run had taken; for a divergence, the step of its member."""
    replay: str
    """The command that repeats the run."""


class LeftOut(Record, frozen=True):
    """A run in which a hardening kept members out until the next election of a leader."""

    seed: int
    reason: str
    replay: str


class SimulationReport(Record, frozen=True):
    """The document of ``canvass simulate --format json``."""

    ok: bool
    """False if a run of revision ``hardened`` has a finding. Other revisions may have findings."""
    revision: str
    members: int
    seeds: int
    seed_start: int
    steps: int
    seconds: float
    simulated_seconds: float
    counts: dict[str, int]
    actions: dict[str, int]
    recovery_ns_max: int
    digest: str
    """A hash of all runs."""
    findings: list[SimulationFinding]
    left_out: list[LeftOut]
    distinct_steps: int
    """Number of distinct canonical steps."""


def simulate(
    options: Options,
    step: StepFunction = core.step,
    prepare: Callable[[Simulator], object] = lambda _: None,
) -> RunResult:
    """Simulate one run and check its record, which is not kept; parameters as for `record_run`."""
    with TemporaryDirectory() as place:
        result = record_run(options, Path(place), step, prepare)
        return _checked(result, Path(place))[0]


def _checked(result: RunResult, folder: Path) -> tuple[RunResult, NDArray[np.uint64]]:
    """Check a recorded run; add what is found to its findings. Give the keys of its steps, too."""
    from canvass.conformance.verify import read_and_check
    from canvass.steps.answers import Answers

    found = read_and_check([folder / run_id_of(result.options)], Answers())
    verdict, findings = found.runs[0].verdict, [*result.findings]
    for one in verdict.divergences:
        text = f"{step_name(one.member, one.step)}: {one.text}"
        findings.append(Finding(one.name, text, one.step, result.time_ns))
    if verdict.verdict is Verdict.MALFORMED:
        findings.append(Finding("Malformed", verdict.reason, result.steps, result.time_ns))
    return replace(result, findings=tuple(findings)), found.keys


def simulate_series(
    base: Options,
    seeds: int,
    profile: str,
    out: Path | None,
    progress: Callable[[str], object],
) -> SimulationReport:
    """Simulate runs, one after the other.

    Parameters
    ----------
    base
        The options that all runs share, with the first seed.
    seeds
        Number of runs.
    profile
        The name in `PROFILES` of the function that chooses the other options from a seed.
    out
        Folder for recorded runs; None keeps none. A run is there once it is whole.
    progress
        Called with one line after each run.
    """
    began_s = time.monotonic()
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    results: list[RunResult] = []
    steps = found = 0
    keys = np.empty((0, 2), dtype=np.uint64)
    for done in range(1, seeds + 1):
        options = PROFILES[profile](replace(base, seed=base.seed + done - 1))
        with TemporaryDirectory(dir=out, prefix=".run-") as place:
            result, own = _checked(record_run(options, Path(place)), Path(place))
            if out is not None:
                run = run_id_of(options)
                (Path(place) / run).rename(out / run)
        keys = np.unique(np.concatenate([keys, own]), axis=0)
        results.append(result)
        steps, found = steps + result.steps, found + len(_findings(result, profile))
        progress(f"{done:,} of {seeds:,} seeds, {steps:,} steps, {counted(found, 'finding')}")
    findings = [one for result in results for one in _findings(result, profile)]
    return SimulationReport(
        ok=not findings or base.revision != "hardened",
        revision=base.revision,
        members=base.member_count,
        seeds=seeds,
        seed_start=base.seed,
        steps=steps,
        seconds=round(time.monotonic() - began_s, 3),
        simulated_seconds=round(sum(result.time_ns for result in results) / 1e9, 3),
        counts=_sums(result.counts for result in results),
        actions=_sums(result.actions for result in results),
        recovery_ns_max=max(0, *(result.recovery_ns for result in results)),
        digest=blake2b("".join(r.digest for r in results).encode(), digest_size=16).hexdigest(),
        findings=findings,
        left_out=[
            LeftOut(one.options.seed, "; ".join(one.left_out), replay_command(one.options, profile))
            for one in results
            if one.left_out
        ],
        distinct_steps=len(keys),
    )


def _findings(result: RunResult, profile: str) -> list[SimulationFinding]:
    """Give the properties that a run violated, and ``Stuck`` if the run got stuck."""
    seed, replay = result.options.seed, replay_command(result.options, profile)
    found = [(one.property_name, one.violation, one.step) for one in result.findings]
    if result.stuck:
        found.append(("Stuck", "; ".join(result.stuck), result.steps))
    return [SimulationFinding(seed, *one, replay) for one in found]


def _sums(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))

"""Series of simulated runs for ``canvass simulate``: draw, run, record, check and report.

Each run is recorded and checked as `canvass verify` does it, without asking TLC.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np

from canvass.cluster import core
from canvass.cluster.ports import StepFunction
from canvass.conformance.findings import step_name
from canvass.conformance.verdict import Verdict
from canvass.simulation.events import Finding
from canvass.simulation.options import PROFILES, Options, with_disk_loss
from canvass.simulation.simulator import RunResult, Simulator
from canvass.traces.counts import counted
from canvass.traces.recorder import RunRecorder
from canvass.traces.rewrite import written_aside
from canvass.traces.run import RUN_FILE
from canvass.traces.schema import DISK_REPLACED, DiskReplaced, Run, encode
from canvass.traces.timeouts import settings_of


def replay_command(options: Options, profile: str = "swarm") -> str:
    """Give the command that repeats and records a run."""
    chosen = "" if profile == "swarm" else f"--profile {profile} "
    does = "--disk-loss --out CORPUS" if options.faults.disk_loss_mean else "--out CORPUS"
    return (
        f"canvass simulate --members {options.member_count} --seeds 1 --seed-start {options.seed} "
        f"--steps {options.steps} --revision {options.revision} {chosen}{does}"
    )


def run_id_of(options: Options) -> str:
    """Name a recorded run and its folder."""
    return f"sim-{options.revision}-{options.member_count}-{options.seed}"


RESULT_FILE = "result.json"
"""The `RunResult` in the folder of a recorded run; a run without it was interrupted."""


class OtherRunError(Exception):
    """A folder has a run of the same name with other options."""


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
        result = simulator.run()
    if result.replaced_disks:
        disks = [DiskReplaced(*disk, "disk lost") for disk in result.replaced_disks]
        header = Run.of(options.rules, run.run_id, {**source, DISK_REPLACED: disks})
        (place / RUN_FILE).write_bytes(encode(header) + b"\n")
    with written_aside(place / RESULT_FILE) as aside:
        aside.write_bytes(msgspec.json.encode(result))
    return result


def recorded(options: Options, folder: Path) -> RunResult | None:
    """Give the result of a run that was recorded before, or None. An interrupted run is removed.

    Raises
    ------
    OtherRunError
        If the run has other options.
    """
    run = folder / run_id_of(options)
    try:
        result = msgspec.json.decode((run / RESULT_FILE).read_bytes(), type=RunResult)
    except (FileNotFoundError, msgspec.DecodeError):
        if run.is_dir():
            shutil.rmtree(run)
        return None
    if result.options != options:
        raise OtherRunError(f"{run}: recorded with other options; name another folder")
    return result


class SimulationFinding(msgspec.Struct, frozen=True, rename="camel"):
    """A property that a run violated, or a run that got stuck."""

    seed: int
    name: str
    """The property, or ``Stuck``."""
    violation: str
    step: int
    """The number of steps that the run had taken; of a divergence, the step of its member."""
    replay: str
    """The command that repeats the run."""


class LeftOut(msgspec.Struct, frozen=True, rename="camel"):
    """A run in which a hardening kept members out until the next election of a leader."""

    seed: int
    reason: str
    replay: str


class SimulationReport(msgspec.Struct, frozen=True, rename="camel"):
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


def findings_of(result: RunResult, replay: str) -> Iterator[SimulationFinding]:
    """Give the properties that a run violated, and ``Stuck`` if the run got stuck."""
    seed = result.options.seed
    for one in result.findings:
        yield SimulationFinding(seed, one.property_name, one.violation, one.step, replay)
    if result.stuck:
        yield SimulationFinding(seed, "Stuck", "; ".join(result.stuck), result.steps, replay)


class Tally:
    """Sums over the runs of a series."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._runs = self._steps = self._simulated_ns = self._recovery_ns = 0
        self._counts: Counter[str] = Counter()
        self._actions: Counter[str] = Counter()
        self._digest = blake2b(digest_size=16)
        self._findings: list[SimulationFinding] = []
        self._left_out: list[LeftOut] = []

    def add(self, result: RunResult, replay: str) -> str:
        """Add a run; give one line of progress about all runs so far."""
        self._runs += 1
        self._steps += result.steps
        self._simulated_ns += result.time_ns
        self._recovery_ns = max(self._recovery_ns, result.recovery_ns)
        self._counts.update(result.counts)
        self._actions.update(result.actions)
        self._digest.update(result.digest.encode())
        self._findings += findings_of(result, replay)
        if result.left_out:
            reason = "; ".join(result.left_out)
            self._left_out.append(LeftOut(result.options.seed, reason, replay))
        return f"{self._steps:,} steps, {counted(len(self._findings), 'finding')}"

    def report(self, base: Options, checker: SeriesChecker) -> SimulationReport:
        """Give the report of the series; ``base`` has the options of its first run."""
        seconds = time.monotonic() - self._began_s
        return SimulationReport(
            ok=not self._findings or base.revision != "hardened",
            revision=base.revision,
            members=base.member_count,
            seeds=self._runs,
            seed_start=base.seed,
            steps=self._steps,
            seconds=round(seconds, 3),
            simulated_seconds=round(self._simulated_ns / 1e9, 3),
            counts=dict(sorted(self._counts.items())),
            actions=dict(sorted(self._actions.items())),
            recovery_ns_max=self._recovery_ns,
            digest=self._digest.hexdigest(),
            findings=self._findings,
            left_out=self._left_out,
            distinct_steps=checker.distinct_steps,
        )


class SeriesChecker:
    """Records and checks runs, and counts their distinct steps.

    Parameters
    ----------
    out
        Folder for recorded runs; None keeps none of them.
    """

    def __init__(self, out: Path | None) -> None:
        from canvass.conformance.verify import make_lookup

        self._answers = make_lookup([], None, keep=False).tables
        self._keys = self._answers.known.keys
        self._out = out

    @property
    def distinct_steps(self) -> int:
        """The number of distinct canonical steps of all runs."""
        return len(self._keys)

    def run(self, options: Options, kept: RunResult | None = None, *facts: Any) -> RunResult:
        """Simulate a run unless it is kept, and check it; ``facts`` as for `record_run`."""
        from canvass.conformance.verify import read_and_check

        with TemporaryDirectory() as place:
            folder = self._out or Path(place)
            result = kept or record_run(options, folder, *facts)
            found = read_and_check([folder / run_id_of(options)], self._answers)
        self._keys = np.unique(np.concatenate([self._keys, found.keys]), axis=0)
        verdict, findings = found.runs[0].verdict, [*result.findings]
        for one in verdict.divergences:
            text = f"{step_name(one.member, one.step)}: {one.text}"
            findings.append(Finding(one.name, text, one.step, result.time_ns))
        if verdict.verdict is Verdict.MALFORMED:
            findings.append(Finding("Malformed", verdict.reason, result.steps, result.time_ns))
        return replace(result, findings=tuple(findings))


def simulate(
    options: Options,
    step: StepFunction = core.step,
    prepare: Callable[[Simulator], object] = lambda _: None,
) -> RunResult:
    """Simulate one run and check its record, which is not kept; parameters as for `record_run`."""
    return SeriesChecker(None).run(options, None, step, prepare)


@dataclass(frozen=True)
class Drawing:
    """The way in which the options of each run are chosen.

    Parameters
    ----------
    profile
        The name in `PROFILES` of the function that draws options from a seed.
    disk_loss
        Whether members lose their disks.
    """

    profile: str
    disk_loss: bool

    def options(self, base: Options) -> Options:
        """Choose the options of the run with the seed of ``base``."""
        drawn = PROFILES[self.profile](base)
        return with_disk_loss(drawn) if self.disk_loss else drawn

    def replay(self, options: Options) -> str:
        """Give the command that repeats a run."""
        return replay_command(options, self.profile)


def simulate_series(
    base: Options,
    seeds: int,
    drawing: Drawing,
    out: Path | None,
    progress: Callable[[str], object],
    *,
    again: bool = False,
) -> SimulationReport:
    """Simulate runs, one after the other.

    Parameters
    ----------
    base
        The options that all runs share, with the first seed.
    seeds
        Number of runs.
    drawing
        Chooses the other options of each run.
    out
        Folder for recorded runs; None keeps none.
    progress
        Called with one line after each run.
    again
        Whether runs that are recorded in ``out`` are kept.

    Raises
    ------
    OtherRunError
        If a run to keep has other options.
    """
    tally, checker = Tally(), SeriesChecker(out)
    for done in range(seeds):
        options = drawing.options(replace(base, seed=base.seed + done))
        kept = recorded(options, out) if again and out is not None else None
        result = checker.run(options, kept)
        line = tally.add(result, drawing.replay(options))
        progress(f"{done + 1:,} of {seeds:,} seeds, {line}")
    return tally.report(base, checker)

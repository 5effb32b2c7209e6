"""Series of simulated runs for ``canvass simulate``: draw, run, count and report.

Coverage is measured as `canvass verify` looks steps up, without asking TLC.
"""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from canvass.selftest.simulated_runs import record_run, replay_command, run_id_of
from canvass.simulation.coverage_guidance import CoverageGuidance
from canvass.simulation.options import PROFILES, Options, with_disk_loss
from canvass.simulation.simulator import RunResult, Simulator
from canvass.traces.counts import counted

STUCK = "Stuck"


class SimulationFinding(msgspec.Struct, frozen=True, rename="camel"):
    """A property that a run violated, or a run that came to no end."""

    seed: int
    name: str
    """The property, or ``Stuck``."""
    violation: str
    step: int
    time_ns: int
    replay: str
    """The command that does the same run again and records it."""


class LeftOut(msgspec.Struct, frozen=True, rename="camel"):
    """A run in which a hardening kept members out until a leader was elected anew."""

    seed: int
    reason: str
    replay: str


class GraphSteps(msgspec.Struct, frozen=True, rename="camel"):
    """How much of a state graph the runs cover."""

    graph: str
    steps: int
    """Distinct canonical steps that the graph has."""
    covered: int
    actions: dict[str, list[int]]
    """For each action of the graph, how many of its steps were covered, and how many it has."""


class SimulationReport(msgspec.Struct, frozen=True, rename="camel"):
    """What ``canvass simulate --format json`` writes."""

    ok: bool
    """False if a run of revision ``hardened`` has a finding. Other revisions may have findings."""
    revision: str
    members: int
    seeds: int
    seed_start: int
    steps: int
    seconds: float
    steps_per_second: float
    simulated_seconds: float
    counts: dict[str, int]
    actions: dict[str, int]
    recovery_ns_max: int
    digest: str
    """A hash of all runs."""
    findings: list[SimulationFinding]
    left_out: list[LeftOut]
    distinct_steps: int
    """Distinct canonical steps, or -1 without --coverage."""
    coverage: list[GraphSteps]


def findings_of(result: RunResult, replay: str) -> Iterator[SimulationFinding]:
    """Give the properties that a run violated, and ``Stuck`` if the run came to no end."""
    seed = result.options.seed
    for one in result.findings:
        yield SimulationFinding(
            seed, one.property_name, one.violation, one.step, one.time_ns, replay
        )
    if result.stuck:
        violation = "; ".join(result.stuck)
        yield SimulationFinding(seed, STUCK, violation, result.steps, result.time_ns, replay)


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
        """Add a run; give one line about all runs so far."""
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
        per_s = self._steps / max(time.monotonic() - self._began_s, 0.001)
        return f"{self._steps:,} steps, {per_s:,.0f}/s, {counted(len(self._findings), 'finding')}"

    def report(self, base: Options, meter: CoverageMeter | None = None) -> SimulationReport:
        """Give the report of the series, which began with the options ``base``."""
        seconds = time.monotonic() - self._began_s
        return SimulationReport(
            ok=not self._findings or base.revision != "hardened",
            revision=base.revision,
            members=base.member_count,
            seeds=self._runs,
            seed_start=base.seed,
            steps=self._steps,
            seconds=round(seconds, 3),
            steps_per_second=round(self._steps / max(seconds, 0.001), 1),
            simulated_seconds=round(self._simulated_ns / 1e9, 3),
            counts=dict(sorted(self._counts.items())),
            actions=dict(sorted(self._actions.items())),
            recovery_ns_max=self._recovery_ns,
            digest=self._digest.hexdigest(),
            findings=self._findings,
            left_out=self._left_out,
            distinct_steps=-1 if meter is None else meter.distinct_steps,
            coverage=[] if meter is None else meter.report(),
        )


class CoverageMeter:
    """Counts the distinct steps that runs take, and their share of state graphs.

    Parameters
    ----------
    graphs
        Folders of state graphs; without any, only distinct canonical steps are counted.
    out
        Where runs are recorded; None keeps none of them.
    """

    def __init__(self, graphs: Sequence[Path], out: Path | None) -> None:
        from canvass.conformance.lookup_sources import make_lookup
        from canvass.conformance.screen import Screening

        self._screening = Screening(make_lookup(graphs, None, keep=False))
        self._edges = {str(folder): np.empty(0, dtype=np.int64) for folder in graphs}
        self._out = out
        self._known = 0

    @property
    def distinct_steps(self) -> int:
        """How many distinct canonical steps there were."""
        return self._screening.distinct

    def run(self, options: Options) -> tuple[RunResult, int]:
        """Do a run; give its result, and the number of its steps that no earlier run took.

        With graphs, only steps that they have are counted.
        """
        with TemporaryDirectory() as place:
            folder = self._out or Path(place)
            result = record_run(options, folder)
            self._screening.add(folder / run_id_of(options))
            self._screening.flush()
        fresh = self._screening.keys[self._known :]
        self._known = len(self._screening.keys)
        if not self._edges:
            return result, len(fresh)
        from canvass.corpus.edges import edges_met

        news = 0
        for graph, table in self._screening.lookup.graphs.items():
            met = edges_met(table, fresh)
            news += len(met)
            self._edges[graph] = np.union1d(self._edges[graph], met)
        return result, news

    def report(self) -> list[GraphSteps]:
        """Give the coverage of each graph."""
        from canvass.corpus.edges import coverage_of

        rows = []
        for graph, met in self._edges.items():
            found = coverage_of(graph, met)
            actions = {one.action: [one.covered, one.steps] for one in found.actions}
            rows.append(GraphSteps(found.graph, found.steps, found.covered, actions))
        return rows


@dataclass(frozen=True)
class Drawing:
    """How the options of each run are chosen.

    Parameters
    ----------
    fixed
        The options of the run, if they are given: then there is one run.
    profile
        Else the name in `PROFILES` of the function that draws options from a seed; None if coverage
        guides the choice.
    disk_loss
        Whether members lose their disks.
    """

    fixed: Options | None
    profile: str | None
    disk_loss: bool

    def options(self, base: Options, guidance: CoverageGuidance) -> Options:
        """Give the options of the run with the seed of ``base``."""
        if self.fixed is not None:
            return self.fixed
        if self.profile is None:
            return guidance.next()
        drawn = PROFILES[self.profile](base)
        return with_disk_loss(drawn) if self.disk_loss else drawn

    def replay(self, options: Options) -> str:
        """Give the command that does a run again."""
        if self.fixed is None and self.profile is not None:
            return replay_command(options, self.profile)
        encoded = msgspec.json.encode(asdict(options)).decode()
        return f"canvass simulate --options {shlex.quote(encoded)} --out CORPUS"


def simulate_series(
    base: Options,
    seeds: int,
    drawing: Drawing,
    out: Path | None,
    meter: CoverageMeter | None,
    say: Callable[[str], object],
) -> SimulationReport:
    """Do runs, one after the other.

    Parameters
    ----------
    base
        The options that all runs share, with the first seed.
    seeds
        How many runs there are.
    drawing
        Chooses the other options of each run.
    out
        Where runs are recorded; None keeps none.
    meter
        Measures coverage; None for none.
    say
        Shows the progress of the series.
    """
    tally, guidance = Tally(), CoverageGuidance(base)
    for done in range(seeds):
        options = drawing.options(replace(base, seed=base.seed + done), guidance)
        if meter is not None:
            result, news = meter.run(options)
            if drawing.profile is None:
                guidance.reward(news, result.steps)
        else:
            result = Simulator(options).run() if out is None else record_run(options, out)
        said = tally.add(result, drawing.replay(options))
        if meter is not None:
            said = f"{said}, {meter.distinct_steps:,} distinct"
        say(f"{done + 1:,} of {seeds:,} seeds, {said}")
    return tally.report(base, meter)

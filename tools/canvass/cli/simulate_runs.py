"""Series of simulated runs for ``canvass simulate``: count and report.

The command line is in `canvass.cli.simulate`, what is printed in `canvass.cli.simulate`; the
simulator is in `canvass.simulation`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b

import msgspec

from canvass.selftest.simulated import replay_command
from canvass.simulation.options import Options
from canvass.simulation.simulator import RunResult

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
    """How much of a state graph the runs have covered."""

    graph: str
    steps: int
    """Distinct canonical steps that the graph has."""
    covered: int
    actions: dict[str, list[int]]
    """For each action of the graph, how many of its steps were covered, and how many it has."""


class SimulationReport(msgspec.Struct, frozen=True, rename="camel"):
    """What ``canvass simulate --format json`` writes."""

    ok: bool
    """Whether every finding is one that the revision is known to allow."""
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
    """What a run has violated, and what it did not come to."""
    seed = result.options.seed
    for one in result.findings:
        yield SimulationFinding(
            seed, one.property_name, one.violation, one.step, one.time_ns, replay
        )
    if result.stuck:
        violation = "; ".join(result.stuck)
        yield SimulationFinding(seed, STUCK, violation, result.steps, result.time_ns, replay)


class Tally:
    """What a series of simulations comes to."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._runs = self._steps = self._simulated_ns = self._recovery_ns = 0
        self._counts: Counter[str] = Counter()
        self._actions: Counter[str] = Counter()
        self._digest = blake2b(digest_size=16)
        self._findings: list[SimulationFinding] = []
        self._left_out: list[LeftOut] = []

    def add(self, result: RunResult, replay: str = "") -> str:
        """Count one more in; give what there is to tell of all so far."""
        replay = replay or replay_command(result.options)
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
        return f"{self._steps:,} steps, {per_s:,.0f}/s, {len(self._findings)} findings"

    def report(
        self, base: Options, distinct_steps: int = -1, coverage: list[GraphSteps] | None = None
    ) -> SimulationReport:
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
            distinct_steps=distinct_steps,
            coverage=coverage or [],
        )

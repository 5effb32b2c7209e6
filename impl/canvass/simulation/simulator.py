"""The deterministic simulator: whole members, virtual time, and one queue of what happens next.

The members are those of `canvass run` (`canvass.node.node`); processes, disks, network and clocks
are simulated. Everything a run does follows from its options. A run has two phases: first faults
strike until enough steps are taken, then the faults stop, and all members have to come to serve one
leader and to agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from canvass.cluster import core
from canvass.cluster.ports import StepFunction, StepRecorder
from canvass.simulation.cluster import SimulatedCluster
from canvass.simulation.events import Events, Finding
from canvass.simulation.faults import FaultInjector
from canvass.simulation.healing import Healing
from canvass.simulation.options import FAULT_TIMEOUTS, Options


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to."""

    options: Options
    steps: int
    time_ns: int
    digest: str
    """A hash of the run: every step with its time and what it changed, what services processed and
    what clients were answered."""
    counts: dict[str, int]
    """Elections won, requests answered, and each fault that struck."""
    actions: dict[str, int]
    """How often each action was taken."""
    findings: tuple[Finding, ...]
    """The violated properties, each once."""
    stuck: tuple[str, ...]
    """Why the members did not come to serve one leader and to agree after the faults stopped; empty
    if they did."""
    left_out: tuple[str, ...]
    """The members that a hardening kept out until a leader was elected anew, which they joined;
    empty if there were none. See `canvass.simulation.healing`."""
    recovery_ns: int
    """How long it took from the end of the faults, or -1."""


class Simulator:
    """One run of a cluster.

    Parameters
    ----------
    options
        What the run follows from.
    recorders
        Of the members; none records nothing.
    step
        The protocol core.
    """

    def __init__(
        self,
        options: Options,
        recorders: Sequence[StepRecorder] = (),
        step: StepFunction = core.step,
    ) -> None:
        self.events = Events(options)
        self.cluster = SimulatedCluster(self.events, recorders, step)
        self.faults = FaultInjector(self.cluster)

    def run(self) -> RunResult:
        """Run both phases."""
        events, clients, options = self.events, self.cluster.clients, self.events.options
        self.faults.begin()
        clients.begin()
        limit_ns = FAULT_TIMEOUTS * options.timing.leader_heartbeat_timeout_ns
        while events.steps < options.steps and events.now_ns < limit_ns:
            events.happen()
        healing = Healing(self.cluster, self.faults)
        healing.run()
        for member in self.cluster.members:
            member.recorder.flush()
        clients.check()
        events.counts["requests answered"] = sum(len(one) for one in clients.answers)
        return RunResult(
            options,
            events.steps,
            events.now_ns,
            events.digest,
            dict(sorted(events.counts.items())),
            dict(sorted(self.cluster.monitors.actions.items())),
            tuple(events.findings.values()),
            healing.stuck,
            healing.left_out,
            healing.recovery_ns,
        )

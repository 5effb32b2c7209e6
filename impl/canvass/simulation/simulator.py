"""The deterministic simulator: whole members, virtual time, and one queue of events.

The members are those of `canvass run` (`canvass.node.node`). Processes, disks, network and clocks
are simulated. The options determine a run completely. A run has two phases: faults occur until the
members have taken enough steps; then the faults stop, and all members must follow one leader and
agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from canvass.cluster import core
from canvass.cluster.duty_cycle import StepFunction, StepRecorder
from canvass.simulation.cluster import SimulatedCluster
from canvass.simulation.events import Events, Finding
from canvass.simulation.faults import FaultInjector
from canvass.simulation.healing import Healing
from canvass.simulation.options import FAULT_TIMEOUTS, Options


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run."""

    options: Options
    steps: int
    time_ns: int
    digest: str
    """A hash of every step with its time and positions, of the messages that services processed,
    and of the answers to clients."""
    counts: dict[str, int]
    """Elections won, requests answered, and how often each fault has occurred."""
    actions: dict[str, int]
    """How often each action was taken."""
    findings: tuple[Finding, ...]
    """The violated properties that no record shows, each once."""
    stuck: tuple[str, ...]
    """Where each member waits, if they did not follow one leader and agree after the faults; else
    empty."""
    left_out: tuple[str, ...]
    """The members that joined only after another election, because of hardening HZ3. See
    `canvass.simulation.healing`."""
    recovery_ns: int
    """The time from the end of the faults to the recovery, or -1."""


class Simulator:
    """One run of a cluster.

    Parameters
    ----------
    options
        The options of the run.
    recorders
        The recorders of the members, or none.
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

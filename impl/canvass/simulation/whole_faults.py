"""The faults that strike whole members: kills, power failures, pauses, clock jumps, cut links.

Each kind has random numbers of its own. How often each strikes is data
(`canvass.simulation.whole_options.WholeFaults`); every strike is counted.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from canvass.cluster.timing import MILLISECOND_NS
from canvass.node.control import ControlToggle
from canvass.simulation.options import rng_of
from canvass.simulation.whole_member import DISK_BYTES

if TYPE_CHECKING:
    from canvass.simulation.whole import WholeSimulator


class WholeFaultInjector:
    """Lets faults strike.

    Parameters
    ----------
    simulator
        The run.
    """

    def __init__(self, simulator: WholeSimulator) -> None:
        self._simulator = simulator

    def _repeat(self, mean_ms: int, strike: Callable[[random.Random], None], name: str) -> None:
        rng = rng_of(self._simulator.options.seed, f"whole fault {name}")

        def again() -> None:
            if not self._simulator.calm:
                strike(rng)
                self._simulator.schedule(self._simulator.now_ns + wait_ns(), again)

        def wait_ns() -> int:
            return 1 + int(rng.expovariate(1 / (mean_ms * MILLISECOND_NS)))

        if mean_ms:
            self._simulator.schedule(self._simulator.now_ns + wait_ns(), again)

    def begin(self) -> None:
        """Let the faults begin; they stop when the run is calm."""
        faults = self._simulator.options.faults
        self._repeat(faults.kill_mean_ms, self._kill, "kill")
        self._repeat(faults.power_mean_ms, self._power, "power")
        self._repeat(faults.pause_mean_ms, self._pause, "pause")
        self._repeat(faults.clock_mean_ms, self._jump, "clock")
        self._repeat(faults.cut_mean_ms, self._cut, "cut")
        self._repeat(faults.full_mean_ms, self._fill, "full")
        self._repeat(faults.sync_mean_ms, self._fail_sync, "sync")
        self._repeat(faults.snapshot_mean_ms, self._snapshot, "snapshot")

    def _kill(self, rng: random.Random) -> None:
        member = rng.choice(self._simulator.members)
        if member.node is not None:
            self._simulator.crash(member.id, "kill", power=False)

    def _power(self, rng: random.Random) -> None:
        member = rng.choice(self._simulator.members)
        if member.node is not None:
            member.storage.fail_before = member.storage.writes + rng.randrange(12)

    def _fill(self, rng: random.Random) -> None:
        member = rng.choice(self._simulator.members)
        storage = member.storage
        self._simulator.counts["disk full"] += 1
        storage.capacity = storage.used + rng.randrange(2_000)

        def make_room() -> None:
            storage.capacity = DISK_BYTES

        wait_ns = rng.choice((50, 1_000, 3_000)) * MILLISECOND_NS
        self._simulator.schedule(self._simulator.now_ns + wait_ns, make_room)

    def _fail_sync(self, rng: random.Random) -> None:
        member = rng.choice(self._simulator.members)
        if member.node is not None:
            member.storage.sync_fails = True

    def _pause(self, rng: random.Random) -> None:
        member = rng.choice(self._simulator.members)
        self._simulator.counts["pause"] += 1
        pause_ms = rng.choice((20, 300, 1_500, 3_000))
        member.paused_until_ns = self._simulator.now_ns + pause_ms * MILLISECOND_NS
        member.due_ns = -1
        self._simulator.wake(member.id, member.paused_until_ns)

    def _jump(self, rng: random.Random) -> None:
        self._simulator.counts["clock jump"] += 1
        rng.choice(self._simulator.members).clock_offset_ms += rng.randrange(-2_000, 2_000)

    def _cut(self, rng: random.Random) -> None:
        count = self._simulator.options.member_count
        i = rng.randrange(count)
        others = [j for j in range(count) if j != i]
        if rng.random() < 0.5:
            others = [rng.choice(others)]
        streams = rng.choice((("consensus", "log"), ("consensus",), ("log",)))
        links = [(i, j, stream) for j in others for stream in streams]
        if rng.random() < 0.7:
            links += [(j, i, stream) for i, j, stream in links]
        self._simulator.counts["cut"] += 1
        self._simulator.cuts.update(links)
        until_ns = self._simulator.now_ns + rng.choice((50, 500, 2_000, 5_000)) * MILLISECOND_NS
        self._simulator.schedule(until_ns, lambda: self._simulator.cuts.subtract(links))

    def _snapshot(self, rng: random.Random) -> None:
        del rng
        for member in self._simulator.members:
            node = member.node
            if (
                node is not None
                and node.leads
                and node.module.state.control.set_toggle(ControlToggle.SNAPSHOT)
            ):
                self._simulator.counts["snapshot asked for"] += 1

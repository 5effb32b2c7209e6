"""The faults that strike a simulated cluster, one after the other, until they are stopped.

Each kind has random numbers of its own: exponential waits between strikes, and a duration for what
lasts. How often and which is data (`canvass.simulation.options.Faults`); every strike is counted.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from canvass.cluster.member import Role
from canvass.cluster.predicates import is_closed
from canvass.simulation.network import CONSENSUS, LOG, STREAMS, Cut
from canvass.simulation.options import rng_of

if TYPE_CHECKING:
    from canvass.simulation.member import SimulatedMember
    from canvass.simulation.simulator import Simulator

Strike: TypeAlias = Callable[[random.Random], None]
"""Lets a fault strike once, with the random numbers of its kind."""


class FaultInjector:
    """Lets faults strike.

    Parameters
    ----------
    simulator
        The run.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._faults = simulator.options.faults
        self._starts = self._rng_of("starts")
        self._unit_ns = max(1, simulator.options.timing.leader_heartbeat_timeout_ns // 1_000)
        self._on = True

    def begin(self) -> None:
        """Start the members, and let the faults begin."""
        options, faults = self._simulator.options, self._faults
        spread_ns = options.timing.startup_canvass_timeout_ns * 3 // 2
        for i in range(options.member_count):
            wait_ns = self._starts.randrange(spread_ns if options.cold_start else 1_000_000)
            self._after(wait_ns, lambda i=i: self._simulator.start(i))  # type: ignore[misc]
        kinds: tuple[tuple[str, int, Strike], ...] = (
            ("cut", faults.cut_mean, self._cut),
            ("crash", faults.crash_mean, self._crash),
            ("pause", faults.pause_mean, self._pause),
            ("slow archive", faults.slow_archive_mean, self._slow_archive),
            ("error", faults.error_mean, self._error),
            ("termination", faults.termination_mean, self._terminate),
        )
        for name, mean, strike in kinds:
            if mean:
                self._repeat(mean, strike, self._rng_of(name))

    def _rng_of(self, name: str) -> random.Random:
        return rng_of(self._simulator.options.seed, f"fault {name}")

    def stop(self) -> None:
        """Let no fault strike any more."""
        self._on = False

    def start_again(self, i: int) -> None:
        """Start member ``i`` after a while."""
        units = self._starts.choice((1, 100, 1_000, 3_000))
        self._after(self._duration_ns(self._starts, units), lambda: self._simulator.start(i))

    def _after(self, wait_ns: int, what: Callable[[], None]) -> None:
        self._simulator.schedule(self._simulator.now_ns + wait_ns, what)

    def _duration_ns(self, rng: random.Random, units: int) -> int:
        return 1 + int(self._unit_ns * units * (0.5 + rng.random()))

    def _repeat(self, mean: int, strike: Strike, rng: random.Random) -> None:
        def again() -> None:
            if self._on:
                strike(rng)
                self._repeat(mean, strike, rng)

        self._after(1 + int(rng.expovariate(1 / (mean * self._unit_ns))), again)

    def _member(self, rng: random.Random) -> SimulatedMember:
        return rng.choice(self._simulator.members)

    def _cut(self, rng: random.Random) -> None:
        count = self._simulator.options.member_count
        if count < 2:
            return
        kind = rng.choice(self._faults.cut_kinds)
        links = self._links(rng, kind, count)
        self._simulator.counts[f"cut {kind}"] += 1
        self._simulator.network.cut(links)

        def mend() -> None:
            self._simulator.network.mend(links)
            for i in range(count):
                self._simulator.kick(i)

        units = rng.choice((10, 300, 1_500, 4_000))
        self._after(self._duration_ns(rng, units), mend)

    def _links(self, rng: random.Random, kind: str, count: int) -> tuple[Cut, ...]:
        i = rng.randrange(count)
        j = (i + 1 + rng.randrange(count - 1)) % count
        match kind:
            case "isolate":
                pairs = [(i, k) for k in range(count) if k != i]
                pairs += [(k, i) for _, k in pairs]
                streams: tuple[str, ...] = STREAMS
            case "split":
                side = {k for k in range(count) if rng.random() < 0.5}
                pairs = [
                    (a, b) for a in range(count) for b in range(count) if (a in side) != (b in side)
                ]
                streams = STREAMS
            case "one way":
                pairs, streams = [(i, j)], STREAMS
            case "consensus only":
                pairs, streams = [(i, j), (j, i)], (CONSENSUS,)
            case _:
                pairs, streams = [(i, j), (j, i)], (LOG,)
        return tuple((a, b, stream) for a, b in pairs for stream in streams)

    def _crash(self, rng: random.Random) -> None:
        member = self._member(rng)
        if not member.up:
            return
        if rng.random() < self._faults.crash_within_step_probability:
            member.crash_armed = True
            return
        if rng.random() < 0.5:
            member.work(lambda _: member.duty.take_up_recording())
        if member.up:
            self._simulator.crash(member.id, "crash between steps")

    def _pause(self, rng: random.Random) -> None:
        member = self._member(rng)
        if member.up:
            units = rng.choice((50, 500, 1_200, 3_000))
            self._simulator.counts["pause"] += 1
            self._simulator.counts["pause beyond the heartbeat timeout"] += units > 1_000
            member.paused_until_ns = self._simulator.now_ns + self._duration_ns(rng, units)
            member.due_ns = -1
            self._simulator.wake(member.id, member.paused_until_ns)

    def _slow_archive(self, rng: random.Random) -> None:
        member = self._member(rng)
        self._simulator.counts["slow archive"] += 1
        member.archive_is_slow = True

        def restore() -> None:
            member.archive_is_slow = False

        self._after(self._duration_ns(rng, rng.choice((100, 1_000))), restore)

    def _terminate(self, _rng: random.Random) -> None:
        for member in self._simulator.members:
            if member.up and is_closed(member.state, Role.LEADER):
                member.termination_is_asked_for = True
                self._simulator.counts["termination asked for"] += 1

    def _error(self, rng: random.Random) -> None:
        member = self._member(rng)
        paused = member.paused_until_ns > self._simulator.now_ns
        if member.up and not paused and member.work(member.duty.fail):
            self._simulator.counts["error in an election"] += 1
            if member.up:
                self._simulator.wake(member.id, self._simulator.now_ns)

"""The faults that strike a simulated cluster, one after the other, until they are stopped.

Each kind has a stream of its own: exponential waits between strikes, and a duration for what
lasts. How often and which is data (`canvass.simulation.options.Faults`); every strike is counted.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from canvass.simulation.network import CONSENSUS, LOG, STREAMS, Cut
from canvass.simulation.options import rng_of

if TYPE_CHECKING:
    from canvass.simulation.simulator import Simulator


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
        self._rng: random.Random = rng_of(simulator.options.seed, "faults")
        self._unit_ns = max(1, simulator.options.timing.leader_heartbeat_timeout_ns // 1_000)
        self._on = True

    def begin(self) -> None:
        """Start the members, and let the faults begin."""
        options, faults = self._simulator.options, self._faults
        spread_ns = options.timing.startup_canvass_timeout_ns * 3 // 2
        for i in range(options.member_count):
            wait_ns = self._rng.randrange(spread_ns if options.cold_start else 1_000_000)
            self._after(wait_ns, lambda i=i: self._simulator.start(i))  # type: ignore[misc]
        kinds: tuple[tuple[int, Callable[[], None]], ...] = (
            (faults.cut_mean, self._cut),
            (faults.crash_mean, self._crash),
            (faults.pause_mean, self._pause),
            (faults.slow_archive_mean, self._slow_archive),
            (faults.error_mean, self._error),
        )
        for mean, strike in kinds:
            if mean:
                self._repeat(mean, strike)

    def stop(self) -> None:
        """Let no fault strike any more."""
        self._on = False

    def start_again(self, i: int) -> None:
        """Start member ``i`` after a while."""
        units = self._rng.choice((1, 100, 1_000, 3_000))
        self._after(self._duration_ns(units), lambda: self._simulator.start(i))

    def _after(self, wait_ns: int, what: Callable[[], None]) -> None:
        self._simulator.schedule(self._simulator.now_ns + wait_ns, what)

    def _duration_ns(self, units: int) -> int:
        return 1 + int(self._unit_ns * units * (0.5 + self._rng.random()))

    def _repeat(self, mean: int, strike: Callable[[], None]) -> None:
        def again() -> None:
            if self._on:
                strike()
                self._repeat(mean, strike)

        self._after(1 + int(self._rng.expovariate(1 / (mean * self._unit_ns))), again)

    def _member(self) -> int:
        return self._rng.randrange(self._simulator.options.member_count)

    def _cut(self) -> None:
        count = self._simulator.options.member_count
        if count < 2:
            return
        kind = self._rng.choice(self._faults.cut_kinds)
        links = self._links(kind, count)
        self._simulator.counts[f"cut {kind}"] += 1
        self._simulator.network.cut(links)

        def mend() -> None:
            self._simulator.network.mend(links)
            for i in range(count):
                self._simulator.kick(i)

        units = self._rng.choice((10, 300, 1_500, 4_000))
        self._after(self._duration_ns(units), mend)

    def _links(self, kind: str, count: int) -> tuple[Cut, ...]:
        i = self._member()
        j = (i + 1 + self._rng.randrange(count - 1)) % count
        match kind:
            case "isolate":
                pairs = [(i, k) for k in range(count) if k != i]
                pairs += [(k, i) for _, k in pairs]
                streams: tuple[str, ...] = STREAMS
            case "split":
                side = {k for k in range(count) if self._rng.random() < 0.5}
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

    def _crash(self) -> None:
        i = self._member()
        member = self._simulator.members[i]
        if not member.up:
            return
        if self._rng.random() < self._faults.crash_within_step_probability:
            member.crash_armed = True
            return
        if self._rng.random() < 0.5:
            member.work(lambda _: member.duty.take_up_recording())
        if member.up:
            self._simulator.crash(i, "crash between steps")

    def _pause(self) -> None:
        member = self._simulator.members[self._member()]
        if member.up:
            units = self._rng.choice((50, 500, 1_200, 3_000))
            self._simulator.counts["pause"] += 1
            self._simulator.counts["pause beyond the heartbeat timeout"] += units > 1_000
            member.paused_until_ns = self._simulator.now_ns + self._duration_ns(units)
            member.due_ns = -1
            self._simulator.wake(member.id, member.paused_until_ns)

    def _slow_archive(self) -> None:
        member = self._simulator.members[self._member()]
        self._simulator.counts["slow archive"] += 1
        member.archive_is_slow = True

        def restore() -> None:
            member.archive_is_slow = False

        self._after(self._duration_ns(self._rng.choice((100, 1_000))), restore)

    def _error(self) -> None:
        member = self._simulator.members[self._member()]
        paused = member.paused_until_ns > self._simulator.now_ns
        if member.up and not paused and member.work(member.duty.fail):
            self._simulator.counts["error in an election"] += 1
            if member.up:
                self._simulator.wake(member.id, self._simulator.now_ns)

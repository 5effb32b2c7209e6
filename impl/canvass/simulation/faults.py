"""The fault injector of a simulated cluster.

Each kind of fault has random numbers of its own, for exponential waits between two faults and for
durations. `canvass.simulation.options.Faults` says how often a kind occurs. Every fault is counted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeAlias

from canvass.archive.memory import SECTOR, MemoryStorage
from canvass.archive.recording import Frame, chained, decode_frame, segment_name, segment_starts
from canvass.node.module_state import ControlToggle
from canvass.simulation.cluster import DISK_BYTES, Crash, Moment, SimulatedCluster, SimulatedMember
from canvass.simulation.events import CONSENSUS, LOG, STREAMS, Cut
from canvass.simulation.options import rng_of


def links_of(rng: random.Random, kind: str, count: int) -> tuple[Cut, ...]:
    """Draw the links of a cut.

    Parameters
    ----------
    rng
        Draws.
    kind
        One of `canvass.simulation.options.CUT_KINDS`, or `MUTE`.
    count
        How many members there are, two at least.
    """
    i = rng.randrange(count)
    j = (i + 1 + rng.randrange(count - 1)) % count
    streams: tuple[str, ...] = STREAMS
    match kind:
        case "isolate":
            pairs = [(i, k) for k in range(count) if k != i]
            pairs += [(k, i) for _, k in pairs]
        case "split":
            side = {k for k in range(count) if rng.random() < 0.5}
            pairs = [
                (a, b) for a in range(count) for b in range(count) if (a in side) != (b in side)
            ]
        case "one way":
            pairs = [(i, j)]
        case "mute":
            pairs = [(i, k) for k in range(count) if k != i]
        case "consensus only":
            pairs, streams = [(i, j), (j, i)], (CONSENSUS,)
        case "log only":
            pairs, streams = [(i, j), (j, i)], (LOG,)
        case _:
            raise ValueError(f"there is no kind of cut {kind!r}")
    return tuple((a, b, stream) for a, b in pairs for stream in streams)


Spoil: TypeAlias = Callable[[MemoryStorage, random.Random], str]
"""Damages a recording. Returns the kind of damage, or an empty text if there is no data."""


def rot(storage: MemoryStorage, rng: random.Random) -> str:
    """Flip one bit of synced data."""
    known = _known_position(storage)
    if not known:
        return ""
    position = rng.randrange(known)
    start = _segment_of(storage, position)
    storage.spoil(segment_name(start), position - start, 1 << rng.randrange(8))
    return "bit rot"


def stray(storage: MemoryStorage, rng: random.Random) -> str:
    """Overwrite one sector of synced data, with another sector or with zeros.

    A misdirected write leaves its sector at the wrong place. Where a misdirected or lost write
    should have gone, there are zeros.
    """
    known = _known_position(storage)
    if not known:
        return ""
    start, offset, old = _sector(storage, rng.randrange(known), known)
    if rng.random() < 0.5:
        kind, new = "lost write", bytes(len(old))
    else:
        _, _, other = _sector(storage, rng.randrange(known), known)
        kind, new = "misdirected write", other[: len(old)].ljust(len(old), b"\0")
    if new == old:
        return ""
    storage.stray(segment_name(start), offset, new)
    return kind


def _known_position(storage: MemoryStorage) -> int:
    """The position up to which the entries show that the data before them was synced."""
    return max((one.position - one.unsynced for one in _sound_frames(storage)), default=0)


def _sound_frames(storage: MemoryStorage) -> Iterator[Frame]:
    """The entries of a recording in order, up to the first damaged one."""
    position = checksum = 0
    for start in segment_starts(storage):
        name = segment_name(start)
        data = storage.read(name)
        while position - start < len(data):
            frame = decode_frame(data, position - start, position)
            if frame is None or frame.checksum != chained(checksum, position, frame.payload):
                return
            yield frame
            position, checksum = frame.end, frame.checksum


def _segment_of(storage: MemoryStorage, position: int) -> int:
    return max(start for start in segment_starts(storage) if start <= position)


def _sector(storage: MemoryStorage, position: int, known: int) -> tuple[int, int, bytes]:
    """The sector of a position: segment, offset, and contents up to ``known``."""
    start = _segment_of(storage, position)
    offset = (position - start) // SECTOR * SECTOR
    length = min(SECTOR, known - start - offset)
    return start, offset, storage.read(segment_name(start), offset, length)


Strike: TypeAlias = Callable[[random.Random], None]
"""Lets a fault occur once, with the random numbers of its kind."""

_WRITES: Final = 12
"""A machine stops before a random one of this many next writes."""
_EFFECTS: Final = 12
"""A process ends before a random one of this many next effects."""
_MOMENT_DELAYS: Final = 6
"""A fault that waits for a moment occurs within this many network delays after it."""
_LEAST_TO_REPAIR: Final = 3
"""The fewest members with which a quorum still has the entries that one disk has lost."""


class FaultInjector:
    """Lets faults occur until it is stopped."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster, self._events = cluster, cluster.events
        cluster.on_end = self._start_again
        options = cluster.events.options
        self._faults = options.faults
        self._starts = self._rng_of("starts")
        self._unit_ns = options.unit_ns
        self._bad = self._rng_of("which disk rots").choice(cluster.members)
        """Only one disk is bad, so that the other disks have its data."""
        self._on = True

    def begin(self) -> None:
        """Start the members and the faults."""
        options, faults = self._events.options, self._faults
        spread_ns = options.timing.startup_canvass_timeout_ns * 3 // 2
        for i in range(options.member_count):
            wait_ns = self._starts.randrange(spread_ns if options.cold_start else 1_000_000)
            self._after(wait_ns, lambda i=i: self._cluster.start(i))  # type: ignore[misc]
        kinds: tuple[tuple[str, int, Strike], ...] = (
            ("cut", faults.cut_mean, self._cut),
            ("crash", faults.crash_mean, self._crash),
            ("power", faults.power_mean, self._power),
            ("pause", faults.pause_mean, self._pause),
            ("clock", faults.clock_mean, self._jump),
            ("full", faults.full_mean, self._fill),
            ("sync", faults.sync_mean, self._fail_sync),
            ("slow disk", faults.slow_disk_mean, self._slow_disk),
            ("rot", faults.rot_mean, partial(self._spoil, rot)),
            ("stray", faults.stray_mean, partial(self._spoil, stray)),
            ("error", faults.error_mean, self._error),
            ("operator", faults.operator_mean, self._operate),
            ("termination", faults.termination_mean, self._terminate),
        )
        for name, mean, strike in kinds:
            if mean:
                self._repeat(mean, strike, self._rng_of(name))

    def stop(self) -> None:
        """Stop the faults."""
        self._on = False

    def _start_again(self, i: int) -> None:
        """Start member ``i`` after a random wait."""
        units = self._starts.choice((1, 100, 1_000, 3_000)) if self._on else 1
        self._after(self._duration_ns(self._starts, units), lambda: self._cluster.start(i))

    def _rng_of(self, name: str) -> random.Random:
        return rng_of(self._events.options.seed, f"fault {name}")

    def _after(self, wait_ns: int, what: Callable[[], object]) -> None:
        self._events.schedule(self._events.now_ns + wait_ns, what)

    def _duration_ns(self, rng: random.Random, units: int) -> int:
        return 1 + int(self._unit_ns * units * (0.5 + rng.random()))

    def _repeat(self, mean: int, strike: Strike, rng: random.Random) -> None:
        def again() -> None:
            if self._on:
                strike(rng)
                self._repeat(mean, strike, rng)

        self._after(1 + int(rng.expovariate(1 / (mean * self._unit_ns))), again)

    def _member(self, rng: random.Random) -> SimulatedMember:
        return rng.choice(self._cluster.members)

    def _count(self, what: str, count: int = 1) -> None:
        self._events.counts[what] += count

    # Links.

    def _cut(self, rng: random.Random) -> None:
        count = self._events.options.member_count
        if count < 2:
            return
        kind = rng.choice(self._faults.cut_kinds)
        links = links_of(rng, kind, count)
        self._count(f"cut {kind}")
        network = self._cluster.network
        network.cut(links)
        units = rng.choice((10, 300, 1_500, 4_000))
        self._after(self._duration_ns(rng, units), lambda: network.mend(links))

    # Processes and machines.

    def _strike(
        self,
        member: SimulatedMember,
        rng: random.Random,
        strike: Callable[[SimulatedMember, random.Random], None],
        moment: Moment,
        probability: float,
    ) -> None:
        """Let a fault strike a member: now, or with ``probability`` soon after its next moment."""
        if not probability or rng.random() >= probability:
            strike(member, rng)
            return
        wait_ns = rng.randrange(_MOMENT_DELAYS * self._events.options.network_delay_ns)

        def late() -> None:
            if self._on and member.up:
                strike(member, rng)

        member.at_moment[moment] = lambda: self._after(wait_ns, late)

    def _crash(self, rng: random.Random) -> None:
        member = self._member(rng)
        if not member.up:
            return
        probability = self._faults.log_cut_probability
        if probability and rng.random() < probability:
            member.at_moment["log cut"] = self._end_where_it_is
        else:
            self._strike(member, rng, self._crash_one, "join", self._faults.join_probability)

    def _end_where_it_is(self) -> None:
        if self._on:
            raise Crash("crash after the log was truncated")

    def _crash_one(self, member: SimulatedMember, rng: random.Random) -> None:
        if rng.random() >= self._faults.crash_within_probability:
            self._cluster.crash(member.id, "crash between steps")
        elif rng.random() < 0.5:
            member.crash_after = rng.randrange(_EFFECTS)
        else:
            member.storage.power_fails = False
            member.storage.fail_before = member.storage.writes + rng.randrange(_WRITES)

    def _power(self, rng: random.Random) -> None:
        member = self._member(rng)
        if member.up:
            member.storage.power_fails = True
            member.storage.fail_before = member.storage.writes + rng.randrange(_WRITES)

    def _pause(self, rng: random.Random) -> None:
        member = self._member(rng)
        if member.up:
            self._strike(member, rng, self._pause_one, "ballot", self._faults.ballot_probability)

    def _pause_one(self, member: SimulatedMember, rng: random.Random) -> None:
        units = rng.choice((50, 500, 1_200, 3_000))
        self._count("pause")
        self._count("pause beyond the heartbeat timeout", units > 1_000)
        member.pause(self._events.now_ns + self._duration_ns(rng, units))

    def _jump(self, rng: random.Random) -> None:
        self._count("clock jump")
        self._member(rng).clock_offset_ms += rng.randrange(-2_000, 2_000)

    # Disks.

    def _fill(self, rng: random.Random) -> None:
        storage = self._member(rng).storage
        self._count("disk full")
        storage.capacity = storage.used + rng.randrange(2_000)

        def make_room() -> None:
            storage.capacity = DISK_BYTES

        self._after(self._duration_ns(rng, rng.choice((50, 1_000, 3_000))), make_room)

    def _fail_sync(self, rng: random.Random) -> None:
        member = self._member(rng)
        if member.up:
            member.storage.sync_fails = True

    def _slow_disk(self, rng: random.Random) -> None:
        member = self._member(rng)
        self._count("slow disk")
        member.disk_is_slow = True

        def restore() -> None:
            member.disk_is_slow = False

        self._after(self._duration_ns(rng, rng.choice((100, 1_000))), restore)

    def _spoil(self, spoil: Spoil, rng: random.Random) -> None:
        if self._events.options.member_count >= _LEAST_TO_REPAIR:
            damage = spoil(self._bad.storage, rng)
            if damage:
                self._count(damage)

    # Elections and operators.

    def _error(self, rng: random.Random) -> None:
        member = self._member(rng)
        self._strike(member, rng, self._fail, "join", self._faults.join_probability)

    def _fail(self, member: SimulatedMember, rng: random.Random) -> None:
        now_ns = self._events.now_ns
        if member.paused_until_ns <= now_ns and member.work(lambda node: node.duty.fail(now_ns)):
            self._count("error in an election")
            limit_ns = self._faults.error_pause * self._unit_ns
            if limit_ns:
                member.pause(now_ns + rng.randrange(limit_ns))
            else:
                self._cluster.wake(member.id, now_ns)

    def _toggle(self, toggle: ControlToggle) -> None:
        for member in self._cluster.members:
            node = member.node
            if node is not None and node.leads and node.module.control.set_toggle(toggle):
                self._count(f"toggle {toggle.name.lower().replace('_', '-')}")

    def _operate(self, rng: random.Random) -> None:
        toggles = (ControlToggle.SNAPSHOT, ControlToggle.STANDBY_SNAPSHOT, ControlToggle.SUSPEND)
        toggle = rng.choice((ControlToggle.SNAPSHOT, *toggles))
        self._toggle(toggle)
        if toggle is ControlToggle.SUSPEND:
            wait_ns = self._duration_ns(rng, rng.choice((50, 500, 2_000)))
            self._after(wait_ns, self.resume)

    def resume(self) -> None:
        """Resume the cluster if it is suspended."""
        if any(
            member.node is not None and member.node.module.control.toggle is ControlToggle.SUSPEND
            for member in self._cluster.members
        ):
            self._toggle(ControlToggle.RESUME)

    def _terminate(self, rng: random.Random) -> None:
        self._toggle(rng.choice((ControlToggle.SHUTDOWN, ControlToggle.ABORT)))

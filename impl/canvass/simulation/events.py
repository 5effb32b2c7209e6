"""Virtual time, the queue of events, the network whose messages are events, and the monitors.

There is one thread and no real clock. Events of the same nanosecond happen in the order in which
they were scheduled. The monitors check what the record of a run does not show: repeated messages,
and what services process.

The network decides which links work, and when messages arrive. A link from one member to another
has two channels, for consensus messages and for the log. Each can be cut alone. A client has
channels too. The messages of one channel arrive in their order, or not at all. A message that is
not a consensus message may arrive a second time: log streams and clients must tolerate this.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from canvass.cluster.clocks import Timing
from canvass.cluster.effects import Outcome
from canvass.cluster.member import ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import AppendPosition, CanvassPosition, CommitPosition, Message
from canvass.simulation.options import Options, rng_of


@dataclass(frozen=True, slots=True)
class Finding:
    """A violated property."""

    property_name: str
    violation: str
    step: int
    """How many steps the run had taken."""
    time_ns: int


class Events:
    """The events of one run.

    Attributes
    ----------
    options
        The options of the run.
    now_ns
        Virtual time.
    steps
        The number of steps that all members have taken.
    counts
        Elections won, and how often each fault has occurred.
    findings
        The first violation of each property, by name.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.now_ns = 0
        self.steps = 0
        self.counts: Counter[str] = Counter()
        self.findings: dict[str, Finding] = {}
        self._digest = blake2b(digest_size=16)
        self._queue: list[tuple[int, int, Callable[[], object]]] = []
        self._sequence = 0

    def schedule(self, at_ns: int, what: Callable[[], object]) -> None:
        """Call ``what`` at time ``at_ns``."""
        self._sequence += 1
        heapq.heappush(self._queue, (at_ns, self._sequence, what))

    def happen(self) -> None:
        """Advance the time to the next event, and let it happen."""
        self.now_ns, _, what = heapq.heappop(self._queue)
        what()

    def find(self, name: str, violation: str) -> None:
        """Keep a violation as a finding, if it is the first one of its property."""
        self.findings.setdefault(name, Finding(name, violation, self.steps, self.now_ns))

    def hash(self, fact: bytes) -> None:
        """Add a fact to the digest of the run."""
        self._digest.update(fact)

    @property
    def digest(self) -> str:
        """A hash of all facts."""
        return self._digest.hexdigest()


# --- monitors -------------------------------------------------------------------------------------

_CANVASSING: Final = (ElectionState.CANVASS, ElectionState.NOMINATE)


class HeartbeatMonitor:
    """Checks that each member repeats its messages in time.

    The spec is untimed, so it always allows a member to be silent. Only a clock can find a silent
    member. The monitor checks at the end of each duty cycle, so not during a pause.
    """

    def __init__(self, timing: Timing, count: int) -> None:
        self._timing, self._count = timing, count
        self._since_ns = [0] * count

    def step(self, i: int, now_ns: int, before: Member, outcome: Outcome) -> None:
        """Note a step of member ``i`` if it changes the state or sends the message that is due."""
        after = outcome.next
        due = self._due(after)
        if (after.election_state, after.role) != (before.election_state, before.role) or (
            due is not None and any(isinstance(send.message, due[0]) for send in outcome.sends)
        ):
            self._since_ns[i] = now_ns

    def late(self, i: int, now_ns: int, s: Member) -> str:
        """A sentence if member ``i`` has not sent its message in time by the end of a cycle."""
        due = self._due(s)
        if due is None or now_ns < self._since_ns[i] + due[1]:
            return ""
        return f"{i} in {s.election_state.value} has sent no {due[0].__name__} for an interval"

    def _due(self, s: Member) -> tuple[type[Message], int] | None:
        """The message that a member must repeat in its state, and the interval; None if none."""
        if self._count == 1 or s.module_state is not ModuleState.ACTIVE:
            return None
        if s.election_state in _CANVASSING:
            return CanvassPosition, self._timing.election_status_interval_ns
        if s.election_state is ElectionState.CLOSED:
            said = CommitPosition if s.role is Role.LEADER else AppendPosition
            return said, self._timing.leader_heartbeat_interval_ns
        return None


class Monitors:
    """All monitors of one run: they check what its record does not show.

    Attributes
    ----------
    actions
        How often each action was taken.
    """

    def __init__(self, events: Events) -> None:
        self._events = events
        self.actions: Counter[str] = Counter()
        self._processed: dict[tuple[int, int], bytes] = {}
        self._heartbeats = HeartbeatMonitor(events.options.timing, events.options.member_count)

    def look(self, i: int, action: str, x: Input, before: Member, outcome: Outcome) -> None:
        """Count a step whose effects are complete."""
        events, after = self._events, outcome.next
        events.steps += 1
        self.actions[action] += 1
        reached = x.position, after.recorded_position, after.commit_position
        events.hash(repr((events.now_ns, i, action, *reached)).encode())
        self._heartbeats.step(i, events.now_ns, before, outcome)
        if after.election_state is ElectionState.CLOSED is not before.election_state:
            events.counts["elections closed"] += 1
            events.counts["elections won"] += after.role is Role.LEADER

    def look_at_cycle(self, i: int, s: Member) -> None:
        """Check the repeated messages of member ``i`` at the end of a duty cycle."""
        lateness = self._heartbeats.late(i, self._events.now_ns, s)
        if lateness:
            self._events.find("PositionIsRepeated", lateness)

    def look_at_message(self, service: int, position: int, payload: bytes) -> None:
        """Check that all members' services process the same message at a position."""
        first = self._processed.setdefault((service, position), payload)
        self._events.hash(f"{self._events.now_ns} {service} {position}".encode() + payload)
        if first != payload:
            violation = f"services process different messages at {position}"
            self._events.find("StateMachineSafety", violation)


CONSENSUS: Final = "consensus"
LOG: Final = "log"
CLIENTS: Final = "clients"
STREAMS: Final = (CONSENSUS, LOG)

Cut = tuple[int | str, int | str, str]
"""Sender, receiver and kind of stream: a channel. A client is known by its name."""


class Network:
    """The links between members, and to clients.

    Parameters
    ----------
    events
        The events of the run: a message arrives as one of them.
    """

    def __init__(self, events: Events) -> None:
        self._events, self._options = events, events.options
        self._rng: random.Random = rng_of(events.options.seed, "network")
        self._duplicates: random.Random = rng_of(events.options.seed, "duplicates")
        self._cuts: Counter[Cut] = Counter()
        self._last_arrival_ns: dict[Cut, int] = {}
        self.calm = False
        """Whether the faults have stopped."""

    def cut(self, links: tuple[Cut, ...]) -> None:
        """Cut links. Each cut needs its own `mend`."""
        self._cuts.update(links)

    def mend(self, links: tuple[Cut, ...]) -> None:
        """Undo a cut."""
        self._cuts.subtract(links)

    def heal(self) -> None:
        """Mend all links. From now on no message is dropped or late."""
        self._cuts.clear()
        self.calm = True

    def works(self, sender: int, receiver: int, stream: str) -> bool:
        """Whether the channel of a kind of stream from one member to another works now."""
        return self._cuts[sender, receiver, stream] <= 0

    def accepts(self, sender: int, receiver: int) -> bool:
        """Whether a member's publication to another member, which is up, is connected."""
        return self.works(sender, receiver, CONSENSUS) and self.works(receiver, sender, CONSENSUS)

    def send(
        self, sender: int | str, receiver: int | str, stream: str, arrive: Callable[[], object]
    ) -> bool:
        """Send a message, which calls ``arrive`` when it arrives. Return false if it is lost."""
        faults, rng, counts = self._options.faults, self._rng, self._events.counts
        if stream != CLIENTS and self._cuts[sender, receiver, stream] > 0:
            counts["message lost in a cut"] += 1
            return False
        delay_ns = int(self._options.network_delay_ns * (0.5 + rng.random()))
        if not self.calm:
            if faults.drop_probability and rng.random() < faults.drop_probability:
                counts["message dropped"] += 1
                return False
            if faults.delay_tail_probability and rng.random() < faults.delay_tail_probability:
                counts["message late"] += 1
                delay_ns = int(delay_ns * 1_000 ** rng.random())
        channel = sender, receiver, stream
        arrival_ns = max(self._events.now_ns + delay_ns, self._last_arrival_ns.get(channel, 0))
        self._last_arrival_ns[channel] = arrival_ns
        self._events.schedule(arrival_ns, arrive)
        if stream != CONSENSUS and not self.calm and faults.duplicate_probability:
            self._send_again(arrival_ns, arrive)
        return True

    def _send_again(self, arrival_ns: int, arrive: Callable[[], object]) -> None:
        """Draw whether a message arrives a second time; later messages may overtake it."""
        rng = self._duplicates
        if rng.random() < self._options.faults.duplicate_probability:
            self._events.counts["duplicate message"] += 1
            late_ns = int(self._options.network_delay_ns * 1_000 ** rng.random())
            self._events.schedule(arrival_ns + late_ns, arrive)

"""One member of a simulated cluster: its process, its archive, and the port of its duty cycle.

A crash is an exception that leaves the duty cycle at an effect boundary. The steps of the spec are
atomic on disk: a crash comes before all that a step writes, or after it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from canvass.cluster import effects as asked
from canvass.cluster.duty_cycle import DutyCycle
from canvass.cluster.effects import Effect, Send
from canvass.cluster.member import Input, Member, Role
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.outcome import Outcome
from canvass.cluster.ports import LogPart, Offer, Received, StepFunction
from canvass.cluster.predicates import is_closed
from canvass.cluster.transitions import persistent_member
from canvass.simulation.archive import Archive, Image, Publication, Replication
from canvass.simulation.network import LOG
from canvass.simulation.options import rng_of

if TYPE_CHECKING:
    from canvass.simulation.simulator import Simulator

_DURABLE: Final = (
    asked.PersistCandidateTerm,
    asked.UpdateRecordingLog,
    asked.TruncateLog,
    asked.WriteSnapshot,
)
_WITHIN: Final = "crash within a step"
_ENDED: Final = "end asked for"
_INGRESS_LIMIT: Final = 100
"""Entries that wait at a member; a client that finds more waiting has to come back."""


class Crash(Exception):
    """The process ends now; the message says how."""


class SimulatedMember:
    """A member of the cluster, up or down.

    Parameters
    ----------
    simulator
        The cluster.
    i
        The member's id.
    step
        The protocol core.
    """

    def __init__(self, simulator: Simulator, i: int, step: StepFunction) -> None:
        self._simulator, self.id, self._step = simulator, i, step
        self.rng: random.Random = rng_of(simulator.options.seed, f"member {i}")
        self.archive = Archive()
        self.up = False
        self.due_ns = 0
        self.paused_until_ns = 0
        self.crash_armed = False
        self.archive_is_slow = False
        self.recording_is_due = False
        self.termination_is_asked_for = False
        self._ingress: deque[Offer] = deque()
        self._polled = Offer(0)
        self._contents = 0
        self.duty = self._process(persistent_member(simulator.options.rules))

    def _process(self, found: Member) -> DutyCycle:
        options = self._simulator.options
        return DutyCycle(options.rules, self.id, options.timing, found, self, self._step)

    @property
    def state(self) -> Member:
        """The protocol state; while the member is down, the last one."""
        return self.duty.member

    def start(self) -> None:
        """Start the process."""
        self.up, self.crash_armed = True, False
        self.duty = self._process(self.state)
        self.work(self.duty.start)

    def run_cycle(self) -> None:
        """Do the cycle that is due, if it is still the one that was asked for."""
        now_ns = self._simulator.now_ns
        if not self.up or now_ns != self.due_ns:
            return
        self.due_ns = NULL_VALUE
        worked = self.work(self.duty.do_work)
        if self.up:
            busy_ns = now_ns + 5_000 + int(self.rng.random() * 20_000)
            self._simulator.wake(self.id, busy_ns if worked else self.duty.slow_tick_deadline_ns)

    def work(self, what: Callable[[int], bool | None]) -> bool:
        """Let the process do something at its clock; it may crash in doing it."""
        try:
            return bool(what(self._simulator.now_ns))
        except Crash as crash:
            self._simulator.crash(self.id, str(crash))
            return True

    def end(self) -> None:
        """End the process: what is not on disk is gone."""
        self.up = self.crash_armed = self.termination_is_asked_for = False
        self.archive.crash(self.state.recorded_position)
        self._ingress.clear()

    def offer(self, entry: Offer) -> bool:
        """Offer an entry, as a client does; false if the member does not take it."""
        serves = self.up and is_closed(self.state, Role.LEADER)
        if not serves or len(self._ingress) >= _INGRESS_LIMIT:
            return False
        self._ingress.append(entry)
        return True

    # The port.

    def poll(self) -> Received | None:
        """See `canvass.cluster.ports.Port`."""
        return self._simulator.network.poll(self._simulator.now_ns, self.id)

    def accepts(self, to: int) -> bool:
        """See `canvass.cluster.ports.Port`."""
        other = self._simulator.members[to]
        return other.up and self._simulator.network.accepts(self.id, to)

    def recorded_position(self) -> int:
        """See `canvass.cluster.ports.Port`."""
        return self.archive.log.end

    def log_part(self, position: int, bound: int, limit: int) -> LogPart | None:
        """See `canvass.cluster.ports.Port`."""
        log = self.archive.log
        entries = log.after(position, limit)
        if not entries or entries[0].end > bound:
            return None
        first = entries[0]
        if log.opens_term(position):
            return LogPart(first.end, 1, first.term, position)
        last, count = first, 1
        for entry in entries[1:]:
            if entry.end > bound or entry.term != first.term or last.snapshot:
                break
            last, count = entry, count + 1
        return LogPart(last.end, count, snapshot=last.snapshot)

    def log_join_position(self) -> int:
        """See `canvass.cluster.ports.Port`."""
        image, simulator = self.archive.image, self._simulator
        if image is None or image.joined_position != NULL_VALUE:
            return NULL_VALUE if image is None else image.joined_position
        leader = simulator.members[image.leader]
        publication = leader.archive.publication
        connects = (
            publication is not None
            and publication.term == image.term
            and simulator.network.works(leader.id, self.id, LOG)
            and simulator.now_ns >= image.opened_ns + simulator.options.network_delay_ns
        )
        if not connects or publication is None:
            return NULL_VALUE
        position = publication.end
        if not image.live:
            position = leader.archive.catchups.get(self.id, NULL_VALUE)
        if position != NULL_VALUE:
            image.publication, image.joined_position = publication, position
        return position

    def log_closed(self) -> bool | None:
        """See `canvass.cluster.ports.Port`."""
        image, now_ns = self.archive.image, self._simulator.now_ns
        if image is None or image.publication is None:
            return None
        publication = image.publication
        if publication.ended and self.archive.log.end >= publication.end:
            return True
        heard = self._simulator.network.works(image.leader, self.id, LOG)
        if heard and not publication.dead and not publication.ended:
            image.silent_since_ns = NULL_VALUE
        elif image.silent_since_ns == NULL_VALUE:
            image.silent_since_ns = now_ns
        else:
            # Aeron's image liveness timeout, which has the default of the heartbeat timeout.
            limit_ns = self._simulator.options.timing.leader_heartbeat_timeout_ns
            return False if now_ns >= image.silent_since_ns + limit_ns else None
        return None

    def add_live_destination(self) -> None:
        """See `canvass.cluster.ports.Port`."""
        image = self.archive.image
        if image is not None and not image.live:
            image.live = True
            self._simulator.kick(self.id)

    def poll_ingress(self) -> Offer | None:
        """See `canvass.cluster.ports.Port`."""
        if not self._ingress:
            return None
        self._polled = self._ingress.popleft()
        return self._polled

    def poll_termination(self) -> bool:
        """See `canvass.cluster.ports.Port`."""
        asked_for, self.termination_is_asked_for = self.termination_is_asked_for, False
        return asked_for

    def nomination_delay_ns(self, limit_ns: int) -> int:
        """See `canvass.cluster.ports.Port`."""
        return self.rng.randrange(limit_ns)

    def adopt(
        self, now_ns: int, action: str, x: Input, sender: int, number: int, outcome: Outcome
    ) -> None:
        """See `canvass.cluster.ports.Port`."""
        effects, before = outcome.effects, self.state
        boundary = len(effects) + 1
        if self.crash_armed and effects:
            boundary = self.rng.randrange(len(effects) + 1)
            written = [k for k, effect in enumerate(effects) if isinstance(effect, _DURABLE)]
            if written and boundary <= written[-1]:
                raise Crash(_WITHIN)
        first = self._simulator.record(self.id, action, x, sender, number, outcome)
        self.duty.member = outcome.next
        for k, effect in enumerate(effects):
            if k == boundary:
                break
            if isinstance(effect, Send):
                self._simulator.send(self.id, effect, first)
                first += first >= 0
            else:
                self._carry_out(effect, now_ns)
        self._simulator.look(self.id, action, before, outcome)
        if boundary <= len(effects):
            raise Crash(_WITHIN)
        if effects and isinstance(effects[-1], asked.EndProcess):
            raise Crash(_ENDED)

    def _carry_out(self, effect: Effect, now_ns: int) -> None:
        archive, s = self.archive, self.state
        match effect:
            case asked.TruncateLog(position):
                archive.log.cut(position)
            case asked.StartRecording():
                archive.recording = True
            case asked.StopRecording():
                archive.stop(s.recorded_position)
            case asked.StartReplication(leader, _, stop_position):
                archive.replication = Replication(leader, stop_position)
            case asked.StopReplication():
                archive.replication = None
                archive.log.cut(s.recorded_position)
            case asked.StartCatchup(follower, position):
                archive.catchups[follower] = position
                self._simulator.wake(follower, now_ns + self._simulator.options.network_delay_ns)
            case asked.StopCatchupReplay(follower):
                archive.catchups.pop(follower, None)
            case _:
                self._carry_out_on_streams(effect, now_ns)
                return
        self._simulator.kick_readers_of(self.id)

    def _carry_out_on_streams(self, effect: Effect, now_ns: int) -> None:
        archive, s = self.archive, self.state
        match effect:
            case asked.OpenLogPublication(position):
                last = archive.log.at(position)
                archive.publication = Publication(s.leadership_term_id, position, last)
            case asked.CloseLogPublication():
                archive.close_publication()
            case asked.OpenLogSubscription(leader, live):
                archive.image = Image(leader, s.leadership_term_id, live, False, now_ns)
            case asked.CloseLogSubscription():
                archive.image = None
            case asked.AddCatchupDestination() if archive.image is not None:
                archive.image.catchup = True
            case asked.RemoveCatchupDestination() if archive.image is not None:
                archive.image.catchup = False
            case (
                asked.AppendToLog(position) | asked.AppendNewLeadershipTermEvent(position=position)
            ):
                self._contents += 1
                assert archive.publication is not None
                content = self._contents * len(self._simulator.members) + self.id
                archive.publication.write(position, content)
            case _:
                return
        self._simulator.kick_readers_of(self.id)

    def _write(self, position: int, *, snapshot: bool) -> None:
        assert self.archive.publication is not None
        self._contents += 1
        content = self._contents * len(self._simulator.members) + self.id
        self.archive.publication.write(position, content, snapshot=snapshot)

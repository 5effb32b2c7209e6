"""The deterministic simulator: members, virtual time, and one queue of what happens next.

Everything a run does follows from its options. There is one thread and no real clock; things that
happen at the same nanosecond happen in the order in which they were put into the queue. A run has
two phases: first faults strike until enough steps are taken, then the faults stop and all members
have to come to serve one leader.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from canvass.cluster import core
from canvass.cluster.effects import Send
from canvass.cluster.member import ElectionState, Input, Member, Role
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.outcome import Outcome
from canvass.cluster.ports import Offer, Received, StepFunction, StepRecorder
from canvass.cluster.predicates import is_closed
from canvass.simulation.entries import EntryLog
from canvass.simulation.faults import FaultInjector
from canvass.simulation.member import SimulatedMember
from canvass.simulation.network import LOG, Network
from canvass.simulation.options import MAX_TIME_NS, Options, liveness_limit_ns, rng_of
from canvass.simulation.recovery import reasons
from canvass.simulation.watch import Finding, SafetyWatch

_ACTION_LENGTH: Final = 96
"""Bytes of a ClusterActionRequest in the log, with its frame."""
_LIVENESS_STEPS: Final = 200_000
"""More steps after healing than this are a storm."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to."""

    options: Options
    steps: int
    time_ns: int
    digest: str
    """A hash of the run: every step, with its time and what it changed."""
    counts: dict[str, int]
    """Elections won, entries committed, and each fault that struck."""
    actions: dict[str, int]
    """How often each action was taken."""
    findings: tuple[Finding, ...]
    """The violated properties, each once."""
    stuck: tuple[str, ...]
    """Why the members did not come to serve one leader after the faults stopped; empty if so."""
    recovery_ns: int
    """How long that took, or -1."""


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
        self.options = options
        self.now_ns = 0
        self.steps = 0
        self.counts: Counter[str] = Counter()
        self._actions: Counter[str] = Counter()
        self._digest = blake2b(digest_size=16)
        self._recorders = [recorder for recorder in recorders if recorder.recording]
        self._queue: list[tuple[int, int, Callable[[], object]]] = []
        self._sequence = 0
        self.network = Network(options, self.counts)
        self.members = [SimulatedMember(self, i, step) for i in range(options.member_count)]
        self._states = [member.state for member in self.members]
        self._watch = SafetyWatch([member.archive.log for member in self.members], self._states)
        self._client = rng_of(options.seed, "client")
        self._disk = rng_of(options.seed, "disk")
        self._faults = FaultInjector(self)
        self._healed_ns = NULL_VALUE
        self._offers = True

    # Time.

    def schedule(self, at_ns: int, what: Callable[[], object]) -> None:
        """Let something happen at a time."""
        self._sequence += 1
        heapq.heappush(self._queue, (at_ns, self._sequence, what))

    def wake(self, i: int, at_ns: int) -> None:
        """Let member ``i`` do its next cycle at that time at the latest."""
        member = self.members[i]
        at_ns = max(at_ns, member.paused_until_ns, self.now_ns)
        if not member.up:
            return
        if member.due_ns < self.now_ns or at_ns < member.due_ns:
            member.due_ns = at_ns
            self.schedule(at_ns, member.run_cycle)
        elif at_ns > member.due_ns:  # By then that cycle is done, and there may be none in between.
            self.schedule(at_ns, lambda: self.wake(i, at_ns))

    # What members do.

    def send(self, i: int, effect: Send, number: int) -> None:
        """Send a message of member ``i``."""
        if not self.members[effect.to].up:
            return
        arrival_ns = self.network.send(self.now_ns, effect.to, Received(i, number, effect.message))
        if arrival_ns != NULL_VALUE:
            self.wake(effect.to, arrival_ns)

    def record(
        self,
        i: int,
        action: str,
        x: Input,
        sender: int,
        number: int,
        outcome: Outcome,
    ) -> int:
        """Count and record a step; give the number of the first message sent."""
        after = outcome.next
        self.steps += 1
        self._actions[action] += 1
        facts = (self.now_ns, i, action, x.position, after.recorded_position, after.commit_position)
        self._digest.update(repr(facts).encode())
        if not self._recorders:
            return NULL_VALUE
        positions = {after.recorded_position, after.commit_position}
        log = self.members[i].archive.log
        found = [log.at(position) for position in sorted(positions) if position > 0]
        return self._recorders[i].record(
            self.now_ns,
            action,
            after,
            inputs=x,
            sender=sender,
            number=number,
            sends=[(send.to, send.message) for send in outcome.sends],
            log_checksums=[(entry.end, entry.checksum) for entry in found if entry is not None],
        )

    def look(self, i: int, action: str, before: Member, outcome: Outcome) -> None:
        """Look at safety after a step, whose effects are done."""
        after = outcome.next
        self._states[i] = after
        known = len(self._watch.committed)
        told = self._watch.step(i, action, before, outcome)
        if told:
            self._watch.tell(told, self.steps, self.now_ns)
        self.counts["entries committed"] += len(self._watch.committed) - known
        if after.election_state is ElectionState.CLOSED is not before.election_state:
            self.counts["elections closed"] += 1
            self.counts["elections won"] += after.role is Role.LEADER

    # The log's streams.

    def _source(self, i: int) -> tuple[EntryLog, int | None] | None:
        """What the archive of member ``i`` can record from now, and up to where."""
        archive = self.members[i].archive
        if archive.replication is not None:
            leader = self.members[archive.replication.leader]
            if leader.up and self.network.works(leader.id, i, LOG):
                return leader.archive.log, archive.replication.stop_position
            return None
        if not archive.recording:
            return None
        if archive.publication is not None:
            return archive.publication.log, None
        image = archive.image
        if image is None or image.publication is None or image.publication.dead:
            return None
        leader = self.members[image.leader]
        if not self.network.works(leader.id, i, LOG):
            return None
        if image.live and archive.log.end >= image.publication.start:
            return image.publication.log, None
        if image.catchup and i in leader.archive.catchups and not image.publication.ended:
            return leader.archive.log, None
        return None

    def kick(self, i: int) -> None:
        """See whether the archive of member ``i`` has something to record, and let it."""
        member = self.members[i]
        if member.recording_is_due or not member.up:
            return
        source = self._source(i)
        if source is None or source[0].end <= member.archive.log.end:
            return
        if source[1] is not None and member.archive.log.end >= source[1]:
            return
        member.recording_is_due = True
        delay_ns = self.options.archive_delay_ns * (100 if member.archive_is_slow else 1)
        if member.archive.publication is None:
            delay_ns += self.options.network_delay_ns
        at_ns = self.now_ns + int(delay_ns * (0.5 + self._disk.random()))
        self.schedule(at_ns, lambda: self._record_entries(i))

    def kick_readers_of(self, j: int) -> None:
        """See whether those who read from member ``j``, itself included, have something to."""
        for member in self.members:
            archive = member.archive
            image, replication = archive.image, archive.replication
            reads = member.id == j or (image is not None and image.leader == j)
            if reads or (replication is not None and replication.leader == j):
                self.kick(member.id)

    def _record_entries(self, i: int) -> None:
        member = self.members[i]
        member.recording_is_due = False
        source = self._source(i) if member.up else None
        if source is not None:
            limit = 1 + int(self._disk.random() * 16)
            if member.archive.take(source[0], limit, source[1]):
                self.wake(i, self.now_ns)
                self.kick_readers_of(i)

    # Processes and clients.

    def start(self, i: int) -> None:
        """Start member ``i`` if it is down."""
        member = self.members[i]
        if not member.up:
            member.due_ns = NULL_VALUE
            member.start()
            self.wake(i, self.now_ns)

    def crash(self, i: int, how: str) -> None:
        """End member ``i``, and start it again after a while."""
        self.counts[how] += 1
        self.members[i].end()
        self.network.lose_all_to(i)
        self._faults.start_again(i)

    def _offer(self) -> None:
        if not self._offers:
            return
        mean_ns = self.options.offer_mean_ns
        wait_ns = 1 + int(self._client.expovariate(1 / mean_ns))
        self.schedule(self.now_ns + wait_ns, self._offer)
        payload = self._client.randrange(self.options.offer_bytes + 1)
        offer = Offer((64 + payload + 31) // 32 * 32)  # Frame and session header, aligned.
        probability = self.options.snapshot_probability
        if probability and self._client.random() < probability:
            offer = Offer(_ACTION_LENGTH, snapshot=True)
        for member in self.members:
            if member.offer(offer):
                self.counts["entries offered"] += 1
                self.wake(member.id, self.now_ns)

    # The run.

    def run(self) -> RunResult:
        """Run both phases."""
        self._faults.begin()
        self._offer()
        stuck: tuple[str, ...] = ()
        limit_ns, limit_steps = MAX_TIME_NS, self.options.steps
        while True:
            self.now_ns, _, what = heapq.heappop(self._queue)
            what()
            if self._healed_ns != NULL_VALUE and self._has_recovered():
                break
            if self.steps < limit_steps and self.now_ns < limit_ns:
                continue
            if self._healed_ns != NULL_VALUE:
                storm = self.steps >= limit_steps
                stuck = reasons([member.state for member in self.members], storm=storm)
                break
            self._heal()
            limit_ns = self.now_ns + liveness_limit_ns(self.options.timing)
            limit_steps = self.steps + _LIVENESS_STEPS
        return RunResult(
            self.options,
            self.steps,
            self.now_ns,
            self._digest.hexdigest(),
            dict(sorted(self.counts.items())),
            dict(sorted(self._actions.items())),
            tuple(self._watch.findings),
            stuck,
            NULL_VALUE if stuck else self.now_ns - self._healed_ns,
        )

    def _heal(self) -> None:
        self._healed_ns = self.now_ns
        self.network.heal()
        self._faults.stop()
        for member in self.members:
            member.paused_until_ns = 0
            member.crash_armed = member.archive_is_slow = False
            member.termination_is_asked_for = False
            self.start(member.id)
            self.wake(member.id, self.now_ns)
            self.kick(member.id)

    def _has_recovered(self) -> bool:
        """Whether all serve one leader; then the clients stop, and all has to be committed."""
        leader = None
        for member in self.members:
            state = member.state
            if state.election_state is not ElectionState.CLOSED:
                return False
            if is_closed(state, Role.LEADER):
                if leader is not None:
                    return False
                leader = state
        if leader is None:
            return False
        for member in self.members:
            state = member.state
            if (
                state.leader_member_id != leader.leader_member_id
                or state.module_leadership_term_id != leader.module_leadership_term_id
            ):
                return False
        self._offers = False
        return all(
            member.state.commit_position == leader.publication_position for member in self.members
        )

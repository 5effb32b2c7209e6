"""One process of one member: archive, streams, consensus module, services and duty cycle.

The caller gives messages, times and a transport, and calls `Node.work`. Only the disk blocks.
A node is the `Port` of its duty cycle. It records each step, and then carries out the effects of
the step in their order: on archive, streams, consensus module and transport. All durable changes of
a step are one change of the archive, before the first message is sent.

`resumption` compares the disk of a member with its recorded steps before a process starts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec.structs import replace

from canvass.archive.archive import Archive
from canvass.archive.recording import Recording
from canvass.archive.storage import ArchiveError
from canvass.cluster import core
from canvass.cluster import effects as asked
from canvass.cluster.clocks import MILLISECOND_NS, SLOW_TICK_NS
from canvass.cluster.duty_cycle import (
    DutyCycle,
    LogPart,
    Offer,
    Received,
    StepFunction,
    StepRecorder,
)
from canvass.cluster.effects import Effect, Effects, Outcome, Send
from canvass.cluster.member import Input, Member, Role
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.predicates import is_closed
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.log import entries
from canvass.log.entries import (
    ClusterActionRequest,
    ClusterTimeUnit,
    NewLeadershipTermEvent,
    aligned_length,
)
from canvass.node.consensus_module import ConsensusModule, NodeSettings
from canvass.node.streams import Image, LogStreams, Replication
from canvass.services.service import ClusteredService
from canvass.transport.messages import Egress, Ingress, StreamMessage

_DURABLE: Final = (asked.PersistCandidateTerm, asked.UpdateRecordingLog, asked.TruncateLog)


class Transport(Protocol):
    """Sends messages to members and clients. No call blocks, and each message may be lost."""

    def send_consensus(self, to: int, number: int, message: Message) -> None:
        """Send a consensus message with its number."""
        ...

    def send_stream(self, to: int, message: StreamMessage) -> None:
        """Send a message of the log streams."""
        ...

    def send_egress(self, channel: str, message: Egress) -> None:
        """Send a message to an egress channel of a client."""
        ...

    def accepts(self, to: int) -> bool:
        """Whether consensus messages to a member can be sent now."""
        ...


CYCLE_THRESHOLD_NS: Final = 100 * MILLISECOND_NS
"""The duration above which a cycle is counted (Aeron's default)."""


class StallTracker:
    """The longest duration of a cycle, and the number of cycles that took too long."""

    def __init__(self) -> None:
        self.max_cycle_time_ns = 0
        self.exceeded_count = 0
        self._last_ns = -1

    def update(self, now_ns: int) -> None:
        """Note that a cycle begins."""
        if self._last_ns >= 0:
            taken_ns = now_ns - self._last_ns
            self.max_cycle_time_ns = max(self.max_cycle_time_ns, taken_ns)
            self.exceeded_count += taken_ns > CYCLE_THRESHOLD_NS
        self._last_ns = now_ns


class Node:
    """One process of one member.

    Parameters
    ----------
    settings
        The settings of the member.
    archive
        The archive that the process finds.
    services
        New applications.
    transport
        The transport of the process.
    draw
        A function that draws a number from 0 up to a limit, exclusive.
    recorder
        The recorder of the steps, or None.
    step
        The protocol core.
    """

    def __init__(
        self,
        settings: NodeSettings,
        archive: Archive,
        services: Sequence[ClusteredService],
        transport: Transport,
        draw: Callable[[int], int],
        recorder: StepRecorder | None = None,
        step: StepFunction = core.step,
    ) -> None:
        i, rules, timing = settings.member_id, settings.rules, settings.timing
        self._id, self._transport, self._draw, self._recorder = i, transport, draw, recorder
        self.archive = archive
        self.stalls = StallTracker()
        self.streams = LogStreams(archive.recording, timing, transport.send_stream)
        self.module = ConsensusModule(settings, archive, services, transport.send_egress)
        self.duty = DutyCycle(rules, i, timing, archive.found(rules), self, step)
        self.ended = False
        """Whether a step has ended the process."""
        self.steps = 0
        """The number of steps that the process has taken."""
        self._slow_tick_ns = 0
        self._received: deque[Received] = deque()
        self._stream_messages: deque[tuple[int, StreamMessage]] = deque()

    @property
    def member(self) -> Member:
        """The protocol state."""
        return self.duty.member

    @property
    def leads(self) -> bool:
        """Whether the member is a leader, and no election runs."""
        return is_closed(self.member, Role.LEADER)

    @property
    def deadline_ns(self) -> int:
        """The time of the next `work`, if no message arrives before."""
        return min(self.duty.slow_tick_deadline_ns, self._slow_tick_ns)

    def start(self, now_ns: int, time_ms: int) -> None:
        """Start with the data on disk."""
        self._set_time(now_ns, time_ms)
        self.duty.start(now_ns)

    def on_consensus(self, sender: int, number: int, message: Message) -> None:
        """Receive a consensus message of another member."""
        self._received.append(Received(sender, number, message))

    def on_stream(self, sender: int, message: StreamMessage) -> None:
        """Receive a message of another member's log streams."""
        self._stream_messages.append((sender, message))

    def on_ingress(self, message: Ingress) -> None:
        """Receive a message of a client."""
        self.module.on_ingress(message)

    def work(self, now_ns: int, time_ms: int) -> bool:
        """Do one cycle. Return whether there was anything to do."""
        self.stalls.update(now_ns)
        self._set_time(now_ns, time_ms)
        while self._stream_messages:
            self.streams.on_message(*self._stream_messages.popleft())
        worked = self.archive.recording.sync()
        if now_ns >= self._slow_tick_ns:
            self._slow_tick_ns = now_ns + SLOW_TICK_NS
            self.module.slow_tick()
        worked = self.duty.do_work(now_ns) or worked
        if self.ended:
            for agent in self.module.agents:
                agent.service.on_terminate()
            return True
        worked = self.module.services_work() or worked
        worked = self.streams.answer_requests() or worked
        return self.streams.send_request() or worked

    def _set_time(self, now_ns: int, time_ms: int) -> None:
        self.streams.now_ns = now_ns
        self.module.time_ms = max(self.module.time_ms, time_ms)

    # The port of the duty cycle.

    def poll(self) -> Received | None:
        """See `canvass.cluster.duty_cycle.Port`."""
        return self._received.popleft() if self._received else None

    def accepts(self, to: int) -> bool:
        """See `canvass.cluster.duty_cycle.Port`."""
        return self._transport.accepts(to)

    def recorded_position(self) -> int:
        """See `canvass.cluster.duty_cycle.Port`. Only synced data counts as recorded."""
        return self.archive.recording.synced_position

    def log_part(self, position: int, bound: int, limit: int) -> LogPart | None:
        """See `canvass.cluster.duty_cycle.Port`."""
        end, count = position, 0
        recording = self.archive.recording
        for frame in recording.replay(position, recording.boundary_from(bound)):
            is_within = frame.end > bound
            message = entries.decode(frame.payload)
            if count and (is_within or isinstance(message, NewLeadershipTermEvent)):
                break
            entry_position = frame.position if is_within else NULL_VALUE
            if isinstance(message, NewLeadershipTermEvent):
                term, base = message.leadership_term_id, message.term_base_log_position
                return LogPart(frame.end, 1, term, base, entry_position=entry_position)
            end, count = frame.end, count + 1
            snapshot = isinstance(message, ClusterActionRequest) and message.is_snapshot
            if snapshot or is_within or count == limit:
                return LogPart(end, count, snapshot=snapshot, entry_position=entry_position)
        return LogPart(end, count) if count else None

    def log_join_position(self) -> int:
        """See `canvass.cluster.duty_cycle.Port`."""
        return self.streams.join_position()

    def log_closed(self) -> bool | None:
        """See `canvass.cluster.duty_cycle.Port`."""
        return self.streams.log_closed()

    def add_live_destination(self) -> None:
        """See `canvass.cluster.duty_cycle.Port`."""
        if self.streams.image is not None:
            self.streams.image.live = True

    def poll_ingress(self) -> Offer | None:
        """See `canvass.cluster.duty_cycle.Port`."""
        publication = self.streams.publication
        if publication is None:
            return None
        message = self.module.poll(publication.end)
        if message is None:
            return None
        snapshot = isinstance(message, ClusterActionRequest) and message.is_snapshot
        return Offer(aligned_length(len(entries.encode(message))), snapshot=snapshot)

    def is_active(self) -> bool:
        """See `canvass.cluster.duty_cycle.Port`."""
        return self.module.is_active

    def poll_termination(self) -> bool:
        """See `canvass.cluster.duty_cycle.Port`."""
        found = self.module.termination_is_requested
        self.module.termination_is_requested = False
        return found

    def nomination_delay_ns(self, limit_ns: int) -> int:
        """See `canvass.cluster.duty_cycle.Port`."""
        return self._draw(limit_ns)

    # Steps and their effects.

    def adopt(
        self, now_ns: int, action: str, x: Input, sender: int, number: int, outcome: Outcome
    ) -> None:
        """See `canvass.cluster.duty_cycle.Port`."""
        self.steps += 1
        first = self._record(now_ns, action, x, sender, number, outcome)
        durable = False
        for effect in outcome.effects:
            self.before_effect(effect)
            if isinstance(effect, Send):
                self._transport.send_consensus(effect.to, first, effect.message)
                first += first >= 0
            elif not isinstance(effect, _DURABLE):
                self._carry_out(effect, outcome.next)
            elif not durable:
                durable = True
                self._write(outcome.effects)

    def before_effect(self, effect: Effect) -> None:
        """Begin an effect. A simulation ends the process here, between two effects."""

    def _record(
        self, now_ns: int, action: str, x: Input, sender: int, number: int, outcome: Outcome
    ) -> int:
        if self._recorder is None:
            return NULL_VALUE
        after = outcome.next
        positions = after.recorded_position, after.commit_position
        return self._recorder.record(
            now_ns,
            action,
            after,
            inputs=x,
            sender=sender,
            number=number,
            sends=[(send.to, send.message) for send in outcome.sends],
            log_checksums=self.archive.recording.checksums(positions),
        )

    def _write(self, effects: Effects) -> None:
        """Carry out all durable effects of a step as one change of the archive."""
        kept, cut = self.archive.kept, NULL_VALUE
        for effect in effects:
            match effect:
                case asked.PersistCandidateTerm(candidate_term_id):
                    kept = replace(kept, candidate_term_id=candidate_term_id)
                case asked.UpdateRecordingLog(terms):
                    kept = replace(kept, terms=terms)
                case asked.TruncateLog(cut):
                    self.streams.forget_ended_stream(cut)
                case _:
                    pass
        self.archive.change(kept, cut)

    def _carry_out(self, effect: Effect, after: Member) -> None:
        streams = self.streams
        match effect:
            case asked.StartRecording():
                streams.recording_on = True
            case asked.StopRecording():
                streams.stop_recording(after.recorded_position)
            case asked.StartReplication(leader, _, stop_position):
                streams.replication = Replication(leader, after.leadership_term_id, stop_position)
            case asked.StopReplication():
                streams.replication = None
                streams.truncate(after.recorded_position)
            case asked.StartCatchup(follower, position):
                streams.catchups[follower] = position
            case asked.StopCatchupReplay(follower):
                streams.catchups.pop(follower, None)
            case asked.EndProcess():
                self.ended = True
            case _:
                self._carry_out_on_module(effect, after)

    def _carry_out_on_module(self, effect: Effect, after: Member) -> None:
        module = self.module
        match effect:
            case asked.JoinLog(position):
                module.join(position, after.role)
            case asked.StartReplay(position, stop_position):
                module.join(position, Role.FOLLOWER, stop_position)
            case asked.AdvanceCommit(position):
                module.committed(position)
            case asked.RollBack():
                module.rolled_back()
            case asked.CompleteElection(term, leader):
                module.elected(after.role, term, leader)
            case asked.WriteSnapshot(term, base, position):
                module.take_snapshot(term, base, position)
            case _:
                self._carry_out_on_stream(effect, after)

    def _carry_out_on_stream(self, effect: Effect, after: Member) -> None:
        streams = self.streams
        match effect:
            case asked.OpenLogPublication(position):
                streams.open_publication(after.leadership_term_id, position)
                self.module.publication_opened(position)
            case asked.CloseLogPublication():
                streams.close_publication()
            case asked.OpenLogSubscription(leader, live):
                term = after.leadership_term_id
                streams.image = Image(leader, term, live, False, streams.now_ns)
            case asked.CloseLogSubscription():
                streams.image = None
            case asked.AddCatchupDestination() if streams.image is not None:
                streams.image.catchup = True
            case asked.RemoveCatchupDestination() if streams.image is not None:
                streams.image.catchup = False
            case asked.AppendToLog(position):
                publication = streams.publication
                message = None
                if publication is not None:
                    message = self.module.poll(publication.end)
                assert message is not None
                self._append(entries.encode(message), position)
                self.module.written(position)
            case asked.AppendNewLeadershipTermEvent(term, base, position):
                self._open_term(term, base, position)
            case _:
                pass

    def _open_term(self, term: int, base: int, position: int) -> None:
        session_id = (term * 31 + self._id) & 0x7FFFFFFF  # The stream of each term has its own id.
        event = NewLeadershipTermEvent(
            term,
            position,
            self.module.time_ms,
            base,
            self._id,
            session_id,
            ClusterTimeUnit.MILLIS,
            1,
        )
        self._append(entries.encode(event), position)

    def _append(self, data: bytes, position: int) -> None:
        publication = self.streams.publication
        frame = self.archive.recording.append(data)
        if publication is None or frame.end != position:
            raise ArchiveError(f"an entry ends at {frame.end} and not at {position}")
        publication.end = position


@dataclass(frozen=True, slots=True)
class Resumption:
    """The corrections to a recording and to recorded steps, before the member starts again."""

    drop_last: bool
    """Whether to drop the last recorded step: the process ended before the effects of the step."""
    noted: tuple[Input, Outcome] | None
    """A ``RecordLog`` step to record, if the recording is longer than the last state says."""
    truncate_position: int | None
    """The position at which to truncate the recording, as the last step requested."""

    def carry_out(self, recording: Recording, recorder: StepRecorder, now_ns: int) -> None:
        """Truncate the recording, and record the ``RecordLog`` step."""
        if self.truncate_position is not None:
            recording.truncate(self.truncate_position)
        if self.noted is not None:
            x, outcome = self.noted
            checksums = recording.checksums([x.position])
            recorder.record(now_ns, "RecordLog", outcome.next, inputs=x, log_checksums=checksums)


def _durable(s: Member) -> tuple[object, ...]:
    return (
        s.persisted_candidate_term_id,
        s.recording_log,
        s.snapshot_leadership_term_id,
        s.snapshot_term_base_log_position,
        s.snapshot_log_position,
    )


def _check_truncation(found: Member, last: Member, previous: Member) -> None:
    """Refuse a recording that continues beyond its truncation in the last step.

    Recording and recording log change together. After a truncation the member is in an election and
    records no stream before its next step.
    """
    truncated = last.recorded_position < previous.recorded_position
    done = truncated and _durable(last) != _durable(previous)
    if done and found.recorded_position > last.recorded_position:
        raise ArchiveError(
            f"the recording log says that the log was truncated at {last.recorded_position}, and "
            f"the recording ends at {found.recorded_position}"
        )


def resumption(
    rules: Rules, i: int, found: Member, last: Member | None, previous: Member | None
) -> Resumption:
    """Compare the data on disk with the last two recorded states.

    Parameters
    ----------
    rules, i
        The rules of the cluster, and the member.
    found
        The state that a restart finds on disk.
    last, previous
        The states after the last recorded step and after the step before, or None.

    Raises
    ------
    ArchiveError
        If the disk and the recorded steps do not belong together.
    """
    drop = False
    if last is not None and _durable(found) != _durable(last):
        drop, last = True, previous
    elif last is not None and previous is not None:
        _check_truncation(found, last, previous)
    if last is None:
        if _durable(found) == _durable(persistent_member(rules)) and (
            drop or not found.recorded_position
        ):
            return Resumption(drop, None, None)
        raise ArchiveError("the disk holds a log, and no step of its member was recorded")
    if _durable(found) != _durable(last) or found.recorded_position < last.recorded_position:
        raise ArchiveError("the disk and the last recorded step of the member disagree")
    if found.recorded_position == last.recorded_position:
        return Resumption(drop, None, None)
    x = Input(position=found.recorded_position)
    noted = core.step(rules, i, last, "RecordLog", x)
    if noted is None:
        return Resumption(drop, None, last.recorded_position)
    return Resumption(drop, (x, noted), None)

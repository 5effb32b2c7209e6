"""A member as a process: its node with sockets on this machine and real clocks.

`resumption` compares the disk of a member with its recorded steps before the process starts.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.msgpack import encode

from canvass.archive.archive import Archive
from canvass.archive.recording import Recording
from canvass.archive.storage import ArchiveError
from canvass.cluster import core
from canvass.cluster.duty_cycle import StepRecorder
from canvass.cluster.effects import Outcome
from canvass.cluster.member import Input, Member
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.node.consensus_module import NodeSettings
from canvass.node.node import Node
from canvass.services.service import ClusteredService
from canvass.transport.links import HOST, Link, Listener
from canvass.transport.messages import (
    CLIENT_MESSAGES,
    MEMBER_MESSAGES,
    Egress,
    Hello,
    Numbered,
    StreamMessage,
)


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


CONSENSUS: Final = 0
LOG: Final = 1
"""The two connections to each other member: a long part of a log delays no consensus message."""
MAX_EGRESS_LINKS: Final = 64
_ID_FIELDS: Final = (
    "follower_member_id",
    "candidate_member_id",
    "leader_member_id",
    "member_id",
)


class MemberProcess:
    """Runs one member until it ends or is asked to stop.

    Parameters
    ----------
    settings
        The settings of the member.
    cluster_id, member_ports, ingress_port
        The id of the cluster, the ports of its members by id, and the port for clients.
    archive
        The archive that the process finds.
    services
        New applications.
    recorder
        The recorder of the steps, or None.
    on_cycle
        A function that is called with the time after each duty cycle.
    """

    def __init__(
        self,
        settings: NodeSettings,
        cluster_id: int,
        member_ports: Sequence[int],
        ingress_port: int,
        archive: Archive,
        services: Sequence[ClusteredService],
        recorder: StepRecorder | None = None,
        on_cycle: Callable[[int], None] = lambda _now_ns: None,
    ) -> None:
        self._id, self._cluster_id = settings.member_id, cluster_id
        self._member_ports, self._ingress_port = member_ports, ingress_port
        self._on_cycle = on_cycle
        self._links: Mapping[tuple[int, int], Link] = {}
        self._egress: dict[str, Link] = {}
        self._wakeup = asyncio.Event()
        self._stopping = False
        self.node = Node(settings, archive, services, self, secrets.randbelow, recorder)

    # The transport of the node.

    def send_consensus(self, to: int, number: int, message: Message) -> None:
        """See `canvass.node.node.Transport`."""
        self._links[to, CONSENSUS].send(encode(Numbered(number, message)))

    def send_stream(self, to: int, message: StreamMessage) -> None:
        """See `canvass.node.node.Transport`."""
        self._links[to, LOG].send(encode(message))

    def accepts(self, to: int) -> bool:
        """See `canvass.node.node.Transport`."""
        return self._links[to, CONSENSUS].accepts

    def send_egress(self, channel: str, message: Egress) -> None:
        """See `canvass.node.node.Transport`."""
        link = self._egress.get(channel)
        if link is None or link.dead:
            try:
                link = Link(channel)
            except ValueError:
                return  # Only clients on this machine can be reached.
            if len(self._egress) >= MAX_EGRESS_LINKS:
                oldest = next(iter(self._egress))
                self._egress.pop(oldest).close()
            self._egress[channel] = link
        link.send(encode(message))

    # Incoming messages.

    def _on_member_connection(self) -> Callable[[bytes], None]:
        sender = NULL_VALUE

        def on_message(data: bytes) -> None:
            nonlocal sender
            received = MEMBER_MESSAGES.decode(data)
            if isinstance(received, Hello) != (sender == NULL_VALUE):
                raise ValueError("a connection has one greeting, which is its first message")
            if isinstance(received, Hello):
                sender = self._greeted(received)
            elif isinstance(received, Numbered):
                self._check(received.message)
                self.node.on_consensus(sender, received.number, received.message)
            else:
                self.node.on_stream(sender, received)
            self._wakeup.set()

        return on_message

    def _check(self, message: Message) -> None:
        """Refuse a message that names an unknown member."""
        for name in _ID_FIELDS:
            member_id = getattr(message, name, 0)
            if not NULL_VALUE <= member_id < len(self._member_ports):
                raise ValueError(f"there is no member {member_id}")

    def _greeted(self, hello: Hello) -> int:
        known = 0 <= hello.member_id < len(self._member_ports)
        if hello.cluster_id != self._cluster_id or not known:
            raise ValueError("the connection is of another cluster")
        return hello.member_id

    def _on_client_connection(self) -> Callable[[bytes], None]:
        def on_message(data: bytes) -> None:
            self.node.on_ingress(CLIENT_MESSAGES.decode(data))  # Egress is ignored there.
            self._wakeup.set()

        return on_message

    # The process.

    def stop(self) -> None:
        """End after the present cycle. A signal handler of the event loop may call this."""
        self._stopping = True
        self._wakeup.set()

    def wake(self) -> None:
        """Do the next cycle at once."""
        self._wakeup.set()

    async def run(self) -> None:
        """Run the member."""
        members = Listener(self._on_member_connection)
        clients = Listener(self._on_client_connection)
        await members.open(self._member_ports[self._id])
        await clients.open(self._ingress_port)
        hello = encode(Hello(self._cluster_id, self._id))
        self._links = {
            (j, kind): Link(f"{HOST}:{port}", hello)
            for j, port in enumerate(self._member_ports)
            if j != self._id
            for kind in (CONSENSUS, LOG)
        }
        try:
            await self._work()
            await asyncio.sleep(0.05)  # The last messages leave before the process ends.
        finally:
            for link in (*self._links.values(), *self._egress.values()):
                link.close()
            members.close()
            clients.close()
            self.node.close()

    async def _work(self) -> None:
        loop, node = asyncio.get_running_loop(), self.node
        node.start(time.monotonic_ns(), time.time_ns() // 1_000_000)
        while not (self._stopping or node.ended):
            now_ns = time.monotonic_ns()
            self._wakeup.clear()
            worked = node.work(now_ns, time.time_ns() // 1_000_000)
            self._on_cycle(now_ns)
            if worked:
                await asyncio.sleep(0)
                continue
            wait_ns = node.deadline_ns - time.monotonic_ns()
            if wait_ns > 0:
                alarm = loop.call_later(wait_ns / 1e9, self._wakeup.set)
                await self._wakeup.wait()
                alarm.cancel()
            else:
                await asyncio.sleep(0)

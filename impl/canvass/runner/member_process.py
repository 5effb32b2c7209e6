"""The process of one member: ``python -m canvass.runner.member_process CONFIG``.

It is a node with sockets on this machine and real clocks. `canvass.runner.supervisor` starts it.
The process reads commands from stdin, writes its status into its mark file, and ends when stdin
ends. This module composes archive, node, services and recorder.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec.msgpack import encode

from canvass.archive.archive import Archive
from canvass.archive.storage import ArchiveError, FileStorage
from canvass.cluster.clocks import Timing
from canvass.cluster.duty_cycle import StepRecorder
from canvass.cluster.member import Member
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.rules import Rules
from canvass.node.consensus_module import SESSION_TIMEOUT_MS, NodeSettings
from canvass.node.module_state import ControlToggle
from canvass.node.node import Node, resumption
from canvass.runner.configuration import MARK_FILE, Mark, MemberConfig, MemberStatus, read_config
from canvass.services.service import Counter
from canvass.traces.recorder import RunRecorder, StreamRecorder
from canvass.traces.schema import MAX_LINE_BYTES, Event, Run
from canvass.traces.timeouts import settings_of
from canvass.transport.links import HOST, Link, Listener
from canvass.transport.messages import (
    CLIENT_MESSAGES,
    MEMBER_MESSAGES,
    Egress,
    Hello,
    Numbered,
    StreamMessage,
    format_endpoints,
)

_STATES: Final = 2


def last_states(path: Path) -> tuple[Member | None, Member | None]:
    """The states after the last step and after the step before it; None for a missing step.

    An incomplete last line is ignored: the process died while it wrote the line.
    """
    found = [msgspec.json.decode(line, type=Event).state for line in _last_lines(path, _STATES)]
    last = found[-1] if found else None
    return last, found[-2] if len(found) > 1 else None


def next_numbers(path: Path) -> tuple[int, int] | None:
    """The numbers of the next step and of the next message, or None if there is no step."""
    lines = _last_lines(path, 1)
    if not lines:
        return None
    step = msgspec.json.decode(lines[0], type=Event).step + 1
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.rfind(b'"sends":[{', 0, data.rfind(b"\n"))
        if at < 0:
            return step, 0
        line = data[data.rfind(b"\n", 0, at) + 1 : data.find(b"\n", at)]
    return step, int(msgspec.json.decode(line, type=Event).sends[-1].id.split(":")[1]) + 1


def forget_last_step(path: Path) -> None:
    """Remove the last complete line."""
    with path.open("r+b") as file:
        data, start = _tail(path)
        end = data.rfind(b"\n")
        file.truncate(start + data.rfind(b"\n", 0, end) + 1)


def _tail(path: Path) -> tuple[bytes, int]:
    size = path.stat().st_size
    start = max(0, size - (_STATES + 1) * MAX_LINE_BYTES)
    with path.open("rb") as file:
        file.seek(start, os.SEEK_SET)
        return file.read(), start


def _last_lines(path: Path, count: int) -> list[bytes]:
    if not path.exists():
        return []
    data, start = _tail(path)
    lines = data.split(b"\n")[:-1]
    return (lines[1:] if start else lines)[-count:]


CONSENSUS: Final = 0
LOG: Final = 1
"""The two connections to each other member: a long part of a log delays no consensus message."""
MAX_EGRESS_LINKS: Final = 64


class MemberProcess:
    """Runs one member until it ends or is asked to stop.

    Parameters
    ----------
    config
        The configuration of the process.
    archive
        The archive that the process finds.
    recorder
        The recorder of the steps, or None.
    """

    def __init__(
        self, config: MemberConfig, archive: Archive, recorder: StepRecorder | None = None
    ) -> None:
        self._config = config
        endpoints = {i: f"{HOST}:{port}" for i, port in enumerate(config.ingress_ports)}
        settings = NodeSettings(
            config.member_id,
            Rules.of(config.revision, config.member_count),
            Timing().divided(config.clock),
            format_endpoints(endpoints),
            session_timeout_ms=max(1_000, SESSION_TIMEOUT_MS // config.clock),
        )
        services = [Counter() for _ in range(config.services)]
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
                self.node.on_consensus(sender, received.number, received.message)
            else:
                self.node.on_stream(sender, received)
            self._wakeup.set()

        return on_message

    def _greeted(self, hello: Hello) -> int:
        known = 0 <= hello.member_id < self._config.member_count
        if hello.cluster_id != self._config.cluster_id or not known:
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
        config = self._config
        members = Listener(self._on_member_connection)
        clients = Listener(self._on_client_connection)
        await members.open(config.member_ports[config.member_id])
        await clients.open(config.ingress_ports[config.member_id])
        hello = encode(Hello(config.cluster_id, config.member_id))
        self._links = {
            (j, kind): Link(f"{HOST}:{port}", hello)
            for j, port in enumerate(config.member_ports)
            if j != config.member_id
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
            self.node.archive.close()

    async def _work(self) -> None:
        loop, node = asyncio.get_running_loop(), self.node
        reports = _Reports(self._config, node)
        node.start(time.monotonic_ns(), time.time_ns() // 1_000_000)
        while not (self._stopping or node.ended):
            now_ns = time.monotonic_ns()
            self._wakeup.clear()
            worked = node.work(now_ns, time.time_ns() // 1_000_000)
            reports.on_cycle(now_ns)
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


STATUS_PERIOD_NS: Final = 250_000_000
MARK_LENGTH: Final = 4_095
"""The mark is padded to this length, so that it overwrites the previous one."""
MARK_PERIOD_NS: Final = 1_000_000_000
"""The longest interval at which the mark file is written, as in Aeron."""


def main() -> None:
    """Run the member of a configuration. A damaged disk ends the process with one line."""
    _die_with_parent()
    config = read_config(Path(sys.argv[1]))
    try:
        asyncio.run(_run(config))
    except (ArchiveError, OSError) as error:
        sys.exit(f"{config.data_folder}: {error}")


def _die_with_parent() -> None:
    """Let the kernel end this process together with its parent, even while it is paused."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)


async def _run(config: MemberConfig) -> None:
    archive = Archive(FileStorage(Path(config.data_folder)))
    recorder = _recorder(config, archive)
    process = MemberProcess(config, archive, recorder)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, process.stop)
    commands = loop.create_task(_obey(process))
    try:
        await process.run()
    finally:
        commands.cancel()
        recorder.close()


def _recorder(config: MemberConfig, archive: Archive) -> StreamRecorder:
    """Continue the recorded run of the member, after the corrections that its disk requires."""
    i, rules = config.member_id, Rules.of(config.revision, config.member_count)
    source = {
        "kind": "processes",
        "services": config.services,
        "clock": config.clock,
        "timeouts": settings_of(Timing().divided(config.clock)),
    }
    run = Run.of(rules, config.run_id, source)
    path = Path(config.run_folder) / f"member-{i}.ndjson"
    last, previous = last_states(path)
    todo = resumption(rules, i, archive.found(rules), last, previous)
    if todo.drop_last:
        forget_last_step(path)
    recorder = RunRecorder(Path(config.run_folder), run).member(i, next_numbers(path))
    todo.carry_out(archive.recording, recorder, time.monotonic_ns())
    return recorder


async def _obey(process: MemberProcess) -> None:
    """Set the control toggle to each value on stdin. The end of stdin ends the member."""
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    try:
        await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
        async for line in reader:
            name = line.decode().strip().upper().replace("-", "_")
            process.node.module.control.set_toggle(ControlToggle[name])
            process.wake()
    finally:
        process.stop()


class _Reports:
    """The writer of the mark file."""

    def __init__(self, config: MemberConfig, node: Node) -> None:
        self._config, self._node = config, node
        self._status: MemberStatus | None = None
        self._due_ns = self._mark_ns = 0
        path = Path(config.data_folder) / MARK_FILE
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)

    def on_cycle(self, now_ns: int) -> None:
        """Write the mark file if the status has changed, and at least once a second."""
        if now_ns >= self._due_ns:
            self._due_ns = now_ns + STATUS_PERIOD_NS
            before, self._status = self._status, self._found()
            if self._status != before or now_ns >= self._mark_ns:
                self._mark_ns = now_ns + MARK_PERIOD_NS
                mark = Mark(os.getpid(), time.time_ns() // 1_000_000, self._status)
                # In place: a new file would wait for the file system's journal.
                os.pwrite(self._file, msgspec.json.encode(mark).ljust(MARK_LENGTH) + b"\n", 0)

    def _found(self) -> MemberStatus:
        node = self._node
        s, module = node.member, node.module
        return MemberStatus(
            self._config.member_id,
            s.election_state.value,
            s.role.value,
            module.state.control_state.name,
            module.control.toggle.name,
            s.module_leadership_term_id,
            s.leader_member_id,
            s.recorded_position,
            s.commit_position,
            [agent.log_position for agent in module.agents],
            s.snapshot_log_position,
            len(module.state.sessions),
            node.steps,
            round(node.stalls.max_cycle_time_ns / 1e6, 1),
            node.stalls.exceeded_count,
            dict(module.counters),
        )


if __name__ == "__main__":
    main()

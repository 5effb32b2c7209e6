"""The process of one member: ``python -m canvass.runner.member_process CONFIG``.

`canvass.runner.supervisor` starts it. The process obeys lines on stdin, reports its status on
stdout, and ends when stdin does. This module composes archive, node, services and recorder.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from canvass.archive.archive import Archive
from canvass.archive.files import FileStorage
from canvass.archive.storage import ArchiveError
from canvass.cluster.rules import Rules
from canvass.cluster.timing import Timing
from canvass.node.authentication import SharedSecret
from canvass.node.control import ControlToggle, NodeToggle
from canvass.node.process import MemberProcess, ProcessSettings
from canvass.node.resume import resumption
from canvass.runner.configuration import MemberConfig, MemberStatus, read_config
from canvass.runner.stream_end import forget_last_step, last_states, next_numbers
from canvass.services.examples import SERVICES
from canvass.traces.recorder import RunRecorder, StreamRecorder
from canvass.traces.schema import Run
from canvass.traces.timeouts import settings_of

STATUS_PERIOD_NS: Final = 100_000_000
MARK_PERIOD_NS: Final = 1_000_000_000
"""How often the mark file is written, as Aeron does."""


def main() -> None:
    """Run the member that the configuration tells of, or say in a line what its disk has."""
    _die_with_parent()
    config = read_config(Path(sys.argv[1]))
    try:
        asyncio.run(_run(config))
    except (ArchiveError, OSError) as error:
        sys.exit(f"{config.data_folder}: {error}")


def _die_with_parent() -> None:
    """Let the kernel end this process with the one that has started it, even if it is stopped."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)


async def _run(config: MemberConfig) -> None:
    rules = Rules.of(config.revision, config.member_count)
    archive = Archive(FileStorage(Path(config.data_folder), sync=config.sync))
    recorder = _recorder(config, rules, archive) if config.run_folder else None
    settings = ProcessSettings(
        config.cluster_id,
        config.member_id,
        rules,
        Timing().divided(config.clock),
        config.member_ports,
        config.ingress_ports,
        session_timeout_ms=max(1_000, 10_000 // config.clock),
    )
    authenticator = None
    if config.secret:
        authenticator = SharedSecret(config.secret.encode(), lambda: os.urandom(32))
    reports = _Reports(config)
    services = [SERVICES[name]() for name in config.services]
    process = MemberProcess(settings, archive, services, recorder, authenticator, reports.on_cycle)
    reports.process = process
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, process.stop)
    loop.add_reader(sys.stdin.fileno(), _Commands(process).read)
    os.set_blocking(sys.stdout.fileno(), False)
    try:
        await process.run()
    finally:
        reports.write(ended=True)
        if recorder is not None:
            recorder.close()


def _recorder(config: MemberConfig, rules: Rules, archive: Archive) -> StreamRecorder:
    """Go on with the member's recording, so that it agrees with what is on disk."""
    i = config.member_id
    run = Run(
        schema="canvass.run/1",
        run_id=config.run_id,
        revision=config.revision,
        member_count=config.member_count,
        source={
            "kind": "processes",
            "services": config.services,
            "clock": config.clock,
            "timeouts": settings_of(Timing().divided(config.clock)),
        },
    )
    path = Path(config.run_folder) / f"member-{i}.ndjson"
    last, previous = last_states(path)
    todo = resumption(rules, i, archive.found(rules), last, previous)
    if todo.drop_last:
        forget_last_step(path)
    if todo.truncate_position is not None:
        archive.recording.truncate(todo.truncate_position)
    recorder = RunRecorder(Path(config.run_folder), run).member(i, next_numbers(path))
    if todo.noted is not None:
        x, outcome = todo.noted
        checksums = archive.recording.checksums([x.position])
        now_ns = time.monotonic_ns()
        recorder.record(now_ns, "RecordLog", outcome.next, inputs=x, log_checksums=checksums)
    return recorder


class _Commands:
    """Obeys the lines of stdin."""

    def __init__(self, process: MemberProcess) -> None:
        self._process, self._pending = process, b""

    def read(self) -> None:
        """Take what has come; its end is the end of the member."""
        data = os.read(sys.stdin.fileno(), 4096)
        if not data:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._process.stop()
            return
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            self._obey(line.decode().split())

    def _obey(self, words: list[str]) -> None:
        control = self._process.node.module.state.control
        match words:
            case ["stop"]:
                self._process.stop()
            case ["toggle", name] if name in ControlToggle.__members__:
                control.set_toggle(ControlToggle[name])
                self._process.wake()
            case ["node", name] if name in NodeToggle.__members__:
                control.set_node_toggle(NodeToggle[name])
                self._process.wake()
            case _:
                pass


class _Reports:
    """Writes status lines and the mark file."""

    process: MemberProcess

    def __init__(self, config: MemberConfig) -> None:
        self._config = config
        self._status_ns = self._mark_ns = 0
        self._last = b""

    def on_cycle(self, now_ns: int) -> None:
        """Write what is due."""
        if now_ns < self._status_ns:
            return
        self._status_ns = now_ns + STATUS_PERIOD_NS
        self.write(ended=False)
        if now_ns >= self._mark_ns:
            self._mark_ns = now_ns + MARK_PERIOD_NS
            self._mark()

    def write(self, *, ended: bool) -> None:
        """Say how the member is, if that has changed."""
        line = msgspec.json.encode(self._status(ended))
        if line != self._last:
            self._last = line
            try:
                # Shorter than a pipe takes at once: it goes whole or not at all.
                os.write(sys.stdout.fileno(), line + b"\n")
            except BlockingIOError:
                self._last = b""  # Nobody reads: it is said again.
            except BrokenPipeError:
                self.process.stop()

    def _status(self, ended: bool) -> MemberStatus:
        node = self.process.node
        s, control = node.member, node.module.state.control
        return MemberStatus(
            self._config.member_id,
            s.election_state.value,
            s.role.value,
            control.state.name,
            control.toggle.name,
            control.node_toggle.name,
            s.module_leadership_term_id,
            s.leader_member_id,
            s.recorded_position,
            s.commit_position,
            [agent.log_position for agent in node.module.agents],
            s.snapshot_log_position,
            len(node.module.state.sessions.by_id),
            node.steps,
            round(node.stalls.max_cycle_time_ns / 1e6, 1),
            node.stalls.exceeded_count,
            {**node.module.counters, **node.module.ingress.counters},
            ended,
        )

    def _mark(self) -> None:
        """Say in the data folder that the process lives, and how it is."""
        mark = {
            "pid": os.getpid(),
            "activityTimestamp": time.time_ns() // 1_000_000,
            "status": msgspec.to_builtins(self._status(ended=False)),
        }
        folder = Path(self._config.data_folder)
        aside = folder / ".cluster-mark.new"
        aside.write_bytes(msgspec.json.encode(mark) + b"\n")
        aside.rename(folder / ".cluster-mark.json")


if __name__ == "__main__":
    main()

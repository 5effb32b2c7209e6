"""The process of one member of `canvass run`: ``python -m canvass.cli.member CONFIG``.

It is started by `canvass.cli.supervisor`, obeys lines on stdin, says on stdout how it is, and ends
when stdin does. Here the parts are put together; none of them is here.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from canvass.cli.output import CommandError

if TYPE_CHECKING:
    from canvass.archive.archive import Archive
    from canvass.cluster.rules import Rules
    from canvass.node.process import MemberProcess
    from canvass.traces.recorder import StreamRecorder

STATUS_PERIOD_NS: Final = 100_000_000
MARK_PERIOD_NS: Final = 1_000_000_000
"""How often the mark file is written, as Aeron does."""


class MemberConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration of a member's process: the file that it is started with."""

    cluster_id: int
    member_id: int
    member_count: int
    revision: Literal["1.49", "1.50", "hardened"]
    clock: int
    """By how much all of Aeron's durations are divided."""
    member_ports: list[int]
    ingress_ports: list[int]
    data_folder: str
    services: list[str]
    """The names of the applications, in the order of their ids."""
    run_folder: str = ""
    """Where steps are recorded; empty for nowhere."""
    run_id: str = ""
    sync: bool = True
    secret: str = ""
    """What clients have to know; empty if everybody is let in."""


class MemberStatus(msgspec.Struct, frozen=True):
    """How a member is: a line of its stdout."""

    member_id: int
    election_state: str
    role: str
    module_state: str
    toggle: str
    node_toggle: str
    leadership_term_id: int
    leader_member_id: int
    recorded_position: int
    commit_position: int
    service_positions: list[int]
    snapshot_position: int
    sessions: int
    steps: int
    max_cycle_ms: float
    cycles_exceeded: int
    counters: dict[str, int]
    ended: bool = False


def read_config(path: Path) -> MemberConfig:
    """Read the configuration of a member.

    Raises
    ------
    CommandError
        If the file is not there, or is not that.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=MemberConfig)
    except FileNotFoundError:
        raise CommandError(f"{path} is missing: there is no such cluster") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} is not a member's configuration: {error}") from None


def main() -> None:
    """Run the member that the configuration tells of, or say in a line what its disk has."""
    from canvass.archive.storage import ArchiveError

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
    from canvass.archive.archive import Archive
    from canvass.archive.files import FileStorage
    from canvass.cluster.rules import Rules
    from canvass.cluster.timing import Timing
    from canvass.node.authentication import SharedSecret
    from canvass.node.process import MemberProcess, ProcessSettings
    from canvass.services.examples import SERVICES

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
    from canvass.cli.member_trace import forget_last_step, last_states, next_numbers
    from canvass.cluster.timing import Timing
    from canvass.node.resume import resumption
    from canvass.traces.recorder import RunRecorder
    from canvass.traces.schema import Run
    from canvass.traces.timeouts import settings_of

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
        from canvass.node.control import ControlToggle, NodeToggle

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

"""The supervisor of a cluster: it starts the members as processes and carries out commands.

No process is left behind. A member ends when its stdin ends, and the kernel ends it together with
the supervisor.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from canvass.runner import RunnerError
from canvass.runner.commands import Command
from canvass.runner.configuration import (
    ClusterFolder,
    MemberConfig,
    MemberStatus,
    read_config,
    read_mark,
)
from canvass.transport.links import HOST

STOP_TIMEOUT_S: Final = 5.0
LEADER_TIMEOUT_S: Final = 20.0
"""The time that a command waits for a leader or for its effect."""
PERIOD_S: Final = 0.05
APPENDED: Final = "actions appended"
"""The counter of a member that shows the results of control toggles."""
_STATES: Final = {"suspend": "SUSPENDED", "resume": "ACTIVE"}
"""The state of the module after a control toggle with a lasting effect."""


def free_ports(count: int) -> list[int]:
    """Find free ports of this machine."""
    held = []
    try:
        for _ in range(count):
            one = socket.socket()
            held.append(one)
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


async def until(condition: Callable[[], bool], timeout_s: float = LEADER_TIMEOUT_S) -> bool:
    """Wait until a condition holds. Return false after the timeout."""
    for _ in range(int(timeout_s / PERIOD_S)):
        if condition():
            return True
        await asyncio.sleep(PERIOD_S)
    return False


@dataclass
class _Member:
    process: asyncio.subprocess.Process | None = None
    end: asyncio.Task[None] | None = None
    paused: bool = False
    expected_to_end: bool = False
    incarnation: int = 0


@dataclass
class Supervisor:
    """The processes of one cluster.

    Parameters
    ----------
    folder
        The folder of the cluster.
    configs
        The configuration of each member.
    """

    folder: ClusterFolder
    configs: list[MemberConfig]
    done: list[str] = field(default_factory=list)
    """The commands that were carried out, as a user types them."""
    failures: list[str] = field(default_factory=list)
    """A sentence for each process that ended by itself, with the last line of its stderr."""

    def __post_init__(self) -> None:
        self._members = [_Member() for _ in self.configs]

    @property
    def endpoints(self) -> dict[int, str]:
        """The ingress endpoints."""
        return {i: f"{HOST}:{port}" for i, port in enumerate(self.configs[0].ingress_ports)}

    def status(self, i: int) -> MemberStatus | None:
        """The last status of a member, or None without a process or a status."""
        process = self._running(i)
        return None if process is None else read_mark(self.folder.data(i), process.pid)

    def is_up(self, i: int) -> bool:
        """Whether the process of a member exists, paused or not."""
        return self._running(i) is not None

    def _running(self, i: int) -> asyncio.subprocess.Process | None:
        process = self._members[i].process
        return process if process is not None and process.returncode is None else None

    def is_paused(self, i: int) -> bool:
        """Whether the process of a member is paused."""
        return self._members[i].paused

    def incarnation(self, i: int) -> int:
        """The number of the member's process incarnation, from 1."""
        return self._members[i].incarnation

    def leader(self) -> int | None:
        """The member that leads in the newest term, by the last statuses, or None."""
        found = [
            (status.leadership_term_id, i)
            for i in range(len(self.configs))
            if (status := self.status(i)) is not None
            and status.role == "LEADER"
            and status.election_state == "CLOSED"
        ]
        return max(found)[1] if found else None

    def check_again(self) -> None:
        """Check that the options agree with the cluster in the folder.

        Raises
        ------
        RunnerError
            If a configuration in the folder has other options.
        """
        for i, config in enumerate(self.configs):
            path = self.folder.config(i)
            old = read_config(path)
            for name in ("member_count", "revision", "clock", "services"):
                before, now = getattr(old, name), getattr(config, name)
                if before != now:
                    option = name.replace("_", " ")
                    raise RunnerError(f"{path}: the cluster has {option} {before!r}, not {now!r}")

    # Commands.

    async def carry_out(self, command: Command) -> None:
        """Carry out a command, and add its effects to `done`."""
        if command.action == "toggle":
            await self._toggle(command.target)
            return
        if command.target == "leader":
            await until(lambda: self.leader() is not None)
        for i in self._targets(command):
            await self._act(command.action, i)

    async def _toggle(self, name: str, *, quiet: bool = False) -> None:
        """Set the leader's control toggle once it is neutral, and wait for the effect.

        An election resets the toggle. Then the next leader's toggle is set.
        """
        given: tuple[int, int] | None = None
        before = 0
        for _ in range(int(LEADER_TIMEOUT_S / PERIOD_S)):
            leader = self.leader()
            status = None if leader is None else self.status(leader)
            if leader is not None and self.is_paused(leader):
                break  # A later command may resume the leader.
            if status is not None and leader is not None:
                if _STATES.get(name) == status.module_state:
                    break
                ready = "SUSPEND" if name == "resume" else "NEUTRAL"
                now = leader, status.counters.get("elections", 0)
                count = status.counters.get(APPENDED, 0)
                if given == now and name not in _STATES and (name == "abort" or count > before):
                    break
                if status.toggle == ready and given != now:
                    self._tell(leader, name)
                    given, before = now, count
            if given is not None and not any(map(self.is_up, range(len(self.configs)))):
                break  # The command has ended the cluster.
            await asyncio.sleep(PERIOD_S)
        if given is not None and not quiet:
            self.done.append(f"toggle {name}")

    async def snapshot(self) -> bool:
        """Let all members take a snapshot at the same position. Return false if they do not."""
        before = max(self._snapshot_positions(), default=0)
        await self._toggle("snapshot", quiet=True)

        def is_taken() -> bool:
            positions = self._snapshot_positions()
            return len(positions) == len(self.configs) and before < min(positions) == max(positions)

        return await until(is_taken)

    def _snapshot_positions(self) -> list[int]:
        statuses = map(self.status, range(len(self.configs)))
        return [status.snapshot_position for status in statuses if status is not None]

    def _targets(self, command: Command) -> list[int]:
        everyone = list(range(len(self.configs)))
        leader = self.leader()
        match command.target:
            case "all":
                return everyone
            case "leader":
                return [] if leader is None else [leader]
            case "follower":
                return [i for i in everyone if i != leader and self.is_up(i)][:1]
            case target:
                return [int(target)]

    async def _act(self, action: str, i: int) -> None:
        member = self._members[i]
        up = self.is_up(i)
        if action == "start" and not up:
            await self.start(i)
        elif action == "kill" and up:
            member.expected_to_end = True
            self._signal(i, signal.SIGKILL)
            await self._end(i)
        elif action == "stop" and up and not member.paused:
            member.expected_to_end = True
            self._signal(i, signal.SIGTERM)
        elif action == "pause" and up and not member.paused:
            member.paused = True
            self._signal(i, signal.SIGSTOP)
        elif action == "resume" and up and member.paused:
            member.paused = False
            self._signal(i, signal.SIGCONT)
        else:
            return
        self.done.append(f"{action} {i}")

    def _signal(self, i: int, number: signal.Signals) -> None:
        process = self._running(i)
        if process is not None:
            process.send_signal(number)

    def _tell(self, i: int, words: str) -> None:
        process = self._running(i)
        if process is not None and process.stdin is not None:
            process.stdin.write(words.encode() + b"\n")

    # Processes.

    async def start(self, i: int) -> None:
        """Start the process of a member."""
        member = self._members[i]
        path = self.folder.config(i)
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".new")
        try:
            aside.write_bytes(msgspec.json.format(msgspec.json.encode(self.configs[i]), indent=2))
            aside.replace(path)
        except OSError as error:
            raise RunnerError(f"{path}: {error.strerror}") from None
        with self.folder.log(i).open("ab") as log:
            member.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "canvass.runner.member_process",
                str(path),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the supervisor alone.
            )
        member.paused, member.expected_to_end = False, False
        member.incarnation += 1
        member.end = asyncio.create_task(self._await_end(i, member.process))

    async def _await_end(self, i: int, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        if code and not self._members[i].expected_to_end:
            self.failures.append(f"member {i} ended with code {code}: {self._last_words(i)}")

    def _last_words(self, i: int) -> str:
        lines = self.folder.log(i).read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "its stderr is empty"

    async def _end(self, i: int) -> None:
        end = self._members[i].end
        if end is not None:
            await end

    async def stop_all(self) -> None:
        """Stop all members. Kill members that do not stop in time."""
        for i, member in enumerate(self._members):
            member.expected_to_end = True
            self._signal(i, signal.SIGCONT)
            process = self._running(i)
            if process is not None and process.stdin is not None:
                process.stdin.close()
        waiting = [member.end for member in self._members if member.end is not None]
        if waiting:
            await asyncio.wait(waiting, timeout=STOP_TIMEOUT_S)
        for i in range(len(self._members)):
            if self.is_up(i):
                self._signal(i, signal.SIGKILL)
                self.failures.append(f"member {i} did not stop within {STOP_TIMEOUT_S:.0f} s")
                await self._end(i)

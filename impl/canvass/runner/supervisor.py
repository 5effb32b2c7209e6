"""Starts the members of a cluster as processes, watches them, and obeys commands about them.

Nothing is left behind: a member ends when its stdin does, and the kernel ends it with this process.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import msgspec

from canvass.runner import RunnerError
from canvass.runner.configuration import ClusterFolder, MemberConfig, MemberStatus, read_config
from canvass.runner.fault_script import Command
from canvass.transport.links import HOST

STOP_TIMEOUT_S: Final = 5.0
LEADER_TIMEOUT_S: Final = 20.0
"""How long what is to be done to a leader waits for one."""
PERIOD_S: Final = 0.05
APPENDED: Final = "actions appended"
NOT_FOUND: Final = "standby snapshots not found"
"""The counters of a member that say what the switches have come to."""
_STATES: Final = {"SUSPEND": "SUSPENDED", "RESUME": "ACTIVE"}
"""The state of the module that a position of the switch leads to, and that stays."""


def free_ports(count: int) -> list[int]:
    """Find ports of this machine that nobody listens at."""
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


@dataclass
class _Member:
    process: asyncio.subprocess.Process | None = None
    reader: asyncio.Task[None] | None = None
    status: MemberStatus | None = None
    paused: bool = False
    expected_to_end: bool = False
    lives: int = 0


@dataclass
class Supervisor:
    """The processes of one cluster.

    Parameters
    ----------
    folder
        Where they keep their things.
    configs
        What each is given.
    """

    folder: ClusterFolder
    configs: list[MemberConfig]
    counts: Counter[str] = field(default_factory=Counter)
    done: list[str] = field(default_factory=list)
    """What was done to members, in words."""
    failures: list[str] = field(default_factory=list)
    """Members that ended by themselves, with what they said."""

    def __post_init__(self) -> None:
        self._members = [_Member() for _ in self.configs]

    @property
    def endpoints(self) -> dict[int, str]:
        """The ingress endpoints."""
        return {i: f"{HOST}:{port}" for i, port in enumerate(self.configs[0].ingress_ports)}

    def status(self, i: int) -> MemberStatus | None:
        """What a member has said last, if it is up."""
        return self._members[i].status if self.is_up(i) else None

    def is_up(self, i: int) -> bool:
        """Whether the process of a member is there, paused or not."""
        process = self._members[i].process
        return process is not None and process.returncode is None

    def is_paused(self, i: int) -> bool:
        """Whether the process of a member is stopped."""
        return self._members[i].paused

    def lives(self, i: int) -> int:
        """How often a member was started."""
        return self._members[i].lives

    def leader(self) -> int | None:
        """The member that leads in the newest term, as far as is known."""
        found = [
            (status.leadership_term_id, i)
            for i in range(len(self.configs))
            if (status := self.status(i)) is not None
            and status.role == "LEADER"
            and status.election_state == "CLOSED"
        ]
        return max(found)[1] if found else None

    def check_again(self) -> None:
        """Refuse to go on with a cluster that was another one.

        Raises
        ------
        RunnerError
            If the folder's members were given something else.
        """
        for i, config in enumerate(self.configs):
            path = self.folder.config(i)
            old = read_config(path)
            for name in ("member_count", "revision", "clock", "services", "run_folder"):
                before, now = getattr(old, name), getattr(config, name)
                if before != now:
                    what = name.replace("_", " ")
                    raise RunnerError(f"{path}: the cluster has {what} {before!r}, not {now!r}")

    # Commands.

    async def obey(self, command: Command) -> None:
        """Do what a command says; what cannot be done now is left."""
        if command.action == "toggle":
            await self._toggle(command.target)
            return
        if command.action == "node":
            for i in self._targets(command):
                await self._toggle_node(command, i)
            return
        if command.target == "leader":
            await self._await_leader()
        for i in self._targets(command):
            await self._act(command.action, i)

    async def _toggle(self, name: str, *, quiet: bool = False) -> None:
        """Set the leader's switch once it is ready, and see that it took effect.

        An election resets the switch, so the next leader is given it again.
        """
        given: tuple[int, int] | None = None
        before = 0
        for _ in range(int(LEADER_TIMEOUT_S / PERIOD_S)):
            leader = self.leader()
            status = None if leader is None else self.status(leader)
            if leader is not None and self.is_paused(leader):
                break  # What waits behind this command may be what lets it go on.
            if status is not None and leader is not None:
                if _STATES.get(name) == status.module_state:
                    break
                ready = "SUSPEND" if name == "RESUME" else "NEUTRAL"
                now = leader, status.counters.get("elections", 0)
                count = status.counters.get(APPENDED, 0)
                if given == now and name not in _STATES and (name == "ABORT" or count > before):
                    break
                if status.toggle == ready and given != now:
                    self._tell(leader, f"toggle {name}")
                    given, before = now, count
            if given is not None and not any(map(self.is_up, range(len(self.configs)))):
                break  # It was the end that was asked for.
            await asyncio.sleep(PERIOD_S)
        if given is not None and not quiet:
            self._note(f"toggle {name.lower().replace('_', '-')}")

    async def _toggle_node(self, command: Command, i: int) -> None:
        """Set the switch of one member once it is ready, and wait for the result.

        An election takes back what the switch was set to, so the member is given it again then.
        """
        before: int | None = None
        set_after = -1
        for _ in range(int(LEADER_TIMEOUT_S / PERIOD_S)):
            status = self.status(i)
            if not self.is_up(i) or self.is_paused(i):
                return
            if status is None:
                await asyncio.sleep(PERIOD_S)
                continue
            count = status.counters.get(NOT_FOUND, 0)
            if before is not None and count > before:
                self._note(f"node {i} {command.toggle.lower().replace('_', '-')}: none found")
                return
            elections = status.counters.get("elections", 0)
            if status.node_toggle == "NEUTRAL" and set_after < elections:
                self._tell(i, f"node {command.toggle}")
                before, set_after = count, elections
            await asyncio.sleep(PERIOD_S)

    async def snapshot(self) -> bool:
        """Let all members take a snapshot at one position; false if they do not."""
        before = max(self._snapshot_positions(), default=0)
        await self._toggle("SNAPSHOT", quiet=True)
        for _ in range(int(LEADER_TIMEOUT_S / PERIOD_S)):
            positions = self._snapshot_positions()
            if len(positions) == len(self.configs) and before < min(positions) == max(positions):
                return True
            await asyncio.sleep(PERIOD_S)
        return False

    def _snapshot_positions(self) -> list[int]:
        statuses = map(self.status, range(len(self.configs)))
        return [status.snapshot_position for status in statuses if status is not None]

    async def _await_leader(self) -> None:
        """Wait for a leader if there is none now, as between two terms."""
        for _ in range(int(LEADER_TIMEOUT_S / PERIOD_S)):
            if self.leader() is not None:
                return
            await asyncio.sleep(PERIOD_S)

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
            await self._ended(i)
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
        self._note(f"{action} {i}")

    def _note(self, words: str) -> None:
        self.counts[words.split()[0]] += 1
        self.done.append(words)

    def _signal(self, i: int, number: signal.Signals) -> None:
        process = self._members[i].process
        if process is not None and process.returncode is None:
            process.send_signal(number)

    def _tell(self, i: int, words: str) -> None:
        process = self._members[i].process
        if process is not None and process.stdin is not None:
            process.stdin.write(words.encode() + b"\n")

    # Lives of processes.

    async def start(self, i: int) -> None:
        """Start the process of a member."""
        member = self._members[i]
        path = self.folder.config(i)
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".new")
        aside.write_bytes(msgspec.json.format(msgspec.json.encode(self.configs[i]), indent=2))
        aside.replace(path)
        with self.folder.log(i).open("ab") as log:
            member.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "canvass.runner.member_process",
                str(path),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the supervisor alone.
            )
        member.status, member.paused, member.expected_to_end = None, False, False
        member.lives += 1
        member.reader = asyncio.create_task(self._read(i, member.process))

    async def _read(self, i: int, process: asyncio.subprocess.Process) -> None:
        member = self._members[i]
        assert process.stdout is not None
        async for line in process.stdout:
            status = msgspec.json.decode(line, type=MemberStatus)
            member.status = status
            member.expected_to_end = member.expected_to_end or status.ended
        code = await process.wait()
        if not member.expected_to_end:
            self.failures.append(f"member {i} ended with code {code}: {self._last_words(i)}")

    def _last_words(self, i: int) -> str:
        lines = self.folder.log(i).read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    async def _ended(self, i: int) -> None:
        member = self._members[i]
        if member.reader is not None:
            await member.reader

    async def stop_all(self) -> None:
        """End all members in good order, or by force if they do not end."""
        for i, member in enumerate(self._members):
            member.expected_to_end = True
            if self.is_up(i) and member.process is not None:
                self._signal(i, signal.SIGCONT)
                if member.process.stdin is not None:
                    member.process.stdin.close()
        waiting = [member.reader for member in self._members if member.reader is not None]
        if waiting:
            await asyncio.wait(waiting, timeout=STOP_TIMEOUT_S)
        for i in range(len(self._members)):
            if self.is_up(i):
                self._signal(i, signal.SIGKILL)
                self.failures.append(f"member {i} did not stop within {STOP_TIMEOUT_S:.0f} s")
                await self._ended(i)

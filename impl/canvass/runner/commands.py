"""Commands to a running cluster: typed at its terminal, from a script, or drawn at random.

This module only reads and draws commands. `canvass.runner.supervisor` carries them out.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

from canvass.runner import RunnerError

MEMBER_ACTIONS: Final = ("kill", "start", "stop", "pause", "resume")
"""SIGKILL; start again; SIGTERM; SIGSTOP; SIGCONT."""
CLUSTER_ACTIONS: Final = (
    *("suspend", "resume", "snapshot", "shutdown", "abort"),
    "standby-snapshot",
)
"""Values of the control toggle."""
ROLES: Final = ("leader", "follower", "all")


@dataclass(frozen=True, slots=True)
class Command:
    """A command to a running cluster."""

    action: str
    """One of `MEMBER_ACTIONS`, ``"toggle"`` or ``"quit"``."""
    target: str = ""
    """A member's id or one of `ROLES`; for ``"toggle"`` one of `CLUSTER_ACTIONS`."""

    def __str__(self) -> str:
        """The command as a user types it."""
        return f"{self.action} {self.target}".rstrip()


@dataclass(frozen=True, slots=True)
class TimedCommand:
    """A command, and its time in seconds after the first leader."""

    at_s: float
    command: Command


def parse_command(text: str, member_count: int) -> Command:
    """Read one command.

    Raises
    ------
    RunnerError
        If the text is not a command.
    """
    words = text.split()
    match words:
        case ["quit"]:
            return Command("quit")
        case ["toggle", name] if (toggle := name.lower().replace("_", "-")) in CLUSTER_ACTIONS:
            return Command("toggle", toggle)
        case [action, target] if action in MEMBER_ACTIONS:
            return Command(action, _member(target, member_count))
        case _:
            who = f"ID|{'|'.join(ROLES)}"
            raise RunnerError(
                f"unknown command {text!r}; give {'|'.join(MEMBER_ACTIONS)} {who},"
                f" toggle {'|'.join(CLUSTER_ACTIONS)}, quit"
            )


def _member(target: str, member_count: int) -> str:
    if target in (*ROLES, *map(str, range(member_count))):
        return target
    ids = "0" if member_count == 1 else f"0 to {member_count - 1}"
    raise RunnerError(f"no member {target[:40]!r}: give {ids}, leader, follower or all")


def parse_script(text: str, member_count: int) -> list[TimedCommand]:
    """Read a script: on each line a time in seconds and a command; ``#`` begins a comment.

    Raises
    ------
    RunnerError
        If a line is wrong. The message names the line.
    """
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        time, _, command = words.partition(" ")
        try:
            at_s = float(time.removesuffix("s"))
        except ValueError:
            at_s = -1.0
        if not 0 <= at_s <= 1e6:
            raise RunnerError(f"line {number}: {time!r} is not a time in seconds")
        try:
            found.append(TimedCommand(at_s, parse_command(command, member_count)))
        except RunnerError as error:
            raise RunnerError(f"line {number}: {error}") from None
    return sorted(found, key=lambda one: one.at_s)


def random_script(seed: int, seconds: float, member_count: int, clock: int) -> list[TimedCommand]:
    """Draw kills, pauses and snapshots. At most one member is down or paused at a time.

    Parameters
    ----------
    seed
        The seed of the random numbers.
    seconds
        The length of the script.
    member_count, clock
        The number of members, and the divisor of Aeron's durations: kills and pauses last up to
        three heartbeat timeouts.
    """
    rng = random.Random(f"canvass/run/{seed}")
    heartbeat_s = 10 / clock
    found: list[TimedCommand] = []
    at_s = 3 * heartbeat_s
    while True:
        lasts_s = heartbeat_s * rng.choice((0.1, 0.5, 1.5, 3.0))
        if at_s + lasts_s > seconds:
            return found
        target = rng.choice(("leader", "leader", *(str(i) for i in range(member_count))))
        if rng.random() < 0.6:
            found.append(TimedCommand(at_s, Command("kill", target)))
            found.append(TimedCommand(at_s + lasts_s, Command("start", "all")))
        else:
            found.append(TimedCommand(at_s, Command("pause", target)))
            found.append(TimedCommand(at_s + lasts_s, Command("resume", "all")))
        if rng.random() < 0.3:
            found.append(TimedCommand(at_s + lasts_s / 2, Command("toggle", "snapshot")))
        at_s += lasts_s + heartbeat_s * (0.5 + 2 * rng.random())


MAX_READ: Final = 4_096


class TypedCommands:
    """A queue of commands. While it is open, lines of stdin are added to it.

    Parameters
    ----------
    member_count
        The number of members.
    say
        A function that shows a line at the terminal of the run.
    """

    def __init__(self, member_count: int, say: Callable[[str], None]) -> None:
        self._member_count, self._say = member_count, say
        self.queue: asyncio.Queue[Command] = asyncio.Queue()
        self._watches = False
        self._pending = b""

    def __enter__(self) -> Self:
        """Start to read stdin."""
        with suppress(OSError, ValueError):  # There may be no stdin, or stdin is a file.
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read)
            self._watches = True
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop reading."""
        if self._watches:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._watches = False

    def _read(self) -> None:
        data = os.read(sys.stdin.fileno(), MAX_READ)
        *lines, self._pending = (self._pending + (data or b"\n")).split(b"\n")
        for line in lines:
            if text := line.decode(errors="replace").strip():
                try:
                    self.queue.put_nowait(parse_command(text, self._member_count))
                except RunnerError as error:
                    self._say(str(error))
        if not data:
            self.__exit__()  # The end of stdin does not end the run.

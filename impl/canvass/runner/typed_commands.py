"""The commands that are typed at the terminal of a running cluster, or are due by its script."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

from canvass.runner import RunnerError
from canvass.runner.fault_script import Command, parse_command

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

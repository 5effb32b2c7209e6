"""The sources of commands to a running cluster: its terminal, and other terminals.

Another terminal reaches the run through a socket in the cluster's folder, with `send_command`.
`canvass.runner.supervisor` carries the commands out.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from canvass.runner import RunnerError
from canvass.runner.fault_script import Command, parse_command

SOCKET: Final = "control.sock"
DONE: Final = "ok"
"""The first word of an answer to another terminal if the command was carried out."""
MAX_LINE: Final = 4_096


@contextmanager
def socket_path(folder: Path) -> Iterator[str]:
    """A short path of the socket in a folder, because the path of a socket has a length limit."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        short = f"/proc/self/fd/{descriptor}/{SOCKET}"
        yield short if sys.platform == "linux" else str(folder / SOCKET)
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class QueuedCommand:
    """A command, and the function that receives the commands that were done, or an empty text."""

    command: Command
    answer: Callable[[str], None]


class RunCommands:
    """The commands that arrive while a cluster runs.

    Parameters
    ----------
    folder
        The folder of the cluster.
    member_count
        The number of members.
    say
        A function that shows a line at the terminal of the run.
    """

    def __init__(self, folder: Path, member_count: int, say: Callable[[str], None]) -> None:
        self._folder, self._member_count, self._say = folder, member_count, say
        self.queue: asyncio.Queue[QueuedCommand] = asyncio.Queue()
        self._server: asyncio.Server | None = None
        self._watches = False
        self._pending = b""

    async def __aenter__(self) -> Self:
        """Start to listen."""
        with suppress(OSError, ValueError):  # There may be no stdin, or stdin is a file.
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read)
            self._watches = True
        with suppress(OSError), socket_path(self._folder) as path:
            self._server = await asyncio.start_unix_server(self._serve, path, limit=MAX_LINE)
        return self

    async def __aexit__(self, *_exception: object) -> None:
        """Stop listening."""
        self._stop_reading()
        if self._server is not None:
            self._server.close()
            (self._folder / SOCKET).unlink(missing_ok=True)

    def _stop_reading(self) -> None:
        if self._watches:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._watches = False

    def _read(self) -> None:
        data = os.read(sys.stdin.fileno(), MAX_LINE)
        *lines, self._pending = (self._pending + (data or b"\n")).split(b"\n")
        for line in lines:
            if line.strip():
                try:
                    self.queue_command(self._command(line))
                except RunnerError as error:
                    self._say(str(error))
        if not data:
            self._stop_reading()  # The end of stdin does not end the run.

    def _command(self, line: bytes) -> Command:
        return parse_command(line.decode(errors="replace").strip(), self._member_count)

    def queue_command(self, command: Command) -> None:
        """Queue a command. If the command has no effect, the terminal of the run shows this."""

        def answer(done: str) -> None:
            if not done:
                self._say(f"{command}: nothing to do")

        self.queue.put_nowait(QueuedCommand(command, answer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one line of another terminal, and answer with the result."""
        result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        text = ""

        def answer(done: str) -> None:
            if not result.done():
                nothing = f"{text}: nothing to do"
                result.set_result(f"{DONE} {done}" if done else nothing)

        try:
            try:
                line = await reader.readline()
                text = line.decode(errors="replace").strip()
                self.queue.put_nowait(QueuedCommand(self._command(line), answer))
            except RunnerError as error:
                result.set_result(str(error))
            except ValueError:
                result.set_result(f"a command has no more than {MAX_LINE:,} bytes")
            writer.write(f"{await result}\n".encode())
            await writer.drain()
        except ConnectionError:
            pass  # The other terminal has gone.
        finally:
            writer.close()


def send_command(folder: Path, line: str, timeout_s: float) -> str:
    """Send one line to the run of a cluster. Return the commands that were done.

    Raises
    ------
    RunnerError
        If the cluster is not running, if the command is refused, or if it is not done in time.
    """
    if not folder.is_dir():
        raise RunnerError(f"{folder} is not a folder")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            with socket_path(folder) as path:
                connection.connect(path)
            connection.sendall(line.replace("\n", " ").encode() + b"\n")
            with connection.makefile(encoding="utf-8") as lines:
                answer = lines.readline().strip()
        except TimeoutError:
            raise RunnerError(f"the command was not done within {timeout_s:g} s") from None
        except OSError:
            raise RunnerError(f"{folder}: its cluster is not running") from None
    begin, _, done = answer.partition(" ")
    if begin != DONE:
        raise RunnerError(answer or "the cluster ended before the command was done")
    return done

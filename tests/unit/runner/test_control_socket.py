"""Commands to a run: typed lines in any pieces, and a line of another terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from canvass.runner.control_socket import SOCKET, RunCommands, socket_path


def test_typed_lines_are_read_in_pieces_and_their_end_does_not_end_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    said: list[str] = []

    async def taken() -> list[str]:
        found = []
        async with RunCommands(tmp_path, 3, said.append) as commands, asyncio.timeout(60):
            os.write(writing, b"kill 1\nnonsense\n\nquit\ntoggle sn")
            found += [(await commands.queue.get()).command for _ in range(2)]
            os.write(writing, b"apshot\nstart all")
            found.append((await commands.queue.get()).command)
            os.close(writing)
            found.append((await commands.queue.get()).command)
        return [str(one) for one in found]

    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert asyncio.run(taken()) == ["kill 1", "quit", "toggle snapshot", "start all"]
    assert len(said) == 1
    assert said[0].startswith("unknown command 'nonsense'")


@pytest.mark.parametrize(
    ("line", "done", "answer"),
    [
        ("kill 1\n", "kill 1", "ok kill 1\n"),
        ("kill 1", "", "kill 1: nothing to do\n"),
        ("kill 9\n", "", "no member '9': give 0 to 2, leader, follower or all\n"),
        ("x" * 9_999, "", "a command has no more than 4,096 bytes\n"),
    ],
)
def test_another_terminal_receives_the_result_of_its_command(
    tmp_path: Path, line: str, done: str, answer: str
) -> None:
    folder = tmp_path / ("deep" * 40)  # Longer than the path of a socket may be.
    folder.mkdir()

    async def ask_and_read() -> str:
        async with RunCommands(folder, 3, lambda _words: None) as commands, asyncio.timeout(60):
            with socket_path(folder) as path:
                reader, writer = await asyncio.open_unix_connection(path)
            writer.write(line.encode())
            if not line.endswith("\n"):
                writer.write_eof()
            reading = asyncio.create_task(reader.readline())
            if answer.startswith(("ok", "kill 1: nothing")):
                (await commands.queue.get()).answer(done)
            found = await reading
            writer.close()
        return found.decode()

    assert asyncio.run(ask_and_read()) == answer
    assert not (folder / SOCKET).exists()

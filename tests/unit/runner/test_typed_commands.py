"""Commands to a run: typed lines in any pieces."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from canvass.runner.commands import TypedCommands


def test_typed_lines_are_read_in_pieces_and_their_end_does_not_end_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    said: list[str] = []

    async def taken() -> list[str]:
        found = []
        async with asyncio.timeout(60):
            with TypedCommands(3, said.append) as commands:
                os.write(writing, b"kill 1\nnonsense\n\nquit\ntoggle sn")
                found += [await commands.queue.get() for _ in range(2)]
                os.write(writing, b"apshot\nstart all")
                found.append(await commands.queue.get())
                os.close(writing)
                found.append(await commands.queue.get())
        return [str(one) for one in found]

    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert asyncio.run(taken()) == ["kill 1", "quit", "toggle snapshot", "start all"]
    assert len(said) == 1
    assert said[0].startswith("unknown command 'nonsense'")

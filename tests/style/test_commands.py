"""The commands of canvass and their options are those of a table, and become fewer.

`pytest tests/style/test_commands.py --rewrite` writes `commands.txt` again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import typer.main

from canvass.cli.main import build_app

TABLE: Final = Path(__file__).with_name("commands.txt")
MOST_COMMANDS: Final = 25
"""The target is 20."""
MOST_OPTIONS: Final = 110
"""The target is 90."""


def commands(command: Any, name: Sequence[str] = ()) -> Iterator[tuple[str, list[str]]]:
    """The commands below a command, each with its options but for `--help`."""
    if hasattr(command, "list_commands"):
        for part in command.list_commands(None):
            yield from commands(command.get_command(None, part), (*name, part))
    else:
        options = [one.opts[0] for one in command.params if one.name != "help"]
        yield " ".join(name), [one for one in options if one.startswith("--")]


def test_commands_and_options_are_those_of_the_table(rewrite: bool) -> None:
    """A number above may only fall."""
    found = dict(commands(typer.main.get_command(build_app())))
    text = "".join(f"{name}: {' '.join(options)}\n" for name, options in found.items())
    if rewrite:
        TABLE.write_text(text)

    assert text == TABLE.read_text()
    assert len(found) <= MOST_COMMANDS
    assert sum(map(len, found.values())) <= MOST_OPTIONS

"""How a scenario is written: prose, commands, a ruled line, and what is to be printed.

A scenario is a text of blocks. A block is prose (lines that begin with ``#``), then commands, one a
line, then a line ``----``, then the expected output up to the next empty line. Here a text becomes
blocks and a line becomes a `Command`; what commands do is in
`canvass.simulation.scenario.dialogue`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

RULE = "----"


class ScenarioError(Exception):
    """A scenario that cannot be read or carried out; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Block:
    """One exchange of a dialogue."""

    line: int
    """The number of its first line, from 1."""
    prose: tuple[str, ...]
    commands: tuple[str, ...]
    expected: str

    def text(self, output: str) -> str:
        """The block as it stands in the file, with this output."""
        return "\n".join((*self.prose, *self.commands, RULE, output)).rstrip() + "\n"


def blocks(text: str) -> Iterator[Block]:
    """Read the blocks of a scenario.

    Raises
    ------
    ScenarioError
        If a block has no commands or no ruled line.
    """
    at, lines = 0, [line.rstrip() for line in text.splitlines()]
    while at < len(lines):
        if not lines[at]:
            at += 1
            continue
        first = at
        while at < len(lines) and lines[at].startswith("#"):
            at += 1
        prose = lines[first:at]
        begin = at
        while at < len(lines) and lines[at] and lines[at] != RULE:
            at += 1
        commands = lines[begin:at]
        if not commands and (at == len(lines) or not lines[at]):
            yield Block(first + 1, tuple(prose), (), "")
            continue
        if not commands or at == len(lines) or lines[at] != RULE:
            raise ScenarioError(f"line {first + 1}: a block is commands, a line {RULE}, output")
        at += 1
        begin = at
        while at < len(lines) and lines[at]:
            at += 1
        yield Block(first + 1, tuple(prose), tuple(commands), "\n".join(lines[begin:at]))


@dataclass(frozen=True, slots=True)
class Command:
    """One line of a scenario: a verb, words, and ``key=value`` pairs."""

    verb: str
    words: tuple[str, ...]
    values: dict[str, str]

    def integer(self, key: str) -> int | None:
        """The value of a key as an integer, None if it is not given; a dash is -1."""
        if key not in self.values:
            return None
        return integer(self.values[key])

    def members(self, key: str) -> frozenset[int] | None:
        """The value of a key as a set of members, None if it is not given; ``none`` is empty."""
        if key not in self.values:
            return None
        value = self.values[key]
        return frozenset() if value == "none" else frozenset(integer(k) for k in value.split(","))


def integer(text: str) -> int:
    """Read an integer; a dash is -1.

    Raises
    ------
    ScenarioError
        If it is none.
    """
    if text == "-":
        return -1
    try:
        return int(text)
    except ValueError:
        raise ScenarioError(f"{text!r} is no number") from None


def command(line: str) -> Command:
    """Read one line of commands."""
    verb, *rest = line.split()
    words = tuple(word for word in rest if "=" not in word)
    values = dict(word.split("=", 1) for word in rest if "=" in word)
    return Command(verb, words, values)

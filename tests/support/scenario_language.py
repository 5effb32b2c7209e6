"""The language of scenarios: prose, commands, a ruled line, and the expected output.

A scenario is a text of blocks. A block has prose (lines that begin with ``#``), then commands, one
on each line, then a line ``----``, then the expected output up to the next empty line. This module
reads a text as blocks, and a line as a `Command`. `support.dialogue` runs the commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from canvass.cluster.messages import (
    CATCHUP_FLAG,
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CatchupPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    RequestVote,
    StopCatchup,
    TerminationAck,
    TerminationPosition,
    Vote,
)

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
        """The text of the block in the file, with this output."""
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

    line: str
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
        If the text is not an integer.
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
    return Command(line, verb, words, values)


def number(value: int) -> str:
    """A term, position or id; a dash stands for null."""
    return "-" if value == NULL_VALUE else str(value)


def place(term: int, position: int) -> str:
    """A term with a position in it."""
    return f"{number(term)}@{number(position)}"


def span(term: int, base: int, end: int) -> str:
    """A term with its base and end."""
    return f"{number(term)}[{number(base)},{number(end)})"


_FORMS: Final[Mapping[type[Message], str]] = {
    CanvassPosition: (
        "log={log_leadership_term_id}@{log_position} term={leadership_term_id} "
        "from={follower_member_id}"
    ),
    RequestVote: (
        "log={log_leadership_term_id}@{log_position} term={candidate_term_id} "
        "candidate={candidate_member_id}"
    ),
    Vote: (
        "{vote} log={log_leadership_term_id}@{log_position} term={candidate_term_id} "
        "candidate={candidate_member_id} from={follower_member_id}"
    ),
    NewLeadershipTerm: (
        "about={log_leadership_term_id} "
        "next={next_leadership_term_id}[{next_term_base_log_position},{next_log_position}) "
        "term={leadership_term_id} base={term_base_log_position} position={log_position} "
        "commit={commit_position} from={leader_member_id}"
    ),
    AppendPosition: "log={leadership_term_id}@{log_position} from={follower_member_id} {flags}",
    CommitPosition: "log={leadership_term_id}@{log_position} from={leader_member_id}",
    CatchupPosition: "log={leadership_term_id}@{log_position} from={follower_member_id}",
    StopCatchup: "term={leadership_term_id} to={follower_member_id}",
    TerminationPosition: "log={leadership_term_id}@{log_position}",
    TerminationAck: "log={leadership_term_id}@{log_position} from={member_id}",
}
"""The form in which each message is written, with its fields."""
_WORDS: Final[Mapping[str, Mapping[int, str]]] = {
    "vote": {True: "YES", False: "NO"},
    "flags": {0: "", CATCHUP_FLAG: "CATCHUP"},
}
"""The fields that are written as a word, and the word for each value."""
_FIELD: Final = re.compile(r"\\{(\w+)\\}")


def said(m: Message) -> str:
    """A message as it is written."""
    values = {name: getattr(m, name) for name in m.__struct_fields__}
    shown = {
        name: _WORDS[name].get(value, "") if name in _WORDS else number(value)
        for name, value in values.items()
    }
    return " ".join((type(m).__name__, *_FORMS[type(m)].format_map(shown).split()))


def heard(text: str) -> Message:
    """Read a message as it is written.

    Raises
    ------
    ScenarioError
        If it is not written as its form says.
    KeyError
        If a vote is neither YES nor NO.
    """
    name, _, rest = text.partition(" ")
    for kind, form in _FORMS.items():
        pattern = _FIELD.sub(r"(?P<\1>[^@, ]*)", re.escape(form))
        pattern = pattern.replace("\\ (?P<flags>[^@, ]*)", "(?P<flags>|\\ CATCHUP)")
        if kind.__name__ == name and (found := re.fullmatch(pattern, rest)) is not None:
            values: dict[str, Any] = {}
            for field, shown in found.groupdict().items():
                words = {word: value for value, word in _WORDS.get(field, {}).items()}
                values[field] = words[shown.strip()] if words else integer(shown)
            return kind(**values)
    raise ScenarioError(f"no message is written as {text!r}")

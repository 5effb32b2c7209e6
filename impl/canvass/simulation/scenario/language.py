"""How a scenario is written: prose, commands, a ruled line, and what is to be printed.

A scenario is a text of blocks. A block is prose (lines that begin with ``#``), then commands, one a
line, then a line ``----``, then the expected output up to the next empty line. Here a text becomes
blocks and a line becomes a `Command`; what commands do is in
`canvass.simulation.scenario.dialogue`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

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


_SPAN: Final = re.compile(r"(-|\d+)\[(-|\d+),(-|\d+)\)")


def number(value: int) -> str:
    """A term, position or id; none is a dash."""
    return "-" if value == NULL_VALUE else str(value)


def place(term: int, position: int) -> str:
    """A term with a position in it."""
    return f"{number(term)}@{number(position)}"


def span(term: int, base: int, end: int) -> str:
    """A term with its base and end."""
    return f"{number(term)}[{number(base)},{number(end)})"


def said(m: Message) -> str:
    """A message as it is written."""
    match m:
        case CanvassPosition(log_term, position, term, follower):
            fields = f"log={place(log_term, position)} term={number(term)} from={follower}"
        case RequestVote(log_term, position, term, candidate):
            fields = f"log={place(log_term, position)} term={number(term)} candidate={candidate}"
        case Vote(term, log_term, position, candidate, follower, vote):
            fields = (
                f"{'YES' if vote else 'NO'} log={place(log_term, position)} term={number(term)} "
                f"candidate={candidate} from={follower}"
            )
        case NewLeadershipTerm():
            following = span(
                m.next_leadership_term_id, m.next_term_base_log_position, m.next_log_position
            )
            fields = (
                f"about={number(m.log_leadership_term_id)} next={following} "
                f"term={number(m.leadership_term_id)} base={number(m.term_base_log_position)} "
                f"position={number(m.log_position)} commit={number(m.commit_position)} "
                f"from={m.leader_member_id}"
            )
        case AppendPosition(term, position, follower, flags):
            flag = " CATCHUP" if flags == CATCHUP_FLAG else ""
            fields = f"log={place(term, position)} from={follower}{flag}"
        case CommitPosition(term, position, leader):
            fields = f"log={place(term, position)} from={leader}"
        case CatchupPosition(term, position, follower):
            fields = f"log={place(term, position)} from={follower}"
        case StopCatchup(term, follower):
            fields = f"term={number(term)} to={follower}"
        case TerminationPosition(term, position):
            fields = f"log={place(term, position)}"
        case TerminationAck(term, position, member):
            fields = f"log={place(term, position)} from={member}"
    return f"{type(m).__name__} {fields}"


class _Words:
    """The words of a message, each to be asked for."""

    def __init__(self, words: Sequence[str]) -> None:
        self._flags = {word for word in words if "=" not in word}
        self._values = dict(word.split("=", 1) for word in words if "=" in word)

    def flag(self, word: str) -> bool:
        found = word in self._flags
        self._flags.discard(word)
        return found

    def number(self, key: str) -> int:
        return integer(self._values.pop(key))

    def place(self) -> tuple[int, int]:
        term, position = self._values.pop("log").split("@")
        return integer(term), integer(position)

    def span(self, key: str) -> tuple[int, int, int]:
        text = self._values.pop(key)
        found = _SPAN.fullmatch(text)
        if not found:
            raise ScenarioError(f"{text!r} is no term with base and end")
        return integer(found[1]), integer(found[2]), integer(found[3])

    def end(self) -> None:
        left = [*sorted(self._flags), *self._values]
        if left:
            raise ScenarioError(f"a message does not say {' '.join(left)!r}")


def _read(kind: str, words: _Words) -> Message:
    match kind:
        case "CanvassPosition":
            return CanvassPosition(*words.place(), words.number("term"), words.number("from"))
        case "RequestVote":
            return RequestVote(*words.place(), words.number("term"), words.number("candidate"))
        case "Vote":
            voter = (words.number("candidate"), words.number("from"))
            vote = words.flag("YES")
            if vote == words.flag("NO"):
                raise ScenarioError("a vote is YES or NO")
            return Vote(words.number("term"), *words.place(), *voter, vote)
        case "NewLeadershipTerm":
            about, following = words.number("about"), words.span("next")
            current = [words.number(key) for key in ("term", "base", "position", "commit", "from")]
            return NewLeadershipTerm(about, *following, *current)
        case "AppendPosition":
            flags = CATCHUP_FLAG if words.flag("CATCHUP") else 0
            return AppendPosition(*words.place(), words.number("from"), flags)
        case "CommitPosition":
            return CommitPosition(*words.place(), words.number("from"))
        case "CatchupPosition":
            return CatchupPosition(*words.place(), words.number("from"))
        case "StopCatchup":
            return StopCatchup(words.number("term"), words.number("to"))
        case "TerminationPosition":
            return TerminationPosition(*words.place())
        case "TerminationAck":
            return TerminationAck(*words.place(), words.number("from"))
        case _:
            raise ScenarioError(f"there is no message {kind!r}")


def heard(kind: str, words: Sequence[str]) -> Message:
    """Read a message from its type and the words that follow.

    Raises
    ------
    ScenarioError
        If it lacks a word, or has one too many.
    """
    reader = _Words(words)
    try:
        message = _read(kind, reader)
    except (KeyError, ValueError) as error:
        raise ScenarioError(f"{kind} lacks, or misspells, {error}") from error
    reader.end()
    return message


def sender_of(m: Message, leader: int) -> int:
    """Who has sent a message: what it says, or else the leader of the member that it is for."""
    match m:
        case CanvassPosition() | Vote() | AppendPosition() | CatchupPosition():
            return m.follower_member_id
        case RequestVote():
            return m.candidate_member_id
        case NewLeadershipTerm() | CommitPosition():
            return m.leader_member_id
        case TerminationAck():
            return m.member_id
        case StopCatchup() | TerminationPosition():
            return leader

"""How a message is written in a scenario, and read from one: the same words both ways.

A message is its type and then ``key=value`` pairs in a fixed order; -1 is written as a dash, a
position after its term as ``term@position``, a term with base and end as ``term[base,end)``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
from canvass.simulation.scenario.language import ScenarioError, integer

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

"""Copies of logs with one false line: each kind of falsehood, at every place where it is possible.

A copy comes with the place of its false line. Nothing here runs an import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

Logs: TypeAlias = Mapping[int, Sequence[str]]

_WON: Final = "CANDIDATE_BALLOT -> LEADER_LOG_REPLICATION"
_STOOD: Final = "NOMINATE -> CANDIDATE_BALLOT"


@dataclass(frozen=True)
class FalseCopy:
    """A copy of logs in which one line is false.

    Parameters
    ----------
    member_id, line
        The member and the number of the false line, from 1.
    logs
        The copied logs.
    """

    kind: str
    member_id: int
    line: int
    logs: dict[int, list[str]]

    def __str__(self) -> str:
        return f"{self.kind} at member-{self.member_id}.log:{self.line}"


def number_in(line: str, name: str) -> int:
    """The number that a line gives for a name."""
    found = re.search(rf"\b{name}=(-?\d+)", line)
    assert found is not None, line
    return int(found[1])


def with_number(line: str, name: str, value: int) -> str:
    """The line with another number for a name."""
    return re.sub(rf"\b{name}=-?\d+", f"{name}={value}", line, count=1)


def stamp_of(line: str) -> float:
    """The stamp of a line; 0 of one that has none."""
    match = re.match(r"\[([\d.]+)\]", line)
    return float(match[1]) if match else 0.0


def _places(logs: Logs, *texts: str) -> Iterator[tuple[int, int, str]]:
    """Member, index and line of each line that contains all of some texts."""
    for member_id, lines in logs.items():
        for index, line in enumerate(lines):
            if all(text in line for text in texts):
                yield member_id, index, line


def _copy(
    logs: Logs, kind: str, member_id: int, index: int, lines: Sequence[str] | str
) -> FalseCopy:
    """A copy in which ``lines`` replace a member's log, or a single one replaces one line."""
    copied = {one: list(found) for one, found in logs.items()}
    if isinstance(lines, str):
        copied[member_id][index] = lines
    else:
        copied[member_id] = list(lines)
    return FalseCopy(kind, member_id, index + 1, copied)


def second_votes(logs: Logs) -> Iterator[FalseCopy]:
    """A member that has granted a vote grants another one in the same term, to another member."""
    for candidate, _, vote in _places(logs, "CLUSTER: VOTE ", "vote=true"):
        voter = number_in(vote, "voterId")
        for other in set(logs) - {candidate, voter}:
            forged = with_number(with_number(vote, "memberId", other), "candidateId", other)
            lines = list(logs[other])
            before = [k for k, line in enumerate(lines) if 0 < stamp_of(line) <= stamp_of(vote)]
            if before:
                lines.insert(before[-1] + 1, forged)
                yield _copy(logs, "second vote", other, before[-1] + 1, lines)


def granted_refusals(logs: Logs) -> Iterator[FalseCopy]:
    """A vote that was refused is said to have been granted."""
    for candidate, index, vote in _places(logs, "CLUSTER: VOTE ", "vote=false"):
        yield _copy(logs, "refusal", candidate, index, vote.replace("vote=false", "vote=true"))


def commits_beyond(logs: Logs) -> Iterator[FalseCopy]:
    """A commit position is beyond every position that any member has recorded."""
    highest = max(
        number_in(line, name)
        for event, name in (("APPEND_POSITION", "logPosition"), ("NEW_ELECTION", "appendPosition"))
        for _, _, line in _places(logs, f"CLUSTER: {event} ")
    )
    for member_id, index, line in _places(logs, "CLUSTER: COMMIT_POSITION "):
        beyond = with_number(line, "logPosition", highest + 1_000_000 * 32)
        yield _copy(logs, "commit beyond", member_id, index, beyond)


def unelected_leaders(logs: Logs) -> Iterator[FalseCopy]:
    """A candidate wins, but its log has none of the votes of its ballot."""
    for member_id, index, _ in _places(logs, _WON):
        lines = list(logs[member_id])
        begun = max(k for k in range(index) if _STOOD in lines[k])
        if not (votes := [k for k in range(begun, index) if "CLUSTER: VOTE " in lines[k]]):
            continue  # A cluster of one.
        kept = [line for k, line in enumerate(lines) if k not in votes]
        # The log had lost its vote anyway if others tell who they voted for: no line is missing.
        yield _copy(logs, "no votes", member_id, index - len(votes), kept)


def swapped_changes(logs: Logs) -> Iterator[FalseCopy]:
    """Two consecutive changes of the election state have changed places."""
    yield from _swapped(logs, "swapped changes", " ELECTION_STATE_CHANGE ")


def _swapped(logs: Logs, kind: str, event: str) -> Iterator[FalseCopy]:
    for member_id, lines in logs.items():
        changes = [k for k, line in enumerate(lines) if event in line]
        for first, second in pairwise(changes):
            if any("log started" in line for line in lines[first:second]):
                continue
            swapped = list(lines)
            begins = [lines[k].split("]", 1)[0] for k in (first, second)]
            texts = [lines[k].split("]", 1)[1] for k in (second, first)]
            for k, begin, text in zip((first, second), begins, texts, strict=True):
                swapped[k] = f"{begin}]{text}"
            yield _copy(logs, kind, member_id, first, swapped)


def swapped_states(logs: Logs) -> Iterator[FalseCopy]:
    """Two consecutive changes of the module's state have changed places."""
    yield from _swapped(logs, "swapped states", " STATE_CHANGE ")


def false_roles(logs: Logs) -> Iterator[FalseCopy]:
    """A change of the role leads to another role."""
    for member_id, index, line in _places(logs, "CLUSTER: ROLE_CHANGE "):
        old, new = re.findall("FOLLOWER|CANDIDATE|LEADER", line)
        (other,) = {"FOLLOWER", "CANDIDATE", "LEADER"} - {old, new}
        forged = line.replace(f"{old} -> {new}", f"{old} -> {other}")
        yield _copy(logs, "false role", member_id, index, forged)


def deep_cuts(logs: Logs) -> Iterator[FalseCopy]:
    """A log is truncated below the position that its member knows to be committed."""
    for member_id, index, line in _places(logs, "CLUSTER: TRUNCATE_LOG_ENTRY "):
        yield _copy(logs, "deep cut", member_id, index, with_number(line, "newPosition", 32))


def false_leaders(logs: Logs) -> Iterator[FalseCopy]:
    """A NewLeadershipTerm comes from a member that has not won that term."""
    for member_id, index, line in _places(logs, "CLUSTER: NEW_LEADERSHIP_TERM "):
        leader = number_in(line, "leaderId")
        for other in sorted(set(logs) - {leader, member_id}):
            forged = with_number(line, "leaderId", other)
            yield _copy(logs, "false leader", member_id, index, forged)


KINDS: Final[dict[str, Callable[[Logs], Iterator[FalseCopy]]]] = {
    "second vote": second_votes,
    "refusal": granted_refusals,
    "commit beyond": commits_beyond,
    "no votes": unelected_leaders,
    "swapped changes": swapped_changes,
    "swapped states": swapped_states,
    "false role": false_roles,
    "deep cut": deep_cuts,
    "false leader": false_leaders,
}


def spread(copies: Iterator[FalseCopy], count: int) -> list[FalseCopy]:
    """At most ``count`` of the copies, spread over the whole logs."""
    found = list(copies)
    step = max(1, -(-len(found) // count))
    return found[::step]

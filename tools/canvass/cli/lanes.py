"""A counterexample of the cluster as swim lanes: a column for each member, a row for each step.

Reads the variables of `Cluster.tla` from the states of a `Counterexample`; nothing here runs TLC.
A message is drawn where it arrives, as an arrow from the lane of its sender, and worded as in the
scenarios. Of a member's state only what a reader follows a story by is reported.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from canvass.cli.counterexample import Counterexample
from canvass.cli.output import CommandError
from canvass.cluster import messages
from canvass.simulation.scenario.language import said, span
from canvass.tlc import ValueSyntaxError

_MARGIN: Final = 5
_WIDTH: Final = 34
_VARIABLES: Final = ("member", "channel", "log", "hist")
_SHOWN: Final = (
    ("persistedCandidateTermId", "candidate term"),
    ("leadershipTermId", "term"),
    ("logLeadershipTermId", "log term"),
    ("commitPosition", "commit"),
)
"""Fields whose change is reported, with their names in the diagram."""

_NULL: Final = -1


@dataclass(frozen=True, slots=True)
class _Row:
    """One step: in whose lane it stands and what is written there; of a message, who sent what."""

    number: int
    lane: int
    lines: tuple[str, ...]
    sender: int | None = None
    kind: str = ""


def swim_lanes(shown: Counterexample) -> Iterator[str]:
    """Draw a counterexample, line by line without line ends.

    Parameters
    ----------
    shown
        A counterexample of a model of `Cluster.tla`.

    Raises
    ------
    CommandError
        If its states are not those of a cluster.
    """
    states = _states(shown)
    members = list(states[0]["member"])
    width = _MARGIN + _WIDTH * len(members)
    yield _line(0, [f"member {i}" for i in members]).rstrip()
    yield "-" * width
    yield from _columns(1, [_beginning(states[0], i) for i in members])
    for step, (before, after) in zip(shown.steps[1:], pairwise(states), strict=True):
        row = _row(step.state.number, step.state.action or "", before, after)
        yield from _drawn(row, len(members))
    yield "-" * width
    yield from _end(shown)


def _end(shown: Counterexample) -> Iterator[str]:
    if shown.violation.stuttering:
        yield "     and so it stays for ever"
    elif shown.violation.loop is not None:
        yield f"     and so on for ever from step {shown.violation.loop + 1}"
    yield f"     {shown.claim}"


def _states(shown: Counterexample) -> list[Mapping[str, Any]]:
    try:
        states = [step.state.values for step in shown.steps]
    except ValueSyntaxError as error:
        raise CommandError(f"{shown.model}: {error}") from error
    if not states or any(name not in states[0] for name in _VARIABLES):
        raise CommandError(f"{shown.model}: lanes are drawn for models of Cluster.tla only")
    return states


def _beginning(state: Mapping[str, Any], i: int) -> list[str]:
    one = state["member"][i]
    term = one["moduleLeadershipTermId"]
    head = [f"{one['electionState']} {one['role']}"]
    if one["electionState"] == "CLOSED":
        head.append(f"term {term}")
    known = [f"commit {one['commitPosition']}", *_recording_log(one)]
    return [*head, _log(state["log"][i]), *known]


def _log(entries: Sequence[int]) -> str:
    return f"log <{' '.join(map(str, entries))}>"


def _recording_log(one: Mapping[str, Any]) -> list[str]:
    terms = [
        span(entry["leadershipTermId"], entry["termBaseLogPosition"], entry["logPosition"])
        for entry in one["recordingLog"]
    ]
    return [f"knows {' '.join(terms)}"] if terms else []


def _row(number: int, action: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> _Row:
    name = action.removeprefix("TE").removeprefix("Take")
    taken = _taken(before, after)
    if action == "Lose" and taken:
        sender, receiver, message = taken
        lost = f"x {message['type']} from {sender} is lost"
        return _Row(number, receiver, (lost,))
    if taken and action != "RestartMember":
        sender, receiver, message = taken
        body = (_wording(message), *_happened(receiver, before, after))
        return _Row(number, receiver, body, sender, message["type"])
    lane = _acting(before, after)
    return _Row(number, lane, (name, *_happened(lane, before, after)))


def _taken(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[int, int, Any] | None:
    """Return sender, receiver and message of the one that left its channel."""
    for i, queues in before["channel"].items():
        for j, queue in queues.items():
            if len(queue) > 0 and after["channel"][i][j] == queue[1:]:
                return i, j, queue[0]
    return None


def _acting(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    for variable in ("member", "channel"):
        for i in before[variable]:
            if before[variable][i] != after[variable][i]:
                return int(i)
    return 0


def _happened(i: int, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Tell what became of member `i`, and what it sent."""
    old, new = before["member"][i], after["member"][i]
    if old["electionState"] != new["electionState"]:
        yield f"{old['electionState']} -> {new['electionState']}"
    for field, name in _SHOWN:
        if old[field] != new[field] and new[field] != _NULL:
            yield (
                f"{name} {new[field]}"
                if old[field] == _NULL
                else (f"{name} {old[field]} -> {new[field]}")
            )
    if before["log"][i] != after["log"][i]:
        yield _log(after["log"][i])
    if old["recordingLog"] != new["recordingLog"]:
        yield from _recording_log(new)
    if before["hist"]["committed"] != after["hist"]["committed"]:
        yield f"committed <{' '.join(map(str, after['hist']['committed']))}>"
    sent: dict[str, list[str]] = {}
    for j, queue in after["channel"][i].items():
        for message in queue[len(before["channel"][i][j]) :]:
            sent.setdefault(message["type"], []).append(str(j))
    for kind, receivers in sent.items():
        yield f"sends {kind} to {', '.join(receivers)}"


def _wording(record: Mapping[str, Any]) -> str:
    fields = {_snake(name): value for name, value in record.items() if name != "type"}
    message: messages.Message = getattr(messages, record["type"])(**fields)
    return said(message).partition(" ")[2]


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _drawn(row: _Row, members: int) -> Iterator[str]:
    lines = [[""] for _ in range(members)]
    lines[row.lane] = list(row.lines)
    if row.sender is None:
        yield from _columns(row.number, lines)
        return
    yield _arrow(row)
    yield from _columns(0, lines)


def _arrow(row: _Row) -> str:
    assert row.sender is not None
    begin, end = sorted((_MARGIN + _WIDTH * row.sender, _MARGIN + _WIDTH * row.lane))
    shaft = f" {row.kind} ".center(end - begin - 2, "-")
    drawn = f"o{shaft}>" if row.sender < row.lane else f"<{shaft}o"
    return f"{row.number:>3}  " + " " * (begin - _MARGIN) + drawn


def _columns(number: int, cells: Sequence[Sequence[str]]) -> Iterator[str]:
    wrapped = [[part for text in cell for part in _wrapped(text)] for cell in cells]
    height = max(map(len, wrapped))
    for at in range(height):
        parts = [cell[at] if at < len(cell) else "" for cell in wrapped]
        yield _line(number if at == 0 else 0, parts).rstrip()


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH - 2, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _line(number: int, parts: Sequence[str]) -> str:
    head = f"{number:>3}" if number else ""
    return head.ljust(_MARGIN) + "".join(part.ljust(_WIDTH) for part in parts)

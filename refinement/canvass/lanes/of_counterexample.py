"""Swim lanes of a behaviour of `Cluster.tla`: the steps of members, and their messages.

States are trees of JSON values with the variables ``member`` and ``channel``, and perhaps ``log``
and ``hist``. Channels are queues: the oldest message leaves first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from msgspec.structs import replace

from canvass.cluster.messages import NULL_VALUE
from canvass.lanes.model import ABSENT, MARKED, Diagram, Fate, LaneEvent, LaneMessage, Mark

Tree = dict[str, Any]
_PREFIXES: Final = ("RE", "TE", "Take")
"""Prefixes of action names in `MCReduction`, `MCTwoElections` and `Cluster`."""
LOSE: Final = "Lose"
"""Prefix of the actions that lose a message."""
_MARKS: Final = {**MARKED, "RestartMember": MARKED["Restart"]}
_FIRST_SHOWN: Final = (
    "electionState",
    "role",
    "log",
    "committed",
    "commitPosition",
    "persistedCandidateTermId",
    "leadershipTermId",
    "logLeadershipTermId",
)
"""The most important fields; the others follow in the order of the state."""
_MAX_CHANGES: Final = 3
"""Maximum number of changes of a step in lanes. The counterexample without lanes has all."""


def cluster_diagram(
    states: Sequence[Tree], actions: Sequence[str], claim: str = ""
) -> Diagram | None:
    """Draw a behaviour; None if its states are not states of a cluster.

    Event ``k`` leads to ``states[k + 1]``.
    """
    if not states or not all(map(is_cluster, states)):
        return None
    lanes = list(states[0]["member"])
    if any(list(state["member"]) != lanes for state in states):
        return None
    drawing = _Drawing({name: lane for lane, name in enumerate(lanes)}, states[0])
    for (before, after), action in zip(pairwise(states), actions[1:], strict=True):
        drawing.step(before, after, action)
    drawing.end()
    if claim and drawing.events:
        drawing.events[-1] = replace(
            drawing.events[-1], mark=Mark.DIVERGES, remark=_violates(claim)
        )
    return Diagram(
        lanes=tuple(f"member {name}" for name in lanes),
        events=tuple(drawing.events),
        messages=tuple(drawing.messages),
    )


class _Drawing:
    """The events and messages so far, and the messages under way."""

    def __init__(self, lane_of: dict[str, int], first: Tree) -> None:
        self.events: list[LaneEvent] = []
        self.messages: list[LaneMessage] = []
        self._lane_of = lane_of
        self._waiting: dict[tuple[str, str], list[LaneMessage]] = {
            (i, j): [self._message(i, j, one, None) for one in queue]
            for i, queues in first["channel"].items()
            for j, queue in queues.items()
        }

    def _message(self, i: str, j: str, content: Any, sent: int | None) -> LaneMessage:
        fields = dict(content) if isinstance(content, dict) else {"value": content}
        name = str(fields.pop("type", "message"))
        text = ", ".join(f"{key}={value_text(value)}" for key, value in fields.items())
        return LaneMessage(
            name=name, sender=self._lane_of[i], receiver=self._lane_of[j], sent=sent, text=text
        )

    def step(self, before: Tree, after: Tree, action: str) -> None:
        """Draw one step."""
        number = len(self.events)
        moves = list(moved(before["channel"], after["channel"]))
        aside: list[str] = []
        for i, j, gone, _ in moves:
            waiting = self._waiting.setdefault((i, j), [])
            left, waiting[:gone] = waiting[:gone], []
            if is_received(action, gone):
                self.messages.append(replace(left.pop(), received=number))
            self.messages += [replace(message, fate=Fate.LOST) for message in left]
            if not _is_restart(action):
                aside += [f"{message.name} of member {i} is lost" for message in left]
        for i, j, _, new in moves:
            self._waiting[i, j] += [self._message(i, j, one, number) for one in new]
        self.events.append(replace(self._event(before, after, action), aside=tuple(aside)))

    def end(self) -> None:
        """Draw the messages that are under way at the end."""
        for waiting in self._waiting.values():
            self.messages += [one for one in waiting if one.sent is not None]

    def _event(self, before: Tree, after: Tree, action: str) -> LaneEvent:
        member = acting_member(before, after, action)
        changes = list(_changes(before, after, member))
        if len(changes) > _MAX_CHANGES:
            changes[_MAX_CHANGES:] = [f"and {len(changes) - _MAX_CHANGES} more"]
        mark, remark = _MARKS.get(action_name(action), (None, ""))
        return LaneEvent(
            lane=self._lane_of[member],
            title=action_title(action) or "step",
            reference=str(len(self.events) + 2),
            changes=tuple(changes),
            mark=mark,
            remark=remark,
        )


def _changes(before: Tree, after: Tree, member: str) -> Iterator[str]:
    """Give the changes of the member, of its log and of the committed log."""
    old, new = (dict(state["member"].get(member, {})) for state in (before, after))
    found = {path: (was, now) for path, was, now in field_changes(old, new)}
    for path, variable, part in (("log", "log", member), ("committed", "hist", "committed")):
        was, now = (state_part(state, variable, part) for state in (before, after))
        if was != now:
            found[path] = (value_text(was), value_text(now))
    ranks = {path: rank for rank, path in enumerate(dict.fromkeys((*_FIRST_SHOWN, *found)))}
    for path in sorted(found, key=ranks.__getitem__):
        yield "{}: {} → {}".format(path, *found[path])


def state_part(state: Tree, variable: str, name: str) -> Any:
    """Give one field or argument of a variable; None if there is none."""
    value = state.get(variable)
    return value.get(name) if isinstance(value, dict) else None


def _violates(claim: str) -> str:
    """Write the violation with the verb first: a narrow lane breaks the line after the verb."""
    name = claim.removesuffix(" is violated")
    return claim if name == claim else f"violates {name}"


def is_cluster(state: Tree) -> bool:
    """Tell whether a state has members, and queues of messages between them."""
    members, channels = state.get("member"), state.get("channel")
    return (
        isinstance(members, dict)
        and len(members) > 0
        and isinstance(channels, dict)
        and all(isinstance(one, dict) for one in members.values())
        and channels.keys() <= members.keys()
        and all(
            isinstance(queues, dict)
            and queues.keys() <= members.keys()
            and all(isinstance(queue, list) for queue in queues.values())
            for queues in channels.values()
        )
    )


def action_name(action: str) -> str:
    """Name the action of the member in an action of the cluster, without arguments."""
    return action_title(action).partition("(")[0]


def action_title(action: str) -> str:
    """Give an action of the cluster without its prefixes."""
    for prefix in _PREFIXES:
        action = action.removeprefix(prefix)
    return action


def _is_restart(action: str) -> bool:
    return _MARKS.get(action_name(action)) == MARKED["Restart"]


def is_received(action: str, gone: int) -> bool:
    """Tell whether a step received the last of the ``gone`` messages that left a channel.

    The other messages that left were lost. A restart and a loss receive no message.
    """
    return gone > 0 and not _is_restart(action) and not action.startswith(LOSE)


def moved(before: Tree, after: Tree) -> Iterator[tuple[str, str, int, list[Any]]]:
    """Give sender, receiver, number of removed messages and added messages of changed channels."""
    for i, queues in after.items():
        for j, new in queues.items():
            old = before.get(i, {}).get(j, [])
            if old == new:
                continue
            gone = next(
                gone for gone in range(len(old) + 1) if old[gone:] == new[: len(old) - gone]
            )
            yield i, j, gone, new[len(old) - gone :]


def acting_member(before: Tree, after: Tree, action: str) -> str:
    """Name the member that took a step: the receiver, else a changed member, else a sender."""
    members: Tree = after["member"]
    moves = list(moved(before["channel"], after["channel"]))
    changed = [name for name, one in members.items() if before["member"].get(name) != one]
    taken = [j for _, j, gone, _ in moves if gone]
    if taken and (action.startswith(LOSE) or not changed or taken[0] in changed):
        return taken[0]
    sent = [i for i, _, _, new in moves if new]
    return next(iter([*changed, *sent, *taken, *members]))


def value_text(value: Any) -> str:
    """Write a value of a tree on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {value_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return str(value)


def part_path(path: str, name: str) -> str:
    """Give the path of a part of a value: ``members[0]`` of a function, ``role`` of a record."""
    if not name.isidentifier():
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def field_changes(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Give path, value before and value after of each difference of two trees of JSON values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            name = part_path(path, str(key))
            if key not in before:
                yield name, ABSENT, value_text(after[key])
            elif key not in after:
                yield name, value_text(before[key]), ABSENT
            else:
                yield from field_changes(before[key], after[key], name)
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        for place in range(max(len(before), len(after))):
            name = f"{path}[{place}]"
            if place >= len(before):
                yield name, ABSENT, value_text(after[place])
            elif place >= len(after):
                yield name, value_text(before[place]), ABSENT
            else:
                yield from field_changes(before[place], after[place], name)
    elif before != after or type(before) is not type(after):
        yield path, value_text(before), value_text(after)


def message_text(content: object) -> str:
    """Write a message: its type, then its fields."""
    if not isinstance(content, dict) or "type" not in content:
        return value_text(content)
    fields = (f"{name} {value_text(one)}" for name, one in content.items() if name != "type")
    return f"{content['type']}({', '.join(fields)})"


def beginning(first: Tree) -> Iterator[str]:
    """Describe the initial state of a cluster: members, committed log, messages under way."""
    for i, member in first["member"].items():
        yield f"member {i} starts as {_member(member, state_part(first, 'log', i) or [])}"
    committed = state_part(first, "hist", "committed")
    if committed is not None:
        yield f"committed at the start: {value_text(committed)}"
    for i, queues in first["channel"].items():
        for j, queue in queues.items():
            if queue:
                named = ", ".join(str(one.get("type")) for one in queue)
                yield f"under way at the start from member {i} to member {j}: {named}"


def _member(member: Tree, log: list[int]) -> str:
    """Describe the initial state of a member: its terms as ``id[base, end)``."""
    terms = [
        f"{entry['leadershipTermId']}[{entry['termBaseLogPosition']},"
        f"{'-' if entry['logPosition'] == NULL_VALUE else entry['logPosition']})"
        for entry in member.get("recordingLog", ())
    ]
    parts = [f"{member.get('electionState')} {member.get('role')}"]
    parts += [f"commitPosition {member.get('commitPosition')}", f"log {value_text(log)}"]
    return ", ".join([*parts, f"recordingLog {' '.join(terms) or '[]'}"])

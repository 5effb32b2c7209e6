"""Lanes of a behaviour of `Cluster.tla`: who did what in each step, and which message went where.

States are plain trees with the variables ``member`` and ``channel``; channels are queues, so that
a message that leaves one is the first that was put into it. Nothing here knows files.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from msgspec.structs import replace

from canvass.browser.cluster_words import (
    LOSE,
    PREFIX,
    acting_member,
    is_cluster,
    moved,
)
from canvass.browser.labels import tree_changes, value_text
from canvass.lanes.model import Diagram, Fate, LaneEvent, LaneMessage, Mark
from canvass.lanes.of_run import MARKED

Tree = dict[str, Any]
_MARKS: Final = {**MARKED, "RestartMember": MARKED["Restart"]}
MAX_CHANGES: Final = 12


def cluster_diagram(
    states: Sequence[Tree], actions: Sequence[str], claim: str = ""
) -> Diagram | None:
    """Draw a behaviour; None if its states are not those of a cluster.

    Event ``k`` leads to state ``k + 1``, the first state having the number 0.
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
    """What was drawn so far, and which messages are on their way."""

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
        lost = action.startswith(LOSE)
        for i, j, gone, _ in moves:
            waiting = self._waiting.setdefault((i, j), [])
            for message in waiting[:gone]:
                # What was thrown away with others at a restart is lost, too.
                arrives = not lost and gone == 1
                self.messages.append(
                    replace(message, received=number)
                    if arrives
                    else replace(message, fate=Fate.LOST)
                )
            del waiting[:gone]
        for i, j, _, new in moves:
            self._waiting[i, j] += [self._message(i, j, one, number) for one in new]
        self.events.append(self._event(before, after, action))

    def end(self) -> None:
        """Draw the messages that are still on their way at the end."""
        for waiting in self._waiting.values():
            self.messages += [one for one in waiting if one.sent is not None]

    def _event(self, before: Tree, after: Tree, action: str) -> LaneEvent:
        name = action.partition("(")[0]
        member = acting_member(before, after, action)
        old, new = before["member"].get(member, {}), after["member"].get(member, {})
        changes = [f"{one.path}: {one.before} → {one.after}" for one in tree_changes(old, new)]
        if len(changes) > MAX_CHANGES:
            changes[MAX_CHANGES:] = [f"and {len(changes) - MAX_CHANGES} more"]
        mark, remark = _MARKS.get(name.removeprefix(PREFIX), (None, ""))
        return LaneEvent(
            lane=self._lane_of[member],
            title=action.removeprefix(PREFIX) or "step",
            reference=str(len(self.events) + 2),
            changes=tuple(changes),
            mark=mark,
            remark=remark,
        )


def _violates(claim: str) -> str:
    """Say it in the order in which little room shows most."""
    name = claim.removesuffix(" is violated")
    return claim if name == claim else f"violates {name}"

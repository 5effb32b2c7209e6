"""Hold an implementation of the protocol core against a state graph, edge by edge.

For every state that TLC expanded and every input that it tried there, the core is put in the state
and given the input. What comes of it must be what TLC printed: the same state and the same sends in
the same order, or nothing at all where the spec does not enable the action. The core is a
parameter; nothing here knows how it is written.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

from canvass.cluster.member import Input, Member
from canvass.cluster.rules import Rules
from canvass.graph.artifact import Graph
from canvass.spec.files import spec_root
from canvass.steps.step import Sends
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.layout import NONE

_SPEC_MODULES: Final = ("Election", "Replication")


class SentMessage(Protocol):
    """A send among the effects of an outcome."""

    @property
    def to(self) -> int:
        """The receiver."""

    @property
    def message(self) -> Any:
        """What is sent."""


class CoreOutcome(Protocol):
    """What a core says comes of a step."""

    @property
    def next(self) -> Member:
        """The state after the step."""

    @property
    def sends(self) -> tuple[SentMessage, ...]:
        """The messages, in the order of sending."""


Handler = Callable[[Rules, int, Member, Input], CoreOutcome | None]
Core = Callable[[Action], Handler]
"""Gives the function that takes the steps of an action."""

Expected = tuple[Member, Sends] | None
"""The outcome of the spec; none if the action is not enabled."""


@dataclass(frozen=True)
class Mismatch:
    """A step in which core and spec differ."""

    rules: Rules
    before: Member
    action: Action
    input: Input
    expected: Expected
    actual: Expected
    error: Exception | None
    """What the core raised."""
    handler: Handler

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of the next state that differ; ``sends`` if those do."""
        if self.expected is None or self.actual is None:
            return ()
        differing = [
            name
            for name in Member.__struct_fields__
            if getattr(self.expected[0], name) != getattr(self.actual[0], name)
        ]
        return (*differing, *(["sends"] if self.expected[1] != self.actual[1] else []))

    def describe(self) -> str:
        """Tell the step: state, input, both outcomes with what differs, and where to look."""
        lines = [
            f"{self.action.value}: core and spec differ ({self.rules})",
            f"  spec   {operator_place(self.action)}",
            f"  core   {_function_place(self.handler)}",
            f"  input  {_shown(self.input)}",
            f"  state  {_shown(self.before)}",
        ]
        if self.error is not None:
            lines.append(f"  the core raised {type(self.error).__name__}: {self.error}")
        elif self.expected is None:
            lines.append("  the spec does not enable the action, the core does:")
        elif self.actual is None:
            lines.append("  the spec enables the action, the core does not:")
        for name in self.fields or ("next", "sends"):
            lines.append(f"    {name}")
            lines.append(f"      spec {_part(self.expected, name)}")
            lines.append(f"      core {_part(self.actual, name)}")
        return "\n".join(lines)


@dataclass(slots=True)
class Equivalence:
    """How many steps were compared."""

    tried: int = 0
    """Inputs given to the core."""
    edges: int = 0
    """Those of them that the spec enables."""


def mismatches(graph: Graph, core: Core, counts: Equivalence | None = None) -> Iterator[Mismatch]:
    """Execute the graph of member 0 against a core and give the steps in which they differ.

    Parameters
    ----------
    graph
        Its rules are those that the core is given.
    core
        What is executed.
    counts
        Is counted up.
    """
    counts = Equivalence() if counts is None else counts
    rules = graph.rules
    states = [graph.member(row) for row in range(len(graph.state))]
    sends = [graph.sends_of(row) for row in range(len(graph.send_offsets) - 1)]
    given = [graph.given(row) for row in range(len(graph.inputs))]
    handlers = {action: core(action) for action in ACTIONS}
    by_action: dict[Action, list[Input]] = {action: [] for action in ACTIONS}
    for action, value in given:
        by_action[action].append(value)

    def compare(row: int, action: Action, value: Input, expected: Expected) -> Iterator[Mismatch]:
        counts.tried += 1
        counts.edges += expected is not None
        actual, error = _taken(handlers[action], rules, 0, states[row], value)
        if error is not None or not _same(expected, actual):
            yield Mismatch(
                rules, states[row], action, value, expected, actual, error, handlers[action]
            )

    source, tried = graph.source.tolist(), graph.input.tolist()
    for row, input_row, target, sent in zip(
        source, tried, graph.target.tolist(), graph.sent.tolist(), strict=True
    ):
        action, value = given[input_row]
        expected = None if target == NONE else (states[target], sends[sent])
        yield from compare(row, action, value, expected)
    for row in graph.expanded.nonzero()[0].tolist():
        mask = int(graph.disabled[row])
        for code, action in enumerate(ACTIONS):
            if mask >> code & 1:
                for value in by_action[action]:
                    yield from compare(row, action, value, None)


def _taken(
    handler: Handler, rules: Rules, member: int, before: Member, value: Input
) -> tuple[Expected, Exception | None]:
    try:
        outcome = handler(rules, member, before, value)
    except Exception as error:  # noqa: BLE001 - whatever a core under test raises is a finding
        return None, error
    if outcome is None:
        return None, None
    return (outcome.next, tuple((send.to, send.message) for send in outcome.sends)), None


def _same(expected: Expected, actual: Expected) -> bool:
    if expected is None or actual is None:
        return expected is actual
    return expected == actual


def operator_place(action: Action) -> str:
    """Say where the spec defines an action: file and line."""
    pattern = re.compile(rf"^{action.value}\(", re.MULTILINE)
    for module in _SPEC_MODULES:
        text = (spec_root() / f"{module}.tla").read_text(encoding="utf-8")
        found = pattern.search(text)
        if found:
            return f"{action.value}, {module}.tla:{text.count(chr(10), 0, found.start()) + 1}"
    return action.value


def _function_place(handler: Handler) -> str:
    function = inspect.unwrap(handler)
    name = getattr(function, "__qualname__", repr(function))
    try:
        file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
    except (OSError, TypeError):
        return name
    return f"{name}, {Path(str(file)).name}:{line}"


def _part(outcome: Expected, name: str) -> str:
    if outcome is None:
        return "-"
    if name == "next":
        return _shown(outcome[0])
    return repr(outcome[1]) if name == "sends" else repr(getattr(outcome[0], name))


def _shown(value: Member | Input) -> str:
    """Give the fields of a state or input that are not null."""
    given = ((name, getattr(value, name)) for name in value.__struct_fields__)
    shown = [
        f"{name}={getattr(part, 'value', part)!r}"
        for name, part in given
        if part is not None and part is not False and part not in (NONE, (), frozenset())
    ]
    return " ".join(shown) or "nothing"

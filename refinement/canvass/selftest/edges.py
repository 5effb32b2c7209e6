"""A protocol core, or a mutant of it, on the edges of the state graphs.

Every input that TLC tried in a state is a trial: the core is put in the state and given the input,
and what comes of it must be what the graph says: the same state, the same sends in the same order,
effects that lead to that state, or nothing at all where the spec does not enable the action. The
trials are ordered so that a mutant is killed soon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.core import Handler
from canvass.cluster.member import Input, Member
from canvass.cluster.outcome import Outcome
from canvass.conformance.operators import operator_place
from canvass.graph.artifact import Graph
from canvass.selftest.member_world import MemberWorld, disagreement, world_of
from canvass.steps.step import Sends
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.layout import NONE

ROUNDS: Final = (30, 300, 3_000, 30_000)
"""Trials of each action up to the end of each round; the last round takes all that are left."""

Trial = tuple[int, int, int, int]
"""Rows of the state before, the input, the state after or -1, the sends."""


@dataclass(frozen=True, slots=True)
class EdgeKill:
    """What gave a mutant away."""

    graph: str
    """The model that the graph was made of."""
    action: Action
    difference: str
    """In one line."""
    tried: int
    """Trials up to this one."""
    before: Member
    input: Input

    @property
    def operator(self) -> str:
        """Where the spec defines the action."""
        return operator_place(self.action)


class Trials:
    """The trials of a graph by action, in a random order that is always the same."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rules = graph.rules
        self._rng = np.random.default_rng(0)
        self._by_action: dict[Action, NDArray[np.int64]] = {}

    @cached_property
    def states(self) -> list[Member]:
        """All states."""
        return [self.graph.member(row) for row in range(len(self.graph.state))]

    @cached_property
    def sends(self) -> list[Sends]:
        """All lists of sends."""
        return [self.graph.sends_of(row) for row in range(len(self.graph.send_offsets) - 1)]

    @cached_property
    def inputs(self) -> list[Input]:
        """All inputs."""
        return [self.graph.given(row)[1] for row in range(len(self.graph.inputs))]

    @cached_property
    def worlds(self) -> list[MemberWorld]:
        """What each state says of the member's world."""
        return [world_of(state) for state in self.states]

    def of(self, action: Action) -> NDArray[np.int64]:
        """Give the trials of an action, a row each: see `Trial`."""
        if action not in self._by_action:
            graph, code = self.graph, ACTIONS.index(action)
            rows = np.flatnonzero(graph.input_action[graph.input] == code)
            columns = (graph.source, graph.input, graph.target, graph.sent)
            tried = np.stack([column[rows] for column in columns], axis=1)
            inputs = np.flatnonzero(graph.input_action == code)
            barred = np.flatnonzero(graph.expanded & ((graph.disabled >> code & 1) == 1))
            none = np.full((len(barred) * len(inputs), 4), NONE, dtype=np.int64)
            none[:, 0] = np.repeat(barred, len(inputs))
            none[:, 1] = np.tile(inputs, len(barred))
            both = np.concatenate([tried, none])
            self._by_action[action] = both[self._rng.permutation(len(both))]
        return self._by_action[action]

    def rounds(self, actions: Iterable[Action]) -> Iterator[tuple[Action, Sequence[Trial]]]:
        """Give the trials of some actions: a few of each, then more of each, then all."""
        chosen = list(actions)
        first = 0
        for last in (*ROUNDS, None):
            for action in chosen:
                trials = self.of(action)[first:last].tolist()
                if trials:
                    yield action, trials
            first = last or 0


def find_kill(trials: Trials, core: Any, actions: Iterable[Action] = ACTIONS) -> EdgeKill | int:
    """Hold a core against a graph until it is found out.

    Parameters
    ----------
    trials
        Of the graph.
    core
        A module with ``ACTIONS``, as `canvass.cluster.core` has it.
    actions
        The ones to try.

    Returns
    -------
    EdgeKill or int
        The first difference; or how many trials there were, if all came out as the graph says.
    """
    rules, states, inputs = trials.rules, trials.states, trials.inputs
    tried = 0
    for action, chosen in trials.rounds(actions):
        handler: Handler = core.ACTIONS[action.value]
        for source, given, target, sent in chosen:
            tried += 1
            before, x = states[source], inputs[given]
            try:
                outcome = handler(rules, 0, before, x)
            except Exception as error:  # noqa: BLE001 - whatever a mutant raises gives it away
                found = f"raises {type(error).__name__}"
            else:
                found = _difference(trials, action, outcome, (source, given, target, sent))
            if found:
                return EdgeKill(trials.graph.manifest.model, action, found, tried, before, x)
    return tried


def _difference(trials: Trials, action: Action, outcome: Outcome | None, trial: Trial) -> str:
    """Say what an outcome has that the edge has not; empty if nothing."""
    source, _, target, sent = trial
    if outcome is None or target == NONE:
        if outcome is None and target == NONE:
            return ""
        return "not enabled, and should be" if outcome is None else "enabled, and should not be"
    after = trials.states[target]
    if outcome.next != after:
        differing = [
            name
            for name in Member.__struct_fields__
            if getattr(outcome.next, name) != getattr(after, name)
        ]
        return f"leads to another {', '.join(differing)}"
    if tuple((send.to, send.message) for send in outcome.sends) != trials.sends[sent]:
        return "sends something else"
    before, worlds = trials.states[source], trials.worlds
    return disagreement(
        before, action.value, after, outcome.effects, (worlds[source], worlds[target])
    )

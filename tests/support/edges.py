"""Run a protocol core, or a mutant of it, on the edges of the state graphs.

Every input that TLC tried in a state is a trial. The core gets the state and the input. Its result
must equal the edge: the same next state, and the same sends in the same order. If the spec does not
enable the action, the core must not take a step. The order of the trials makes mutants fail early.

The spec has no effects other than sends, so these are not compared. Simulated members carry them
out (`support.simulated_mutants`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.core import Handler
from canvass.cluster.effects import Outcome
from canvass.cluster.member import Input, Member
from canvass.graph.artifact import Graph
from canvass.steps.step import Sends
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.schema import NONE

MODELS: Final = {
    ("1.50", 3): ("MCMemberGraph3", 0),
    ("1.50", 2): ("MCMemberGraph2", 1),
    ("1.49", 3): ("MCMemberGraph3Rev149", 0),
    ("hardened", 3): ("MCMemberGraph3Hardened", 0),
}
"""For a revision and a size of cluster: the model, and the graph's steps from the roots."""

LARGE: Final = ("1.50", 3)
DEEPER: Final = MODELS | {LARGE: ("MCMemberGraph3", 1)}
"""The same for nightly tests; for one more step, TLC takes a minute longer."""

ROUNDS: Final = (30, 300, 3_000, 30_000)
"""Number of trials of each action after each round. A last round takes all others."""

Trial = tuple[int, int, int, int]
"""Rows of the graph: the state before, the input, the state after (-1 if disabled), the sends."""


@dataclass(frozen=True, slots=True)
class EdgeKill:
    """A trial whose result differs from the edge."""

    graph: str
    """Name of the graph's model."""
    action: Action
    difference: str
    """The difference in one line."""


class Trials:
    """The trials of a graph by action, in a random order with a fixed seed."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rules = graph.rules
        self._rng = np.random.default_rng(0)
        self._by_action: dict[Action, NDArray[np.int64]] = {}

    @cached_property
    def states(self) -> list[Member]:
        """All states, by row."""
        return [self.graph.member(row) for row in range(len(self.graph.state))]

    @cached_property
    def sends(self) -> list[Sends]:
        """All lists of sends, by row."""
        return [self.graph.sends_of(row) for row in range(len(self.graph.send_offsets) - 1)]

    @cached_property
    def inputs(self) -> list[Input]:
        """All inputs, by row."""
        return [self.graph.given(row)[1] for row in range(len(self.graph.inputs))]

    def of(self, action: Action) -> NDArray[np.int64]:
        """Give the trials of an action as an array of `Trial` rows."""
        if action not in self._by_action:
            graph, code = self.graph, ACTIONS.index(action)
            rows = np.flatnonzero(graph.input_action[graph.input] == code)
            columns = (graph.source, graph.input, graph.target, graph.sent)
            tried = np.stack([column[rows] for column in columns], axis=1)
            inputs = np.flatnonzero(graph.input_action == code)
            disabled = np.flatnonzero(graph.expanded & ((graph.disabled >> code & 1) == 1))
            none = np.full((len(disabled) * len(inputs), 4), NONE, dtype=np.int64)
            none[:, 0] = np.repeat(disabled, len(inputs))
            none[:, 1] = np.tile(inputs, len(disabled))
            both = np.concatenate([tried, none])
            self._by_action[action] = both[self._rng.permutation(len(both))]
        return self._by_action[action]

    def rounds(self, actions: Iterable[Action]) -> Iterator[tuple[Action, Sequence[Trial]]]:
        """Give the trials of some actions in `ROUNDS`: first a few of each action, then more."""
        chosen = list(actions)
        first = 0
        for last in (*ROUNDS, None):
            for action in chosen:
                trials = self.of(action)[first:last].tolist()
                if trials:
                    yield action, trials
            first = last or 0


def find_kill(
    trials: Trials, core: Any, actions: Iterable[Action] = ACTIONS
) -> tuple[EdgeKill | None, int]:
    """Run a core on the trials of a graph until a result differs from its edge.

    Parameters
    ----------
    trials
        The trials of the graph.
    core
        A module with ``ACTIONS`` as in `canvass.cluster.core`.
    actions
        The actions to try.

    Returns
    -------
    EdgeKill or None
        The first difference; None if all results equal the graph.
    int
        The number of trials, the differing one included.
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
            except Exception as error:  # noqa: BLE001 - any error of a mutant is a difference
                found = f"raises {type(error).__name__}"
            else:
                found = _wrong_outcome(trials, action, outcome, (source, given, target, sent))
            if found:
                return EdgeKill(trials.graph.manifest.model, action, found), tried
    return None, tried


def _wrong_outcome(trials: Trials, action: Action, outcome: Outcome | None, trial: Trial) -> str:
    """Name the difference between an outcome and its edge; empty if there is none."""
    _, _, target, sent = trial
    if outcome is None or target == NONE:
        if outcome is None and target == NONE:
            return ""
        return "disabled against the spec" if outcome is None else "enabled against the spec"
    after = trials.states[target]
    if outcome.next != after:
        differing = [
            name
            for name in Member.__struct_fields__
            if getattr(outcome.next, name) != getattr(after, name)
        ]
        return f"other values of {', '.join(differing)}"
    if tuple((send.to, send.message) for send in outcome.sends) != trials.sends[sent]:
        return "other sends"
    return ""

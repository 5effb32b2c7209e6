"""Aeron's answers give mutants of the core away, as the state graphs do.

Where an edge is what Aeron answered (`tests/conformance/test_java_answers.py`), a mutant that
departs from the edge departs from Aeron. So a mutant is given away by Aeron if an edge does it that
the driver can drive.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from canvass.aeron_driver.kept import drivable_edges
from canvass.aeron_driver.steps import GraphSteps
from canvass.selftest.edges import EdgeKill, Trial, Trials, find_kill
from canvass.selftest.kill_matrix import MODELS
from canvass.selftest.mutants import MUTANTS
from canvass.selftest.mutation import load
from canvass.selftest.reach import actions_reached
from canvass.traces.actions import ACTIONS, Action
from support.graphs import graph_of

pytestmark = [pytest.mark.tlc, pytest.mark.night]

NOT_IN_JAVA: Final = ("hardened",)
"""Revisions that Aeron has no release of."""

ENABLED_WRONGLY: Final = {
    "append_after_the_end_was_named",
    "follower_processes_what_is_not_committed",
    "follower_processes_what_is_not_recorded",
    "leader_closes_on_reports_of_older_terms",
    "leader_closes_without_a_quorum",
    "record_beyond_what_the_leader_wrote",
    "terminate_before_the_position_is_reached",
}
"""Mutants that do what the rules disable. The kept answers are of edges, so that they cannot show
it; ``canvass drive --disabled`` gives Aeron these inputs, but for what no code of a member does.
"""


class DrivenTrials(Trials):
    """The trials that are edges which the driver drives."""

    @cached_property
    def driven(self) -> NDArray[np.bool_]:
        """Whether each row of the table of edges is driven."""
        found = np.zeros(len(self.graph.target), dtype=np.bool_)
        found[drivable_edges(GraphSteps(self.graph))] = True
        return found

    def of(self, action: Action) -> list[Trial]:
        if action not in self._by_action:
            graph = self.graph
            is_of = graph.input_action[graph.input] == ACTIONS.index(action)
            rows = np.flatnonzero(is_of & self.driven)
            columns = (graph.source, graph.input, graph.target, graph.sent)
            found = np.stack([column[rows] for column in columns], axis=1)
            self._by_action[action] = found[self._rng.permutation(len(found))].tolist()
        return self._by_action[action]


def test_aeron_gives_away_what_the_graphs_give_away(
    pytestconfig: pytest.Config, executed: list[str]
) -> None:
    trials: dict[tuple[str, int], DrivenTrials] = {}
    alive = []
    killed = 0
    for mutant in MUTANTS.values():
        if mutant.revision in NOT_IN_JAVA or mutant.unreachable or mutant.shows_in == "effects":
            continue
        key = mutant.revision, mutant.member_count
        if key not in trials:
            name, steps = MODELS[key]
            trials[key] = DrivenTrials(graph_of(pytestconfig, name, steps))
        found = find_kill(trials[key], load(mutant), actions_reached(mutant))
        killed += isinstance(found, EdgeKill)
        if not isinstance(found, EdgeKill):
            alive.append(mutant.name)
    executed.append(f"mutants given away by Aeron's answers: {killed}, not: {', '.join(alive)}")

    assert killed
    assert set(alive) == ENABLED_WRONGLY

"""Aeron's results kill the mutants that the state graphs kill.

`tests/conformance/test_java_answers.py` shows that Aeron's results equal the edges and the disabled
inputs that the driver can drive. A mutant that differs from one of these differs from Aeron.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from canvass.aeron_driver.comparison import reviewed_classes
from canvass.aeron_driver.drivable import GraphSteps, Requests
from canvass.aeron_driver.driving import Steps
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.schema import NONE
from support.edges import DEEPER, Trials, find_kill
from support.graphs import graph_of
from support.java_answers import drivable_steps
from support.mutants import MUTANTS, actions_reached, load

pytestmark = [pytest.mark.tlc, pytest.mark.night]

NOT_IN_JAVA: Final = ("hardened",)
"""Revisions without a release of Aeron."""

OF_THE_ARCHIVE: Final = {"record_beyond_what_the_leader_wrote"}
"""Mutants of the archive's step, in which no code of a member runs."""


class DrivenTrials(Trials):
    """The trials that the driver can drive, without those of reviewed classes of differences."""

    @cached_property
    def driven(self) -> Steps:
        """Edges and disabled inputs."""
        steps = GraphSteps(self.graph)
        found = drivable_steps(steps)
        requests = Requests(steps.layout, steps.requests(found.source, found.given))
        names = reviewed_classes(requests, self.graph.rules.revision)
        return found[np.array([not name for name in names])]

    def of(self, action: Action) -> NDArray[np.int64]:
        if action not in self._by_action:
            steps = self.driven
            rows = np.flatnonzero(self.graph.input_action[steps.given] == ACTIONS.index(action))
            target = np.where(steps.edge == NONE, NONE, steps.target)
            columns = (steps.source, steps.given, target, steps.sent)
            found = np.stack([column[rows] for column in columns], axis=1)
            self._by_action[action] = found[self._rng.permutation(len(found))]
        return self._by_action[action]


def test_aeron_kills_the_mutants_that_the_graphs_kill(
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
            name, steps = DEEPER[key]
            trials[key] = DrivenTrials(graph_of(pytestconfig, name, steps))
        kill, _ = find_kill(trials[key], load(mutant), actions_reached(mutant))
        killed += kill is not None
        if kill is None:
            alive.append(mutant.name)
    executed.append(f"mutants killed by Aeron's results: {killed}, not: {', '.join(alive)}")

    assert killed
    assert set(alive) == OF_THE_ARCHIVE

"""The steps of the spec on the Java classes of an Aeron release, if the user names one.

``CANVASS_AERON_CLASSPATH`` is what ``canvass drive --classpath`` takes: the release's jar, or its
folders and jars (`docs/guide/drive.md`). Without it the kept answers stand for Aeron
(`tests/conformance/test_java_answers.py`).
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from canvass.aeron_driver.drivable import GraphSteps
from canvass.aeron_driver.driver import (
    REVISION_149,
    REVISION_150,
    ClassPath,
    Driver,
    compile_driver,
)
from canvass.aeron_driver.driving import drive, edge_steps
from canvass.graph.artifact import Graph
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.schema import NONE
from support.graphs import graph_of

VARIABLE: Final = "CANVASS_AERON_CLASSPATH"
GIVEN: Final = os.environ.get(VARIABLE, "")

pytestmark = [
    pytest.mark.tlc,
    pytest.mark.skipif(
        not GIVEN,
        reason=f"needs the classes of an Aeron release, which this repository has not: set "
        f"{VARIABLE} to its jar (docs/guide/drive.md)",
    ),
]

MODELS: Final = {REVISION_149: ("MCMemberGraph3Rev149", 0), REVISION_150: ("MCMemberGraph2", 1)}
"""For a revision, a graph that is driven in seconds, and its depth."""


@pytest.fixture(scope="module")
def driver(pytestconfig: pytest.Config) -> Driver:
    assert pytestconfig.cache is not None
    return compile_driver(ClassPath.parse(GIVEN), pytestconfig.cache.mkdir("driver"))


@pytest.fixture(scope="module")
def graph(pytestconfig: pytest.Config, driver: Driver) -> Graph:
    return graph_of(pytestconfig, *MODELS[driver.class_path.revision])


def test_the_release_takes_every_step_of_the_spec(
    driver: Driver, graph: Graph, executed: list[str]
) -> None:
    steps = GraphSteps(graph)

    part = drive(driver, steps, edge_steps(steps))
    executed.append(
        f"{graph.manifest.model} on the classes of Aeron {driver.class_path.release}:"
        f" {part.driven:,} of {part.tried:,} edges, {part.equal:,} equal,"
        f" {part.explained:,} in reviewed classes"
    )

    assert part.driven >= 0.95 * part.tried
    assert not part.unexplained, [group for group in part.groups if not group.known][:3]


def test_a_step_that_the_release_does_not_take_is_reported(driver: Driver, graph: Graph) -> None:
    """As after a change of the spec: votes change nothing."""
    votes = graph.input_action[graph.input] == ACTIONS.index(Action.ON_VOTE)
    changed = votes & (graph.target != NONE) & (graph.target != graph.source)
    steps = GraphSteps(replace(graph, target=np.where(changed, graph.source, graph.target)))

    part = drive(driver, steps, edge_steps(steps))

    assert changed.any()
    assert part.unexplained == np.count_nonzero(changed)

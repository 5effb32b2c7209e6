"""A step that differs with hidden state varied is in a group that names the least that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest

from canvass.aeron_driver import driving
from canvass.aeron_driver.drivable import DrivableSteps, GraphSteps, names_of
from canvass.aeron_driver.driver import Driver
from canvass.aeron_driver.driving import Outcomes, Steps, drive_varied
from support.graphs import graph_of
from support.java_answers import outcomes_of_spec

TOGETHER, ALONE = 0b0011, 0b1000


def as_if_driven(_: Driver, steps: DrivableSteps, chosen: Steps) -> Iterator[Outcomes]:
    """Java as it should be, but that messages differ with two departures, or with a third."""
    mask = chosen.hidden
    differ = ((mask & TOGETHER) == TOGETHER) | ((mask & ALONE) == ALONE)
    yield outcomes_of_spec(steps, chosen, sends_differ=differ)


def test_each_step_that_differs_is_in_a_group_of_the_departures_that_it_takes(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "outcomes_of", as_if_driven)
    steps = GraphSteps(graph_of(pytestconfig, "MCMemberGraph1"))
    nothing = np.empty(0, dtype=np.int64)

    part = drive_varied(cast(Driver, None), steps, 1, nothing)

    assert {tuple(group.hidden) for group in part.groups} == {
        tuple(names_of(TOGETHER)),
        tuple(names_of(ALONE)),
    }
    assert sum(group.count for group in part.groups) == part.different > 0


def test_without_a_difference_there_is_no_group(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "outcomes_of", as_if_driven)
    monkeypatch.setattr(driving, "masks", lambda count, _: np.ones(count, dtype=np.int32))
    steps = GraphSteps(graph_of(pytestconfig, "MCMemberGraph1"))

    part = drive_varied(cast(Driver, None), steps, 1, np.empty(0, dtype=np.int64))

    assert (part.different, part.groups) == (0, [])

"""Steering: what has found something new is varied, and all of it follows from what is told."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

from canvass.simulation.options import Faults, Options, swarm
from canvass.simulation.steering import POOL, WARM_UP, Steering

BASE = Options(7, 3, "hardened", 500)


def series(count: int, worth: int) -> list[Options]:
    """Options of a series in which every third run finds something."""
    steering = Steering(BASE)
    found = []
    for number in range(count):
        options = steering.next()
        steering.tell(options, worth if number % 3 == 0 else 0)
        found.append(options)
    return found


def test_each_run_has_a_seed_of_its_own_and_the_same_budget() -> None:
    found = series(40, 5)

    assert [options.seed for options in found] == list(range(7, 47))
    assert {(options.steps, options.member_count) for options in found} == {(500, 3)}


def test_nothing_found_means_that_all_is_drawn_afresh() -> None:
    assert all(options == swarm(options) for options in series(20, 0))


def test_the_first_runs_are_drawn_afresh_and_later_most_are_not() -> None:
    found = series(WARM_UP + 60, 5)
    steered = [options != swarm(options) for options in found]

    assert not any(steered[:WARM_UP])
    assert 20 < sum(steered[WARM_UP:]) < 60


def test_some_options_come_from_a_run_that_found_something_and_the_rest_are_drawn() -> None:
    steering = Steering(BASE)
    first = steering.next()
    steering.tell(first, 100)
    origins: Counter[str] = Counter()
    for _ in range(WARM_UP + 60):
        options = steering.next()
        steering.tell(options, 0)
        drawn = swarm(options)
        for field in fields(Faults):
            value = getattr(options.faults, field.name)
            if value != getattr(drawn.faults, field.name):
                known = (0, getattr(first.faults, field.name))
                origins["first" if value in known else "elsewhere"] += 1

    assert origins["first"] > 50
    assert origins["elsewhere"] == 0


def test_a_series_follows_from_its_first_options_and_what_is_told() -> None:
    assert series(50, 3) == series(50, 3)
    assert series(2 * POOL, 3) != series(2 * POOL, 0)

"""Steering: what has found something new is varied, and all of it follows from what is told."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

from canvass.simulation.options import Faults, Options, swarm
from canvass.simulation.steering import POOL, Steering

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


def test_what_has_found_something_is_varied() -> None:
    found = series(60, 5)
    varied = [options for options in found if options != swarm(options)]

    assert 20 < len(varied) < 55


def test_a_variation_has_most_of_its_faults_from_those_that_found_something() -> None:
    steering = Steering(BASE)
    first = steering.next()
    steering.tell(first, 100)
    shared: Counter[bool] = Counter()
    for _ in range(60):
        options = steering.next()
        steering.tell(options, 0)
        if options != swarm(options):
            for field in fields(Faults):
                same = getattr(options.faults, field.name) == getattr(first.faults, field.name)
                shared[same] += 1

    assert shared[True] > 2 * shared[False] > 0


def test_a_series_follows_from_its_first_options_and_what_is_told() -> None:
    assert series(50, 3) == series(50, 3)
    assert series(2 * POOL, 3) != series(2 * POOL, 0)

"""Coverage guidance prefers options that recently found something new, and is deterministic."""

from __future__ import annotations

from collections import Counter

from canvass.selftest.simulation_series import SHARES, CoverageGuidance
from canvass.simulation.options import PROFILES, SELDOM_NS, Options

BASE = Options(7, 3, "hardened", 800)


def series(count: int, news: int) -> list[Options]:
    """Options of a series in which runs whose log grows slowly find something."""
    guidance = CoverageGuidance(BASE)
    found = []
    for _ in range(count):
        options = guidance.next()
        guidance.reward(news if options.offer_mean_ns == SELDOM_NS else 0, options.steps)
        found.append(options)
    return found


def test_each_run_has_a_seed_of_its_own_and_no_more_than_its_budget() -> None:
    found = series(40, 5)

    assert [options.seed for options in found] == list(range(7, 47))
    assert {options.steps for options in found} <= {800 // share for share in SHARES}
    assert {(options.member_count, options.revision) for options in found} == {(3, "hardened")}


def test_a_run_takes_one_step_at_least() -> None:
    guidance = CoverageGuidance(Options(7, steps=1))

    assert {guidance.next().steps for _ in range(20)} == {1}


def test_everything_is_tried_while_nothing_is_known() -> None:
    guidance = CoverageGuidance(BASE)
    drawn = [guidance.next() for _ in range(200)]

    assert {options.steps for options in drawn} == {800 // share for share in SHARES}
    assert len({options.faults for options in drawn}) > len(PROFILES)


def test_what_finds_something_is_chosen_more_often_and_the_rest_not_given_up() -> None:
    found = series(400, 20)
    slow = Counter(options.offer_mean_ns == SELDOM_NS for options in found[100:])

    assert slow[True] > 4 * slow[False] > 0


def test_what_was_found_once_fades() -> None:
    guidance = CoverageGuidance(BASE)
    early = 0
    while early < 20:
        options = guidance.next()
        slow = options.offer_mean_ns == SELDOM_NS
        early += slow
        guidance.reward(500 if slow else 0, 100)
    later = []
    for _ in range(400):
        options = guidance.next()
        later.append(options.offer_mean_ns == SELDOM_NS)
        guidance.reward(0 if later[-1] else 50, 100)

    assert sum(later[:100]) > 50 > sum(later[-100:])


def test_a_series_follows_from_its_first_options_and_what_is_reported() -> None:
    assert series(50, 30) == series(50, 30)
    assert series(50, 30) != series(50, 0)

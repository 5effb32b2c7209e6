"""Each mutant of the core loads, and behaves differently from the core on some step."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest

from canvass.cluster.core import step
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules
from canvass.selftest.kill_matrix import MUTANTS, load, read_mutants
from support.arbitrary_steps import Given, arbitrary_steps

STEPS = 39_000
"""A thousand of each action, enough for the rarest broken rule to show."""


@cache
def expected(revision: str, member_count: int) -> tuple[tuple[Given, Outcome | None], ...]:
    rules = Rules.of(revision, member_count)
    return tuple(
        (given, step(rules, given.i, given.state, given.action, given.input))
        for given in arbitrary_steps(1, rules, STEPS)
    )


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_behaves_differently(name: str) -> None:
    """In the next state, in the sends or, for ``shows_in = "effects"``, in any effect."""
    mutant, core = MUTANTS[name], load(MUTANTS[name])

    for given, outcome in expected(mutant.revision, mutant.member_count):
        other = core.step(given.rules, given.i, given.state, given.action, given.input)
        if mutant.shows_in == "effects":
            if other != outcome:
                return
        elif (other is None) != (outcome is None) or (
            other is not None
            and outcome is not None
            and (other.next != outcome.next or other.sends != outcome.sends)
        ):
            return

    pytest.fail(f"{name} survives: none of {STEPS} steps differs")


def test_a_list_with_a_repeated_name_or_an_unknown_heading_is_refused() -> None:
    given = '[[mutant]]\nname = "one"\nmodule = "quorum"\nbefore = "a"\nafter = "b"\n'
    assert list(read_mutants(given)) == ["one"]

    with pytest.raises(ValueError, match="two mutants have the same name"):
        read_mutants(given + given)
    with pytest.raises(msgspec.ValidationError, match="unknown field `mutants`"):
        read_mutants(given + given.replace("[[mutant]]", "[[mutants]]"))


def test_mutants_that_show_in_effects_only_change_neither_next_state_nor_sends() -> None:
    """Otherwise a comparison of outcomes would find them."""
    for mutant in MUTANTS.values():
        if mutant.shows_in == "effects":
            core = load(mutant)
            for given, outcome in expected(mutant.revision, mutant.member_count)[:4000]:
                other = core.step(given.rules, given.i, given.state, given.action, given.input)
                assert (other is None) == (outcome is None)
                if other is not None and outcome is not None:
                    assert (other.next, other.sends) == (outcome.next, outcome.sends)

"""The list of the mutants of the core. That each differs from it is `test_mutants_on_edges`."""

from __future__ import annotations

from canvass.cluster.core import step
from canvass.cluster.rules import Rules
from support.arbitrary_steps import arbitrary_steps
from support.mutants import LISTED, MUTANTS, load

STEPS = 4_000


def test_no_two_mutants_have_the_same_name() -> None:
    assert len(MUTANTS) == len(LISTED)


def test_mutants_that_show_in_effects_only_change_neither_next_state_nor_sends() -> None:
    """Otherwise a comparison of outcomes would find them."""
    for mutant in MUTANTS.values():
        if mutant.shows_in == "effects":
            core, rules = load(mutant), Rules.of(mutant.revision, mutant.member_count)
            for given in arbitrary_steps(1, rules, STEPS):
                taken = rules, given.i, given.state, given.action, given.input
                outcome, other = step(*taken), core.step(*taken)
                assert (other is None) == (outcome is None)
                if other is not None and outcome is not None:
                    assert (other.next, other.sends) == (outcome.next, outcome.sends)

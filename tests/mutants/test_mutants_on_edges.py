"""Each mutant of the core differs from an edge of a state graph.

That the core differs from none is `test_graph_equivalence`. A few mutants differ one step away from
what a push expands. It asks the oracle about them; at night they differ from edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest
from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.core import Handler
from canvass.cluster.effects import Outcome
from canvass.cluster.member import ElectionState, Input, Member, Role
from canvass.cluster.messages import AppendPosition, NewLeadershipTerm, Vote
from canvass.cluster.predicates import is_closed, is_publisher
from canvass.cluster.rules import Rules
from canvass.steps.oracle import ask
from canvass.steps.step import Step
from canvass.traces.actions import ACTIONS, Action
from support.edges import DEEPER, LARGE, MODELS, Trials, find_kill
from support.graphs import graph_of
from support.mutants import EQUAL, MUTANTS, Mutant, actions_reached, load

pytestmark = pytest.mark.tlc


def announced_by_the_own_leader(i: int, s: Member, x: Input) -> bool:
    m = x.message
    serves = is_closed(s, Role.LEADER) or is_closed(s, Role.FOLLOWER)
    if not isinstance(m, NewLeadershipTerm) or not serves:
        return True
    other = m.leadership_term_id != s.module_leadership_term_id
    return other or (s.role is Role.FOLLOWER and m.leader_member_id == s.leader_member_id)


def of_no_newer_term(i: int, s: Member, x: Input) -> bool:
    m = x.message
    if not isinstance(m, AppendPosition) or not is_closed(s, Role.LEADER):
        return True
    return m.leadership_term_id <= s.module_leadership_term_id


FACTS: Final[dict[str, Callable[[int, Member, Input], bool]]] = {
    "NoNewerTermIsReported": of_no_newer_term,
    "NomineesHaveNoVotes": lambda i, s, x: True,
    "OnlyTheRecordedIsProcessed": lambda i, s, x: x.position <= s.recorded_position,
    "OnlyTheWrittenIsRecorded": lambda i, s, x: (
        not is_publisher(s) or x.position <= s.publication_position
    ),
    "OwnTermIsAnnouncedByItsLeader": announced_by_the_own_leader,
    "PromisesAreKnown": lambda i, s, x: True,
    "VotesReachTheirCandidate": lambda i, s, x: (
        not isinstance(x.message, Vote) or x.message.candidate_member_id == i
    ),
}
"""The lemmas of Properties.tla for one input in one state.

A lemma of a state alone is True here: every state of the graphs satisfies it.
"""


def within(fact: Callable[[int, Member, Input], bool], broken: Handler, sound: Handler) -> Handler:
    """Give a handler with the broken rule where a fact holds, and the sound rule elsewhere."""

    def handler(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
        return (broken if fact(i, s, x) else sound)(rules, i, s, x)

    return handler


Graphs = Callable[[str, int], Trials]


@pytest.fixture(scope="module")
def graphs(pytestconfig: pytest.Config) -> Graphs:
    """The trials of the graphs of `MODELS`; TLC builds them, or they are in pytest's cache."""
    return cache(lambda *key: Trials(graph_of(pytestconfig, *MODELS[key])))


@pytest.fixture(scope="module")
def large(pytestconfig: pytest.Config) -> Trials:
    """The trials of the graph that takes longest."""
    return Trials(graph_of(pytestconfig, *DEEPER[LARGE]))


UNREACHABLE: Final[dict[str, tuple[Action, Callable[[Member], Member]]]] = {
    "vote_lowers_the_candidate_term_on_disk": (
        Action.ON_REQUEST_VOTE,
        lambda s: replace(s, persisted_candidate_term_id=4),
    ),
    "votes_of_an_earlier_ballot_are_kept": (
        Action.NOMINATE,
        lambda s: replace(s, members=tuple(replace(one, vote=0) for one in s.members)),
    ),
}
"""Mutants that no edge shows: an action, and a change to a state that no member reaches."""


def alive(trials: Trials, key: tuple[str, int]) -> list[Mutant]:
    """The mutants that equal each edge, but for those that no state shows.

    The mutants that show in effects only are killed in `test_mutants_simulated`.
    """
    mutants = [
        one
        for one in MUTANTS.values()
        if (one.revision, one.member_count) == key
        and one.shows_in == "outcome"
        and not one.unreachable
    ]
    assert mutants
    return [one for one in mutants if not find_kill(trials, load(one), actions_reached(one))[0]]


def asked_of(trials: Trials, mutant: Mutant) -> Iterator[tuple[Step, bool]]:
    """In a state that has no edge: the steps of the mutant and of the core, and which is right."""
    graph, broken = trials.graph, load(mutant)
    states = np.random.default_rng(0).permutation(np.flatnonzero(~graph.expanded)).tolist()
    for row, action in product(states, actions_reached(mutant)):
        before = trials.states[row]
        for given in np.flatnonzero(graph.input_action == ACTIONS.index(action)).tolist():
            args = (trials.rules, 0, before, action.value, x := trials.inputs[given])
            outcomes = core.step(*args), broken.step(*args)
            if outcomes[0] != outcomes[1]:
                for outcome, right in zip(outcomes, (True, False), strict=True):
                    if outcome is not None:
                        sends = tuple((send.to, send.message) for send in outcome.sends)
                        yield Step(0, before, action, x, outcome.next, sends), right
                return
    pytest.fail(f"no state shows {mutant.name}")


@pytest.mark.parametrize("key", MODELS, ids=str)
def test_every_mutant_is_killed(graphs: Graphs, key: tuple[str, int]) -> None:
    """By an edge, or one step away by the oracle."""
    trials = graphs(*key)
    asked = [each for mutant in alive(trials, key) for each in asked_of(trials, mutant)]

    answers = ask(trials.rules, [step for step, _ in asked])

    assert answers == [right for _, right in asked]
    assert not asked or key == LARGE


@pytest.mark.night
def test_every_mutant_is_killed_by_an_edge(large: Trials) -> None:
    assert alive(large, LARGE) == []


def test_the_models_are_those_of_all_mutants() -> None:
    assert {(one.revision, one.member_count) for one in MUTANTS.values()} == set(MODELS)
    assert len(MUTANTS) >= 100


@pytest.mark.parametrize("name", UNREACHABLE)
def test_the_oracle_refuses_an_unreachable_mutants_step(graphs: Graphs, name: str) -> None:
    action, change = UNREACHABLE[name]
    trials, broken = graphs("1.50", 3), load(MUTANTS[name])
    for source, given, _, _ in trials.of(action):
        before, x = change(trials.states[source]), trials.inputs[given]
        outcome = broken.step(trials.rules, 0, before, action.value, x)
        if outcome is not None and outcome != core.step(trials.rules, 0, before, action.value, x):
            sends = tuple((send.to, send.message) for send in outcome.sends)
            (answer,) = ask(trials.rules, [Step(0, before, action, x, outcome.next, sends)])
            break

    assert not answer


def test_the_facts_that_make_two_mutants_unreachable_hold_in_every_state(graphs: Graphs) -> None:
    """So no edge kills these mutants; only the oracle does."""
    unreachable = {mutant.name for mutant in MUTANTS.values() if mutant.unreachable}
    states = [state for key in MODELS for state in graphs(*key).states]

    assert unreachable == UNREACHABLE.keys()
    for state in states:
        if state.election_state not in (ElectionState.INIT, ElectionState.CLOSED):
            assert state.persisted_candidate_term_id <= state.candidate_term_id
        if state.election_state is ElectionState.NOMINATE:
            assert all(record.vote == -1 for record in state.members)


def find_kill_where(fact: Callable[[int, Member, Input], bool], name: str, trials: Trials) -> Any:
    """Look for an edge that differs from a mutant, which is broken in states with a fact only."""
    actions, broken = actions_reached(MUTANTS[name]), load(MUTANTS[name])
    handlers = {
        action.value: within(fact, broken.ACTIONS[action.value], core.ACTIONS[action.value])
        for action in actions
    }
    return find_kill(trials, SimpleNamespace(ACTIONS=handlers), actions)


@pytest.mark.parametrize("name", sorted(EQUAL))
def test_an_equal_mutant_equals_the_core_where_its_fact_holds(graphs: Graphs, name: str) -> None:
    """In any state and for any message of one member; TLC checks the fact in clusters."""
    fact = FACTS[EQUAL[name].lemma]
    everywhere = [
        find_kill_where(lambda *_: True, name, graphs(*key))[0] for key in (LARGE, ("1.50", 2))
    ]
    results = [find_kill_where(fact, name, graphs(*key)) for key in MODELS]

    assert any(everywhere) != bool(MUTANTS[name].unreachable)
    assert all(kill is None and tried > 10 for kill, tried in results), results


@pytest.mark.night
@pytest.mark.parametrize("name", sorted(EQUAL))
def test_an_equal_mutant_equals_the_core_one_step_further(large: Trials, name: str) -> None:
    kill, tried = find_kill_where(FACTS[EQUAL[name].lemma], name, large)

    assert kill is None
    assert tried > 100


def test_a_mutant_differs_in_no_action_that_its_edit_does_not_reach(graphs: Graphs) -> None:
    trials = graphs("1.50", 2)
    for mutant in MUTANTS.values():
        others = set(Action) - set(actions_reached(mutant))
        broken = load(mutant)
        for action in others:
            for source, given, _, _ in trials.of(action)[:2]:
                args = (trials.rules, 0, trials.states[source], trials.inputs[given])
                assert broken.ACTIONS[action.value](*args) == core.ACTIONS[action.value](*args)


def test_every_action_with_an_effect_is_reached_by_a_mutant() -> None:
    reached = {action for mutant in MUTANTS.values() for action in actions_reached(mutant)}

    assert set(Action) - reached == {Action.ON_TERMINATION_ACK}

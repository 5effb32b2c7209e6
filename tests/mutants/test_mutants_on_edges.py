"""Each mutant of the core differs from an edge of a state graph.

That the core differs from none, in its effects as well, is `test_graph_equivalence`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Final

import pytest
from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.core import Handler
from canvass.cluster.effects import AdvanceCommit, PersistCandidateTerm, Send, StopReplay
from canvass.cluster.member import ElectionState, Input, Member, Role, new_member
from canvass.cluster.messages import AppendPosition, NewLeadershipTerm, Vote
from canvass.cluster.outcome import Outcome
from canvass.cluster.predicates import is_closed, is_publisher
from canvass.cluster.rules import Rules
from canvass.selftest.edges import disagreement, find_kill
from canvass.selftest.kill_matrix import (
    MODELS,
    MUTANTS,
    Graphs,
    actions_reached,
    kill_mutants,
    load,
)
from canvass.traces.actions import Action
from support.surviving_mutants import EQUAL

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


@pytest.fixture(scope="module")
def graphs(pytestconfig: pytest.Config) -> Graphs:
    assert pytestconfig.cache is not None
    return Graphs(pytestconfig.cache.mkdir("graphs"))


def test_every_mutant_is_killed(graphs: Graphs, capsys: pytest.CaptureFixture[str]) -> None:
    results = kill_mutants(graphs)
    alive = [result.mutant.name for result in results if result.kill is None]
    with capsys.disabled():
        sys.stdout.write(f" {len(results)} mutants, {len(alive)} alive ")

    assert alive == []
    assert len(results) == len(MUTANTS) >= 100


def test_a_mutant_is_reported_with_the_action_and_where_the_spec_defines_it(graphs: Graphs) -> None:
    (result,) = kill_mutants(graphs, [MUTANTS["vote_twice_in_a_term"]])

    assert result.kill is not None
    assert result.kill.action is Action.ON_REQUEST_VOTE
    assert result.kill.operator.startswith("OnRequestVote, Election.tla:")
    assert result.kill.difference


def test_a_removed_effect_of_each_kind_is_found(graphs: Graphs) -> None:
    seen: set[str] = set()
    found: set[str] = set()
    for revision, member_count in (("1.50", 3), ("1.50", 2)):
        trials = graphs.of(revision, member_count)
        for action in Action:
            for source, given, target, _ in trials.of(action)[:3_000]:
                before = trials.states[source]
                outcome = core.step(trials.rules, 0, before, action.value, trials.inputs[given])
                if outcome is None or target < 0:
                    continue
                for place, effect in enumerate(outcome.effects):
                    rest = outcome.effects[:place] + outcome.effects[place + 1 :]
                    seen.add(type(effect).__name__)
                    if disagreement(before, action.value, outcome.next, rest):
                        found.add(type(effect).__name__)

    assert seen - found == {"Send", "JoinLog"}, "the edges have the sends; JoinLog changes no state"
    assert len(found) >= 20


def test_effects_with_a_wrong_value_or_in_the_wrong_order_are_found() -> None:
    state = new_member(3)
    after = replace(state, commit_position=2, persisted_candidate_term_id=4)
    vote = Send(1, Vote(4, -1, 0, 1, 0, True))
    term, commit = PersistCandidateTerm(4), AdvanceCommit(2)

    assert disagreement(state, "Nominate", after, (term, vote, commit)) == ""
    assert "commit is 1" in disagreement(state, "Nominate", after, (term, AdvanceCommit(1)))
    assert "after a send" in disagreement(state, "Nominate", after, (vote, term, commit))
    assert "no replay runs" in disagreement(state, "Nominate", after, (term, commit, StopReplay()))


def test_the_facts_that_make_two_mutants_unreachable_hold_in_every_state(graphs: Graphs) -> None:
    """So no edge kills these mutants; only the oracle does."""
    unreachable = {mutant.name for mutant in MUTANTS.values() if mutant.unreachable}
    states = [state for key in MODELS for state in graphs.of(*key).states]

    assert unreachable == {
        "vote_lowers_the_candidate_term_on_disk",
        "votes_of_an_earlier_ballot_are_kept",
    }
    for state in states:
        if state.election_state not in (ElectionState.INIT, ElectionState.CLOSED):
            assert state.persisted_candidate_term_id <= state.candidate_term_id
        if state.election_state is ElectionState.NOMINATE:
            assert all(record.vote == -1 for record in state.members)


@pytest.mark.parametrize("name", sorted(EQUAL))
def test_an_equal_mutant_equals_the_core_where_its_fact_holds(graphs: Graphs, name: str) -> None:
    """In any state and for any message of one member; TLC checks the fact in clusters."""
    fact, broken = FACTS[EQUAL[name].fact], load(MUTANTS[name])
    actions = actions_reached(MUTANTS[name])
    handlers = {
        action.value: within(fact, broken.ACTIONS[action.value], core.ACTIONS[action.value])
        for action in actions
    }
    kill, _ = find_kill(graphs.of("1.50", 3), broken, actions)
    results = [
        find_kill(graphs.of(*key), SimpleNamespace(ACTIONS=handlers), actions) for key in MODELS
    ]

    assert (kill is None) == bool(MUTANTS[name].unreachable)
    assert all(kill is None and tried > 100 for kill, tried in results), results


def test_an_edit_reaches_the_actions_that_use_the_edited_definition() -> None:
    assert actions_reached(MUTANTS["count_votes_for_others"]) == (Action.ON_VOTE,)
    assert Action.CANVASS in actions_reached(MUTANTS["quorum_of_half"])
    for mutant in MUTANTS.values():
        assert actions_reached(mutant), mutant.name


def test_a_mutant_differs_in_no_action_that_its_edit_does_not_reach(graphs: Graphs) -> None:
    trials = graphs.of("1.50", 2)
    for mutant in MUTANTS.values():
        others = set(Action) - set(actions_reached(mutant))
        broken = load(mutant)
        for action in others:
            for source, given, _, _ in trials.of(action)[:5]:
                args = (trials.rules, 0, trials.states[source], trials.inputs[given])
                assert broken.ACTIONS[action.value](*args) == core.ACTIONS[action.value](*args)

"""Edges of the state graph, compared with the oracle and with the canonical form."""

from __future__ import annotations

import random

import numpy as np
import pytest
from msgspec.structs import replace

from canvass.cluster.member import Member
from canvass.graph.artifact import Graph, edge_keys
from canvass.steps.oracle import ask
from canvass.steps.step import Step, key_rows
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.schema import NONE
from support.graphs import graph_of
from support.random_steps import key_of

pytestmark = pytest.mark.tlc


@pytest.fixture(scope="module")
def graph(pytestconfig: pytest.Config) -> Graph:
    return graph_of(pytestconfig, "MCMemberGraph3", 0)


def sample(graph: Graph, count: int) -> list[Step]:
    """Choose some edges, the same number of each action."""
    rng = random.Random(7)
    actions = graph.input_action[graph.input]
    rows: list[int] = []
    for code in range(len(ACTIONS)):
        own = np.flatnonzero((actions == code) & (graph.target != NONE)).tolist()
        rows += rng.sample(own, min(count // len(ACTIONS), len(own)))
    return [graph.step(row) for row in rows]


def test_oracle_allows_the_edges_and_no_others(graph: Graph) -> None:
    """Encoding and decoding are in modules that share only the tables."""
    steps = sample(graph, 160)
    wrong = [_with_another_log_position(step) for step in steps]
    rules = graph.rules

    answers = ask(rules, steps + wrong)

    assert answers == [True] * len(steps) + [False] * len(steps)


def _with_another_log_position(step: Step) -> Step:
    after: Member = replace(step.after, recorded_position=step.after.recorded_position + 1)
    return replace(step, after=after)


def test_oracle_enables_the_inputs_that_the_graph_enables(graph: Graph) -> None:
    rows = np.flatnonzero(graph.target == NONE)[::40].tolist()
    steps = []
    for row in rows:
        action, given = graph.given(int(graph.input[row]))
        before = graph.member(int(graph.source[row]))
        steps.append(Step(0, before, action, given, before, ()))
    rules = graph.rules

    answers = ask(rules, steps)

    assert len(steps) > 20
    assert not any(answers)


def test_steps_of_one_question_have_one_answer(graph: Graph) -> None:
    """The fields that a key leaves out do not affect the outcome of a step."""
    answers: dict[object, object] = {}
    shared = 0
    for step in sample(graph, 3000):
        # The key of a step that changes and sends nothing is that of its question.
        asked = key_of(replace(step, after=step.before, sends=()), graph.rules)
        answer = key_of(step, graph.rules)
        if asked in answers and step.action is not Action.RESTART:
            shared += 1
            assert answers[asked] == answer, step
        answers.setdefault(asked, answer)

    assert shared > 50


def test_key_of_a_step_leads_to_an_edge_with_the_same_key(graph: Graph) -> None:
    steps = sample(graph, 1000)
    keys = [key_of(step, graph.rules) for step in steps]
    table = edge_keys(graph)

    edges = table.lookup(key_rows(filter(None, keys))).tolist()

    assert len(table) == graph.manifest.counts.canonical < graph.manifest.counts.edges / 2
    assert [key_of(graph.step(edge), graph.rules) for edge in edges] == keys

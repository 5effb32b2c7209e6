"""TLC's output becomes a graph in its own order, and a table and back again."""

from __future__ import annotations

import random

import numpy as np
import pytest

from canvass.cluster.core import step
from canvass.cluster.member import NO_INPUT, NULL_RECORD, ElectionState, Member, ModuleState, Role
from canvass.graph import GraphError
from canvass.graph.artifact import GraphArrays, to_arrays, to_tables
from canvass.graph.build import PrintedGraph, arrange, cells_of
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.schema import NONE
from support.printed_lines import INPUTS, RULES, explored, input_lines, state_lines

NEW = Member(
    *(-1, (), 0, -1, 0, 0, ModuleState.CLOSED, Role.FOLLOWER, -1, 0, 0, -1, False, False, -1, -1),
    *(-1, (NULL_RECORD,) * 3, ElectionState.CLOSED, *(-1,) * 9, False, -1, -1),
)


def printed(states: list[Member]) -> PrintedGraph:
    graph = PrintedGraph(RULES)
    for line in input_lines():
        graph.feed(line)
    for state in states:
        for line in state_lines(state):
            graph.feed(line)
    graph.close()
    return graph


def same(one: GraphArrays, two: GraphArrays) -> bool:
    first, second = vars(one), vars(two)
    return one.rules == two.rules and all(
        first[name].dtype == second[name].dtype and np.array_equal(first[name], second[name])
        for name in first.keys() - {"rules", "columns"}
    )


def test_every_input_tried_becomes_an_edge_or_a_disabled_action() -> None:
    started = step(RULES, 0, NEW, "Restart", NO_INPUT)
    assert started is not None
    graph = printed([NEW, started.next])
    canvass, message = ACTIONS.index(Action.CANVASS), len(INPUTS[Action.ON_CANVASS_POSITION])

    assert graph.disabled[0] >> canvass & 1
    assert not graph.disabled[1] >> canvass & 1
    assert len(graph.source) == (message + 1) + (message + 2 + 1)
    assert NONE not in graph.target
    assert graph.sends.keys() > {(0,)}


def test_arrays_do_not_depend_on_the_order_of_printing() -> None:
    states = explored(NEW, 40)
    shuffled = states[:]
    random.Random(3).shuffle(shuffled)

    assert same(
        arrange(printed(states), peers_alike=True), arrange(printed(shuffled), peers_alike=True)
    )


def test_states_that_differ_in_the_numbers_of_the_peers_have_one_representative() -> None:
    arrays = arrange(printed(explored(NEW, 40)), peers_alike=True)
    alone = arrange(printed(explored(NEW, 40)), peers_alike=False)
    mirrored = np.flatnonzero(arrays.representative != np.arange(len(arrays.state)))

    assert len(mirrored) > 0
    for row in mirrored.tolist():
        other = int(arrays.representative[row])
        assert np.array_equal(arrays.members[row][[0, 2, 1]], arrays.members[other])
        assert arrays.representative[other] == other
    assert np.array_equal(alone.representative, np.arange(len(alone.state)))


def test_tables_give_the_arrays_back() -> None:
    arrays = arrange(printed(explored(NEW, 30)), peers_alike=True)

    again = to_arrays(to_tables(arrays), RULES)

    assert again.columns.values.strings
    assert same(arrays, again)


@pytest.mark.parametrize(
    "line",
    [
        '"<<7, 1>>"',  # unknown kind
        '"<<1, 1, 2>>"',  # a state that is cut off
        '"<<2, 11, 1, 1>>"',  # results without a state
        '"<<4, 0, 1>>"',  # an outcome that was not announced
        '"<<0, 11, 5, 1>>"',  # an input out of order
        next(input_lines()).rpartition(",")[0] + '>>"',  # an input that is cut off
        '"<<1, two>>"',  # no integers
    ],
)
def test_lines_that_make_no_sense_are_refused(line: str) -> None:
    with pytest.raises(GraphError):
        PrintedGraph(RULES).feed(line)


def test_missing_outcomes_are_noticed() -> None:
    graph = PrintedGraph(RULES)
    lines = [*input_lines(), *state_lines(NEW)]
    for line in lines:
        if not line.startswith('"<<4'):
            graph.feed(line)

    with pytest.raises(GraphError, match="fewer outcomes"):
        graph.close()


def test_other_output_is_passed_over() -> None:
    graph = PrintedGraph(RULES)
    graph.feed("Progress: nothing of ours")

    assert not graph.states
    assert cells_of('"<<1, <<-2, << >>>>, <<3>>>>"') == [1, -2, 3]

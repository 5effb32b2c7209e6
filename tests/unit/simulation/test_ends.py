"""Conditions at the end of a simulated run: answers to clients, and members that agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from canvass.simulation.cluster import Clients
from canvass.simulation.events import Events, Network
from canvass.simulation.options import Options
from canvass.simulation.simulator import RunResult, Simulator

Answers = list[dict[int, int]]


def clients_with(answers: Answers, offered: list[int]) -> tuple[Clients, Events]:
    events = Events(Options(1))
    network = Network(events)
    clients = Clients(events, network, lambda _, __: None)
    clients.answers, clients.offered = answers, offered
    return clients, events


def found(events: Events) -> list[str]:
    return [f"{one.property_name}: {one.violation}" for one in events.findings.values()]


@pytest.mark.parametrize(
    ("answers", "recorded"),
    [
        ([{1: 1, 2: 3}, {1: 2}], []),
        ([{1: 1, 2: 3}, {1: 3}], ["ExactlyOnce: two requests were answered with the same value"]),
        ([{1: 3, 2: 1}, {1: 2}], ["ExactlyOnce: the answers to client 0 are out of order"]),
    ],
)
def test_answers_are_all_different_and_rise_for_each_client(
    answers: Answers, recorded: list[str]
) -> None:
    clients, events = clients_with(answers, [2, 1])
    clients.check()

    assert len(found(events)) == len(recorded)
    assert all(one.startswith(start) for one, start in zip(found(events), recorded, strict=True))


@pytest.mark.parametrize(("value", "right"), [(2, False), (3, True), (5, True), (6, False)])
def test_a_counter_has_all_that_was_answered_and_no_more_than_was_offered(
    value: int, right: bool
) -> None:
    clients, events = clients_with([{1: 1, 2: 3}, {1: 2}], [3, 2])
    clients.check_count(value)

    assert (found(events) == []) is right


def test_who_has_no_answer_is_waited_for() -> None:
    answers: Answers = [{1: 1}, {1: 2}]

    assert clients_with(answers, [1, 1])[0].are_answered
    assert not clients_with(answers, [1, 2])[0].are_answered


@pytest.fixture
def ended() -> tuple[Simulator, RunResult]:
    simulator = Simulator(Options(1, steps=200))
    return simulator, simulator.run()


def lose_an_answer(simulator: Simulator) -> None:
    simulator.cluster.clients.offered[0] += 1


def record_more(simulator: Simulator) -> None:
    node = simulator.cluster.members[0].node
    assert node is not None
    node.archive.recording.append(b"more")


def end_a_member(simulator: Simulator) -> None:
    simulator.cluster.members[1].node = None


@pytest.mark.parametrize("spoil", [lose_an_answer, record_more, end_a_member])
def test_members_agree_only_if_all_is_answered_and_all_stand_at_one_place(
    ended: tuple[Simulator, RunResult], spoil: Callable[[Simulator], None]
) -> None:
    simulator, result = ended

    assert (result.stuck, found(simulator.events)) == ((), [])
    assert simulator._agree(simulator.cluster.members)
    spoil(simulator)
    assert not simulator._agree(simulator.cluster.members)


def test_services_that_hold_something_else_at_one_position_are_reported(
    ended: tuple[Simulator, RunResult],
) -> None:
    simulator, _ = ended
    simulator._compare()
    assert found(simulator.events) == []

    simulator.cluster.members[2].services[0]._asked += 1
    simulator._compare()
    (recorded,) = found(simulator.events)
    assert recorded.startswith("StateMachineSafety: service 0 of 2 differs at ")


def test_a_stuck_run_names_state_and_toggle_of_the_leaders_module(
    ended: tuple[Simulator, RunResult],
) -> None:
    simulator, _ = ended
    simulator._limit_steps = 1 << 60
    (leader,) = [m.id for m in simulator.cluster.members if m.node is not None and m.node.leads]

    assert f"the module of {leader} is ACTIVE, its toggle NEUTRAL" in simulator._reasons()

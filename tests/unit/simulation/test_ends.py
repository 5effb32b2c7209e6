"""What a simulated run asks of its end: answers to clients, and members that agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from canvass.simulation.clients import Clients
from canvass.simulation.healing import Healing
from canvass.simulation.options import Options
from canvass.simulation.simulator import RunResult, Simulator

Answers = list[dict[int, int]]


class Told(Simulator):
    """A simulator that keeps what it is told."""

    def __init__(self) -> None:
        super().__init__(Options(1, steps=200))
        self.told: list[str] = []

    def find(self, name: str, told: str) -> None:
        self.told.append(f"{name}: {told}")


def clients_with(simulator: Told, answers: Answers, offered: list[int]) -> Clients:
    clients = Clients(simulator)
    clients.answers, clients.offered = answers, offered
    return clients


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([{1: 1, 2: 3}, {1: 2}], []),
        ([{1: 1, 2: 3}, {1: 3}], ["ExactlyOnce: two requests were told the same value"]),
        ([{1: 3, 2: 1}, {1: 2}], ["ExactlyOnce: the answers to client 0 are out of order"]),
    ],
)
def test_answers_are_all_different_and_rise_for_each_client(
    answers: Answers, told: list[str]
) -> None:
    simulator = Told()
    clients_with(simulator, answers, [2, 1]).check()

    assert len(simulator.told) == len(told)
    assert all(one.startswith(start) for one, start in zip(simulator.told, told, strict=True))


@pytest.mark.parametrize(("value", "right"), [(2, False), (3, True), (5, True), (6, False)])
def test_a_counter_has_all_that_was_answered_and_no_more_than_was_offered(
    value: int, right: bool
) -> None:
    simulator = Told()
    clients_with(simulator, [{1: 1, 2: 3}, {1: 2}], [3, 2]).check_count(value)

    assert (simulator.told == []) is right


def test_who_has_no_answer_is_waited_for() -> None:
    answers: Answers = [{1: 1}, {1: 2}]

    assert clients_with(Told(), answers, [1, 1]).are_answered
    assert not clients_with(Told(), answers, [1, 2]).are_answered


@pytest.fixture
def ended() -> tuple[Told, RunResult]:
    simulator = Told()
    return simulator, simulator.run()


def lose_an_answer(simulator: Told) -> None:
    simulator.clients.offered[0] += 1


def record_more(simulator: Told) -> None:
    node = simulator.members[0].node
    assert node is not None
    node.archive.recording.append(b"more")


def end_a_member(simulator: Told) -> None:
    simulator.members[1].node = None


@pytest.mark.parametrize("spoil", [lose_an_answer, record_more, end_a_member])
def test_members_agree_only_if_all_is_answered_and_all_stand_at_one_place(
    ended: tuple[Told, RunResult], spoil: Callable[[Told], None]
) -> None:
    simulator, result = ended
    healing = Healing(simulator)

    assert (result.stuck, simulator.told) == ((), [])
    assert healing._agree(simulator.members)
    spoil(simulator)
    assert not healing._agree(simulator.members)


def test_services_that_hold_something_else_at_one_position_are_told(
    ended: tuple[Told, RunResult],
) -> None:
    simulator, _ = ended
    healing = Healing(simulator)
    healing._compare()
    assert simulator.told == []

    simulator.members[2].services[0]._asked += 1
    healing._compare()
    (told,) = simulator.told
    assert told.startswith("StateMachineSafety: service 0 of 2 differs at ")

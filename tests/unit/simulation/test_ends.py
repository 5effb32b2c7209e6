"""What a simulated run asks of its end: answers to clients, and members that agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from canvass.simulation.clients import Clients
from canvass.simulation.healing import Healing
from canvass.simulation.options import Options
from canvass.simulation.simulator import RunResult, Simulator

Answers = list[dict[int, int]]


class RecordingSimulator(Simulator):
    """A simulator that keeps what it finds."""

    def __init__(self) -> None:
        super().__init__(Options(1, steps=200))
        self.recorded: list[str] = []

    def find(self, name: str, recorded: str) -> None:
        self.recorded.append(f"{name}: {recorded}")


def clients_with(simulator: RecordingSimulator, answers: Answers, offered: list[int]) -> Clients:
    clients = Clients(simulator)
    clients.answers, clients.offered = answers, offered
    return clients


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
    simulator = RecordingSimulator()
    clients_with(simulator, answers, [2, 1]).check()

    assert len(simulator.recorded) == len(recorded)
    assert all(
        one.startswith(start) for one, start in zip(simulator.recorded, recorded, strict=True)
    )


@pytest.mark.parametrize(("value", "right"), [(2, False), (3, True), (5, True), (6, False)])
def test_a_counter_has_all_that_was_answered_and_no_more_than_was_offered(
    value: int, right: bool
) -> None:
    simulator = RecordingSimulator()
    clients_with(simulator, [{1: 1, 2: 3}, {1: 2}], [3, 2]).check_count(value)

    assert (simulator.recorded == []) is right


def test_who_has_no_answer_is_waited_for() -> None:
    answers: Answers = [{1: 1}, {1: 2}]

    assert clients_with(RecordingSimulator(), answers, [1, 1]).are_answered
    assert not clients_with(RecordingSimulator(), answers, [1, 2]).are_answered


@pytest.fixture
def ended() -> tuple[RecordingSimulator, RunResult]:
    simulator = RecordingSimulator()
    return simulator, simulator.run()


def lose_an_answer(simulator: RecordingSimulator) -> None:
    simulator.clients.offered[0] += 1


def record_more(simulator: RecordingSimulator) -> None:
    node = simulator.members[0].node
    assert node is not None
    node.archive.recording.append(b"more")


def end_a_member(simulator: RecordingSimulator) -> None:
    simulator.members[1].node = None


@pytest.mark.parametrize("spoil", [lose_an_answer, record_more, end_a_member])
def test_members_agree_only_if_all_is_answered_and_all_stand_at_one_place(
    ended: tuple[RecordingSimulator, RunResult], spoil: Callable[[RecordingSimulator], None]
) -> None:
    simulator, result = ended
    healing = Healing(simulator)

    assert (result.stuck, simulator.recorded) == ((), [])
    assert healing._agree(simulator.members)
    spoil(simulator)
    assert not healing._agree(simulator.members)


def test_services_that_hold_something_else_at_one_position_are_reported(
    ended: tuple[RecordingSimulator, RunResult],
) -> None:
    simulator, _ = ended
    healing = Healing(simulator)
    healing._compare()
    assert simulator.recorded == []

    simulator.members[2].services[0]._asked += 1
    healing._compare()
    (recorded,) = simulator.recorded
    assert recorded.startswith("StateMachineSafety: service 0 of 2 differs at ")

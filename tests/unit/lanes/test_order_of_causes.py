"""The order of causes of several lanes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from canvass.lanes import drawing


class Lane(NamedTuple):
    time: Sequence[int]
    receives: Sequence[object]
    sends: Sequence[Sequence[object]]


def causal_order(lanes: list[Lane]) -> list[tuple[int, int]]:
    """Name each row of the order by its lane and its place there."""
    starts = [0, *accumulate(len(lane.time) for lane in lanes)]
    columns = zip(*lanes, strict=True)
    rows = drawing.causal_order(starts, *(list(chain.from_iterable(one)) for one in columns))
    named = [
        (number, place) for number, lane in enumerate(lanes) for place in range(len(lane.time))
    ]
    return [named[row] for row in rows]


@st.composite
def histories(draw: st.DrawFn) -> list[Lane]:
    """Draw lanes of a cluster: a message is received after it was sent, and clocks are wrong."""
    count = draw(st.integers(1, 4))
    times: list[list[int]] = [[] for _ in range(count)]
    receives: list[list[int | None]] = [[] for _ in range(count)]
    sends: list[list[list[int]]] = [[] for _ in range(count)]
    waiting: list[int] = []
    for number in range(draw(st.integers(0, 30))):
        lane = draw(st.integers(0, count - 1))
        taken = draw(st.booleans()) and waiting
        receives[lane].append(
            waiting.pop(draw(st.integers(0, len(waiting) - 1))) if taken else None
        )
        times[lane].append(draw(st.integers(-5, 5)))
        sends[lane].append([number] if draw(st.booleans()) else [])
        waiting += sends[lane][-1]
    return [Lane(*lane) for lane in zip(times, receives, sends, strict=True)]


@given(histories())
def test_every_event_is_there_once_and_each_lane_in_order(lanes: list[Lane]) -> None:
    order = causal_order(lanes)

    for number, lane in enumerate(lanes):
        assert [place for one, place in order if one == number] == list(range(len(lane.time)))


@given(histories())
def test_every_message_is_sent_before_it_is_received(lanes: list[Lane]) -> None:
    sent: set[object] = set()
    for lane, place in causal_order(lanes):
        wanted = lanes[lane].receives[place]
        assert wanted is None or wanted in sent
        sent |= set(lanes[lane].sends[place])


def test_clocks_decide_if_causes_do_not() -> None:
    lanes = [Lane([3, 5], [None, None], [[], []]), Lane([4, 6], [None, None], [[], []])]

    assert causal_order(lanes) == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_lanes_without_clocks_take_turns() -> None:
    lanes = [Lane([0] * 2, [None] * 2, [[]] * 2), Lane([0] * 2, [None] * 2, [[]] * 2)]

    assert causal_order(lanes) == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_a_message_without_a_send_delays_no_event() -> None:
    lanes = [Lane([1], ["from nowhere"], [[]]), Lane([2], [None], [[]])]

    assert causal_order(lanes) == [(0, 0), (1, 0)]


def test_all_events_of_a_circle_are_in_the_order() -> None:
    lanes = [Lane([2], ["b"], [["a"]]), Lane([1], ["a"], [["b"]])]

    assert causal_order(lanes) == [(1, 0), (0, 0)]

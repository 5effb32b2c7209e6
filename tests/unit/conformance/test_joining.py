"""A member joins a leader's log only after the leader let it: granted, or written that far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from canvass.conformance.causality import NOT_GRANTED, NOT_LED, NOT_REACHED, Order, order_causes
from canvass.conformance.operators import find_operator
from canvass.conformance.verdict import LOG_STREAM
from support.sequences import CLOSED, LEADER, Happening, sequence_of

CATCHUP, LIVE_LOG = "FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_LOG_AWAIT"
JOINS = {CATCHUP: "FollowerCatchupAwait", LIVE_LOG: "FollowerLogAwait"}


def leader(*, reach: int = 0, replays: tuple[int, ...] = (), term: int = 0) -> list[Happening]:
    """Member 0 wins a term with an empty log, writes up to somewhere, and grants catch-ups."""
    begins = Happening(
        0,
        "CandidateBallot",
        state="LEADER_LOG_REPLICATION",
        role=LEADER,
        leadership_term_id=term,
        publication_position=0,
        append_position=0,
    )
    writes = Happening(
        0,
        "AppendEntry",
        state=CLOSED,
        role=LEADER,
        module_leadership_term_id=term,
        publication_position=reach,
        leader_member_id=0,
    )
    grants = replace(writes, action="OnCatchupPosition", replays=replays)
    return [begins, writes, grants, writes]


def joins(state: str, *, commit: int = 0, term: int = 0) -> list[Happening]:
    """Member 1 waits for a log of member 0, and then has it."""
    waits = Happening(
        1,
        "FollowerCatchupInit" if state == CATCHUP else "FollowerLogInit",
        state=state,
        leadership_term_id=term,
        leader_member_id=0,
        commit_position=commit,
        recorded_position=commit,
    )
    after = "FOLLOWER_CATCHUP" if state == CATCHUP else "FOLLOWER_READY"
    return [Happening(1, "Restart"), waits, replace(waits, action=JOINS[state], state=after)]


def ordered(
    happenings: list[Happening], *, empty: bool = True, complete: tuple[bool, bool] = (True, True)
) -> Order:
    return order_causes(sequence_of(happenings, 2), 2, empty=empty, complete=complete)


def problem(order: Order) -> int:
    """The error in the last row, which joins the log."""
    return int(order.found[-1])


def test_joining_a_catchup_comes_after_it_was_granted() -> None:
    order = ordered([*leader(replays=(1,)), *joins(CATCHUP)])

    assert problem(order) == 0
    assert order.rank[-1] > order.rank[2]


@pytest.mark.parametrize("granted", [(), (0,)])
def test_joining_a_catchup_that_nobody_granted_is_found(granted: tuple[int, ...]) -> None:
    assert problem(ordered([*leader(replays=granted), *joins(CATCHUP)])) == NOT_GRANTED


def test_joining_the_live_log_comes_after_it_was_written_so_far() -> None:
    order = ordered([*leader(reach=96), *joins(LIVE_LOG, commit=96)])

    assert problem(order) == 0
    assert order.rank[-1] > order.rank[1]


def test_joining_the_live_log_beyond_its_end_is_found() -> None:
    assert problem(ordered([*leader(reach=64), *joins(LIVE_LOG, commit=96)])) == NOT_REACHED


@pytest.mark.parametrize("state", [CATCHUP, LIVE_LOG])
def test_joining_the_log_of_a_term_that_was_not_led_is_found(state: str) -> None:
    result = ordered([*leader(reach=96, replays=(1,)), *joins(state, term=1)])

    assert problem(result) == NOT_LED


@pytest.mark.parametrize("state", [CATCHUP, LIVE_LOG])
def test_joining_nothing_is_demanded_of_what_was_not_recorded(state: str) -> None:
    """Steps of the leader are missing, or the run began before its recording."""
    story = [*leader(), *joins(state, commit=96)]

    assert problem(ordered(story)) != 0
    assert problem(ordered(story, complete=(False, True))) == 0
    assert problem(ordered(story, empty=False)) == 0


def test_joining_comes_before_a_second_grant_if_the_first_one_may_be_missing() -> None:
    """The leader grants again what the follower, which has joined before, asks for again."""
    begins, writes, grants, _ = leader(replays=(1,))
    asks = replace(joins(CATCHUP)[1], action="Canvass")
    sequence = sequence_of([begins, writes, grants, *joins(CATCHUP), asks], 2)
    received = sequence.received.copy()
    received[2] = [7, 1, 0]
    sequence = replace(
        sequence,
        step=np.array([0, 5, 6, 0, 1, 2, 3]),
        received=received,
        sends_of=np.array([0, 0, 0, 0, 0, 0, 1]),
        sends=np.array([[7, 0, 0]]),
        votes=np.array([[-1, -1]]),
        commit_sent=np.array([-1]),
    )

    order = order_causes(sequence, 2, empty=True, complete=(False, True))

    assert not order.found.any()
    assert len(order.order) == len(sequence)


@pytest.mark.parametrize("action", [*JOINS.values(), "RecordLog"])
def test_joining_is_explained_by_the_action_of_the_cluster_that_asks_for_it(action: str) -> None:
    expected = f"Take{action}(i) ==" if action in JOINS.values() else "NextEntry(c, i) =="
    operator = find_operator(LOG_STREAM, action)

    assert operator is not None
    assert (operator.module, operator.lines[0]) == ("Cluster", expected)

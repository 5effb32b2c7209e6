"""The cause of a step comes before it: the send of a message, the grant or the write of a log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from canvass.conformance.causality import (
    CYCLE,
    NO_LEADER,
    NOT_GRANTED,
    NOT_LED,
    NOT_REACHED,
    NOT_SENT,
    NOT_WRITTEN,
    OTHER_CONTENT,
    OTHER_RECEIVER,
    OVERTAKEN,
    RECEIVED_TWICE,
    SOUND,
    Order,
    find_leaderships,
    order_causes,
    order_steps,
    truncated_members,
)
from canvass.conformance.diagnose import find_operator
from canvass.conformance.findings import LOG_STREAM
from canvass.conformance.run_arrays import RunArrays, content_hashes, rows_before
from canvass.traces.schema import MESSAGE_COLUMNS
from support.run_arrays import CLOSED, LEADER, StepSketch, arrays_of, exchanged

CATCHUP, LIVE_LOG = "FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_LOG_AWAIT"
JOINS = {CATCHUP: "FollowerCatchupAwait", LIVE_LOG: "FollowerLogAwait"}


def leader(*, reach: int = 0, replays: tuple[int, ...] = (), term: int = 0) -> list[StepSketch]:
    """Member 0 wins a term with an empty log, writes up to somewhere, and grants catch-ups."""
    begins = StepSketch(
        0,
        "CandidateBallot",
        state="LEADER_LOG_REPLICATION",
        role=LEADER,
        leadership_term_id=term,
        publication_position=0,
        append_position=0,
    )
    writes = StepSketch(
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


def joins(state: str, *, commit: int = 0, term: int = 0) -> list[StepSketch]:
    """Member 1 waits for a log of member 0, and then has it."""
    waits = StepSketch(
        1,
        "FollowerCatchupInit" if state == CATCHUP else "FollowerLogInit",
        state=state,
        leadership_term_id=term,
        leader_member_id=0,
        commit_position=commit,
        recorded_position=commit,
    )
    after = "FOLLOWER_CATCHUP" if state == CATCHUP else "FOLLOWER_READY"
    return [StepSketch(1, "Restart"), waits, replace(waits, action=JOINS[state], state=after)]


def ordered(
    happenings: list[StepSketch], *, empty: bool = True, complete: tuple[bool, bool] = (True, True)
) -> Order:
    return order_causes(arrays_of(happenings, 2), 2, empty=empty, complete=complete)


def problem(order: Order) -> int:
    """The error in the last row, which joins the log."""
    return int(order.found[-1])


def test_joining_a_catchup_comes_after_it_was_granted() -> None:
    order = ordered([*leader(replays=(1,)), *joins(CATCHUP)])

    assert problem(order) == 0
    assert order.rank[-1] > order.rank[2]


@pytest.mark.parametrize("granted", [(), (0,), (2,)])
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
    arrays = arrays_of([begins, writes, grants, *joins(CATCHUP), asks], 2)
    receipts = [(7, 1, 0) if row == 2 else (-1, -1, 0) for row in range(7)]
    arrays = exchanged(arrays, receipts, [(6, 7, 0, 0)])
    arrays = replace(arrays, step=np.array([0, 5, 6, 0, 1, 2, 3]))

    order = order_causes(arrays, 2, empty=True, complete=(False, True))

    assert not order.found.any()
    assert len(order.order) == len(arrays)


@pytest.mark.parametrize("action", [*JOINS.values(), "RecordLog"])
def test_joining_is_explained_by_the_operator_of_the_cluster_that_asks_for_it(action: str) -> None:
    expected = "IsConnected(i) ==" if action in JOINS.values() else "NextEntry(c, i) =="
    operator = find_operator(LOG_STREAM, action)

    assert operator is not None
    assert (operator.module, operator.lines[0]) == ("Cluster", expected)


def records(position: int, *, term: int) -> list[StepSketch]:
    """Member 1 follows member 0 in a term, and records up to a position."""
    follows = StepSketch(
        1, "Canvass", state=CLOSED, module_leadership_term_id=term, leader_member_id=0
    )
    return [
        StepSketch(1, "Restart"),
        follows,
        replace(follows, action="RecordLog", recorded_position=position),
    ]


@pytest.mark.parametrize(
    ("position", "term", "expected"), [(96, 0, 0), (97, 0, NOT_WRITTEN), (96, 1, NO_LEADER)]
)
def test_recording_what_the_leader_has_not_written_in_the_term_is_found(
    position: int, term: int, expected: int
) -> None:
    story = [*leader(reach=96), *records(position, term=term)]

    assert problem(ordered(story)) == expected
    assert problem(ordered(story, complete=(False, True))) == 0


def test_a_row_goes_on_with_the_row_before_only_in_one_stream_without_a_gap() -> None:
    story = [StepSketch(0, "Restart"), *[StepSketch(member, "Canvass") for member in (0, 0, 1, 2)]]
    arrays = replace(arrays_of(story, 3), step=np.array([0, 1, 3, 4, 0]))

    assert rows_before(arrays, empty=True).tolist() == [-1, 0, -2, -2, -1]
    assert rows_before(arrays, empty=False).tolist() == [-2, 0, -2, -2, -2]


def test_a_leader_goes_on_with_its_leadership_after_missing_steps_in_the_same_term_only() -> None:
    begins, writes, _, _ = leader(reach=96)
    ends = replace(writes, role="FOLLOWER")
    later = replace(writes, module_leadership_term_id=1)
    other = replace(later, member=1)
    arrays = arrays_of([begins, writes, writes, later, ends, ends, other], 2)
    arrays = replace(arrays, step=np.array([0, 1, 3, 5, 6, 7, 9]))

    found = find_leaderships(arrays, rows_before(arrays, empty=True))

    columns = (found.row, found.end, found.member, found.term, found.base)
    assert [column.tolist() for column in columns] == [
        [0, 3, 6],
        [3, 4, 7],
        [0, 0, 1],
        [0, 1, 1],
        [0, 96, 96],
    ]


def test_a_member_records_the_term_that_its_leader_has_begun_anew() -> None:
    again = [replace(each, leadership_term_id=1) for each in leader(term=0)[:1]]
    writes = replace(leader(reach=96, term=1)[1], recorded_position=0)
    recorded = records(64, term=0)
    follows = replace(recorded[-1], module_leadership_term_id=1)
    story = [*leader(reach=64)[:2], *again, writes, *recorded, follows]
    story.append(replace(follows, recorded_position=96))

    assert ordered(story).source.tolist()[-3:] == [0, -1, 1]


@pytest.mark.parametrize(("sender", "is_cut"), [(-1, False), (0, True), (1, False), (2, False)])
def test_a_message_beyond_the_last_one_of_a_member_tells_that_its_stream_is_cut(
    sender: int, is_cut: bool
) -> None:
    """Member 1 has sent that message; there is no member 2."""
    arrays = arrays_of([StepSketch(0, "Canvass"), StepSketch(1, "Canvass", vote=(0, 0))], 2)
    received = {"received_id": np.array([0, -1]), "received_from": np.array([sender, -1])}

    assert truncated_members(replace(arrays, **received), 2) == ([sender] if is_cut else [])
    assert truncated_members(replace(arrays, **received), 2, unsent=0) == []


def exchange(
    receipts: list[tuple[int, int]],
    sends: list[tuple[int, int, int]],
    last: StepSketch | None = None,
) -> RunArrays:
    """Two members take two steps each.

    Parameters
    ----------
    receipts
        For each row the message that it receives and the sender, or -1 and -1.
    sends
        The row, the message and the receiver of each message sent, in the order of the rows.
    last
        The last step of member 1, if it is another one than the first.
    """
    steps = [StepSketch(member, "Canvass") for member in (0, 0, 1)]
    arrays = arrays_of([*steps, last or StepSketch(1, "Canvass")], 2)
    received = [(*receipt, 0) for receipt in receipts]
    return exchanged(arrays, received, [(*send, 0) for send in sends])


NOTHING = (-1, -1)


@pytest.mark.parametrize("row", [2, 3])
def test_a_receipt_comes_after_the_send_of_its_message(row: int) -> None:
    arrays = exchange([(5, 1), NOTHING, NOTHING, NOTHING], [(row, 5, 0)])

    order = order_causes(arrays, 2, empty=True, complete=(True, True))

    assert order.order.tolist() == [2, 3, 0, 1]
    assert not order.found.any()


def test_two_members_that_wait_for_each_others_later_message_are_a_cycle() -> None:
    arrays = exchange([(5, 1), NOTHING, (4, 0), NOTHING], [(1, 4, 1), (3, 5, 0)])

    order = order_causes(arrays, 2, empty=True, complete=(True, True))

    assert order.found.tolist() == [CYCLE, 0, CYCLE, 0]


def test_a_message_for_another_member_is_found() -> None:
    arrays = exchange([(5, 1), NOTHING, NOTHING, NOTHING], [(3, 5, 1)])

    order = order_causes(arrays, 2, empty=True, complete=(True, True))

    assert order.found[0] == OTHER_RECEIVER


@pytest.mark.parametrize(
    ("sender", "complete", "expected"),
    [
        (-1, (True, False), NOT_SENT),
        (0, (True, False), NOT_SENT),
        (0, (False, True), SOUND),
        (1, (True, False), SOUND),
        (1, (False, True), NOT_SENT),
        (2, (True, False), NOT_SENT),
    ],
)
def test_a_message_without_a_send_is_found_unless_steps_of_its_sender_are_missing(
    sender: int, complete: tuple[bool, bool], expected: int
) -> None:
    """There is no member 2."""
    arrays = exchange([(5, sender), NOTHING, NOTHING, NOTHING], [])

    order = order_causes(arrays, 2, empty=True, complete=complete)

    assert order.found[0] == expected


def test_a_cycle_through_the_first_step_of_a_run_is_found() -> None:
    arrays = exchange([(5, 1), NOTHING, (4, 0), NOTHING], [(0, 4, 1), (3, 5, 0)])

    order = order_causes(arrays, 2, empty=True, complete=(True, True))

    assert order.found.tolist() == [CYCLE, 0, CYCLE, 0]


def test_a_message_with_other_contents_is_found_and_orders_nothing() -> None:
    """If the receipt of message 5 came after its send, the steps would be a cycle."""
    arrays = exchange([(5, 1), NOTHING, (4, 0), NOTHING], [(1, 4, 1), (3, 5, 0)])
    arrays = replace(arrays, send_hash=np.array([0, 7]))

    order = order_causes(arrays, 2, empty=True, complete=(True, True))

    assert order.found.tolist() == [OTHER_CONTENT, 0, 0, 0]


def test_a_message_that_is_received_twice_is_found() -> None:
    arrays = exchange([(5, 1), (5, 1), NOTHING, NOTHING], [(2, 5, 0)])

    order = order_causes(arrays, 2, empty=True, complete=(True, True))

    assert order.found.tolist() == [0, RECEIVED_TWICE, 0, 0]


def test_a_message_that_is_received_after_a_later_one_of_its_sender_is_found() -> None:
    arrays = exchange([(6, 1), (5, 1), NOTHING, NOTHING], [(2, 5, 0), (3, 6, 0)])

    order = order_causes(arrays, 2, empty=True, complete=(True, True))

    assert order.found.tolist() == [0, OVERTAKEN, 0, 0]


@pytest.mark.parametrize(("action", "step"), [("Restart", 1), ("Canvass", 7)])
def test_messages_of_a_new_process_may_overtake_those_of_the_old_one(
    action: str, step: int
) -> None:
    """A receiver polls the images of both in turn. After missing steps the process is unknown."""
    sends = [(2, 5, 0), (3, 6, 0)]
    arrays = exchange([(6, 1), (5, 1), NOTHING, NOTHING], sends, StepSketch(1, action))
    arrays.step[3] = step

    order = order_causes(arrays, 2, empty=True, complete=(True, step == 1))

    assert not order.found.any()


def test_messages_to_different_members_overtake_each_other() -> None:
    arrays = exchange([NOTHING, (6, 0), (5, 0), NOTHING], [(0, 5, 1), (0, 6, 0)])

    order = order_causes(arrays, 2, empty=True, complete=(True, True))

    assert not order.found.any()


def test_the_hash_of_a_message_tells_its_type_and_fields_apart_and_not_its_peer_and_id() -> None:
    """Row 0 is no message. Each further row differs from row 1 in one column."""
    width = len(MESSAGE_COLUMNS)
    first = np.arange(width)
    messages = np.stack([first - np.eye(width, dtype=np.int64)[0], first, *(first + np.eye(width))])

    none, found, *changed = content_hashes(messages.astype(np.int64)).tolist()

    same = [name for name, each in zip(MESSAGE_COLUMNS, changed, strict=True) if each == found]
    assert same == ["peer", "id"]
    assert none == -1
    assert len(set(changed)) == width - 1


def steps_in_order(
    counts: list[int], *, cause: dict[int, int] | None = None, commits: frozenset[int] = frozenset()
) -> list[int]:
    """Order the steps of members with so many steps each, without messages.

    Parameters
    ----------
    cause
        For a row another row that must come before.
    commits
        The rows that commit.
    """
    count = sum(counts)
    order, no = np.full(count, -1), np.full(count, -1)
    causes = no.copy()
    for row, other in (cause or {}).items():
        causes[row] = other
    filled = order_steps(
        np.repeat(np.arange(len(counts)), counts),
        np.concatenate([[0], np.cumsum(counts)]),
        no,
        no[:0],
        causes,
        np.isin(np.arange(count), sorted(commits)),
        np.zeros(count, dtype=np.int8),
        order,
    )
    return [int(row) for row in order[:filled]]


def test_a_step_waits_for_its_cause() -> None:
    assert steps_in_order([2, 2], cause={0: 2}) == [2, 3, 0, 1]
    assert steps_in_order([2, 2], cause={0: 3}) == [2, 3, 0, 1]
    assert steps_in_order([2, 2], cause={0: 3, 2: 0}) == []


def test_a_step_that_commits_waits_until_no_other_step_is_possible() -> None:
    """Rows 0 to 2 are of member 0, rows 3 and 4 of member 1."""
    assert steps_in_order([3, 2], commits=frozenset({1})) == [0, 3, 4, 1, 2]
    assert steps_in_order([3, 2], commits=frozenset({1, 2}), cause={4: 1}) == [0, 3, 1, 4, 2]
    assert steps_in_order([3, 2], commits=frozenset({1, 3})) == [0, 1, 2, 3, 4]

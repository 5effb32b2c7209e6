"""Lines that Aeron must have logged, found without a model of time in the spec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as replace_fields
from typing import Any

import pytest
from msgspec.structs import replace

from canvass.cluster.messages import AppendPosition, CanvassPosition, CommitPosition, Message
from canvass.traces.aeron_log import records
from canvass.traces.alignment.completeness import missing_ends, missing_links, missing_receipts
from canvass.traces.alignment.member_lines import MemberLines
from support.aeron_runs import ALL_EVENTS, SAMPLES, lines_of_logs


def test_a_true_log_lacks_no_commit_position() -> None:
    assert list(missing_receipts(lines_of_logs(SAMPLES[0]))) == []


def received(i: int, times: list[int], messages: Sequence[Message | None]) -> MemberLines:
    given: dict[str, Any] = dict.fromkeys(records.ElectionStateChange.__struct_fields__, 0)
    found: list[Any] = [
        records.ElectionStateChange(**{**given, "time_ns": at, "line": number})
        for number, at in enumerate(times)
    ]
    return MemberLines(i, ("log",), found, list(messages), ALL_EVENTS, times=times)


@pytest.mark.parametrize(
    ("reports", "lost"),
    [
        pytest.param([5, 10, 15, 20], 1, id="the leader hears of it"),
        pytest.param([5, 20], 0, id="it may have been paused"),
        pytest.param([], 0, id="the leader does not hear of it"),
        pytest.param([-20, 5, 10, 15, 20], 0, id="the leader has not heard of it for 2.5 s"),
    ],
)
def test_a_follower_that_the_leader_does_not_hear_of_may_be_cut_off(
    reports: list[int], lost: int
) -> None:
    times = [100_000_000 * at for at in (4, 5, 9, 14, 20)]
    commits: list[Message] = [CommitPosition(1, 32 * at, 0) for at in range(1, 6)]
    members = {
        0: received(
            0, [100_000_000 * at for at in reports], [AppendPosition(1, 32, 1, 0) for _ in reports]
        ),
        1: received(1, [times[0], times[-1]], [commits[0], commits[-1]]),
        2: received(2, times, commits),
    }

    assert len(list(missing_receipts(members))) == lost


@pytest.mark.parametrize(
    ("late", "lines"),
    [
        pytest.param([0] * 4, [], id="as many as the leader can have sent"),
        pytest.param([0] * 2, [3], id="fewer"),
        pytest.param([0, 1, 2, 3], [3], id="other positions are sent at once, not repeated"),
    ],
)
def test_a_leader_that_seldom_runs_repeats_its_commit_position_seldom(
    late: list[int], lines: list[int]
) -> None:
    """An overloaded leader runs three times while a follower receives nothing for 1.6 s."""
    times = [400_000_000, *(2_000_000_000 + 1_000_000 * at for at in range(len(late)))]
    commits: list[Message] = [CommitPosition(1, 32 * at, 0) for at in [0, *late]]
    reports = [4, 8, 12, 16, 20]
    members = {
        0: received(
            0, [100_000_000 * at for at in reports], [AppendPosition(1, 32, 1, 0) for _ in reports]
        ),
        1: received(1, times, commits),
    }
    close_at_start(members)

    assert [line for _, line, _ in missing_receipts(members)] == lines


def test_intervals_that_are_not_kept_exactly_hide_no_deleted_lines() -> None:
    """The leader repeats its commit position, and three of the repetitions are deleted."""
    beats = [k * 200_000_000 - (k % 3) * 900_000 for k in range(2, 30)]
    kept = [at for k, at in enumerate(beats) if k not in (4, 5, 6)]
    members = {
        0: received(0, beats, [AppendPosition(1, 32, 1, 0) for _ in beats]),
        1: received(1, kept, [CommitPosition(1, 32 if k < 4 else 64, 0) for k in range(len(kept))]),
    }
    close_at_start(members)

    assert [line for i, line, _ in missing_receipts(members) if i == 1] == [6]


STARTED = records.ProcessStart(0, 1, 0, 0, ())


def close_at_start(members: dict[int, MemberLines]) -> None:
    """Let each member start and close its election before its other lines."""
    for one in members.values():
        (closed,) = received(0, [0], [None]).records
        one.records[:0] = [STARTED, replace(closed, old_state="", new_state="CLOSED")]
        one.messages[:0] = [None, None]
        one.times[:0] = [0, 0]


@pytest.mark.parametrize(
    ("reports", "held_up", "between", "lines"),
    [
        pytest.param(range(4, 21), 1, 0, [4], id="the leader receives reports meanwhile"),
        pytest.param(range(4, 21), 6, 0, [], id="all come later, at once"),
        pytest.param((4, 20), 1, 0, [], id="the member may have been paused"),
        pytest.param(range(4, 21), 1, 1, [], id="another component goes on logging"),
    ],
)
def test_commit_positions_that_nobody_else_receives(
    reports: Sequence[int], held_up: int, between: int, lines: list[int]
) -> None:
    """A follower of two receives nothing for 1.5 s, and the leader goes on to receive its reports.

    Commit positions that a connection held up come all within 6 ms.
    """
    late = [2_000_000_000 + 1_000_000 * at for at in range(held_up)]
    times = [400_000_000, 500_000_000, *late]
    commits: list[Message] = [CommitPosition(1, 32, 0) for _ in times]
    members = {
        0: received(
            0, [100_000_000 * at for at in reports], [AppendPosition(1, 32, 1, 0) for _ in reports]
        ),
        1: received(1, times, commits),
    }
    late_lines = enumerate(members[1].records[2:], 2 + between)
    members[1].records[2:] = [replace(one, line=number) for number, one in late_lines]
    close_at_start(members)

    assert [(i, line) for i, line, _ in missing_receipts(members)] == [(1, line) for line in lines]


@pytest.mark.parametrize(("state", "ends"), [("CLOSED", []), ("ACTIVE", [1])])
def test_a_member_that_has_closed_itself_has_no_more_to_log(state: str, ends: list[int]) -> None:
    """Messages that were on their way for long may come later all the same."""
    report = AppendPosition(1, 32, 1, 0)
    late = [2_000_000_000, 2_100_000_000, 2_200_000_000]
    members = {0: received(0, late, [report] * 3), 1: received(1, [1_000_000_000], [None])}
    for one in members.values():
        one.records.insert(0, STARTED)
        one.messages.insert(0, None)
    change = records.StateChange(0, 2, 1_100_000_000, 1, "INIT", state, None)
    members[1].beside.append((2, change))

    assert [i for i, *_ in missing_ends(members)] == ends


@pytest.mark.parametrize(
    ("state", "ends"), [("CANVASS", [1]), ("NOMINATE", []), ("FOLLOWER_BALLOT", [])]
)
def test_a_ballot_answers_no_canvass_position(state: str, ends: list[int]) -> None:
    """So a member that canvasses meanwhile has nothing to log."""
    late = [2_000_000_000, 2_100_000_000, 2_200_000_000]
    members = {
        0: received(0, late, [CanvassPosition(-1, 0, -1, 1)] * 3),
        1: received(1, [1_000_000_000], [None]),
    }
    in_sample = lines_of_logs(SAMPLES[0])[0].records
    change = next(one for one in in_sample if isinstance(one, records.ElectionStateChange))
    for one in members.values():
        one.records[:0] = [STARTED, replace(change, new_state=state)]
        one.messages[:0] = [None, None]

    assert [i for i, *_ in missing_ends(members)] == ends


@pytest.mark.parametrize(
    ("kind", "at"), [(records.ServiceAck, -2), (records.ClusterSessionStateChange, 1)]
)
def test_a_line_that_does_not_go_on_where_the_last_one_ended(
    kind: type[records.Line], at: int
) -> None:
    lines = lines_of_logs(SAMPLES[1])
    beside = list(lines[1].beside)
    of_kind = [k for k, (_, record) in enumerate(beside) if isinstance(record, kind)]

    assert list(missing_links(lines)) == []
    del beside[of_kind[at]]
    assert [i for i, *_ in missing_links({1: replace_fields(lines[1], beside=beside)})] == [1]


def test_a_commit_position_that_is_repeated_may_have_fallen() -> None:
    """A member that was cut off receives all that was said meanwhile at once: the positions up to
    160, and then 64 again, which others receive at the same time.
    """
    times = [100_000_000 * at for at in (4, 5)]
    burst = [times[0] - 5 + k for k in range(5)]
    rising: list[Message] = [CommitPosition(1, at, 0) for at in (64, 96, 128, 160, 64)]
    last: list[Message] = [CommitPosition(1, 64, 0), CommitPosition(1, 192, 0)]
    reports = [times[0] + 20_000_000 * at for at in range(6)]
    members = {
        0: received(0, reports, [AppendPosition(1, 32, 1, 0) for _ in reports]),
        1: received(1, times, last),
        2: received(2, [*burst, times[1]], [*rising, last[1]]),
    }

    assert list(missing_receipts(members)) == []

"""Moments of runs: the logs, the committed log, and the small form."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from canvass.cluster.messages import AppendPosition, RequestVote
from canvass.distance.moments import RunMoments, UnknownState
from canvass.simulation.world import Log, length
from support.moments import captured_loss, first_loss, is_durable


def lengths(log: Log) -> list[tuple[int, int, int]]:
    return [(one.term, one.start, one.end) for one in log]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return captured_loss(tmp_path_factory.mktemp("distance"))


def test_the_committed_log_is_durable_until_a_member_truncates_it(run: Path) -> None:
    place = first_loss(run)
    before, after = RunMoments(run).moments([place - 1, place])

    assert length(before.committed) == length(after.committed) == 73_408
    assert [length(log) for log in before.logs] == [73_408, 56_832, 73_408]
    assert [length(log) for log in after.logs] == [56_832, 56_832, 73_408]
    assert lengths(after.logs[2])[-1] == (4, 56_832, 73_408)


@pytest.mark.parametrize("lacks", ["stream", "events", "first steps"])
def test_a_member_without_its_first_steps_is_not_taken_for_one_with_an_empty_disk(
    run: Path, tmp_path: Path, lacks: str
) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    stream = copy / "member-1.ndjson"
    lines = stream.read_text().splitlines(keepends=True)
    stream.write_text("".join(lines[-1:] if lacks == "first steps" else []))
    if lacks == "stream":
        stream.unlink()

    with pytest.raises(UnknownState, match="does not have the first steps of member 1"):
        list(RunMoments(copy).moments([200]))


def test_ranks_keep_the_order_of_positions_and_of_entries(run: Path) -> None:
    (moment,) = RunMoments(run).moments([first_loss(run)])
    small, back = moment.without_repeats().small()

    assert small.end == len(back) - 2, "each rank from 0 to the last, and -1"
    assert [back[length(log)] for log in small.logs] == [length(log) for log in moment.logs]
    for mine, theirs in zip(small.members, moment.members, strict=True):
        assert back[mine.commit_position] == theirs.commit_position
        assert back[mine.recorded_position] == theirs.recorded_position
        assert mine.election_state == theirs.election_state
    terms = sorted({term for term, _ in moment.leaders})
    ranks = sorted({term for term, _ in small.leaders})
    assert [b - a for a, b in pairwise(terms)] == [b - a for a, b in pairwise(ranks)]


def test_a_message_is_under_way_until_it_arrives_or_its_receiver_restarts(run: Path) -> None:
    moments = RunMoments(run)
    for moment in moments.moments(range(0, moments.total, 97)):
        assert all(sender != receiver for sender, receiver, _ in moment.under_way)
    (last,) = RunMoments(run).moments([moments.total - 1])
    assert last.under_way == ()


def test_a_report_is_left_out_if_a_later_one_of_its_channel_names_at_least_its_position(
    run: Path,
) -> None:
    (moment,) = RunMoments(run).moments([first_loss(run)])
    low, high = AppendPosition(4, 64, 0, 0), AppendPosition(4, 96, 0, 0)
    older, vote = AppendPosition(3, 96, 0, 0), RequestVote(3, 96, 5, 0)
    sent = [(0, 1, one) for one in (older, high, low, vote, low, vote)]
    busy = replace(moment, under_way=(*sent, (0, 2, low)))

    assert busy.without_repeats().under_way == (
        (0, 1, older),
        (0, 1, high),
        (0, 1, low),
        (0, 1, vote),
        (0, 2, low),
    )


def test_only_the_last_of_the_early_reports_of_a_run_is_searched(run: Path) -> None:
    moments = RunMoments(run)
    busiest = max(moments.moments(range(0, moments.total, 97)), key=lambda one: len(one.under_way))
    kept = busiest.without_repeats().under_way

    assert len(busiest.under_way) > 20
    assert len(kept) < 5
    assert set(kept) <= set(busiest.under_way)


def test_every_second_has_its_last_event(run: Path) -> None:
    moments = RunMoments(run)
    places = [place for place, _ in moments.exposed_every(10**9)]

    assert places == sorted(set(places))
    assert places[-1] == moments.total - 1
    assert moments.time_ns(places[3]) - moments.time_ns(places[0]) >= 2 * 10**9


def test_the_events_of_a_near_miss_are_the_most_exposed_ones(run: Path) -> None:
    """In the ten seconds around the loss of a committed entry, the loss ranks first."""
    moments, place = RunMoments(run), first_loss(run)
    begun = moments.time_ns(0)
    chosen = {
        (moments.time_ns(one) - begun) // 10**10: one for one, _ in moments.exposed_every(10**10)
    }

    found = chosen[(moments.time_ns(place) - begun) // 10**10]

    (moment,) = moments.moments([found])
    assert not is_durable(moment)
    assert all(is_durable(one) for one in moments.moments(range(0, place, 401)))


def test_reports_are_counted_too_far_only_for_a_log_of_an_older_term(
    run: Path,
) -> None:
    """As in HZ1: member 1 reports 60,480, and shares 56,640 of it with the leader's log."""
    moments = RunMoments(run)
    begun = moments.time_ns(0)
    found = {
        (moments.time_ns(place) - begun) // 10**9: exposed.counted_too_far
        for place, exposed in moments.exposed_every(10**9)
        if exposed.counted_too_far
    }

    assert found[72] == found[73] == 3840
    assert set(found) <= set(range(70, 88))

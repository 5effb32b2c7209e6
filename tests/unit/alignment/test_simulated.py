"""Whole simulated clusters, printed as Aeron's own logs, import as what they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest
from msgspec import structs

from canvass.cluster.member import ElectionState
from canvass.cluster.messages import NULL_VALUE, Message, RequestVote, Vote
from canvass.conformance.findings import DivergenceClass
from canvass.simulation.options import Options
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import LogRecord, ProcessStart
from canvass.traces.alignment.driven_member import RunStep
from canvass.traces.alignment.importer import EXPLAINED
from support.aeron_runs import Aligned, align_logs, import_records, logs_of_nodes, wrong_steps
from support.aeron_simulated import (
    STORIES,
    SimulatedLogs,
    Taken,
    options_of,
    record_truth,
    simulate,
)
from support.checked_runs import checked

Ballot: TypeAlias = tuple[int, int, Message]
"""Sender, receiver or nobody, and message."""


def broken_by(run: Path) -> set[str]:
    """The properties that a run breaks: 1.50 does not keep each property in every case."""
    found = checked(run)

    assert all(one.kind is DivergenceClass.SAFETY_PROPERTY for one in found.divergences)
    return {one.name for one in found.divergences}


def ballots_of(member_id: int, sends: Iterable[tuple[int, Message]]) -> Iterator[Ballot]:
    """The votes that a member gives and to whom, and the requests for votes; of these not whom it
    asks: a request that nobody received may have been sent or not.
    """
    for to, message in sends:
        if isinstance(message, Vote):
            yield member_id, to, message
        elif isinstance(message, RequestVote):
            yield member_id, NULL_VALUE, message


def opened_terms(steps: Iterable[Taken | RunStep], start: int) -> Iterator[tuple[int, int, int]]:
    """Term, and begin and end of its first entry, of each term that a member has opened."""
    begin = start
    for step in steps:
        s = step.state
        if step.action == "LeaderReady" and s.election_state is ElectionState.CLOSED:
            yield s.module_leadership_term_id, begin, s.publication_position
        begin = s.publication_position


def assert_true(found: Aligned, logs: SimulatedLogs) -> None:
    """Inferred facts are true: terms and where they begin, ballots, positions of the log."""
    recorded = {step.state.recorded_position for steps in logs.steps.values() for step in steps}
    written = {step.state.publication_position for steps in logs.steps.values() for step in steps}
    # The end of a term's first entry may lie within what is recorded at once.
    processed = {step.state.commit_position for steps in logs.steps.values() for step in steps}
    for i, live in found.members.items():
        really = logs.steps[i]

        assert [*opened_terms(live.emitted, -1)] == [*opened_terms(really, -1)]
        sent = [(one.to, one.message) for step in live.emitted for one in step.outcome.sends]
        assert {*ballots_of(i, sent)} <= {
            *ballots_of(i, (one for step in really for one in step.sends))
        }
        assert {step.state.recorded_position for step in live.emitted} <= recorded | written
        assert {step.state.commit_position for step in live.emitted} <= recorded | processed


def assert_explained(options: Options, folder: Path) -> None:
    """Every line is matched with steps of the spec, whose verdict is that of the steps that were
    really taken.
    """
    logs = simulate(options)
    found = align_logs(logs_of_nodes(logs.lines))
    summary = import_records(logs_of_nodes(logs.lines), folder / "run")

    assert summary.missing == []
    assert summary.outcome == EXPLAINED
    assert wrong_steps(found) == []
    assert_true(found, logs)
    broken = broken_by(folder / "run")
    if broken:
        record_truth(options, folder / "truth")
        assert broken == broken_by(folder / "truth")


@pytest.mark.parametrize(("story", "seed"), [("everything-fails", 4), ("few-requests", 13)])
def test_a_leader_loses_its_term_and_terminates_as_a_follower(
    story: str, seed: int, tmp_path: Path
) -> None:
    assert_explained(options_of(story, seed, 3, 2_500), tmp_path)


@pytest.mark.parametrize(
    ("story", "seed", "count"),
    [
        ("calm", 1, 5),
        ("pauses", 2, 3),
        ("partitions", 3, 5),
        ("kills", 4, 3),
        ("operators", 5, 3),
        ("late-ends", 5, 3),
        pytest.param("late-requests", 3, 3, marks=pytest.mark.night),
        ("late-requests", 7002, 3),  # A member reports the end of its copy twice.
    ],
)
def test_what_one_kind_of_fault_does(story: str, seed: int, count: int, tmp_path: Path) -> None:
    assert_explained(options_of(story, seed, count, 1_500), tmp_path)


@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_other_sizes(count: int, tmp_path: Path) -> None:
    assert_explained(options_of("calm", count, count, 400), tmp_path)


@pytest.mark.parametrize("grain_ns", [1_000_000, 10_000_000])
def test_stamps_that_are_equal(grain_ns: int) -> None:
    """A coarse clock gives many lines one stamp, in one log and in those of several members."""
    logs = simulate(options_of("kills", 5, 3, 1_000))
    lines = {
        i: [structs.replace(one, time_ns=one.time_ns // grain_ns * grain_ns) for one in lines]
        for i, lines in logs.lines.items()
    }
    found = align_logs(logs_of_nodes(lines))

    assert (found.found.gaps, found.found.false_lines, found.found.stopped) == ([], [], [])
    assert wrong_steps(found) == []


NIGHTLY = [pytest.param(seed, marks=pytest.mark.night) for seed in range(1, 20)]


@pytest.mark.parametrize("seed", [0, *NIGHTLY])
def test_a_kill_takes_the_last_lines_of_a_log(seed: int) -> None:
    """Others receive what the lines of the killed member do not explain: a gap, if anything."""
    logs = simulate(options_of("kills", seed, 3, 2_500), lost_ns=3_000_000)
    found = align_logs(logs_of_nodes(logs.lines))

    assert logs.lost or seed
    assert found.found.false_lines == []
    assert found.found.gaps or wrong_steps(found, logs.lost) == []


HARD = {
    "a member that starts within a ballot is asked then": ("late-ends", 101, 5, 1_500),
    "an answer before an error that has another cause": ("broken-joins", 14, 3, 2_500),
    "an announcement that would end a state which goes on": ("broken-joins", 1, 3, 2_500),
    "an announcement before a report ends its wait": ("swarm", 0, 3, 1_500),
    "what was copied and reported before an error": ("late-reports", 200, 3, 2_500),
    "a candidate that refused a later ballot asks in its term": ("late-requests", 208, 3, 2_500),
    "two catch-ups that end at one position": ("late-ends", 402, 5, 1_000),
    "reports before a term that begins within a catch-up": ("late-requests", 505, 3, 1_200),
    "a member that says later that it has written no more": ("late-requests", 0, 5, 2_500),
    "two members that wake at one time": ("late-requests", 7, 5, 2_500),
    "a wait without anything to replay": ("late-requests", 300, 5, 3_000),
    "what is recorded before an error and shown long after": ("everything-fails", 8, 5, 1_500),
    "snapshots that members take while they replay": ("few-requests", 18, 3, 2_500),
    "a commit position that comes long before the log": ("late-ends", 306, 5, 2_000),
    "a commit position before the end of a catch-up": ("late-requests", 910_001, 5, 1_500),
}


@pytest.mark.parametrize(
    ("story", "seed", "count"),
    [
        pytest.param("late-requests", 910_001, 3, id="announcements answer an earlier canvass"),
        pytest.param("late-requests", 910_003, 3, id="announcements answer an older log"),
        pytest.param("few-requests", 910_006, 5, id="a report waits for the end of its receiver"),
    ],
)
def test_messages_that_production_does_not_log(story: str, seed: int, count: int) -> None:
    silent = (records.CanvassPosition, records.AppendPosition, records.CommitPosition)
    logs = simulate(options_of(story, seed, count, 1_500)).lines
    seen = {i: [one for one in lines if not isinstance(one, silent)] for i, lines in logs.items()}
    found = align_logs(logs_of_nodes(seen)).found

    assert (found.gaps, found.false_lines, found.stopped) == ([], [], [])


@pytest.mark.night
@pytest.mark.parametrize("what", HARD)
def test_what_makes_an_order_hard_to_find(what: str, tmp_path: Path) -> None:
    assert_explained(options_of(*HARD[what]), tmp_path)


def on_own_hosts(logs: SimulatedLogs, seed: int) -> dict[int, list[LogRecord]]:
    """The lines with the clocks of a host for each member: any origins, and wall clocks that differ
    by some milliseconds.
    """
    random = Random(seed)
    shifted: dict[int, list[LogRecord]] = {}
    for i, lines in logs.lines.items():
        origin_ns, wall_ms = random.randrange(-(10**13), 10**13), random.randrange(-40, 40)
        shifted[i] = [structs.replace(one, time_ns=one.time_ns + origin_ns) for one in lines]
        for k, one in enumerate(shifted[i]):
            if isinstance(one, ProcessStart):
                shifted[i][k] = structs.replace(one, wall_time_ms=one.wall_time_ms + wall_ms)
    return shifted


def test_an_answer_that_seems_to_come_before_what_it_answers() -> None:
    """The clocks of the hosts are known to some hundred microseconds, and a round trip is short."""
    logs = simulate(options_of("kills", 0, 3, 1_500))
    found = align_logs(logs_of_nodes(on_own_hosts(logs, 0)))

    assert (found.found.gaps, found.found.stopped) == ([], [])
    assert wrong_steps(found) == []
    assert_true(found, logs)


@pytest.mark.night
@pytest.mark.parametrize("story", sorted(STORIES))
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [3, 5])
def test_many_simulated_clusters(story: str, seed: int, count: int) -> None:
    found = align_logs(logs_of_nodes(simulate(options_of(story, seed, count, 2_500)).lines))

    assert found.found.false_lines == []
    assert wrong_steps(found) == []

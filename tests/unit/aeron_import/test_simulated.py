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
from canvass.conformance.check import check_run
from canvass.conformance.verdict import DivergenceClass
from canvass.simulation.options import Options
from canvass.traces.aeron_import.importer import summarise, write_run
from canvass.traces.aeron_import.proposing import Imported, propose
from canvass.traces.aeron_import.step import Step
from canvass.traces.aeron_import.summary import EXPLAINED
from canvass.traces.aeron_log.records import LifeStart, LogRecord
from support.aeron_runs import logs_of_nodes, wrong_steps
from support.aeron_simulated import (
    STORIES,
    SimulatedLogs,
    Taken,
    options_of,
    record_truth,
    simulate,
)
from support.judging import core_judge

Ballot: TypeAlias = tuple[int, int, Message]
"""Sender, receiver or nobody, and message."""


def broken_by(run: Path) -> set[str]:
    """What the checker says that a run breaks: 1.50 does not keep each property in every case."""
    checked = check_run(run, core_judge())

    assert all(one.kind is DivergenceClass.SAFETY_PROPERTY for one in checked.divergences)
    return {one.name for one in checked.divergences}


def ballots_of(member_id: int, steps: Iterable[Taken | Step]) -> Iterator[Ballot]:
    """The votes that a member gives and to whom, and the requests for votes; of these not whom it
    asks: a request that nobody received may have been sent or not.
    """
    for step in steps:
        for to, message in step.sends:
            if isinstance(message, Vote):
                yield member_id, to, message
            elif isinstance(message, RequestVote):
                yield member_id, NULL_VALUE, message


def opened_terms(steps: Iterable[Taken | Step], start: int) -> Iterator[tuple[int, int, int]]:
    """Term, and begin and end of its first entry, of each term that a member has opened."""
    begin = start
    for step in steps:
        s = step.state
        if step.action == "LeaderReady" and s.election_state is ElectionState.CLOSED:
            yield s.module_leadership_term_id, begin, s.publication_position
        begin = s.publication_position


def assert_true(found: Imported, logs: SimulatedLogs) -> None:
    """What is inferred is what was: terms and where they begin, ballots, positions of the log."""
    recorded = {step.state.recorded_position for steps in logs.steps.values() for step in steps}
    written = {step.state.publication_position for steps in logs.steps.values() for step in steps}
    # The end of a term's first entry may lie within what is recorded at once.
    processed = {step.state.commit_position for steps in logs.steps.values() for step in steps}
    for i, proposal in found.proposals.items():
        really = logs.steps[i]

        assert [*opened_terms(proposal.steps, -1)] == [*opened_terms(really, -1)]
        assert {*ballots_of(i, proposal.steps)} <= {*ballots_of(i, really)}
        assert {step.state.recorded_position for step in proposal.steps} <= recorded | written
        assert {step.state.commit_position for step in proposal.steps} <= recorded | processed


def assert_explained(options: Options, folder: Path) -> None:
    """Every line is met by steps of the spec, and the checker says of them what it says of what was
    really done.
    """
    logs = simulate(options)
    found = propose(logs_of_nodes(logs.lines))
    summary = summarise(found, "simulated", 1)

    assert summary.missing == []
    assert summary.outcome == EXPLAINED
    assert wrong_steps(found) == []
    assert_true(found, logs)
    write_run(found, folder / "run", "simulated")
    broken = broken_by(folder / "run")
    if broken:
        record_truth(options, folder / "truth")
        assert broken == broken_by(folder / "truth")


@pytest.mark.parametrize(
    ("story", "seed", "count"),
    [("calm", 1, 5), ("pauses", 2, 3), ("partitions", 3, 5), ("kills", 4, 3), ("operators", 5, 3)],
)
def test_what_one_kind_of_fault_does(story: str, seed: int, count: int, tmp_path: Path) -> None:
    assert_explained(options_of(story, seed, count, 1_500), tmp_path)


def test_a_member_that_starts_within_a_ballot_is_asked_then(tmp_path: Path) -> None:
    """The candidate tries again until the request is accepted: it may be sent twice, at two times
    to two members.
    """
    assert_explained(options_of("late-ends", 101, 5, 1_500), tmp_path)


def test_an_answer_before_an_error_that_has_another_cause(tmp_path: Path) -> None:
    """A canvass position starts a new election of a leader only if it names a later term."""
    assert_explained(options_of("broken-joins", 14, 3, 2_500), tmp_path)


def test_an_announcement_that_would_end_a_state_which_goes_on(tmp_path: Path) -> None:
    """A leader without anything to replay announces itself as it goes on, and not before."""
    assert_explained(options_of("broken-joins", 1, 3, 2_500), tmp_path)


def test_a_snapshot_that_is_asked_for_in_a_replay_without_a_line_at_its_beginning(
    tmp_path: Path,
) -> None:
    """The replay goes from a snapshot on, and holds no first entry of a term."""
    assert_explained(options_of("few-requests", 18, 3, 1_500), tmp_path)


def test_what_a_leader_has_announced_before_a_report_ends_its_wait(tmp_path: Path) -> None:
    """It is received much later, after what the leader has announced since by others."""
    assert_explained(options_of("swarm", 0, 3, 1_500), tmp_path)


def test_an_announcement_before_an_error_that_has_another_cause(tmp_path: Path) -> None:
    """An announcement ends a canvass only if it is about the term that the own log ends with."""
    assert_explained(options_of("everything-fails", 5, 3, 3_000), tmp_path)


def test_what_was_copied_and_reported_before_an_error(tmp_path: Path) -> None:
    """Nobody received the last report; the error's own line shows its position."""
    assert_explained(options_of("late-reports", 200, 3, 2_500), tmp_path)


def test_reports_in_an_older_term_end_a_catch_up(tmp_path: Path) -> None:
    """The leader had written up to the report that it answers, and not farther."""
    assert_explained(options_of("few-requests", 13, 3, 1_000), tmp_path)


def test_a_candidate_that_has_refused_a_later_ballot_asks_in_its_term(tmp_path: Path) -> None:
    assert_explained(options_of("late-requests", 208, 3, 2_500), tmp_path)


def test_two_catch_ups_that_end_at_one_position(tmp_path: Path) -> None:
    """What ends the one later must not let the leader write on before it ends the other."""
    assert_explained(options_of("late-ends", 402, 5, 1_000), tmp_path)


def test_reports_before_a_term_that_begins_within_a_catch_up(tmp_path: Path) -> None:
    """They came all at once and late: each was sent before the term's first entry was processed."""
    assert_explained(options_of("late-requests", 505, 3, 1_200), tmp_path)


def test_a_member_that_tells_later_that_it_has_written_no_more(tmp_path: Path) -> None:
    """What ends the catch-up that it heard to be at its end got lost: it has not written on."""
    assert_explained(options_of("late-requests", 0, 5, 2_500), tmp_path)


def test_two_members_that_wake_at_one_time(tmp_path: Path) -> None:
    """What one of them receives then the other has sent before it received anything."""
    assert_explained(options_of("late-requests", 7, 5, 2_500), tmp_path)


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
            if isinstance(one, LifeStart):
                shifted[i][k] = structs.replace(one, wall_time_ms=one.wall_time_ms + wall_ms)
    return shifted


def test_an_answer_that_seems_to_come_before_what_it_answers() -> None:
    """The clocks of the hosts are known to some hundred microseconds, and a round trip is short."""
    logs = simulate(options_of("kills", 0, 3, 1_500))
    found = propose(logs_of_nodes(on_own_hosts(logs, 0)))

    assert summarise(found, "simulated", 1).outcome == EXPLAINED
    assert wrong_steps(found) == []
    assert_true(found, logs)


def test_what_a_follower_waits_for_without_anything_to_replay(tmp_path: Path) -> None:
    """It goes on at once, and reports nothing: what was received was sent before."""
    assert_explained(options_of("late-requests", 300, 5, 3_000), tmp_path)


def test_a_commit_position_that_comes_long_before_the_log(tmp_path: Path) -> None:
    """A follower that has not recorded a term's first entry lacks no line of it."""
    assert_explained(options_of("late-ends", 306, 5, 2_000), tmp_path)


@pytest.mark.night
@pytest.mark.parametrize("story", sorted(STORIES))
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("count", [3, 5])
def test_many_simulated_clusters(story: str, seed: int, count: int, tmp_path: Path) -> None:
    assert_explained(options_of(story, seed, count, 2_500), tmp_path)

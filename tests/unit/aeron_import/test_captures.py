"""Captured logs of a real cluster import completely: each step is the core's, each line is
accounted for by one event, and what was inferred agrees with what was really there.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path

import pytest
from msgspec import structs

from canvass.traces.aeron_import.importer import events_of, import_logs
from canvass.traces.aeron_import.proposing import propose
from canvass.traces.aeron_import.summary import EXPLAINED
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.aeron_log.records import ClusterEvent
from canvass.traces.run import RunFolder
from support.aeron_runs import captures, imported, wrong_steps

CAPTURES = captures()


@pytest.fixture(params=CAPTURES, ids=lambda path: path.name)
def capture(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def with_file(name: str) -> list[Path]:
    return [path for path in CAPTURES if (path / name).exists()]


def test_there_is_something_to_import() -> None:
    assert len(CAPTURES) >= 2


def test_every_line_is_explained(capture: Path) -> None:
    found = imported(capture)

    assert found.failure is None
    assert [d for proposal in found.proposals.values() for d in proposal.unsent] == []


def test_every_step_is_the_cores_and_every_receipt_has_its_send(capture: Path) -> None:
    assert wrong_steps(imported(capture)) == []


def test_hosts_whose_clocks_disagree(capture: Path) -> None:
    """The same logs, as if each member had run on a host of its own."""
    logs = read_cluster([capture])
    for member_id, log in logs.members.items():
        shift = member_id * 86_400_000_000_123
        log.records[:] = [
            structs.replace(record, time_ns=record.time_ns + shift) for record in log.records
        ]
    found = propose(logs)

    assert found.failure is None
    assert wrong_steps(found) == []


def test_every_cluster_line_is_accounted_for_by_exactly_one_event(capture: Path) -> None:
    found = imported(capture)
    for proposal in found.proposals.values():
        logged = Counter(
            (proposal.evidence.files[record.file], record.line)
            for record in proposal.evidence.records
            if isinstance(record, ClusterEvent)
        )
        accounted = Counter(
            (event.source.file, line)
            for event in events_of(proposal)
            if event.source is not None
            for line in event.source.lines
        )

        assert logged == accounted


def test_the_counts_of_each_event_type_agree_with_the_files(capture: Path, tmp_path: Path) -> None:
    summary = import_logs([capture], tmp_path / "run")
    printed: Counter[str] = Counter()
    for path in capture.glob("member-*.log.gz"):
        with gzip.open(path, "rt") as file:
            printed.update(re.findall(r"\] CLUSTER: ([A-Z_]+)", file.read()))

    assert summary.outcome == EXPLAINED
    assert dict(printed) == summary.events
    assert sum(printed.values()) == sum(member.accounted for member in summary.members)
    assert all(member.lines == member.accounted for member in summary.members)


def test_the_run_that_is_written_can_be_read(capture: Path, tmp_path: Path) -> None:
    import_logs([capture], tmp_path / "run")
    run = RunFolder(tmp_path / "run").load()
    found = imported(capture)

    assert run.run.revision == "1.50"
    assert run.facts == ()
    assert {k: len(p.steps) for k, p in found.proposals.items()} == {
        k: len(events) for k, events in run.events.items()
    }


@pytest.mark.parametrize("path", with_file("recording-log-0.txt"), ids=lambda path: path.name)
def test_the_terms_of_the_recording_logs_are_those_inferred(path: Path) -> None:
    """An entry without a term's first event may be missing where the term was never opened."""
    for member_id, proposal in imported(path).proposals.items():
        text = (path / f"recording-log-{member_id}.txt").read_text()
        written = {
            int(term): int(base)
            for term, base in re.findall(
                r"leadershipTermId=(\d+), termBaseLogPosition=(\d+)[^}]*type=TERM", text
            )
        }
        inferred = {
            entry.leadership_term_id: entry.term_base_log_position
            for entry in proposal.steps[-1].state.recording_log
        }

        assert inferred.items() <= written.items()


@pytest.mark.parametrize("path", with_file("log-content-0.txt.gz"), ids=lambda path: path.name)
def test_every_inferred_position_is_an_end_of_an_entry(path: Path) -> None:
    """Positions of the log that a member has recorded at last are those of its archive."""
    for member_id, proposal in imported(path).proposals.items():
        with gzip.open(path / f"log-content-{member_id}.txt.gz", "rt") as file:
            ends = {int(line.split()[1]) for line in file if line[:1].isdigit()}
        last = proposal.steps[-1].state
        processed = {
            step.state.commit_position
            for step in proposal.steps
            if step.state.commit_position <= last.recorded_position
        } - {0}

        assert processed <= ends


def _sends(path: Path, member_id: int) -> Counter[tuple[int, str, str]]:
    """What a member really sent, as far as it is logged: receiver, type and log position."""
    sends: Counter[tuple[int, str, str]] = Counter()
    with gzip.open(path / f"sends-{member_id}.log.gz", "rt") as file:
        for line in file:
            match = re.search(r"SEND: (\w+): memberId=\d toMemberId=(\d) (.*)", line)
            if match:
                position = re.search(r"\blogPosition=(-?\d+)", match[3])
                name = "".join(word.capitalize() for word in match[1].split("_"))
                sends[int(match[2]), name, position[1] if position else ""] += 1
    return sends


@pytest.mark.parametrize("path", with_file("sends-0.log.gz"), ids=lambda path: path.name)
def test_the_inferred_sends_are_mostly_those_really_made(path: Path) -> None:
    """Every receipt has a send, and most of the sends inferred were really made."""
    inferred: Counter[tuple[int, int, str, str]] = Counter()
    real: Counter[tuple[int, int, str, str]] = Counter()
    for member_id, proposal in imported(path).proposals.items():
        for key, count in _sends(path, member_id).items():
            real[(member_id, *key)] += count
        for step in proposal.steps:
            for to, message in step.sends:
                position = str(getattr(message, "log_position", ""))
                inferred[member_id, to, type(message).__name__, position] += 1
    common = sum((inferred & real).values())

    assert common >= 0.85 * sum(inferred.values())
    assert common >= 0.85 * sum(real.values())

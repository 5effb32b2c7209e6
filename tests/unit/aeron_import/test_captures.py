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

from canvass.traces.aeron_import.agreement import is_circular
from canvass.traces.aeron_import.events import events_of
from canvass.traces.aeron_import.importer import import_logs
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


def test_there_is_something_to_import() -> None:
    assert len(CAPTURES) >= 2


def test_every_line_is_explained(capture: Path) -> None:
    found = imported(capture)

    assert found.failure is None
    assert [d for proposal in found.proposals.values() for d in proposal.unsent] == []


def test_every_step_is_the_cores_and_every_receipt_has_its_send(capture: Path) -> None:
    assert wrong_steps(imported(capture)) == []


def test_hosts_whose_clocks_disagree(capture: Path) -> None:
    """The same logs, as if each member had run on a host of its own: all is explained."""
    logs = read_cluster([capture])
    for member_id, log in logs.members.items():
        shift = member_id * 86_400_000_000_123
        log.records[:] = [
            structs.replace(record, time_ns=record.time_ns + shift) for record in log.records
        ]
    found = propose(logs)

    assert found.failure is None
    assert not any(proposal.lost_lines for proposal in found.proposals.values())
    assert not is_circular(found.proposals)
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

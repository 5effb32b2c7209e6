"""Captured logs of real clusters are explained: each step is the core's, each line is accounted for
once, and the run that is written is the alignment.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path

import pytest
from msgspec import structs

from canvass.traces.aeron_log.records import ClusterEvent, ProcessStart
from canvass.traces.alignment.importer import EXPLAINED, import_logs
from canvass.traces.run import RunFolder
from canvass.traces.schema import to_trace_input
from support.aeron_runs import SAMPLES, align_logs, aligned, captures, read_cluster, wrong_steps
from support.checked_runs import checked

CAPTURES = captures()

EACH = pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=() if path in SAMPLES else pytest.mark.night) for path in CAPTURES],
    ids=lambda path: path.name,
)


@EACH
def test_a_true_log_is_explained_and_conforms(path: Path, tmp_path: Path) -> None:
    summary = import_logs([path], tmp_path / "run")
    printed: Counter[str] = Counter()
    for log in path.glob("member-*.log.gz"):
        with gzip.open(log, "rt") as file:
            printed.update(re.findall(r"\] CLUSTER: ([A-Z_]+)", file.read()))

    assert (summary.outcome, summary.missing) == (EXPLAINED, [])
    assert dict(printed) == summary.events
    assert all(member.lines == member.accounted for member in summary.members)
    assert checked(tmp_path / "run").verdict.value == "CONFORMS"


@EACH
def test_every_step_is_the_cores_and_every_receipt_has_its_send(path: Path) -> None:
    assert wrong_steps(aligned(path)) == []


@EACH
def test_each_line_of_the_protocol_is_accounted_for_by_one_event(
    path: Path, tmp_path: Path
) -> None:
    import_logs([path], tmp_path / "run")
    run = RunFolder(tmp_path / "run").load()
    for i, live in aligned(path).members.items():
        lines = live.windows.trajectory.lines
        logged = [r.line for r in lines.records if not isinstance(r, ProcessStart)]
        sources = [event.source for event in run.events[i] if event.source is not None]
        accounted = [line for source in sources for line in source.lines]

        assert all(isinstance(record, ClusterEvent | ProcessStart) for record in lines.records)
        assert sorted(accounted) == sorted(logged)


def test_the_clocks_of_hosts_need_not_agree() -> None:
    logs = read_cluster([SAMPLES[1]])
    for member_id, log in logs.members.items():
        shift = member_id * 86_400_000_000_123
        log.records[:] = [structs.replace(one, time_ns=one.time_ns + shift) for one in log.records]
    aligned_logs = align_logs(logs)
    found = aligned_logs.found

    assert (found.gaps, found.false_lines, found.stopped) == ([], [], [])
    assert wrong_steps(aligned_logs) == []


def test_a_host_that_was_booted_between_two_processes_has_another_clock() -> None:
    logs = read_cluster([SAMPLES[1]])
    for log in logs.members.values():
        life = -1
        for index, record in enumerate(log.records):
            life += isinstance(record, ProcessStart)
            fallen = record.time_ns - max(life, 0) * 1_000_000_000_000
            log.records[index] = structs.replace(record, time_ns=fallen)
    found = align_logs(logs).found

    assert (found.gaps, found.false_lines, found.stopped) == ([], [], [])


def test_events_are_those_of_the_schema(tmp_path: Path) -> None:
    import_logs([SAMPLES[0]], tmp_path / "run")
    run = RunFolder(tmp_path / "run").load()
    for i, live in aligned(SAMPLES[0]).members.items():
        for step, event in zip(live.emitted, run.events[i], strict=True):
            message_id = f"{step.sender}:{step.number}" if step.sender >= 0 else ""
            expected = to_trace_input(step.given)
            if step.given.message is not None:
                expected = to_trace_input(step.given, step.sender, message_id)

            assert step.state == event.state
            assert expected == event.input
            sent = [send.message for send in step.outcome.sends]
            assert sent == [send.message for send in event.sends]

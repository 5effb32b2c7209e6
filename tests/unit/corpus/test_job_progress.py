"""The command's output about a job's progress, without Spark."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from canvass.conformance.screen import Screening
from canvass.conformance.step_lookup import StepLookup
from canvass.corpus.engine import ProcessEngine
from canvass.corpus.job import CorpusJob
from canvass.corpus.plan import list_units
from canvass.corpus.task_checker import TaskChecker
from canvass.steps.answers import ALLOWED
from canvass.traces.alignment.driven_member import DrivenMember
from canvass.traces.alignment.run_events import MemberCounts, RunWriter
from canvass.traces.errors import TraceError
from support.corpora import record_runs

SAMPLE = Path(__file__).parents[3] / "samples" / "aeron" / "b-leader-killed"


def test_a_task_that_is_done_again_counts_once_also_at_the_end(tmp_path: Path) -> None:
    """As it is when a worker dies with a task that was all but done."""
    corpus = record_runs(tmp_path / "corpus", 2, 30)
    checker = TaskChecker.of(cache=tmp_path / "cache")
    job = CorpusJob(ProcessEngine(), checker, tmp_path / "out")
    first, second = ((unit,) for unit in list_units([corpus]))
    events = sum(len(file.read_text().splitlines()) for file in corpus.glob("*/member-*.ndjson"))

    for task in (first, second, first):
        for _ in checker.check(task):
            pass

    assert job.progress().events == events
    job.clean()
    assert job.progress().events == events


def test_events_of_the_task_that_is_running_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process has few tasks, and a task may take long."""
    corpus = record_runs(tmp_path / "corpus", 3, 30)
    checker = TaskChecker.of(cache=tmp_path / "cache")
    job = CorpusJob(ProcessEngine(), checker, tmp_path / "out", partitions=1)
    seen: list[int] = []
    add = Screening.add

    def add_and_look(screening: Screening, unit: Path | TraceError) -> None:
        add(screening, unit)
        seen.append(job.progress().events)

    monkeypatch.setattr(Screening, "add", add_and_look)
    monkeypatch.setattr(StepLookup, "ask_oracle", lambda _, steps: np.full(len(steps), ALLOWED))

    job.run(list_units([corpus]))

    counts = [
        sum(len(file.read_text().splitlines()) for file in sorted(run.glob("member-*.ndjson")))
        for run in sorted(corpus.iterdir())
    ]
    assert seen == np.cumsum(counts).tolist()
    assert job.progress().events == sum(counts)


def test_the_logs_that_are_being_imported_are_named_with_the_lines_that_are_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker = TaskChecker.of(cache=tmp_path / "cache")
    job = CorpusJob(ProcessEngine(), checker, tmp_path / "out", partitions=1)
    seen: list[str] = []
    write = RunWriter.write

    def look_and_write(run: RunWriter, live: DrivenMember) -> MemberCounts:
        seen.append(job.progress().importing)
        return write(run, live)

    monkeypatch.setattr(RunWriter, "write", look_and_write)
    monkeypatch.setattr(StepLookup, "ask_oracle", lambda _, steps: np.full(len(steps), ALLOWED))

    job.run(list_units([SAMPLE]))

    lines = [re.search(r"b-leader-killed: .*?([\d,]*)( of [\d,]+ lines)?$", each) for each in seen]
    counts = [int(found[1].replace(",", "")) for found in lines if found is not None and found[2]]
    assert len(counts) == len(seen) - 1 == 2
    assert 0 < counts[0] < counts[1]
    assert job.progress().importing == ""

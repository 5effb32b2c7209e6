"""The command's output about the progress of a job, without Spark."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from canvass.corpus.job import CorpusJob, ProcessEngine
from canvass.corpus.plan import list_units
from canvass.steps.answers import ALLOWED, StepLookup
from canvass.traces.alignment.driven_member import DrivenMember
from canvass.traces.alignment.run_events import MemberCounts, RunWriter
from support.corpora import record_runs
from support.spoilt_runs import edit_event, forged_commit

SAMPLE = Path(__file__).parents[3] / "samples" / "aeron" / "b-leader-killed"


def test_events_and_divergences_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = record_runs(tmp_path / "corpus", 3, 30)
    edit_event(corpus / "run-2" / "member-1.ndjson", -1, forged_commit)
    monkeypatch.setattr(StepLookup, "ask_oracle", lambda _, steps: np.full(len(steps), ALLOWED))
    engine = ProcessEngine()

    CorpusJob(engine, tmp_path / "cache").run(list_units([corpus]))

    assert engine.progress() == "90 events, 1 run diverges so far"


def test_the_logs_that_are_being_imported_are_named_with_the_lines_that_are_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = ProcessEngine()
    job = CorpusJob(engine, tmp_path / "cache")
    seen: list[str] = []
    write = RunWriter.write

    def look_and_write(run: RunWriter, live: DrivenMember) -> MemberCounts:
        seen.append(engine.progress())
        return write(run, live)

    monkeypatch.setattr(RunWriter, "write", look_and_write)
    monkeypatch.setattr(StepLookup, "ask_oracle", lambda _, steps: np.full(len(steps), ALLOWED))

    job.run(list_units([SAMPLE]))

    lines = [re.search(r"b-leader-killed: .*?([\d,]*)( of [\d,]+ lines)?$", each) for each in seen]
    counts = [int(found[1].replace(",", "")) for found in lines if found is not None and found[2]]
    assert len(counts) == len(seen) - 1 == 2
    assert 0 < counts[0] < counts[1]
    assert "b-leader-killed" not in engine.progress()

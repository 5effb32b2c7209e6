"""Progress messages of a batch verification."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.cli.batch_verify import progress_text
from canvass.cli.main import run
from canvass.cli.output import Stages
from canvass.corpus.job import JobProgress
from support.corpora import record_runs


def test_tasks_events_rate_and_divergences_are_reported() -> None:
    words = progress_text(JobProgress(done=3, tasks=8, events=12_000, diverging=1), 4.0)

    assert words == "3 of 8 tasks, 12,000 events, 3,000 events/s, 1 run diverges so far"


def test_each_stage_of_a_job_is_shown_with_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    details: dict[str, str] = {}

    class Recorded(Stages):
        def detail(self, words: str | Callable[[float], str]) -> None:
            super().detail(words)
            assert not isinstance(words, str)
            details[self._stage] = words(2.0)

    monkeypatch.setattr("canvass.cli.output.Stages", Recorded)
    corpus = record_runs(tmp_path / "corpus", 2, 40)
    words = ["batch", "verify", str(corpus), "--out", str(tmp_path / "out")]

    assert run([*words, "--cache", str(tmp_path / "cache")]) == 0

    assert details["checking 2 units"] == "0 tasks at work, no event checked yet"
    done = "2 of 2 tasks, 80 events, 40 events/s, 0 runs diverge so far"
    assert details["writing the tables"] == done

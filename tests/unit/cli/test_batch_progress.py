"""Progress messages of a batch verification."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.cli.main import run
from canvass.cli.output import Stages
from canvass.corpus.check import HERE
from support.corpora import record_runs


def test_each_stage_of_a_job_is_shown_with_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    details: dict[str, str] = {}

    class Recorded(Stages):
        def detail(self, words: str | Callable[[float], str]) -> None:
            super().detail(words)
            assert not isinstance(words, str)
            details[self._stage] = words(2.0)

    monkeypatch.setattr("canvass.cli.batch.Stages", Recorded)
    monkeypatch.setattr(HERE, "events", 0)  # This process may have checked others before.
    corpus = record_runs(tmp_path / "corpus", 2, 40)
    words = ["batch", "verify", str(corpus), "--out", str(tmp_path / "out")]

    assert run([*words, "--cache", str(tmp_path / "cache")]) == 0

    assert details["checking 2 units"] == "no event checked yet"
    assert details["writing the tables"] == "80 events, 0 runs diverge so far"

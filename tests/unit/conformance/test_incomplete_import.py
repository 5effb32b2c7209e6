"""A run whose import lacks lines does not conform, whatever reads it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from canvass.conformance.check import verdict_of
from canvass.conformance.findings import (
    LOG_STREAM,
    CorpusVerdict,
    Divergence,
    DivergenceClass,
    RunVerdict,
    Verdict,
)
from canvass.conformance.report import to_junit
from canvass.traces.alignment.importer import INCOMPLETE, MAX_KEPT, import_logs
from canvass.traces.run import RunFolder
from canvass.traces.schema import Run
from support.aeron_runs import SAMPLES, lines_of, write_logs
from support.checked_runs import checked


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of logs of which one ends early."""
    folder = tmp_path_factory.mktemp("cut")
    logs = {i: list(lines_of(SAMPLES[0], i)) for i in range(3)}
    logs[2] = logs[2][: len(logs[2]) // 3]
    summary = import_logs([write_logs(folder / "logs", logs)], folder / "run")
    assert summary.outcome == INCOMPLETE
    return folder / "run"


def test_the_run_of_an_incomplete_import_is_incomplete(cut: Path) -> None:
    found = checked(cut)

    assert found.verdict is Verdict.INCOMPLETE
    assert "of the log of member 2" in found.reason
    assert found.reason == "; ".join(RunFolder(cut).run.missing)


def test_reports_say_what_an_import_lacks(cut: Path) -> None:
    found = CorpusVerdict((checked(cut),))

    assert "of the log of member 2" in to_junit(found)


def run_with(missing: object) -> Run:
    """A run whose ``run.json`` names something that is missing."""
    return Run("canvass.run/1", "run", "1.50", 3, source={"missing": missing})


def verdict_on(run: Run, *, diverges: bool = False, unchecked: int = 0) -> RunVerdict:
    wrong = (Divergence(DivergenceClass.CAUSALITY, LOG_STREAM, 0, 0, ""),) if diverges else ()
    return verdict_of(run, "run", events=1, unchecked=unchecked, facts=(), divergences=wrong)


@pytest.mark.parametrize("unchecked", [0, 1])
@pytest.mark.parametrize("diverges", [True, False])
def test_what_is_missing_makes_a_run_that_does_not_diverge_incomplete(
    diverges: bool, unchecked: int
) -> None:
    lacking = run_with(["no step explains a line"])
    found = verdict_on(lacking, diverges=diverges, unchecked=unchecked)

    assert found.verdict is (Verdict.DIVERGES if diverges else Verdict.INCOMPLETE)


@pytest.mark.parametrize("missing", [7, "text", [1], {"a": "b"}])
def test_a_value_of_another_form_does_not_hide_that_something_is_missing(missing: object) -> None:
    found = verdict_on(run_with(missing))

    assert found.verdict is Verdict.INCOMPLETE
    assert "source.missing" in found.reason


def test_a_complete_run_lacks_nothing() -> None:
    run = replace(run_with([]), source={})

    assert run.missing == ()
    assert verdict_on(run).verdict is Verdict.CONFORMS


def test_so_many_sentences_are_kept(tmp_path: Path) -> None:
    logs = {i: list(lines_of(SAMPLES[0], i)) for i in range(3)}
    at = next(k for k, line in enumerate(logs[1]) if " APPEND_POSITION " in line)
    logs[1][at:at] = [logs[1][at][:70]] * 30
    summary = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")
    kept = RunFolder(tmp_path / "run").run.missing

    assert len(summary.missing) > MAX_KEPT
    assert len(kept) == MAX_KEPT + 1
    assert kept[-1] == f"and {len(summary.missing) - MAX_KEPT} more"

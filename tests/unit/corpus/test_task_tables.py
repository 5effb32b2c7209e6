"""The tables and the summary that are made of the rows of tasks, without Spark."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from canvass.conformance.findings import Findings, RunFindings, RunVerdict, Verdict
from canvass.corpus import report
from canvass.corpus.check import (
    ANSWER_SCHEMA,
    HERE,
    ROW_SCHEMA,
    TaskChecker,
    check_units,
    unit_table,
)
from canvass.corpus.job import REPORT_TABLES, CorpusJob, LostResults, ProcessEngine
from canvass.corpus.plan import Unit, UnitKind
from canvass.corpus.report import Listed, Summary, exit_code, summarise
from canvass.steps.answers import NO_ANSWERS, REFUSED
from canvass.traces.aeron_log.releases import RELEASES, releases_of_run
from canvass.traces.schema import ACTION_NAMES, Run

Row = dict[str, Any]


def verdict(
    source: str,
    run_id: str | None,
    verdict: str = "CONFORMS",
    events: int = 7,
    reason: str = "",
) -> Row:
    about = {"source": source, "run_id": run_id, "verdict": verdict}
    return about | {"kind": "VERDICT", "events": events, "reason": reason}


def divergence(source: str, run_id: str, name: str, step: int) -> Row:
    about = {"kind": "DIVERGENCE", "source": source, "run_id": run_id, "divergence_class": "STEP"}
    return about | {"name": name, "member_id": 0, "step": step, "reason": "differs"}


def taken(name: str, events: int) -> Row:
    about = {"kind": "COVERAGE", "revision": "1.50", "member_count": 3}
    return about | {"name": name, "events": events}


class Given(ProcessEngine):
    """An engine whose checks have found rows."""

    def __init__(self, *checks: list[Row]) -> None:
        self._checks = list(checks)

    def check(self, checker: TaskChecker, tasks: Sequence[Sequence[Unit]], stage: str) -> Any:
        return pa.Table.from_pylist(self._checks.pop(0), ROW_SCHEMA)

    def ask(self, digest: str, steps: Any, oracles: int) -> Any:
        codes = pa.array([REFUSED] * len(steps), pa.int8())
        return pa.table([steps["key"].combine_chunks(), codes], schema=ANSWER_SCHEMA)


def summary_of(out: Path, *checks: list[Row], seconds: float = 2.0) -> Summary:
    """Write the tables of what was found; return their summary."""
    job = CorpusJob(Given(*checks), out / "cache")
    sources = dict.fromkeys(row["source"] for row in checks[0] if "source" in row)
    job.run([Unit(UnitKind.RUN, source, 0) for source in sources])
    job.write({name: out / name for name in REPORT_TABLES})
    return summarise(job, corpora=["c"], seconds=seconds)


def rows_of(out: Path, name: str, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[c] for c in columns) for row in pq.read_table(out / name).to_pylist()]


def test_what_was_found_again_replaces_what_was_found_first(tmp_path: Path) -> None:
    key = bytes(16)
    first = [
        verdict("f", "a"),
        verdict("f", "b") | {"open_steps": [key]},
        divergence("f", "b", "OnVote", 1),
        verdict("g", "c", "DIVERGES") | {"open_steps": [bytes(15) + b"x", key]},
        verdict("h", "d") | {"open_steps": []},
        taken("OnVote", 4),
        {"kind": "STEP", "key": key, "question": b"{}"},
    ]
    second = [
        verdict("f", "a"),
        verdict("f", "b", "DIVERGES"),
        verdict("g", "c"),
        verdict("g", "e"),
    ]
    second.append(taken("OnVote", 5))

    summary = summary_of(tmp_path, first, second)

    assert sorted(rows_of(tmp_path, "verdicts", "source", "run_id", "verdict")) == [
        ("f", "a", "CONFORMS"),
        ("f", "b", "DIVERGES"),
        ("g", "c", "CONFORMS"),
        ("g", "e", "CONFORMS"),
        ("h", "d", "CONFORMS"),
    ]
    assert rows_of(tmp_path, "divergences", "run_id") == []
    assert rows_of(tmp_path, "coverage", "name", "events") == [("OnVote", 4)]
    assert summary.asked_steps == 1


def test_each_run_of_a_shared_id_has_its_own_verdict(tmp_path: Path) -> None:
    summary = summary_of(
        tmp_path,
        [
            *(verdict("z", "a", "DIVERGES"), divergence("z", "a", "OnVote", 1), verdict("z", None)),
            *(verdict("b", "a", "MALFORMED", 0), verdict("b", None), verdict("c", "x")),
            *(verdict("c", "a", "DIVERGES"), divergence("c", "a", "OnVote", 2)),
        ],
    )

    assert rows_of(tmp_path, "verdicts", "source", "run_id", "verdict") == [
        ("z", "a", "DIVERGES"),
        ("z", None, "CONFORMS"),
        ("b", "a", "MALFORMED"),
        ("b", None, "CONFORMS"),
        ("c", "x", "CONFORMS"),
        ("c", "a", "DIVERGES"),
    ]
    assert rows_of(tmp_path, "divergences", "source", "step") == [("z", 1), ("c", 2)]
    assert [(one.count, one.runs) for one in summary.clusters] == [(2, 2)]
    assert exit_code(summary) == 1


def test_a_summary_counts_and_gives_the_same_examples_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MAX_LISTED", 2)
    rows = [
        [
            verdict(f"run-{n}", f"run-{n}", "DIVERGES"),
            divergence(f"run-{n}", f"run-{n}", "OnVote", 9),
            divergence(f"run-{n}", f"run-{n}", "OnVote", 4),
            divergence(f"run-{n}", f"run-{n}", f"Kind{n % 3}", 2),
            taken("OnVote", n),
        ]
        for n in range(9)
    ]
    found = [
        summary_of(
            tmp_path / str(number),
            [row for each in order for row in each] + [verdict("x", None, "MALFORMED", 0)],
        )
        for number, order in enumerate((rows, rows[::-1]))
    ]

    assert found[0] == found[1]
    (one, *_) = found
    assert (one.runs, one.events, one.divergences, one.cluster_count) == (10, 63, 27, 4)
    assert one.verdicts == {"CONFORMS": 0, "DIVERGES": 9, "INCOMPLETE": 0, "MALFORMED": 1}
    assert [(c.name, c.count, c.runs, c.example_run_id, c.example_step) for c in one.clusters] == [
        ("OnVote", 18, 9, "run-0", 4),
        ("Kind0", 3, 3, "run-0", 2),
    ]
    assert ([row.run_id for row in one.listed], one.listed_count) == (["run-0", "run-1"], 10)
    assert one.coverage == {"OnVote": 36}


def test_a_summary_lists_runs_that_do_not_conform_and_counts_runs_checked_in_part(
    tmp_path: Path,
) -> None:
    rows = [
        verdict("f", "run-10", "INCOMPLETE", reason="lines are missing"),
        verdict("f", "run-2", "INCOMPLETE"),
        verdict("g", "whole", reason=""),
        verdict("g", "part", reason="not asked: AppliedWithinCommitted"),
        verdict("x", None, "MALFORMED", 0, "x: no run"),
    ]

    one = summary_of(tmp_path, rows)

    assert one.listed == [
        Listed("f", "run-2", "INCOMPLETE", 7, ""),
        Listed("f", "run-10", "INCOMPLETE", 7, "lines are missing"),
        Listed("x", None, "MALFORMED", 0, "x: no run"),
    ]
    assert (one.runs, one.events, one.listed_count, one.checked_in_part) == (5, 28, 3, 1)


def test_a_summary_counts_runs_by_the_choice_of_their_revision(tmp_path: Path) -> None:
    chosen = ["Aeron 1.60.0; note: not tried", "revision 1.49", "revision 1.49", "", None]
    rows = [verdict("f", f"{i}") | {"revision_choice": one} for i, one in enumerate(chosen)]

    found = summary_of(tmp_path, rows)

    assert list(found.revisions.items()) == [
        ("revision 1.49", 2),
        ("Aeron 1.60.0; note: not tried", 1),
    ]


def test_the_row_of_a_run_names_its_revision_and_the_releases_that_wrote_its_logs() -> None:
    source = {RELEASES: {"members": {"0": ["1.60.0"]}, "choice": "RELEASE"}}
    imported = Run("canvass.run/1", "run", "1.50", 1, source=source)
    recorded = Run("canvass.run/1", "run", "hardened", 1)

    def chosen(run: Run, of: Verdict) -> str:
        found = RunVerdict("run", "run", of, releases=releases_of_run(run))
        none, steps = np.empty((0, 2), np.uint64), np.empty(0, np.int8)
        findings = RunFindings(run, found, frozenset(), np.zeros(1, np.int64))
        (row,) = Findings((findings,), {}, none, steps).tables().verdicts.to_pylist()
        return str(row["revision_choice"])

    releases, note = chosen(imported, Verdict.CONFORMS).split("; note: ")
    assert releases == ("Aeron 1.60.0 (member 0); revision 1.50 of the spec, chosen by the release")
    assert note.startswith("release 1.60.0 (member 0) has not been tried")
    assert chosen(recorded, Verdict.INCOMPLETE) == (
        "revision hardened of the spec, which the run names"
    )
    assert chosen(recorded, Verdict.MALFORMED) == ""


def test_a_summary_gives_the_rate_and_the_actions_by_their_events(tmp_path: Path) -> None:
    rows = [taken("OnVote", 3), taken("Restart", 9), taken("Canvass", 9), taken("Nominate", 0)]
    rows.append(verdict("f", "a"))

    one = summary_of(tmp_path, rows, seconds=0.75)

    expected = {"Canvass": 9, "Restart": 9, "OnVote": 3, "Nominate": 0}
    assert list(one.coverage.items()) == list(expected.items())
    taken_once = {"Canvass", "Restart", "OnVote"}
    assert one.never_taken == [name for name in ACTION_NAMES if name not in taken_once]
    assert (one.events, one.seconds, one.events_per_second) == (7, 0.75, 9.3)
    assert summary_of(tmp_path, rows, seconds=0.0).events_per_second == 0.0


def test_a_unit_without_a_verdict_fails_the_job(tmp_path: Path) -> None:
    rows = [verdict("f", "a"), divergence("lost", "b", "OnVote", 1)]

    with pytest.raises(LostResults, match="lost has no verdict"):
        summary_of(tmp_path, rows)


def test_what_the_first_task_of_a_worker_loads_is_no_garbage_of_later_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: len(frozen))
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(HERE.events))
    for events in (0, 7, 9):
        monkeypatch.setattr(HERE, "events", events)
        assert list(check_units(TaskChecker("", NO_ANSWERS), unit_table([]).to_batches())) == []

    assert frozen == [7]

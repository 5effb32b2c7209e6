"""The tables and the summary that are made of the rows of tasks, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from canvass.conformance.verdict import RunVerdict, Verdict
from canvass.conformance.whole_run import with_limits
from canvass.corpus import summary as summaries
from canvass.corpus.graph_coverage import GraphCoverage
from canvass.corpus.job import CorpusJob
from canvass.corpus.plan import Unit, UnitKind
from canvass.corpus.rows import Row, RowKind, verdict_rows
from canvass.corpus.summary import (
    Coverage,
    Listed,
    RunPlace,
    SharedId,
    Summary,
    exit_code,
    summarise,
)
from canvass.corpus.task_files import (
    JobRows,
    Stage,
    stage_of,
    write_rows,
    write_tables,
    write_tasks,
)
from canvass.traces.layout import ACTION_NAMES
from canvass.traces.releases import RELEASES
from canvass.traces.schema import Run


def verdict(
    source: str,
    run_id: str | None,
    verdict: str = "CONFORMS",
    events: int | None = 7,
    reason: str | None = None,
) -> Row:
    return Row(
        kind=RowKind.VERDICT,
        source=source,
        run_id=run_id,
        verdict=verdict,
        events=events,
        reason=reason,
    )


def divergence(source: str, run_id: str, name: str, step: int) -> Row:
    return Row(
        kind=RowKind.DIVERGENCE,
        source=source,
        run_id=run_id,
        divergence_class="STEP",
        name=name,
        member_id=0,
        step=step,
        reason="differs",
    )


def taken(name: str, events: int, source: str | None = None) -> Row:
    return Row(
        kind=RowKind.COVERAGE,
        source=source,
        revision="1.50",
        member_count=3,
        name=name,
        events=events,
    )


def stage(folder: Path, *tasks: list[Row]) -> Stage:
    """The rows of tasks, whose results come in another order than the tasks."""
    write_tasks(folder, [() for _ in tasks])
    results = [write_rows(folder, number, rows) for number, rows in enumerate(tasks)]
    return stage_of(folder, reversed(results), len(results))


class Done:
    """A job that has run, as far as a summary asks."""

    asked = rechecked = 0

    def __init__(self, out: Path) -> None:
        self.graphs: list[GraphCoverage] = []
        self.table = out.joinpath


def summary_of(out: Path, seconds: float = 2.0) -> Summary:
    job = cast(CorpusJob, Done(out))
    return summarise(job, version="0", corpora=["c"], tasks=None, seconds=seconds)


def rows_of(out: Path, name: str, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[c] for c in columns) for row in pq.read_table(out / name).to_pylist()]


def test_what_was_reported_again_replaces_what_was_reported_first(tmp_path: Path) -> None:
    first = stage(
        tmp_path / "first",
        [verdict("f", "a"), verdict("f", "b"), divergence("f", "b", "OnVote", 1)],
        [verdict("g", "c", "DIVERGES"), taken("OnVote", 4)],
    )
    second = stage(tmp_path / "second", [verdict("f", "b", "DIVERGES"), verdict("g", "c")])
    superseded = frozenset({("f", "b"), ("g", "c")})

    write_tables(JobRows(first, [second], superseded), tmp_path)

    assert rows_of(tmp_path, "verdicts", "source", "run_id", "verdict") == [
        ("f", "a", "CONFORMS"),
        ("f", "b", "DIVERGES"),
        ("g", "c", "CONFORMS"),
    ]
    assert rows_of(tmp_path, "divergences", "run_id") == []
    assert rows_of(tmp_path, "coverage", "name", "events") == [("OnVote", 4)]


def test_each_run_of_a_shared_id_has_its_own_verdict(tmp_path: Path) -> None:
    found = stage(
        tmp_path / "first",
        [verdict("z", "a", "DIVERGES"), divergence("z", "a", "OnVote", 1), verdict("z", None)],
        [verdict("b", "a", "MALFORMED", 0), verdict("b", None), verdict("c", "x")],
        [verdict("c", "a", "DIVERGES"), divergence("c", "a", "OnVote", 2)],
    )

    write_tables(JobRows(found), tmp_path)

    assert rows_of(tmp_path, "verdicts", "source", "run_id", "verdict") == [
        ("z", "a", "DIVERGES"),
        ("z", None, "CONFORMS"),
        ("b", "a", "MALFORMED"),
        ("b", None, "CONFORMS"),
        ("c", "x", "CONFORMS"),
        ("c", "a", "DIVERGES"),
    ]
    assert rows_of(tmp_path, "divergences", "source", "step") == [("z", 1), ("c", 2)]
    summary = summary_of(tmp_path)
    assert [(one.count, one.runs) for one in summary.clusters] == [(2, 2)]
    assert summary.clusters[0].listed == (RunPlace("c", "a"), RunPlace("z", "a"))
    assert summary.shared_ids == [SharedId("a", 3, ["b", "c", "z"])]
    assert summary.shared_id_count == 1
    assert exit_code(summary) == 1


def test_only_the_first_sources_of_a_shared_id_are_named(tmp_path: Path) -> None:
    rows = [verdict(f"run-{n:02}", "same") for n in range(20, 0, -1)]

    write_tables(JobRows(stage(tmp_path / "first", rows)), tmp_path)

    (shared,) = summary_of(tmp_path).shared_ids
    assert shared == SharedId("same", 20, [f"run-{n:02}" for n in range(1, 6)])


def test_a_summary_counts_and_gives_the_same_examples_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "MAX_LISTED", 2)
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
    found: list[Summary] = []
    for order in (rows, rows[::-1]):
        out = tmp_path / str(len(found))
        result = stage(out / "first", *order, [verdict("x", None, "MALFORMED", 0)])
        write_tables(JobRows(result), out)
        found.append(summary_of(out))

    assert found[0] == found[1]
    (one, *_) = found
    assert (one.runs, one.events, one.divergences, one.cluster_count) == (10, 63, 27, 4)
    assert one.verdicts == {"CONFORMS": 0, "DIVERGES": 9, "INCOMPLETE": 0, "MALFORMED": 1}
    assert [(c.name, c.count, c.runs, c.example_run_id, c.example_step) for c in one.clusters] == [
        ("OnVote", 18, 9, "run-0", 4),
        ("Kind0", 3, 3, "run-0", 2),
    ]
    assert [c.listed for c in one.clusters] == [
        (RunPlace("run-0", "run-0"), RunPlace(second, second)) for second in ("run-1", "run-3")
    ]
    assert ([row.run_id for row in one.listed], one.listed_count) == (["run-0", "run-1"], 10)
    assert [(c.action, c.events) for c in one.coverage] == [("OnVote", 36)]


def test_a_summary_lists_runs_that_do_not_conform_and_counts_runs_checked_in_part(
    tmp_path: Path,
) -> None:
    rows = [
        verdict("f", "run-10", "INCOMPLETE", reason="lines are missing"),
        verdict("f", "run-2", "INCOMPLETE"),
        verdict("g", "whole", reason=""),
        verdict("g", "part", reason="not asked: AppliedWithinCommitted"),
        verdict("x", None, "MALFORMED", None, "x: no run"),
    ]
    write_tables(JobRows(stage(tmp_path / "first", rows)), tmp_path)

    one = summary_of(tmp_path)

    assert one.listed == [
        Listed("f", "run-2", "INCOMPLETE", 7, ""),
        Listed("f", "run-10", "INCOMPLETE", 7, "lines are missing"),
        Listed("x", None, "MALFORMED", 0, "x: no run"),
    ]
    assert (one.runs, one.events, one.listed_count, one.checked_in_part) == (5, 28, 3, 1)


def test_a_summary_counts_runs_by_the_choice_of_their_revision(tmp_path: Path) -> None:
    chosen = ["Aeron 1.60.0; note: not tried", "revision 1.49", "revision 1.49", "", None]
    rows = [replace(verdict("f", f"{i}"), revision_choice=one) for i, one in enumerate(chosen)]
    write_tables(JobRows(stage(tmp_path / "first", rows)), tmp_path)

    found = summary_of(tmp_path)

    assert list(found.revisions.items()) == [
        ("revision 1.49", 2),
        ("Aeron 1.60.0; note: not tried", 1),
    ]


def test_the_row_of_a_run_names_its_revision_and_the_releases_that_wrote_its_logs() -> None:
    source = {RELEASES: {"members": {"0": ["1.60.0"]}, "choice": "RELEASE"}}
    imported = Run("canvass.run/1", "run", "1.50", 1, source=source)
    recorded = Run("canvass.run/1", "run", "hardened", 1)

    def chosen(run: Run, of: Verdict) -> str | None:
        unit = Unit(UnitKind.RUN, "run", 0)
        (row,) = verdict_rows(unit, run, with_limits(RunVerdict("run", "run", of), run))
        return row.revision_choice

    releases, note = str(chosen(imported, Verdict.CONFORMS)).split("; note: ")
    assert releases == ("Aeron 1.60.0 (member 0); revision 1.50 of the spec, chosen by the release")
    assert note.startswith("release 1.60.0 (member 0) has not been tried")
    assert chosen(recorded, Verdict.INCOMPLETE) == (
        "revision hardened of the spec, which the run names"
    )
    assert chosen(recorded, Verdict.MALFORMED) == ""


def test_a_summary_gives_the_rate_and_the_actions_by_their_events(tmp_path: Path) -> None:
    rows = [taken("OnVote", 3), taken("Restart", 9), taken("Canvass", 9), taken("Nominate", 0)]
    write_tables(JobRows(stage(tmp_path / "first", [verdict("f", "a"), *rows])), tmp_path)

    one = summary_of(tmp_path, seconds=0.75)

    assert one.coverage == [
        Coverage("Canvass", 9),
        Coverage("Restart", 9),
        Coverage("OnVote", 3),
        Coverage("Nominate", 0),
    ]
    taken_once = {"Canvass", "Restart", "OnVote"}
    assert one.never_taken == [name for name in ACTION_NAMES if name not in taken_once]
    assert (one.events, one.seconds, one.events_per_second) == (7, 0.75, 9.3)
    assert summary_of(tmp_path, seconds=0.0).events_per_second == 0.0


def test_ids_with_the_same_hash_are_not_the_same_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "hash", lambda _: 0, raising=False)
    rows = [verdict(source, run_id) for source, run_id in (("f", "a"), ("g", "b"), ("h", "a"))]
    write_tables(JobRows(stage(tmp_path / "first", [*rows, verdict("i", None)])), tmp_path)

    assert summary_of(tmp_path).shared_ids == [SharedId("a", 2, ["f", "h"])]


def test_a_task_that_is_done_twice_counts_once(tmp_path: Path) -> None:
    write_tasks(tmp_path / "first", [()])
    for _ in range(2):
        result = write_rows(tmp_path / "first", 0, [verdict("f", "a")])

    write_tables(JobRows(stage_of(tmp_path / "first", [result], 1)), tmp_path)

    assert rows_of(tmp_path, "verdicts", "run_id") == [("a",)]
    assert [path.name for path in (tmp_path / "first" / "rows").iterdir()] == ["000000.parquet"]

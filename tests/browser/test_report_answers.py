"""Answers about reports: the summary, the runs page by page, and the runs themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from canvass.browser import api
from canvass.browser.reports import PAGE
from canvass.corpus.report import Listed
from support.browse import Asked, serving
from support.summaries import cluster, summary

MORE = 250
"""Runs of the report that are not there any more."""


def write_report(folder: Path, rows: list[dict[str, object]], bad_run: Path) -> Path:
    """Write what ``canvass batch verify`` writes, for some rows of verdicts."""
    counts = dict.fromkeys(("CONFORMS", "INCOMPLETE", "DIVERGES", "MALFORMED"), 0)
    for row in rows:
        counts[str(row["verdict"])] += 1
    clusters = [
        cluster("Canvass", example_run_id="bad", example_source=str(bad_run)),
        cluster(
            "MessageCausality",
            example_run_id="gone-7",
            example_source="/gone/7",
            example_reason="<b>x</b>",
        ),
    ]
    found = summary(
        counts,
        checked_in_part=2,
        revisions={"Aeron 1.52.2 (member 0); revision 1.50 of the spec": 240, "revision 1.49": 1},
        divergences=3,
        clusters=clusters,
        listed=[Listed(str(bad_run), "bad", "DIVERGES", 300, "no")],
        coverage={"Canvass": 9, "Restart": 3},
        never_taken=["Terminate"],
    )
    folder.mkdir(parents=True)
    (folder / "summary.json").write_bytes(msgspec.json.encode(found))
    (folder / "verdicts").mkdir()
    middle = len(rows) // 2
    for number, part in enumerate((rows[:middle], rows[middle:])):
        pq.write_table(pa.Table.from_pylist(part), folder / "verdicts" / f"part-{number}.parquet")
    return folder


def row(source: Path | str, run_id: str | None, verdict: str, events: int = 5) -> dict[str, object]:
    return {
        "source": str(source),
        "run_id": run_id,
        "verdict": verdict,
        "events": events,
        "unchecked": 0,
        "reason": f"of {run_id}",
    }


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, good_run: Path, bad_run: Path
) -> Iterator[Asked]:
    rows = [row(f"/gone/{k}", f"gone-{k}", "CONFORMS") for k in range(MORE)]
    rows += [row(good_run, "good", "CONFORMS", 400), row("/gone/x", None, "MALFORMED")]
    rows += [row(bad_run, "bad", "DIVERGES", 300)]
    folder = tmp_path_factory.mktemp("report") / "night"
    with serving([write_report(folder, rows, bad_run)]) as running:
        yield running


def test_the_summary_is_reported(server: Asked) -> None:
    report = server.get(api.ReportView, "/report/night")

    found = report.summary
    assert found.verdicts == {"CONFORMS": MORE + 1, "INCOMPLETE": 0, "DIVERGES": 1, "MALFORMED": 1}
    assert (found.events, found.divergences, found.events_per_second) == (100, 3, 50.0)
    assert found.checked_in_part == 2
    assert found.listed == []
    assert report.revisions == (
        "240 runs: Aeron 1.52.2 (member 0); revision 1.50 of the spec",
        "1 run: revision 1.49",
    )
    assert found.never_taken == ["Terminate"]
    assert found.coverage == {"Canvass": 9, "Restart": 3}


def test_an_example_that_is_there_can_be_opened_and_one_that_is_gone_not(server: Asked) -> None:
    report = server.get(api.ReportView, "/report/night")
    example, gone = report.examples

    assert gone is None
    last = report.summary.clusters[1]
    assert (last.example_run_id, last.example_reason) == ("gone-7", "<b>x</b>")
    assert example is not None
    run = server.get(api.RunView, f"/run/{example}")
    assert run.run_id == "bad"
    checked = server.store.content("run", example).checked
    assert checked.done.wait(60)
    assert server.get(api.RunView, f"/run/{example}").verdict == "DIVERGES"
    assert server.get(api.Lanes, f"/run/{example}/lanes").total == run.events


def test_every_run_is_on_one_page_and_what_is_wrong_comes_first(server: Asked) -> None:
    first = server.get(api.ReportRuns, "/report/night/runs")
    assert [one.verdict for one in first.runs[:3]] == ["DIVERGES", "MALFORMED", "CONFORMS"]
    assert (first.pages, first.total) == (-(-(MORE + 3) // PAGE), MORE + 3)

    reported = [
        (one.run_id, one.verdict)
        for page in range(first.pages)
        for one in server.get(api.ReportRuns, "/report/night/runs", page=page).runs
    ]
    assert len(reported) == len(set(reported)) == MORE + 3
    assert server.get(api.ReportRuns, "/report/night/runs", page=99).runs == ()


def test_runs_are_chosen_by_their_verdict(server: Asked) -> None:
    found = server.get(api.ReportRuns, "/report/night/runs", verdict="CONFORMS", page=2)

    assert (found.total, found.pages, len(found.runs)) == (MORE + 1, 3, MORE + 1 - 2 * PAGE)
    assert {one.verdict for one in found.runs} == {"CONFORMS"}
    assert [one.run is not None for one in found.runs if one.run_id == "good"] == [True]
    assert all(one.run is None for one in found.runs if one.run_id != "good")
    assert server.get(api.ReportRuns, "/report/night/runs", verdict="INCOMPLETE").runs == ()


@pytest.mark.parametrize("name", ["night.99999", "night.-1", "night.", "night.x", "night.1.1"])
def test_runs_that_the_report_does_not_have_are_not_found(server: Asked, name: str) -> None:
    assert server.ask(f"/run/{name}").status == 404


def test_a_summary_alone_is_a_report_of_what_it_lists(tmp_path: Path, bad_run: Path) -> None:
    folder = write_report(tmp_path / "small", [row(bad_run, "bad", "DIVERGES")], bad_run)
    for file in (folder / "verdicts").iterdir():
        file.unlink()
    (folder / "verdicts").rmdir()
    with serving([folder]) as server:
        runs = server.get(api.ReportRuns, "/report/small/runs")

        assert [(one.run_id, one.verdict) for one in runs.runs] == [("bad", "DIVERGES")]


def test_a_damaged_report_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"schema": "canvass.batch/4"}')
    with serving([tmp_path]) as server:
        reply = server.ask(f"/report/{server.ids[0]}")

        assert reply.status == 422
        assert "summary.json" in reply.problem().message


@pytest.mark.parametrize(
    "columns",
    [
        {"run": ["a"]},
        {"source": ["a"], "run_id": ["a"], "verdict": ["b"], "events": ["many"], "reason": [""]},
        {"source": [[1]], "run_id": ["a"], "verdict": ["b"], "events": [1], "reason": [""]},
    ],
)
def test_a_table_of_another_schema_is_refused_in_one_line(
    tmp_path: Path, bad_run: Path, columns: dict[str, list[object]]
) -> None:
    row: dict[str, object] = {
        "source": str(bad_run),
        "run_id": "bad",
        "verdict": "DIVERGES",
        "events": 300,
        "reason": "",
    }
    report = write_report(tmp_path / "report", [row, row], bad_run)
    for part in (report / "verdicts").iterdir():
        pq.write_table(pa.table(columns), part)
    with serving([report]) as server:
        reply = server.ask("/report/report")

        assert reply.status == 422
        assert reply.problem().code == "unreadable"
        assert "verdicts: not the table of runs of a report" in reply.problem().message
        assert "\n" not in reply.problem().message

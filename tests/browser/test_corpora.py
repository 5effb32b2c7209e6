"""A corpus of many runs: pages, filters, and verdicts as runs are opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from canvass.browser import api
from canvass.browser.opening import CHECKED_RUNS
from canvass.browser.reports import PAGE, UNCHECKED
from support.browse import MANY, Asked, serving, write_corpus


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, good_run: Path, bad_run: Path
) -> Iterator[Asked]:
    folder = write_corpus(tmp_path_factory.mktemp("many") / "night", good_run, bad_run)
    with serving([folder]) as running:
        yield running


def test_many_runs_are_one_thing_to_choose(server: Asked) -> None:
    (source,) = server.get(api.Session, "/session").sources
    assert (source.kind, source.title) == ("corpus", "night")
    assert source.detail.endswith("night: 5,000 runs")


def test_every_run_is_on_one_page(server: Asked) -> None:
    pages = [
        server.get(api.ReportRuns, "/corpus/night/runs", page=page) for page in range(MANY // PAGE)
    ]
    assert {(one.pages, one.total) for one in pages} == {(MANY // PAGE, MANY)}
    names = [run.run_id for page in pages for run in page.runs]
    assert names == [f"run-{number:04d}" for number in range(MANY)]
    assert server.get(api.ReportRuns, "/corpus/night/runs", page=MANY).runs == ()


def test_runs_are_found_by_a_part_of_their_name(server: Asked) -> None:
    found = server.get(api.ReportRuns, "/corpus/night/runs", text="RUN-12")
    assert [one.run_id for one in found.runs] == [f"run-12{number:02d}" for number in range(100)]
    assert server.get(api.ReportRuns, "/corpus/night/runs", text="none").total == 0


def test_a_run_that_was_opened_has_its_verdict(server: Asked) -> None:
    first = server.get(api.ReportRuns, "/corpus/night/runs").runs[0]
    assert (first.verdict, first.events) == (UNCHECKED, None)
    assert first.run is not None
    run = server.get(api.RunView, f"/run/{first.run}")
    assert server.store.content("run", first.run).checked.done.wait(60)

    (known,) = server.get(api.ReportRuns, "/corpus/night/runs", verdict="DIVERGES").runs
    assert (known.run, known.verdict, known.events) == (first.run, "DIVERGES", run.events)
    assert "by the spec this step leads to" in known.reason
    counts = server.get(api.CorpusView, "/corpus/night").counts
    assert (counts["DIVERGES"], counts[UNCHECKED]) == (1, MANY - 1)
    others = server.get(api.ReportRuns, "/corpus/night/runs", verdict=UNCHECKED, text="run-000")
    assert [one.run_id for one in others.runs] == [f"run-000{number}" for number in range(1, 10)]


def test_what_is_not_there_is_refused(server: Asked) -> None:
    assert server.ask("/corpus/night/runs", verdict="GOOD").status == 400
    assert server.ask("/corpus/none").status == 404
    assert server.ask(f"/run/night.{MANY}").status == 404


def test_a_few_runs_are_listed_one_by_one_after_their_list(
    tmp_path: Path, good_run: Path, bad_run: Path
) -> None:
    folder = write_corpus(tmp_path / "few", good_run, bad_run, CHECKED_RUNS)
    with serving([folder]) as few:
        sources = few.get(api.Session, "/session").sources
    assert [one.kind for one in sources] == ["corpus", *["run"] * CHECKED_RUNS]


def test_the_reason_of_a_run_names_what_its_verdict_does_not_cover(
    tmp_path: Path, good_run: Path, run_from_unknown_logs: Path
) -> None:
    folder = write_corpus(tmp_path / "many", good_run, run_from_unknown_logs, CHECKED_RUNS + 1)
    with serving([folder]) as many:
        first, second = many.get(api.ReportRuns, "/corpus/many/runs").runs[:2]
        for run in (first, second):
            many.get(api.RunView, f"/run/{run.run}")
            assert many.store.content("run", str(run.run)).checked.done.wait(60)
        first, second = many.get(api.ReportRuns, "/corpus/many/runs", verdict="CONFORMS").runs

    assert first.reason.startswith("not checked: AppliedWithinCommitted; ")
    assert second.reason == ""

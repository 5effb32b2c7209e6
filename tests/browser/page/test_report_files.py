"""The page that ``verify --html`` writes, opened as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from canvass.conformance.report import make_cases, to_html
from canvass.conformance.verify import check_units
from canvass.explanation.explanation import explain, sections
from canvass.explanation.reading import read
from support.core_lookup import core_lookup

from .conftest import PROBES

pytestmark = pytest.mark.browser

Opened = Callable[[Path], Page]


@pytest.fixture
def opened(new_context: Any) -> Iterator[Opened]:
    """Open a file; a complaint of the page, or a request for what is no file, fails the test."""
    complaints: list[str] = []
    asked: list[str] = []

    def complained(where: str, text: str) -> None:
        if where.endswith(".html"):  # Chromium's list of a folder complains of itself.
            complaints.append(text)

    def open_file(file: Path) -> Page:
        context = new_context()
        context.on("console", lambda message: complained(message.location["url"], message.text))
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.on("request", lambda request: asked.append(request.url))
        page: Page = context.new_page()
        page.goto(file.as_uri())
        return page

    yield open_file
    assert complaints == []
    assert [url for url in asked if not url.startswith("file://")] == []


@pytest.fixture(scope="module")
def report(bad_run: Path, good_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of two runs, one of which diverges."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    found = check_units([bad_run, good_run], core_lookup())
    cases = make_cases(found.runs, core_lookup(), 10)
    who_led = sections(explain(read(good_run)))
    file.write_text(to_html(found, cases, [who_led], folder=file.parent))
    return file


def test_a_report_says_what_diverges_and_a_link_leads_to_the_run(
    opened: Opened, report: Path, bad_run: Path
) -> None:
    page = opened(report)
    expect(page.locator("h1")).to_have_text("2 runs: 1 DIVERGES, 1 CONFORMS")
    assert page.locator("h2").all_inner_texts()[0].startswith("Canvass")
    cause = page.locator("section.cause")
    expect(cause.locator("h2")).to_have_text(
        "Canvass: a step that the spec does not allow in 1 run"
    )
    expect(cause).to_contain_text("electionState")
    expect(cause.locator("pre.lanes")).to_be_visible()
    steps = cause.locator("details pre")
    expect(steps).to_be_hidden()
    cause.locator("details summary").last.click()
    expect(steps).to_be_visible()
    cause.get_by_role("link", name="bad").click()
    expect(page.get_by_text("member-1.ndjson")).to_be_visible()
    assert page.url.rstrip("/") == bad_run.as_uri()


def test_the_page_is_read_without_scrolling_sideways(opened: Opened, report: Path) -> None:
    page = opened(report)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate(PROBES["beside"]) <= 0
        assert page.evaluate(PROBES["outOfSight"]) == []
        assert page.evaluate(PROBES["small"]) == []

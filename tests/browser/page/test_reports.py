"""Reports and counterexamples on the page. The report is one that Spark made, see
`support.page_report`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from canvass.browser import api
from canvass.browser.app import page_files
from support.browse import Asked, serving
from support.page_report import read_made
from support.tlc_cases import FIXTURES

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Ids = dict[str, str]


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    made: dict[str, Any] = read_made()["summary"]
    return made


def test_a_report_counts_verdicts_and_each_divergence_opens_its_run(
    open_page: Open, ids: Ids, summary: dict[str, Any]
) -> None:
    page = open_page(f"/report/{ids['report']}")
    for verdict, count in summary["verdicts"].items():
        expect(page.locator(f'[data-verdict="{verdict}"] strong')).to_have_text(f"{count}")
    ((chosen, runs),) = summary["revisions"].items()
    expect(page.locator(".revisions li")).to_have_text([f"{runs} runs: {chosen}"])
    assert len(summary["clusters"]) > 1
    expect(page.locator(".cluster")).to_have_count(len(summary["clusters"]))
    page.get_by_role("button", name="Open this run").first.click()
    expect(page.locator("h1")).to_have_text(summary["clusters"][0]["exampleRunId"])
    expect(page.locator(".divergence")).to_be_visible()


@pytest.mark.parametrize("number", range(2))
def test_an_example_diverges_where_the_report_says(
    server: Asked, ids: Ids, summary: dict[str, Any], number: int
) -> None:
    """The page finds the same as Spark's workers, in a broken order and in a wrong step."""
    cluster = summary["clusters"][number]
    example = server.get(api.ReportView, f"/report/{ids['report']}").clusters[number].example
    assert example is not None
    assert server.store.content("run", example).checked.done.wait(60)
    run = server.get(api.RunView, f"/run/{example}")

    assert run.divergence is not None
    assert (
        cluster["divergenceClass"],
        cluster["exampleMemberId"],
        cluster["exampleStep"],
        cluster["exampleReason"],
    ) in {(one.kind, one.member, one.step, one.message) for one in run.findings} | {
        (run.divergence.kind, run.divergence.member, run.divergence.step, run.divergence.message)
    }


def test_a_report_says_what_was_never_taken(
    open_page: Open, ids: Ids, summary: dict[str, Any]
) -> None:
    page = open_page(f"/report/{ids['report']}")
    expect(page.locator(".cluster").first).to_be_visible()
    page.keyboard.press("3")
    for name in summary["neverTaken"]:
        expect(page.locator(".words")).to_contain_text(name)
    action, events = next(iter(summary["coverage"].items()))
    expect(page.locator(f'[data-action="{action}"]')).to_contain_text(f"{events:,}")


def test_what_tlc_printed_is_walked_state_by_state(open_page: Open) -> None:
    with serving([FIXTURES / "liveness.txt"], files=page_files()) as printed:
        page = open_page("/", at=printed)
        expect(page.locator("h1")).to_have_text("Lights")
        expect(page.locator(".head")).to_contain_text("Temporal properties were violated.")
        rows = page.locator(".events tbody tr")
        expect(rows).to_have_count(5)
        expect(rows.nth(0)).to_contain_text("initial state")
        expect(rows.nth(3)).to_contain_text("comes back here")
        expect(page.locator("[data-state-number='5'] h2").last).to_have_text("Pass")


def test_a_divergence_leads_to_the_runs_in_which_it_comes_first(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    report = server.get(api.ReportView, f"/report/{ids['report']}")
    first = report.clusters[0]
    expected = [one for one in report.runs.runs if f": {first.action}: " in one.reason]
    page = open_page(f"/report/{ids['report']}")
    page.locator("[data-list-runs]").first.click()
    expect(page.locator("[data-total]")).to_have_attribute("data-total", str(len(expected)))
    expect(page.locator("table.runs tbody tr").first).to_contain_text(first.action)

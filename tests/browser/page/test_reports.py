"""Reports and counterexamples on the page."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Ids = dict[str, str]


def test_a_report_counts_verdicts_and_each_divergence_opens_its_run(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/report/{ids['report']}")
    expect(page.locator('[data-verdict="DIVERGES"]')).to_contain_text("49")
    expect(page.locator('[data-verdict="CONFORMS"]')).to_contain_text("360")
    expect(page.locator(".cluster")).to_have_count(3)
    page.get_by_role("button", name="Open this run").first.click()
    expect(page.locator("h1")).to_have_text("bad")
    expect(page.locator(".divergence")).to_be_visible()


def test_the_runs_of_a_verdict_are_listed(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/report/{ids['report']}")
    page.locator('[data-verdict="DIVERGES"]').click()
    expect(page.locator(".events tbody tr")).to_have_count(1)
    expect(page.locator(".events tbody tr")).to_contain_text("does not lead to this")
    page.locator('[data-verdict="MALFORMED"]').click()
    expect(page.locator(".empty")).to_contain_text("No run")


def test_a_report_says_what_was_never_taken(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/report/{ids['report']}")
    expect(page.locator(".cluster")).to_have_count(3)
    page.keyboard.press("3")
    expect(page.locator(".words")).to_contain_text("OnTerminationAck")
    expect(page.locator('[data-action="Canvass"]')).to_contain_text("1,200")


def test_a_counterexample_is_walked_in_lanes_and_states(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/counterexample/{ids['counterexample']}")
    expect(page.locator(".head")).to_contain_text("NoTwoVotes is violated")
    expect(page.locator("svg.lanes .event")).to_have_count(2)
    expect(page.locator('[data-message="RequestVote"]')).to_have_count(1)
    expect(page.locator('[data-event="1"]')).to_have_class(re.compile("is-diverges"))
    page.keyboard.press("l")
    expect(page.locator("[data-state-number='2'] h2")).to_have_text("Nominate")
    expect(page.locator(".inspector .is-changed").first).to_be_visible()
    page.keyboard.press("2")
    expect(page.locator(".events tbody tr")).to_have_count(3)
    expect(page.locator(".events tr.is-chosen")).to_contain_text("candidateTermId")

"""Titles, links that lead nowhere, and counterexamples in the election's state machine."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Ids = dict[str, str]


def test_a_link_to_a_step_that_is_not_there_says_so(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['good']}/step/1/999999")
    expect(page.locator("[data-broken]")).to_contain_text("no step 999999 of member 1")
    expect(page.locator("[data-when]")).to_be_visible()
    expect(page).to_have_title("good · overview · canvass")


def test_a_counterexample_has_the_election_and_violates_in_its_lanes(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/counterexample/{ids['counterexample']}")
    expect(page.locator(".is-diverges .event-mark")).to_have_text("violates NoTwoVotes")
    expect(page.locator(".event.is-chosen")).to_have_count(0)
    page.keyboard.press("End")
    expect(page.locator(".event.is-chosen")).to_have_count(1)
    page.keyboard.press("3")
    expect(page.locator('[data-state="CANDIDATE_BALLOT"] [data-member="0"]')).to_be_visible()
    expect(page.locator('[data-state="FOLLOWER_BALLOT"] [data-member="1"]')).to_be_visible()
    expect(page.locator(".machine .move-label")).to_have_text("OnRequestVote")

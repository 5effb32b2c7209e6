"""Answers and events in an order that nobody wants: what is newer stays, what is older is let go.

Answers are held back in the page and let go one by one, so that the order is forced, not awaited.
"""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from .conftest import PROBES, Ids, Open, follow

pytestmark = [pytest.mark.browser, pytest.mark.night]


def held(page: Page, count: int) -> None:
    """Wait until so many questions are held back."""
    page.wait_for_function("(count) => window.held.length === count", arg=count)


def test_an_older_answer_does_not_replace_a_newer_one(open_page: Open, ids: Ids) -> None:
    place = f"/graph/{ids['grid']}?view=find&where="
    page = open_page(f"/graph/{ids['grid']}?view=find")
    expect(page.locator(".find")).to_be_visible()
    page.evaluate(PROBES["hold"], "/find?")
    follow(page, place + quote("at[0].place < 1"))
    held(page, 1)
    follow(page, place + quote("at[0].place < 2"))
    held(page, 2)

    page.evaluate(PROBES["go"], 1)
    expect(page.locator(".find .note")).to_contain_text("640 of 102,400 states")
    page.evaluate(PROBES["go"], 0)
    expect(page.locator(".find .note")).to_contain_text("640 of 102,400 states")


def test_what_answers_another_question_is_not_shown_for_this_one(open_page: Open, ids: Ids) -> None:
    place = f"/graph/{ids['grid']}?view=find&where="
    page = open_page(place + quote("at[0].place < 2"))
    expect(page.locator(".find .note")).to_contain_text("640 of 102,400 states")
    page.evaluate(PROBES["hold"], "/find?")
    follow(page, place + quote("at[0].place < 3"))
    held(page, 1)

    expect(page.locator(".find .waiting")).to_be_visible()
    expect(page.locator(".find .note")).to_have_count(0)
    page.evaluate(PROBES["go"], 0)
    expect(page.locator(".find .note")).to_contain_text("960 of 102,400 states")


def test_lanes_that_are_answered_late_stay_where_they_were_scrolled_to(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/run/{ids['sample']}?at=2000&view=lanes&show=all")
    expect(page.locator('.event.is-chosen[data-event="2000"]')).to_be_visible()
    page.evaluate(PROBES["hold"], "/lanes?from=")
    page.locator(".lanes-scroll").evaluate("(one) => { one.scrollTop = one.scrollHeight }")
    held(page, 1)
    # Until they are there, empty boxes say which events are loaded.
    expect(page.locator(".lanes-awaited p")).to_be_in_viewport()
    page.set_viewport_size({"width": 1280, "height": 700})

    page.evaluate(PROBES["go"], 0)
    expect(page.locator('[data-event="5427"]')).to_be_visible()
    expect(page.locator(".lanes-awaited")).to_have_count(0)


def test_a_link_that_is_answered_late_takes_nobody_back(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['sample']}?at=10")
    expect(page.locator("output.place")).to_have_attribute("data-place", "10")
    page.evaluate(PROBES["hold"], "/step/1/27")
    follow(page, f"/run/{ids['sample']}/step/1/27")
    held(page, 1)
    follow(page, f"/run/{ids['sample']}?at=40")
    expect(page.locator("output.place")).to_have_attribute("data-place", "40")

    page.evaluate(PROBES["go"], 0)
    expect(page.locator("output.place")).to_have_attribute("data-place", "40")


def test_a_file_that_comes_late_closes_no_dialog_opened_since(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/counterexample/{ids['counterexample']}")
    expect(page.locator("[data-state-number]").first).to_be_visible()
    page.evaluate(PROBES["hold"], "/page/")
    page.keyboard.press("x")
    page.get_by_role("button", name="Page").click()
    held(page, 1)
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("x")

    with page.expect_download():
        page.evaluate(PROBES["go"], 0)
    expect(page.locator("dialog[open]")).to_have_count(1)


def test_playing_goes_on_in_the_view_that_was_chosen_meanwhile(open_page: Open, ids: Ids) -> None:
    """While a run is played the next event is always due; the view changes before it comes."""
    page = open_page(f"/run/{ids['sample']}?at=3")
    place = page.locator("output.place")
    expect(place).to_have_attribute("data-place", "3")
    page.keyboard.press(" ")
    expect(place).not_to_have_attribute("data-place", "3")
    page.keyboard.press("2")
    seen = place.get_attribute("data-place") or ""
    expect(place).not_to_have_attribute("data-place", seen)
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.locator("svg.lanes")).to_be_visible()
    assert "view=lanes" in page.url

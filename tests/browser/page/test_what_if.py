"""Steps are taken, taken back, and others tried; a link has all of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from canvass.browser.app import page_files
from canvass.conformance.verify import check_run
from support.browse import serving
from support.core_lookup import core_lookup

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Ids = dict[str, str]
HAZARD_1 = Path(__file__).parents[1] / "tlc" / "hazard1.txt"


def take(page: Page, name: str) -> None:
    """Take a step, and wait for what may come next."""
    before = page.locator("[data-taken]").get_attribute("data-taken") or ""
    page.locator(f'[data-choice="{name}"]').click()
    after = f"{before},{name}" if before else name
    expect(page.locator(f'[data-taken="{after}"]')).to_be_visible()
    expect(page.locator("[data-choice]:disabled")).to_have_count(0)


def test_steps_are_tried_from_a_run_and_a_link_has_the_tree(
    open_page: Open, ids: Ids, tmp_path: Path
) -> None:
    page = open_page(f"/run/{ids['good']}?at=200")
    expect(page.locator("[data-when]")).to_be_visible()
    page.keyboard.press("w")
    expect(page.locator("h1")).to_have_text("What if, after event 201")
    first = page.locator("[data-choice]:visible").first.get_attribute("data-choice") or ""
    take(page, first)
    take(page, page.locator("[data-choice]:visible").first.get_attribute("data-choice") or "")
    expect(page.locator("svg.lanes .event")).to_have_count(2)
    page.keyboard.press("h")
    page.keyboard.press("h")
    expect(page.locator('[data-taken=""]')).to_be_visible()
    other = page.locator("[data-choice]:visible").nth(1).get_attribute("data-choice") or ""
    take(page, other)
    # The start, two steps in a row, and the other step.
    expect(page.locator(".tried button")).to_have_count(4)
    tried = page.locator(".tried button").all_inner_texts()
    link = page.url.partition("#")[2]
    again = open_page(link)
    expect(again.locator(".tried button")).to_have_text(tried)
    expect(again.locator(f'[data-taken="{other}"]')).to_be_visible()

    again.keyboard.press("x")
    with again.expect_download() as waited:
        again.get_by_role("dialog").get_by_role("button", name="Trace").click()
    file = tmp_path / "what-if.parquet"
    waited.value.save_as(file)
    assert check_run(file, core_lookup(), "what-if").verdict.value == "CONFORMS"


def test_a_counterexample_goes_on_otherwise_and_a_value_is_watched(open_page: Open) -> None:
    with serving([HAZARD_1], files=page_files()) as running:
        page = open_page(f"/counterexample/{running.ids[0]}", at=running)
        expect(page.locator("[data-holds=false]")).to_be_visible()
        page.keyboard.press("d")
        expect(page.locator('[data-path="hist.leaders"]')).to_contain_text("term 1: member 1")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("w")
        take(page, "1.AppendEntry.position2")
        box = page.get_by_label("Expression")
        box.fill("member[1].publicationPosition > 1")
        box.press("Enter")
        expect(page.locator("[data-watched]")).to_have_text("Here: TRUE")
        expect(page.locator(".watch")).to_contain_text("From the start on: FALSE · TRUE")
        box.fill("member[1].nothing")
        box.press("Enter")
        expect(page.locator(".watch [role=alert]")).to_contain_text("column")
        page.keyboard.press("Escape")
        page.keyboard.press("u")
        expect(page.locator("output.place")).to_have_attribute("data-place", "4")


def test_tried_steps_are_sent_in_one_file(
    open_page: Open, new_context: Any, tmp_path: Path
) -> None:
    with serving([HAZARD_1], files=page_files()) as running:
        place = f"/counterexample/{running.ids[0]}/what-if/4?path=1.AppendEntry.position2"
        page = open_page(place, at=running)
        expect(page.locator("svg.lanes .event")).to_have_count(1)
        page.keyboard.press("x")
        with page.expect_download() as waited:
            page.get_by_role("dialog").get_by_role("button", name="Page").click()
    file = tmp_path / "what-if.html"
    waited.value.save_as(file)
    alone = new_context(offline=True).new_page()
    alone.goto(file.as_uri())
    expect(alone.locator("h1")).to_have_text("What if, after state 5")
    expect(alone.locator("svg.lanes .event")).to_have_count(1)
    expect(alone.locator(".inspector h2")).to_have_text("AppendEntry")
    expect(alone.locator(".verdict")).to_have_count(0)


def test_an_impossible_step_of_a_link_is_named_and_there_is_a_way_back(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/run/{ids['good']}/what-if/200?path=9.Restart")
    expect(page.locator(".failed")).to_contain_text("step 1, '9.Restart', is not possible there")
    page.get_by_role("link", name=re.compile("^Back")).click()
    expect(page.locator("output.place")).to_have_attribute("data-place", "200")

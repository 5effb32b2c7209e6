"""A corpus of 5,000 runs on the page: paged through, filtered, opened and come back to."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from canvass.browser.access import leading_to
from canvass.browser.app import page_files
from support.browse import MANY, Asked, serving, write_corpus

pytestmark = pytest.mark.browser

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def many(
    tmp_path_factory: pytest.TempPathFactory, good_run: Path, bad_run: Path
) -> Iterator[Asked]:
    folder = write_corpus(tmp_path_factory.mktemp("many") / "night", good_run, bad_run)
    with serving([folder], files=page_files()) as running:
        yield running


def test_a_corpus_is_paged_through(open_page: Open, many: Asked) -> None:
    page = open_page(at=many)
    rows = page.locator(".events tbody tr")
    expect(page.locator("h1")).to_have_text("night")
    expect(rows).to_have_count(100)
    expect(page.locator(".stepper")).to_contain_text("page 1 of 50")
    expect(page.locator('[data-verdict="UNCHECKED"] strong')).to_have_text(f"{MANY:,}")
    page.get_by_role("button", name="Next page").click()
    expect(rows.first).to_contain_text("run-0100")
    page.keyboard.press("]")
    expect(rows.first).to_contain_text("run-0200")
    page.keyboard.press("[")
    page.keyboard.press("[")
    expect(rows.first).to_contain_text("run-0000")
    expect(page.get_by_role("button", name="Page before")).to_be_disabled()


def test_runs_are_found_by_text_and_by_verdict(open_page: Open, many: Asked) -> None:
    page = open_page(at=many)
    rows = page.locator(".events tbody tr")
    expect(rows).to_have_count(100)
    page.keyboard.press("/")
    page.keyboard.type("run-100")
    expect(page.locator("[data-total='10']")).to_be_visible()
    expect(rows.first).to_contain_text("run-1000")
    rows.first.get_by_role("link").click()
    expect(page.locator(".head .verdict")).to_contain_text("DIVERGES")
    page.go_back()
    expect(rows.first).to_contain_text("DIVERGES")
    page.locator('[data-verdict="DIVERGES"]').first.click()
    expect(page.locator("[data-total='1']")).to_be_visible()
    page.get_by_role("button", name="all runs").click()
    expect(page.locator(f"[data-total='{MANY}']")).to_be_visible()
    expect(page.get_by_label("Text in name, place or reason")).to_have_value("")


def test_a_few_runs_are_a_list_in_natural_order_and_are_checked(
    open_page: Open, good_run: Path, bad_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "few"
    for number, run in enumerate((bad_run, good_run, good_run)):
        shutil.copytree(run, folder / f"run-{9 + number}")
    shutil.copytree(good_run, folder / "run-12")
    (folder / "run-12" / "member-0.ndjson").write_text("no trace")
    with serving([folder], files=page_files()) as few:
        page = open_page(at=few)
        rows = page.locator(".events tbody tr")
        expect(page.locator('[data-verdict="UNCHECKED"] strong')).to_have_text("0")
        assert rows.locator("td:first-child").all_inner_texts() == [
            *("run-9", "run-10", "run-11", "run-12")
        ]
        expect(rows.nth(0)).to_contain_text("DIVERGES")
        expect(rows.nth(1)).to_contain_text("CONFORMS")
        expect(rows.nth(3)).to_contain_text("MALFORMED")
        expect(rows.nth(3)).to_contain_text("member-0.ndjson")
        # Members, elections, and the time without a leader, of each run that can be read.
        heads = page.locator(".events thead th").all_inner_texts()
        cells = dict(zip(heads, rows.nth(1).locator("td").all(), strict=True))
        expect(cells["members"]).to_have_text("3")
        expect(cells["elections"]).to_have_text(re.compile(r"\d+"))
        expect(cells["without a leader"]).to_have_text(re.compile(r"\d s"))
        page.get_by_role("button", name="run", exact=True).click()
        page.get_by_role("button", name="run", exact=True).click()
        expect(rows.first).to_contain_text("run-12")
        page.get_by_role("button", name="run", exact=True).click()
        rows.nth(2).get_by_role("link").click()
        expect(page.locator("h1")).to_have_text("run-11")
        # Each run is a choice of its own, too.
        expect(page.locator(".source-choice option", has_text="run-10")).to_have_count(1)


def test_the_file_that_a_browser_is_given_leads_to_the_page(new_context: Any, many: Asked) -> None:
    """And the page can be loaded again there."""
    page: Page = new_context().new_page()
    here = f"http://127.0.0.1:{many.port}/"
    with leading_to(f"{here}#token={many.token}") as address:
        page.goto(address)
        expect(page.locator("h1")).to_have_text("night", timeout=20_000)
    assert page.url == f"{here}#/"
    page.reload()
    expect(page.locator("h1")).to_have_text("night", timeout=20_000)

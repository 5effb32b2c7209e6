"""The page in one file shows without a server what the served page shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from support.browse import Asked

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Ids = dict[str, str]
Saved = Callable[[str], Page]
WHAT_IF = re.compile(r"What next\? w\s+What else\? W")


@pytest.fixture
def saved(
    open_page: Open, new_context: Any, tmp_path: Path, problems: list[str]
) -> Iterator[Saved]:
    """Save the page of a route by its menu, and open the file in a browser without a network."""
    asked: list[str] = []

    def opened(route: str) -> Page:
        page = open_page(route)
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Page", exact=True).click()
        file = tmp_path / "page.html"
        download.value.save_as(file)
        context = new_context()
        context.set_offline(True)
        context.on("console", lambda message: problems.append(message.text))
        context.on("weberror", lambda error: problems.append(str(error.error)))
        context.on("request", lambda one: asked.append(one.url))
        there: Page = context.new_page()
        there.emulate_media(reduced_motion="reduce")
        there.goto(f"{file.as_uri()}#{route}")
        return there

    yield opened
    assert all(url.startswith("file:") for url in asked)


@pytest.mark.parametrize("show", ["", "events"])
def test_a_run_in_a_file_has_the_lanes_and_steps_of_the_served_one(
    open_page: Open, saved: Saved, ids: Ids, show: str
) -> None:
    route = f"/run/{ids['bad']}?at=70&view=lanes&show={show}"
    shown = [open_page(route), saved(route)]
    for key in ("ArrowRight", "PageDown", "ArrowLeft", "d"):
        said = []
        for page in shown:
            page.keyboard.press(key)
            place = page.locator("output.place")
            expect(page.locator(".inspector [data-step]")).to_be_visible()
            said.append(place.inner_text())
        assert said[0] == said[1], key
    for part in (".inspector", ".head h1", ".verdict"):
        texts = [page.locator(part).first.inner_text() for page in shown]
        # A file asks nobody, so it offers no steps that were not taken.
        served, kept = (WHAT_IF.sub("", text.partition("In the state graph")[0]) for text in texts)
        assert served.split() == kept.split()


def test_a_counterexample_in_a_file_is_walked_with_the_keys(saved: Saved, ids: Ids) -> None:
    page = saved(f"/counterexample/{ids['counterexample']}?view=states")
    expect(page.locator("h1")).to_be_visible()
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile("at=0"))
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("at=1"))


def test_what_needs_a_server_is_not_offered_in_a_file(saved: Saved, ids: Ids) -> None:
    page = saved(f"/run/{ids['bad']}")
    expect(page.get_by_role("tab")).to_have_text(["Story", "Lanes", "Election"])
    expect(page.locator(".verdict").first).to_contain_text("DIVERGES")


def test_a_graph_is_not_saved(server: Asked, ids: Ids) -> None:
    reply = server.ask(f"/page/{ids['graph']}")

    assert (reply.status, reply.problem().code) == (400, "bad-request")

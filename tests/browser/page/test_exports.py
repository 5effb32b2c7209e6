"""Exports of a view: pictures and pages that the page makes, files that the server makes."""

from __future__ import annotations

import itertools
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from canvass.browser import api
from canvass.browser.app import page_files
from canvass.browser.saved_page import saved_page
from support.browse import Asked

from .conftest import PROBES, Ids, Open, alone, follow, kept

pytestmark = [pytest.mark.browser, pytest.mark.night]

SVG = "{http://www.w3.org/2000/svg}"


def test_a_projection_by_election_state_stands_like_the_election(
    open_page: Open, ids: Ids, tmp_path: Path
) -> None:
    """Each state is left of, right of, above or below each other one as in the diagram."""
    page = open_page(f"/graph/{ids['graph']}?view=project&by=electionState")
    expect(page.locator(".graph-canvas canvas[data-words]")).to_be_visible()
    drawing = ET.parse(kept(page, "SVG", tmp_path)).getroot()
    places = {}
    for node in drawing.iter(f"{SVG}g"):
        if node.get("transform"):
            x, y = re.findall(r"-?[\d.]+", node.get("transform") or "")
            name = "".join(node.findall(f"{SVG}text")[-1].itertext()).partition(" ")[0]
            places[name] = (round(float(x)), round(float(y)))
    diagram = (
        Path(__file__).resolve().parents[3] / "tools/canvass/browser/ui/src/words/diagram.json"
    )
    states = json.loads(diagram.read_text())["states"]
    expected = {one["name"]: (one["column"], one["row"]) for one in states}
    assert places.keys() == expected.keys()
    for axis in (0, 1):
        for one, other in itertools.combinations(expected, 2):
            due = expected[one][axis] - expected[other][axis]
            drawn = places[one][axis] - places[other][axis]
            assert (due > 0, due < 0) == (drawn > 0, drawn < 0), (one, other)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("/run/{bad}", ["DIVERGES", "Who led when"]),
        ("/graph/{graph}?view=around", ["2,140 states"]),
        ("/run/{sample}?view=lanes&at=74", ["CONFORMS", "member 2"]),
        ("/counterexample/{counterexample}", ["NoTwoVotes is violated", "member 1"]),
    ],
)
def test_a_view_is_kept_as_one_page_that_needs_nothing_else(
    open_page: Open, ids: Ids, tmp_path: Path, new_context: Any, where: str, words: list[str]
) -> None:
    """With its verdict and the names of members, at its full height, in the colours of the page."""
    page = open_page(where.format(**ids), scheme="dark")
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator(".head")).not_to_contain_text("being checked")
    expect(page.locator(".waiting")).to_have_count(0)
    title = page.locator("h1").inner_text()
    heading = page.locator(".inspector h2").inner_text()
    path = kept(page, "HTML", tmp_path)
    text = path.read_text()
    for word in ("<script", " src=", " href=", "javascript:", "@import", "url("):
        assert word not in text.lower(), word
    alone = new_context(offline=True, java_script_enabled=False).new_page()
    alone.goto(path.as_uri())
    expect(alone.locator("h1")).to_have_text(title)
    expect(alone.locator(".inspector h2")).to_have_text(heading)
    for word in words:
        expect(alone.locator("body")).to_contain_text(word)
    expect(alone.locator("body")).not_to_contain_text("self-contained file")
    view = alone.locator(".kept > .view, .kept > svg")
    assert view.evaluate("(one) => one.scrollHeight - one.clientHeight") <= 2
    assert view.evaluate("(one) => one.getBoundingClientRect().height") > 150
    assert all(one.evaluate(PROBES["colours"], ["paper"]) == ["#1b1c20"] for one in (alone, page))


def test_a_run_is_sent_with_the_events_around_a_step(
    server: Asked, ids: Ids, new_context: Any, tmp_path: Path, problems: list[str]
) -> None:
    sample, files, path = ids["sample"], page_files(), tmp_path / "part.html"
    assert len(saved_page(server.store, files, sample)) <= 1_500_000
    path.write_bytes(saved_page(server.store, files, sample, 2500))
    total = server.get(api.RunView, f"/run/{sample}").events
    page = alone(new_context, path, problems)
    there, pane = page.locator("output.place"), page.locator(".inspector")
    expect(there).to_have_attribute("data-place", "2500")
    expect(page.locator(".head")).to_contain_text(f"events 1,501 to 3,500 of {total:,}")
    for show in ("", "events", "all"):
        for at in (1500, 2500, 3499):
            follow(page, f"/run/{sample}?at={at}&view=lanes&show={show}")
            expect(page.locator(".event.is-chosen")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    drawn = server.get(api.Lanes, f"/run/{sample}/lanes", **{"from": 3498, "count": 1})
    expect(pane.locator("[data-step]")).to_have_attribute("data-step", drawn.events[0].reference)
    for at in (1499, 3500):
        follow(page, f"/run/{sample}?at={at}&view=lanes")
        expect(pane).to_have_text(f"This file has only events 1,501 to 3,500 of {total:,}.")
        expect(page.locator(".event.is-chosen")).to_have_count(0)
    page.keyboard.press("ArrowLeft")
    expect(there).to_have_attribute("data-place", "3499")
    expect(pane.locator("[data-step]")).to_be_visible()

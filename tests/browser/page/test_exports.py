"""Exports of a view: pictures and pages that the page makes, files that the server makes."""

from __future__ import annotations

import itertools
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import kept

pytestmark = [pytest.mark.browser, pytest.mark.night]

Open = Callable[..., Page]
Ids = dict[str, str]
PAPER = "() => getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()"
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
    open_page: Open,
    ids: Ids,
    tmp_path: Path,
    new_context: Any,
    where: str,
    words: list[str],
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
    assert alone.evaluate(PAPER) == page.evaluate(PAPER) == "#1b1c20"

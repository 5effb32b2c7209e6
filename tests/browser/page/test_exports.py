"""Exports of a view: pictures and pages that the page makes, files that the server makes."""

from __future__ import annotations

import itertools
import json
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.night]

Open = Callable[..., Page]
Ids = dict[str, str]
PAPER = "() => getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()"
SVG = "{http://www.w3.org/2000/svg}"


def kept(page: Page, what: str, folder: Path) -> Path:
    """Export the view, and give the file."""
    page.keyboard.press("x")
    with page.expect_download() as waited:
        page.get_by_role("dialog", name="Export").get_by_role("button", name=what).click()
    path = folder / waited.value.suggested_filename
    waited.value.save_as(path)
    expect(page.get_by_role("dialog")).to_have_count(0)
    return path


def pixels(path: Path) -> tuple[int, int, int]:
    """Width, height and number of different colours of a PNG with 8 bits each of RGBA."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (depth, kind) in ((8, 6), (8, 2))
    size = 4 if kind == 6 else 3
    at, packed = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    rows = zlib.decompress(packed)
    # Filtered bytes differ wherever the picture does; how many kinds of them is enough here.
    return width, height, len({rows[i : i + size] for i in range(1, len(rows), 997)})


def test_the_election_is_kept_as_svg_and_png(open_page: Open, ids: Ids, tmp_path: Path) -> None:
    page = open_page(f"/run/{ids['sample']}?view=election")
    expect(page.locator(".machine [data-member]")).to_have_count(3)
    drawing = ET.parse(kept(page, "SVG", tmp_path)).getroot()
    texts = {"".join(one.itertext()) for one in drawing.iter(f"{SVG}text")}
    assert {"LEADER_READY", "CANVASS", "0", "1", "2"} <= texts
    assert all(one.get("fill") for one in drawing.iter(f"{SVG}text"))
    assert not [one for one in drawing.iter() if one.get("class") or one.get("style")]
    width, height, colours = pixels(kept(page, "PNG", tmp_path))
    assert width > 1000
    assert height > 600
    assert colours > 10


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


def test_a_graph_is_kept_as_svg_though_it_is_drawn_on_a_canvas(
    open_page: Open, ids: Ids, tmp_path: Path
) -> None:
    page = open_page(f"/graph/{ids['graph']}?view=around")
    canvas = page.locator(".graph-canvas canvas[data-words]")
    expect(canvas).to_be_visible()
    drawing = ET.parse(kept(page, "SVG", tmp_path)).getroot()
    nodes = int(page.locator(".graph-canvas").get_attribute("data-nodes") or "")
    circles = [one for one in drawing.iter(f"{SVG}circle") if one.get("fill") != "none"]
    assert len(circles) == nodes
    assert pixels(kept(page, "PNG", tmp_path))[2] > 10


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("/run/{bad}", ["DIVERGES", "Who led when"]),
        ("/graph/{graph}?view=around", ["13,482 states"]),
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

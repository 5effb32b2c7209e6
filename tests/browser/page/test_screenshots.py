"""The pictures of the guide, taken of the page as it is by ``--rewrite``, never in CI."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

from canvass.browser import api
from support.browse import Asked

from .conftest import Ids, Open

pytestmark = pytest.mark.browser

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guide"
IMAGES = GUIDE / "images"
MOST_BYTES = 150_000
"""The most bytes of a picture: a clone carries them all."""

VIEWS = {
    "browse-story": ("/run/{sample}", "light", ".elections"),
    "browse-election": ("/run/{sample}?view=election", "light", ".machine [data-member]"),
    "browse-lanes": ("/run/{sample}?view=lanes&at=74", "light", "svg.lanes .event.is-chosen"),
    "browse-in-graph": ("/run/{sample}?view=graph", "dark", ".graph-canvas canvas[data-words]"),
    "browse-graph": (
        "/graph/{graph}/state/{state}?depth=1&from={start}",
        "light",
        ".graph-canvas canvas[data-words]",
    ),
    "browse-path": (
        "/graph/{graph}?view=path&to=electionState%20%3D%20%22LEADER_READY%22",
        "light",
        ".graph-canvas canvas[data-words]",
    ),
    "browse-what-if": (
        (
            "/run/{sample}/what-if/76?view=lanes&path=2.Nominate.timeout,1-2.RequestVote,1-0.RequestVote"
            "&tried=2.Nominate.timeout,1-2.RequestVote,1-0.RequestVote~1-2.RequestVote"
        ),
        "light",
        ".tried [aria-current=true]",
    ),
    "browse-projection": ("/graph/{graph}?view=project", "light", ".graph-canvas canvas"),
    "browse-divergence": ("/run/{bad}", "light", ".compare"),
    "browse-report": ("/report/{report}", "dark", ".cluster"),
}
"""For each picture the place, the colours, and what has to be there."""


def test_the_guide_shows_these_pictures_and_no_others() -> None:
    text = (GUIDE / "browse.md").read_text()
    assert {path.stem for path in IMAGES.glob("browse-*.png")} == set(VIEWS)
    for name in VIEWS:
        assert f"(images/{name}.png)" in text
        assert (IMAGES / f"{name}.png").stat().st_size <= MOST_BYTES


@pytest.mark.night
@pytest.mark.parametrize("name", VIEWS)
def test_a_picture_of_the_guide(
    open_page: Open, server: Asked, ids: Ids, name: str, rewrite: bool
) -> None:
    route, scheme, there = VIEWS[name]
    start = server.get(api.GraphInfo, f"/graph/{ids['graph']}").initial[0]
    state = server.get(api.StateView, f"/graph/{ids['graph']}/state/{start}").out[0].target
    places = ids | {"start": start, "state": state}
    page = open_page(route.format(**places), scheme=scheme)
    if name == "browse-divergence":
        # What follows are commands with this machine's paths.
        page.set_viewport_size({"width": 1280, "height": 720})
    expect(page.locator(there).first).to_be_visible()
    expect(page.locator(".waiting, [data-pending]")).to_have_count(0)
    expect(page.locator(".head")).not_to_contain_text("being checked")
    if rewrite:
        # Chromium's have thousands of colours, where lines have soft edges.
        taken = Image.open(BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
        picture = BytesIO()
        taken.quantize(256, dither=Image.Dither.NONE).save(picture, "png", optimize=True)
        assert len(picture.getvalue()) <= MOST_BYTES
        (IMAGES / f"{name}.png").write_bytes(picture.getvalue())

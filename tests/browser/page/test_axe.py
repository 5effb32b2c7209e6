"""axe-core finds nothing on any kind of page: names, roles, contrasts, structure."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import PLACES, PROBES, Ids, Open, follow

pytestmark = pytest.mark.browser

UI = Path(__file__).resolve().parents[3] / "tools" / "canvass" / "browser" / "ui"
AXE = UI / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.night)])
def test_axe_finds_nothing(open_page: Open, ids: Ids, scheme: str) -> None:
    page = open_page(scheme=scheme)
    expect(page.locator("h1")).to_be_visible()
    script = AXE.read_text()
    found = {}
    for name, route in PLACES.items():
        follow(page, route.format(**ids))
        expect(page.locator("h1, .failed").first).to_be_visible()
        expect(page.locator(".waiting")).to_have_count(0)
        page.evaluate(script)
        if violations := page.evaluate(PROBES["violations"]):
            found[name] = violations

    assert found == {}

"""Hostile texts in everything that is looked at, and in links: they show as text."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from canvass.browser.app import page_files
from support.browse import Asked, serving
from support.hostile_texts import PAYLOADS, PLAIN
from support.page_material import write_counterexample, write_report, write_strange_counterexample

from .conftest import PROBES, Open

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory, bad_run: Path) -> Iterator[Asked]:
    """A server whose texts are all hostile."""
    folder = tmp_path_factory.mktemp("strange")
    run, refused = folder / "run", folder / "refused"
    for copy in (run, refused):
        shutil.copytree(bad_run, copy)
        about = json.loads((copy / "run.json").read_text())
        about["source"] = {"kind": PAYLOADS[0], PAYLOADS[1]: PAYLOADS[2]}
        (copy / "run.json").write_text(json.dumps(about))
    # All other texts of a stream are names that the readers know; this one they refuse, by name.
    for stream in refused.glob("member-*.ndjson"):
        events = stream.read_text().replace('"CANVASS"', json.dumps(PAYLOADS[1]))
        stream.write_text(events.replace('"id":"1:0"', f'"id":{json.dumps(PAYLOADS[0])}'))
    paths = [
        write_strange_counterexample(folder / "<img src=x onerror=alert(1)>.json", PAYLOADS),
        write_counterexample(folder / "lanes.json", PAYLOADS[1]),
        write_report(folder / "<script>alert(1)<", bad_run, PAYLOADS),
        run,
        refused,
    ]
    with serving(paths, files=page_files()) as running:
        yield running


def test_a_hostile_counterexample_shows_as_text(open_page: Open, strange: Asked) -> None:
    page = open_page(f"/counterexample/{strange.ids[0]}?view=states", at=strange)
    rows = page.locator(".events tbody tr")
    expect(rows).to_have_count(len(PAYLOADS) + 1)
    for number, payload in enumerate(PLAIN, 1):
        expect(rows.nth(number).locator("td").nth(1)).to_have_text(payload)
    (reversed_name,) = (k for k, one in enumerate(PAYLOADS, 1) if "gnp.exe" in one)
    expect(rows.nth(reversed_name)).to_contain_text("\\u202egnp.exe")
    assert page.evaluate(PROBES["foreign"]) == []
    for _ in range(3):
        page.keyboard.press("j")
        expect(page.locator(".inspector .tree-row").first).to_be_visible()
    assert page.evaluate(PROBES["foreign"]) == []
    # What ran would have set another title; as a text a hostile name may stand in it.
    assert page.title().endswith(("canvass", "canvass browse"))


def test_a_hostile_message_in_lanes_shows_as_text(open_page: Open, strange: Asked) -> None:
    page = open_page(f"/counterexample/{strange.ids[1]}?at=1", at=strange)
    expect(page.locator("svg.lanes .event")).to_have_count(2)
    expect(page.locator("svg.lanes title").first).to_be_attached()
    assert PAYLOADS[1] in page.locator("svg.lanes").inner_html().replace("&lt;", "<").replace(
        "&gt;", ">"
    )
    assert page.evaluate(PROBES["foreign"]) == []


def test_a_hostile_report_shows_as_text(open_page: Open, strange: Asked) -> None:
    page = open_page(f"/report/{strange.ids[2]}", at=strange)
    expect(page.locator(".cluster")).to_have_count(len(PAYLOADS))
    for number, payload in enumerate(PLAIN):
        expect(page.locator(".cluster").nth(number)).to_contain_text(payload)
    assert page.evaluate(PROBES["foreign"]) == []
    assert page.evaluate(
        "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )


def test_a_hostile_run_shows_as_text(open_page: Open, strange: Asked) -> None:
    page = open_page(f"/run/{strange.ids[3]}?view=lanes", at=strange)
    expect(page.locator("svg.lanes .event").first).to_be_visible()
    for key in ("Home", "PageDown", "ArrowRight", "ArrowRight", "v", "3", "4", "1"):
        page.keyboard.press(key)
        expect(page.locator(".inspector h2")).to_be_visible()
    assert page.evaluate(PROBES["foreign"]) == []


def test_what_is_wrong_with_a_hostile_run_shows_as_text(open_page: Open, strange: Asked) -> None:
    page = open_page(f"/run/{strange.ids[4]}", at=strange)
    expect(page.locator("main")).to_contain_text("BAD_VALUE")
    assert page.evaluate(PROBES["foreign"]) == []


PLACES = "/graph/{}", "/run/x?view={}", "/report/x?verdict={}", "/{}"


def test_a_hostile_link_shows_as_text(open_page: Open, strange: Asked) -> None:
    page = open_page("/", at=strange)
    expect(page.locator("h1")).to_be_visible()
    for place, payload in product(PLACES, PAYLOADS):
        route = place.format(quote(payload[:200], safe=""))
        page.evaluate("(route) => { location.hash = route }", f"#{route}")
        assert page.evaluate(PROBES["foreign"]) == []
    # What ran would have set another title; as a text a hostile name may stand in it.
    assert page.title().endswith(("canvass", "canvass browse"))

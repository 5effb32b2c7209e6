"""The chart with the distances to a loss, in the election of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from canvass.browser import api
from canvass.browser.app import page_files
from canvass.browser.distances import add_distances
from canvass.traces.alignment.importer import import_logs
from support.browse import Asked, serving
from support.distances import write_distances

from .conftest import SAMPLES

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Ids = dict[str, str]
PHONE: ViewportSize = {"width": 390, "height": 844}
COVERED = """(marks) => {
  const middle = (one) => {
    const box = one.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  return marks.filter((one, at) => {
    const [x, y] = middle(one);
    const next = marks[at + 1] ? middle(marks[at + 1])[0] : Infinity;
    const found = document.elementFromPoint(x, y)?.closest("a");
    return next - x > 5 && found !== one.closest("a");
  }).map((one) => one.closest("a").dataset.moment);
}"""
"""The moments whose mark cannot be pressed in its middle, except moments at the same place."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A captured cluster with a near miss, and distances over its run."""
    folder = tmp_path_factory.mktemp("distances")
    import_logs([SAMPLES / "aeron-hz1"], folder / "hz1")
    file = write_distances(folder / "hz1", folder / "far.json", "3s")
    with serving([folder / "hz1"], files=page_files()) as running:
        add_distances([source for _, source in running.store.of_kind("run")], file)
        yield running


@pytest.fixture(scope="module")
def moments(measured: Asked) -> tuple[api.DistanceMark, ...]:
    return measured.get(api.Distances, f"/run/{measured.ids[0]}/distances").moments


def test_the_lower_a_mark_the_nearer_the_violation(
    open_page: Open, measured: Asked, moments: tuple[api.DistanceMark, ...]
) -> None:
    page = open_page(f"/run/{measured.ids[0]}?view=election&at=0", at=measured)
    chart = page.get_by_role("region", name="Distance to a loss")
    links = chart.get_by_role("link")
    expect(links).to_have_count(len(moments))
    centre = "(marks) => marks.map((one) => [one.cx.baseVal.value, one.cy.baseVal.value])"
    places = chart.locator("a circle:last-child").evaluate_all(centre)
    level = chart.locator(".distance-level").evaluate_all(
        "(lines) => lines.map((one) => one.y1.baseVal.value)"
    )

    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert (places[0][1] - level[1]) * 2 == level[0] - level[1]
    assert places[2][1] == level[0]
    assert {y for _, y in places[3:]} == {places[1][1]}
    assert places[1][1] < level[1]
    expect(chart.locator(".distance-near")).to_have_count(2)
    expect(chart.locator(".distance-far")).to_have_count(len(moments) - 2)
    exposed = sum(one.exposed and one.steps is None for one in moments)
    assert exposed > 0
    expect(chart.locator(".distance-far.is-exposed")).to_have_count(exposed)


def test_a_mark_leads_to_the_event_of_its_moment(
    open_page: Open, measured: Asked, moments: tuple[api.DistanceMark, ...]
) -> None:
    page = open_page(f"/run/{measured.ids[0]}?view=election&at=0", at=measured)
    said = page.locator("[data-distance]")
    expect(said).to_contain_text("Hollow: none found.")
    page.get_by_role("link", name=moments[0].text, exact=True).click()
    expect(page.locator("output.place")).to_have_attribute("data-place", str(moments[0].event))
    expect(said).to_have_text(moments[0].text)
    page.get_by_role("link", name=moments[2].text, exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator("output.place")).to_have_attribute("data-place", str(moments[2].event))
    expect(page.locator('.distance a[aria-current="true"]')).to_have_attribute(
        "data-moment", str(moments[2].event)
    )
    expect(page.get_by_role("tab", selected=True)).to_have_text("Election")


def test_on_a_phone_the_chart_is_in_sight(open_page: Open, measured: Asked) -> None:
    page = open_page(f"/run/{measured.ids[0]}?view=election", at=measured)
    page.set_viewport_size(PHONE)
    picture = page.locator(".distance-picture")
    expect(picture).to_be_in_viewport(ratio=1)
    box = picture.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= PHONE["width"]
    assert page.locator(".distance a circle:last-child").evaluate_all(COVERED) == []

"""The cost of an arrow key in the lanes, and lanes in which like events are joined."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import Page, Route, expect

from canvass.browser import api
from support.browse import Asked

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Ids = dict[str, str]

CHANGED = """async () => {
  const seen = [];
  const place = () => document.querySelector("output.place").dataset.place;
  const before = place();
  const watch = new MutationObserver((found) => seen.push(...found));
  watch.observe(document.body, {
    subtree: true, childList: true, attributes: true, characterData: true });
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  while (place() === before) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  watch.disconnect();
  const within = (one, what) =>
    (one.target.nodeType === 1 ? one.target : one.target.parentElement)?.closest(what) !== null;
  return {
    lanes: seen.filter((one) => within(one, "svg.lanes")).length,
    timeline: seen.filter((one) => within(one, ".timeline-picture")).length,
    all: seen.length,
  };
}"""
"""Press the arrow key; count what changes of the page, in the lanes, in the timeline and in all."""


def test_an_arrow_key_changes_two_boxes_of_the_lanes_and_one_line_of_the_timeline(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/run/{ids['sample']}?at=300&view=lanes&show=all")
    expect(page.locator('.event.is-chosen[data-event="300"]')).to_be_visible()
    expect(page.locator(".waiting, [data-pending]")).to_have_count(0)
    expect(page.locator(".head")).not_to_contain_text("being checked")
    for _ in range(3):
        changed = page.evaluate(CHANGED)
        assert changed["lanes"] <= 6
        assert changed["timeline"] <= 2
        assert changed["all"] <= 120


def test_no_two_arrows_lie_on_each_other_however_many_there_are(open_page: Open, ids: Ids) -> None:
    """At the start of the sample more messages are under way than a gutter has tracks at least."""
    page = open_page(f"/run/{ids['sample']}?at=6&view=lanes&show=all")
    expect(page.locator('.event.is-chosen[data-event="6"]')).to_be_visible()
    page.locator(".lanes-scroll").evaluate("(one) => { one.scrollTop = 62 * 28 }")
    expect(page.locator('.event[data-event="40"]')).to_be_visible()
    drawn = page.locator(".arrow.is-delivered .arrow-line")
    paths = drawn.evaluate_all("(all) => all.map((one) => one.getAttribute('d'))")
    found = [re.findall(r"-?[\d.]+", path) for path in paths]
    down = sorted((float(x), float(top), float(end)) for _, top, x, end, _ in found)
    assert len(down) > 24
    for (x, _, end), (other, top, _) in pairwise(down):
        assert other - x > 2 or top > end


def test_the_next_step_is_there_before_the_key_is_pressed(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    """With the server silent, the next step is shown all the same."""
    events = server.get(
        api.Lanes, f"/run/{ids['sample']}/lanes", **{"from": 300, "count": 2}
    ).events
    with_next = f"/run/{ids['sample']}/step/{events[1].reference.replace(':', '/')}"
    page = open_page("/")
    expect(page.locator("[data-when]")).to_be_visible()
    with page.expect_response(lambda answer: with_next in answer.url):
        page.evaluate(f"location.hash = '#/run/{ids['sample']}?at=300&view=lanes&show=all'")
    expect(page.locator(f'[data-step="{events[0].reference}"]')).to_be_visible()

    def hold(route: Route) -> None:
        """Never answer."""

    page.route("**/api/run/*/step/**", hold)
    page.keyboard.press("ArrowRight")
    expect(page.locator(f'[data-step="{events[1].reference}"]')).to_be_visible()


def test_what_was_looked_at_is_forgotten_in_time(open_page: Open, ids: Ids) -> None:
    """Going through a run asks for its beginning again: not all of it is kept."""
    page = open_page(f"/run/{ids['sample']}?at=0&view=lanes&show=all")
    scroll = page.locator(".lanes-scroll")
    expect(page.locator('.event[data-event="0"]')).to_be_visible()
    last = 5000
    for row in range(0, last + 1, 100):
        scroll.evaluate("(one, row) => { one.scrollTop = row * 62 }", row)
        expect(page.locator(f'.event[data-event="{row + 2}"]')).to_be_visible()
    with page.expect_response(lambda answer: "/lanes?" in answer.url):
        scroll.evaluate("(one) => { one.scrollTop = 0 }")
    expect(page.locator('.event[data-event="0"]')).to_be_visible()


def test_events_that_are_alike_are_one_and_say_how_many(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    path = f"/run/{ids['sample']}/lanes"
    folded = server.get(api.Lanes, path, show="alike", around=2000, count=1000)
    whole = server.get(api.RunView, f"/run/{ids['sample']}").events
    assert folded.total + folded.hidden == whole
    assert folded.total < whole / 4
    page = open_page(f"/run/{ids['sample']}?at=2000&view=lanes")
    alike = page.get_by_role("button", name="Grouped")
    expect(alike).to_have_attribute("aria-pressed", "true")
    chosen = page.locator(".event.is-chosen")
    expect(chosen).to_have_attribute("data-event", str(folded.chosen))
    event = next(one for one in folded.events if one.number == folded.chosen)
    assert "routine actions, until" in event.alike
    expect(chosen.locator(".event-change")).to_contain_text("≡ ")
    expect(page.locator("output.place")).to_have_attribute("data-place", "2000")
    page.keyboard.press("ArrowRight")
    following = next(one for one in folded.events if one.number == folded.chosen + 1)
    expect(page.locator("output.place")).to_have_attribute("data-place", str(following.event))
    expect(chosen).to_have_attribute("data-event", str(following.number))


def test_each_event_stands_for_those_of_its_member_up_to_the_next_one(
    server: Asked, ids: Ids
) -> None:
    """Counted over a whole run, by the steps of each member."""
    path = f"/run/{ids['good']}/lanes"
    total = server.get(api.RunView, f"/run/{ids['good']}").events
    folded = server.get(api.Lanes, path, show="alike", count=1000)
    assert folded.after == 0
    counted = [
        int(one.alike.split()[0].replace(",", "")) if one.alike else 0 for one in folded.events
    ]
    assert len(folded.events) + sum(counted) == total
    by_lane: dict[int, list[int]] = {}
    for event, more in zip(folded.events, counted, strict=True):
        step = int(event.reference.split(":")[1])
        steps = by_lane.setdefault(event.lane, [])
        assert step == (steps[-1] if steps else 0)
        steps.append(step + more + 1)


def test_no_vote_is_hidden_by_the_one_before(server: Asked, ids: Ids) -> None:
    path = f"/run/{ids['sample']}/lanes"
    whole = server.get(api.Lanes, path, count=1000).events
    folded = server.get(api.Lanes, path, show="alike", count=1000).events

    def votes(events: tuple[api.LaneEvent, ...]) -> list[int]:
        changed = [one.event for one in events if any(".vote: " in each for each in one.changes)]
        return [number for number in changed if number < 1000]

    assert len(votes(whole)) > 2
    assert votes(folded) == votes(whole)

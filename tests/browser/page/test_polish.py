"""Titles, links, tooltips, buttons that copy, and counterexamples in the state machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from canvass.browser import api
from canvass.browser.app import page_files
from support.browse import Asked, serving

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Ids = dict[str, str]
PRINTED = Path(__file__).resolve().parents[1] / "tlc" / "hazard1.txt"
"""TLC's output of MCHazard1, without the paths of the modules."""
COVERED = """() => {
  const place = (one) => one.getBoundingClientRect();
  const label = place(document.querySelector(".machine .move-label rect"));
  return [...document.querySelectorAll(".machine [data-state]")].filter((state) => {
    const box = place(state.querySelector("rect"));
    return Math.min(label.right, box.right) - Math.max(label.left, box.left) > 1
      && Math.min(label.bottom, box.bottom) - Math.max(label.top, box.top) > 1;
  }).map((state) => state.dataset.state);
}"""
"""The states whose boxes the name of the step covers."""


def test_a_link_to_a_step_that_is_not_there_says_so(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['good']}/step/1/999999")
    expect(page.locator("[data-broken]")).to_contain_text("no step 999999 of member 1")
    expect(page.locator("[data-when]")).to_be_visible()
    expect(page).to_have_title("good · story · canvass")


def test_a_counterexample_begins_at_the_violation_and_has_the_election(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/counterexample/{ids['counterexample']}")
    expect(page.locator(".is-diverges.is-chosen .event-mark")).to_have_text("violates NoTwoVotes")
    holds = page.locator("[data-holds]")
    expect(holds).to_have_text("✖ NoTwoVotes is violated here.")
    page.keyboard.press("Home")
    expect(page.locator(".event.is-chosen")).to_have_count(0)
    expect(holds).to_have_text("NoTwoVotes is not violated up to here.")
    page.keyboard.press("End")
    page.keyboard.press("3")
    expect(page.locator('[data-state="CANDIDATE_BALLOT"] [data-member="0"]')).to_be_visible()
    expect(page.locator('[data-state="FOLLOWER_BALLOT"] [data-member="1"]')).to_be_visible()
    expect(page.locator(".machine .move-label")).to_have_text("OnRequestVote")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".machine .move-label")).to_have_text("Nominate")


def test_the_predicate_is_kept_when_another_tab_is_shown(open_page: Open, ids: Ids) -> None:
    for place, key in ((f"/run/{ids['sample']}", "2"), (f"/graph/{ids['graph']}", "1")):
        where = 'electionState = "CANVASS"'
        page = open_page(f"{place}?view=find&where=electionState%20%3D%20%22CANVASS%22")
        field = page.locator(".expression input")
        expect(field).to_have_value(where)
        page.keyboard.press(key)
        expect(field).to_have_count(0)
        expect(page.get_by_role("tab", name="Find")).to_be_visible()
        page.get_by_role("tab", name="Find").click()
        expect(field).to_have_value(where)


def test_each_view_has_a_title_of_its_own(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['good']}?view=lanes")
    expect(page).to_have_title("good · lanes · canvass")
    page.get_by_role("tab", name="Find").click()
    expect(page).to_have_title("good · find · canvass")
    page.evaluate(f"location.hash = '#/counterexample/{ids['counterexample']}?view=states'")
    expect(page).to_have_title("counterexample.json · states · canvass")


def test_everything_drawn_in_the_timeline_says_what_it_is(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    page = open_page(f"/run/{ids['sample']}")
    drawn = page.locator(".timeline-segment, .timeline-mark, .timeline-down, [data-band]")
    expect(drawn.first).to_be_attached()
    titles = drawn.evaluate_all(
        "(all) => all.map((one) => one.querySelector('title')?.textContent)"
    )
    assert all(titles)
    band = server.get(api.RunTimeline, f"/run/{ids['sample']}/timeline").bands[0]
    assert any(
        text.startswith(f"member {band.member} leads term {band.term} for {band.lasted}")
        for text in titles
    )
    assert any("is down, from its last event to its restart" in text for text in titles)
    assert any(text.startswith("RESTART of member") for text in titles)


def test_a_link_and_a_line_of_a_log_are_copied(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['sample']}?at=90")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    line = page.locator("[data-source] pre")
    expect(line).to_be_visible()
    copied = "() => navigator.clipboard.readText()"
    page.get_by_role("button", name="Copy the line").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate(copied) == line.inner_text()
    member, step = (page.locator("[data-step]").get_attribute("data-step") or "").split(":")
    page.get_by_role("button", name="Copy the link").click()
    expect(page.get_by_role("button", name="Copied")).to_have_count(2)
    link = page.evaluate(copied)
    assert link.endswith(f"/#/run/{ids['sample']}/step/{member}/{step}")
    assert "token" not in link
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="Copy the link")).to_be_visible()


def test_steps_that_change_nothing_are_one_line(open_page: Open, server: Asked, ids: Ids) -> None:
    start = server.get(api.GraphInfo, f"/graph/{ids['graph']}").initial[0]
    out = server.get(api.StateView, f"/graph/{ids['graph']}/state/{start}").out
    loops = sum(edge.target == start for edge in out)
    assert 0 < loops < len(out)
    page = open_page(f"/graph/{ids['graph']}/state/{start}")
    line = page.locator("[data-loops]")
    expect(line).to_have_attribute("data-loops", str(loops))
    shown = page.get_by_role("list", name="Enabled steps").locator("[data-edge]")
    expect(shown).to_have_count(len(out) - loops)
    inside = line.locator("[data-edge]")
    expect(inside.first).to_be_hidden()
    line.locator("summary").click()
    expect(inside.first).to_be_visible()
    expect(inside).to_have_count(loops)


def test_what_tlc_printed_of_a_hazard_has_lanes_the_election_and_the_story(
    open_page: Open,
) -> None:
    with serving([PRINTED], files=page_files()) as printed:
        page = open_page(f"/counterexample/{printed.ids[0]}", at=printed)
        expect(page.locator("h1")).to_have_text("MCHazard1")
        expect(page.locator("[data-event]")).to_have_count(5)
        expect(page.locator(".is-diverges .event-mark")).to_have_text("violates CommittedIsDurable")
        expect(page.locator(".arrow.is-delivered")).to_have_count(1)
        definition = page.locator('[data-property="CommittedIsDurable"] pre')
        expect(definition).to_contain_text("Cardinality({i \\in Members : IsPrefix(")
        page.keyboard.press("Home")
        # State 1 is the beginning: no step is highlighted before it is taken.
        expect(page.locator(".event.is-chosen")).to_have_count(0)
        expect(page.locator(".inspector h2")).to_have_text("initial state")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".event.is-chosen")).to_have_attribute("data-event", "0")
        expect(page.locator(".inspector h2")).to_have_text("UpdateLeaderPosition")
        page.get_by_role("tab", name="Election").click()
        expect(page.locator('[data-state="CLOSED"] [data-member="1"]')).to_be_visible()
        page.get_by_role("button", name="Next state").click()
        expect(page.locator('[data-state="CANVASS"] [data-member="2"]')).to_be_visible()
        expect(page.locator(".machine .move-label")).to_have_text("EnterElection")
        assert page.evaluate(COVERED) == []
        page.get_by_role("tab", name="States").click()
        # Its member sent and did not change: the step is the sender's.
        canvass = page.locator(".events tbody tr").nth(3)
        expect(canvass).to_contain_text("Canvass")
        expect(canvass.locator("td").nth(2)).to_have_text("member 2")
        page.get_by_role("tab", name="The hazard").click()
        expect(page.locator('[data-hazard="HZ1"] h3')).to_contain_text("HZ1")

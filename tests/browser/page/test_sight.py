"""Everything drawn can be seen: no word covers another one, and none is outside the frame."""

from __future__ import annotations

import pytest
from playwright.sync_api import ViewportSize, expect

from support.browse import Asked

from .conftest import PROBES, Ids, Open

pytestmark = [pytest.mark.browser, pytest.mark.night]

PHONE: ViewportSize = {"width": 390, "height": 844}


FILLS = ("start", "candidate", "leader", "follower", "outside")
TEXTS = [
    *("ink paper", "ink ground", "soft paper", "soft ground", "accent paper", "good paper"),
    *("accent accent-paper", "bad bad-paper", "warn warn-paper", "ink mark", "warn mark"),
    *(f"{ink} {fill}" for fill in FILLS for ink in (f"{fill}-ink", "ink")),
    *(f"ink value-{place}" for place in range(9)),
]
"""Pairs of colours, those of a text and of what is behind it."""
NAMES = sorted({"edge", *" ".join(TEXTS).split()})


def contrast(*colours: str) -> float:
    """Give the ratio of two colours such as ``#1b1c20``, as WCAG 2 defines it."""
    lights: list[float] = []
    for colour in colours:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (float(((one + 0.055) / 1.055) ** 2.4) for one in parts)
        lights.append(0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
    return max(lights) / min(lights)


@pytest.mark.parametrize("theme", ["light", "dark", "contrast"])
def test_texts_are_read_and_edges_differ_without_colour(open_page: Open, theme: str) -> None:
    page = open_page()
    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", theme)
    colour = dict(zip(NAMES, page.evaluate(PROBES["colours"], NAMES), strict=True))
    assert contrast(colour["edge"], colour["paper"]) >= 3
    assert contrast(colour["leader"], colour["follower"]) >= 1.4
    wrong = [one for one in TEXTS if contrast(*(colour[each] for each in one.split())) < 4.5]
    assert wrong == []


def test_on_paper_the_view_is_whole_and_light(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['sample']}", scheme="dark")
    expect(page.locator(".elections")).to_be_visible()
    page.emulate_media(media="print", color_scheme="dark")
    expect(page.locator(".bar")).to_be_hidden()
    assert page.evaluate(PROBES["colours"], ["paper"]) == ["#ffffff"]
    view = page.locator(".verdict-view")
    assert view.evaluate("(one) => one.scrollHeight - one.clientHeight") <= 1


def test_a_leader_that_leads_on_hides_no_election(open_page: Open, captured: Asked) -> None:
    page = open_page(f"/run/{captured.ids[0]}", at=captured)
    bands = page.locator(".timeline-bands text")
    expect(bands.first).to_be_visible()
    assert bands.evaluate_all(PROBES["covering"]) == []


def test_a_stretch_of_the_timeline_has_its_whole_word_if_there_is_room(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/run/{ids['sample']}")
    segments = page.locator(".timeline-segment text")
    expect(segments.get_by_text("follows", exact=True)).not_to_have_count(0)
    # One call finds and measures: between two, the timeline may be drawn again.
    wider = """() => [...document.querySelectorAll(".timeline-segment text")].filter((one) =>
      one.getBoundingClientRect().right > one.previousSibling.getBoundingClientRect().right + 1)
      .map((one) => one.textContent)"""
    assert page.evaluate(wider) == []


def test_the_actions_of_three_members_are_read_in_their_boxes(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['sample']}?view=lanes&show=all&at=2200")
    expect(page.locator(".event.is-chosen")).to_be_visible()
    titles = page.locator(".event-title").all_text_contents()
    assert "UpdateLeaderPosition" in titles
    assert [title for title in titles if "…" in title] == []


def test_no_word_of_a_projection_is_beside_the_frame(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/graph/{ids['graph']}?view=project")
    words = page.locator(".graph-canvas canvas[data-words]")
    expect(words).to_be_visible()
    expect(page.locator(".graph-canvas")).to_have_attribute("data-nodes", "18")
    assert words.evaluate(PROBES["atTheEdge"]) is False


def test_on_a_phone_the_observed_and_the_allowed_step_are_in_sight(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/run/{ids['bad']}")
    page.set_viewport_size(PHONE)
    expect(page.locator(".head .verdict")).to_contain_text("DIVERGES")
    page.keyboard.press("d")
    page.keyboard.press("3")
    texts = page.locator(".divergence-drawing text")
    expect(texts.filter(has_text="observed:").first).to_be_visible()
    expect(texts.filter(has_text="allowed:")).to_be_visible()
    right = "(texts) => Math.max(...texts.map((one) => one.getBoundingClientRect().right))"
    assert texts.evaluate_all(right) <= PHONE["width"]
    assert texts.evaluate_all(PROBES["covering"]) == []


def test_the_button_of_the_divergence_names_the_key_that_does_the_same(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/run/{ids['bad']}")
    expect(page.locator(".head .verdict")).to_contain_text("DIVERGES")
    page.keyboard.press("d")
    page.keyboard.press("3")
    page.keyboard.press(page.locator(".empty button kbd").inner_text())
    expect(page.locator(".divergence h2")).to_be_visible()


def test_on_a_phone_the_members_stand_above_the_election(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['sample']}?at=90&view=election")
    page.set_viewport_size(PHONE)
    expect(page.locator("[data-members]")).to_be_in_viewport(ratio=1)


def test_a_long_excerpt_of_the_log_leaves_what_the_step_was_given_in_sight(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/run/{ids['sample']}/step/0/268")
    page.set_viewport_size({"width": 1000, "height": 720})
    excerpt = page.locator("pre.is-log")
    expect(excerpt).to_contain_text("ELECTION_STATE_CHANGE")
    assert excerpt.evaluate("(one) => one.scrollHeight > one.clientHeight")
    expect(page.get_by_role("heading", name="Given")).to_be_in_viewport()
    page.wait_for_function(PROBES["givenIsAbove"])


def test_on_a_phone_a_report_fills_the_page(open_page: Open, ids: Ids) -> None:
    """A short view used to end in an empty block of the background's colour."""
    page = open_page(f"/report/{ids['report']}")
    page.set_viewport_size(PHONE)

    page.wait_for_function(
        "(height) => document.querySelector('main.report')"
        "?.getBoundingClientRect().bottom >= height - 1",
        arg=PHONE["height"],
    )

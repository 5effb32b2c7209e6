"""How the page is read: keys, themes, widths, names for those who hear it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from support.browse import Asked

from .conftest import PLACES, PROBES, Ids, Open, follow

pytestmark = [pytest.mark.browser, pytest.mark.night]


@pytest.fixture(params=[one for one in PLACES if one != "nothing"])
def place(request: pytest.FixtureRequest, ids: Ids) -> str:
    return PLACES[str(request.param)].format(**ids)


def settled(page: Page) -> None:
    """Wait until nothing is awaited any more."""
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator(".waiting")).to_have_count(0)


def test_nothing_is_cut_or_beside_the_window(open_page: Open, place: str) -> None:
    page = open_page(place)
    settled(page)
    for width, height in ((1280, 800), (768, 1024), (700, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(PROBES["drawn"])
        assert page.evaluate(PROBES["beside"]) <= 0, width
        assert page.evaluate(PROBES["seen"]) > 250, width
        assert page.evaluate(PROBES["cut"]) == [], width
        assert page.evaluate(PROBES["overlapping"]) == 0, width
        assert page.evaluate(PROBES["tiny"]) == [], width
        assert page.evaluate(PROBES["outOfReach"]) == [], width


def test_the_chosen_theme_stays(open_page: Open) -> None:
    page = open_page(scheme="dark")
    settled(page)
    page.get_by_label("Colours").select_option("contrast")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "contrast")
    page.locator("h1").click()
    page.keyboard.press("T")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_question_mark_lists_the_keys_of_the_view(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/graph/{ids['graph']}?view=around")
    settled(page)
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    for word in ("shortest path to this state", "find states by a predicate", "list the keys"):
        expect(keys).to_contain_text(word)
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    page.keyboard.press("?")
    expect(keys).to_be_visible()


def test_keys_in_a_field_are_text(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/graph/{ids['graph']}?view=around")
    settled(page)
    page.keyboard.press("/")
    page.keyboard.type("x?1l")
    expect(page.get_by_label("States in which")).to_have_value("x?1l")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    expect(page.locator(".graph-canvas")).to_be_visible()


def test_what_is_typed_before_the_next_frame_stays_in_the_field(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/graph/{ids['graph']}?view=around")
    settled(page)
    typed = page.evaluate(PROBES["typedAtOnce"])
    assert typed == "x"
    expect(page.get_by_label("States in which")).to_have_value("x")


def test_everything_that_can_be_pressed_is_reached_by_tab_and_shows_it(open_page: Open) -> None:
    page = open_page()
    settled(page)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "() => document.activeElement.getAttribute('aria-label')"
                " || document.activeElement.textContent.slice(0, 20)"
            )
        )
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        at_body = page.evaluate("() => document.activeElement === document.body")
        assert at_body or outline != "none"
        if at_body:
            break
    assert {"Play", "Next event", "Place in the run"} <= reached


def test_without_a_token_the_page_says_what_to_do(new_context: Any, server: Asked) -> None:
    page = new_context().new_page()
    page.goto(f"http://127.0.0.1:{server.port}/")
    expect(page.locator(".empty")).to_contain_text("Open the address that canvass browse printed")


def test_what_is_not_there_leads_home(open_page: Open) -> None:
    page = open_page("/run/no-such-run")
    page.locator("main .failed").get_by_role("link", name="Show what is open").click()
    expect(page.locator("h1")).to_have_text("b-leader-killed")


def test_on_a_phone_a_row_is_a_card_and_each_value_has_its_name(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['sample']}")
    cell = page.locator(".leaderships tbody td").first
    expect(cell).to_be_visible()
    name = "(one) => getComputedStyle(one, '::before').content"
    assert cell.evaluate(name) == "none"
    page.set_viewport_size({"width": 390, "height": 844})
    assert cell.evaluate(name) == '"term"'
    expect(page.locator(".leaderships thead")).to_be_hidden()
    cells = page.locator(".leaderships tbody tr:first-child td")
    tops = cells.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().y)")
    assert tops == sorted(set(tops))


def test_on_a_phone_the_name_of_a_value_is_in_the_type_of_words(open_page: Open, ids: Ids) -> None:
    """A name stands in the cell of its value, and values of fields are in another type."""
    page = open_page(f"/run/{ids['bad']}")
    expect(page.locator(".head .verdict")).to_contain_text("DIVERGES")
    page.keyboard.press("d")
    cells = page.locator(".compare td")
    expect(cells.first).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    types = cells.evaluate_all(
        "(all) => all.map((one) => [getComputedStyle(one).fontFamily,"
        " getComputedStyle(one, '::before').fontFamily])"
    )
    words = page.evaluate("() => getComputedStyle(document.body).fontFamily")

    assert any(value != words for value, _ in types)
    assert {name for _, name in types} == {words}


def test_on_a_phone_the_lanes_scroll_inside_and_the_chosen_event_is_in_sight(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/run/{ids['sample']}?at=26&view=lanes")
    expect(page.locator(".event.is-chosen")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    page.keyboard.press("ArrowRight")
    page.wait_for_function(PROBES["inSight"])
    assert page.locator(".lanes-scroll").evaluate("(one) => one.scrollWidth") > 700
    assert page.evaluate(PROBES["beside"]) <= 0


def test_on_a_phone_a_graph_opens_at_the_top_of_the_page(open_page: Open, ids: Ids) -> None:
    page = open_page("/")
    page.set_viewport_size({"width": 390, "height": 844})
    follow(page, f"/graph/{ids['graph']}")
    expect(page.locator(".steps .is-chosen")).to_have_count(1)
    settled(page)
    assert page.evaluate("window.scrollY") == 0


def test_on_a_phone_the_fields_of_a_predicate_scroll_inside_the_view(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/graph/{ids['graph']}?view=find")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".find .fitting .chip").first).to_be_visible()
    assert page.evaluate(PROBES["scrollsInside"])

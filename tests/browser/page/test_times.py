"""Time and source of each step on the page; who leads, and who is down."""

from __future__ import annotations

import gzip
import re
import shutil
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
SAMPLE = Path(__file__).resolve().parents[3] / "samples" / "aeron" / "b-leader-killed"


def seconds(text: str) -> float:
    """Read a time as the page writes it."""
    return float(text.removesuffix(" s"))


def test_an_observed_step_has_its_time_and_the_line_of_the_log(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    """The line is compared with the log itself."""
    events = server.get(api.Lanes, f"/run/{ids['sample']}/lanes", count=200).events
    event = next(one for one in events if one.title == "OnVote" and one.origin == "OBSERVED")
    member, step = event.reference.split(":")
    line = int(event.place.rpartition(":")[2])
    with gzip.open(SAMPLE / f"member-{member}.log.gz", "rt") as log:
        written = log.read().splitlines()[line - 1]
    assert f"[{seconds(event.time):.3f}"[:-1] in written

    page = open_page(f"/run/{ids['sample']}/step/{member}/{step}")
    when = page.locator("[data-when]")
    expect(when).to_contain_text(event.time)
    expect(when).to_contain_text(event.since)
    expect(when).to_contain_text(f"member-{member}.log:{line}")
    expect(when.locator(".is-observed")).to_have_text("observed")
    expect(page.locator("[data-source] pre")).to_have_text(written)
    expect(page.locator("[data-source]")).to_contain_text("Observed: input.message")


def test_an_inferred_step_says_so_and_names_no_line(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    events = server.get(api.Lanes, f"/run/{ids['sample']}/lanes", count=200).events
    event = next(one for one in events if one.origin == "INFERRED")
    page = open_page(f"/run/{ids['sample']}?at={event.number}&view=lanes&show=all")
    expect(page.locator("[data-when] .is-inferred")).to_have_text("inferred")
    expect(page.locator("[data-source]")).to_have_count(0)
    box = page.locator(f'[data-event="{event.number}"]')
    expect(box).to_have_class(re.compile("is-inferred"))
    expect(page.locator(f'[data-event-time="{event.number}"]')).to_contain_text(event.time)


def test_the_timeline_has_a_clock_that_goes_forward(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['sample']}?at=0")
    expect(page.locator("[data-time]")).to_have_text(re.compile(r"\d+\.\d{3} s"))
    ticks = page.locator("[data-axis] text")
    expect(ticks.first).to_be_attached()
    texts = ticks.all_text_contents()
    times = [seconds(text) for text in texts]
    assert len(times) >= 5
    assert times == sorted(times)


def test_a_killed_leader_is_down_from_its_last_event_to_its_restart(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    timeline = server.get(api.RunTimeline, f"/run/{ids['sample']}/timeline")
    first = timeline.bands[0]
    restart = next(
        mark for mark in timeline.marks if mark.kind == "RESTART" and mark.member == first.member
    )
    page = open_page(f"/run/{ids['sample']}?at={first.end - 1}&view=election")
    disc = page.locator(f'.machine [data-member="{first.member}"]')
    expect(disc).to_have_class(re.compile("is-leading"))
    expect(disc.locator(".token-term")).to_have_text(f"leads t{first.term}")
    page.keyboard.press("ArrowRight")
    expect(disc).to_have_class(re.compile("is-down"))
    expect(page.locator(f'[data-state] [data-member="{first.member}"]')).to_have_count(0)
    expect(page.locator(f'[data-down="{first.member}"]').first).to_be_attached()

    page.evaluate(f"location.hash = '#/run/{ids['sample']}?at={restart.number}&view=election'")
    back = server.get(api.MembersAt, f"/run/{ids['sample']}/members", at=restart.number)
    state = back.members[first.member].election_state
    expect(page.locator(f'[data-state="{state}"] [data-member="{first.member}"]')).to_have_count(1)


def test_lanes_without_routine_have_the_elections_and_lead_to_the_same_events(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    first = server.get(api.RunTimeline, f"/run/{ids['sample']}/timeline").bands[0]
    page = open_page(f"/run/{ids['sample']}?at={first.start}&view=lanes&show=all")
    chosen = page.locator("svg.lanes .event.is-chosen")
    expect(chosen).to_have_attribute("data-event", str(first.start))
    title = chosen.locator(".event-title").text_content()
    page.keyboard.press("f")
    expect(page.get_by_role("button", name="No routine")).to_have_attribute("aria-pressed", "true")
    hidden = page.locator("[data-hidden]")
    expect(hidden).to_be_visible()
    assert int(hidden.get_attribute("data-hidden") or "") > 4000
    expect(chosen.locator(".event-title")).to_have_text(title or "")
    following = int(chosen.get_attribute("data-event") or "") + 1
    page.locator(f'.event[data-event="{following}"]').click()
    place = page.locator("output.place")
    expect(place).not_to_have_attribute("data-place", str(first.start))
    after = int(place.get_attribute("data-place") or "")
    page.get_by_role("button", name="All events").click()
    expect(chosen).to_have_attribute("data-event", str(after))


def test_a_click_follows_a_message_to_its_receiver(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['sample']}?at=26&view=lanes")
    arrow = page.locator(".arrow.is-delivered").first
    expect(arrow).to_be_attached()
    before = page.locator("output.place").get_attribute("data-place") or ""
    arrow.locator(".arrow-tip").click()
    expect(page.locator("output.place")).not_to_have_attribute("data-place", before)


def test_a_member_whose_events_are_missing_is_not_said_to_have_ended(
    open_page: Open, good_run: Path, tmp_path: Path
) -> None:
    run = tmp_path / "cut"
    shutil.copytree(good_run, run)
    stream = run / "member-2.ndjson"
    lines = stream.read_bytes().splitlines(keepends=True)
    stream.write_bytes(b"".join(lines[: len(lines) // 3]))

    with serving([run], files=page_files()) as running:
        page = open_page(f"/run/{running.ids[0]}", running)
        down = page.locator('[data-down="2"] text')
        expect(down.last).to_have_text("no further events")

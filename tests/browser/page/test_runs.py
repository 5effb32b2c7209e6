"""Runs on the page: the election with the members in it, lanes, steps, verdicts."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from canvass.browser import api
from canvass.browser.app import page_files
from canvass.cluster.member import ElectionState
from support.browse import Asked, serving

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Ids = dict[str, str]


def lit(page: Page, state: str) -> Locator:
    """The members drawn in a state of the overview."""
    return page.locator(f'.machine [data-state="{state}"] [data-member]')


def show(page: Page, route: str) -> None:
    """Follow a link within the page."""
    page.evaluate("(route) => { location.hash = route }", f"#{route}")


def test_the_page_opens_on_the_sample_where_its_first_leader_is_elected(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    page = open_page()
    expect(page.locator("h1")).to_have_text("b-leader-killed")
    page.keyboard.press("4")
    expect(page.locator("[data-state]")).to_have_count(len(ElectionState))
    expect(lit(page, "LEADER_READY")).to_have_count(1)
    at = int(page.locator("output.place").get_attribute("data-place") or "")

    result = server.get(api.MembersAt, f"/run/{ids['sample']}/members", at=at)
    for member in result.members:
        expect(
            page.locator(
                f'.machine [data-state="{member.election_state}"] [data-member="{member.member}"]'
            )
        ).to_have_count(1)
    assert "token" not in page.url


def test_keys_scrub_through_the_run_and_light_what_moves(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['sample']}?at=0&view=election")
    place = page.locator("output.place")
    expect(place).to_have_text(re.compile("^event 1 of"))
    page.keyboard.press("ArrowRight")
    expect(place).to_have_text(re.compile("^event 2 of"))
    page.keyboard.press("PageDown")
    expect(place).to_have_text(re.compile("^event 27 of"))
    page.keyboard.press("ArrowLeft")
    expect(place).to_have_text(re.compile("^event 26 of"))
    page.keyboard.press("End")
    expect(page.get_by_role("button", name="Next event")).to_be_disabled()
    page.keyboard.press("Home")
    expect(place).to_have_text(re.compile("^event 1 of"))
    page.keyboard.press("]")
    expect(lit(page, "LEADER_READY")).to_have_count(1)
    expect(page.locator(".machine [data-move]")).to_have_count(1)
    expect(page.locator(".machine .move-label")).to_have_text("LeaderInit")


def test_the_further_changes_are_counted_and_drawn_when_asked_for(
    open_page: Open, ids: Ids
) -> None:
    words = Path(__file__).resolve().parents[3] / "tools/canvass/browser/ui/src/words"
    edges = json.loads((words / "election.json").read_text())
    seeds = len(json.loads((words / "diagram.json").read_text())["edges"])
    page = open_page(f"/run/{ids['sample']}?view=election")
    # Two lines may be lit as the way of a member, none is drawn twice.
    expect(page.locator(".machine .line")).to_have_count(seeds)
    expect(page.locator(".legend-row")).to_contain_text(str(len(edges) - seeds))
    page.keyboard.press("e")
    expect(page.locator(".machine .line")).to_have_count(len(edges))


def test_tracks_have_each_members_term_and_positions_here(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    page = open_page(f"/run/{ids['sample']}?at=700")
    expect(page.locator("[data-when]")).to_be_visible()
    expect(page.locator("[data-tracks]")).to_have_count(0)
    page.keyboard.press("t")
    expect(page.get_by_role("img", name="of each member over the run")).to_have_count(3)
    levels = server.get(api.RunTimeline, f"/run/{ids['sample']}/timeline").levels
    for one in levels:
        last = bisect_right(one.numbers, 700) - 1
        for title, values in (("term", one.term), ("commit position", one.commit)):
            place = page.locator(f'[data-level-of="{title} {one.member}"]')
            expect(place).to_have_text(str(values[last]))


def test_the_timeline_has_each_members_states_and_a_click_goes_there(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    timeline = server.get(api.RunTimeline, f"/run/{ids['sample']}/timeline")
    drawn = sum(bool(one.election_state) for each in timeline.members for one in each.segments)
    page = open_page(f"/run/{ids['sample']}?at=0")
    expect(page.locator(".timeline-segment")).to_have_count(drawn)
    expect(page.locator(".timeline-mark")).to_have_count(len(timeline.marks))
    rows = page.locator(".timeline-mark").evaluate_all(
        "(lines) => lines.map((one) => (one.y1.baseVal.value - 29) / 15)"
    )
    order = [each.id for each in timeline.members]
    assert rows == [order.index(mark.member) for mark in timeline.marks]
    picture = page.locator(".timeline-picture")
    box = picture.bounding_box()
    assert box is not None
    picture.click(position={"x": box["width"] / 2, "y": 5})
    expect(page.locator("output.place")).not_to_have_attribute("data-place", "0")


def test_play_goes_on_by_itself_and_pauses(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['sample']}?at=0")
    page.get_by_role("button", name="Play").click()
    # The page plays on while the test looks, so no single event is sure to be seen.
    expect(page.locator("output.place")).to_have_attribute(
        "data-place", re.compile(r"^([2-9]|\d{2,})$")
    )
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_step_says_what_was_given_sent_and_changed(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    member, step = next(
        (event.reference.split(":"))
        for event in server.get(
            api.Lanes, f"/run/{ids['sample']}/lanes", **{"from": 0, "count": 100}
        ).events
        if event.title == "OnRequestVote"
    )
    result = server.get(api.StepView, f"/run/{ids['sample']}/step/{member}/{step}")
    page = open_page(f"/run/{ids['sample']}/step/{member}/{step}")
    pane = page.locator(f'[data-step="{member}:{step}"]')
    expect(pane.locator("h2")).to_have_text("OnRequestVote")
    expect(pane).to_contain_text("RequestVote")
    changed = {change.field.split(".")[0].split("[")[0] for change in result.changes}
    for name in changed:
        expect(pane.locator(".tree", has_text=name).last).to_be_visible()
    pane.get_by_label("only what the step changed").uncheck()
    expect(pane.locator('[data-path="role"]')).to_be_visible()


def test_lanes_draw_only_what_is_in_sight_of_a_long_run(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['sample']}?at=2000&view=lanes&show=all")
    expect(page.locator('.event.is-chosen[data-event="2000"]')).to_be_visible()
    assert page.locator("svg.lanes .event").count() < 60
    height = page.locator(".lanes-scroll").evaluate("(one) => one.scrollHeight")
    assert height > 4000 * 62
    page.locator(".lanes-scroll").evaluate("(one) => { one.scrollTop = one.scrollHeight }")
    last = int(re.findall(r"of ([\d,]+)", page.locator(".place").inner_text())[0].replace(",", ""))
    expect(page.locator(f'[data-event="{last - 1}"]')).to_be_visible()
    assert page.locator("svg.lanes .event").count() < 60


def test_lanes_have_messages_as_arrows_and_faults_as_marks(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    timeline = server.get(api.RunTimeline, f"/run/{ids['sample']}/timeline")
    restart = next(mark for mark in timeline.marks if mark.kind == "RESTART")
    page = open_page(f"/run/{ids['sample']}?at={restart.number}&view=lanes&show=all")
    expect(page.locator(f'.is-restart[data-event="{restart.number}"]')).to_contain_text("↻")
    expect(page.locator(".arrow.is-delivered").first).to_be_attached()
    page.keyboard.press("v")
    row = page.locator(f'tr[data-event="{restart.number}"]')
    expect(row).to_contain_text("RESTART")
    expect(row).to_have_class(re.compile("is-chosen"))


def test_a_run_opens_on_its_verdict_in_a_sentence_and_its_restarts(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    marks = server.get(api.RunTimeline, f"/run/{ids['good']}/timeline").marks
    page = open_page(f"/run/{ids['good']}")
    expect(page.locator(".verdict-line")).to_contain_text("CONFORMS")
    expect(page.locator(".verdict-line")).to_contain_text("The spec allows every step")
    expect(page.get_by_role("tab", selected=True)).to_have_text("Story")
    expect(page.locator(".milestones li")).to_have_count(len(marks))
    # No log: its steps have times, and no tag that says whether a line shows them.
    expect(page.locator("[data-when]")).to_contain_text(re.compile(r"^\d+\.\d{3} s"))
    expect(page.locator("[data-when] .tag")).to_have_count(0)
    page = open_page(f"/run/{ids['bad']}")
    expect(page.locator(".verdict-line")).to_contain_text("Member 1 leaves the spec at its step")


def test_a_run_opens_on_the_properties_that_its_verdict_does_not_cover(
    open_page: Open, server: Asked, ids: Ids, run_from_unknown_logs: Path
) -> None:
    page = open_page(f"/run/{ids['good']}")
    expect(page.locator(".verdict-line")).to_contain_text("every safety property holds")
    expect(page.locator("[data-limits]")).to_have_count(0)

    with serving([run_from_unknown_logs], files=page_files()) as other:
        page = open_page("/run/from-unknown-logs", at=other)
        expect(page.locator(".verdict-line")).to_contain_text("that was checked holds")
        limits = page.locator("[data-limits]")
        expect(limits.locator("h3")).to_have_text("Not a full check")
        expect(limits.locator("code").first).to_have_text("AppliedWithinCommitted")


def test_a_divergence_has_observed_beside_allowed(open_page: Open, server: Asked, ids: Ids) -> None:
    page = open_page(f"/run/{ids['bad']}")
    expect(page.locator(".head .verdict")).to_contain_text("DIVERGES")
    page.keyboard.press("d")
    expect(page.locator(".divergence h2")).to_contain_text("member 1")
    expect(page.locator(".divergence")).to_contain_text("a step that the spec does not allow")
    expect(page.locator(".story")).not_to_contain_text("IMPLEMENTATION_STEP")
    divergence = server.get(api.RunView, f"/run/{ids['bad']}").divergence
    assert divergence is not None
    nearest = page.locator(".compare").filter(has=page.locator("th", has_text="allowed")).first
    for row in divergence.expected[0]:
        line = nearest.locator(f'[data-field="{row.field}"]')
        expect(line.locator(".observed")).to_have_text(row.observed)
        expect(line.locator(".allowed")).to_have_text(row.allowed)
    expect(page.locator("output.place")).to_have_attribute(
        "data-place", str(divergence.event_number)
    )
    page.keyboard.press("2")
    expect(page.locator(".is-diverges.is-chosen[data-event]")).to_be_visible()


def test_the_run_is_followed_in_the_member_graph_step_by_step(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    page = open_page(f"/run/{ids['sample']}?view=graph")
    taken = page.locator("[data-edge]")
    expect(taken).to_contain_text("takes the thick line: LeaderInit")
    page.keyboard.press("v")
    expect(page.locator(".scene-list .is-lit")).to_contain_text("LeaderInit")
    edge = taken.get_attribute("data-edge")
    page.keyboard.press("ArrowLeft")
    expect(taken).not_to_have_attribute("data-edge", str(edge))
    page.get_by_role("link", name="Open the state after this step").click()
    expect(page.locator("[data-state-shown]")).to_be_visible()
    assert f"/graph/{ids['graph']}/state/" in page.url


def test_what_a_step_adds_is_shown_with_its_values_and_is_one_change(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    """The first leader enters its term into a recording log that was empty."""
    run = server.store.content("run", ids["sample"]).opened
    steps = (run.step(row, "") for row in run.lanes.rows)
    grown = next(
        s for s in steps if s.before and not s.before["recordingLog"] and s.after["recordingLog"]
    )
    (entry,) = grown.after["recordingLog"]
    page = open_page(f"/run/{ids['sample']}/step/{grown.member}/{grown.step}")
    tree = page.locator(".tree:has([data-path='recordingLog'])")

    group = tree.locator("[data-path='recordingLog']")
    expect(group.locator("> summary")).to_contain_text("1 change")
    expect(group.locator("> summary")).not_to_contain_text("differ")
    added = group.locator("[data-path='recordingLog.0']")
    expect(added.locator("> summary .tree-sign")).to_have_text("+")
    for name, value in entry.items():
        row = added.locator(f"[data-path='recordingLog.0.{name}']")
        expect(row.locator(".tree-sign")).to_have_text("+")
        expect(row.locator("ins")).to_have_text(str(value))


def test_a_run_opens_on_its_leaders_and_elections_which_lead_to_their_events(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    result = server.get(api.ExplanationView, f"/run/{ids['sample']}/explanation")
    page = open_page(f"/run/{ids['sample']}?at=0")
    expect(page.locator("output.place")).to_have_text(re.compile("^event 1 of"))
    expect(page.locator(".leaderships tbody tr")).to_have_count(len(result.leaderships))
    expect(page.locator(".elections tbody")).to_have_count(len(result.elections))
    expect(page.locator('[data-term="0"] td').nth(1)).to_have_text(
        str(result.leaderships[0].leader)
    )
    election = result.elections[1]
    part = page.locator(f'[data-election="{election.number}"]')
    expect(part).to_contain_text(election.trigger.text)
    expect(part).to_contain_text(election.took)

    part.get_by_title("to the first step of the election").click()

    assert election.first_event is not None
    expect(page.locator("output.place")).to_have_attribute("data-place", str(election.first_event))
    expect(page.locator(".elections")).to_be_visible()


def test_a_question_is_written_by_pressing_a_field_and_a_value(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/run/{ids['good']}?view=find")
    fields, values = page.get_by_label("Fields"), page.get_by_label("Values")
    fields.get_by_role("button", name="action", exact=True).click()
    asked = page.get_by_label("Events after which")
    expect(asked).to_have_value("action = ")
    expect(asked).to_be_focused()
    page.keyboard.type("Rest")
    values.get_by_role("button", name="Restart", exact=True).click()
    expect(asked).to_have_value('action = "Restart" ')
    page.keyboard.type("and elec")
    fields.get_by_role("button", name="electionState", exact=True).click()
    values.get_by_role("button", name="CANVASS", exact=True).click()
    expect(asked).to_have_value('action = "Restart" and electionState = "CANVASS" ')
    asked.fill('role = "LEADR"')
    page.keyboard.press("Enter")
    expect(page.locator(".find")).to_contain_text("LEADER")

"""Fifteen questions that the page alone answers, each within three actions.

The actions are those of the table in ``docs/guide/browse.md``; each press and click counts as one.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from canvass.browser import api
from canvass.browser.app import page_files
from canvass.explanation.timeline import seconds_of
from support.browse import Asked, serving

from .conftest import PROBES, Ids, Open, alone, kept

pytestmark = [pytest.mark.browser, pytest.mark.night]

ROOT = Path(__file__).resolve().parents[3]
MOST = 3


@dataclass
class Reader:
    """Somebody with nothing but the page; what they do is counted."""

    page: Page
    actions: int = 0

    def press(self, key: str) -> None:
        self._count()
        self.page.keyboard.press(key)

    def click(self, what: Locator) -> None:
        self._count()
        what.click()

    def choose(self, what: Locator, value: str) -> None:
        self._count()
        what.select_option(value)

    def write(self, where: Locator, text: str) -> None:
        self._count()
        where.fill(text)

    def _count(self) -> None:
        self.actions += 1
        assert self.actions <= MOST


@pytest.fixture
def reader(open_page: Open) -> Callable[..., Reader]:
    def read(route: str, at: Asked | None = None) -> Reader:
        page = open_page(route) if at is None else open_page(route, at=at)
        # Keys count once there is something to read.
        expect(page.locator("[data-when], [data-state-shown]").first).to_be_visible()
        return Reader(page)

    return read


Read = Callable[..., Reader]


def test_who_led_when(reader: Read, server: Asked, ids: Ids) -> None:
    answer = server.get(api.ExplanationView, f"/run/{ids['sample']}/explanation")
    one = reader(f"/run/{ids['sample']}")
    rows = one.page.locator(".leaderships tbody tr")
    expect(rows).to_have_count(len(answer.leaderships))
    expect(rows.first).to_contain_text(seconds_of(answer.leaderships[0].from_ns))


def test_why_did_this_election_take_so_long_or_fail(reader: Read, server: Asked, ids: Ids) -> None:
    answer = server.get(api.ExplanationView, f"/run/{ids['good']}/explanation")
    election = next(
        one for one in answer.elections if any(row.outcome == "failed" for row in one.ballots)
    )
    at, ballot = next((k, b) for k, b in enumerate(election.ballots) if b.outcome == "failed")
    one = reader(f"/run/{ids['good']}")
    part = one.page.locator(f'[data-election="{election.number}"]')
    expect(part).to_contain_text(election.slowest.text)
    row = part.locator("tr").nth(at)
    for name, granted in (("no", False), ("none", None)):
        voters = [one.voter_member_id for one in ballot.votes if one.granted is granted]
        expected = ", ".join(map(str, voters)) or "–"
        expect(row.locator(f'[data-votes="{name}"]')).to_have_text(expected)
    expect(row.locator("[data-outcome]")).to_contain_text(
        next(one.sentence.text for one in ballot.votes if not one.granted)
    )
    assert one.actions == 0


def test_which_step_diverged_and_what_was_allowed_instead(
    reader: Read, server: Asked, ids: Ids
) -> None:
    one = reader(f"/run/{ids['bad']}")
    expect(one.page.locator(".head .verdict")).to_contain_text("DIVERGES")
    divergence = server.get(api.RunView, f"/run/{ids['bad']}").divergence
    assert divergence is not None
    one.press("d")
    expect(one.page.locator(".divergence h2")).to_contain_text(f"step {divergence.first.step}")
    expect(one.page.locator(".view")).to_contain_text(
        "by the spec this step leads to electionState CANVASS;"
        " the trace reports electionState NOMINATE"
    )


def test_what_else_was_possible_there(reader: Read, ids: Ids) -> None:
    one = reader(f"/run/{ids['bad']}")
    expect(one.page.locator(".head .verdict")).to_contain_text("DIVERGES")
    one.press("3")
    drawing = one.page.locator(".divergence-drawing")
    expect(drawing.locator('[data-branch="observed"]')).to_contain_text("electionState NOMINATE")
    expect(drawing.locator('[data-branch="allowed"]').first).to_contain_text("CANVASS")


def test_which_states_have_two_leaders(reader: Read, ids: Ids) -> None:
    one = reader(f"/graph/{ids['cluster']}")
    one.press("2")
    one.click(one.page.get_by_role("button", name="two leaders"))
    expect(one.page.locator(".find [role=status]")).to_contain_text("1 of ")
    expect(one.page.locator(".scene-list")).to_contain_text("0 leads t1 · 1 leads t1")


def test_what_else_could_have_happened_here(reader: Read, ids: Ids) -> None:
    one = reader(f"/run/{ids['sample']}")
    at = int(one.page.locator("output.place").get_attribute("data-place") or "")
    one.press("W")
    expect(one.page.locator("h1")).to_have_text(f"What if, after event {at}")
    expect(one.page.locator("[data-choice]")).not_to_have_count(0)


@pytest.mark.tlc
def test_why_could_a_member_not_vote(reader: Read, ids: Ids) -> None:
    one = reader(f"/run/{ids['good']}?at=200")
    one.press("w")
    one.choose(one.page.locator(".why-not select").first, "2")
    one.choose(one.page.locator("[data-why-action]"), "OnRequestVote")
    expect(one.page.locator(".why-not")).to_contain_text(
        "No RequestVote can arrive at member 2 now: none is under way."
    )
    # What it does by itself has a guard.
    one.page.locator("[data-why-action]").select_option("AppendEntry")
    part = one.page.locator("[data-blocks=true]").first
    expect(part).to_contain_text('Closed(s, "LEADER")')
    expect(part).to_contain_text("s.electionState = ")


def test_which_line_of_the_log_shows_this_step(reader: Read, ids: Ids) -> None:
    one = reader(f"/run/{ids['sample']}")
    expect(one.page.locator("[data-source] pre")).to_contain_text("LEADER_INIT -> LEADER_READY")
    assert one.actions == 0


def test_who_was_down_and_when_did_it_restart(reader: Read, server: Asked, ids: Ids) -> None:
    timeline = server.get(api.RunTimeline, f"/run/{ids['sample']}/timeline")
    restarts = [mark for mark in timeline.marks if mark.kind == "RESTART"]
    one = reader(f"/run/{ids['sample']}")
    expect(one.page.locator("[data-down]")).not_to_have_count(0)
    one.press("5")
    one.click(one.page.get_by_role("button", name="restarts"))
    found = one.page.locator("[data-found]")
    # The first start of each member is one as well.
    expect(found).to_have_count(len(restarts) + len(timeline.members))
    expect(one.page.locator(f'[data-found="{restarts[0].number}"]')).to_contain_text(
        re.compile(r"\d s")
    )


def test_where_does_this_field_change_next(reader: Read, server: Asked, ids: Ids) -> None:
    one = reader(f"/run/{ids['sample']}")
    pane = one.page.locator("[data-step]")
    member = int((pane.get_attribute("data-step") or "").split(":")[0])
    at = int(one.page.locator("output.place").get_attribute("data-place") or "")
    expected = server.get(
        api.NextChange, f"/run/{ids['sample']}/change", field="electionState", member=member, at=at
    )
    one.click(pane.get_by_role("button", name="electionState", exact=True))
    place = one.page.locator("output.place")
    expect(place).to_have_attribute("data-place", str(expected.event))
    expect(one.page.locator('[data-path="electionState"]')).to_contain_text("CLOSED")


def test_which_logs_have_what_was_committed(reader: Read, captured: Asked) -> None:
    one = reader(f"/run/{captured.ids[1]}", captured)
    expect(one.page.locator(".head .verdict")).to_contain_text("DIVERGES")
    levels = one.page.locator("[data-level]")
    expect(levels).to_have_count(3)
    ends = [int(level.locator(".observed").first.inner_text()) for level in levels.all()]
    assert ends.count(max(ends)) == 1


def test_which_hazard_of_the_protocol_is_behind_it(reader: Read, captured: Asked) -> None:
    one = reader(f"/run/{captured.ids[1]}", captured)
    expect(one.page.locator(".head .verdict")).to_contain_text("DIVERGES")
    story = one.page.locator('[data-hazard="HZ6"]')
    one.click(story.get_by_role("button"))
    expect(story.locator("pre").nth(1)).to_contain_text("EnterElection")


def test_which_of_twenty_runs_are_bad_and_why(
    open_page: Open, good_run: Path, bad_run: Path, tmp_path: Path
) -> None:
    for number in range(20):
        source = bad_run if number in (3, 17) else good_run
        shutil.copytree(source, tmp_path / "twenty" / f"run-{number}")
    with serving([tmp_path / "twenty"], files=page_files()) as corpus:
        one = Reader(open_page(at=corpus))
        bad = one.page.locator('[data-verdict="DIVERGES"]').first
        expect(bad.locator("strong")).to_have_text("2")
        one.click(bad)
        rows = one.page.locator(".events tbody tr")
        expect(rows).to_have_count(2)
        for row, name in zip(rows.all(), ("run-3", "run-17"), strict=True):
            expect(row).to_contain_text(name)
            expect(row).to_contain_text("by the spec this step leads to electionState CANVASS")


def test_where_are_two_leaders_in_a_file_to_send(
    reader: Read, captured: Asked, new_context: Any, problems: list[str], tmp_path: Path
) -> None:
    one = reader(f"/run/{captured.ids[0]}", captured)
    expect(one.page.locator(".head .verdict")).to_contain_text("DIVERGES")
    both = one.page.get_by_role("list", name="Two leaders at once")
    expect(both).to_contain_text("member 1 leads term 0 and member 2 term 1")
    one.click(both.get_by_role("button").first)
    terms = one.page.locator(".token-term")
    expect(terms).to_have_count(2)
    assert terms.evaluate_all(PROBES["covering"]) == []
    one.press("x")
    one.page.keyboard.press("Escape")
    file = kept(one.page, "Page", tmp_path)
    assert one.actions + 1 <= MOST
    there = alone(new_context, file, problems)
    expect(there.locator(".token-term")).to_have_count(2)


def test_which_states_of_a_specification_break_a_condition(
    reader: Read, server: Asked, ids: Ids
) -> None:
    graph = f"/graph/{ids['grid']}"
    total = f"{server.get(api.GraphInfo, graph).states:,} states"
    for least, found in ((320, f"Every state of {total}"), (5, f"1,600 of {total}")):
        one = reader(graph)
        one.press("/")
        one.write(one.page.get_by_label("States in which"), f"at[0].place < {least}")
        one.press("Enter")
        expect(one.page.locator(".find [role=status]")).to_contain_text(found)
    one.page.get_by_role("button", name="the other states").click()
    expect(one.page.locator(".find [role=status]")).to_contain_text(f"100,800 of {total}")


def test_the_guide_has_each_question_with_its_actions() -> None:
    guide = (ROOT / "docs" / "guide" / "browse.md").read_text()
    section = guide.partition("## Fifteen questions")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "?" in line]
    assert len(rows) == sum(name.startswith("test_w") for name in globals())

"""Divergences that are no single step: a message that nobody sent, and a broken promise."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from canvass.browser.app import page_files
from canvass.traces.alignment.importer import import_logs
from support.aeron_corruptions import KINDS
from support.aeron_runs import SAMPLES, lines_of, write_logs
from support.browse import Asked, serving
from support.spoilt_runs import edit_event

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
HZ6 = Path(__file__).resolve().parents[3] / "samples" / "aeron-hz6"


SPLIT = """(cells) => cells.flatMap((cell) => {
  const text = cell.firstChild;
  return [...text.data.matchAll(/\\S+/g)].filter((word) => {
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return range.getClientRects().length > 1;
  }).map((word) => word[0]);
})"""
"""The words in the cells of a table that are broken between two lines."""
BEYOND = """(table) =>
  table.getBoundingClientRect().right - table.closest(".view").getBoundingClientRect().right
"""
"""How far a table reaches beyond the view that it is in."""
LINES = "(all) => all.map((one) => one.getClientRects().length)"
"""In how many lines each of some texts is."""


def spoil_receipt(run: Path) -> tuple[int, int]:
    """Change what member 0 received first from member 1; give the value sent and received."""
    stream = run / "member-0.ndjson"
    events = [json.loads(line) for line in stream.read_text().splitlines()]
    place = next(
        k
        for k, event in enumerate(events)
        if event["input"].get("from") == 1 and event["action"] == "OnCanvassPosition"
    )
    sent: int = events[place]["input"]["message"]["logPosition"]

    def change(event: dict[str, dict[str, dict[str, int]]]) -> None:
        event["input"]["message"]["logPosition"] = sent + 64

    edit_event(stream, place, change)
    return sent, sent + 64


def rename_receipt(folder: Path) -> None:
    """Let member 0 receive by the id of a message that went to member 2; the step stays."""
    first, second = (
        [json.loads(line) for line in (folder / f"member-{k}.ndjson").read_text().splitlines()]
        for k in range(2)
    )
    place = next(k for k, event in enumerate(first) if event["input"].get("from") == 1)
    sent = [one["id"] for event in second for one in event["sends"] if one["to"] == 2]
    edit_event(folder / "member-0.ndjson", place, lambda event: event["input"].update(id=sent[0]))


@pytest.fixture(scope="module")
def causes(good_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("causes")
    shutil.copytree(good_run, folder / "unsent")
    spoil_receipt(folder / "unsent")
    import_logs([HZ6], folder / "hz6")
    shutil.copytree(good_run, folder / "unknown")
    rename_receipt(folder / "unknown")
    logs = {i: list(lines_of(SAMPLES[0], i)) for i in range(3)}
    write_logs(folder / "false-role", next(iter(KINDS["false role"](logs))).logs)
    import_logs([folder / "false-role"], folder / "disabled")
    names = ("unsent", "hz6", "unknown", "disabled")
    with serving([folder / name for name in names], files=page_files()) as running:
        yield running


def test_a_message_that_nobody_sent_stands_beside_the_nearest_one(
    open_page: Open, causes: Asked
) -> None:
    page = open_page(f"/run/{causes.ids[0]}", at=causes)
    receipt = page.locator("[data-receipt]")
    expect(receipt).to_contain_text("Member 0 received CanvassPosition")
    expect(receipt).to_contain_text("Nearest that member 1 did send to member 0")
    row = receipt.locator('[data-field="logPosition"]')
    received, sent = (int(row.locator(name).inner_text()) for name in (".observed", ".allowed"))
    assert received == sent + 64
    before = page.locator("output.place").get_attribute("data-place") or ""
    receipt.get_by_role("button").click()
    expect(page.locator("output.place")).not_to_have_attribute("data-place", before)


def test_a_step_that_breaks_a_promise_is_not_called_disallowed(
    open_page: Open, causes: Asked
) -> None:
    """The spec allows each step of the sample, and some graph may have it."""
    page = open_page(f"/run/{causes.ids[1]}?view=graph", at=causes)
    expect(page.locator(".verdict.is-diverges").first).to_be_visible()
    expect(page.locator("[data-step]")).to_contain_text("the spec allows every step")
    expect(page.locator(".empty")).to_contain_text("No state graph is open.")
    expect(page.locator(".view")).not_to_contain_text("The spec does not allow")


def test_a_broken_promise_has_the_members_and_the_story_of_its_hazard(
    open_page: Open, causes: Asked
) -> None:
    """The sample in which a committed entry is on one member only."""
    page = open_page(f"/run/{causes.ids[1]}", at=causes)
    # Every step is one of the spec: nobody leaves it.
    expect(page.locator(".verdict-line")).to_contain_text("CommittedIsDurable is violated at step")
    expect(page.locator(".verdict-line")).not_to_contain_text("leaves the spec")
    levels = page.locator("[data-levels] [data-level]")
    expect(levels).to_have_count(3)
    for width in (1440, 1000):
        page.set_viewport_size({"width": width, "height": 800})
        words = page.locator("[data-levels] thead th, [data-levels] td:nth-child(2)")
        assert words.evaluate_all(SPLIT) == []
        assert page.locator("[data-when] code").evaluate_all(SPLIT) == []
        expect(page.locator(".elections .trigger").first).to_be_visible()
        assert page.locator(".elections").evaluate(BEYOND) <= 0
        lines = page.locator(".elections .trigger button").evaluate_all(LINES)
        assert max(lines) <= 2
    ends = [int(one.locator(".observed").first.inner_text()) for one in levels.all()]
    committed = max(int(one.locator(".observed").last.inner_text()) for one in levels.all())
    assert sum(end >= committed for end in ends) == 1
    # The hazard that the lines show comes first; hazards that only the rules permit are folded.
    shown = page.locator("[data-shown-hazard]").first
    expect(shown).to_contain_text("HZ6, committed on too few disks: Member 0 truncated its log")
    expect(page.locator("[data-hazard]").first).to_have_attribute("data-hazard", "HZ6")
    expect(page.locator("[data-further-hazards] [data-hazard]").first).to_be_hidden()
    story = page.locator('[data-hazard="HZ6"]')
    expect(story).to_contain_text("an incomplete replay lowers the log term")
    story.get_by_role("button").click()
    expect(story.locator("pre").nth(1)).to_contain_text("EnterElection")


def test_a_step_of_the_spec_that_receives_what_nobody_sent_has_no_cause(
    open_page: Open, causes: Asked
) -> None:
    page = open_page(f"/run/{causes.ids[2]}", at=causes)
    expect(page.locator(".head .verdict")).to_contain_text("DIVERGES")
    expect(page.locator(".verdict-line")).to_contain_text("of member 0 has no cause: ")


def test_an_action_that_is_not_enabled_is_drawn_in_the_width_of_the_view(
    open_page: Open, causes: Asked
) -> None:
    """A line says that a member leads which has not even a candidate's votes."""
    page = open_page(f"/run/{causes.ids[3]}", at=causes)
    expect(page.locator(".head .verdict")).to_contain_text("DIVERGES")
    page.keyboard.press("3")
    drawing = page.locator(".divergence-drawing")
    expect(drawing.locator("[data-branch=observed]")).to_contain_text("observed: no change")
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(drawing).to_have_attribute("viewBox", re.compile("^0 0 860 "))
    page.set_viewport_size({"width": 1000, "height": 480})
    page.locator(".empty").get_by_role("button").click()
    expect(page.locator(".divergence")).to_be_visible()

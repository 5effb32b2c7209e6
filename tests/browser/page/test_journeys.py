"""Journeys through the page: what somebody does with it, from the first look to the answer.

What a view shows is compared with what the server answers; the answers themselves are tested in
``tests/browser``. Each journey goes on in one page, as a user does. All that is looked at is
awaited by `expect`, for the page draws anew whenever an answer comes.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import xml.etree.ElementTree as ET
from bisect import bisect_right
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from canvass.browser import api
from canvass.browser.app import page_files
from canvass.cluster.member import ElectionState
from canvass.conformance.verify import check_run
from canvass.explanation.timeline import seconds_of, shown_ns
from canvass.graph.dump_graph import import_dump
from canvass.graph.open import open_view
from canvass.graph.predicate import parse
from support.browse import MANY, Asked, serving, write_corpus
from support.core_lookup import core_lookup
from support.page_report import read_made
from support.spoilt_runs import edit_event
from support.state_graphs import dot_text

from .conftest import SAMPLE, Ids, Open, alone, follow, kept

pytestmark = pytest.mark.browser

HAZARD_1: Final = Path(__file__).parents[1] / "tlc" / "hazard1.txt"
"""TLC's output of MCHazard1, without the paths of the modules."""
WORDS: Final = Path(__file__).parents[3] / "tools/canvass/browser/ui/src/words"
SVG: Final = "{http://www.w3.org/2000/svg}"


def place(page: Page) -> Locator:
    """Where in the run the page is."""
    return page.locator("output.place")


def at_event(page: Page, number: int) -> None:
    expect(place(page)).to_have_attribute("data-place", str(number))


def test_a_run_is_read_from_its_verdict_to_the_line_of_a_log(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    run = f"/run/{ids['sample']}"
    explained = server.get(api.ExplanationView, f"{run}/explanation")
    timeline = server.get(api.RunTimeline, f"{run}/timeline")
    page = open_page()
    expect(page.locator("h1")).to_have_text(SAMPLE.name)
    expect(page).to_have_url(re.compile("^(?!.*token)"))
    expect(page).to_have_title(f"{SAMPLE.name} · canvass")
    expect(page.locator(".verdict-line")).to_contain_text("CONFORMS")
    expect(page.locator("[data-source] pre")).to_contain_text("LEADER_INIT -> LEADER_READY")

    # Who led when, and why an election began.
    expect(page.locator(".leaderships tbody tr")).to_have_count(len(explained.leaderships))
    expect(page.locator(".leaderships tbody tr").first).to_contain_text(
        seconds_of(explained.leaderships[0].from_ns)
    )
    expect(page.locator(".elections tbody")).to_have_count(len(explained.elections))
    election = explained.elections[1]
    part = page.locator(f'[data-election="{election.number}"]')
    first = election.phases[0]
    trigger = next(one for one in election.causes if one.evidence[0].member_id == first.member_id)
    expect(part).to_contain_text(trigger.text)
    expect(part).to_contain_text(shown_ns(round(election.duration_ms * 1e6)))
    part.get_by_title("to the first step of the election").click()
    first_event = explained.places[str(first.sentence.evidence[0])].event
    assert first_event is not None
    at_event(page, first_event)

    # The timeline has every member's states, its marks and its levels.
    drawn = sum(bool(one.election_state) for each in timeline.members for one in each.segments)
    expect(page.locator(".timeline-segment")).to_have_count(drawn)
    expect(page.locator(".timeline-mark")).to_have_count(len(timeline.marks))
    expect(page.locator("[data-time]")).to_have_text(re.compile(r"\d+\.\d{3} s"))
    page.locator(".timeline-picture").click(position={"x": 300, "y": 5})
    expect(place(page)).not_to_have_attribute("data-place", str(first_event))
    follow(page, f"{run}?at=700")
    at_event(page, 700)
    page.keyboard.press("t")
    for one in timeline.levels:
        last = bisect_right(one.numbers, 700) - 1
        for title, values in (("term", one.term), ("commit position", one.commit)):
            level = page.locator(f'[data-level-of="{title} {one.member}"]')
            expect(level).to_have_text(str(values[last]))

    # A step that was observed has its line; one that was inferred says so.
    events = server.get(api.Lanes, f"{run}/lanes", count=200).events
    vote = next(one for one in events if one.title == "OnVote" and one.origin == "OBSERVED")
    member, step = vote.reference.split(":")
    line = int(vote.place.rpartition(":")[2])
    with gzip.open(SAMPLE / f"member-{member}.log.gz", "rt") as log:
        written = log.read().splitlines()[line - 1]
    follow(page, f"{run}/step/{member}/{step}")
    expect(page.locator("[data-when] .is-observed")).to_have_text("observed")
    expect(page.locator("[data-when]")).to_contain_text(f"member-{member}.log:{line}")
    expect(page.locator("[data-source] pre")).to_have_text(written)
    page.get_by_label("only what the step changed").uncheck()
    expect(page.locator('[data-step] [data-path="role"]')).to_be_visible()
    inferred = next(one for one in events if one.origin == "INFERRED")
    follow(page, f"{run}?at={inferred.number}")
    expect(page.locator("[data-when] .is-inferred")).to_have_text("inferred")
    expect(page.locator("[data-source]")).to_have_count(0)
    follow(page, f"{run}/step/1/999999")
    expect(page.locator("[data-broken]")).to_contain_text("no step 999999 of member 1")


def test_an_election_is_watched_and_kept_as_a_picture(
    open_page: Open, server: Asked, ids: Ids, tmp_path: Path
) -> None:
    run = f"/run/{ids['sample']}"
    page = open_page(f"{run}?view=election")
    machine = page.locator(".machine")
    expect(machine.locator("[data-state]")).to_have_count(len(ElectionState))
    expect(machine.locator('[data-state="LEADER_READY"] [data-member]')).to_have_count(1)
    at = int(place(page).get_attribute("data-place") or "")
    for member in server.get(api.MembersAt, f"{run}/members", at=at).members:
        state = f'[data-state="{member.election_state}"] [data-member="{member.member}"]'
        expect(machine.locator(state)).to_have_count(1)
    expect(machine.locator(".move-label")).to_have_text("LeaderInit")
    # Two lines may be lit as the way of a member, none is drawn twice.
    seeds = len(json.loads((WORDS / "diagram.json").read_text())["edges"])
    expect(machine.locator(".line")).to_have_count(seeds)
    page.keyboard.press("e")
    edges = json.loads((WORDS / "election.json").read_text())
    expect(machine.locator(".line")).to_have_count(len(edges))

    drawing = ET.parse(kept(page, "SVG", tmp_path)).getroot()
    texts = {"".join(one.itertext()) for one in drawing.iter(f"{SVG}text")}
    assert {"LEADER_READY", "CANVASS", "0", "1", "2"} <= texts
    assert not [one for one in drawing.iter() if one.get("class") or one.get("style")]
    assert kept(page, "PNG", tmp_path).read_bytes().startswith(b"\x89PNG")

    for key, number in (("Home", 0), ("ArrowRight", 1), ("PageDown", 26), ("ArrowLeft", 25)):
        page.keyboard.press(key)
        at_event(page, number)
    page.get_by_role("button", name="Play").click()
    # The page plays on while the test looks, so no single event is sure to be seen.
    expect(place(page)).to_have_attribute("data-place", re.compile(r"^(2[6-9]|[3-9]\d|\d{3,})$"))
    page.get_by_role("button", name="Pause").click()
    page.keyboard.press("End")
    expect(page.get_by_role("button", name="Next event")).to_be_disabled()

    # A killed leader is down from its last event to its restart.
    timeline = server.get(api.RunTimeline, f"{run}/timeline")
    first = timeline.bands[0]
    restart = next(one for one in timeline.marks if one.kind == "RESTART")
    follow(page, f"{run}?at={first.end - 1}&view=election")
    token = machine.locator(f'[data-member="{first.member}"]')
    expect(token.locator(".token-term")).to_have_text(f"leads t{first.term}")
    page.keyboard.press("ArrowRight")
    expect(token).to_have_class(re.compile("is-down"))
    follow(page, f"{run}?at={restart.number}&view=election")
    expect(token).not_to_have_class(re.compile("is-down"))


def test_lanes_are_followed_message_by_message(open_page: Open, server: Asked, ids: Ids) -> None:
    run = f"/run/{ids['sample']}"
    folded = server.get(api.Lanes, f"{run}/lanes", show="alike", around=2000, count=1000)
    page = open_page(f"{run}?at=2000&view=lanes")
    chosen = page.locator("svg.lanes .event.is-chosen")
    expect(page.get_by_role("button", name="Grouped")).to_have_attribute("aria-pressed", "true")
    expect(chosen).to_have_attribute("data-event", str(folded.chosen))
    expect(chosen.locator(".event-change")).to_contain_text("≡ ")
    page.keyboard.press("ArrowRight")
    following = next(one for one in folded.events if one.number == folded.chosen + 1)
    at_event(page, following.event)

    # All events: those in sight are drawn, however many there are.
    page.get_by_role("button", name="All events").click()
    expect(chosen).to_have_attribute("data-event", str(following.event))
    page.wait_for_function("() => document.querySelectorAll('svg.lanes .event').length < 60")
    total = server.get(api.RunView, run).events
    page.locator(".lanes-scroll").evaluate("(one) => { one.scrollTop = one.scrollHeight }")
    expect(page.locator(f'[data-event="{total - 1}"]')).to_be_visible()

    restart = next(
        one for one in server.get(api.RunTimeline, f"{run}/timeline").marks if one.kind == "RESTART"
    )
    follow(page, f"{run}?at={restart.number}&view=lanes&show=all")
    expect(page.locator(f'.is-restart[data-event="{restart.number}"]')).to_contain_text("↻")
    page.keyboard.press("v")
    expect(page.locator(f'tr[data-event="{restart.number}"]')).to_contain_text("RESTART")
    page.keyboard.press("v")
    follow(page, f"{run}?at=26&view=lanes")
    at_event(page, 26)
    page.locator(".arrow.is-delivered .arrow-tip").first.click()
    expect(place(page)).not_to_have_attribute("data-place", "26")
    page.keyboard.press("f")
    all_events = page.get_by_role("button", name="All events")
    expect(all_events).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="No routine").click()
    expect(page.locator("[data-hidden]")).to_have_attribute("data-hidden", re.compile(r"^\d{4}$"))


def test_a_divergence_is_understood(
    open_page: Open, server: Asked, ids: Ids, run_from_unknown_logs: Path
) -> None:
    run = f"/run/{ids['bad']}"
    page = open_page(run)
    expect(page.locator(".head .verdict")).to_contain_text("DIVERGES")
    expect(page.locator(".verdict-line")).to_contain_text("Member 1 leaves the spec at its step")
    divergence = server.get(api.RunView, run).divergence
    assert divergence is not None
    page.keyboard.press("d")
    at_event(page, divergence.event_number)
    expect(page.locator(".divergence h2")).to_contain_text(f"step {divergence.first.step}")
    expect(page.locator(".divergence")).to_contain_text("a step that the spec does not allow")
    expect(page.locator("[data-step] .remark")).to_have_count(1)
    nearest = page.locator(".compare").filter(has=page.locator("th", has_text="allowed")).first
    for row in divergence.expected:
        line = nearest.locator(f'[data-field="{row.field}"]')
        expect(line.locator(".observed")).to_have_text(row.observed)
        expect(line.locator(".allowed")).to_have_text(row.allowed)
    page.keyboard.press("2")
    expect(page.locator(".is-diverges.is-chosen[data-event]")).to_be_visible()
    page.keyboard.press("3")
    drawing = page.locator(".divergence-drawing")
    expect(drawing.locator('[data-branch="observed"]')).to_contain_text("electionState NOMINATE")
    expect(drawing.locator('[data-branch="allowed"]').first).to_contain_text("CANVASS")

    page.keyboard.press("5")
    page.get_by_label("Fields").get_by_role("button", name="action", exact=True).click()
    asked = page.get_by_label("Events after which")
    expect(asked).to_have_value("action = ")
    page.keyboard.type("Nomi")
    page.get_by_label("Values").get_by_role("button", name="Nominate", exact=True).click()
    expect(asked).to_have_value('action = "Nominate" ')
    asked.press("Enter")
    expect(page.locator("[data-found]")).not_to_have_count(0)
    asked.fill('role = "LEADR"')
    asked.press("Enter")
    expect(page.locator(".find")).to_contain_text("LEADER")
    pin_a_condition(page, server, run)

    # What was observed in the sample is followed in the graph.
    follow(page, f"/run/{ids['sample']}?view=graph")
    taken = page.locator("[data-edge]")
    expect(taken).to_contain_text("takes the thick line: LeaderInit")
    edge = taken.get_attribute("data-edge")
    page.keyboard.press("h")  # The arrows are the drawing's, as soon as it is there.
    expect(taken).not_to_have_attribute("data-edge", str(edge))
    page.get_by_role("link", name="Open the state after this step").click()
    expect(page.locator("[data-state-shown]")).to_be_visible()

    follow(page, f"/run/{ids['good']}")
    expect(page.locator(".verdict-line")).to_contain_text("every safety property holds")
    expect(page.locator("[data-limits]")).to_have_count(0)
    with serving([run_from_unknown_logs], files=page_files()) as other:
        page = open_page(f"/run/{other.ids[0]}", at=other)
        expect(page.locator("[data-limits] h3")).to_have_text("Not a full check")
        expect(page.locator("[data-limits] code").first).to_have_text("AppliedWithinCommitted")


def pin_a_condition(page: Page, server: Asked, run: str) -> None:
    """Keep under the timeline when a condition holds, go to a bar, and follow links with a pin."""
    pinned = page.locator("[data-pinned]")
    where = 'electionState = "CANVASS"'
    found = server.get(api.RunFound, f"{run}/find", where=where, limit=1000)
    follow(page, f"{run}?view=find&where={quote(where)}")
    page.get_by_role("button", name="Pin under the timeline").click()
    page.keyboard.press("1")
    expect(pinned.locator("[data-bar]")).to_have_count(len(found.shown))
    expect(pinned.locator(".timeline-names span")).to_have_text(["0", "1", "2"])
    pinned.locator("[data-bar]").last.click()
    at_event(page, found.shown[-1].event)
    follow(page, f"{run}?pin={quote('leaders = 0')}")
    expect(pinned).to_contain_text("of the whole cluster")
    expect(pinned.locator(".timeline-names span")).to_have_count(0)
    follow(page, f"{run}?pin={quote('leaders = = 0')}")
    expect(pinned.get_by_role("alert")).to_contain_text("column 11: ")
    pinned.get_by_role("button", name="Unpin").click()
    expect(pinned).to_have_count(0)


def spoil_receipt(run: Path) -> None:
    """Change what member 0 received first from member 1."""
    stream = run / "member-0.ndjson"
    events = [json.loads(line) for line in stream.read_text().splitlines()]
    row = next(
        k
        for k, event in enumerate(events)
        if event["input"].get("from") == 1 and event["action"] == "OnCanvassPosition"
    )

    def change(event: dict[str, dict[str, dict[str, int]]]) -> None:
        event["input"]["message"]["logPosition"] += 64

    edit_event(stream, row, change)


def test_a_loss_is_traced_to_its_hazard(
    open_page: Open, captured: Asked, good_run: Path, tmp_path: Path
) -> None:
    page = open_page(f"/run/{captured.ids[1]}", at=captured)
    # Every step is one of the spec: nobody leaves it.
    expect(page.locator(".verdict-line")).to_contain_text("CommittedIsDurable is violated at step")
    expect(page.locator(".verdict-line")).not_to_contain_text("leaves the spec")
    expect(page.locator("[data-levels] [data-level]")).to_have_count(3)
    shown = page.locator("[data-shown-hazard]").first
    expect(shown).to_contain_text("HZ6, committed on too few disks: Member 0 truncated its log")
    expect(page.locator("[data-further-hazards] [data-hazard]").first).to_be_hidden()
    story = page.locator('[data-hazard="HZ6"]')
    story.get_by_role("button").click()
    expect(story.locator("pre").nth(1)).to_contain_text("EnterElection")
    page.keyboard.press("3")
    expect(page.locator("[data-step]")).to_contain_text("the spec allows every step")

    # The other cluster: how far it is from a loss 22 ms before, and two leaders.
    follow(page, f"/run/{captured.ids[0]}/what-if/4426")
    page.get_by_role("button", name="Search from here").click()
    nearest = page.locator("[data-tlc]")
    expect(nearest).to_contain_text("2 steps to a violation of CommittedIsDurable", timeout=60_000)
    nearest.get_by_role("link").click()
    expect(page.locator(".head")).to_contain_text("loss after event 4,427")
    expect(page.locator(".inspector")).to_contain_text("CommittedIsDurable is violated here")
    follow(page, f"/run/{captured.ids[0]}?view=find")
    page.get_by_role("button", name="two leaders").click()
    found = page.locator("[data-found]").first
    expect(found.locator("td").last).to_have_text("0 follows · 1 leads t0 · 2 leads t1")

    # A message that nobody sent stands beside the nearest one.
    shutil.copytree(good_run, tmp_path / "unsent")
    spoil_receipt(tmp_path / "unsent")
    with serving([tmp_path / "unsent"], files=page_files()) as other:
        page = open_page(f"/run/{other.ids[0]}", at=other)
        receipt = page.locator("[data-receipt]")
        expect(receipt).to_contain_text("Member 0 received CanvassPosition")
        expect(receipt).to_contain_text("Nearest that member 1 did send to member 0")
        expect(receipt.locator('[data-field="logPosition"] .observed')).to_be_visible()


def test_a_member_graph_is_walked_step_by_step(open_page: Open, server: Asked, ids: Ids) -> None:
    graph = f"/graph/{ids['graph']}"
    start = server.get(api.GraphInfo, graph).initial[0]
    around = server.get(api.Around, f"{graph}/around/{start}", depth=2, limit=24, actions="")
    page = open_page(f"{graph}/state/{start}")
    canvas = page.locator(".graph-canvas")
    shown = page.locator("[data-state-shown]")
    expect(canvas).to_have_attribute("data-nodes", str(len(around.nodes)))
    expect(page.get_by_role("button", name=f"{around.left_out.states} states")).to_be_visible()
    page.keyboard.press("m")
    expect(canvas).to_have_attribute("data-nodes", "48")
    whole = server.get(api.Around, f"{graph}/around/{start}", depth=6, limit=800, actions="")
    follow(page, f"{graph}/state/{start}?depth=6&limit=800")
    page.keyboard.press("m")
    expect(canvas).to_have_attribute("data-nodes", str(len(whole.nodes)))
    expect(page.get_by_role("button", name="left out: more")).to_have_count(0)

    # Step by step, with what changed; and beside a state that is pinned.
    follow(page, f"{graph}/state/{start}?depth=1")
    out = server.get(api.StateView, f"{graph}/state/{start}").out
    loops = sum(edge.target == start for edge in out)
    first = next(edge for edge in out if edge.target != start)
    expect(page.locator("[data-loops]")).to_have_attribute("data-loops", str(loops))
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Pinned")).to_be_visible()
    page.keyboard.press("l")
    expect(shown).to_have_attribute("data-state-shown", first.target)
    expect(page.locator(".inspector .tree .is-changed").first).to_be_visible()
    expect(page.locator(".inspector")).to_contain_text("(pinned)")
    page.keyboard.press("h")
    expect(shown).to_have_attribute("data-state-shown", start)
    page.locator(".steps [data-target]").first.click()
    expect(shown).not_to_have_attribute("data-state-shown", start)
    page.go_back()
    expect(shown).to_have_attribute("data-state-shown", start)
    page.keyboard.press("f")
    page.locator(".chips").get_by_role("button", name=re.compile("^Restart ")).click()
    only = server.get(api.Around, f"{graph}/around/{start}", depth=1, limit=24, actions="Restart")
    expect(canvas).to_have_attribute("data-nodes", str(len(only.nodes)))


def test_states_are_found_by_a_condition(open_page: Open, server: Asked, ids: Ids) -> None:
    graph = f"/graph/{ids['graph']}"
    info = server.get(api.GraphInfo, graph)
    page = open_page(f"{graph}?view=around")
    shown = page.locator("[data-state-shown]")
    expect(shown).to_be_visible()
    where = 'electionState = "LEADER_READY"'
    found = server.get(api.Found, f"{graph}/find", where=where, limit=200)
    page.keyboard.press("/")
    box = page.get_by_label("States in which")
    box.fill(where)
    box.press("Enter")
    expect(page.get_by_role("status").filter(has_text=f"{found.count:,} of ")).to_be_visible()
    expect(page.locator(".find .scene-list li")).to_have_count(len(found.shown))
    path = server.get(api.PathView, f"{graph}/path", where=where, **{"from": "initial"})
    page.get_by_role("button", name="shortest path to one of them").click()
    expect(page.locator("[data-hops]")).to_have_attribute("data-hops", str(len(path.hops)))
    page.keyboard.press("v")
    for row, hop in enumerate(path.hops):
        expect(page.locator(".hops li").nth(row + 1)).to_contain_text(hop.action)
    page.locator(".hops li").last.get_by_role("button").click()
    expect(page.locator(".inspector h2")).to_contain_text("LEADER_READY")
    follow(page, f"{graph}?view=find&where={quote('electionState = = 3')}")
    wrong = server.ask(f"{graph}/find", where="electionState = = 3", limit=200).problem()
    expect(page.locator(".expression-error p")).to_contain_text(wrong.message)

    # A link of another build; a state that is not there.
    follow(page, f"/graph/membergraph-built-elsewhere/state/{info.initial[0]}?depth=1")
    expect(page.locator(".head")).to_contain_text("another build")
    expect(shown).to_have_attribute("data-state-shown", info.initial[0])
    follow(page, f"{graph}/state/{'0' * 32}")
    expect(page.locator(".inspector .failed")).to_be_visible()


def write_phases(folder: Path) -> None:
    """Import a dump of 300 states in a row, in three phases; its words are not Aeron's.

    The last state violates a property.
    """
    phases = ["idle"] * 200 + ["busy"] * 99 + ["done"]
    states = [{"turn": turn, "phase": phase} for turn, phase in enumerate(phases)]
    steps = [(turn, "Next", turn + 1) for turn in range(len(phases) - 1)]
    dump = folder.with_suffix(".dot")
    dump.write_text(dot_text(states, steps))
    import_dump(dump, folder, complete=True)
    graph = open_view(folder)
    (last,) = parse('phase = "done"').rows(graph).tolist()
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["origin"] |= {"violated": "NeverDone", "violating": [graph.id_of(last)]}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_graphs_of_clusters_of_many_states_and_of_other_specifications_are_looked_at(
    open_page: Open, server: Asked, ids: Ids, tmp_path: Path
) -> None:
    page = open_page(f"/graph/{ids['cluster']}")
    state = page.locator("[data-state-shown] h2")
    expect(state).to_have_text("0 NOMINATE · 1 CANVASS")
    step = page.locator(".steps .step-name").first
    # One name for an action, in the spec of a cluster and in that of its members.
    expect(step).to_have_text("0 Nominate  → 1 RequestVote")
    step.click()
    expect(state).to_have_text("0 CANDIDATE_BALLOT t1 · 1 CANVASS, 1 in flight")
    expect(page.locator(".steps .step-name").first).to_have_text("1 OnRequestVote  ← 0 RequestVote")
    page.keyboard.press("2")
    page.get_by_role("button", name="two leaders").click()
    expect(page.locator(".scene-list")).to_contain_text("0 leads t1 · 1 leads t1")
    box = page.get_by_label("States in which")
    box.fill("")
    box.press_sequentially("any(m in member: member[m].electionS")
    box.press("Tab")
    box.press_sequentially('"NOMI')
    box.press("Tab")
    expect(box).to_have_value('any(m in member: member[m].electionState = "NOMINATE" ')

    large = server.get(api.GraphInfo, f"/graph/{ids['grid']}")
    assert large.states > 100_000
    follow(page, f"/graph/{ids['grid']}?limit=80&depth=6")
    expect(page.locator(".head")).to_contain_text(f"{large.states:,} states")
    page.keyboard.press("/")
    box.fill("at[0].place = 3 and at[1].place < 5")
    box.press("Enter")
    expect(page.locator(".find .scene-list li")).to_have_count(5)
    page.locator(".find .scene-list button").last.click()
    expect(page.locator(".inspector h2")).to_contain_text("0: {place: 3}")
    page.keyboard.press("s")
    expect(page.locator("[data-hops]")).to_have_attribute("data-hops", re.compile("^[3-7]$"))

    write_phases(tmp_path / "phases")
    with serving([tmp_path / "phases"], files=page_files()) as other:
        page = open_page(at=other)
        # The variable with 3 to 40 values: a map of the whole graph.
        expect(page.locator(".expression input")).to_have_value("phase")
        expect(page.locator(".graph-canvas")).to_have_attribute("data-nodes", "3")
        legend = page.get_by_role("list", name="Legend")
        expect(legend).to_contain_text("has states that violate NeverDone")
        page.locator("[data-colour]").select_option("turn")
        expect(legend).to_contain_text("other values")
        page.keyboard.press("v")
        done = page.locator(".scene-list > li").last
        expect(done).to_contain_text("violates")
        expect(done).to_contain_text("other values ×1")
        page.get_by_role("link", name="the violating state").click()
        expect(page.locator(".inspector-head")).to_contain_text("violates")
        page.get_by_role("tab", name="Around").click()
        expect(legend).to_contain_text("initial")
        expect(legend).not_to_contain_text("candidate")


def take(page: Page, name: str) -> None:
    """Take a step, and wait for what may come next."""
    before = page.locator("[data-taken]").get_attribute("data-taken") or ""
    page.locator(f'[data-choice="{name}"]').click()
    after = f"{before},{name}" if before else name
    expect(page.locator(f'[data-taken="{after}"]')).to_be_visible()
    expect(page.locator("[data-choice]:disabled")).to_have_count(0)


def test_a_counterexample_is_walked_changed_and_sent(
    open_page: Open, new_context: Any, tmp_path: Path, problems: list[str]
) -> None:
    with serving([HAZARD_1], files=page_files()) as printed:
        page = open_page(f"/counterexample/{printed.ids[0]}", at=printed)
        expect(page.locator("h1")).to_have_text("MCHazard1")
        expect(page.locator("[data-event]")).to_have_count(5)
        expect(page.locator(".is-diverges .event-mark")).to_have_text("violates CommittedIsDurable")
        expect(page.locator("[data-holds]")).to_have_text("✖ CommittedIsDurable is violated here.")
        definition = page.locator('[data-property="CommittedIsDurable"] pre')
        expect(definition).to_contain_text("Cardinality({i \\in Members : IsPrefix(")
        # The part that is false is marked, with its values; it is not false in the first state.
        false = page.locator("[data-property] mark")
        expect(false).to_have_text(re.compile(r"^Cardinality.* >= Quorum$"))
        expect(page.locator("[data-false-part]")).to_contain_text("Quorum = 2")
        page.keyboard.press("Home")
        expect(page.locator(".event.is-chosen")).to_have_count(0)
        expect(page.locator(".inspector h2")).to_have_text("initial state")
        expect(page.locator("[data-holds]")).to_have_text("CommittedIsDurable holds here.")
        expect(false).to_have_count(0)
        page.keyboard.press("ArrowRight")
        expect(page.locator(".inspector h2")).to_have_text("UpdateLeaderPosition")
        page.get_by_role("tab", name="Election").click()
        page.get_by_role("button", name="Next state").click()
        expect(page.locator('[data-state="CANVASS"] [data-member="2"]')).to_be_visible()
        expect(page.locator(".machine .move-label")).to_have_text("EnterElection")
        page.get_by_role("tab", name="States").click()
        # Its member sent and did not change: the step is the sender's.
        canvass = page.locator(".events tbody tr").nth(3)
        expect(canvass.locator("td").nth(2)).to_have_text("member 2")
        page.get_by_role("tab", name="The hazard").click()
        expect(page.locator('[data-hazard="HZ1"] h3')).to_contain_text("HZ1")

        # Another step at its end, an expression in each state, and all of it in one file.
        follow(page, f"/counterexample/{printed.ids[0]}?at=4")
        at_event(page, 4)
        page.keyboard.press("w")
        take(page, "1.AppendEntry.position2")
        box = page.get_by_label("Expression")
        box.fill("member[1].publicationPosition > 1")
        box.press("Enter")
        expect(page.locator("[data-watched]")).to_have_text("Here: TRUE")
        box.fill("member[1].nothing")
        box.press("Enter")
        expect(page.locator(".watch [role=alert]")).to_contain_text("column")
        page.keyboard.press("Escape")
        there = alone(new_context, kept(page, "Page", tmp_path), problems)
        expect(there.locator("h1")).to_have_text("What if, after state 5")
        expect(there.locator("svg.lanes .event")).to_have_count(1)
        expect(there.locator(".inspector h2")).to_have_text("AppendEntry")


def test_steps_are_tried_after_an_event_and_saved(
    open_page: Open, ids: Ids, tmp_path: Path
) -> None:
    page = open_page(f"/run/{ids['good']}?at=200")
    at_event(page, 200)
    page.keyboard.press("w")
    expect(page.locator("h1")).to_have_text("What if, after event 201")
    choices = page.locator("[data-choice]:visible")
    take(page, choices.first.get_attribute("data-choice") or "")
    take(page, choices.first.get_attribute("data-choice") or "")
    expect(page.locator("svg.lanes .event")).to_have_count(2)
    page.keyboard.press("h")
    page.keyboard.press("h")
    expect(page.locator('[data-taken=""]')).to_be_visible()
    other = choices.nth(1).get_attribute("data-choice") or ""
    take(page, other)
    # The start, two steps in a row, and the other step: a link has them all.
    expect(page.locator(".tried button")).to_have_count(4)
    again = open_page(page.url.partition("#")[2])
    expect(again.locator(".tried button")).to_have_count(4)
    expect(again.locator(f'[data-taken="{other}"]')).to_be_visible()
    trace = kept(again, "Trace", tmp_path)
    assert check_run(trace, core_lookup(), "what-if").verdict.value == "CONFORMS"
    follow(again, f"/run/{ids['good']}/what-if/200?path=9.Restart")
    expect(again.locator(".failed")).to_contain_text("step 1, '9.Restart', is not possible there")
    again.get_by_role("link", name=re.compile("^Back")).click()
    at_event(again, 200)


def test_a_report_and_a_corpus_lead_to_their_runs(
    open_page: Open, server: Asked, ids: Ids, good_run: Path, bad_run: Path, tmp_path: Path
) -> None:
    summary = read_made()["summary"]
    page = open_page(f"/report/{ids['report']}")
    for verdict, count in summary["verdicts"].items():
        expect(page.locator(f'[data-verdict="{verdict}"] strong')).to_have_text(f"{count}")
    expect(page.locator(".cluster")).to_have_count(len(summary["clusters"]))
    page.keyboard.press("3")
    for name in summary["neverTaken"]:
        expect(page.locator(".words")).to_contain_text(name)
    follow(page, f"/report/{ids['report']}")
    report = server.get(api.ReportView, f"/report/{ids['report']}")
    first = report.summary.clusters[0]
    runs = server.get(api.ReportRuns, f"/report/{ids['report']}/runs").runs
    expected = [one for one in runs if f": {first.name}: " in one.reason]
    page.locator("[data-list-runs]").first.click()
    expect(page.locator("[data-total]")).to_have_attribute("data-total", str(len(expected)))
    follow(page, f"/report/{ids['report']}")
    page.get_by_role("button", name="Open this run").first.click()
    expect(page.locator("h1")).to_have_text(summary["clusters"][0]["exampleRunId"])

    many = write_corpus(tmp_path / "night", good_run, bad_run)
    with serving([many], files=page_files()) as corpus:
        page = open_page(at=corpus)
        rows = page.locator(".events tbody tr")
        expect(page.locator("h1")).to_have_text("night")
        expect(rows).to_have_count(100)
        expect(page.locator('[data-verdict="UNCHECKED"] strong')).to_have_text(f"{MANY:,}")
        page.get_by_role("button", name="Next page").click()
        expect(rows.first).to_contain_text("run-0100")
        page.keyboard.press("[")
        expect(rows.first).to_contain_text("run-0000")
        page.keyboard.press("/")
        page.keyboard.type("run-100")
        expect(page.locator("[data-total='10']")).to_be_visible()
        rows.first.get_by_role("link").click()
        expect(page.locator(".head .verdict")).to_contain_text("DIVERGES")
        page.go_back()
        page.locator('[data-verdict="DIVERGES"]').first.click()
        expect(page.locator("[data-total='1']")).to_be_visible()

    shutil.copytree(bad_run, tmp_path / "few" / "run-9")
    shutil.copytree(good_run, tmp_path / "few" / "run-10")
    shutil.copytree(good_run, tmp_path / "few" / "run-11")
    (tmp_path / "few" / "run-11" / "member-0.ndjson").write_text("no trace")
    with serving([tmp_path / "few"], files=page_files()) as corpus:
        page = open_page(at=corpus)
        rows = page.locator(".events tbody tr")
        expect(page.locator('[data-verdict="UNCHECKED"] strong')).to_have_text("0")
        verdicts = ("run-9", "DIVERGES"), ("run-10", "CONFORMS"), ("run-11", "MALFORMED")
        for number, (name, verdict) in enumerate(verdicts):
            expect(rows.nth(number)).to_contain_text(name)
            expect(rows.nth(number)).to_contain_text(verdict)


def test_a_run_is_sent_in_a_file_that_needs_no_server(
    open_page: Open, server: Asked, ids: Ids, new_context: Any, tmp_path: Path, problems: list[str]
) -> None:
    route = f"/run/{ids['bad']}?at=70&view=lanes&show=all&pin=leaders%3D0"
    page = open_page(route)
    expect(page.locator(".head .verdict")).to_contain_text("DIVERGES")
    at_event(page, 70)
    there = alone(new_context, kept(page, "Page", tmp_path), problems, route)
    expect(page.locator("[data-pinned]")).to_be_visible()
    expect(there.get_by_role("tab")).to_have_text(["Story", "Lanes", "Election"])
    expect(there.locator("[data-pinned]")).to_have_count(0)
    expect(there.locator(".verdict").first).to_contain_text("DIVERGES")
    at_event(there, 70)
    for key, number in (("ArrowRight", 71), ("PageDown", 96), ("ArrowLeft", 95)):
        for one in (page, there):
            one.keyboard.press(key)
            at_event(one, number)
    asked = server.get(api.Lanes, f"/run/{ids['bad']}/lanes", **{"from": number, "count": 1})
    expect(page.locator(".inspector h2").first).to_have_text(asked.events[0].title)
    for part in (".inspector h2", ".head h1", "[data-when]"):
        expect(there.locator(part).first).to_have_text(page.locator(part).first.inner_text())

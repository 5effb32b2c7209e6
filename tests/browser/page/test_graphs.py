"""State graphs on the page: the member graph of the CI set, and one of more than 100,000 states."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from canvass.browser import api
from canvass.browser.app import page_files
from canvass.browser.limits import DRAWN_STATES
from canvass.graph.dump_import import import_dump
from support.browse import Asked, serving

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Ids = dict[str, str]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def start(server: Asked, ids: Ids) -> str:
    """An initial state of the member graph."""
    return server.get(api.GraphInfo, f"/graph/{ids['graph']}").initial[0]


def test_the_states_around_are_drawn_and_the_rest_is_counted(
    open_page: Open, server: Asked, ids: Ids, start: str
) -> None:
    around = server.get(
        api.Around, f"/graph/{ids['graph']}/around/{start}", depth=2, limit=24, actions=""
    )
    page = open_page(f"/graph/{ids['graph']}/state/{start}")
    canvas = page.locator(".graph-canvas")
    expect(canvas).to_have_attribute("data-nodes", str(len(around.nodes)))
    expect(canvas.locator("canvas[data-words]")).to_be_visible()
    assert around.left_out.states > 0
    expect(page.get_by_role("button", name=f"{around.left_out.states} states")).to_be_visible()
    page.keyboard.press("m")
    expect(canvas).to_have_attribute("data-nodes", "48")
    assert "limit=48" in page.url


def test_no_more_states_are_asked_for_than_the_server_draws(
    open_page: Open, ids: Ids, start: str
) -> None:
    page = open_page(f"/graph/{ids['graph']}/state/{start}?depth=6&limit=800")
    canvas = page.locator(".graph-canvas")
    more = page.get_by_role("button", name="left out: more")
    expect(more).to_be_visible()
    page.keyboard.press("m")
    expect(canvas).to_have_attribute("data-nodes", str(DRAWN_STATES))
    assert f"limit={DRAWN_STATES}" in page.url
    expect(more).to_have_count(0)
    page.keyboard.press("m")
    expect(canvas).to_have_attribute("data-nodes", str(DRAWN_STATES))


def test_the_second_ring_is_drawn_however_many_states_the_first_one_has(
    open_page: Open, server: Asked, ids: Ids, start: str
) -> None:
    near = {"depth": 2, "limit": 24, "actions": ""}
    initial = server.get(api.StateView, f"/graph/{ids['graph']}/state/{start}")
    # A state around which the first ring alone is more than is drawn.
    start = next(edge.target for edge in initial.out if edge.target != start)
    around = server.get(api.Around, f"/graph/{ids['graph']}/around/{start}", **near)
    ends = [(edge.source, edge.target) for edge in around.edges]
    first = {end for pair in ends if start in pair for end in pair}
    second = [node.id for node in around.nodes if node.id not in first]
    assert len(second) > 5
    page = open_page(f"/graph/{ids['graph']}/state/{start}")
    expect(page.locator(".graph-canvas")).to_have_attribute("data-nodes", str(len(around.nodes)))
    page.keyboard.press("v")
    for state in second:
        expect(page.locator(f'[data-state-button="{state}"]')).to_be_visible()


def test_the_list_mirrors_the_drawing(open_page: Open, ids: Ids, start: str) -> None:
    page = open_page(f"/graph/{ids['graph']}/state/{start}")
    canvas = page.locator(".graph-canvas")
    expect(canvas).to_have_attribute("data-nodes", re.compile(r"\d+"))
    nodes = int(canvas.get_attribute("data-nodes") or "")
    links = int(canvas.get_attribute("data-links") or "")
    page.keyboard.press("v")
    expect(page.locator(".scene-list > li")).to_have_count(nodes)
    expect(page.locator(".scene-list > li li")).to_have_count(links)
    expect(page.locator(".scene-list > li.is-current")).to_have_count(1)


def test_steps_go_forward_and_back_and_say_what_they_changed(
    open_page: Open, server: Asked, ids: Ids, start: str
) -> None:
    state = server.get(api.StateView, f"/graph/{ids['graph']}/state/{start}")
    first = next(edge for edge in state.out if edge.target != start)
    page = open_page(f"/graph/{ids['graph']}/state/{start}")
    expect(page.locator(f'[data-state-shown="{start}"]')).to_be_visible()
    page.keyboard.press("l")
    expect(page.locator(f'[data-state-shown="{first.target}"]')).to_be_visible()
    # The difference from the state before is marked in the tree, and counted.
    expect(page.locator(".inspector .tree .is-changed").first).to_be_visible()
    page.keyboard.press("d")
    rows = page.locator(".inspector .tree .tree-row")
    assert rows.count() == page.locator(".inspector .tree .tree-row:not(.is-same)").count() > 0
    page.keyboard.press("h")
    expect(page.locator(f'[data-state-shown="{start}"]')).to_be_visible()
    page.go_back()
    expect(page.locator(f'[data-state-shown="{first.target}"]')).to_be_visible()


def test_a_pinned_state_is_what_others_are_compared_with(
    open_page: Open, ids: Ids, start: str
) -> None:
    page = open_page(f"/graph/{ids['graph']}/state/{start}")
    pane = page.locator(".inspector")
    expect(pane.locator("[data-state-shown]")).to_be_visible()
    page.keyboard.press("p")
    expect(pane.get_by_role("button", name="Pinned")).to_be_visible()
    page.keyboard.press("l")
    expect(page.locator(f'[data-state-shown="{start}"]')).to_have_count(0)
    expect(pane).to_contain_text("(pinned)")
    second = pane.locator(".steps [data-target]").nth(1).get_attribute("data-target")
    page.keyboard.press("j")
    page.keyboard.press("l")
    expect(page.locator(f'[data-state-shown="{second}"]')).to_be_visible()
    expect(pane).to_contain_text("(pinned)")
    assert f"pin={start}" in page.url


def test_a_click_on_a_step_and_on_a_node_go_there(
    open_page: Open, server: Asked, ids: Ids, start: str
) -> None:
    page = open_page(f"/graph/{ids['graph']}/state/{start}?depth=1")
    canvas = page.locator(".graph-canvas")
    expect(canvas).to_have_attribute("data-nodes", re.compile(r"\d+"))
    with page.expect_response(lambda answer: "/around/" in answer.url):
        page.locator(".steps [data-target]").first.click()
    expect(page.locator(f'[data-state-shown="{start}"]')).to_have_count(0)
    shown = page.locator("[data-state-shown]").get_attribute("data-state-shown")
    # By keys on the drawing: make a node out, and go to it.
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(f'[data-state-shown="{shown}"]')).to_have_count(0)


def test_action_chips_leave_only_their_steps(
    open_page: Open, server: Asked, ids: Ids, start: str
) -> None:
    page = open_page(f"/graph/{ids['graph']}/state/{start}")
    expect(page.locator(".graph-canvas")).to_have_attribute("data-nodes", re.compile(r"\d+"))
    page.keyboard.press("f")
    page.locator(".chips").get_by_role("button", name=re.compile("^Restart ")).click()
    around = server.get(
        api.Around, f"/graph/{ids['graph']}/around/{start}", depth=2, limit=24, actions="Restart"
    )
    assert {edge.action for edge in around.edges} == {"Restart"}
    expect(page.locator(".graph-canvas")).to_have_attribute("data-nodes", str(len(around.nodes)))
    expect(page.locator(".chips").get_by_role("button", name="✓ Restart")).to_be_visible()


def test_a_predicate_finds_states_and_an_error_stands_under_its_column(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    where = 'electionState = "CANDIDATE_BALLOT"'
    found = server.get(api.Found, f"/graph/{ids['graph']}/find", where=where, limit=200)
    page = open_page(f"/graph/{ids['graph']}?view=around")
    expect(page.locator("[data-state-shown]")).to_be_visible()
    page.keyboard.press("/")
    box = page.get_by_label("States in which")
    expect(box).to_be_focused()
    box.fill(where)
    box.press("Enter")
    expect(page.get_by_role("status").filter(has_text=f"{found.count:,} states")).to_be_visible()
    expect(page.locator(".find .scene-list li")).to_have_count(len(found.shown))
    if found.count > len(found.shown):
        expect(page.locator(".find .note")).to_contain_text("left out")

    box.fill("electionState = = 3")
    box.press("Enter")
    problem = server.ask(
        f"/graph/{ids['graph']}/find", where="electionState = = 3", limit=200
    ).problem()
    said = page.locator(".expression-error p")
    expect(said).to_contain_text(problem.message)
    assert said.inner_text().count(f"column {problem.column}: ") == 1
    caret = page.locator(".expression-error pre").inner_text()
    assert caret.index("▲") + 1 == problem.column


def test_a_found_state_is_opened_and_the_way_to_it_shown(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    where = 'electionState = "LEADER_READY"'
    path = server.get(
        api.PathView, f"/graph/{ids['graph']}/path", where=where, **{"from": "initial"}
    )
    page = open_page(f"/graph/{ids['graph']}?view=find&where={where.replace(' ', '%20')}")
    page.get_by_role("button", name="shortest path to one of them").click()
    expect(page.locator("[data-hops]")).to_have_attribute("data-hops", str(len(path.hops)))
    page.keyboard.press("v")
    expect(page.locator(".hops li")).to_have_count(len(path.hops) + 1)
    for place, hop in enumerate(path.hops):
        expect(page.locator(".hops li").nth(place + 1)).to_contain_text(hop.action)
    page.locator(".hops li").last.get_by_role("button").click()
    expect(page.locator(".inspector h2")).to_contain_text("LEADER_READY")


def test_a_projection_shows_the_whole_graph(open_page: Open, server: Asked, ids: Ids) -> None:
    whole = server.get(
        api.Projection, f"/graph/{ids['graph']}/project", by="electionState", actions=""
    )
    page = open_page(f"/graph/{ids['graph']}?view=project")
    expect(page.locator(".graph-canvas")).to_have_attribute("data-nodes", str(len(whole.nodes)))
    page.keyboard.press("v")
    expect(page.locator(".scene-list > li")).to_have_count(len(whole.nodes))
    info = server.get(api.GraphInfo, f"/graph/{ids['graph']}")
    assert sum(node.count for node in whole.nodes) == info.states
    page.locator(".scene-list .state-link", has_text="CANDIDATE_BALLOT").click()
    expect(page.locator(".inspector h2")).to_contain_text("CANDIDATE_BALLOT")
    count = next(one.count for one in whole.nodes if "CANDIDATE_BALLOT" in one.key)
    expect(page.locator(".find .note")).to_contain_text(f"{count:,} states")


def test_a_link_survives_a_rebuild_of_the_graph(open_page: Open, server: Asked, ids: Ids) -> None:
    found = server.get(api.Found, f"/graph/{ids['graph']}/find", where='role = "LEADER"', limit=1)
    state = found.shown[0].id
    page = open_page(f"/graph/membergraph-built-elsewhere/state/{state}?depth=1")
    expect(page.locator(f'[data-state-shown="{state}"]')).to_be_visible()
    expect(page.locator(".head")).to_contain_text("another build")


def test_a_graph_of_more_than_a_hundred_thousand_states_is_walked_searched_and_projected(
    open_page: Open, server: Asked, ids: Ids
) -> None:
    info = server.get(api.GraphInfo, f"/graph/{ids['grid']}")
    assert info.states > 100_000
    page = open_page(f"/graph/{ids['grid']}?limit=80&depth=6")
    expect(page.locator(".head")).to_contain_text(f"{info.states:,} states")
    expect(page.locator(".graph-canvas")).to_have_attribute("data-nodes", re.compile(r"\d+"))
    page.keyboard.press("l")
    expect(page.locator(".inspector h2")).to_contain_text("place: ")
    page.keyboard.press("/")
    page.keyboard.type("at[0].place = 3 and at[1].place < 5")
    page.keyboard.press("Enter")
    expect(page.locator(".find .scene-list li")).to_have_count(5)
    page.locator(".find .scene-list button").last.click()
    expect(page.locator(".inspector h2")).to_contain_text("0: {place: 3}")
    page.keyboard.press("s")
    hops = page.locator("[data-hops]")
    expect(hops).to_have_attribute("data-hops", re.compile("^[3-7]$"))
    page.keyboard.press("4")
    page.get_by_label("One node for each value of").fill("at[0].place")
    page.keyboard.press("Enter")
    projected = server.get(
        api.Projection, f"/graph/{ids['grid']}/project", by="at[0].place", actions=""
    )
    expect(page.locator(".graph-canvas")).to_have_attribute("data-nodes", str(len(projected.nodes)))
    if projected.left_out.states:
        expect(page.get_by_role("status").filter(has_text="left out")).to_be_visible()


def test_a_cluster_state_says_where_each_member_is_and_a_step_who_did_what(
    open_page: Open, ids: Ids
) -> None:
    page = open_page(f"/graph/{ids['cluster']}")
    pane = page.locator("[data-state-shown]")
    expect(pane.locator("h2")).to_have_text("0 NOMINATE · 1 CANVASS")
    step = page.locator(".steps .step-name").first
    # One name for an action, in the spec of a cluster and in that of its members.
    expect(pane).not_to_contain_text("Take")
    expect(step).to_have_text("0 Nominate  → 1 RequestVote")
    step.click()
    expect(pane.locator("h2")).to_have_text("0 CANDIDATE_BALLOT t1 · 1 CANVASS, 1 in flight")
    expect(page.locator(".steps .step-name").first).to_have_text("1 OnRequestVote  ← 0 RequestVote")
    page.keyboard.press("v")
    expect(page.locator(".scene-list")).to_contain_text("1 FOLLOWER_BALLOT t1, 0→1 empty")


def write_phases(folder: Path) -> None:
    """Import a dump of 300 states in a row, in three phases; its words are not Aeron's."""
    phases = ["idle"] * 200 + ["busy"] * 99 + ["done"]
    states = [
        f'{turn + 1} [label="/\\\\ turn = {turn}\\n/\\\\ phase = \\"{phase}\\""]'
        for turn, phase in enumerate(phases)
    ]
    steps = [f'{turn} -> {turn + 1} [label="Next"]' for turn in range(1, len(phases))]
    states[0] = states[0].replace("]", ",style = filled]")
    dump = folder.with_suffix(".dot")
    dump.write_text("\n".join(["strict digraph DiskGraph {", *states, *steps, "}"]))
    import_dump(dump, folder, complete=True)


def test_a_graph_of_another_specification_opens_on_a_map_without_words_of_aeron(
    open_page: Open, tmp_path: Path
) -> None:
    """The variable with 3 to 40 values; the node of most states is the largest."""
    write_phases(tmp_path / "phases")
    with serving([tmp_path / "phases"], files=page_files()) as other:
        page = open_page(at=other)
        expect(page.locator(".expression input")).to_have_value("phase")
        expect(page.locator(".expression input")).to_have_attribute("placeholder", "phase, turn")
        expect(page.locator(".graph-canvas")).to_have_attribute("data-nodes", "3")
        page.keyboard.press("x")
        with page.expect_download() as waited:
            page.get_by_role("dialog", name="Export").get_by_role("button", name="SVG").click()
        drawing = ET.parse(waited.value.path()).getroot()
        radii = {
            "".join(node[-2].itertext()): float(node.findall(f"{SVG}circle")[-1].get("r") or 0)
            for node in drawing.iter(f"{SVG}g")
            if node.find(f"{SVG}circle") is not None
        }
        assert radii["Id"] > radii["Bu"] > radii["Do"]
        page.get_by_role("tab", name="Around").click()
        legend = page.get_by_role("list", name="Legend")
        expect(legend).to_contain_text("initial")
        expect(legend).not_to_contain_text("candidate")


def test_the_sign_of_a_node_has_each_of_its_fields(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/graph/{ids['graph']}?view=project&by=electionState,role")
    expect(page.locator(".graph-canvas canvas[data-words]")).to_be_visible()
    page.keyboard.press("v")
    closed = page.locator(".scene-list > li", has_text='"CLOSED", "LEADER"').locator(".swatch")
    expect(closed.first).to_have_text("Cl·Le")
    expect(closed.first).to_have_class("swatch phase-leader")


def test_a_path_without_a_step_says_so(open_page: Open, ids: Ids, start: str) -> None:
    page = open_page(f"/graph/{ids['graph']}/state/{start}?view=path")
    expect(page.locator(".empty")).to_contain_text("The path has no steps.")


def test_tab_completes_a_field_within_a_variable(open_page: Open, ids: Ids) -> None:
    page = open_page(f"/graph/{ids['cluster']}?view=find")
    expect(page.locator("[data-state-shown]")).to_be_visible()
    box = page.get_by_label("States in which")
    box.press_sequentially("any(m in member: member[m].electionS")
    box.press("Tab")
    box.press_sequentially('"NOMI')
    box.press("Tab")
    expect(box).to_have_value('any(m in member: member[m].electionState = "NOMINATE" ')

"""Answers about state graphs, read off a running server and held against the graph itself."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import networkx as nx
import pytest

from canvass.browser import api
from canvass.graph.artifact import MemberView, open_graph
from support.browse import Asked, serving

Tree = dict[str, Any]


@pytest.fixture(scope="module")
def server(small_graph: Path, member_graph: Path, good_run: Path) -> Iterator[Asked]:
    with serving([small_graph, member_graph, good_run]) as running:
        yield running


@pytest.fixture(scope="module")
def view(small_graph: Path) -> MemberView:
    return MemberView(open_graph(small_graph), small_graph)


@pytest.fixture(scope="module")
def graph(view: MemberView) -> nx.MultiDiGraph:
    """The small graph as one of networkx, by ids."""
    made = nx.MultiDiGraph()
    made.add_nodes_from(view.id_of(row) for row in range(view.state_count))
    for row in range(view.state_count):
        for at in range(int(view.out.offsets[row]), int(view.out.offsets[row + 1])):
            made.add_edge(
                view.id_of(row),
                view.id_of(int(view.out.ends[at])),
                key=int(view.out.edge[at]),
                action=view.actions[int(view.out.action[at])],
            )
    return made


def plain(tree: Tree) -> Tree:
    """A tree as it travels."""
    return msgspec.json.decode(msgspec.json.encode(tree), type=Tree)


def assert_changes_lead(before: Tree, after: Tree, edge: api.OutEdge) -> None:
    """The changes are in the fields that differ, each at one value and no list of them."""
    changed = {one.field.partition("[")[0].partition(".")[0] for one in edge.changes}
    assert changed == {name for name in after if after[name] != before[name]}
    assert all(not one.before.startswith(("[", "{")) for one in edge.changes)
    assert all(one.before != one.after for one in edge.changes)


def at(server: Asked) -> str:
    return f"/graph/{server.ids[0]}"


def test_the_graph_is_complete(server: Asked, graph: nx.MultiDiGraph, view: MemberView) -> None:
    info = server.get(api.GraphInfo, at(server))

    assert (info.kind, info.states, info.edges) == ("member", len(graph), graph.number_of_edges())
    assert info.complete
    actions = Counter(action for _, _, action in graph.edges(data="action"))
    assert info.actions == dict(actions)
    assert info.initial == tuple(view.id_of(int(row)) for row in view.initial)
    assert set(info.fields) == set(view.tree(0))


def test_a_state_has_the_neighbours_of_the_graph(
    server: Asked, graph: nx.MultiDiGraph, view: MemberView
) -> None:
    for row in range(0, view.state_count, 97):
        state = view.id_of(row)
        answer = server.get(api.StateView, f"{at(server)}/state/{state}", limit=1000)
        leaving = {key: to for _, to, key in graph.out_edges(state, keys=True)}
        entering = {key: source for source, _, key in graph.in_edges(state, keys=True)}
        assert {one.edge: one.target for one in answer.out} == leaving
        assert {one.edge: one.source for one in answer.entering} == entering
        assert (answer.out_total, answer.in_total) == (len(leaving), len(entering))
        assert answer.tree == plain(view.tree(row))
        for edge in answer.out:
            assert_changes_lead(answer.tree, plain(view.tree(view.find(edge.target) or 0)), edge)


def test_a_limit_cuts_neighbours_and_says_how_many_there_are(
    server: Asked, graph: nx.MultiDiGraph
) -> None:
    state = max(graph, key=graph.out_degree)
    answer = server.get(api.StateView, f"{at(server)}/state/{state}", limit=2)

    assert len(answer.out) == 2
    assert answer.out_total == graph.out_degree(state)


def test_steps_that_lead_back_to_the_state_come_last(server: Asked, graph: nx.MultiDiGraph) -> None:
    state = max(graph, key=lambda node: graph.number_of_edges(node, node))
    answer = server.get(api.StateView, f"{at(server)}/state/{state}", limit=1000)
    for ends in ([one.target for one in answer.out], [one.source for one in answer.entering]):
        loops = [end == state for end in ends]
        assert loops == sorted(loops)
        assert set(loops) == {False, True}


def test_a_state_is_found_by_the_beginning_of_its_id(server: Asked, view: MemberView) -> None:
    state = view.id_of(7)

    assert server.get(api.StateView, f"{at(server)}/state/{state[:12]}").id == state


def test_the_part_around_a_state_is_that_of_the_graph(
    server: Asked, graph: nx.MultiDiGraph, view: MemberView
) -> None:
    simple = nx.Graph(graph)
    for row in range(0, view.state_count, 211):
        state = view.id_of(row)
        answer = server.get(api.Around, f"{at(server)}/around/{state}", depth=1, limit=1000)
        near = {state, *simple.neighbors(state)}
        assert {node.id for node in answer.nodes} == near
        inner = graph.subgraph(near)
        drawn = Counter(
            {(edge.source, edge.target, edge.action): edge.count for edge in answer.edges}
        )
        assert drawn == Counter((a, b, action) for a, b, action in inner.edges(data="action"))
        far = nx.single_source_shortest_path_length(simple, state)
        assert all(abs(node.layer) == far[node.id] for node in answer.nodes)


def test_what_is_left_out_is_counted(server: Asked, view: MemberView) -> None:
    state = view.id_of(int(view.initial[0]))
    whole = server.get(api.Around, f"{at(server)}/around/{state}", depth=3, limit=1000)
    part = server.get(api.Around, f"{at(server)}/around/{state}", depth=3, limit=5)

    assert len(part.nodes) == 5
    assert part.left_out.states == len(whole.nodes) - 5
    assert part.left_out.edges > 0
    assert state in {node.id for node in part.nodes}


def test_only_the_edges_of_chosen_actions_are_drawn(server: Asked, view: MemberView) -> None:
    state = view.id_of(int(view.initial[0]))
    answer = server.get(
        api.Around, f"{at(server)}/around/{state}", depth=4, actions="Restart,LeaderReplay"
    )

    assert {edge.action for edge in answer.edges} <= {"Restart", "LeaderReplay"}


def test_states_are_found_by_what_holds_in_them(
    server: Asked, graph: nx.MultiDiGraph, view: MemberView
) -> None:
    trees = {view.id_of(row): view.tree(row) for row in range(view.state_count)}
    expected = {name for name, tree in trees.items() if tree["electionState"] == "LEADER_READY"}
    answer = server.get(
        api.Found, f"{at(server)}/find", where='electionState = "LEADER_READY"', limit=1000
    )

    assert answer.count == len(expected)
    assert {one.id for one in answer.shown} == expected
    part = server.get(api.Found, f"{at(server)}/find", where="TRUE", limit=3)
    assert (part.count, len(part.shown)) == (len(graph), 3)


def same_words(named: Iterator[tuple[str, str]]) -> list[str]:
    """The words that stand for more than one state."""
    states: dict[str, set[str]] = {}
    for identity, words in named:
        states.setdefault(words, set()).add(identity)
    return [words for words, found in states.items() if len(found) > 1]


def test_no_two_states_of_a_list_have_the_same_words(server: Asked) -> None:
    graph = f"/graph/{server.ids[1]}"
    start = server.get(api.GraphInfo, graph).initial[0]
    found = server.get(api.Found, f"{graph}/find", where="true", limit=300)
    assert same_words((one.id, one.label) for one in found.shown) == []
    for one in found.shown[::20]:
        state = server.get(api.StateView, f"{graph}/state/{one.id}")
        assert same_words((edge.source, edge.source_label) for edge in state.entering) == []
        targets = ((edge.target, edge.target_label) for edge in state.out)
        assert same_words(each for each in targets if each[0] != one.id) == []
        around = server.get(api.Around, f"{graph}/around/{one.id}", depth=1)
        assert same_words((node.id, node.label) for node in around.nodes) == []
    path = server.get(api.PathView, f"{graph}/path", **{"from": start, "to": found.shown[-1].id})
    hops = [(path.start.id, path.start.label)]
    hops += [(hop.target, hop.target_label) for hop in path.hops]
    assert same_words(iter(hops)) == []


def test_a_predicate_that_holds_nowhere_says_what_no_state_has(server: Asked) -> None:
    where = 'electionState = "LEADER_REDY"'
    answer = server.get(api.Found, f"{at(server)}/find", where=where)

    assert answer.count == 0
    assert any("LEADER_READY" in hint for hint in answer.hints)
    reply = server.ask(f"{at(server)}/path", **{"from": "initial", "where": where})
    assert (reply.status, reply.problem().code) == (404, "no-path")
    assert "LEADER_READY" in reply.problem().message


def test_what_is_wrong_with_an_expression_is_reported_with_its_column(server: Asked) -> None:
    problem = server.ask(f"{at(server)}/find", where="role = = 1").problem()

    assert (problem.code, problem.column) == ("expression", 8)


def test_paths_are_shortest(server: Asked, graph: nx.MultiDiGraph, view: MemberView) -> None:
    start = view.id_of(int(view.initial[0]))
    lengths = nx.single_source_shortest_path_length(graph, start)
    for row in range(0, view.state_count, 131):
        end = view.id_of(row)
        reply = server.ask(f"{at(server)}/path", **{"from": "initial", "to": end})
        if end not in lengths:
            assert (reply.status, reply.problem().code) == (404, "no-path")
            continue
        answer = server.get(api.PathView, f"{at(server)}/path", **{"from": start, "to": end})
        assert len(answer.hops) == lengths[end]
        here = answer.start.id
        assert here == start
        for hop in answer.hops:
            assert hop.source == here
            assert graph.edges[hop.source, hop.target, hop.edge]["action"] == hop.action
            here = hop.target
        assert here == end


def test_a_path_leads_to_where_something_holds(server: Asked) -> None:
    where = 'electionState = "LEADER_READY"'
    answer = server.get(api.PathView, f"{at(server)}/path", **{"from": "initial", "where": where})

    assert answer.hops
    last = server.get(api.StateView, f"{at(server)}/state/{answer.hops[-1].target}")
    assert last.tree["electionState"] == "LEADER_READY"


def test_a_projection_counts_every_state_and_edge(
    server: Asked, graph: nx.MultiDiGraph, view: MemberView
) -> None:
    answer = server.get(api.Projection, f"{at(server)}/project", by="electionState")
    kind = {view.id_of(row): view.tree(row)["electionState"] for row in range(view.state_count)}

    assert {node.key.strip('"'): node.count for node in answer.nodes} == Counter(kind.values())
    first = Counter(kind[view.id_of(int(row))] for row in view.initial)
    assert {node.key.strip('"'): node.initial for node in answer.nodes if node.initial} == first
    on = {a for a, b in graph.edges() if a != b}
    ends = Counter(
        kind[row] for row, known in graph.nodes(data="expanded") if known and row not in on
    )
    assert {node.key.strip('"'): node.terminal for node in answer.nodes if node.terminal} == ends
    expected = Counter((kind[a], kind[b], action) for a, b, action in graph.edges(data="action"))
    assert {
        (edge.source.strip('"'), edge.target.strip('"'), edge.action): edge.count
        for edge in answer.edges
    } == expected
    assert (answer.left_out, answer.left_out_classes) == (api.LeftOut(states=0, edges=0), 0)


def test_a_projection_counts_the_values_of_another_field_in_each_node(
    server: Asked, view: MemberView
) -> None:
    answer = server.get(
        api.Projection, f"{at(server)}/project", by="electionState", colour="commitPosition"
    )
    trees = map(view.tree, range(view.state_count))
    counts = Counter((one["electionState"], str(one["commitPosition"])) for one in trees)

    for node in answer.nodes:
        found = dict(zip(answer.values, node.shares, strict=True))
        assert {value: count for value, count in found.items() if count} == {
            value: count for (state, value), count in counts.items() if f'"{state}"' == node.key
        }


def test_rare_values_of_a_field_are_one(server: Asked) -> None:
    place = f"/graph/{server.ids[1]}/project"
    answer = server.get(api.Projection, place, by="role", colour="electionState")

    assert (len(answer.values), answer.values[-1]) == (9, "other values")
    assert [sum(node.shares) for node in answer.nodes] == [node.count for node in answer.nodes]


def test_a_projection_with_too_many_values_says_what_is_left_out(server: Asked) -> None:
    graph = f"/graph/{server.ids[1]}"
    states = server.get(api.GraphInfo, graph).states
    answer = server.get(api.Projection, f"{graph}/project", by="members, recordingLog, role")

    assert answer.left_out_classes > 0
    assert sum(node.count for node in answer.nodes) + answer.left_out.states == states
    assert len({node.key for node in answer.nodes}) == len(answer.nodes)


def test_a_table_of_steps_that_cannot_be_read_is_a_bad_request(
    small_graph: Path, good_run: Path, tmp_path: Path
) -> None:
    """It has gone since the graph was opened, which is shown."""
    folder = shutil.copytree(small_graph, tmp_path / "graph")
    with serving([folder, good_run]) as server:
        assert server.get(api.GraphInfo, "/graph/graph").states > 100
        (folder / "keys.npy").unlink()
        reply = server.ask("/run/good/step/0/3")

    assert (reply.status, reply.problem().message) == (
        400,
        f"{folder / 'keys.npy'}: No such file or directory",
    )


def test_a_damaged_graph_is_reported_in_one_line(small_graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    for file in small_graph.iterdir():
        (folder / file.name).write_bytes(file.read_bytes()[:-7])
    (folder / "manifest.json").write_bytes((small_graph / "manifest.json").read_bytes())
    with serving([folder]) as server:
        reply = server.ask("/graph/graph")

        assert reply.status == 422
        assert "damaged" in reply.problem().message

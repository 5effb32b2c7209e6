"""Files for other tools, read again as those tools would."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

from canvass.browser import api
from support.browse import Asked, Reply, serving
from support.itf_values import from_itf_value


@pytest.fixture(scope="module")
def server(small_graph: Path, member_graph: Path, good_run: Path) -> Iterator[Asked]:
    with serving([small_graph, member_graph, good_run]) as running:
        yield running


@pytest.fixture(scope="module")
def around(server: Asked) -> api.Around:
    """The part of the small graph that is saved."""
    graph = f"/graph/{server.ids[0]}"
    first = server.get(api.GraphInfo, graph).initial[0]
    return server.get(api.Around, f"{graph}/around/{first}", depth=3, limit=40)


def saved(server: Asked, form: str, **query: object) -> Reply:
    reply = server.ask(f"/graph/{server.ids[0]}/export", format=form, **query)
    assert reply.status == 200, reply.body
    end = {"itf": "itf.json"}.get(form, form)
    disposition = reply.headers["content-disposition"]
    assert disposition.startswith('attachment; filename="MCMemberGraph1')
    assert disposition.endswith(f'.{end}"')
    return reply


def shown(around: api.Around) -> set[tuple[str, str, str, int]]:
    return {(one.source, one.target, one.action, one.count) for one in around.edges}


def test_graphml_is_what_was_drawn(server: Asked, around: api.Around) -> None:
    body = saved(server, "graphml", around=around.root, depth=3, limit=40).body
    found = nx.read_graphml(io.BytesIO(body), force_multigraph=True)

    assert set(found) == {node.id for node in around.nodes}
    edges = {(a, b, data["action"], data["count"]) for a, b, data in found.edges(data=True)}
    assert edges == shown(around)


def test_json_is_what_was_drawn(server: Asked, around: api.Around) -> None:
    found = json.loads(saved(server, "json", around=around.root, depth=3, limit=40).body)

    assert {one["id"] for one in found["states"]} == {node.id for node in around.nodes}
    edges = {(e["source"], e["target"], e["action"], e["count"]) for e in found["edges"]}
    assert edges == shown(around)


def test_dot_names_what_was_drawn(server: Asked, around: api.Around) -> None:
    text = saved(server, "dot", around=around.root, depth=3, limit=40).body.decode()

    assert text.startswith("digraph ")
    assert all(f'"{node.id}" [' in text for node in around.nodes)
    assert text.count(" -> ") == len(around.edges)
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tplain"], input=text, check=True, text=True, capture_output=True)


def test_a_path_in_itf_is_a_behaviour(server: Asked, around: api.Around) -> None:
    end = around.nodes[-1].id
    graph = f"/graph/{server.ids[0]}"
    path = server.get(api.PathView, f"{graph}/path", **{"from": "initial", "to": end})
    found = json.loads(saved(server, "itf", path=end).body)

    actions = [state["#meta"].get("action") for state in found["states"]]
    assert actions == [None, *(hop.action for hop in path.hops)]
    for state in found["states"]:
        for name in found["vars"]:
            from_itf_value(state[name])


def test_a_path_is_saved_in_the_other_forms_too(server: Asked, around: api.Around) -> None:
    end = around.nodes[-1].id
    found = json.loads(saved(server, "json", **{"from": "initial", "to": end}).body)

    assert end in {one["id"] for one in found["states"]}


def test_a_small_graph_is_saved_whole_and_a_large_one_refused(server: Asked) -> None:
    found = json.loads(saved(server, "json").body)
    assert len(found["states"]) == server.get(api.GraphInfo, f"/graph/{server.ids[0]}").states

    reply = server.ask(f"/graph/{server.ids[1]}/export", format="dot")
    assert reply.status == 400
    assert "canvass graph export" in reply.problem().message


@pytest.mark.parametrize(
    "query", [{}, {"format": "svg"}, {"format": "itf"}, {"format": "itf", "path": "zz"}]
)
def test_what_cannot_be_saved_is_refused(server: Asked, query: dict[str, object]) -> None:
    assert server.ask(f"/graph/{server.ids[0]}/export", **query).status == 400

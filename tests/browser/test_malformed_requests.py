"""Questions that are none: each is refused, and the server stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run
from support.browse import Asked, serving, status_of
from support.graphs import graph_of

TABLE: Final = Path(__file__).with_name("malformed_requests.txt")
"""Targets with the status of each answer; {g} is a graph, {s} a state of it, {r} a run."""
LONG: Final = (
    "/api/graph/{g}/state/" + "0" * 600,
    "/api/graph/{g}/state/{s}?limit=" + "9" * 400,
    "/api/graph/{g}/find?where=" + "%28" * 2000,
    "/api/graph/{g}/find?where=" + "-" * 4000,
    "/api/graph/{g}/find?where=" + "a" * 5000,
    "/api/what-if/run/{r}/5?path=" + "0" * 5000,
    "/api/run/{r}/step/" + "9" * 400 + "/0",
)


@pytest.fixture(scope="module")
def server(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asked]:
    """A server with a graph and a run, that waits for nobody for long."""
    from canvass.graph.build import cache_folder, load_model

    graph_of(pytestconfig, "MCMemberGraph1")
    assert pytestconfig.cache is not None
    graph = cache_folder(load_model("MCMemberGraph1"), pytestconfig.cache.mkdir("graphs"))
    run = tmp_path_factory.mktemp("malformed") / "run"
    record_run(run, Rules.of("1.50", 1), 0, 60, faults=0.0, run_id="run")
    with serving([graph, run]) as running:
        yield running


def test_every_question_of_the_table_is_refused_in_silence_and_the_server_serves_on(
    server: Asked, capfd: pytest.CaptureFixture[str], rewrite: bool
) -> None:
    """Files and ids are looked up, and never made into paths."""
    graph, run = server.ids
    first = server.ask(f"/graph/{graph}").body
    state = first.partition(b'"initial":["')[2][:32].decode()
    own = f"host: 127.0.0.1:{server.port}\r\nx-canvass-token: {server.token}\r\nconnection: close"
    written = TABLE.read_text()
    found = {}
    for target in (*(line.partition(" ")[2] for line in written.splitlines()), *LONG):
        filled = target.replace("{g}", graph).replace("{r}", run).replace("{s}", state)
        answer = server.send(f"GET {filled} HTTP/1.1\r\n{own}\r\n\r\n".encode())
        found[target] = status_of(answer)
        assert 400 <= found[target] < 500, (target, answer[:120])
        assert not any(word in answer for word in (b"Traceback", b'File "', b"root:")), target
    assert len(found) > 120
    text = "".join(f"{found[name]} {name}\n" for name in found if name not in LONG)
    if rewrite:
        TABLE.write_text(text)

    assert text == written or rewrite
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert server.ask("/session").status == 200
    assert server.request("/").status == 200

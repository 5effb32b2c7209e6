"""Questions that are none: each is refused, and the server stays as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run
from support.browse import Asked, serving, status_of
from support.graphs import graph_of

TARGETS = [
    "/api", "/api/", "/api//session", "/api/session/", "/API/session", "/api/Session",
    "/api/session%00", "/api/session%0d%0aX:1", "/api/session?%ff=1", "/api/session?a=%ff",
    "/api/graph", "/api/graph/", "/api/graph/none", "/api/graph/%2e%2e", "/api/graph/..",
    "/api/graph/{g}/", "/api/graph/{g}/x", "/api/graph/{r}",
    "/api/graph/{g}/state", "/api/graph/{g}/state/", "/api/graph/{g}/state/xyz",
    "/api/graph/{g}/state/%00", "/api/graph/{g}/state/-1", "/api/graph/{g}/state/" + "f" * 32,
    "/api/graph/{g}/state/" + "0" * 33, "/api/graph/{g}/state/" + "0" * 600,
    "/api/graph/{g}/state/{s}?limit=-1", "/api/graph/{g}/state/{s}?limit=1e3",
    "/api/graph/{g}/state/{s}?limit=", "/api/graph/{g}/state/{s}?limit=1001",
    "/api/graph/{g}/state/{s}?limit=%D9%A1", "/api/graph/{g}/state/{s}?limit=" + "9" * 400,
    "/api/graph/{g}/around/{s}?depth=17", "/api/graph/{g}/around/{s}?depth=x",
    "/api/graph/{g}/around/{s}?limit=0", "/api/graph/{g}/around/{s}?limit=1001",
    "/api/graph/{g}/around/{s}?actions=Nope", "/api/graph/{g}/around/{s}?actions=%00",
    "/api/graph/{g}/find", "/api/graph/{g}/find?where=", "/api/graph/{g}/find?where=%28",
    "/api/graph/{g}/find?where=__import__%28%27os%27%29", "/api/graph/{g}/find?where=1%2F0",
    "/api/graph/{g}/find?where=" + "%28" * 2000, "/api/graph/{g}/find?where=" + "-" * 4000,
    "/api/graph/{g}/find?where=" + "a" * 5000, "/api/graph/{g}/find?where=nothing%20%3D%201",
    "/api/graph/{g}/find?where=%22", "/api/graph/{g}/find?where=%00",
    "/api/graph/{g}/find?where=%ff",
    "/api/graph/{g}/find?where=role", "/api/graph/{g}/find?where=TRUE&limit=99999",
    "/api/graph/{g}/path", "/api/graph/{g}/path?from=initial", "/api/graph/{g}/path?to={s}",
    "/api/graph/{g}/path?from=x&to={s}", "/api/graph/{g}/path?from=initial&to=x",
    "/api/graph/{g}/path?from=initial&to={s}&where=TRUE",
    "/api/graph/{g}/path?from=initial&where=x",
    "/api/graph/{g}/path?from=initial&where=FALSE", "/api/graph/{g}/project",
    "/api/graph/{g}/project?by=", "/api/graph/{g}/project?by=%2C", "/api/graph/{g}/project?by=nope",
    "/api/graph/{g}/project?by=role&actions=Nope",
    "/api/graph/{g}/components",
    "/api/what-if/run/{r}/x", "/api/what-if/run/{r}/99999", "/api/what-if/run/none/0",
    "/api/what-if/graph/{g}/{s}", "/api/what-if/corpus/{r}/0", "/api/what-if/run/{r}/5?path=x",
    "/api/what-if/run/{r}/5?path=0.Restart,0.Nope", "/api/what-if/run/{r}/5?watch=nope",
    "/api/what-if/run/{r}/5?watch=%28", "/api/what-if/run/{r}/5?path=" + "0" * 5000,
    "/api/what-if/run/{r}/5/why-not", "/api/what-if/run/{r}/5/why-not?action=Nope",
    "/api/what-if/run/{r}/5/why-not?action=Nominate&member=1",
    "/api/what-if/run/{r}/5/trace?path=0.Nope", "/api/what-if/counterexample/none/0/trace",
    "/api/run", "/api/run/none", "/api/run/{g}", "/api/run/{r}/", "/api/run/{r}/lanes?from=-1",
    "/api/run/{r}/lanes?from=999999999", "/api/run/{r}/lanes?count=0",
    "/api/run/{r}/lanes?count=1001",
    "/api/run/{r}/lanes?from=0x1", "/api/run/{r}/lanes?from=1.0", "/api/run/{r}/members?at=-1",
    "/api/run/{r}/members?at=1000000", "/api/run/{r}/members?at=", "/api/run/{r}/step/0",
    "/api/run/{r}/step/0/-1", "/api/run/{r}/step/0/99999", "/api/run/{r}/step/9/0",
    "/api/run/{r}/step/x/0", "/api/run/{r}/step/0/0/0",
    "/api/run/{r}/step/%2e%2e/0", "/api/run/{r}/step/" + "9" * 400 + "/0", "/api/run/{r}.0",
    "/api/report/none", "/api/report/{g}", "/api/report/{g}/runs?verdict=X",
    "/api/counterexample/{r}",
    "/api/counterexample/none", "/assets/", "/assets/none.js", "/favicon.ico", "/.git/config",
]  # fmt: skip


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
    server: Asked, capfd: pytest.CaptureFixture[str]
) -> None:
    graph, run = server.ids
    first = server.ask(f"/graph/{graph}").body
    state = first.partition(b'"initial":["')[2][:32].decode()
    own = f"host: 127.0.0.1:{server.port}\r\nx-canvass-token: {server.token}\r\nconnection: close"
    wrong = {}
    for target in TARGETS:
        filled = target.replace("{g}", graph).replace("{r}", run).replace("{s}", state)
        answer = server.send(f"GET {filled} HTTP/1.1\r\n{own}\r\n\r\n".encode())
        if not 400 <= status_of(answer) < 500 or b"Traceback" in answer or b'File "' in answer:
            wrong[target] = answer[:120]

    assert wrong == {}
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert server.ask("/session").status == 200
    assert server.request("/").status == 200

"""How long the page of ``canvass browse`` waits for its server.

``python benchmarks/browse.py [SIDE]`` writes a graph of SIDE x SIDE states (102,400 states without
SIDE). It starts the command on this graph and on the graph of MCMemberGraph2, which it builds in
the user's folder of graphs if it is not there. Then it asks over HTTP as the page does.

The first view is timed from the start of the command, and from the moment at which the address is
printed. For all other requests the script prints the median of many, and the slowest tenth. Times
are elapsed times, with one client.
"""

from __future__ import annotations

import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from canvass.graph.build import cache_folder, cached_graph, load_model
from canvass.steps.answers import default_cache

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.grid_graph import write_grid

SIDE = 320
CLICKS = 200
QUESTIONS = 20
COLD = 5
MEMBER = "MCMemberGraph2"


class Client:
    """The part of the page: one connection that is kept open, and the token."""

    def __init__(self, address: str) -> None:
        host, _, token = address.removeprefix("http://").partition("/#token=")
        self._connection = http.client.HTTPConnection(host, timeout=300)
        self._headers = {"X-Canvass-Token": token}

    def get(self, path: str) -> Any:
        """Send a request, and read the whole answer."""
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (path, body)
        return json.loads(body) if path.startswith("/api/") else body


@contextmanager
def browsing(*paths: Path) -> Iterator[tuple[Client, float]]:
    """Run the command; give a client, and how long it took to print the address."""
    words = [sys.executable, "-m", "canvass.cli.main", "browse", "--no-open", *map(str, paths)]
    start = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                sys.exit("the command printed no address: is the page built (make page)?")
            yield Client(address), time.perf_counter() - start
        finally:
            process.kill()


def first_view(client: Client) -> float:
    """Send the requests with which the page shows a graph for the first time; give the seconds."""
    start = time.perf_counter()
    client.get("/")
    client.get("/assets/app.js")
    client.get("/assets/app.css")
    graph = client.get("/api/session")["sources"][0]["id"]
    first = client.get(f"/api/graph/{graph}")["initial"][0]
    client.get(f"/api/graph/{graph}/state/{first}")
    client.get(f"/api/graph/{graph}/around/{first}?depth=2&limit=200")
    return time.perf_counter() - start


def show(name: str, seconds: list[float]) -> None:
    """Print one line of the table."""
    slow = sorted(seconds)[-max(1, len(seconds) // 10)]
    median = statistics.median(seconds)
    print(f"{name:<44}{median * 1e3:>9,.1f} ms   {slow * 1e3:>9,.1f} ms   of {len(seconds)}")


def timed(action: Callable[[], object], times: int) -> list[float]:
    """Time an action repeatedly; give the seconds of each time."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return found


def walk(client: Client, chance: random.Random) -> list[float]:
    """Walk to random neighbours: at each one, request the state and its neighbourhood."""
    graph = client.get("/api/session")["sources"][0]["id"]
    here = client.get(f"/api/graph/{graph}")["initial"][0]
    first, found = here, []
    for _ in range(CLICKS):
        start = time.perf_counter()
        state = client.get(f"/api/graph/{graph}/state/{here}")
        client.get(f"/api/graph/{graph}/around/{here}?depth=2&limit=200")
        found.append(time.perf_counter() - start)
        ways = [edge["target"] for edge in state["out"] if edge["target"] != here]
        here = chance.choice(ways) if ways else first
    return found


def measure(name: str, folder: Path, where: str, by: str) -> None:
    """Measure everything on one graph."""
    cold, whole = [], []
    for _ in range(COLD):
        with browsing(folder) as (client, printed):
            seconds = first_view(client)
            cold.append(seconds)
            whole.append(printed + seconds)
    with browsing(folder) as (client, _):
        graph = client.get("/api/session")["sources"][0]["id"]
        info = client.get(f"/api/graph/{graph}")
        print(f"{name}: {info['states']:,} states, {info['edges']:,} edges")
        show("first view, from the address on", cold)
        show("first view, from the command on", whole)
        client.get(f"/api/graph/{graph}/path?from=initial&where={quote(where)}")
        show("click on a neighbour: state and neighbourhood", walk(client, random.Random(1)))
        for question in (
            f"find?where={quote(where)}",
            f"path?from=initial&where={quote(where)}",
            f"project?by={quote(by)}",
        ):
            path = f"/api/graph/{graph}/{question}"
            seconds_each = timed(lambda path=path: client.get(path), QUESTIONS)  # type: ignore[misc]
            show(question.partition("?")[0], seconds_each)


def main() -> None:
    """Print the tables."""
    side = int(sys.argv[1]) if sys.argv[1:] else SIDE
    with tempfile.TemporaryDirectory(prefix="canvass-browse-") as scratch:
        write_grid(Path(scratch) / "grid", side)
        measure("grid", Path(scratch) / "grid", "corner = TRUE", "at[0].place")
    model = load_model(MEMBER)
    cached_graph(model, default_cache() / "graphs")
    folder = cache_folder(model, default_cache() / "graphs")
    measure(MEMBER, folder, 'electionState = "FOLLOWER_READY"', "electionState, role")


if __name__ == "__main__":
    main()

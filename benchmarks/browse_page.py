"""Waiting times and memory of the page of ``canvass browse``, measured in Chromium.

``python benchmarks/browse_page.py [SIDE|RUN]`` starts the command and drives the page, on a graph
and on a run; a number or a path chooses one of them.

Graph: it has SIDE x SIDE states, 102,400 without a number. Two times are measured: from the address
to the first drawing, and from a key that takes a step to the drawing of the next state. The script
prints the median and the slowest time of each.

Run: without a path it is the shipped sample. The time from the address of its lanes to the first
boxes is measured after the server has opened the run, each time in a new browser context, and
printed as a ratio to the time of an empty page. Then the lanes are scrolled to places all over the
run. The script counts how often neither a box nor the outline of a loading box is in sight two
frames later. Last, the arrow key is pressed in the lanes and in the election.

``shown`` is the elapsed time from the key to the frame after the one that shows the next event.
``work`` is the processor time of the page's main thread for it, which does not depend on the load
of the machine. Memory is private resident memory: that of the page's process after a garbage
collection, and that of the server's process after it has checked and explained the run.

Needs Chromium (`make browser`) and the built page (`make page`).
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.grid_graph import write_grid

SIDE = 320
FIRST_VIEWS = 7
CLICKS = 40
KEYS = 60
WARM = 10
GOAL_MS = 16
GOAL_MIB = 200
GOAL_SERVER_MIB = 250
SCROLLS = 20
WAIT = """async ([key, selector, field]) => {
  const shown = () => document.querySelector(selector)?.dataset[field];
  const before = shown();
  const started = performance.now();
  document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  while (shown() === before || document.querySelector(".waiting")) {
    await new Promise(requestAnimationFrame);
    if (performance.now() - started > 20000) throw new Error("the page does not go on");
  }
  await new Promise(requestAnimationFrame);
  return performance.now() - started;
}"""
"""Press a key, and wait until the frame after the one that shows something else."""
IN_SIGHT = """async (share) => {
  const scroller = document.querySelector(".lanes-scroll");
  scroller.scrollTop = share * (scroller.scrollHeight - scroller.clientHeight);
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  const frame = scroller.getBoundingClientRect();
  return [...document.querySelectorAll("svg.lanes .event, .lanes-awaited span")].some((one) => {
    const box = one.getBoundingClientRect();
    return box.bottom > frame.top && box.top < frame.bottom;
  });
}"""
"""Scroll the lanes, and say whether a box or its outline is in sight two frames later."""
STATE = ("[data-state-shown]", "stateShown")
EVENT = ("output.place", "place")
_FLAGS = ("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--no-first-run")


@dataclass(frozen=True)
class Served:
    """A browser, the address of the page, and the process that serves it."""

    browser: Browser
    address: str
    process: int

    def new_page(self) -> Page:
        """Open a page in a browser's context of its own."""
        return self.browser.new_context(viewport={"width": 1280, "height": 800}).new_page()


@contextmanager
def served(paths: list[str | Path]) -> Iterator[Served]:
    """Serve some paths, and open Chromium; end with one line if there is no Chromium."""
    path = os.environ.get("CANVASS_CHROMIUM") or shutil.which("chromium")
    if path is None:
        raise SystemExit("no Chromium here: `make browser`")
    words = [sys.executable, "-m", "canvass.cli.main", "browse", "--no-open", *map(str, paths)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            with sync_playwright() as running:
                browser = running.chromium.launch(executable_path=path, args=list(_FLAGS))
                yield Served(browser, address, server.pid)
                browser.close()
        finally:
            server.terminate()


def main() -> None:
    """Measure, and print the tables."""
    given = sys.argv[1:2]
    if not given or given[0].isdigit():
        side = int(given[0]) if given else SIDE
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "grid"
            write_grid(folder, side)
            with served([folder]) as page:
                measure_graph(page, side)
    if not given or not given[0].isdigit():
        with served([*given]) as page:
            measure_run(page)


def measure_graph(served: Served, side: int) -> None:
    """Measure first views, each in a new browser context, and then steps."""
    views = []
    for _ in range(FIRST_VIEWS):
        page = served.new_page()
        started = time.perf_counter()
        page.goto(served.address)
        page.locator(".graph-canvas[data-nodes] canvas[data-words]").wait_for()
        page.locator("[data-state-shown]").wait_for()
        views.append(1000 * (time.perf_counter() - started))
    steps = [float(page.evaluate(WAIT, ["l", *STATE])) for _ in range(CLICKS)]
    print(f"{side * side:,} states, {os.cpu_count()} cores")
    tell("first view, first time", views[:1])
    tell("first view, again", views[1:])
    tell("a step to a neighbour", steps)


def measure_run(served: Served) -> None:
    """Press keys in two views, and read the memory after each."""
    page = served.new_page()
    events = open_run(page, served.address)
    print(f"{events:,} events, {os.cpu_count()} cores")
    measure_lanes(served)
    for view, name in (("2", "lanes"), ("4", "election")):
        page.keyboard.press(view)
        page.keyboard.press("Home")
        page.locator("[data-step]").wait_for()
        press(page, "ArrowRight", WARM)
        shown, work = press(page, "ArrowRight", KEYS)
        tell(f"an arrow key, {name}: shown", shown)
        print(f"{f'an arrow key, {name}: work':34} mean   {work:7.1f} ms   goal {GOAL_MS} ms")
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    while working(served.process):
        time.sleep(0.1)
    page_mib, server_mib = map(private_mib, (process_of(served.browser), served.process))
    heap = session.send("Runtime.getHeapUsage")["usedSize"] / 2**20
    print(f"{'page process':34} {page_mib:14.0f} MiB   goal {GOAL_MIB} MiB")
    print(f"{'of it the heap of the script':34} {heap:14.0f} MiB")
    print(f"{'server process':34} {server_mib:14.0f} MiB   goal {GOAL_SERVER_MIB} MiB")


def measure_lanes(served: Served) -> None:
    """Open the lanes anew, and scroll them."""
    empty, first = [], []
    for _ in range(FIRST_VIEWS):
        page = served.new_page()
        started = time.perf_counter()
        page.goto("data:text/html,<!doctype html><title>empty</title><p>empty")
        page.locator("p").wait_for()
        empty.append(1000 * (time.perf_counter() - started))
        started = time.perf_counter()
        page.goto(f"{served.address}&to=/?view=lanes&show=all")
        page.locator("svg.lanes .event").first.wait_for()
        first.append(1000 * (time.perf_counter() - started))
    tell("an empty page", empty)
    tell("lanes: first boxes", first)
    ratio = statistics.median(first) / statistics.median(empty)
    print(f"{'lanes: first boxes, in empty pages':34} {ratio:14.1f}")
    places = (at * 0.618 % 1 for at in range(1, SCROLLS + 1))
    blank = sum(not page.evaluate(IN_SIGHT, place) for place in places)
    print(f"{'lanes: blank while scrolling':34} {blank:8} of {SCROLLS}   goal 0")


def open_run(page: Page, address: str) -> int:
    """Open the page, wait until the verdict is there, and give the number of events."""
    page.goto(address)
    page.locator("[data-step]").wait_for(timeout=120_000)
    page.locator(".head .verdict:not(.is-open)").wait_for(timeout=120_000)
    found = re.search(r"([\d,]+) events", page.locator(".head").inner_text())
    assert found is not None
    return int(found[1].replace(",", ""))


def press(page: Page, key: str, count: int) -> tuple[list[float], float]:
    """Press a key; give the elapsed times, and the mean processor time of the page."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = busy_seconds(session)
    shown = [float(page.evaluate(WAIT, [key, *EVENT])) for _ in range(count)]
    work = 1000 * (busy_seconds(session) - before) / count
    session.detach()
    return shown, work


def busy_seconds(session: CDPSession) -> float:
    """Read how long the page's main thread has worked."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def process_of(browser: Browser) -> int:
    """Find the process of the page: the largest renderer."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    return int(max((one["id"] for one in found if one["type"] == "renderer"), key=private_mib))


def working(process: int) -> bool:
    """Tell whether another process checks or explains the run for the server."""
    found = [one.read_text().split() for one in Path(f"/proc/{process}/task").glob("*/children")]
    return sum(map(len, found)) > 1  # One stays: Python's resource tracker.


def private_mib(process: int) -> float:
    """Read the private resident memory of a process."""
    text = Path(f"/proc/{process}/smaps_rollup").read_text()
    sizes = re.findall(r"^Private_\w+: +(\d+) kB$", text, re.MULTILINE)
    return sum(map(int, sizes)) / 1024


def tell(what: str, times: Sequence[float]) -> None:
    """Print a row."""
    print(f"{what:34} median {statistics.median(times):7.0f} ms   slowest {max(times):7.0f} ms")


if __name__ == "__main__":
    main()

"""What a run costs on the page of ``canvass browse``: time of an arrow key, and memory.

``python benchmarks/browse_run.py [RUN]`` opens a run, the shipped sample without it, in Chromium
and presses the arrow key in the lanes and in the election. ``shown`` is the time from the key to
the frame after the one that shows the next event, of the wall; ``work`` is the processor time of
the page's main thread for it, which does not depend on who else uses the machine. Memory is the
private resident memory of the page's process, after a garbage collection, and of the server's.
Needs Chromium (`make browser`) and the built page (`make page`).
"""

from __future__ import annotations

import os
import re
import statistics
import sys
from pathlib import Path

from browse_server import served
from playwright.sync_api import Browser, CDPSession, Page

KEYS = 60
WARM = 10
GOAL_MS = 16
GOAL_MIB = 200
NEXT = """async (key) => {
  const place = () => document.querySelector("output.place")?.dataset.place;
  const before = place();
  const started = performance.now();
  document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  while (place() === before) {
    await new Promise(requestAnimationFrame);
    if (performance.now() - started > 20000) throw new Error("the page does not go on");
  }
  await new Promise(requestAnimationFrame);
  return performance.now() - started;
}"""
"""Press an arrow key, and wait until the frame after the one that shows the next event."""


def main() -> None:
    """Measure, and print a table."""
    with served([*sys.argv[1:2]]) as page:
        measure(page.browser, page.address, page.process)


def measure(browser: Browser, address: str, server: int) -> None:
    """Press keys in two views, and read the memory after each."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    events = open_at(page, address)
    print(f"{events:,} events, {os.cpu_count()} cores")
    for view, name in (("2", "lanes"), ("4", "election")):
        page.keyboard.press(view)
        page.keyboard.press("Home")
        page.locator("[data-step]").wait_for()
        press(page, "ArrowRight", WARM)
        shown, work = press(page, "ArrowRight", KEYS)
        tell(f"an arrow key, {name}: shown", shown, "ms")
        print(f"{f'an arrow key, {name}: work':34} mean   {work:7.1f} ms   goal {GOAL_MS} ms")
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    page_mib, served = private_mib(process_of(browser)), private_mib(server)
    heap = session.send("Runtime.getHeapUsage")["usedSize"] / 2**20
    print(f"{'page process':34} {page_mib:14.0f} MiB   goal {GOAL_MIB} MiB")
    print(f"{'of it the heap of the script':34} {heap:14.0f} MiB")
    print(f"{'server process':34} {served:14.0f} MiB")


def open_at(page: Page, address: str) -> int:
    """Open the page, wait until the verdict is there, and give the number of events."""
    page.goto(address)
    page.locator("[data-step]").wait_for(timeout=120_000)
    page.locator(".head .verdict:not(.is-open)").wait_for(timeout=120_000)
    found = re.search(r"([\d,]+) events", page.locator(".head").inner_text())
    assert found is not None
    return int(found[1].replace(",", ""))


def press(page: Page, key: str, count: int) -> tuple[list[float], float]:
    """Press a key; give the times of the wall, and the mean processor time of the page."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = busy_seconds(session)
    shown = [float(page.evaluate(NEXT, key)) for _ in range(count)]
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


def private_mib(process: int) -> float:
    """Read the resident memory of a process that it shares with nobody."""
    text = Path(f"/proc/{process}/smaps_rollup").read_text()
    sizes = re.findall(r"^Private_\w+: +(\d+) kB$", text, re.MULTILINE)
    return sum(map(int, sizes)) / 1024


def tell(what: str, values: list[float], unit: str) -> None:
    """Print a row."""
    print(
        f"{what:34} median {statistics.median(values):7.0f} {unit}"
        f"   slowest {max(values):7.0f} {unit}"
    )


if __name__ == "__main__":
    main()

"""How long a person waits for the page of ``canvass browse``, measured in Chromium.

``python benchmarks/browse_page.py [SIDE]`` writes a graph of SIDE x SIDE states, 102,400 without
it, starts the command on it and drives the page: from the address to the first drawing, and from a
key that takes a step to the drawing of the next state. Medians, with the slowest of each. Needs
Chromium (`make browser`) and the built page (`make page`).
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from browse_server import served
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.grid_graph import write_grid

SIDE = 320
FIRST_VIEWS = 7
CLICKS = 40
DRAWN = """async () => {
  const shown = () => document.querySelector("[data-state-shown]")?.dataset.stateShown;
  const before = shown();
  const started = performance.now();
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "l", bubbles: true }));
  while (shown() === before || document.querySelector(".waiting")) {
    await new Promise(requestAnimationFrame);
    if (performance.now() - started > 20000) throw new Error("the page does not go on");
  }
  await new Promise(requestAnimationFrame);
  return performance.now() - started;
}"""
"""Take a step, and wait until the frame after the one that shows the next state."""


def main() -> None:
    """Measure, and print a table."""
    side = int(sys.argv[1]) if len(sys.argv) > 1 else SIDE
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "grid"
        write_grid(folder, side)
        with served([folder]) as page:
            measure(page.browser, page.address, side)


def measure(browser: Browser, address: str, side: int) -> None:
    """Measure first views, each in a browser's context of its own, and then steps."""
    views = []
    for _ in range(FIRST_VIEWS):
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        started = time.perf_counter()
        open_at(page, address)
        views.append(1000 * (time.perf_counter() - started))
    steps = [page.evaluate(DRAWN) for _ in range(CLICKS)]
    print(f"{side * side:,} states, {os.cpu_count()} cores")
    tell("first view, first time", views[:1])
    tell("first view, again", views[1:])
    tell("a step to a neighbour", steps)


def open_at(page: Page, address: str) -> None:
    """Open the page, and wait for its drawing."""
    page.goto(address)
    page.locator(".graph-canvas[data-nodes] canvas[data-words]").wait_for()
    page.locator("[data-state-shown]").wait_for()


def tell(what: str, times: Sequence[float]) -> None:
    """Print a row."""
    print(f"{what:26} median {statistics.median(times):7.0f} ms   slowest {max(times):7.0f} ms")


if __name__ == "__main__":
    main()

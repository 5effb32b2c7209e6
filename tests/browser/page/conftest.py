"""A server with all kinds of things to look at, and Debian's Chromium to look at them with.

Playwright keeps an event loop in the main thread as long as it runs, and no other test may start
one then: it runs for the tests of this folder alone, however many others there are.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from canvass.browser.app import PageError, page_files
from canvass.traces.alignment.importer import import_logs
from support.browse import Asked, serving
from support.chromium import UNBUILT, WITHOUT, chromium
from support.cluster_graph import write_cluster_graph
from support.grid_graph import write_grid
from support.page_material import write_counterexample
from support.page_report import write_report

SAMPLES: Final = Path(__file__).resolve().parents[3] / "samples"
SAMPLE: Final = SAMPLES / "aeron" / "b-leader-killed"
GRID: Final = 320
"""Side of the large graph: 102,400 states."""
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE: Final = 90_000
"""Milliseconds after which something is taken never to come: no measure of speed, for a machine
that is busy or has compiled nothing yet takes long to open a run."""


PROBES: Final = dict(
    re.findall(
        r"^const (\w+) = (.*?);\n(?=\n|\Z)",
        Path(__file__).with_name("probes.js").read_text(),
        re.MULTILINE | re.DOTALL,
    )
)
"""Functions that tests run in the page, by their names."""

PLACES = {
    "story": "/run/{bad}",
    "lanes": "/run/{sample}?view=lanes",
    "election": "/run/{sample}?view=election",
    "in graph": "/run/{sample}?view=graph",
    "find in a run": "/run/{sample}?view=find&where=action%20%3D%20%22OnVote%22&pin=leaders%3D0",
    "what if": "/run/{good}/what-if/100",
    "counterexample": "/counterexample/{counterexample}",
    "states": "/counterexample/{counterexample}?view=states",
    "around": "/graph/{graph}?view=around",
    "find": "/graph/{graph}?view=find&where=role%20%3D%20%22LEADER%22",
    "path": "/graph/{graph}?view=path&to=role%20%3D%20%22LEADER%22",
    "projection": "/graph/{graph}?view=project",
    "report": "/report/{report}",
    "runs": "/report/{report}?view=runs",
    "coverage": "/report/{report}?view=coverage",
    "cluster": "/graph/{cluster}",
    "nothing": "/graph/{graph}/state/ffff",
}
"""Every kind of page."""

Open = Callable[..., Page]
Ids = dict[str, str]
Scheme = Literal["light", "dark"]


def built() -> bool:
    """Whether there is a page to drive."""
    try:
        page_files()
    except PageError:
        return False
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without Chromium or a page, leave the tests out; not where tests decide what is let in."""
    lacking = WITHOUT if chromium() is None else "" if built() else UNBUILT
    if lacking and not os.environ.get("CI"):
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason=lacking))


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    path = chromium()
    assert path is not None, WITHOUT
    launched = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
    yield launched
    launched.close()


@pytest.fixture(scope="package")
def browser_context_args() -> dict[str, Any]:
    """One size and one way to look, unless a test asks for another."""
    return {"viewport": {"width": 1280, "height": 800}, "accept_downloads": True}


@pytest.fixture(scope="package")
def grid(pytestconfig: pytest.Config) -> Path:
    """A graph of more than 100,000 states; pytest's cache keeps it."""
    assert pytestconfig.cache is not None
    folder: Path = pytestconfig.cache.mkdir("graphs") / f"grid-{GRID}"
    if not (folder / "manifest.json").is_file():
        write_grid(folder, GRID)
    return folder


@pytest.fixture(scope="package")
def server(
    member_graph: Path,
    grid: Path,
    bad_run: Path,
    good_run: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Asked]:
    """One server for all tests; the sample comes first."""
    folder = tmp_path_factory.mktemp("page")
    # Named relatively, as people do: what the page shows of a path is then the same anywhere.
    for source, name in (
        (member_graph, "member-graph"),
        (grid, "grid"),
        (bad_run, "runs/bad"),
        (good_run, "runs/good"),
    ):
        shutil.copytree(source, folder / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        bad, good = Path("runs/bad"), Path("runs/good")
        counterexample = write_counterexample(Path("counterexample.json"))
        report = write_report(Path())
        write_cluster_graph(Path("cluster"))
        graphs = [Path("member-graph"), Path("grid")]
        paths = [SAMPLE, *graphs, bad, good, counterexample, report, Path("cluster")]
        with serving(paths, files=page_files()) as running:
            yield running


@pytest.fixture
def problems() -> Iterator[list[str]]:
    """The errors and warnings of the page: a test fails if there are any."""
    found: list[str] = []
    yield found
    assert found == []


def watch(context: BrowserContext, port: int, problems: list[str]) -> None:
    """Take down errors of scripts and policy, dialogs, and requests to anybody else."""

    def console(message: Any) -> None:
        # That an answer is an error is no error of the page: it says so to the reader.
        refused = re.search("Failed to load resource.* status of 4", message.text)
        if message.type == "error" and not refused:
            problems.append(f"console: {message.text}")

    def opened(dialog: Dialog) -> None:
        problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def requested(request: Any) -> None:
        url: str = request.url
        if not url.startswith((f"http://127.0.0.1:{port}/", "blob:")):
            problems.append(f"request: {url[:200]}")

    context.on("console", console)
    context.on("weberror", lambda error: problems.append(f"script: {error.error}"))
    context.on("dialog", opened)
    context.on("request", requested)


@pytest.fixture
def open_page(new_context: Any, server: Asked, problems: list[str]) -> Open:
    """Open the page at a place, as the printed address would."""

    def opened(route: str = "/", at: Asked = server, scheme: Scheme = "light") -> Page:
        context = new_context()
        watch(context, at.port, problems)
        page: Page = context.new_page()
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_default_timeout(PATIENCE)
        page.goto(f"http://127.0.0.1:{at.port}/#token={at.token}&to={route}")
        return page

    return opened


@pytest.fixture(scope="package")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """Two captured clusters that lost what was committed: by HZ1, and by HZ6."""
    runs = [tmp_path_factory.mktemp("captured") / name for name in ("aeron-hz1", "aeron-hz6")]
    for run in runs:
        import_logs([SAMPLES / run.name], run)
    with serving(runs, files=page_files()) as running:
        yield running


@pytest.fixture(scope="package")
def ids(server: Asked) -> Ids:
    """Ids of what is open, by what it is."""
    names = ("sample", "graph", "grid", "bad", "good", "counterexample", "report", "cluster")
    return dict(zip(names, server.ids, strict=True))


def kept(page: Page, what: str, folder: Path) -> Path:
    """Export what is shown, and give the file."""
    page.keyboard.press("x")
    with page.expect_download() as waited:
        page.get_by_role("dialog").get_by_role("button", name=what, exact=True).click()
    path = folder / waited.value.suggested_filename
    waited.value.save_as(path)
    expect(page.get_by_role("dialog")).to_have_count(0)
    return path


def alone(new_context: Any, file: Path, problems: list[str], route: str = "") -> Page:
    """Open a file in a browser without a network."""
    context = new_context(offline=True)
    context.on("weberror", lambda error: problems.append(str(error.error)))
    page: Page = context.new_page()
    page.goto(f"{file.as_uri()}#{route}")
    return page


def follow(page: Page, route: str) -> None:
    """Follow a link within the page."""
    page.evaluate("(route) => { location.hash = route }", f"#{route}")

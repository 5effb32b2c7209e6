"""Settings of all tests: hypothesis, golden files, and which worker runs which test."""

from __future__ import annotations

import gc
import os
from pathlib import Path, PurePosixPath
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from support.chromium import UNBUILT, WITHOUT

# The CI set draws the same examples every time, so that a red run is about the change (all but a
# few: hypothesis also tries constants of the modules that a worker has imported by then).
# No clock decides: neither the deadline of an example nor how long the first ones take to draw.
# As a push draws the same examples every time, few of them are enough: `make night` draws others.
settings.register_profile("clockless", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", settings.get_profile("clockless"), derandomize=True, database=None, max_examples=20
)
settings.register_profile("night", settings.get_profile("clockless"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# What one test of these folders has started or found out (Spark, a browser, TLC's results), the
# others use. Elsewhere no more than a file's tests share anything, and most models share nothing.
SHARED: Final = ("browser", "models", "spark")
MODELS: Final = "tests/models/test_models.py"

CAPTURES: Final = Path(__file__).parents[2] / "shared" / "aeron-traces"
"""More captured clusters than are committed, see `support.aeron_runs`."""

EXECUTED: Final = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write golden files again with what is printed now; read the difference before commit",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--rewrite") and os.environ.get("CI"):
        raise pytest.UsageError("--rewrite would make any result the expected one: not in CI")
    config.stash[EXECUTED] = []


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of each later collection of garbage."""
    gc.collect()
    gc.freeze()


class Sharing(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist's hooks have no types
    """Let one worker run the tests that share something (``pytest -n 2``)."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        # Only the process that hands out the tests needs this, and it runs none.
        from support.findings import used_counterexamples

        super().__init__(config, log)
        self.used_counterexamples = used_counterexamples()

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        folder = PurePosixPath(file).parts[1]
        model = test.partition("[")[2].rstrip("]")
        if file == MODELS and model not in self.used_counterexamples:
            return nodeid
        return folder if folder in SHARED else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    return Sharing(config, log)


@pytest.fixture
def executed(pytestconfig: pytest.Config) -> list[str]:
    """Lines for the end: how many edges of which graph were executed, and mismatches."""
    return pytestconfig.stash[EXECUTED]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand a worker's lines to who prints them."""
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["executed"] = session.config.stash[EXECUTED]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take over a worker's lines."""
    node.config.stash[EXECUTED].extend(getattr(node, "workeroutput", {}).get("executed", ()))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what the graphs' edges were executed against, and loudly what was not tried."""
    lines = config.stash.get(EXECUTED, [])
    if lines:
        terminalreporter.section("state graphs executed against the core")
        for line in lines:
            terminalreporter.write_line(line)
    skipped = terminalreporter.stats.get("skipped", [])
    for lacking in (WITHOUT, UNBUILT):
        count = sum(lacking in str(report.longrepr) for report in skipped)
        if count:
            terminalreporter.section("THE PAGE WAS NOT TESTED", red=True, bold=True)
            terminalreporter.line(f"{count} tests drive the page of canvass browse, and {lacking}")
    passed = terminalreporter.stats.get("passed", [])
    if not CAPTURES.is_dir() and any("/alignment/" in report.nodeid for report in passed):
        terminalreporter.section("captured clusters")
        terminalreporter.line("Those that are committed were tried; there are no others here.")


@pytest.fixture(scope="session")
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written again."""
    return bool(request.config.getoption("--rewrite"))

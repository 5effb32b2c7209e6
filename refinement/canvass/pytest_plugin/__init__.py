"""The pytest plugin: record and check the steps of an implementation under test.

This module has the hooks and the fixtures. numpy, pyarrow and Java are
loaded only when the first run is checked. `docs/guide/pytest.md` has examples.

What flows: the steps of an implementation, or run folders, in; runs, and failures of tests with the
first divergence, out. The package must not know an implementation. It must not decide whether a
step is allowed: `canvass.conformance` decides.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from canvass.pytest_plugin.session import Session, seed_of

if TYPE_CHECKING:
    from canvass.pytest_plugin.recording import RecorderFixture
    from canvass.pytest_plugin.session import Checked

_SESSION = pytest.StashKey[Session]()
_FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; all begin with ``--canvass``."""
    group = parser.getgroup("canvass", "conformance of runs to the model (canvass)")
    group.addoption(
        "--canvass-seed",
        metavar="N",
        help="seed of every test that uses canvass_seed; 'random' draws a new one for each",
    )
    group.addoption(
        "--canvass-artifacts",
        metavar="DIR",
        help="where failing runs are stored (default: pytest's cache folder)",
    )
    group.addoption(
        "--canvass-graph",
        action="append",
        default=[],
        metavar="ARTIFACT",
        help="a state graph: its steps are not asked of TLC",
    )
    group.addoption(
        "--canvass-cache",
        metavar="DIR",
        help="cache of TLC's answers (default: ~/.cache/canvass)",
    )
    parser.addini("canvass_graph", "state graphs, as --canvass-graph", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and make the session."""
    config.addinivalue_line(
        "markers",
        "canvass_runs(*paths, expect='CONFORMS'): call the test once for each recorded run in"
        " these folders, as its fixture canvass_run; a run with another verdict fails the test",
    )
    config.stash[_SESSION] = Session(config)


# --- recordings -----------------------------------------------------------------------------------


@pytest.fixture
def canvass_seed(request: pytest.FixtureRequest) -> int:
    """Give the seed of the test: a hash of its name, or ``--canvass-seed``."""
    seed = seed_of(request.node, request.config.getoption("canvass_seed"))
    request.node.user_properties.append(("canvass.seed", seed))
    return seed


@pytest.fixture
def canvass_recorder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RecorderFixture]:
    """Record runs of the implementation under test. Each run is checked when the test ends.

    Call the fixture with the fields of ``run.json``: ``canvass_recorder(members=3,
    revision="1.50")`` returns a `Recording`. A member records its steps through ``member(id)``.
    """
    from canvass.pytest_plugin.recording import RecorderFixture

    recorder = RecorderFixture(
        request.config.stash[_SESSION],
        request.node,
        tmp_path_factory.mktemp("canvass"),
    )
    yield recorder
    recorder.finish(failed=request.node.stash.get(_FAILED, False))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note whether a test has failed, expectedly or not, before its recordings are checked."""
    report = yield
    if call.when == "call":
        ended = None if call.excinfo is None else call.excinfo.value
        unfinished = (type(None), pytest.skip.Exception, pytest.xfail.Exception)
        item.stash[_FAILED] = not isinstance(ended, unfinished)
    return report


# --- runs on disk ---------------------------------------------------------------------------------


@pytest.fixture
def canvass_run(request: pytest.FixtureRequest) -> Checked:
    """Check and give one of the recorded runs that the marker ``canvass_runs`` names."""
    if not hasattr(request, "param"):
        pytest.fail(
            "canvass_run needs the marker canvass_runs, which names the runs", pytrace=False
        )
    path, expect = request.param
    session = request.config.stash[_SESSION]
    checked = session.check(path)
    if expect is not None and checked.verdict != expect:
        pytest.fail(session.failure_text(checked, path), pytrace=False)
    return checked


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Call a test that has the marker once for each run."""
    marker = metafunc.definition.get_closest_marker("canvass_runs")
    if marker is None:
        return
    expect = marker.kwargs.get("expect", "CONFORMS")
    runs = _runs_named(metafunc.config.rootpath, marker.args)
    metafunc.parametrize(
        "canvass_run",
        [(path, expect) for path in runs],
        ids=[path.name for path in runs],
        indirect=True,
    )


def _runs_named(root: Path, paths: Sequence[str | Path]) -> list[Path]:
    """Give the run folders of the corpora that a marker names, relative to the root folder.

    Raises
    ------
    pytest.Collector.CollectError
        If a path is not a corpus of run folders, or the marker has no path.
    """
    from canvass.traces.errors import TraceError
    from canvass.traces.run import Corpus

    if not paths:
        raise pytest.Collector.CollectError("canvass_runs names no folder of runs")
    found: list[Path] = []
    for path in paths:
        try:
            corpus = Corpus(root / path)
            corpus.need_paths()
        except TraceError as error:
            raise pytest.Collector.CollectError(f"canvass_runs: {error}") from None
        if corpus.files:
            raise pytest.Collector.CollectError(
                f"canvass_runs: {path}: a data set; name run folders"
            )
        found += corpus.folders
    return found


# --- coverage -------------------------------------------------------------------------------------


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Write the number of checked runs, and the coverage of the spec."""
    lines = [*config.stash[_SESSION].summary()]
    if lines:
        terminalreporter.section("canvass")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the coverage of a worker to its controller."""
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["canvass"] = dict(session.config.stash[_SESSION].counts)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ARG001 - named by pytest-xdist
    """Add the coverage of a worker of pytest-xdist."""
    counts = getattr(node, "workeroutput", {}).get("canvass", {})
    node.config.stash[_SESSION].counts.update(counts)

"""Runs, graphs and reports for the servers under test, made once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from canvass.cluster.rules import Rules
from canvass.graph.build import EVERY_STATE, cache_folder, load_model
from canvass.selftest.runs import record_run
from support.graphs import graph_of
from support.spoilt_runs import edit_event


def graph_folder(config: pytest.Config, name: str, steps: int) -> Path:
    """Where the tests keep the graph of a model."""
    graph_of(config, name, steps)
    assert config.cache is not None
    return cache_folder(load_model(name).with_steps(steps), config.cache.mkdir("graphs"))


@pytest.fixture(scope="session")
def member_graph(pytestconfig: pytest.Config) -> Path:
    """The graph of a member of three, near its roots."""
    return graph_folder(pytestconfig, "MCMemberGraph3", 0)


@pytest.fixture(scope="session")
def small_graph(pytestconfig: pytest.Config) -> Path:
    """The whole graph of a member that is alone."""
    return graph_folder(pytestconfig, "MCMemberGraph1", EVERY_STATE)


@pytest.fixture(scope="session")
def good_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three members with restarts, that conforms."""
    folder = tmp_path_factory.mktemp("browse") / "good"
    record_run(folder, Rules.of("1.50"), 5, 400, faults=0.03, run_id="good")
    return folder


@pytest.fixture(scope="session")
def run_from_unknown_logs(good_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The good run, with a header that says that the logs at its start are unknown."""
    folder = tmp_path_factory.mktemp("browse") / "from-unknown-logs"
    shutil.copytree(good_run, folder)
    header = json.loads((folder / "run.json").read_text())
    changed = header | {"runId": "from-unknown-logs", "initial": "unknown"}
    (folder / "run.json").write_text(json.dumps(changed))
    return folder


@pytest.fixture(scope="session")
def bad_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which member 1 nominates itself too early."""
    folder = tmp_path_factory.mktemp("browse") / "bad"
    record_run(folder, Rules.of("1.50"), 0, 300, faults=0.0, run_id="bad")
    stream = folder / "member-1.ndjson"
    lines = [json.loads(line) for line in stream.read_text().splitlines()]
    waits = next(
        place
        for place, event in enumerate(lines)
        if event["action"] == "Canvass" and event["state"]["electionState"] == "CANVASS"
    )
    edit_event(stream, waits, lambda event: event["state"].update(electionState="NOMINATE"))
    return folder

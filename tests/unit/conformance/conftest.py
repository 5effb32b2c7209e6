"""Runs that the tests check, recorded once."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run


@pytest.fixture(scope="session")
def good_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three members in which a leader is elected and entries are committed."""
    folder = tmp_path_factory.mktemp("good") / "run"
    record_run(folder, Rules.of("1.50"), 0, 600, faults=0.0, run_id="good")
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty runs with faults, of several cluster sizes."""
    root = tmp_path_factory.mktemp("corpus")
    for seed in range(60):
        members = (1, 2, 3, 3, 3, 5)[seed % 6]
        rules = Rules.of("hardened", members)
        faults = (0.0, 0.01, 0.03)[seed % 3]
        record_run(root / f"run-{seed:02}", rules, seed, 250, faults=faults)
    return root

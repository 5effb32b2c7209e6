"""Corpora of runs recorded from random clusters."""

from __future__ import annotations

from pathlib import Path

from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run


def record_runs(root: Path, runs: int, steps: int, *, members: int = 3) -> Path:
    """Record runs of random clusters, each in its own folder; give the corpus."""
    root.mkdir(parents=True)
    rules = Rules(members, "1.50")
    for seed in range(runs):
        record_run(root / f"run-{seed}", rules, seed, steps, run_id=f"run-{seed}")
    return root

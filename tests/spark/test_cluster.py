"""Batch verification on a standalone cluster whose worker dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.corpora import record_runs
from support.spoilt_runs import corrupt
from support.standalone_spark import (
    LOST,
    await_text,
    batch_verify,
    kill_amid,
    results_here,
    results_of,
    standalone_cluster,
)

RUNS = 12


@pytest.mark.night
def test_a_worker_that_is_killed_in_the_middle_changes_no_verdict(tmp_path: Path) -> None:
    """Good, wrong, incomplete and malformed runs; the other worker does what is left."""
    corpus = record_runs(tmp_path / "corpus", RUNS, 120)
    due = corrupt(corpus)
    cache, out = tmp_path / "cache", tmp_path / "out"
    expected = results_here(corpus, cache)

    with (
        standalone_cluster(tmp_path) as cluster,
        batch_verify(corpus, out, cache, cluster.url, RUNS) as job,
    ):
        done = kill_amid(cluster, job)
        await_text(cluster.master_log, LOST)
        code = job.wait()

    assert done < RUNS
    assert len(set(due.values())) == 3
    assert code == 1  # As runs diverge.
    assert results_of(out) == expected

"""Every line of every captured run is read: those committed, and the others where they are."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from canvass.traces.aeron_log.records import ProcessStart
from support.aeron_runs import FINDING, MORE_RELEASES, RELEASES, captures, read_cluster

SAMPLES = Path(__file__).resolve().parents[3] / "samples" / "aeron"
MORE = sorted(MORE_RELEASES.glob("*/config.json"))
RUNS = [
    *(pytest.param(run, id=f"{run.parent.name}/{run.name}") for run in captures()),
    *(pytest.param(run, id=f"{run.parent.name}/{run.name}") for run in [*RELEASES, FINDING]),
    *(pytest.param(one.parent, marks=pytest.mark.night, id=one.parent.name) for one in MORE),
]


def logged(run: Path) -> dict[str, int]:
    """Cluster lines per event, counted without the parser."""
    counts: dict[str, int] = {}
    for path in run.glob("member-*.log*"):
        data = path.read_bytes()
        lines = gzip.decompress(data) if path.suffix == ".gz" else data
        for line in lines.decode().splitlines():
            words = line.split(" ", 3)
            if words[1] == "CLUSTER:":
                counts[words[2]] = counts.get(words[2], 0) + 1
    return counts


def test_the_shipped_runs_are_among_them() -> None:
    names = {run.name for run in captures() if run.parent == SAMPLES}

    assert names == {"a-clean-startup", "b-leader-killed"}


@pytest.mark.parametrize("run", RUNS)
def test_every_cluster_line_becomes_a_record(run: Path) -> None:
    logs = read_cluster([run])
    counts = [log.counts for log in logs.members.values()]
    records = [record for log in logs.members.values() for record in log.records]

    assert list(logs.members) == list(
        range(json.loads((run / "config.json").read_text())["members"])
    )
    assert logs.missing == ()
    assert sum((Counter(one.events) for one in counts), Counter()) == logged(run)
    for one in counts:
        assert one.unknown_events == {}
        assert (one.unreadable, one.foreign) == (0, 0)
    assert all(log.unknown_fields == {} for log in logs.members.values())
    assert len(records) == sum(one.lines - one.other_components for one in counts)
    assert sum(isinstance(record, ProcessStart) for record in records) == sum(
        one.headers for one in counts
    )

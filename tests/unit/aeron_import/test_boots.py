"""A host that was booted between two lives of a member has another clock in the second one."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from canvass.traces.aeron_import.proposing import propose
from canvass.traces.aeron_log.logs import ClusterLogs, read_cluster
from canvass.traces.aeron_log.records import LifeStart
from support.aeron_runs import SAMPLES, captures, wrong_steps

_BOOTED_NS = 1_000_000_000_000
"""What a clock falls by: more than any capture takes."""


def booted(path: Path) -> ClusterLogs:
    """The logs of a folder, as if each life but the first had begun after a boot."""
    logs = read_cluster([path])
    for log in logs.members.values():
        life = -1
        for index, record in enumerate(log.records):
            life += isinstance(record, LifeStart)
            fallen = record.time_ns - max(life, 0) * _BOOTED_NS
            log.records[index] = structs.replace(record, time_ns=fallen)
    return logs


ROUGH = {"c-follower-down-two-terms"}
"""Where the clocks are known too roughly for the search: the run ends before a message."""


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=() if path in SAMPLES else pytest.mark.night) for path in captures()],
    ids=lambda path: path.name,
)
def test_all_is_explained_or_clocks_are_too_rough(path: Path) -> None:
    found = propose(booted(path))

    assert found.failure is None
    assert (found.stopped is not None) == (path.name in ROUGH)
    assert not any(proposal.lost_lines for proposal in found.proposals.values())
    assert found.stopped or wrong_steps(found) == []

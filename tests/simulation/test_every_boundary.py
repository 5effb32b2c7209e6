"""A short history of whole members, ended at every write and at every effect of each of them.

No acknowledged request may be lost, and everything has to come right again. With power failures
everything that the crash may leave on the disk is drawn; `unit/node/test_crash_images.py` tries all
such disks of one member.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from canvass.cluster.clocks import MILLISECOND_NS
from canvass.selftest.simulation_series import simulate
from canvass.simulation.options import Faults, Options
from canvass.simulation.simulator import RunResult, Simulator

HISTORY = Options(
    166,
    steps=500,
    faults=Faults(
        cut_mean=300, cut_kinds=("isolate", "log only"), operator_mean=400, error_mean=700
    ),
    offer_mean_ns=150 * MILLISECOND_NS,
)
"""Two elections, a log that is cut off, a snapshot: and nothing that ends a process."""
EVERY = 11
"""In the CI set every so many boundaries are tried."""
STARTED_NS = 2 * MILLISECOND_NS


def ended_at(member: int, kind: str, boundary: int) -> tuple[RunResult, bool]:
    """Run the history, and end a member at a boundary; say whether it came to that."""

    def prepare(simulator: Simulator) -> None:
        one = simulator.cluster.members[member]

        def arm() -> None:
            if kind == "effect":
                one.crash_after = boundary
            else:
                one.storage.power_fails = kind == "power"
                one.storage.fail_before = one.storage.writes + boundary

        simulator.events.schedule(STARTED_NS, arm)

    result = simulate(HISTORY, prepare=prepare)
    reported = ("crash within a step", "crash at a write", "power failure at a write")
    return result, any(result.counts.get(how) for how in reported)


def boundaries(member: int, kind: str, every: int) -> Iterator[tuple[int, RunResult]]:
    """Every boundary up to the first that the history does not come to."""
    boundary = 0
    while True:
        result, struck = ended_at(member, kind, boundary)
        if not struck:
            return
        yield boundary, result
        boundary += every


def test_the_history_has_an_election_after_the_first_and_a_snapshot() -> None:
    result = simulate(HISTORY)

    assert (result.findings, result.stuck) == ((), ())
    assert result.counts["elections won"] > 1
    assert result.counts["toggle snapshot"] > 0
    assert not any("crash" in name for name in result.counts)


@pytest.mark.parametrize("kind", ["effect", "kill", "power"])
@pytest.mark.parametrize(
    ("members", "every", "least"),
    [((1,), EVERY, 4), pytest.param((0, 1, 2), 1, 50, marks=pytest.mark.night, id="all")],
)
def test_nothing_is_lost_whichever_boundary_a_process_ends_at(
    kind: str, members: tuple[int, ...], every: int, least: int
) -> None:
    for member in members:
        tried = 0
        for boundary, result in boundaries(member, kind, every):
            tried += 1
            reported = (member, boundary, result.findings, result.stuck)
            assert reported == (member, boundary, (), ())
        assert tried >= least

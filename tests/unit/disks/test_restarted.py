"""Disks with which members of Aeron were started, against what these members then did.

`tests/captures/restarted.tar.xz` holds disks of captured clusters, damaged in many ways, with what
was seen when Aeron 1.44 to 1.53 started some of the members: whose process ended, who led, who
joined.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from canvass.disks.verdict import assess
from support.aeron_disk_captures import COMMITTED

ARCHIVE = COMMITTED.parent / "restarted.tar.xz"
ENDED = ("EXITED", "")
"""The note for a process that ended before it took part in an election."""
EVERY = 12
"""The tests of each change use every Nth set."""


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("restarted")
    with tarfile.open(ARCHIVE) as archive:
        # Python before 3.11.4 has no filters, and takes the archive's own word.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    return sorted(folder.iterdir())


def disagreements(folder: Path) -> Iterator[str]:
    """Compare the verdict on disks with the behaviour of the members that were started."""
    seen = json.loads((folder / "restart.json").read_text())
    empty, started = seen["empty"], seen["started"]
    states = {int(member): state for member, state in seen["states"].items()}
    verdict = assess([folder / "disks"], lost=empty, member_count=seen["memberCount"])
    outlook = verdict.with_empty if empty else verdict.outlook
    assert outlook is not None
    up = [member for member in started if member not in outlook.cannot_start]
    for member in started:
        if (member in outlook.cannot_start) != (states[member] in ENDED):
            yield f"member {member} starts: it was {states[member]!r}"
    can_lead = {
        one.leader_member_id: one
        for one in outlook.leaderships
        if up in one.quorums and seen["appointed"] in (None, one.leader_member_id)
    }
    leader = seen["leader"]
    if leader is None and can_lead:
        yield f"{sorted(can_lead)} can lead: nobody did"
    elif leader is not None and leader not in can_lead:
        yield f"{sorted(can_lead)} can lead: member {leader} did"
    elif leader is not None:
        for member in up:
            joined = states[member] == "CLOSED"
            if member != leader and joined == (member in can_lead[leader].stuck):
                yield f"member {member} joins: it was {states[member]!r}"


def test_starts_leaders_and_joins_are_as_in_aeron(sets: list[Path]) -> None:
    for folder in sets[::EVERY]:
        assert list(disagreements(folder)) == [], folder.name


@pytest.mark.night
def test_starts_leaders_and_joins_are_as_in_aeron_on_all_disks(sets: list[Path]) -> None:
    assert len(sets) == 84
    found = {folder.name: list(disagreements(folder)) for folder in sets}

    assert {name: what for name, what in found.items() if what} == {}

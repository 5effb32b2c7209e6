"""Captured disks with damage of which the consequence is known: lost or not lost, as the clients'
records and the entries that Aeron's own archive printed say.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from canvass.cluster.predicates import quorum_size
from canvass.disks.findings import DiskError, Kind
from canvass.disks.verdict import DisksVerdict, assess
from support.aeron_disk_captures import (
    COMMITTED,
    captures,
    field_of,
    log_entries,
    write_acknowledgements,
)

KINDS = ("wiped", "two wiped", "truncated", "all truncated", "old copy", "flipped", "none")
CAPTURES = [
    pytest.param(path, id=path.name, marks=[] if path.parent == COMMITTED else [pytest.mark.night])
    for path in captures()
]
Entries = list[list[str]]


def members_of(capture: Path) -> list[int]:
    return sorted(int(path.name[4:]) for path in capture.glob("raw-*"))


def last_segment(folder: Path) -> tuple[Path, int]:
    """The last segment of the log with data, and its position."""
    found = {int(path.stem.split("-")[1]): path for path in folder.glob("0-*.rec")}
    base = max(base for base, path in found.items() if any(path.read_bytes()[:4]))
    return found[base], base


def truncate(folder: Path, entries: Entries, random: Random) -> Entries:
    """Truncate a log at the beginning of a frame. Return the entries that remain."""
    path, base = last_segment(folder)
    inside = [int(entry[0]) for entry in entries if int(entry[0]) > base]
    if not inside:
        return entries
    position = random.choice(inside)
    # The last fifth, mostly: that is where losses happen.
    position = max(position, inside[4 * len(inside) // 5]) if random.random() < 0.7 else position
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: position - base].ljust(size, b"\0"))
    return [entry for entry in entries if int(entry[1]) <= position]


def flip(folder: Path, entries: Entries, random: Random) -> Entries:
    """Flip a bit of the value of a request. Return the entries that remain."""
    path, base = last_segment(folder)
    inside = [entry for entry in entries if entry[2] == "SessionMessage" and int(entry[0]) >= base]
    if not inside:
        return entries
    entry = random.choice(inside)
    data = bytearray(path.read_bytes())
    # Frame header, SBE header, three numbers: then the request.
    data[int(entry[0]) - base + 64 + random.randrange(8)] ^= 1 << random.randrange(8)
    path.write_bytes(data)
    return [one for one in entries if one is not entry]


def damage(kind: str, disks: Path, held: dict[int, Entries], random: Random) -> None:
    """Damage disks; afterwards ``held`` has the entries of each member that remain."""
    members = sorted(held)
    if kind in ("wiped", "two wiped"):
        for member in random.sample(members, 1 if kind == "wiped" else 2):
            shutil.rmtree(disks / f"raw-{member}")
            del held[member]
    elif kind in ("truncated", "old copy", "all truncated"):
        for member in members if kind == "all truncated" else [random.choice(members)]:
            folder = disks / f"raw-{member}"
            held[member] = truncate(folder, held[member], random)
            if kind == "old copy":
                # A copy of a time when the archive did not know where the log ends.
                for name in ("node-state.dat", "cluster-mark.dat"):
                    (folder / name).unlink(missing_ok=True)
    elif kind == "flipped":
        member = random.choice(members)
        held[member] = flip(disks / f"raw-{member}", held[member], random)


def unpack(capture: Path, folder: Path) -> None:
    for member in members_of(capture):
        (folder / f"raw-{member}").mkdir(parents=True)
        for path in (capture / f"raw-{member}").iterdir():
            data = gzip.decompress(path.read_bytes())
            (folder / f"raw-{member}" / path.name.removesuffix(".gz")).write_bytes(data)


def sets_of(capture: Path, folder: Path) -> Iterator[tuple[str, Path, dict[int, Entries]]]:
    """The disks of a capture, damaged in each way."""
    for kind in KINDS:
        random = Random(f"{capture.name} {kind}")
        disks = folder / kind.replace(" ", "-")
        unpack(capture, disks)
        held = {member: log_entries(capture, member) for member in members_of(capture)}
        damage(kind, disks, held, random)
        yield kind, disks, held


def reported(verdict: DisksVerdict) -> tuple[int, int]:
    """The numbers of acknowledged entries that are lost, and that may be on disks not given."""
    texts = [one for one in verdict.findings if "acknowledged" in one.text]
    lost, missing = 0, 0
    for one in texts:
        number = int(one.text.split()[0].replace(",", ""))
        lost += number * (one.kind is Kind.LOST)
        missing += number * (one.kind is Kind.MISSING)
    return lost, missing


@pytest.mark.parametrize("capture", CAPTURES)
def test_lost_entries_of_damaged_disks_are_as_clients_and_archives_recorded(
    capture: Path, tmp_path: Path
) -> None:
    client = tmp_path / "client.jsonl"
    answered = write_acknowledgements(capture, client)
    count = len(members_of(capture))
    quorum = quorum_size(count)
    for kind, disks, held in sets_of(capture, tmp_path):
        values = [
            {field_of(entry, "value") for entry in entries if entry[2] == "SessionMessage"}
            for entries in held.values()
        ]
        copies = [sum(value in one for one in values) for value in answered]
        absent = count - len(held)
        lost = sum(number + absent < quorum for number in copies)
        missing = sum(number < quorum <= number + absent for number in copies)
        try:
            verdict = assess([disks], client=client, member_count=count)
        except DiskError:
            pytest.fail(f"{kind}: refused")
        assert reported(verdict) == (lost, missing), kind

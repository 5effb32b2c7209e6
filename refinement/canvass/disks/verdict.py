"""The verdict on the disks of a cluster: everything that is found, in the order of the questions.

This is the package's one door: `assess` reads the disks and answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from canvass.disks.acknowledged import check_acknowledgements, read_acknowledgements
from canvass.disks.comparison import (
    MemberLog,
    Proof,
    common_position,
    compare,
    differences,
    member_logs,
)
from canvass.disks.disk import MemberDisk, load
from canvass.disks.files import find_members
from canvass.disks.findings import INCOMPLETE, SOUND, DiskError, Finding, Kind, verdict_of
from canvass.disks.layouts import FIRST_150_SCHEMA, NULL_VALUE, RELEASES
from canvass.disks.options import Option, options
from canvass.disks.outlook import Outlook, explore
from canvass.disks.soundness import check


class Verdict(msgspec.Struct, frozen=True, rename="camel"):
    """What the disks of a cluster say."""

    verdict: str
    member_ids: list[int]
    without_disk: list[int]
    member_count: int
    revision: str
    schema_version: int
    releases: str
    findings: list[Finding]
    logs: list[MemberLog]
    common_position: int
    committed: Proof | None
    """How far the log was committed for certain."""
    outlook: Outlook
    with_empty: Outlook | None
    options: list[Option]

    @property
    def exit_code(self) -> int:
        """0 sound, 1 something lost, diverged or damaged, 2 unreadable, 3 incomplete."""
        codes = {SOUND: 0, Kind.UNREADABLE.value: 2, INCOMPLETE: 3}
        return codes.get(self.verdict, 1)


def load_disks(folders: Sequence[Path]) -> list[MemberDisk]:
    """Read the disks of all members.

    Raises
    ------
    DiskError
        If a folder is not there, or two of them are of the same member.
    """
    found = [one for folder in folders for one in find_members(folder)]
    disks = [load(files, index) for index, files in enumerate(found)]
    seen: dict[int, MemberDisk] = {}
    for disk in disks:
        other = seen.setdefault(disk.member_id, disk)
        if other is not disk:
            reason = f"this is member {disk.member_id}, and so is {other.files.folder}"
            raise DiskError(str(disk.files.folder), -1, reason)
    return sorted(disks, key=lambda disk: disk.member_id)


def assess(
    folders: Sequence[Path],
    *,
    lost: Sequence[int] = (),
    member_count: int | None = None,
    client: Path | None = None,
    revision: str | None = None,
    now_ms: int = NULL_VALUE,
) -> Verdict:
    """Read the disks in some folders, and answer.

    Parameters
    ----------
    folders
        One for each member, or one that has a folder for each.
    lost
        Members whose disks are gone: of the cluster, and not read even if given.
    member_count
        How many members the cluster has; by default those that are given, lost, or named in the
        logs as leaders.
    client
        A file of what clients were answered, see `canvass.disks.acknowledged`.
    revision
        Of the protocol; by default that of the release that wrote the logs.
    now_ms
        The time, to notice members that run; -1 if that does not matter.

    Raises
    ------
    DiskError
        If a folder or the client's file cannot be used at all.
    """
    disks = [disk for disk in load_disks(folders) if disk.member_id not in lost]
    if not disks:
        raise DiskError(str(folders[0]) if folders else "", -1, "there is no disk to assess")
    member_ids = _member_ids(disks, lost, member_count)
    comparison = compare(disks)
    found = [one for disk in disks for one in check(disk, now_ms)]
    found += _absent(disks, member_ids, lost)
    found += differences(disks, comparison, len(member_ids))
    if client is not None:
        given = read_acknowledgements(client)
        found += check_acknowledgements(given, comparison, len(member_ids), len(disks))
    version = max((log.schema_version for log in comparison.logs.values()), default=NULL_VALUE)
    rules = revision or ("1.49" if NULL_VALUE < version < FIRST_150_SCHEMA else "1.50")
    outlook = explore(disks, comparison, member_ids, rules)
    with_empty = explore(disks, comparison, member_ids, rules, lost) if lost else None
    return Verdict(
        verdict=verdict_of(found),
        member_ids=[disk.member_id for disk in disks],
        without_disk=[i for i in member_ids if i not in {disk.member_id for disk in disks}],
        member_count=len(member_ids),
        revision=rules,
        schema_version=version,
        releases=RELEASES.get(version, "unknown"),
        findings=found,
        logs=member_logs(disks, comparison),
        common_position=common_position(comparison),
        committed=comparison.floor,
        outlook=outlook,
        with_empty=with_empty,
        options=options(disks, comparison, outlook, with_empty),
    )


def _member_ids(
    disks: Sequence[MemberDisk], lost: Sequence[int], member_count: int | None
) -> list[int]:
    """The ids of all members: given, lost, or a leader of a term in some log; then others."""
    ids = {disk.member_id for disk in disks} | set(lost)
    for disk in disks:
        if disk.log is not None:
            ids |= {run.leader for run in disk.log.terms if 0 <= run.leader < 1000}
    if member_count is not None and member_count < len(ids):
        reason = f"the cluster has at least {len(ids)} members: {', '.join(map(str, sorted(ids)))}"
        raise DiskError(str(disks[0].files.folder), -1, reason)
    free = (i for i in range(len(ids) + (member_count or 0)) if i not in ids)
    while len(ids) < (member_count or 0):
        ids = ids | {next(free)}
    return sorted(ids)


def _absent(
    disks: Sequence[MemberDisk], member_ids: Sequence[int], lost: Sequence[int]
) -> list[Finding]:
    """Members whose disks were not given, though the cluster has them."""
    there = {disk.member_id for disk in disks}
    return [
        Finding(
            Kind.MISSING,
            i,
            str(disks[0].files.folder.parent),
            -1,
            f"no folder of member {i} was given",
            "what only it holds is not counted; give its folder, or --assume-lost",
        )
        for i in member_ids
        if i not in there and i not in lost
    ]

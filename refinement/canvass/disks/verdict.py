"""The verdict on the disks of a cluster: all findings, and the options of the operator.

`assess` is the entry point of the package. It changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from canvass.cluster.messages import NULL_VALUE, Record
from canvass.disks.comparison import (
    Comparison,
    MemberLog,
    Proof,
    check_acknowledgements,
    common_position,
    compare,
    differences,
    member_logs,
    read_acknowledgements,
)
from canvass.disks.disk import MemberDisk, load
from canvass.disks.files import find_members
from canvass.disks.findings import (
    INCOMPLETE,
    SOUND,
    DiskError,
    Finding,
    Kind,
    member_names,
    verdict_of,
)
from canvass.disks.layouts import RELEASES, revision_of
from canvass.disks.possible_leaders import Explorer, Leadership, Outlook
from canvass.disks.soundness import check, reason_not_to_start


class Option(Record, frozen=True):
    """An action of the operator, and its consequence."""

    action: str
    consequence: str


def options(
    disks: Sequence[MemberDisk],
    comparison: Comparison,
    outlook: Outlook,
    with_empty: Outlook | None,
) -> list[Option]:
    """The options of the operator, the first action first."""
    return [
        *_repair(disks, comparison, outlook),
        *_start(outlook),
        *_replace(disks, outlook),
        *_empty(outlook, with_empty),
    ]


def _repair(
    disks: Sequence[MemberDisk], comparison: Comparison, outlook: Outlook
) -> Iterator[Option]:
    """Repair, restore or give up a damaged disk."""
    for disk in disks:
        i, log = disk.member_id, disk.log
        starts = i not in outlook.cannot_start
        if log is not None and log.refuses:
            yield Option(
                f"Run `ArchiveTool verify` on the archive of member {i}",
                f"it truncates the last frame: the log ends at {log.last_frame} then, not at "
                f"{log.end}; {_held(comparison, disk, log.last_frame, log.last_frame)}",
            )
        elif not starts:
            yield Option(
                f"Restore the damaged file of member {i} from a backup of this member",
                "an older file revokes the member's votes and entries; the other members must hold "
                "the entries that it lacks",
            )
        if log is not None and log.problems and log.segments:
            until = max(problem.until for problem in log.problems)
            yield Option(
                f"Treat the disk of member {i} as lost from {log.sound_end} on "
                f"(--assume-lost {i} shows what follows)",
                f"{_held(comparison, disk, log.sound_end, until)}; a member that leads or replays "
                "over the damage stops there",
            )


def _held(comparison: Comparison, disk: MemberDisk, agreed: int, until: int) -> str:
    """Say which other disks hold a member's log up to ``until``.

    Their logs are the same as the member's up to ``agreed``, and sound up to ``until``.
    """
    others = [
        i
        for i in comparison.holders(disk.member_id, agreed)
        if i != disk.member_id and comparison.logs[i].sound_end >= until
    ]
    there = f"the disk of {member_names(others)}" if others else "no other disk"
    return f"the log up to {until} is on {there}"


def _start(outlook: Outlook) -> Iterator[Option]:
    """Name the members to start first. A set is safe if all quorums within it are safe.

    A smaller quorum may elect, because a slow member that was started may take no part in the
    election.
    """
    winners: dict[tuple[int, ...], list[Leadership]] = {}
    for one in outlook.leaderships:
        for members in one.quorums:
            winners.setdefault(tuple(members), []).append(one)
    winners = dict(sorted(winners.items(), key=lambda item: (-len(item[0]), item[0])))
    risky = {
        key: bad
        for key, there in winners.items()
        if (bad := [one for one in there if one.may_lose])
    }
    safe = [key for key in winners if not any(set(other) <= set(key) for other in risky)]
    useful = [key for key in safe if not set(key) & set(outlook.never_join)] or safe
    if not winners:
        yield Option(
            "Bring back more members before you start any",
            f"with these disks no election can be won; it takes {outlook.quorum} of "
            f"{outlook.member_count} members",
        )
    for key in useful[:1]:
        later = " first, and the others when a leader serves" if risky else ""
        yield Option(
            f"Start {member_names(key)}{later}",
            "no committed entry, and no possibly committed entry, is truncated in any election "
            "among these",
        )
    for key, bad in risky.items():
        if not any(set(other) < set(key) for other in risky):
            how = "without the others" if len(key) < outlook.member_count else "all at once"
            losses = "; ".join(_loss(one) for one in bad[:2])
            yield Option(f"Do not start {member_names(key)} {how}", losses)


def _loss(one: Leadership) -> str:
    worst = max(
        one.truncations,
        key=lambda cut: (cut.committed_until - cut.start, cut.possible_until - cut.start),
    )
    if worst.committed_until > worst.start:
        lost = f"{worst.start} to {worst.committed_until}, which was committed"
    else:
        lost = f"{worst.start} to {worst.possible_until}, which may have been committed"
    return (
        f"member {one.leader_member_id} can win there, and then member {worst.member_id} truncates "
        f"{lost}"
    )


def _replace(disks: Sequence[MemberDisk], outlook: Outlook) -> Iterator[Option]:
    """Give a member that can never join another disk."""
    starts = {disk.member_id: disk.log.start for disk in disks if disk.log is not None}
    leader = next((one.leader_member_id for one in outlook.leaderships if one.quorums), NULL_VALUE)
    for i in outlook.never_join:
        yield Option(
            f"Stop member {leader}, and copy its archive and cluster folders to member {i}",
            f"entries that only member {i} holds are lost: keep its folders; keep the higher of "
            "the two candidate terms (node-state.dat)",
        )
        if starts.get(leader, 0) == 0:
            yield Option(
                f"Empty the archive and cluster folders of member {i}, and start it when a leader "
                "serves",
                f"it replays the log from 0; entries that only member {i} holds are lost; until it "
                "has caught up, one other member fewer may fail",
            )


def _empty(outlook: Outlook, with_empty: Outlook | None) -> Iterator[Option]:
    """Start a member without a disk."""
    if with_empty is None:
        return
    lost = with_empty.started_empty
    leaders = [one for one in with_empty.leaderships if one.quorums]
    known = [members for one in outlook.leaderships for members in one.quorums]
    risky = {
        tuple(members): _loss(one)
        for one in leaders
        for members in one.quorums
        if one.may_lose and set(members) & set(lost) and members not in known
    }
    if risky:
        smallest = min(risky, key=len)
        yield Option(
            f"Do not start {member_names(lost)} with an empty disk before a leader serves",
            f"its vote makes {member_names(smallest)} a quorum: {risky[smallest]}",
        )
    stuck = {
        i: why
        for one in leaders
        if one.leader_member_id not in lost
        for i, why in one.stuck.items()
        if i in lost
    }
    for i, why in stuck.items():
        yield Option(
            f"Copy the archive and cluster folders of a stopped member to member {i}",
            f"with an empty disk it cannot join: it {why}",
        )
    if not risky and not stuck:
        yield Option(
            f"Start {member_names(lost)} with an empty disk when a leader serves",
            "it replays the whole log; without its candidate term it may vote again in a term in "
            "which it has voted",
        )


class DisksVerdict(Record, frozen=True):
    """The verdict on the disks of a cluster."""

    verdict: str
    member_ids: list[int]
    without_disk: list[int]
    member_count: int
    revision: str
    schema_version: int
    """The newest version of schema 111 with which a log ends, or -1."""
    releases: str
    """The releases that write this version."""
    findings: list[Finding]
    logs: list[MemberLog]
    common_position: int
    committed: Proof | None
    """The proof of the highest position that is certainly committed."""
    outlook: Outlook
    with_empty: Outlook | None
    options: list[Option]

    @property
    def exit_code(self) -> int:
        """The exit code: 0 sound, 1 lost, diverged or damaged, 2 unreadable, 3 incomplete."""
        codes = {SOUND: 0, Kind.UNREADABLE.value: 2, INCOMPLETE: 3}
        return codes.get(self.verdict, 1)


def load_disks(folders: Sequence[Path]) -> list[MemberDisk]:
    """Read the disks of all members.

    Raises
    ------
    DiskError
        If a folder does not exist, or two folders are of the same member.
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
    now_ms: int = NULL_VALUE,
) -> DisksVerdict:
    """Read the disks in some folders, and answer.

    Parameters
    ----------
    folders
        One folder for each member, or one folder that has a folder for each member.
    lost
        The members whose disks are lost. Their folders are not assessed.
    member_count
        The number of members of the cluster. By default, the number of members that are given,
        lost, or named in the logs as leaders.
    client
        A file with the answers to clients, see `canvass.disks.comparison`.
    now_ms
        The current time in milliseconds, to notice running members; -1 omits this check.

    Raises
    ------
    DiskError
        If a folder or the client's file cannot be used at all.
    """
    disks = [disk for disk in load_disks(folders) if disk.member_id not in lost]
    if all(disk.files.is_empty for disk in disks):
        reason = "no file of a member is there: there is no disk to assess"
        raise DiskError(str(folders[0]) if folders else "", -1, reason)
    member_ids = _member_ids(disks, lost, member_count)
    comparison = compare(disks)
    checked = {disk.member_id: check(disk, now_ms) for disk in disks}
    found = [one for findings in checked.values() for one in findings]
    found += _absent(disks, member_ids, lost)
    found += differences(disks, comparison, len(member_ids))
    if client is not None:
        given = read_acknowledgements(client)
        found += check_acknowledgements(given, comparison, len(member_ids), len(disks))
    version = max((log.schema_version for log in comparison.logs.values()), default=NULL_VALUE)
    rules = revision_of(version)
    reasons = {disk.member_id: reason_not_to_start(disk, checked[disk.member_id]) for disk in disks}
    cannot_start = {i: why for i, why in reasons.items() if why}
    by_id = {disk.member_id: disk for disk in disks}

    def explore(empty: Sequence[int]) -> Outlook:
        return Explorer(by_id, comparison, member_ids, empty, rules, cannot_start).outlook()

    outlook, with_empty = explore(()), explore(lost) if lost else None
    return DisksVerdict(
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
    """The ids of members that are given, lost, or leaders in a log. Free ids fill up the number."""
    ids = {disk.member_id for disk in disks}
    for disk in disks:
        if disk.log is not None:
            ids |= {run.leader for run in disk.log.terms if 0 <= run.leader < 1000}
    unknown = max(set(lost) - ids, default=0)
    ids |= set(lost)
    if member_count is None and unknown >= len(ids):
        reason = (
            f"no folder and no log names member {unknown};"
            f" give --members {len(ids)} if the cluster has it"
        )
        raise DiskError(str(disks[0].files.folder), -1, reason)
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
    """Name the members whose disks are neither given nor lost."""
    there = {disk.member_id for disk in disks}
    return [
        Finding(
            Kind.MISSING,
            i,
            str(disks[0].files.folder.parent),
            -1,
            f"no folder of member {i} was given",
            "entries that only this disk holds are not counted; give its folder, or --assume-lost",
        )
        for i in member_ids
        if i not in there and i not in lost
    ]

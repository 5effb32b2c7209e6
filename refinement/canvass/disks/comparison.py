"""Comparison of several disks: where the logs differ, and which committed or acknowledged entries
the disks lack.

No file names the committed entries. Two facts prove them: a leader appends the first entry of its
term only when a quorum has recorded all entries before it, and a snapshot contains only committed
entries. Both are lower bounds: clients may have answers for later entries.

An egress message repeats the session and the timestamp of the entry that a service processed. A
client that logs both knows the acknowledged entries. Each line of its file is one JSON object:
``{"clusterSessionId": 7, "timestamp": 1795341312786}``, with ``"payload"``, the first eight bytes
of the request in hexadecimal, if requests can have the same timestamp.
"""

from __future__ import annotations

import gzip
import zlib
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from canvass.cluster.messages import NULL_VALUE, Record
from canvass.cluster.predicates import quorum_size
from canvass.disks.disk import MemberDisk
from canvass.disks.files import RECORDING_LOG
from canvass.disks.findings import ALL_MEMBERS, DiskError, Finding, Kind, member_names
from canvass.disks.log import RecordedLog, TermRun, agreement, session_messages
from canvass.disks.small_files import LogEntry


class MemberLog(Record, frozen=True):
    """One member's log: its start, its end, and its part beyond the common position."""

    member_id: int
    start: int
    end: int
    log_leadership_term_id: int
    snapshot_position: int
    candidate_term_id: int
    schema_version: int
    """The version of schema 111 of the last entry, or -1."""
    beyond_common: list[TermRun]


class Proof(Record, frozen=True):
    """The evidence on one disk that its entries before ``position`` were committed."""

    position: int
    member_id: int
    file: str
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of several logs.

    ``agreed`` has, for each pair of members with the lower id first, the position up to which their
    logs are the same. ``proofs`` has the furthest proofs of each member.
    """

    logs: Mapping[int, RecordedLog]
    agreed: Mapping[tuple[int, int], int]
    proofs: tuple[Proof, ...]

    @property
    def floor(self) -> Proof | None:
        """The proof that reaches furthest."""
        return max(self.proofs, key=lambda proof: proof.position, default=None)

    def agreement(self, i: int, j: int) -> int:
        """The position up to which the logs of two members are the same."""
        if i == j:
            return self.logs[i].end
        return self.agreed[min(i, j), max(i, j)]

    def holders(self, member_id: int, position: int) -> list[int]:
        """The members whose log is the same as a member's up to a position."""
        return [j for j in sorted(self.logs) if self.agreement(member_id, j) >= position]


def compare(disks: Sequence[MemberDisk]) -> Comparison:
    """Compare the logs of all disks that have one."""
    logs = {
        disk.member_id: disk.log for disk in disks if disk.log is not None and disk.log.segments
    }
    agreed = {(i, j): agreement(logs[i], logs[j]) for i, j in combinations(sorted(logs), 2)}
    proofs = tuple(proof for disk in disks for proof in _proofs(disk))
    return Comparison(logs, agreed, proofs)


def _proofs(disk: MemberDisk) -> Iterator[Proof]:
    """The furthest proof in a log's own entries, and the furthest of its snapshots."""
    opened = [run for run in disk.log.terms if run.base != NULL_VALUE] if disk.log else []
    for run in opened[-1:]:
        assert disk.log is not None
        text = f"term {run.term} was opened at {run.start} by member {run.leader}"
        yield Proof(run.start, disk.member_id, *disk.log.place(run.start), text)
    taken = max(disk.snapshots, key=lambda entry: entry.log_position, default=None)
    if taken is not None:
        text = f"a snapshot was taken at {taken.log_position} of term {taken.leadership_term_id}"
        path = disk.path(RECORDING_LOG)
        yield Proof(taken.log_position, disk.member_id, path, taken.offset, text)


def common_position(comparison: Comparison) -> int:
    """The position up to which all logs are the same; 0 if there are fewer than two logs."""
    members = sorted(comparison.logs)
    return min((comparison.agreement(members[0], j) for j in members[1:]), default=0)


def member_logs(disks: Sequence[MemberDisk], comparison: Comparison) -> list[MemberLog]:
    """The `MemberLog` of each disk."""
    common = common_position(comparison)
    return [
        MemberLog(
            disk.member_id,
            disk.log.start if disk.log else 0,
            disk.end,
            disk.log_term,
            disk.snapshot_position,
            disk.candidate_term_id,
            NULL_VALUE if disk.log is None else disk.log.schema_version,
            [
                replace(run, start=max(run.start, common))
                for run in (disk.log.terms if disk.log else ())
                if run.end > common
            ],
        )
        for disk in disks
    ]


def differences(
    disks: Sequence[MemberDisk], comparison: Comparison, member_count: int
) -> list[Finding]:
    """The findings about several disks: contradictions, and committed entries without a quorum."""
    return [
        *_same_term(comparison),
        *_two_histories(comparison),
        *_snapshots_beyond(disks),
        *_durability(disks, comparison, member_count),
    ]


def _same_term(comparison: Comparison) -> Iterator[Finding]:
    """Find different entries of one term; a term has one leader, and so the same entries."""
    for position, groups in _differences_in_a_term(comparison).items():
        odd = _odd_one(groups)
        first, other = groups[-1][0], groups[0][0]
        if odd == ALL_MEMBERS:
            first, other = sorted((first, other))
        file, offset = comparison.logs[first].place(position)
        theirs, place = comparison.logs[other].place(position)
        run = comparison.logs[first].term_at(position)
        term = NULL_VALUE if run is None else run.term
        if odd == ALL_MEMBERS:
            members = member_names(sorted(i for group in groups for i in group))
            text = f"{members} hold different entries of term {term} at {position}"
        else:
            text = (
                f"member {odd} holds another entry of term {term} at {position} than "
                f"{member_names(groups[0])}, which agree"
            )
        consequence = (
            "no election repairs this: a member with the same log term is not truncated, and the "
            "services of the two process different entries"
        )
        text += f" ({theirs}:{place})"
        yield Finding(Kind.DIVERGED, odd, file, offset, text, consequence)


def _same_term_at(comparison: Comparison, pair: tuple[int, int], position: int) -> bool:
    mine, theirs = (comparison.logs[k].term_at(position) for k in pair)
    return mine is not None and theirs is not None and mine.term == theirs.term


def _differences_in_a_term(comparison: Comparison) -> dict[int, list[list[int]]]:
    """The positions at which members hold different entries of one term.

    With each, the members in groups that agree beyond it, the largest group first.
    """
    found: dict[int, list[list[int]]] = {}
    for pair, position in comparison.agreed.items():
        if not _same_term_at(comparison, pair, position):
            continue
        groups = found.setdefault(position, [])
        for i in pair:
            if any(i in group for group in groups):
                continue
            alike = (one for one in groups if comparison.agreement(i, one[0]) > position)
            group = next(alike, None)
            if group is None:
                groups.append([i])
            else:
                group.append(i)
    return {
        position: sorted(groups, key=lambda one: (-len(one), one))
        for position, groups in sorted(found.items())
    }


def _odd_one(groups: Sequence[Sequence[int]]) -> int:
    """The only member that differs, if several others agree; else `ALL_MEMBERS`."""
    is_odd = len(groups) == 2 and len(groups[1]) == 1 < len(groups[0])
    return groups[1][0] if is_odd else ALL_MEMBERS


def _two_histories(comparison: Comparison) -> Iterator[Finding]:
    """Find logs that differ although both were committed beyond the difference."""
    reached: dict[int, list[Proof]] = {}
    for proof in comparison.proofs:
        reached.setdefault(proof.member_id, []).append(proof)
    for (i, j), position in comparison.agreed.items():
        ends = comparison.logs[i].sound_end, comparison.logs[j].sound_end
        beyond = [
            max(reached.get(k, ()), key=lambda proof: proof.position, default=None) for k in (i, j)
        ]
        a, b = beyond
        if a is None or b is None or position >= min(ends):
            continue
        same = _same_term_at(comparison, (i, j), position)
        if same or min(a.position, b.position) <= position:
            continue
        text = (
            f"members {i} and {j} differ from {position} on, and both logs were committed beyond "
            f"this position: {a.text} (member {i}); {b.text} (member {j}, {b.file}:{b.offset})"
        )
        consequence = "one of them loses committed entries when it joins the other"
        yield Finding(Kind.DIVERGED, ALL_MEMBERS, a.file, a.offset, text, consequence)


def _snapshots_beyond(disks: Sequence[MemberDisk]) -> Iterator[Finding]:
    """Find snapshots beyond the position at which their term ends for another member."""
    ends: dict[int, tuple[LogEntry, MemberDisk]] = {}
    for disk in disks:
        for entry in disk.terms:
            if entry.log_position != NULL_VALUE and entry is not disk.last_term:
                ends.setdefault(entry.leadership_term_id, (entry, disk))
    for disk in disks:
        own = {entry.leadership_term_id: entry for entry in disk.terms}
        for taken in disk.snapshots:
            term = taken.leadership_term_id
            closed = ends.get(term)
            known = own.get(term)
            if closed is None or taken.log_position <= closed[0].log_position:
                continue
            if known is not None and known.log_position == closed[0].log_position:
                continue  # In the member's own recording log the term ends there, too.
            text = (
                f"a snapshot was taken at {taken.log_position} of term {term}, which ends at "
                f"{closed[0].log_position} for member {closed[1].member_id} "
                f"({closed[1].path(RECORDING_LOG)}:{closed[0].offset})"
            )
            consequence = "committed entries of that term are not in the log of that member"
            yield disk.finding(Kind.LOST, RECORDING_LOG, taken.offset, text, consequence)


def _durability(
    disks: Sequence[MemberDisk], comparison: Comparison, member_count: int
) -> Iterator[Finding]:
    """Find committed entries that are not on a quorum."""
    quorum = quorum_size(member_count)
    unknown = member_count - len(disks)
    alike = _differences_in_a_term(comparison).values()
    sound_copies = {_odd_one(groups): groups[0][0] for groups in alike}
    for proof in comparison.proofs:
        log = comparison.logs.get(proof.member_id)
        if log is None or not 0 < proof.position <= log.end:
            continue
        holders = comparison.holders(proof.member_id, min(proof.position, log.sound_end))
        if proof.member_id in sound_copies:
            sound = comparison.holders(sound_copies[proof.member_id], proof.position)
            holders = max(holders, sound, key=len)
        if len(holders) >= quorum:
            continue
        there = member_names(holders)
        text = (
            f"{proof.text}, so the entries before {proof.position} were committed; they are on "
            f"{len(holders)} of {member_count} disks only ({there}), and a quorum is {quorum}"
        )
        kind, consequence = _loss(len(holders), unknown, quorum)
        yield Finding(kind, proof.member_id, proof.file, proof.offset, text, consequence)


def _loss(holders: int, unknown: int, quorum: int) -> tuple[Kind, str]:
    """The kind and the consequence of entries that fewer disks than a quorum hold.

    Parameters
    ----------
    holders
        The number of given disks that hold the entries.
    unknown
        The number of disks that were not given.
    """
    disks = f"{unknown} disk{'' if unknown == 1 else 's'}"
    if holders + unknown < quorum:
        elections = "an election without these members loses them"
        return Kind.LOST, elections if holders else "they are lost"
    if holders:
        text = f"an election of members without them loses them; {disks} not given may hold them"
        return Kind.MISSING, text
    return Kind.MISSING, f"they are lost, unless the {disks} not given hold them"


MAX_LINE: Final = 10_000
"""The most bytes of a line that are read. A longer line is no answer."""

Key = tuple[int, int, int | None]
"""Session, timestamp, and the first eight bytes of the payload, or None if it is not given."""


class Acknowledgement(Record, frozen=True, forbid_unknown_fields=True):
    """One line of a client's file."""

    cluster_session_id: int
    timestamp: int
    payload: str | None = None


@dataclass(frozen=True, slots=True)
class Acknowledgements:
    """The acknowledged entries, each with the numbers of its lines in the file."""

    file: str
    lines: Mapping[Key, Sequence[int]]


def read_acknowledgements(path: Path) -> Acknowledgements:
    """Read the file.

    Raises
    ------
    DiskError
        If the file cannot be read or has no answer, or if a line does not have the form that the
        module describes. The error names the line.
    """
    decoder = msgspec.json.Decoder(Acknowledgement)
    lines: defaultdict[Key, list[int]] = defaultdict(list)
    number = 0
    try:
        with (gzip.open if path.name.endswith(".gz") else open)(path, "rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), b""), 1):
                # Some editors write a byte order mark at the beginning of a file.
                if text := (line.removeprefix(BOM_UTF8) if number == 1 else line).strip():
                    one = decoder.decode(text)
                    key = (one.cluster_session_id, one.timestamp, _word(one.payload))
                    lines[key].append(number)
    except (EOFError, OSError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        place = (number, f"line {number}: {reason}") if number else (-1, reason)
        raise DiskError(f"{path}", *place) from None
    if not lines:
        raise DiskError(f"{path}", -1, "the file has no answer to a client")
    return Acknowledgements(str(path), lines)


def _word(payload: str | None) -> int | None:
    if payload is None:
        return None
    return int.from_bytes(bytes.fromhex(payload)[:8].ljust(8, b"\0"), "little", signed=True)


class _Held:
    """The session messages that one log holds, each with its payload and without it."""

    def __init__(self, log: RecordedLog) -> None:
        rows = session_messages(log, log.start, log.sound_end).tolist()
        self.start = log.start
        self.first_timestamp: int | None = rows[0][2] if rows else None
        self.positions: defaultdict[Key, list[int]] = defaultdict(list)
        for position, session, timestamp, _, word in rows:
            for key in ((session, timestamp, word), (session, timestamp, None)):
                self.positions[key].append(position)

    def may_have_purged(self, key: Key, first: int | None) -> bool:
        """Whether the log's purged part can hold an entry that a log first holds at ``first``."""
        if self.start == 0:
            return False
        if first is not None:
            return first < self.start
        return self.first_timestamp is None or key[1] <= self.first_timestamp


def check_acknowledgements(
    given: Acknowledgements, comparison: Comparison, member_count: int, disk_count: int
) -> list[Finding]:
    """Find acknowledged entries that are on no quorum of the disks.

    Notes
    -----
    Whole logs are compared: a request that was sent again counts once for each of its entries. A
    purged log counts as a holder of an entry if another log holds the entry at a position before
    the start of the purged log. If no log holds the entry, its timestamp decides: a purged log
    counts as a holder if none of its remaining messages is older than the entry.
    """
    held = {i: _Held(log) for i, log in sorted(comparison.logs.items())}
    quorum, unknown = quorum_size(member_count), member_count - disk_count
    short: dict[tuple[int, ...], list[Key]] = {}
    for key, lines in given.lines.items():
        positions = {i: one.positions.get(key, []) for i, one in held.items()}
        first = min((at[0] for at in positions.values() if at), default=None)
        there = [
            i
            for i, one in held.items()
            if len(positions[i]) >= len(lines) or one.may_have_purged(key, first)
        ]
        if len(there) < quorum:
            short.setdefault(tuple(there), []).append(key)
    found = []
    for members, keys in sorted(short.items()):
        keys.sort(key=lambda key: given.lines[key][0])
        line, number = given.lines[keys[0]][0], sum(len(given.lines[key]) for key in keys)
        where = f"on {member_names(members)} only" if members else "on no disk"
        entries = "entry is" if number == 1 else "entries are"
        text = (
            f"{number:,} acknowledged {entries} {where} (the first: session {keys[0][0]}, "
            f"timestamp {keys[0][1]})"
        )
        kind, consequence = _loss(len(members), unknown, quorum)
        found.append(Finding(kind, ALL_MEMBERS, given.file, line, text, consequence))
    return found

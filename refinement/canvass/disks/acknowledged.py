"""What clients were answered, held against the disks.

An egress message repeats the session and the timestamp of the entry that a service processed, so
that a client that logs them knows which entry was acknowledged. Each line of the file is one JSON
object: ``{"clusterSessionId": 7, "timestamp": 1795341312786}``, with ``"payload"`` (the first eight
bytes of the request in hexadecimal) if requests can have the same timestamp; or
``{"logPosition": 4192}``, the position up to which an answer covers the log.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from canvass.cluster.quorum import quorum_size
from canvass.disks.comparison import Comparison
from canvass.disks.findings import ALL_MEMBERS, DiskError, Finding, Kind
from canvass.disks.log import RecordedLog, session_messages

MAX_LINE: Final = 10_000
"""Bytes of one line."""

Key = tuple[int, int, int]
"""Session, timestamp, and the first eight bytes of the payload, or 0 where they are not given."""


class Acknowledgement(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One line."""

    cluster_session_id: int | None = None
    timestamp: int | None = None
    payload: str | None = None
    log_position: int | None = None


@dataclass(frozen=True, slots=True)
class Acknowledgements:
    """All lines: how often each entry was acknowledged, and the line that said so first."""

    file: str
    entries: Mapping[Key, int]
    lines: Mapping[Key, int]
    log_position: int
    log_position_line: int

    @property
    def with_payload(self) -> bool:
        """Whether entries are distinguished by what is in them."""
        return any(key[2] for key in self.entries)


def _lines(path: Path) -> Iterator[bytes]:
    opener = gzip.open if path.name.endswith(".gz") else open
    with opener(path, "rb") as file:
        while line := file.readline(MAX_LINE + 1):
            yield line


def read_acknowledgements(path: Path) -> Acknowledgements:
    """Read the file.

    Raises
    ------
    DiskError
        If it cannot be read, or a line is not as described above; it names the line.
    """
    decoder = msgspec.json.Decoder(Acknowledgement)
    entries: Counter[Key] = Counter()
    lines: dict[Key, int] = {}
    furthest, furthest_line, number = -1, -1, 0
    try:
        for number, line in enumerate(_lines(path), 1):
            if len(line) > MAX_LINE:
                raise DiskError(f"{path}", number, f"line {number} is longer than {MAX_LINE} bytes")
            if not line.strip():
                continue
            one = decoder.decode(line)
            if one.log_position is not None and one.log_position > furthest:
                furthest, furthest_line = one.log_position, number
            if one.cluster_session_id is not None and one.timestamp is not None:
                key = (one.cluster_session_id, one.timestamp, _word(one.payload))
                entries[key] += 1
                lines.setdefault(key, number)
            elif one.log_position is None:
                raise ValueError("neither clusterSessionId and timestamp nor logPosition")
    except (ValueError, msgspec.DecodeError, EOFError, zlib.error, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        place = (number, f"line {number}: {reason}") if number else (-1, reason)
        raise DiskError(f"{path}", *place) from None
    return Acknowledgements(str(path), entries, lines, furthest, furthest_line)


def _word(payload: str | None) -> int:
    if payload is None:
        return 0
    return int.from_bytes(bytes.fromhex(payload)[:8].ljust(8, b"\0"), "little", signed=True)


def _held(log: RecordedLog, *, with_payload: bool) -> Counter[Key]:
    rows = session_messages(log, log.start, log.sound_end).tolist()
    return Counter((row[1], row[2], row[4] if with_payload else 0) for row in rows)


def check_acknowledgements(
    given: Acknowledgements, comparison: Comparison, member_count: int, disk_count: int
) -> list[Finding]:
    """Which acknowledged entries are on no quorum of the disks.

    Notes
    -----
    Entries that a member has purged behind a snapshot are taken to be there; sessions are compared
    in whole logs, so that a retried request counts for each of its entries.
    """
    held = {
        i: _held(log, with_payload=given.with_payload) for i, log in sorted(comparison.logs.items())
    }
    purged = {i: log.start for i, log in comparison.logs.items() if log.start > 0}
    quorum, unknown = quorum_size(member_count), member_count - disk_count
    short: dict[tuple[int, ...], list[Key]] = {}
    for key, count in given.entries.items():
        there = [i for i, one in held.items() if i in purged or one[key] >= count]
        if len(there) < quorum:
            short.setdefault(tuple(there), []).append(key)
    found = []
    for members, keys in sorted(short.items()):
        keys.sort(key=lambda key: given.lines[key])
        first, number = keys[0], sum(given.entries[key] for key in keys)
        where = f"on member {', '.join(map(str, members))} only" if members else "on no disk"
        entries = "entry is" if number == 1 else "entries are"
        text = (
            f"{number:,} acknowledged {entries} {where} (the first: session {first[0]}, "
            f"timestamp {first[1]})"
        )
        if not members:
            consequence = "they are lost"
        else:
            consequence = "an election without these members loses them"
        kind = Kind.MISSING if len(members) + unknown >= quorum else Kind.LOST
        if kind is Kind.MISSING:
            consequence += f"; {unknown} disks were not given"
        found.append(Finding(kind, ALL_MEMBERS, given.file, given.lines[first], text, consequence))
    found += _position(given, comparison, quorum, unknown)
    return found


def _position(
    given: Acknowledgements, comparison: Comparison, quorum: int, unknown: int
) -> Iterator[Finding]:
    if given.log_position < 0:
        return
    there = [i for i, log in sorted(comparison.logs.items()) if log.sound_end >= given.log_position]
    if len(there) < quorum:
        where = f"member {', '.join(map(str, there))} only" if there else "no disk"
        text = f"the log was acknowledged up to {given.log_position:,}, and {where} reaches it"
        kind = Kind.MISSING if len(there) + unknown >= quorum else Kind.LOST
        consequence = "an election without it loses what clients were answered for"
        yield Finding(kind, ALL_MEMBERS, given.file, given.log_position_line, text, consequence)

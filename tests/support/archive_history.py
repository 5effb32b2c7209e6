"""A short history of one archive: its actions, and the disk after each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from canvass.archive.archive import Archive
from canvass.cluster.member import TermEntry

SMALL_SEGMENT = 256
IMAGES = 64
"""The number of disks that are tried for each folder at each boundary."""


@dataclass(frozen=True)
class Disk:
    """The content of an archive."""

    payloads: tuple[bytes, ...] = ()
    candidate_term_id: int = -1
    terms: tuple[TermEntry, ...] = ()
    snapshot: bytes = b""


Operation = tuple[Callable[[Archive], None], Callable[[Disk], Disk]]
"""A change of an archive, and the same change of the expected disk."""


def record(*payloads: bytes) -> Operation:
    def do(archive: Archive) -> None:
        for payload in payloads:
            archive.recording.append(payload)
        archive.recording.sync()

    return do, lambda disk: replace(disk, payloads=disk.payloads + payloads)


def change(keep: int = -1, candidate: int = -1, *terms: TermEntry) -> Operation:
    """Truncate the log after ``keep`` entries, vote, and write the recording log."""

    def do(archive: Archive) -> None:
        ends = [0, *(frame.end for frame in archive.recording.replay(0, archive.recording.end))]
        kept = archive.kept
        vote = candidate if candidate >= 0 else kept.candidate_term_id
        changed = msgspec.structs.replace(kept, candidate_term_id=vote, terms=terms or kept.terms)
        archive.change(changed, ends[keep] if keep >= 0 else -1)

    def make(disk: Disk) -> Disk:
        return Disk(
            disk.payloads[:keep] if keep >= 0 else disk.payloads,
            candidate if candidate >= 0 else disk.candidate_term_id,
            terms or disk.terms,
            disk.snapshot,
        )

    return do, make


def snapshot(content: bytes) -> Operation:
    def do(archive: Archive) -> None:
        position = archive.recording.end
        parts = {-1: b"module " + content, 0: content}
        archive.write_snapshot(0, 0, position, parts)

    return do, lambda disk: replace(disk, snapshot=content)


FIRST = TermEntry(0, 0, -1)
HISTORY: tuple[Operation, ...] = (
    change(-1, 0),
    change(-1, -1, FIRST),
    record(b"a" * 60, b"b"),
    record(b"c" * 200),
    record(b"d" * 600),
    snapshot(b"first"),
    change(-1, 1),
    record(b"e", b"f" * 90, b"g"),
    change(4, 2, msgspec.structs.replace(FIRST, log_position=1056), TermEntry(2, 1056, -1)),
    record(b"h" * 300),
    snapshot(b"second"),
    change(1, -1, msgspec.structs.replace(FIRST, log_position=96)),
    record(b"i"),
)

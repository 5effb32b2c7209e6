"""What a bad disk does to a member's recording: bits that rot, writes that go astray or are lost.

Only data that is known to be synced is damaged: a later entry says so. Without a later entry,
damage cannot be distinguished from the torn tail that a power failure leaves.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

from canvass.archive.memory import SECTOR, MemoryStorage
from canvass.archive.recording import segment_name, segment_starts
from canvass.archive.repair import sound_frames

Spoil: TypeAlias = Callable[[MemoryStorage, random.Random], str]
"""Damages a recording somewhere; says how, or nothing if there is nothing to damage."""


def rot(storage: MemoryStorage, rng: random.Random) -> str:
    """Let a bit rot."""
    known = _known_position(storage)
    if not known:
        return ""
    position = rng.randrange(known)
    start = _segment_of(storage, position)
    storage.spoil(segment_name(0, start), position - start, 1 << rng.randrange(8))
    return "bit rot"


def stray(storage: MemoryStorage, rng: random.Random) -> str:
    """Let a sector hold what belongs elsewhere in the recording, or what it held when it was new.

    The first is what a write leaves that went to a wrong place, the second what one leaves at its
    right place that went astray or was never done.
    """
    known = _known_position(storage)
    if not known:
        return ""
    start, offset, old = _sector(storage, rng.randrange(known), known)
    if rng.random() < 0.5:
        kind, new = "write lost", bytes(len(old))
    else:
        _, _, other = _sector(storage, rng.randrange(known), known)
        kind, new = "write astray", other[: len(old)].ljust(len(old), b"\0")
    if new == old:
        return ""
    storage.stray(segment_name(0, start), offset, new)
    return kind


def _known_position(storage: MemoryStorage) -> int:
    """Up to where entries say that what was before them had been synced."""
    return max((one.position - one.unsynced for one in sound_frames(storage)), default=0)


def _segment_of(storage: MemoryStorage, position: int) -> int:
    return max(start for start in segment_starts(storage, 0) if start <= position)


def _sector(storage: MemoryStorage, position: int, known: int) -> tuple[int, int, bytes]:
    """The sector that a position is in: segment, offset, and contents up to what is known."""
    start = _segment_of(storage, position)
    offset = (position - start) // SECTOR * SECTOR
    length = min(SECTOR, known - start - offset)
    return start, offset, storage.read(segment_name(0, start), offset, length)

"""The log of a core alone: the term of each byte.

A term has one leader and one base, so a term and a position identify a byte.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive bytes of one term, from ``start`` to ``end``.

    ``base`` is where the term begins in its leader's log, with its NewLeadershipTermEvent. A
    segment that starts later does not have that entry.
    """

    term: int
    base: int
    start: int
    end: int


Log: TypeAlias = tuple[Segment, ...]


def length(log: Log) -> int:
    """The position at which a log ends."""
    return log[-1].end if log else 0


def cut(log: Log, position: int) -> Log:
    """The log up to a position."""
    return tuple(
        segment if segment.end <= position else replace(segment, end=position)
        for segment in log
        if segment.start < position
    )


def append(log: Log, segment: Segment) -> Log:
    """The log continued with a segment, which is merged with the last one if the term is equal."""
    if segment.start != length(log):
        raise ValueError(f"bytes from {segment.start} do not follow a log up to {length(log)}")
    if segment.start >= segment.end:
        return log
    if log and log[-1].term == segment.term:
        return (*log[:-1], replace(log[-1], end=segment.end))
    return (*log, segment)


def copy(log: Log, source: Log, position: int) -> Log:
    """The log continued up to a position with the bytes of another log."""
    for segment in cut(source, position):
        start = length(log)
        if segment.end > start:
            log = append(log, replace(segment, start=max(start, segment.start)))
    return log


def segment_at(log: Log, position: int) -> Segment | None:
    """The segment that holds the byte after a position, or None at the log's end."""
    return next((segment for segment in log if segment.start <= position < segment.end), None)


def agreement(a: Log, b: Log) -> int:
    """The length of the longest common prefix of two logs."""
    agreed = 0
    for mine in a:
        theirs = segment_at(b, agreed)
        while theirs is not None and agreed < mine.end and theirs.term == mine.term:
            agreed = min(mine.end, theirs.end)
            theirs = segment_at(b, agreed)
        if agreed < mine.end:
            break
    return agreed


def checksum(log: Log, position: int) -> int:
    """A checksum of 64 bits of the log up to a position; equal logs have equal checksums."""
    text = ",".join(f"{part.term}:{part.start}-{part.end}" for part in cut(log, position))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

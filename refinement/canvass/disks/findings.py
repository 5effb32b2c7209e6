"""What can be wrong with disks: kinds of findings, their verdict, and what cannot be read."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

import msgspec

ALL_MEMBERS: Final = -1
"""The member id of a finding about several disks together."""


class Kind(str, Enum):
    """How grave a finding is; the gravest decides the verdict."""

    LOST = "LOST"
    """Something that was committed is on no quorum of the disks, or on none of them."""
    DIVERGED = "DIVERGED"
    """Two disks hold different entries where the protocol allows one."""
    DAMAGED = "DAMAGED"
    """A disk contradicts itself, or bytes on it are damaged."""
    UNREADABLE = "UNREADABLE"
    """A file is not what its name says."""
    MISSING = "MISSING"
    """A file is not there, so that something could not be checked."""
    NOTE = "NOTE"
    """Nothing is wrong with it."""


SOUND: Final = "SOUND"
INCOMPLETE: Final = "INCOMPLETE"
_VERDICTS: Final = {Kind.MISSING: INCOMPLETE, Kind.NOTE: SOUND}


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """One sentence, with its evidence and what follows from it.

    ``member_id`` is `ALL_MEMBERS` for a finding about several disks. ``offset`` is a byte of
    ``file``, or -1 for the whole of it.
    """

    kind: Kind
    member_id: int
    file: str
    offset: int
    text: str
    consequence: str = ""

    @property
    def place(self) -> str:
        """The evidence: file and offset."""
        return self.file if self.offset < 0 else f"{self.file}:{self.offset}"


def verdict_of(findings: Iterable[Finding]) -> str:
    """The verdict: the gravest kind, or SOUND."""
    order = list(Kind)
    gravest = min((order.index(finding.kind) for finding in findings), default=len(order) - 1)
    return _VERDICTS.get(order[gravest], order[gravest].value)


_SHOWN: Final = 300


def printable(text: str) -> str:
    """The text in one line, without control characters, cut after a few hundred characters."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:_SHOWN])


class DiskError(Exception):
    """A file is not what its name says, or cannot be read.

    Parameters
    ----------
    file
        As the caller named it.
    offset
        The byte at which reading failed, or -1 if that is not one byte.
    reason
        Why, for people. Text taken from the file is shown with its control characters escaped.
    """

    def __init__(self, file: str, offset: int, reason: str) -> None:
        super().__init__(file, offset, reason)
        self.file = printable(file)
        self.offset = offset
        self.reason = printable(reason)

    def __str__(self) -> str:
        """Say where and why, in one line."""
        place = self.file if self.offset < 0 else f"{self.file}:{self.offset}"
        return f"{place}: {self.reason}"

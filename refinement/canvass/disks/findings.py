"""What can be found on disks: the kinds, and the verdict that follows from them."""

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
_CODES: Final = {SOUND: 0, Kind.UNREADABLE.value: 2, INCOMPLETE: 3}


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


def verdict(findings: Iterable[Finding]) -> str:
    """The verdict: the gravest kind, or SOUND."""
    order = list(Kind)
    gravest = min((order.index(finding.kind) for finding in findings), default=len(order) - 1)
    return _VERDICTS.get(order[gravest], order[gravest].value)


def exit_code(verdict_: str) -> int:
    """0 sound, 1 something lost, diverged or damaged, 2 unreadable, 3 incomplete."""
    return _CODES.get(verdict_, 1)

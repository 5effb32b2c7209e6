"""Findings about disks, their kinds, their verdict, and the error for unreadable files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from canvass.cluster.messages import Record

ALL_MEMBERS: Final = -1
"""The member id of a finding about several disks together."""


class Kind(str, Enum):
    """The kind of a finding, the gravest first. The gravest finding decides the verdict."""

    LOST = "LOST"
    """Committed or acknowledged entries are on fewer disks than a quorum."""
    DIVERGED = "DIVERGED"
    """Two disks hold different entries where the protocol allows only one."""
    DAMAGED = "DAMAGED"
    """A disk contradicts itself, or bytes on it are damaged."""
    UNREADABLE = "UNREADABLE"
    """A file does not have the format that its name promises, or is of an unknown release."""
    MISSING = "MISSING"
    """A file is missing, and a part of the disk could not be checked."""
    NOTE = "NOTE"
    """Nothing is wrong."""


SOUND: Final = "SOUND"
INCOMPLETE: Final = "INCOMPLETE"
_VERDICTS: Final = {Kind.MISSING: INCOMPLETE, Kind.NOTE: SOUND}


class Finding(Record, frozen=True):
    """One sentence, with its evidence and its consequence.

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


def member_names(members: Sequence[int]) -> str:
    """Name members, such as "member 1" or "members 0 and 2"."""
    if len(members) == 1:
        return f"member {members[0]}"
    return f"members {', '.join(map(str, members[:-1]))} and {members[-1]}"


_SHOWN: Final = 300


def printable(text: str) -> str:
    """The text in one line, without control characters, cut after a few hundred characters."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:_SHOWN])


class DiskError(Exception):
    """A file does not have the format that its name promises, or cannot be read.

    Parameters
    ----------
    file
        The path as the caller wrote it.
    offset
        The offset at which reading failed, or -1 for the whole file.
    reason
        The reason, for people. Control characters are escaped.
    """

    def __init__(self, file: str, offset: int, reason: str) -> None:
        super().__init__(file, offset, reason)
        self.file = printable(file)
        self.offset = offset
        self.reason = printable(reason)

    def __str__(self) -> str:
        """The place and the reason, in one line."""
        place = self.file if self.offset < 0 else f"{self.file}:{self.offset}"
        return f"{place}: {self.reason}"

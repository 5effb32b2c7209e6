"""The protocol that a cluster runs: the constants of the spec.

All members of a cluster have the same rules, and every step takes them as a parameter.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from canvass.cluster.messages import NULL_VALUE

REVISIONS: Final = ("1.49", "1.50")
"""The revisions of Aeron Cluster's protocol: of the releases up to 1.49, and of those from 1.50."""

HAZARDS: Final = frozenset({"HZ1", "HZ2", "HZ3", "HZ5", "HZ6", "HZ7", "HZ8", "HZ9", "HZ10", "HZ11"})
"""The hazards of Aeron's protocol for which there is a hardening: the spec's ``Hazards``."""

HARDENED: Final = "hardened"
"""The name of the newest revision with all hardenings."""


class Rules(Struct, frozen=True, gc=False):
    """The constants of the spec: ``MemberCount``, ``Revision``, ``Hardening`` and
    ``AppointedLeaderId``.

    Parameters
    ----------
    member_count
        How many members the cluster has; their ids are 0, 1, ...
    revision
        One of `REVISIONS`.
    hardening
        The hazards that the rules are hardened against, a subset of `HAZARDS`.
    appointed_leader_id
        The only member that may nominate itself, or -1 if every member may.

    Raises
    ------
    ValueError
        If a parameter has another value than those above.
    """

    member_count: int
    revision: str = "1.50"
    hardening: frozenset[str] = frozenset()
    appointed_leader_id: int = NULL_VALUE

    def __post_init__(self) -> None:
        if self.member_count < 1:
            raise ValueError(f"a cluster has at least one member, not {self.member_count}")
        if self.revision not in REVISIONS:
            raise ValueError(f"revision {self.revision!r} is none of {', '.join(REVISIONS)}")
        if not self.hardening <= HAZARDS:
            unknown = ", ".join(sorted(self.hardening - HAZARDS))
            raise ValueError(f"no hardening is called {unknown}")
        if not NULL_VALUE <= self.appointed_leader_id < self.member_count:
            raise ValueError(f"there is no member {self.appointed_leader_id} to appoint")

    @classmethod
    def of(cls, name: str, member_count: int = 3, appointed_leader_id: int = NULL_VALUE) -> Rules:
        """The rules of a revision by its name, ``"1.49"``, ``"1.50"`` or ``"hardened"``."""
        if name == HARDENED:
            return cls(member_count, REVISIONS[-1], HAZARDS, appointed_leader_id)
        return cls(member_count, name, frozenset(), appointed_leader_id)

    @property
    def is_149(self) -> bool:
        """Whether the rules are those of the releases up to 1.49."""
        return self.revision == "1.49"

    def is_hardened(self, hazard: str) -> bool:
        """Whether the rules are hardened against a hazard, such as ``"HZ3"``."""
        return hazard in self.hardening

    @property
    def sets_deadlines(self) -> bool:
        """Whether two waits get a deadline that they do not have in Aeron (hazards L-A and L-B).

        They do if all hardenings are in force. A deadline ends in an `ElectionError`, which the
        spec allows at any time, so no rule of a step changes.
        """
        return self.hardening == HAZARDS

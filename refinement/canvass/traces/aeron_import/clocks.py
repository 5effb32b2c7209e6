"""The clocks of the members' hosts, put on one.

Each host has a monotonic clock of its own. What is known is that a message is received after it was
sent. Nothing else may depend on the result: a wrong offset makes the proposal worse, not the check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from canvass.traces.aeron_import.evidence import MemberEvidence


def align(members: Mapping[int, MemberEvidence]) -> Iterator[tuple[MemberEvidence, int]]:
    """Give each member with what is to be added to its clock."""
    for evidence in members.values():
        yield evidence, 0

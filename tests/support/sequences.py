"""Sequences for the checks of whole runs, put together from a few words."""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass

import numpy as np

from canvass.conformance.causality import code
from canvass.conformance.sequence import KEPT, Sequence
from canvass.traces.columns import Ints
from canvass.traces.layout import ACTION_NAMES

CLOSED = "CLOSED"
LEADER = "LEADER"


@dataclass
class Happening:
    """One step: who, what, and the parts of the state after it that matter."""

    member: int
    action: str
    state: str = "CANVASS"
    role: str = "FOLLOWER"
    recorded_position: int = 0
    commit_position: int = 0
    publication_position: int = -1
    append_position: int = -1
    module_leadership_term_id: int = -1
    leadership_term_id: int = -1
    candidate_term_id: int = -1
    persisted_candidate_term_id: int = -1
    leader_member_id: int = -1
    snapshot_log_position: int = 0
    module_state: str = "ACTIVE"
    vote: tuple[int, int] | None = None
    """Candidate term and candidate of a vote in favour that is sent."""
    coherent: bool = True
    replays: tuple[int, ...] = ()
    checksums: tuple[tuple[int, int], ...] = ()
    """Position and checksum of the log up to it."""

    def cells(self) -> list[int]:
        """``KEPT`` of the state."""
        named = {
            "module_state": code("module_state", self.module_state),
            "role": code("role", self.role),
            "election_state": code("election_state", self.state),
        }
        return [named[name] if name in named else getattr(self, name) for name in KEPT]


def sequence_of(happenings: Items[Happening], members: int) -> Sequence:
    """The happenings as a sequence; each member's are taken in the order given."""
    ordered = [h for j in range(members) for h in happenings if h.member == j]
    steps: list[int] = []
    counts = [0] * members
    for happening in ordered:
        steps.append(counts[happening.member])
        counts[happening.member] += 1
    sent = [(k, h) for k, h in enumerate(ordered) if h.vote is not None]
    count = len(ordered)

    def numbers(values: object, width: int | None = None) -> Ints:
        made = np.array(values, dtype=np.int64)
        return made if width is None else made.reshape(-1, width)

    return Sequence(
        run=np.zeros(count, dtype=np.int64),
        member=numbers([h.member for h in ordered]),
        step=numbers(steps),
        action=numbers([ACTION_NAMES.index(h.action) for h in ordered]),
        state=numbers([h.cells() for h in ordered], len(KEPT)),
        coherent=np.array([h.coherent for h in ordered], dtype=np.bool_),
        replays=numbers([sum(1 << j for j in h.replays) for h in ordered]),
        received=np.full((count, 3), -1, dtype=np.int64),
        sends_of=numbers([int(h.vote is not None) for h in ordered]),
        sends=numbers([(k, (h.member + 1) % members, 0) for k, h in sent], 3),
        votes=numbers([h.vote for _, h in sent], 2),
        commit_sent=np.full(len(sent), -1, dtype=np.int64),
        checksums_of=numbers([len(h.checksums) for h in ordered]),
        checksums=numbers([each for h in ordered for each in h.checksums], 2),
        overreports=np.array(
            [any(at > h.recorded_position for at, _ in h.checksums) for h in ordered],
            dtype=np.bool_,
        ),
    )

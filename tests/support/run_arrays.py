"""Arrays for the checks of whole runs, made from short descriptions of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from canvass.conformance.causality import code
from canvass.conformance.run_arrays import RunArrays
from canvass.traces.schema import ACTION_NAMES

CLOSED = "CLOSED"
LEADER = "LEADER"


@dataclass
class StepSketch:
    """One step: its member, its action, and the relevant parts of the state after it."""

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
    """Candidate term and candidate of a granted vote that is sent."""
    hears: int = -1
    """The member whose last granted vote is received."""
    coherent: bool = True
    replays: tuple[int, ...] = ()
    checksums: tuple[tuple[int, int], ...] = ()
    """Position and checksum of the log up to it."""


_OF_STATE = (
    *("recorded_position", "commit_position", "publication_position", "append_position"),
    *("module_leadership_term_id", "leadership_term_id"),
    *("candidate_term_id", "persisted_candidate_term_id"),
)


def arrays_of(happenings: Sequence[StepSketch], members: int) -> RunArrays:
    """The steps as arrays; the steps of each member keep their order."""
    ordered = [h for j in range(members) for h in happenings if h.member == j]
    steps: list[int] = []
    counts = [0] * members
    for happening in ordered:
        steps.append(counts[happening.member])
        counts[happening.member] += 1
    sent = [(k, h) for k, h in enumerate(ordered) if h.vote is not None]
    votes = [(h, h.vote) for _, h in sent if h.vote is not None]
    last = {h.member: k for k, h in sent}

    def numbers(values: Sequence[int], kind: type = np.int64) -> Any:
        return np.array(values, dtype=kind)

    def codes(column: str, names: Sequence[str]) -> Any:
        return numbers([code(column, name) for name in names], np.int8)

    return RunArrays(
        member=numbers([h.member for h in ordered], np.int8),
        step=numbers(steps),
        action=numbers([ACTION_NAMES.index(h.action) for h in ordered], np.int8),
        **{name: numbers([getattr(h, name) for h in ordered]) for name in _OF_STATE},
        module_state=codes("module_state", [h.module_state for h in ordered]),
        role=codes("role", [h.role for h in ordered]),
        election_state=codes("election_state", [h.state for h in ordered]),
        leader_member_id=numbers([h.leader_member_id for h in ordered], np.int8),
        coherent=numbers([h.coherent for h in ordered], np.bool_),
        replays=numbers([sum(1 << j for j in h.replays) for h in ordered], np.int16),
        received_id=numbers([last[h.hears] if h.hears >= 0 else -1 for h in ordered]),
        received_from=numbers([h.hears for h in ordered], np.int8),
        received_hash=numbers([0 if h.hears >= 0 else -1 for h in ordered]),
        sends_of=numbers([int(h.vote is not None) for h in ordered], np.int32),
        send_id=numbers([k for k, _ in sent]),
        send_to=numbers([(h.member + 1) % members for _, h in sent], np.int8),
        send_hash=np.zeros(len(sent), dtype=np.int64),
        vote_term=numbers([vote[0] for _, vote in votes]),
        vote_candidate=numbers([vote[1] for _, vote in votes], np.int8),
        commit_sent=np.full(len(sent), -1, dtype=np.int64),
        checksums_of=numbers([len(h.checksums) for h in ordered], np.int32),
        checksums=np.array([each for h in ordered for each in h.checksums], dtype=np.int64).reshape(
            -1, 2
        ),
        overreports=numbers(
            [any(at > h.recorded_position for at, _ in h.checksums) for h in ordered], np.bool_
        ),
    )


def exchanged(
    arrays: RunArrays,
    receipts: Sequence[tuple[int, int, int]],
    sends: Sequence[tuple[int, int, int, int]],
) -> RunArrays:
    """Arrays with other messages.

    Parameters
    ----------
    arrays
        All steps.
    receipts
        For each step the id of the message consumed, its sender, and its contents.
    sends
        For each message sent the row of its step, its id, its receiver, and its contents.
    """
    received, sent = (np.array(rows, dtype=np.int64) for rows in (receipts, sends))
    received, sent = received.reshape(-1, 3), sent.reshape(-1, 4)
    none = np.full(len(sent), -1, dtype=np.int64)
    return replace(
        arrays,
        received_id=received[:, 0].copy(),
        received_from=received[:, 1].astype(np.int8),
        received_hash=received[:, 2].copy(),
        sends_of=np.bincount(sent[:, 0], minlength=len(arrays)).astype(np.int32),
        send_id=sent[:, 1].copy(),
        send_to=sent[:, 2].astype(np.int8),
        send_hash=sent[:, 3].copy(),
        vote_term=none,
        vote_candidate=none.astype(np.int8),
        commit_sent=none,
    )

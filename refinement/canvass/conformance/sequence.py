"""`Sequence`: the parts of events that checks of whole runs read, much smaller than the events.

A step is checked alone. Causality and the safety monitors need all steps of a run. `digest` makes
a sequence of a batch of events; `Sequence.split` separates the runs of a batch, `Sequence.joined`
puts the parts of a run together. Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Parts
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.messages import MESSAGE_TYPES
from canvass.conformance.kernel_order import content_hashes
from canvass.steps.distinct import offsets_of
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.layout import MEMBER_INDEX, MESSAGE_INDEX, STATE_INDEX

_WIDE: Final = (
    "recorded_position",
    "commit_position",
    "publication_position",
    "append_position",
    "module_leadership_term_id",
    "leadership_term_id",
    "candidate_term_id",
    "persisted_candidate_term_id",
)
_CODES: Final = ("module_state", "role", "election_state")
_OF_SENDS: Final = ("send_id", "send_to", "send_hash", "vote_term", "vote_candidate", "commit_sent")
"""The fields of a sequence with a row for each message sent."""
Narrow: TypeAlias = Any
"""Whole numbers in an array of 8, 16 or 32 bits each."""

_TYPES: Final = [message.__name__ for message in MESSAGE_TYPES]
_VOTE: Final = _TYPES.index("Vote")
_COMMIT: Final = _TYPES.index("CommitPosition")
_TERM: Final = _TYPES.index("NewLeadershipTerm")


@dataclass(frozen=True, slots=True)
class Sequence:
    """Events of one cluster size, in the order run, member, step.

    Members and codes have one byte: a run of 10^7 events takes 1.5 GB.
    """

    member: Narrow
    step: Ints
    action: Narrow
    recorded_position: Ints
    commit_position: Ints
    publication_position: Ints
    append_position: Ints
    module_leadership_term_id: Ints
    leadership_term_id: Ints
    candidate_term_id: Ints
    persisted_candidate_term_id: Ints
    module_state: Narrow
    role: Narrow
    election_state: Narrow
    """These are fields of the state after each step."""
    leader_member_id: Narrow
    coherent: NDArray[np.bool_]
    """Whether the recording log is coherent after the step."""
    replays: Narrow
    """A mask: the members to which this one replays its log after the step."""
    received_id: Ints
    """Id of the message consumed; -1 if there is none."""
    received_from: Narrow
    received_hash: Ints
    """A hash of its contents."""
    sends_of: Narrow
    """How many messages each step sends."""
    send_id: Ints
    """The id of each message sent."""
    send_to: Narrow
    send_hash: Ints
    vote_term: Ints
    """For each message sent: the candidate term of a vote in favour, else -1."""
    vote_candidate: Narrow
    commit_sent: Ints
    """For each message sent: the position that it says is committed, else -1."""
    checksums_of: Narrow
    """How many checksums of its log each step reports."""
    checksums: Ints
    """Position and checksum of each."""
    overreports: NDArray[np.bool_]
    """Whether the step reports a checksum of its log beyond the recorded position."""

    def __len__(self) -> int:
        """Count the events."""
        return len(self.step)

    @classmethod
    def joined(cls, parts: list[Sequence]) -> Sequence:
        """Join sequences; the parts are emptied, so that no two copies are in memory."""
        if len(parts) == 1:
            return parts[0]
        cells = {}
        names = [field.name for field in fields(cls)]
        columns = {name: [getattr(part, name) for part in parts] for name in names}
        parts.clear()
        for name in names:
            cells[name] = np.concatenate(columns.pop(name))
        return cls(**cells)

    def split(self, bounds: Parts[int]) -> Iterator[Sequence]:
        """Give the events between one bound and the next, for all bounds."""
        sends, checksums = offsets_of(self.sends_of), offsets_of(self.checksums_of)
        for start, end in pairwise(bounds):
            places = dict.fromkeys(_OF_SENDS, slice(int(sends[start]), int(sends[end])))
            places["checksums"] = slice(int(checksums[start]), int(checksums[end]))
            rows = slice(start, end)
            names = (field.name for field in fields(Sequence))
            yield Sequence(*(getattr(self, name)[places.get(name, rows)] for name in names))


def row_kind(count: int) -> type[np.signedinteger[Any]]:
    """Give the narrowest type of number for the rows of a run and some codes below 0."""
    return np.int32 if count < np.iinfo(np.int32).max else np.int64


def _narrow(cells: Ints) -> Narrow:
    """Give ids of members in one byte each; an id that no cluster has stays one."""
    return np.clip(cells, -1, np.iinfo(np.int8).max).astype(np.int8)


def digest(columns: EventColumns) -> Sequence:
    """Make the sequence of a batch, without the context row."""
    start = columns.context
    first_send = int(columns.send_offsets[start])
    first_checksum = int(columns.checksum_offsets[start])
    sends = columns.sends[first_send:]
    message = columns.message[start:]
    peer, identity = MESSAGE_INDEX["peer"], MESSAGE_INDEX["id"]
    kind = sends[:, 0]
    granted = (kind == _VOTE) & (sends[:, MESSAGE_INDEX["vote"]] == 1)
    commit_sent = np.where(
        kind == _COMMIT,
        sends[:, MESSAGE_INDEX["log_position"]],
        np.where(kind == _TERM, sends[:, MESSAGE_INDEX["commit_position"]], -1),
    )
    state = columns.state[start:]
    of_state: dict[str, Any] = {name: state[:, STATE_INDEX[name]].copy() for name in _WIDE}
    of_state |= {name: state[:, STATE_INDEX[name]].astype(np.int8) for name in _CODES}
    return Sequence(
        member=_narrow(columns.member[start:]),
        step=columns.step[start:].copy(),
        action=columns.action[start:].astype(np.int8),
        **of_state,
        leader_member_id=_narrow(state[:, STATE_INDEX["leader_member_id"]]),
        coherent=_coherent(columns)[start:],
        replays=_replays(columns)[start:].astype(np.int16),
        received_id=message[:, identity].copy(),
        received_from=_narrow(message[:, peer]),
        received_hash=content_hashes(message),
        sends_of=np.diff(columns.send_offsets[start:]).astype(np.int32),
        send_id=sends[:, identity].copy(),
        send_to=_narrow(sends[:, peer]),
        send_hash=content_hashes(sends),
        vote_term=np.where(granted, sends[:, MESSAGE_INDEX["candidate_term_id"]], -1),
        vote_candidate=_narrow(
            np.where(granted, sends[:, MESSAGE_INDEX["candidate_member_id"]], -1)
        ),
        commit_sent=commit_sent,
        checksums_of=np.diff(columns.checksum_offsets[start:]).astype(np.int32),
        checksums=columns.checksums[first_checksum:].copy(),
        overreports=_overreports(columns)[start:],
    )


def _overreports(columns: EventColumns) -> NDArray[np.bool_]:
    """Tell which events report a checksum of their log beyond the recorded position."""
    row_of = np.repeat(np.arange(len(columns)), np.diff(columns.checksum_offsets))
    recorded = columns.state[row_of, STATE_INDEX["recorded_position"]]
    found = np.zeros(len(columns), dtype=np.bool_)
    found[row_of[columns.checksums[:, 0] > recorded]] = True
    return found


def _replays(columns: EventColumns) -> Ints:
    """Give for each state the mask of the members whose catch-up it says is under way."""
    running = columns.members[:, :, MEMBER_INDEX["catchup_replay"]] != 0
    mask: Ints = running @ (1 << np.arange(columns.member_count, dtype=np.int64))
    return mask


def _coherent(columns: EventColumns) -> NDArray[np.bool_]:
    """Evaluate ``IsCoherent`` of ``RecordingLog.tla`` on each state's recording log."""
    log, offsets = columns.log, columns.log_offsets
    row_of = np.repeat(np.arange(len(columns)), np.diff(offsets))
    term, base, end = log[:, 0], log[:, 1], log[:, 2]
    bad = (end != -1) & (base > end)
    follows = row_of[1:] == row_of[:-1]
    bad[:-1] |= follows & ((term[:-1] >= term[1:]) | (end[:-1] != base[1:]))
    found = np.ones(len(columns), dtype=np.bool_)
    found[row_of[bad]] = False
    return found

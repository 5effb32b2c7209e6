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
from canvass.conformance.long_arrays import long_array
from canvass.steps.distinct import offsets_of
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.layout import MEMBER_INDEX, MESSAGE_INDEX, STATE_INDEX

KEPT: Final = (
    "recorded_position",
    "commit_position",
    "publication_position",
    "append_position",
    "module_state",
    "role",
    "election_state",
    "module_leadership_term_id",
    "leadership_term_id",
    "candidate_term_id",
    "persisted_candidate_term_id",
    "leader_member_id",
)
"""The state columns that whole-run checks look at."""
KEPT_INDEX: Final = {name: place for place, name in enumerate(KEPT)}
Spans: TypeAlias = Parts[tuple[int, int]]
"""Spans of rows: the first one and the one after the last; they rise."""
_COLUMNS: Final = [STATE_INDEX[name] for name in KEPT]
_OF_SENDS: Final = ("sends", "votes", "commit_sent")
"""The fields of a sequence with a row for each message sent."""

_TYPES: Final = [message.__name__ for message in MESSAGE_TYPES]
_VOTE: Final = _TYPES.index("Vote")
_COMMIT: Final = _TYPES.index("CommitPosition")
_TERM: Final = _TYPES.index("NewLeadershipTerm")


@dataclass(frozen=True, slots=True)
class Sequence:
    """Events of one cluster size, in the order run, member, step."""

    run: Ints
    """The number that the caller has given to the run."""
    member: Ints
    step: Ints
    action: Ints
    state: Ints
    """``KEPT`` after each step."""
    coherent: NDArray[np.bool_]
    """Whether the recording log is coherent after the step."""
    replays: Ints
    """A mask: the members to which this one replays its log after the step."""
    received: Ints
    """Id of the message consumed, sender, and a hash of its contents; -1 if there is none."""
    sends_of: Ints
    """How many messages each step sends."""
    sends: Ints
    """Id, receiver and hash of the contents of each message sent."""
    votes: Ints
    """For each message sent: candidate term and candidate of a vote in favour, else -1."""
    commit_sent: Ints
    """For each message sent: the position that it says is committed, else -1."""
    checksums_of: Ints
    """How many checksums of its log each step reports."""
    checksums: Ints
    """Position and checksum of each."""
    overreports: NDArray[np.bool_]
    """Whether the step reports a checksum of its log beyond the recorded position."""

    def __len__(self) -> int:
        """Count the events."""
        return len(self.step)

    def kept(self, name: str, spans: Spans | None = None) -> Ints:
        """Give one of the ``KEPT`` columns of the states, as whole numbers of any width."""
        return self.column("state", KEPT_INDEX[name], spans)

    def column(self, name: str, place: int | None = None, spans: Spans | None = None) -> Ints:
        """Give a field, or one of its columns, as whole numbers of any width.

        ``spans`` selects rows of a field that has a row for each event.
        """
        cells: Ints = getattr(self, name)
        if place is not None:
            cells = cells[:, place]
        if spans is None:
            return cells
        return np.concatenate([cells[:0], *(cells[first:end] for first, end in spans)])

    def checksum_parts(self) -> Iterator[Ints]:
        """Give `checksums` in pieces, so that not all of them need be in memory."""
        yield self.checksums

    @classmethod
    def joined(cls, parts: Parts[Sequence]) -> Sequence:
        """Join sequences."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            *(
                np.concatenate([getattr(part, field.name) for part in parts])
                for field in fields(cls)
            )
        )

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


def narrow_members(cells: Ints) -> NDArray[np.int8]:
    """Give ids of members in one byte each; an id that no cluster has stays one."""
    return np.clip(cells, -1, np.iinfo(np.int8).max).astype(np.int8)


def wide(cells: Ints) -> Ints:
    """Give numbers as 64-bit integers, as compiled functions take positions, terms and hashes."""
    if cells.dtype == np.int64 and cells.flags.c_contiguous:
        return cells
    widened = long_array(cells.shape, np.int64)
    widened[...] = cells
    return widened


def digest(columns: EventColumns, runs: Ints) -> Sequence:
    """Make the sequence of a batch; ``runs`` are the numbers of its runs."""
    start = columns.context
    first_send = int(columns.send_offsets[start])
    first_checksum = int(columns.checksum_offsets[start])
    sends = columns.sends[first_send:]
    message = columns.message[start:]
    peer, identity = MESSAGE_INDEX["peer"], MESSAGE_INDEX["id"]
    kind = sends[:, 0]
    granted = (kind == _VOTE) & (sends[:, MESSAGE_INDEX["vote"]] == 1)
    votes = sends[:, [MESSAGE_INDEX["candidate_term_id"], MESSAGE_INDEX["candidate_member_id"]]]
    commit_sent = np.where(
        kind == _COMMIT,
        sends[:, MESSAGE_INDEX["log_position"]],
        np.where(kind == _TERM, sends[:, MESSAGE_INDEX["commit_position"]], -1),
    )
    return Sequence(
        run=runs[columns.run[start:]],
        member=columns.member[start:],
        step=columns.step[start:],
        action=columns.action[start:],
        state=columns.state[start:, _COLUMNS],
        coherent=_coherent(columns)[start:],
        replays=_replays(columns)[start:],
        received=np.column_stack([message[:, [identity, peer]], content_hashes(message)]),
        sends_of=np.diff(columns.send_offsets[start:]),
        sends=np.column_stack([sends[:, [identity, peer]], content_hashes(sends)]),
        votes=np.where(granted[:, None], votes, -1),
        commit_sent=commit_sent,
        checksums_of=np.diff(columns.checksum_offsets[start:]),
        checksums=columns.checksums[first_checksum:],
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

"""Events laid out for the checks: as single steps, and as the arrays of whole runs.

A step is checked alone: `steps_of` finds for each event the state before it. Causality and the
safety monitors need all steps of a run, but only a few fields of each. `RunArrays` holds these
fields, and is much smaller than the events. `to_arrays` makes the arrays of a batch,
`RunArrays.split` separates the runs of a batch, and `GrowingArrays` puts the parts of a run
together. Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from canvass.cluster.member import new_member
from canvass.cluster.messages import MESSAGE_TYPES
from canvass.steps.kernel import StepColumns
from canvass.traces.columns import EventColumns, Ints, continues, offsets_of, state_cells
from canvass.traces.schema import (
    ACTION_NAMES,
    MEMBER_INDEX,
    MESSAGE_COLUMNS,
    MESSAGE_INDEX,
    NONE,
    STATE_INDEX,
    Run,
)

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
"""The fields with a row for each message sent."""
Narrow: TypeAlias = Any
"""Whole numbers in an array of 8, 16 or 32 bits each."""

REPLACED: Final = -3
"""In place of the previous row: the member starts with another disk than it left."""
RESTART: Final = ACTION_NAMES.index("Restart")
_TYPES: Final = [message.__name__ for message in MESSAGE_TYPES]
_VOTE: Final = _TYPES.index("Vote")
_COMMIT: Final = _TYPES.index("CommitPosition")
_TERM: Final = _TYPES.index("NewLeadershipTerm")


_FACTORS: Final = np.random.default_rng(0).integers(1 << 62, size=len(MESSAGE_COLUMNS)) | 1
_FACTORS[[MESSAGE_INDEX["peer"], MESSAGE_INDEX["id"]]] = 0


def content_hashes(messages: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hash type and fields of each message, not its id and peer; -1 where there is no message."""
    return np.where(messages[:, 0] < 0, -1, messages @ _FACTORS & np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class RunArrays:
    """Events of one cluster size, in the order run, member, step.

    Members and codes have one byte: a run of 10^7 events takes 1.3 GB.
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

    def split(self, bounds: Sequence[int]) -> Iterator[RunArrays]:
        """Give the events between one bound and the next, for all bounds."""
        sends, checksums = offsets_of(self.sends_of), offsets_of(self.checksums_of)
        for start, end in pairwise(bounds):
            places = dict.fromkeys(_OF_SENDS, slice(int(sends[start]), int(sends[end])))
            places["checksums"] = slice(int(checksums[start]), int(checksums[end]))
            rows = slice(start, end)
            names = (field.name for field in fields(RunArrays))
            yield RunArrays(*(getattr(self, name)[places.get(name, rows)] for name in names))


class GrowingArrays:
    """The arrays of a run whose events come in parts.

    Each column grows in one buffer. Parts that were kept, and joined at the end, would have a long
    run in memory twice: the allocator can seldom give back what lies between other arrays.
    """

    def __init__(self) -> None:
        self._first: RunArrays | None = None
        self._cells: dict[str, bytearray] = {}

    def add(self, part: RunArrays) -> None:
        """Add the next events."""
        if self._first is None:  # Most runs have no other part.
            self._first = part
            return
        for own in (part,) if self._cells else (self._first, part):
            for each in fields(RunArrays):
                cells = self._cells.setdefault(each.name, bytearray())
                cells += getattr(own, each.name).data

    def joined(self) -> RunArrays | None:
        """Give all events without a copy; None if there are none."""
        arrays = {}
        for name, cells in self._cells.items():
            part = getattr(self._first, name)
            arrays[name] = np.frombuffer(cells, part.dtype).reshape(-1, *part.shape[1:])
        return RunArrays(**arrays) if arrays else self._first


def row_kind(count: int) -> type[np.signedinteger[Any]]:
    """Give the narrowest type of number for the rows of a run and some codes below 0."""
    return np.int32 if count < np.iinfo(np.int32).max else np.int64


def _narrow(cells: Ints) -> Narrow:
    """Give ids of members in one byte each; an id that no cluster has stays such an id."""
    return np.clip(cells, -1, np.iinfo(np.int8).max).astype(np.int8)


def to_arrays(columns: EventColumns) -> RunArrays:
    """Make the arrays of a batch."""
    sends, message, state = columns.sends, columns.message, columns.state
    peer, identity = MESSAGE_INDEX["peer"], MESSAGE_INDEX["id"]
    kind = sends[:, 0]
    granted = (kind == _VOTE) & (sends[:, MESSAGE_INDEX["vote"]] == 1)
    commit_sent = np.where(
        kind == _COMMIT,
        sends[:, MESSAGE_INDEX["log_position"]],
        np.where(kind == _TERM, sends[:, MESSAGE_INDEX["commit_position"]], -1),
    )
    of_state: dict[str, Any] = {name: state[:, STATE_INDEX[name]].copy() for name in _WIDE}
    of_state |= {name: state[:, STATE_INDEX[name]].astype(np.int8) for name in _CODES}
    return RunArrays(
        member=_narrow(columns.member),
        step=columns.step.copy(),
        action=columns.action.astype(np.int8),
        **of_state,
        leader_member_id=_narrow(state[:, STATE_INDEX["leader_member_id"]]),
        coherent=_coherent(columns),
        replays=_replays(columns).astype(np.int16),
        received_id=message[:, identity].copy(),
        received_from=_narrow(message[:, peer]),
        received_hash=content_hashes(message),
        sends_of=np.diff(columns.send_offsets).astype(np.int32),
        send_id=sends[:, identity].copy(),
        send_to=_narrow(sends[:, peer]),
        send_hash=content_hashes(sends),
        vote_term=np.where(granted, sends[:, MESSAGE_INDEX["candidate_term_id"]], -1),
        vote_candidate=_narrow(
            np.where(granted, sends[:, MESSAGE_INDEX["candidate_member_id"]], -1)
        ),
        commit_sent=commit_sent,
        checksums_of=np.diff(columns.checksum_offsets).astype(np.int32),
        checksums=columns.checksums.copy(),
        overreports=_overreports(columns),
    )


def rows_before(
    arrays: RunArrays, *, empty: bool, replaced: Sequence[tuple[int, int]] = ()
) -> Ints:
    """Give for each row the row before it in its stream.

    The result is -1 for the first step of a member if disks are ``empty`` at the start, and
    ``REPLACED`` for the members and steps in ``replaced``. It is -2 if the row before is not known.
    """
    count = len(arrays)
    member, step = arrays.member, arrays.step
    first = np.where((step == 0) & empty, -1, -2)
    before = np.where(continues(step, member), np.arange(-1, count - 1), first)
    before = before.astype(row_kind(count))
    for own, number in replaced:
        before[(member == own) & (step == number)] = REPLACED
    return before


def _overreports(columns: EventColumns) -> NDArray[np.bool_]:
    """Tell which events report a checksum of their log beyond the recorded position."""
    row_of = np.repeat(np.arange(len(columns)), np.diff(columns.checksum_offsets))
    recorded = columns.state[row_of, STATE_INDEX["recorded_position"]]
    found = np.zeros(len(columns), dtype=np.bool_)
    found[row_of[columns.checksums[:, 0] > recorded]] = True
    return found


def _replays(columns: EventColumns) -> Ints:
    """Give for each state the mask of the members to which, by the state, a catch-up runs."""
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


# --- steps ----------------------------------------------------------------------------------------


def steps_of(
    columns: EventColumns, runs: Sequence[Run], last: EventColumns | None = None
) -> StepColumns:
    """Give the steps that events record.

    The state before a step is the state after the member's previous step. If disks are empty at the
    start, the first step starts from the state with nothing on disk. If the step before a restart
    is missing, or the restart found another disk, the restart starts from the state after itself:
    that state has everything that was on disk. This does not hold for a single member, which has
    begun a term since.

    Parameters
    ----------
    columns
        The events.
    runs
        The runs of ``columns.runs``.
    last
        The last event of the batch before this one, if the first run may continue from it.
    """
    count = len(columns)
    before, step = columns.predecessor.copy(), columns.step.copy()
    # Two more states: that of a member with nothing on disk, and the last one of the batch before.
    fresh, latest = new_member(columns.member_count), None
    if last is not None and _continues(columns, last):
        before[0], latest = count + 1, last
    for number, run in enumerate(runs):
        for disk in run.disk_replaced:
            found = (columns.run == number) & (columns.member == disk.member_id)
            found &= columns.step == disk.step
            before[found], step[found] = NONE, NONE
    first = np.flatnonzero(before == NONE)
    empty = np.array([run.initial == "empty" for run in runs], dtype=np.bool_)
    starts = first[(step[first] == 0) & empty[columns.run[first]]]
    restarts = first[(columns.action[first] == RESTART) & (columns.member_count > 1)]
    before[restarts] = restarts
    before[starts] = count
    records = np.array([[astuple(record) for record in fresh.members]], dtype=np.int64)
    more = (latest,) if latest is not None else ()
    return StepColumns(
        member=columns.member,
        action=columns.action,
        before=before,
        after=np.arange(count, dtype=np.int64),
        inputs=columns.inputs,
        message=columns.message,
        state=np.concatenate([columns.state, [state_cells(fresh)], *(one.state for one in more)]),
        members=np.concatenate([columns.members, records, *(one.members for one in more)]),
        log_offsets=np.concatenate(
            [columns.log_offsets, columns.log_offsets[-1:]]
            + [columns.log_offsets[-1] + one.log_offsets[1:] for one in more]
        ),
        log=np.concatenate([columns.log, *(one.log for one in more)]) if more else columns.log,
        send_offsets=columns.send_offsets,
        sends=columns.sends,
    )


def _continues(columns: EventColumns, last: EventColumns) -> bool:
    """Tell whether the first event is the step after the last one of the batch before."""
    same = columns.runs[columns.run[0]] == last.runs[0] and columns.member[0] == last.member[0]
    return bool(same and columns.step[0] == last.step[0] + 1)

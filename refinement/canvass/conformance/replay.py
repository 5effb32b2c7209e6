"""The logs of one run, followed through all its steps in an order of causes, some at a time.

Of what the steps hold only a window is in memory: the steps that are next in the order, which are
some consecutive ones of each member. What is carried on from window to window is the logs of the
members (`canvass.conformance.kernel_logs`). What the findings mean is said in
`canvass.conformance.monitors`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from canvass.conformance import kernel_logs as kernel
from canvass.conformance.causality import CLOSED, LEADER, Leaderships, Order, code
from canvass.conformance.sequence import Sequence, Spans, wide
from canvass.traces.columns import Ints
from canvass.traces.layout import ACTION_NAMES

WINDOW: Final = 1 << 20
"""Steps that are followed at a time; of each some 60 bytes are in memory then."""

_ACTIVE: Final = code("module_state", "ACTIVE")
_CONSUMES: Final = np.zeros(len(ACTION_NAMES), dtype=np.int8)
_CONSUMES[ACTION_NAMES.index("ConsumeLog")] = kernel.CONSUMES_ENTRIES
_CONSUMES[ACTION_NAMES.index("OnReplayNewLeadershipTermEvent")] = kernel.CONSUMES_TERM


@dataclass(frozen=True, slots=True)
class Checksums:
    """Checksums of logs that some steps report, in the order of the rows."""

    row: Ints
    position: Ints
    checksum: Ints


@dataclass(frozen=True, slots=True)
class Replayed:
    """What following the logs has shown."""

    first_bad: list[int]
    """For each property of ``LOG_PROPERTIES`` the row in which it fails first, or -1."""
    detail: list[int]
    """A position that belongs to that."""
    witness: NDArray[np.uint64]
    """For each checksum the identity of the log up to its position; 0 if it is not known."""


@dataclass(frozen=True, slots=True)
class _Window:
    """Steps that follow each other in the order of causes, and the rows that they are in."""

    place: int
    """Of the first of the steps in the order."""
    order: Ints
    """The steps, as rows of the window."""
    spans: Spans
    """The rows of the run that are in the window."""
    is_whole: bool
    """Whether these are all."""

    def of(self, cells: Ints) -> Ints:
        """Give what an array has in the window."""
        if self.is_whole:
            return cells
        return np.concatenate([cells[first:end] for first, end in self.spans])

    def kept(self, sequence: Sequence, name: str) -> Ints:
        """Give what a column of the states has in the window."""
        return sequence.kept(name, None if self.is_whole else self.spans)

    def column(self, sequence: Sequence, name: str) -> Ints:
        """Give what a field has in the window."""
        return sequence.column(name, spans=None if self.is_whole else self.spans)


class _Steps(NamedTuple):
    """What `replay_logs` wants to know of each row of a window, under its names."""

    member: NDArray[np.int8]
    before: Ints
    recorded: Ints
    commit: Ints
    consumes: NDArray[np.int8]
    module_term: Ints
    lead_term: Ints
    source: Ints
    leads: Ints
    starts_leadership: Ints


def replay(
    sequence: Sequence, order: Order, checksums: Checksums, *, unknown: bool, whole: bool
) -> Replayed:
    """Follow the logs of a run.

    Parameters
    ----------
    sequence, order
        All events of the run, and their order of causes.
    checksums
        Those of which it matters which log they are of.
    unknown
        Whether nothing is known of the logs at the start.
    whole
        Whether no step of the run is missing.
    """
    led = order.leaderships
    absent = np.diff(order.starts) == 0
    nodes, hashes, logs, stream, known = kernel.no_logs(absent | unknown, len(led.row))
    first_bad = np.full(kernel.LOG_PROPERTIES, -1, dtype=np.int64)
    detail = np.zeros(kernel.LOG_PROPERTIES, dtype=np.int64)
    witness = np.zeros(len(checksums.row), dtype=np.uint64)
    position = wide(checksums.position)
    for window in _windows(sequence, order):
        begins, ends = _bounds_of(window, checksums)
        nodes, hashes = kernel.replay_logs(
            window.order,
            window.place,
            *_steps_of(window, sequence, order),
            led.term,
            led.base,
            whole,
            begins,
            ends,
            position,
            nodes,
            hashes,
            logs,
            stream,
            known,
            first_bad,
            detail,
            witness,
        )
    rows = [int(order.order[place]) if place >= 0 else -1 for place in first_bad.tolist()]
    return Replayed(rows, detail.tolist(), witness)


def _windows(sequence: Sequence, order: Order) -> Iterator[_Window]:
    if len(order.before) <= WINDOW:
        yield _Window(0, order.order, [(0, len(order.before))], is_whole=True)
        return
    member = sequence.member
    starts = order.starts[:-1].tolist()
    at = list(starts)
    for place in range(0, len(order.order), WINDOW):
        rows = order.order[place : place + WINDOW]
        members = member[rows]
        # Each member's steps are consecutive in the order. The one before is looked at, too.
        counts = np.bincount(members, minlength=len(at)).tolist()
        spans = [
            (max(start, first - 1), first + count)
            for start, first, count in zip(starts, at, counts, strict=True)
        ]
        at = [first + count for first, count in zip(at, counts, strict=True)]
        lengths = np.cumsum([0] + [end - first for first, end in spans])
        moved = np.array([first for first, _ in spans]) - lengths[:-1]
        local = (rows - moved[members]).astype(rows.dtype)
        yield _Window(place, local, spans, is_whole=False)


def _steps_of(window: _Window, sequence: Sequence, order: Order) -> _Steps:
    """Read the rows of a window."""
    before = window.of(order.before)
    if not window.is_whole:
        here = np.arange(-1, len(before) - 1, dtype=before.dtype)
        before = np.where(before >= 0, here, before)
    term = wide(window.kept(sequence, "module_leadership_term_id"))
    leads = window.kept(sequence, "role") == LEADER
    leads &= window.kept(sequence, "election_state") == CLOSED
    leads &= window.kept(sequence, "module_state") == _ACTIVE
    leads_in, begins = _leaderships_of(window, order.leaderships)
    return _Steps(
        window.column(sequence, "member").astype(np.int8),
        before,
        wide(window.kept(sequence, "recorded_position")),
        wide(window.kept(sequence, "commit_position")),
        _CONSUMES[window.column(sequence, "action")],
        term,
        np.where(leads, term, -1),
        window.of(order.source),
        leads_in,
        begins,
    )


def _leaderships_of(window: _Window, led: Leaderships) -> tuple[Ints, Ints]:
    """Give for each row the leadership of its member that lasts then, and the one that begins."""
    lengths = [end - first for first, end in window.spans]
    leads = np.full(sum(lengths), -1, dtype=np.int64)
    starts = leads.copy()
    base = 0
    for (low, high), length in zip(window.spans, lengths, strict=True):
        # Leaderships are in the order of their rows, and none lasts into the next one.
        first = int(np.searchsorted(led.end, low, side="right"))
        last = int(np.searchsorted(led.row, high))
        for number in range(first, last):
            begin, end = int(led.row[number]), int(led.end[number])
            leads[base + max(begin, low) - low : base + min(end, high) - low] = number
            if begin >= low:
                starts[base + begin - low] = number
        base += length
    return leads, starts


def _bounds_of(window: _Window, checksums: Checksums) -> tuple[Ints, Ints]:
    """Give for each row where its checksums begin and end; nothing if there are none at all."""
    if not len(checksums.row):
        none = np.empty(0, dtype=np.int64)
        return none, none
    rows = np.concatenate([np.arange(first, end) for first, end in window.spans])
    return (
        np.searchsorted(checksums.row, rows),
        np.searchsorted(checksums.row, rows, side="right"),
    )

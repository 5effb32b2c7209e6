"""Events of one run in arrays of their own, and their numbers made small enough for TLC.

Shares nothing with the first engine but the reader's columns; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from canvass.traces.columns import EventColumns, Ints
from canvass.traces.layout import (
    CHECKSUM_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    STATE_COLUMNS,
    Kind,
    kind,
)

SMALL_OFFSET: Final = 8
TWO_DIGITS: Final = 64 * 64 - SMALL_OFFSET
"""Numbers from here on do not fit into two digits."""


@dataclass(slots=True)
class Rows:
    """Some events of one run, in arrays of their own."""

    member: Ints
    step: Ints
    action: Ints
    inputs: Ints
    message: Ints
    state: Ints
    members: Ints
    log_of: Ints
    log: Ints
    sends_of: Ints
    sends: Ints
    sums_of: Ints
    sums: Ints


def rows_of(columns: EventColumns, start: int, end: int) -> Rows:
    """Take the events from one row to another, which are of one run."""
    rows = slice(start, end)

    def ragged(offsets: Ints, values: Ints) -> tuple[Ints, Ints]:
        return np.diff(offsets[start : end + 1]), values[int(offsets[start]) : int(offsets[end])]

    return Rows(
        columns.member[rows],
        columns.step[rows],
        columns.action[rows],
        columns.inputs[rows],
        columns.message[rows],
        columns.state[rows],
        columns.members[rows],
        *ragged(columns.log_offsets, columns.log),
        *ragged(columns.send_offsets, columns.sends),
        *ragged(columns.checksum_offsets, columns.checksums),
    )


TABLES: Final = (
    ("inputs", INPUT_COLUMNS),
    ("message", MESSAGE_COLUMNS),
    ("state", STATE_COLUMNS),
    ("members", MEMBER_COLUMNS),
    ("log", LOG_COLUMNS),
    ("sends", MESSAGE_COLUMNS),
    ("sums", CHECKSUM_COLUMNS),
)


def places_of(columns: Sequence[str], wanted: Kind) -> list[int]:
    """Give the places of the columns of a kind."""
    return [place for place, name in enumerate(columns) if kind(name) is wanted]


def _values(rows: Rows, wanted: Kind) -> Ints:
    cells = [
        getattr(rows, name)[..., places_of(columns, wanted)].reshape(-1) for name, columns in TABLES
    ]
    found: Ints = np.unique(np.concatenate(cells))
    return found


def _renumber(rows: Rows, wanted: Kind, old: Ints, new: Ints) -> None:
    """Replace each number above 0 of a kind by the one at its place in ``new``."""
    for name, columns in TABLES:
        places = places_of(columns, wanted)
        if places:
            table = getattr(rows, name).copy()
            cells = table[..., places]
            table[..., places] = np.where(
                cells > 0, new[np.minimum(np.searchsorted(old, cells), len(old) - 1)], cells
            )
            setattr(rows, name, table)


def make_small(rows: Rows) -> tuple[int, ...]:
    """Make the numbers small, in place; give the positions by their ranks.

    A position becomes its rank, so that each entry of a log lies between two recorded positions:
    the spec compares and copies positions and never computes with them. A term stays as it is, but
    if one is too large for two digits, gaps of more than one become gaps of two, since the spec
    adds one to terms and no more. 0 and what is below it keep their values.
    """
    positions = _values(rows, Kind.POSITION)
    positions = np.concatenate(([0], positions[positions > 0]))
    _renumber(rows, Kind.POSITION, positions, np.arange(len(positions)))
    terms = _values(rows, Kind.TERM)
    terms = np.concatenate(([0], terms[terms > 0]))
    if terms[-1] >= TWO_DIGITS:
        gaps = np.minimum(np.diff(terms, prepend=0), 2)
        _renumber(rows, Kind.TERM, terms, np.cumsum(gaps))
    return tuple(positions.tolist())

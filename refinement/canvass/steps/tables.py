"""The frames and layouts as arrays, in the form that the kernel takes them.

They are made once from `canvass.steps.frames` and `canvass.traces.layout`, and add nothing.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from canvass.steps.frames import LEADER_STATES, LOG, NEWER_TERM_FIELD, Regime, frame_of
from canvass.steps.step import ERASED_RECORD
from canvass.traces.actions import ACTION_INPUTS, ACTIONS, Action
from canvass.traces.columns import Ints
from canvass.traces.layout import (
    INPUT_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_INDEX,
    MESSAGE_PLACES,
    STATE_COLUMNS,
    STATE_ENUMS,
    kind,
)

REGIMES: Final = len(Regime)


class Tables(NamedTuple):
    """The frames and layouts for the kernel; each row of a list ends with -1."""

    untouched: Ints
    """Frame: state columns that must be equal before and after."""
    before: Ints
    """Frame: state columns kept of the state before."""
    after: Ints
    records: Ints
    """Frame x record column: 1 kept before, 2 kept after, 4 untouched."""
    record_of: Ints
    """Frame: message column that names the only record touched, -1 if all may be."""
    log: Ints
    """Frame: whether the recording log is kept."""
    lookups: Ints
    """Frame: the mask of `Lookup`."""
    inputs: Ints
    """Action: input columns read."""
    newer: Ints
    """Action: column of the message's term that starts an election, -1 for none."""
    fields: Ints
    """Message type: its columns."""
    state_kinds: Ints
    record_kinds: Ints
    input_kinds: Ints
    message_kinds: Ints
    erased_record: Ints
    leader_states: Ints
    """Election state: whether it is a leader's."""


def _lists(rows: list[list[int]]) -> Ints:
    width = max(len(row) for row in rows) + 1
    out = np.full((len(rows), width), -1, dtype=np.int64)
    for place, row in enumerate(rows):
        out[place, : len(row)] = row
    return out


def _kinds(columns: tuple[str, ...]) -> Ints:
    return np.array([kind(name) for name in columns], dtype=np.int64)


@cache
def tables() -> Tables:
    """Give the tables.

    The last frame is that of a canvass under hardening HZ11.
    """
    frames = [frame_of(action, regime) for action in ACTIONS for regime in Regime]
    frames.append(frame_of(Action.CANVASS, Regime.ELECTION_OTHER, shows_votes=True))
    state = [(place, name) for place, name in enumerate(STATE_COLUMNS)]
    return Tables(
        untouched=_lists([[p for p, name in state if name in f.untouched] for f in frames]),
        before=_lists([[p for p, name in state if name in f.before] for f in frames]),
        after=_lists([[p for p, name in state if name in f.after] for f in frames]),
        records=np.array(
            [
                [
                    (f"members.{name}" in f.before)
                    + 2 * (f"members.{name}" in f.after)
                    + 4 * (f"members.{name}" in f.untouched)
                    for name in MEMBER_COLUMNS
                ]
                for f in frames
            ],
            dtype=np.int64,
        ),
        record_of=np.array(
            [MESSAGE_INDEX[f.record_of] if f.record_of else -1 for f in frames], np.int64
        ),
        log=np.array([LOG in f.after for f in frames], dtype=np.int64),
        lookups=np.array([sum(1 << lookup for lookup in f.lookups) for f in frames], np.int64),
        inputs=_lists(
            [
                [p for p, name in enumerate(INPUT_COLUMNS) if name in ACTION_INPUTS[action].fields]
                for action in ACTIONS
            ]
        ),
        newer=np.array(
            [
                MESSAGE_INDEX[NEWER_TERM_FIELD[action]] if action in NEWER_TERM_FIELD else -1
                for action in ACTIONS
            ],
            dtype=np.int64,
        ),
        fields=_lists([list(places) for places in MESSAGE_PLACES]),
        state_kinds=_kinds(STATE_COLUMNS),
        record_kinds=_kinds(MEMBER_COLUMNS),
        input_kinds=_kinds(INPUT_COLUMNS),
        message_kinds=_kinds(MESSAGE_COLUMNS),
        erased_record=np.array(ERASED_RECORD, dtype=np.int64),
        leader_states=np.array(
            [state in LEADER_STATES for state in STATE_ENUMS["election_state"]], dtype=np.int64
        ),
    )


def tables_as_bytes() -> bytes:
    """Give all tables as bytes, for digests of data that depends on the canonical form."""
    return b"".join(repr(table.shape).encode() + table.tobytes() for table in tables())


def form_digest() -> str:
    """Give the digest of the fields that the canonical form keeps."""
    return hashlib.sha256(tables_as_bytes()).hexdigest()

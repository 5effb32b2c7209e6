"""Whether events in columns are what the strict reader of NDJSON would have given.

The same rules as those of the event's Struct and `canvass.traces.schema.event_problem`, for whole
columns at a time: after this check, where events came from makes no difference.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.messages import MESSAGE_TYPES, Vote
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.layout import (
    ACTION_MESSAGE_CODES,
    ID_BITS,
    INPUT_INDEX,
    MESSAGE_COLUMNS,
    MESSAGE_FIELDS,
    MESSAGE_INDEX,
    NONE,
)
from canvass.traces.limits import MAX_ID_DIGITS, MAX_MEMBERS

_ABSENT: Final = np.array(
    [
        [False] * 3 + [name not in message.__struct_fields__ for name in MESSAGE_FIELDS]
        for message in MESSAGE_TYPES
    ]
    + [[False] + [True] * (len(MESSAGE_COLUMNS) - 1)]
)
"""For each message type, and last for none, the columns that hold -1."""
_VOTE: Final = MESSAGE_TYPES.index(Vote)
_MASK_LIMIT: Final = 1 << MAX_MEMBERS
_ID_LIMIT: Final = 10**MAX_ID_DIGITS
_ID_NUMBER: Final = (1 << ID_BITS) - 1


def column_problem(columns: EventColumns) -> tuple[int, str] | None:
    """Give the first row that no strict reader would have given, and why, or None.

    Notes
    -----
    Rows of one member must ascend in step; a gap is not a fault of the columns.
    """
    start = columns.context
    found: list[tuple[int, str]] = []

    def refuse(bad: NDArray[np.bool_], reason: str) -> None:
        if bad.any():
            found.append((int(np.argmax(bad)), reason))

    member, step = columns.member, columns.step
    refuse((member < 0) | (member >= columns.member_count), "no such member")
    refuse(step < 0, "step is negative")
    stays = (columns.run[1:] == columns.run[:-1]) & (member[1:] == member[:-1])
    refuse(np.append(False, stays & (step[1:] <= step[:-1])), "steps do not ascend")
    for name in ("active", "accepted"):
        mask = columns.inputs[:, INPUT_INDEX[name]]
        refuse((mask < 0) | (mask >= _MASK_LIMIT), f"input.{name} is no set of members")
    received = columns.message
    expected = np.array(ACTION_MESSAGE_CODES, dtype=np.int64)[columns.action]
    refuse(received[:, 0] != expected, "the action does not consume this message")
    has = received[:, 0] != NONE
    refuse(has & _bad_message(received), "a message with fields out of range")
    refuse(~has & (received != NONE).any(axis=1), "fields of a message, and there is none")
    refuse(
        has & (message_id_senders(received) != received[:, MESSAGE_INDEX["peer"]]),
        "input.id is not the id of a send by the member input.from",
    )
    counts = np.diff(columns.send_offsets)
    row_of = np.repeat(np.arange(len(columns)), counts)
    sends = columns.sends
    bad = _bad_message(sends) | (message_id_senders(sends) != member[row_of])
    refuse(_any_of(bad, row_of, len(columns)), "a send with fields out of range")
    found = [problem for problem in found if problem[0] >= start]
    return min(found, default=None)


def message_id_senders(messages: Ints) -> Ints:
    """Give the senders that the ids of messages name."""
    senders: Ints = messages[:, MESSAGE_INDEX["id"]] >> ID_BITS
    return senders


def _any_of(bad: NDArray[np.bool_], row_of: Ints, rows: int) -> NDArray[np.bool_]:
    marked = np.zeros(rows, dtype=np.bool_)
    marked[row_of[bad]] = True
    return marked


def _bad_message(messages: Ints) -> NDArray[np.bool_]:
    """Tell which messages no reader would have given."""
    kind, peer, ids = messages[:, 0], messages[:, 1], messages[:, 2]
    vote = messages[:, MESSAGE_INDEX["vote"]]
    bad: NDArray[np.bool_] = (
        (peer < 0)
        | (peer >= MAX_MEMBERS)
        | (ids < 0)
        | ((ids & _ID_NUMBER) >= _ID_LIMIT)
        | ((kind == _VOTE) & ((vote < 0) | (vote > 1)))
        | ((messages != NONE) & _ABSENT[kind]).any(axis=1)
    )
    return bad

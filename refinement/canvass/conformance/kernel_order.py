"""Compiled: match receipts with sends, and order all steps so that causes come first.

The functions take one run whose rows are in the order member, step. They give each row a number;
`canvass.conformance.causality` has the texts.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.steps.jit import kernel
from canvass.traces.layout import MESSAGE_COLUMNS, MESSAGE_INDEX

_FACTORS: Final = np.random.default_rng(0).integers(1 << 62, size=len(MESSAGE_COLUMNS)) | 1
_FACTORS[[MESSAGE_INDEX["peer"], MESSAGE_INDEX["id"]]] = 0


def content_hashes(messages: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hash type and fields of each message, not its id and peer; -1 where there is no message."""
    return np.where(messages[:, 0] < 0, -1, messages @ _FACTORS & np.iinfo(np.int64).max)


SOUND: Final = 0
NOT_SENT: Final = 1
"""No step of the sender sends a message with that id."""
OTHER_RECEIVER: Final = 2
OTHER_CONTENT: Final = 3
RECEIVED_TWICE: Final = 4
OVERTAKEN: Final = 5
"""A later message of the same process of the sender was received before it."""
SENT_TWICE: Final = 6
"""A message has the id of one that was sent before."""
CYCLE: Final = 7
"""The step comes before itself in the order of causes."""
NOT_WRITTEN: Final = 8
"""The leader recorded from has never written that far."""
NO_LEADER: Final = 9
"""The member recorded from has not led that term."""
UNSEEN: Final = 10
"""No send was found, but the stream of the sender is not complete."""


@kernel("member")
def match_receipts(
    member: Any,
    sender: Any,
    received_content: Any,
    receiver: Any,
    content: Any,
    send_row: Any,
    processes: Any,
    complete: Any,
    send_of: Any,
    found: Any,
) -> None:
    """Write to ``found`` the problem of each receipt, or ``SOUND``.

    ``send_of`` has the place of the send of each receipt: -1 if there is none, -2 for a row without
    a receipt. ``processes`` has the first row of each process. The messages of one process are
    received in the order in which they were sent.
    """
    taken = np.zeros(len(receiver), np.bool_)
    last = np.full(len(processes) + 1, -1, np.int64)
    for row in range(len(member)):
        found[row] = SOUND
        if row and member[row] != member[row - 1]:
            last[:] = -1
        send = send_of[row]
        if send < 0:
            if send == -1:
                known = sender[row] < 0 or sender[row] >= len(complete) or complete[sender[row]]
                found[row] = NOT_SENT if known else UNSEEN
            continue
        origin = np.searchsorted(processes, send_row[send], side="right")
        if receiver[send] != member[row]:
            found[row] = OTHER_RECEIVER
        elif content[send] != received_content[row]:
            found[row] = OTHER_CONTENT
        elif taken[send]:
            found[row] = RECEIVED_TWICE
        elif send < last[origin]:
            found[row] = OVERTAKEN
        else:
            taken[send] = True
            last[origin] = send


@kernel("member")
def order_steps(
    member: Any,
    starts: Any,
    send_of: Any,
    send_row: Any,
    cause: Any,
    commits: Any,
    found: Any,
    order: Any,
) -> int:
    """Order the steps: each after its member's previous one, its message's send, its log's source.

    Members are taken in turn, each as far as it can go. A step that commits, or that finds another
    disk (``commits``), waits until no other step is possible. So in this order an entry is on as
    many disks as the causes allow when it is committed.

    ``order`` gets the rows. Returns the number of rows ordered: steps of a cycle, and steps after
    them, are left out.
    """
    members = len(starts) - 1
    at = starts[:-1].copy()
    """The next row of each member; all rows before it are ordered."""
    filled = 0
    moved = True
    waiting = False
    while moved or waiting:
        # If no other step is possible, the next one is one of the waiting steps.
        hurry = not moved
        moved = waiting = False
        for m in range(members):
            while at[m] < starts[m + 1]:
                row = at[m]
                send = send_of[row] if found[row] == SOUND else -1
                origin = send_row[send] if send >= 0 else -1
                if origin >= 0 and origin >= at[member[origin]]:
                    break
                if cause[row] >= 0 and cause[row] >= at[member[cause[row]]]:
                    break
                if commits[row] and not hurry:
                    waiting = True
                    break
                hurry = False
                order[filled] = row
                filled += 1
                at[m] += 1
                moved = True
    for m in range(members):
        if at[m] < starts[m + 1]:
            found[at[m]] = CYCLE
    return filled

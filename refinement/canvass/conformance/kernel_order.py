"""Compiled: which receipt belongs to which send, and an order of all steps that respects it.

The functions take one run whose rows are in the order member, step. What they report is a number
per row; the words for it are in `canvass.conformance.causality`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from canvass.graph.jit import compiled

SOUND: Final = 0
NOT_SENT: Final = 1
"""No step of the sender sends a message with that id."""
OTHER_RECEIVER: Final = 2
OTHER_CONTENT: Final = 3
RECEIVED_TWICE: Final = 4
OVERTAKEN: Final = 5
"""A message that its sender sent later, be it after a restart, was received before it."""
LOST_IN_RESTART: Final = 6
"""It was on its way when its receiver restarted."""
CYCLE: Final = 7
"""The step comes before itself in the order of causes."""
NOT_WRITTEN: Final = 8
"""The leader recorded from has never written that far."""
NO_LEADER: Final = 9
"""The member recorded from has not led that term."""
UNSEEN: Final = 10
"""Nothing to say, as the stream of the sender is not complete."""


@compiled
def match_receipts(
    member: Any,
    received: Any,
    sends: Any,
    send_row: Any,
    send_order: Any,
    complete: Any,
    send_of: Any,
    found: Any,
) -> None:
    """Find the send of each receipt; ``send_order`` sorts ``sends`` by their ids."""
    count = len(member)
    taken = np.zeros(len(sends), np.int64)
    last = np.full(len(complete), -1, np.int64)
    for row in range(count):
        send_of[row] = -1
        found[row] = SOUND
        if row and member[row] != member[row - 1]:
            last[:] = -1
        if received[row, 0] < 0:
            continue
        low, high = 0, len(send_order)
        while low < high:
            middle = (low + high) // 2
            if sends[send_order[middle], 0] < received[row, 0]:
                low = middle + 1
            else:
                high = middle
        if low == len(send_order) or sends[send_order[low], 0] != received[row, 0]:
            sender = received[row, 1]
            found[row] = NOT_SENT if complete[sender] else UNSEEN
            continue
        send = send_order[low]
        origin = send_row[send]
        if sends[send, 1] != member[row]:
            found[row] = OTHER_RECEIVER
        elif sends[send, 2] != received[row, 2]:
            found[row] = OTHER_CONTENT
        elif taken[send]:
            found[row] = RECEIVED_TWICE
        elif send < last[member[origin]]:
            found[row] = OVERTAKEN
        else:
            taken[send] = 1
            last[member[origin]] = send
        send_of[row] = send


@compiled
def find_sources(
    member: Any,
    recorded: Any,
    publication: Any,
    elections: Any,
    source: Any,
    complete: Any,
    before: Any,
    found: Any,
    cause: Any,
) -> None:
    """Find, for each row that records from a leader's log, the step that wrote that far.

    ``elections`` has a row for each leadership: its first step and the step after its last.
    ``source`` is the leadership that a row records from, -2 if the leader has none; other negative
    numbers say that the row records nothing, or that there is nothing to know.
    """
    for row in range(len(member)):
        cause[row] = -1
        if source[row] == -2 and found[row] == SOUND:
            found[row] = NO_LEADER
        if source[row] < 0 or found[row] != SOUND:
            continue
        low, high = elections[source[row], 0], elections[source[row], 1]
        if member[low] == member[row]:
            continue
        end = high
        wanted = recorded[row]
        while low < high:
            middle = (low + high) // 2
            if publication[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        if low < end:
            # After missing steps it is not known when it was written.
            cause[row] = low if before[low] >= -1 else -1
        elif complete[member[elections[source[row], 0]]]:
            found[row] = NOT_WRITTEN


@compiled
def order_steps(  # noqa: C901  (one loop, so that it is compiled as one)
    member: Any,
    action: Any,
    starts: Any,
    send_of: Any,
    send_row: Any,
    cause: Any,
    commits: Any,
    found: Any,
    restart: int,
    order: Any,
    past: Any,
) -> int:
    """Order the steps: each after its member's previous one, its message's send, its log's source.

    Members are taken in turn, each as far as it can go; but a step for which ``commits`` says that
    a leader commits waits until nothing else can be done. What others record at that time, for all
    that anybody knows of it, is then recorded before: of the orders that causes allow this is one
    in which what is committed is on as many disks as can be.

    ``order`` gets the rows, ``past`` for each row how many steps of each member come before it or
    are it. Returns how many were ordered: a step in a cycle, and what comes after it, is not.
    """
    members = len(starts) - 1
    count = len(member)
    done = np.zeros(count, np.int64)
    at = starts[:-1].copy()
    restarted = np.full(members, -1, np.int64)
    filled = 0
    moved = True
    waiting = False
    while moved or waiting:
        # Nothing else can be done: one of the steps that wait is next.
        hurry = not moved
        moved = waiting = False
        for m in range(members):
            while at[m] < starts[m + 1]:
                row = at[m]
                send = send_of[row] if found[row] == SOUND else -1
                if send >= 0 and not done[send_row[send]]:
                    break
                if cause[row] >= 0 and not done[cause[row]]:
                    break
                if commits[row] and not hurry:
                    waiting = True
                    break
                if commits[row]:
                    hurry = False
                if row > starts[m]:
                    past[row] = past[row - 1]
                else:
                    past[row] = 0
                for other in (send_row[send] if send >= 0 else -1, cause[row]):
                    if other >= 0:
                        for k in range(members):
                            past[row, k] = max(past[row, k], past[other, k])
                past[row, m] = row - starts[m] + 1
                if action[row] == restart:
                    restarted[m] = row
                if send >= 0 and restarted[m] >= 0:
                    sender = member[send_row[send]]
                    if past[restarted[m], sender] > send_row[send] - starts[sender]:
                        found[row] = LOST_IN_RESTART
                done[row] = 1
                order[filled] = row
                filled += 1
                at[m] += 1
                moved = True
    for m in range(members):
        if at[m] < starts[m + 1]:
            found[at[m]] = CYCLE
    return filled

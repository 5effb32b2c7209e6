"""Steps in the columns that the kernel takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.messages import MESSAGE_TYPES, NULL_VALUE, Message
from canvass.steps.step import (
    Step,
    entry_cells,
    input_cells,
    record_cells,
    state_cells,
)
from canvass.traces.actions import ACTIONS
from canvass.traces.layout import INPUT_COLUMNS, MESSAGE_COLUMNS, MESSAGE_FIELDS


def message_cells(message: Message | None) -> list[int]:
    """The type code of a message, -1 for none, and its fields; -1 for fields it has not."""
    cells = [NULL_VALUE] * (1 + len(MESSAGE_FIELDS))
    if message is not None:
        cells[0] = MESSAGE_TYPES.index(type(message))
        for name in message.__struct_fields__:
            cells[1 + MESSAGE_FIELDS.index(name)] = int(getattr(message, name))
    return cells


def _offsets(counts: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def columns_of(steps: Sequence[Step]) -> dict[str, NDArray[np.int64]]:
    """Steps of clusters of one size, as arguments of ``canonical_keys``."""

    def table(rows: Sequence[Sequence[int]], width: int) -> NDArray[np.int64]:
        return np.array(rows, dtype=np.int64).reshape(len(rows), width)

    def message(given: Message | None, peer: int) -> list[int]:
        cells = message_cells(given)
        return [cells[0], peer, -1, *cells[1:]]

    states = [state for step in steps for state in (step.before, step.after)]
    members = len(states[0].members)
    count = len(steps)
    rows = np.arange(count, dtype=np.int64)
    width = len(MESSAGE_COLUMNS)
    return {
        "member": np.array([step.member for step in steps], dtype=np.int64),
        "action": np.array([ACTIONS.index(step.action) for step in steps], dtype=np.int64),
        "before": 2 * rows,
        "after": 2 * rows + 1,
        "inputs": table([input_cells(step.input) for step in steps], len(INPUT_COLUMNS)),
        "message": table([message(s.input.message, -1) for s in steps], width),
        "state": np.array([state_cells(state) for state in states], dtype=np.int64),
        "members": np.array(
            [[record_cells(record) for record in state.members] for state in states], dtype=np.int64
        ).reshape(2 * count, members, -1),
        "log_offsets": _offsets([len(state.recording_log) for state in states]),
        "log": table([entry_cells(e) for state in states for e in state.recording_log], 3),
        "send_offsets": _offsets([len(step.sends) for step in steps]),
        "sends": table([message(m, to) for step in steps for to, m in step.sends], width),
    }

"""From a printed graph to the arrays of `canvass.graph.artifact.Graph`, in an order of their own.

States are ordered by their ids, inputs and sends by their cells, edges by state and input: none of
it depends on the order in which TLC printed them.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.messages import MESSAGE_TYPES
from canvass.graph.ids import ID_BYTES
from canvass.graph.printed import NO_TARGET, Cells, PrintedGraph, message_end
from canvass.traces.layout import (
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_INDEX,
    NONE,
    STATE_COLUMNS,
    STATE_INDEX,
)

Ints = NDArray[np.int64]

_PEER: Final = MESSAGE_INDEX["peer"]
_LEADER: Final = STATE_INDEX["leader_member_id"]
_GRACEFUL: Final = STATE_INDEX["graceful_closed_leader_id"]
_MESSAGE_PLACES: Final = tuple(
    tuple(MESSAGE_INDEX[name] for name in kind.__struct_fields__) for kind in MESSAGE_TYPES
)


def state_id(cells: Sequence[int]) -> bytes:
    """Give the content hash that names a state, from its cells in the order of a printed state."""
    return hashlib.sha256(np.array(cells, dtype="<i8").tobytes()).digest()[:ID_BYTES]


def arrange(printed: PrintedGraph, *, peers_alike: bool) -> dict[str, Any]:
    """Give the arrays of a graph by their names.

    Parameters
    ----------
    printed
        All that TLC printed.
    peers_alike
        Whether states that differ in the numbering of the peers only are one state.
    """
    states = sorted((state_id(cells), number, cells) for cells, number in printed.states.items())
    state_rows = _rows_by_number([number for _, number, _ in states])
    inputs = sorted((cells, number) for number, cells in enumerate(printed.inputs))
    input_rows = _rows_by_number([number for _, number in inputs])
    sends = sorted((cells, number) for cells, number in printed.sends.items())
    send_rows = _rows_by_number([number for _, number in sends])

    expanded = np.zeros(len(states), dtype=np.bool_)
    disabled = np.zeros(len(states), dtype=np.int64)
    rows = state_rows[np.array(printed.expanded, dtype=np.int64)]
    expanded[rows] = True
    disabled[rows] = printed.disabled
    arrays = {
        "ids": np.frombuffer(b"".join(name for name, _, _ in states), dtype=np.uint8).reshape(
            len(states), ID_BYTES
        ),
        "expanded": expanded,
        "disabled": disabled,
        **_state_arrays([cells for _, _, cells in states], printed.member_count),
        **_input_arrays([cells for cells, _ in inputs]),
        **_send_arrays([cells for cells, _ in sends]),
        **_edge_arrays(printed, state_rows, input_rows, send_rows),
    }
    arrays["representative"] = (
        _representatives([cells for _, _, cells in states], printed.member_count, expanded)
        if peers_alike
        else np.arange(len(states), dtype=np.int64)
    )
    return arrays


def _rows_by_number(numbers: Sequence[int]) -> Ints:
    rows = np.empty(len(numbers), dtype=np.int64)
    rows[np.array(numbers, dtype=np.int64)] = np.arange(len(numbers))
    return rows


def _edge_arrays(
    printed: PrintedGraph, state_rows: Ints, input_rows: Ints, send_rows: Ints
) -> dict[str, Ints]:
    source = state_rows[_ints(printed.source)]
    given = input_rows[_ints(printed.input)]
    target = _ints(printed.target)
    target = np.where(target == NO_TARGET, NONE, state_rows[target])
    order = np.lexsort((given, source))
    return {
        "source": source[order],
        "input": given[order],
        "target": target[order],
        "sent": send_rows[_ints(printed.sent)][order],
    }


def _ints(values: array[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _state_arrays(states: Sequence[Cells], member_count: int) -> dict[str, Ints]:
    records = len(STATE_COLUMNS)
    width = len(MEMBER_COLUMNS) * member_count
    fixed = np.array([cells[: records + width + 1] for cells in states], dtype=np.int64)
    logs = [cell for cells in states for cell in cells[records + width + 1 :]]
    return {
        "state": np.ascontiguousarray(fixed[:, :records]),
        "members": np.ascontiguousarray(fixed[:, records:-1]).reshape(
            len(states), member_count, len(MEMBER_COLUMNS)
        ),
        "log_offsets": _offsets(fixed[:, -1]),
        "log": np.array(logs, dtype=np.int64).reshape(-1, len(LOG_COLUMNS)),
    }


def _offsets(counts: Iterable[int]) -> Ints:
    return np.concatenate(
        [np.zeros(1, dtype=np.int64), np.cumsum(np.array(list(counts), dtype=np.int64))]
    ).astype(np.int64)


def _message_row(cells: Cells, start: int) -> list[int]:
    """Spread a printed message over the columns of all types."""
    row = [NONE] * len(MESSAGE_COLUMNS)
    code = cells[start]
    row[0] = code
    if code != NONE:
        for place, cell in zip(
            _MESSAGE_PLACES[code], cells[start + 1 : message_end(cells, start)], strict=True
        ):
            row[place] = cell
    return row


def _input_arrays(inputs: Sequence[Cells]) -> dict[str, Ints]:
    facts = 1 + len(INPUT_COLUMNS)
    return {
        "input_action": np.array([cells[0] for cells in inputs], dtype=np.int64),
        "inputs": np.array([cells[1:facts] for cells in inputs], dtype=np.int64),
        "message": np.array([_message_row(cells, facts) for cells in inputs], dtype=np.int64),
    }


def _send_arrays(sends: Sequence[Cells]) -> dict[str, Ints]:
    rows = []
    for cells in sends:
        at = 1
        while at < len(cells):
            row = _message_row(cells, at + 1)
            row[_PEER] = cells[at]
            rows.append(row)
            at = message_end(cells, at + 1)
    return {
        "send_offsets": _offsets(cells[0] for cells in sends),
        "sends": np.array(rows, dtype=np.int64).reshape(len(rows), len(MESSAGE_COLUMNS)),
    }


def _representatives(
    states: Sequence[Cells], member_count: int, expanded: NDArray[np.bool_]
) -> Ints:
    """Give for each state the row of the one that stands for it: an expanded one if there is."""
    chosen: dict[object, int] = {}
    names = [_without_numbering(cells, member_count) for cells in states]
    for row, name in enumerate(names):
        known = chosen.setdefault(name, row)
        if expanded[row] and not expanded[known]:
            chosen[name] = row
    return np.array([chosen[name] for name in names], dtype=np.int64)


def _without_numbering(cells: Cells, member_count: int) -> object:
    """Give what a state says, with its peers in an order that does not depend on their numbers."""
    width = len(MEMBER_COLUMNS)
    end = len(STATE_COLUMNS) + width * member_count
    records = [cells[at : at + width] for at in range(len(STATE_COLUMNS), end, width)]
    leader, graceful = cells[_LEADER], cells[_GRACEFUL]
    peers = sorted(
        (records[peer], leader == peer, graceful == peer) for peer in range(1, member_count)
    )
    single = list(cells[: len(STATE_COLUMNS)])
    single[_LEADER], single[_GRACEFUL] = min(leader, 1), min(graceful, 1)
    return (*single, records[0], *peers, cells[end:])

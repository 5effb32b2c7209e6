"""What a member's state is, however its peers are numbered: hashes of 128 bits.

Two artifacts may keep different ones of the states that differ in the numbering of the peers only;
these hashes are equal for them.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from canvass.graph.artifact import Graph
from canvass.traces.layout import STATE_INDEX

Words: TypeAlias = NDArray[np.uint64]

_SEEDS: Final = (0x243F6A8885A308D3, 0x13198A2E03707344)
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)
_NAMING: Final = ("leader_member_id", "graceful_closed_leader_id")
"""Fields that name one member."""


def identities_of(graph: Graph, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the hashes of some states, one row of two words for each.

    Parameters
    ----------
    graph
        The artifact.
    rows
        Its rows.
    """
    return np.stack([_lane(graph, rows, seed) for seed in _SEEDS], axis=1).view(np.int64)


def _lane(graph: Graph, rows: NDArray[np.int64], seed: int) -> Words:
    state, members = graph.state[rows].copy(), graph.members[rows]
    peers = []
    for member in range(members.shape[1]):
        cells = [members[:, member, place] for place in range(members.shape[2])]
        cells += [state[:, STATE_INDEX[name]] == member for name in _NAMING]
        peers.append(_mixed(seed, cells, len(rows)))
    for name in _NAMING:
        column = state[:, STATE_INDEX[name]]
        np.minimum(column, 1, out=column)
    out = _mixed(seed, [*state.T, peers[0]], len(rows))
    for column in np.sort(np.stack(peers[1:], axis=1), axis=1).T if peers[1:] else ():
        out = _mix(out, column)
    return _with_logs(out, graph, rows)


def _with_logs(out: Words, graph: Graph, rows: NDArray[np.int64]) -> Words:
    """Go on with the recording logs: the length, and as many entries as there are."""
    starts = graph.log_offsets[rows]
    lengths = graph.log_offsets[rows + 1] - starts
    out = _mix(out, lengths)
    for place in range(int(lengths.max(initial=0))):
        there = lengths > place
        for field in range(graph.log.shape[1]):
            out[there] = _mix(out[there], graph.log[starts[there] + place, field])
    return out


def _mixed(seed: int, columns: list[Any], count: int) -> Words:
    """Hash columns, row by row."""
    out = np.full(count, seed, dtype=np.uint64)
    for column in columns:
        out = _mix(out, column)
    return out


def _mix(out: Words, column: NDArray[Any]) -> Words:
    mixed = (out ^ column.astype(np.int64, copy=False).view(np.uint64)) * _FACTOR
    return mixed ^ (mixed >> _SHIFT)

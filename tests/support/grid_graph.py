"""Large state graphs without TLC: a grid of states, each leading right and down."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from canvass.graph.dump_graph import DumpManifest, DumpOrigin, write_dump_graph
from canvass.graph.folders import (
    EDGES_FILE,
    ID_BYTES,
    STATES_FILE,
    VALUES_FILE,
    edges_table,
    named,
    states_table,
)
from canvass.graph.values import interned
from canvass.tlc.values import Function


def write_grid(folder: Path, side: int) -> DumpManifest:
    """Write a graph of ``side * side`` states.

    A state has ``at``, a function of two members with its row and column, and ``corner``, which is
    true only in the last state. Steps ``Right`` and ``Down`` lead to the neighbours, ``Back`` leads
    from the end of each row to its beginning.
    """
    count = side * side
    members = [Function({"place": place}) for place in range(side)]
    at = [Function({0: one, 1: two}) for one in members for two in members]
    ids = np.frombuffer(
        b"".join(hashlib.sha256(b"%d" % place).digest()[:ID_BYTES] for place in range(count)),
        dtype=np.uint8,
    ).reshape(count, ID_BYTES)
    words = ids.view(">u8")
    order = np.lexsort((words[:, 1], words[:, 0]))
    rows = np.empty(count, dtype=np.int32)
    rows[order] = np.arange(count, dtype=np.int32)
    grid = rows.reshape(side, side)
    ends = (
        (grid[:, :-1], grid[:, 1:], 2),
        (grid[:-1], grid[1:], 1),
        (grid[:, -1], grid[:, 0], 0),
    )
    source = np.concatenate([one.ravel() for one, _, _ in ends])
    target = np.concatenate([two.ravel() for _, two, _ in ends])
    action = np.concatenate([np.full(one.size, code) for one, _, code in ends])
    by_source = np.lexsort((action, target, source))
    corner = np.zeros(count, dtype=np.int64)
    corner[grid[-1, -1]] = 1
    columns = interned({"at": (at, order), "corner": ([False, True], corner)})
    initial = np.zeros(count, dtype=np.bool_)
    initial[grid[0, 0]] = True
    expanded = np.ones(count, dtype=np.bool_)
    numbers = [one[by_source].astype(np.int32) for one in (source, target, action)]
    tables = {
        VALUES_FILE: columns.values.to_table(),
        STATES_FILE: states_table(ids[order], columns.nodes, initial=initial, expanded=expanded),
        EDGES_FILE: edges_table(
            numbers[0],
            numbers[1],
            named(numbers[2], ("Back", "Down", "Right")),
            named(np.full(len(source), -1, dtype=np.int32), ()),
        ),
    }
    return write_dump_graph(folder, tables, model=f"Grid{side}", complete=True, origin=DumpOrigin())

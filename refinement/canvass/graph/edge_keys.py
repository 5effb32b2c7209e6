"""The keys of a graph's edges: the key of an edge is that of its canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.rules import Rules
from canvass.graph import GraphError
from canvass.steps.answers import KeyTable
from canvass.steps.kernel import Status, StepColumns, canonical_keys
from canvass.traces.columns import offsets_of, places_of
from canvass.traces.schema import ACTION_NAMES, NONE

_CHUNK: Final = 1 << 17


def edge_keys(arrays: Mapping[str, Any], rules: Rules) -> KeyTable:
    """Give the keys of the canonical forms of all edges; the digest of the rules is part of a key.

    Raises
    ------
    GraphError
        If an edge has no canonical form. Then a frame of `canvass.steps.action_fields` is wrong.
    """
    rows = np.flatnonzero(arrays["target"] != NONE)
    keys = np.zeros((len(rows), 2), dtype=np.uint64)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        keys[start : start + _CHUNK] = keys_of_edges(arrays, chunk, rules)
    return KeyTable.build(keys, rows)


def keys_of_edges(arrays: Mapping[str, Any], rows: NDArray[np.int64], rules: Rules) -> Any:
    """Give the key of the canonical form of each of some edges, with the digest of the rules.

    Parameters
    ----------
    arrays
        The arrays of a `Graph`, by their names.
    rows
        The edges; each has a target.
    rules
        The rules of the graph.

    Raises
    ------
    GraphError
        If an edge has no canonical form.
    """
    given = arrays["input"][rows]
    sent = arrays["sent"][rows]
    keys, status = canonical_keys(
        StepColumns(
            member=np.zeros(len(rows), dtype=np.int64),
            action=arrays["input_action"][given],
            before=arrays["source"][rows],
            after=arrays["target"][rows],
            inputs=arrays["inputs"][given],
            message=arrays["message"][given],
            state=arrays["state"],
            members=arrays["members"],
            log_offsets=arrays["log_offsets"],
            log=arrays["log"],
            send_offsets=offsets_of(np.diff(arrays["send_offsets"])[sent]),
            sends=arrays["sends"][places_of(arrays["send_offsets"], sent)],
        ),
        [rules],
    )
    wrong = np.flatnonzero(status != Status.KEYED)
    if len(wrong):
        row = int(rows[wrong[0]])
        action = ACTION_NAMES[int(arrays["input_action"][arrays["input"][row]])]
        reason = Status(int(status[wrong[0]])).name
        raise GraphError(f"{len(wrong)} edges have no key; the first is of {action}: {reason}")
    return keys

"""Keys of canonical steps: of what a step begins with, and of the step with what came of it.

The canonical form replaces numbers by their ranks and puts peers in an order that depends only on
the step, so that one key stands for all steps that differ in those alone.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.aeron_driver.comparison import RECORDING_LOG, field_names
from canvass.aeron_driver.driving import Outcomes, Steps
from canvass.aeron_driver.steps import GraphSteps, Rows
from canvass.graph.artifact import Graph
from canvass.steps.kernel import Status, canonical_keys, flavour
from canvass.steps.step import hash_cells
from canvass.traces.layout import LOG_COLUMNS, MEMBER_COLUMNS, MESSAGE_COLUMNS, STATE_COLUMNS

Keys = NDArray[np.uint64]

_CHUNK: Final = 1 << 17
OUTCOME_BITS: Final = 16
INPUT_BITS: Final = 40
UNKEYED: Final = 0
"""The hash of an outcome that has no canonical form: it changed what its action does not touch."""


def input_keys(graph: Graph, steps: Steps) -> Keys:
    """Give 40 bits for state and input of each step."""
    out = np.empty(len(steps.source), dtype=np.uint64)
    for start in range(0, len(out), _CHUNK):
        rows = slice(start, start + _CHUNK)
        before, given = steps.source[rows], steps.given[rows]
        no_sends = np.zeros(len(given) + 1)
        keys, _ = _keys(graph, given, before, before, _states(graph), no_sends, None)
        out[rows] = keys[:, 0] >> np.uint64(64 - INPUT_BITS)
    return out


def outcome_hashes(graph: Graph, steps: Steps) -> Keys:
    """Give 16 bits, never 0, for each step with what the spec says comes of it."""
    out = np.empty(len(steps.source), dtype=np.uint64)
    for start in range(0, len(out), _CHUNK):
        rows = slice(start, start + _CHUNK)
        sent = steps.sent[rows]
        counts = np.diff(graph.send_offsets)[sent]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        first = np.repeat(graph.send_offsets[sent] - offsets[:-1], counts)
        sends = graph.sends[first + np.arange(offsets[-1])]
        keys, keyed = _keys(
            graph, steps.given[rows], steps.source[rows], steps.target[rows], _states(graph),
            offsets, sends,
        )  # fmt: skip
        assert keyed.all(), "a step of a graph has a canonical form"
        out[rows] = _hashed(keys)
    return out


def java_hashes(steps: GraphSteps, outcomes: Outcomes, rows: Rows) -> Keys:
    """Give the same for what Java did in some steps of a batch; `UNKEYED` where it has no form."""
    graph, layout = steps.graph, steps.layout
    part = outcomes.steps[rows]
    after = _overlaid(steps, outcomes, rows)
    counts = outcomes.java_sends[rows, 0]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    sends = np.full((int(offsets[-1]), len(MESSAGE_COLUMNS)), -1, dtype=np.int64)
    width, row = 1 + layout.message_width, 0
    for cells, count in zip(outcomes.java_sends[rows], counts.tolist(), strict=True):
        for send in range(count):
            at = 1 + width * send
            sends[row, :2] = cells[at + 1], cells[at]
            sends[row, 3:] = cells[at + 2 : at + width]
            row += 1
    states = _appended(steps, after)
    first = len(graph.state)
    keys, keyed = _keys(
        graph, part.given, part.source, np.arange(first, first + len(rows)), states, offsets, sends
    )
    return np.where(keyed, _hashed(keys), np.uint64(UNKEYED))


def _hashed(keys: Any) -> Keys:
    found = keys[:, 1] & np.uint64((1 << OUTCOME_BITS) - 1)
    return np.asarray(np.maximum(found, np.uint64(1)))


def _states(graph: Graph) -> dict[str, Any]:
    return {
        "state": graph.state,
        "members": graph.members,
        "log_offsets": graph.log_offsets,
        "log": graph.log,
    }


def _keys(
    graph: Graph,
    given: Rows,
    before: Rows,
    after: Rows,
    states: dict[str, Any],
    send_offsets: Any,
    sends: Any,
) -> tuple[Any, NDArray[np.bool_]]:
    keys, status, _ = canonical_keys(
        flavours=np.full(len(given), flavour(graph.rules), dtype=np.int64),
        member=np.zeros(len(given), dtype=np.int64),
        action=graph.input_action[given],
        before=before,
        after=after,
        inputs=graph.inputs[given],
        message=graph.message[given],
        send_offsets=np.asarray(send_offsets, dtype=np.int64),
        sends=graph.sends[:0] if sends is None else sends,
        **states,
    )
    # The same cells may be a step of clusters of two sizes.
    keys ^= np.uint64(hash_cells([graph.rules.member_count])[0])
    return keys, status == Status.KEYED


def _overlaid(steps: GraphSteps, outcomes: Outcomes, rows: Rows) -> NDArray[Any]:
    """Give the spec's states after the steps with what Java has instead."""
    layout = steps.layout
    after = steps.states[outcomes.steps.target[rows]].copy()
    differs = outcomes.state_differs[rows].copy()
    log = np.array([name == RECORDING_LOG for name in field_names(layout)])
    differs[:, log] = differs[:, log].any(axis=1, keepdims=True)
    after[differs] = outcomes.java[rows][differs]
    return after


def _appended(steps: GraphSteps, after: NDArray[Any]) -> dict[str, Any]:
    """Give the graph's states with some more behind them."""
    graph, layout = steps.graph, steps.layout
    lengths = after[:, layout.log]
    start = layout.log + 1
    entries = [
        cells[start : start + len(LOG_COLUMNS) * int(length)].reshape(-1, len(LOG_COLUMNS))
        for cells, length in zip(after, lengths.tolist(), strict=True)
    ]
    members = after[:, layout.records : layout.log].reshape(len(after), -1, len(MEMBER_COLUMNS))
    return {
        "state": np.concatenate([graph.state, after[:, : len(STATE_COLUMNS)]]).astype(np.int64),
        "members": np.concatenate([graph.members, members]).astype(np.int64),
        "log_offsets": np.concatenate(
            [graph.log_offsets, graph.log_offsets[-1] + np.cumsum(lengths)]
        ).astype(np.int64),
        "log": np.concatenate([graph.log, *entries]).astype(np.int64),
    }

"""Two runs beside each other: elections, and first differences.

Elections are compared in their order. Of each member the first step that differs is named. Two runs
never agree in times, ids of messages and sources, so these are no differences.
"""

from __future__ import annotations

from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.labels import label_of
from canvass.browser.runs import OpenRun, tree_of
from canvass.browser.tracks import bands_of, seconds_text
from canvass.cluster.messages import NULL_VALUE
from canvass.lanes.of_run import Change, state_changes
from canvass.traces.layout import ACTION_NAMES, MESSAGE_INDEX


def compare(left: OpenRun, right: OpenRun) -> api.Comparison:
    """Compare two runs, election by election and member by member."""
    pairs = zip_longest(*(bands_of(one.tracks, one.total) for one in (left, right)))
    return api.Comparison(
        elections=tuple(
            api.ComparedElection(number=number, left=one, right=other)
            for number, (one, other) in enumerate(pairs, 1)
        ),
        members=tuple(
            _member(left, right, member)
            for member in range(max(len(left.places), len(right.places)))
        ),
    )


def _member(left: OpenRun, right: OpenRun, member: int) -> api.ComparedMember:
    runs = (left, right)
    counts = [len(one.places[member]) if member < len(one.places) else 0 for one in runs]
    shared = min(counts)
    same = shared
    if shared and left.run.member_count == right.run.member_count:
        for k in range(shared):
            if _step(left, member, k) != _step(right, member, k):
                same = k
                break
    else:
        same = 0
    sides = [
        _side(one, member, same) if same < count else None
        for one, count in zip(runs, counts, strict=True)
    ]
    changes: tuple[Change, ...] = ()
    if sides[0] is not None and sides[1] is not None:
        states = [
            one.loaded.columns.event(int(one.member_rows[member][same])).state for one in runs
        ]
        changes = state_changes(states[0], states[1])
    return api.ComparedMember(
        member=member, same=same, left=sides[0], right=sides[1], changes=changes
    )


def _step(run: OpenRun, member: int, k: int) -> tuple[bytes, ...]:
    """Give the compared parts of a step: its action, input, messages and state."""
    columns, row = run.loaded.columns, int(run.member_rows[member][k])
    first, last = int(columns.send_offsets[row]), int(columns.send_offsets[row + 1])
    begin, end = int(columns.log_offsets[row]), int(columns.log_offsets[row + 1])
    return (
        int(columns.action[row]).to_bytes(8, "little"),
        columns.inputs[row].tobytes(),
        _without_id(columns.message[row : row + 1]),
        _without_id(columns.sends[first:last]),
        columns.state[row].tobytes(),
        columns.members[row].tobytes(),
        columns.log[begin:end].tobytes(),
    )


def _without_id(messages: NDArray[np.int64]) -> bytes:
    return np.delete(messages, MESSAGE_INDEX["id"], axis=1).tobytes()


def _side(run: OpenRun, member: int, k: int) -> api.ComparedStep:
    columns, row = run.loaded.columns, int(run.member_rows[member][k])
    event = columns.event(row)
    return api.ComparedStep(
        event=int(run.places[member][k]),
        step=event.step,
        action=ACTION_NAMES[int(columns.action[row])],
        time=seconds_text(int(columns.time_ns[row])),
        given={
            name: value
            for name, value in tree_of(event.input).items()
            if value not in (None, NULL_VALUE, False, "", [])
        },
        label=label_of(tree_of(event.state)),
    )

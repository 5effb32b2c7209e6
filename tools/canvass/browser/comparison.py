"""Two runs beside each other, or a run and a counterexample: elections, and first differences.

Elections are compared in their order. Of each member the first step that differs is named. Two runs
never agree in times, ids of messages and sources, so these are no differences. A run and a
counterexample differ in positions and in silent steps; they are compared by the election states
that their members go through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile, zip_longest
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.labels import label_of
from canvass.browser.questions import bad_request
from canvass.browser.runs import OpenRun, tree_of
from canvass.browser.tracks import bands_of, seconds_text
from canvass.cluster.member import ElectionState, Role
from canvass.cluster.messages import NULL_VALUE
from canvass.lanes.of_counterexample import is_cluster
from canvass.lanes.of_run import Change, state_changes
from canvass.traces.counts import counted
from canvass.traces.layout import ACTION_NAMES, MESSAGE_INDEX

ELECTION_STATES: Final = [state.value for state in ElectionState]


def compare(left: OpenRun, right: OpenRun) -> api.Comparison:
    """Compare two runs, election by election and member by member."""
    pairs = zip_longest(*(bands_of(one.tracks, one.total) for one in (left, right)))
    return api.Comparison(
        by="step",
        elections=tuple(
            api.ComparedElection(number=number, left=one, right=other)
            for number, (one, other) in enumerate(pairs, 1)
        ),
        members=tuple(
            _member(left, right, member)
            for member in range(max(len(left.places), len(right.places)))
        ),
    )


def compare_with_states(
    left: OpenRun, states: Sequence[dict[str, Any]], actions: Sequence[str]
) -> api.Comparison:
    """Compare a run with a behaviour of `Cluster.tla`, given by states and actions.

    Raises
    ------
    Refusal
        If the states are not those of a cluster.
    """
    if not states or not all(map(is_cluster, states)):
        raise bad_request("the counterexample has no members whose elections could be compared")
    names = list(states[0]["member"])
    bands = [band for place, name in enumerate(names) for band in _state_bands(states, place, name)]
    bands.sort(key=lambda band: (band.start, band.term, band.member))
    pairs = zip_longest(bands_of(left.tracks, left.total), bands)
    members = []
    for member in range(max(len(left.places), len(names))):
        ours = list(_run_changes(left, member)) if member < len(left.places) else []
        theirs = list(_state_changes(states, actions, names[member])) if member < len(names) else []
        alike = zip(ours, theirs, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0].label == pair[1].label, alike))
        sides = [side[same] if same < len(side) else None for side in (ours, theirs)]
        members.append(
            api.ComparedMember(member=member, same=same, left=sides[0], right=sides[1], changes=())
        )
    return api.Comparison(
        by="election state",
        elections=tuple(
            api.ComparedElection(number=number, left=one, right=other)
            for number, (one, other) in enumerate(pairs, 1)
        ),
        members=tuple(members),
    )


def _run_changes(run: OpenRun, member: int) -> Iterator[api.ComparedStep]:
    """Give the first step of a member, and each step that changes its election state."""
    state = run.tracks[member].state
    for k in np.flatnonzero(np.diff(state, prepend=-1)).tolist():
        side = _side(run, member, k)
        yield replace(side, label=ELECTION_STATES[int(state[k])])


def _state_changes(
    states: Sequence[dict[str, Any]], actions: Sequence[str], name: str
) -> Iterator[api.ComparedStep]:
    before = None
    for number, state in enumerate(states):
        label = str(state["member"][name].get("electionState", ""))
        if label != before:
            yield api.ComparedStep(
                event=number,
                step=number + 1,
                action=actions[number] or "the first state",
                time="",
                given={},
                label=label,
            )
        before = label


def _state_bands(
    states: Sequence[dict[str, Any]], place: int, name: str
) -> Iterator[api.LeaderBand]:
    """Give the leaderships of a member in a behaviour, counted in states."""
    leads = [_leads(state["member"][name]) for state in states]
    for term, group in groupby(range(len(states)), key=lambda number: leads[number]):
        numbers = list(group)
        if term is not None:
            began = next(
                (k for k in range(numbers[0] - 1, -1, -1) if _closed(states[k]["member"][name])), -1
            )
            yield api.LeaderBand(
                member=place,
                term=term,
                start=numbers[0],
                end=numbers[-1] + 1,
                lasted=counted(len(numbers), "state"),
                election_start=began + 1,
                election=counted(numbers[0] - began - 1, "state") if numbers[0] else "",
            )


def _closed(member: dict[str, Any]) -> bool:
    return member.get("electionState") == ElectionState.CLOSED.value


def _leads(member: dict[str, Any]) -> int | None:
    """Give the term that a member leads; None if it does not lead."""
    term = member.get("moduleLeadershipTermId", member.get("leadershipTermId"))
    led = _closed(member) and member.get("role") == Role.LEADER.value
    return term if led and isinstance(term, int) else None


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

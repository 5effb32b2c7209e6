"""Events of a run by a predicate: the language of graphs, asked of the state after each step.

A member's events in a row for which it holds are one stretch: what a person asks is since when, and
until when.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.clock_texts import seconds_text
from canvass.browser.graph_answers import asked
from canvass.browser.guard import bad_request
from canvass.browser.labels import label_of
from canvass.browser.limits import shortened
from canvass.browser.runs import OpenRun, tree_of
from canvass.cluster.names import wire_name
from canvass.explanation.evidence import shown_ns
from canvass.graph.csr import Rows
from canvass.graph.member_view import MemberColumns, MemberView
from canvass.graph.predicate import parse
from canvass.graph.values import Columns, ValueBuilder
from canvass.traces.layout import ACTION_NAMES, MEMBER_INDEX, STATE_INDEX

ACTION: Final = "action"
MEMBER: Final = "memberId"
FIELDS: Final = (ACTION, MEMBER, *MemberView.fields)
ACTIONS: Final = tuple(ACTION_NAMES)
_STATE: Final = {wire_name(name): place for name, place in STATE_INDEX.items()}
_RECORD: Final = {wire_name(name): place for name, place in MEMBER_INDEX.items()}


class RunStates:
    """The states after the steps of a run, to be asked as those of a graph.

    Parameters
    ----------
    opened
        The run.
    """

    fields = FIELDS

    def __init__(self, opened: OpenRun) -> None:
        self._columns = opened.loaded.columns
        self.state_count = len(self._columns)

    def columns(self, fields: Sequence[str]) -> Columns:
        """Give the values of some fields after all steps."""
        return self._member_columns.of(fields)

    @cached_property
    def _member_columns(self) -> _EventStates:
        return _EventStates(self._columns, np.arange(self.state_count, dtype=np.int64))


class _EventStates(MemberColumns):
    """The same arrays as those of a graph, with the action and the member of each event."""

    def __init__(self, columns: Any, rows: NDArray[np.int64]) -> None:
        super().__init__(columns, rows)
        builder: ValueBuilder = self._builder
        members = [builder.integer(member) for member in range(columns.member_count)]
        actions = [builder.string(name) for name in ACTION_NAMES]
        self._makers |= {
            MEMBER: lambda: _taken(members, columns.member),
            ACTION: lambda: _taken(actions, columns.action),
        }


def _taken(nodes: list[int], codes: NDArray[np.int64]) -> Rows:
    return np.array(nodes, dtype=np.int32)[codes]


def find_in_run(opened: OpenRun, states: RunStates, where: str, limit: int) -> api.RunFound:
    """Find the stretches of events for which a predicate holds, in the order of their beginning."""
    if not where:
        return api.RunFound(count=0, events=0, shown=(), hints=(), fields=FIELDS, actions=ACTIONS)
    with asked():
        predicate = parse(where)
        holds = predicate.mask(states)  # type: ignore[arg-type]
        hints = () if holds.any() else tuple(predicate.unknown_names(states))  # type: ignore[arg-type]
    found = sorted(
        (
            stretch
            for member in range(len(opened.places))
            for stretch in _runs(opened, member, holds)
        ),
        key=lambda one: one[1],
    )
    return api.RunFound(
        count=len(found),
        events=int(holds.sum()),
        shown=tuple(_stretch(opened, *one) for one in found[:limit]),
        hints=tuple(map(shortened, hints)),
        fields=FIELDS,
        actions=ACTIONS,
    )


def _runs(
    opened: OpenRun, member: int, holds: NDArray[np.bool_]
) -> list[tuple[int, int, int, int]]:
    """Give member, first place, first and last event among its own, of each stretch."""
    rows, places = opened.member_rows[member], opened.places[member]
    edges = np.flatnonzero(np.diff(holds[rows].astype(np.int8), prepend=0, append=0))
    pairs = edges.reshape(-1, 2).tolist()
    return [(member, int(places[first]), first, end - 1) for first, end in pairs]


def _stretch(opened: OpenRun, member: int, place: int, first: int, last: int) -> api.Stretch:
    rows = opened.member_rows[member]
    columns = opened.loaded.columns
    begin, end = int(rows[first]), int(rows[last])
    until = int(columns.time_ns[end])
    return api.Stretch(
        member=member,
        event=place,
        last_event=int(opened.places[member][last]),
        step=int(columns.step[begin]),
        action=ACTION_NAMES[int(columns.action[begin])],
        time=seconds_text(int(columns.time_ns[begin])),
        lasted=shown_ns(until - int(columns.time_ns[begin])),
        events=last - first + 1,
        label=label_of(tree_of(columns.event(begin).state)),
    )


def next_change(opened: OpenRun, path: str, member: int, number: int) -> api.NextChange:
    """Find the next event of a member that changes a field, such as ``members.1.logPosition``.

    Raises
    ------
    Refusal
        If a member's state has no such field, or it is one of a changing number of entries.
    """
    if not 0 <= member < len(opened.places):
        raise bad_request(f"the run has no member {member}")
    rows, places = opened.member_rows[member], opened.places[member]
    values = _values(opened, path, rows)
    at = int(np.searchsorted(places, number, side="right"))
    changed = np.flatnonzero(values[1:] != values[:-1]) + 1
    after = changed[changed >= max(at, 1)]
    return api.NextChange(event=int(places[int(after[0])]) if len(after) else None)


def _values(opened: OpenRun, path: str, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    columns = opened.loaded.columns
    found: NDArray[np.int64] | None = None
    match path.split("."):
        case [name] if name in _STATE:
            found = columns.state[rows, _STATE[name]]
        case ["recordingLog", *_]:
            found = columns.log_offsets[rows + 1] - columns.log_offsets[rows]
        case ["members", place, name] if name in _RECORD and place.isdecimal():
            if int(place) < columns.members.shape[1]:
                found = columns.members[rows, int(place), _RECORD[name]]
    if found is not None:
        return found
    raise bad_request(shortened(f"no field {path} whose changes can be found"))

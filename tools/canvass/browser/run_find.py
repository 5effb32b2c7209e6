"""Events of a run for which a predicate holds, in the language of state graphs.

The predicate is evaluated on the state after each step. Consecutive events of a member for which it
holds are one stretch, so an answer shows when the condition began and ended. If the predicate names
only ``leaders`` and ``candidates``, stretches span the events of all members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.labels import label_of
from canvass.browser.questions import LABEL_CHARS, bad_request, shortened
from canvass.browser.runs import OpenRun, seconds_text, tree_of
from canvass.cluster.messages import wire_name
from canvass.explanation.timeline import shown_ns
from canvass.graph import artifact
from canvass.graph.predicate import parse
from canvass.graph.syntax import names_in
from canvass.graph.values import Columns, interned
from canvass.tlc.values import Value
from canvass.traces.schema import ACTION_NAMES, MEMBER_INDEX, STATE_INDEX

ACTION: Final = "action"
MEMBER: Final = "memberId"
LEADERS: Final = "leaders"
CANDIDATES: Final = "candidates"
_OF_RUN: Final[dict[str, Callable[[api.Segment], bool]]] = {
    LEADERS: lambda one: one.election_state == "CLOSED" and one.role == "LEADER",
    CANDIDATES: lambda one: one.election_state == "CANDIDATE_BALLOT",
}
FIELDS: Final = (ACTION, MEMBER, LEADERS, CANDIDATES, *artifact.FIELDS)
_STATE: Final = {wire_name(name): place for name, place in STATE_INDEX.items()}
_RECORD: Final = {wire_name(name): place for name, place in MEMBER_INDEX.items()}


class RunStates:
    """The states after the steps of a run, as columns for predicates on state graphs.

    The columns `ACTION`, `MEMBER`, `LEADERS` and `CANDIDATES` exist for runs only.

    Parameters
    ----------
    opened
        The run.
    """

    fields = FIELDS

    def __init__(self, opened: OpenRun) -> None:
        self.state_count = len(opened.loaded.columns)
        self._opened = opened
        self._column = cache(self._make_column)  # One on the class would keep each run.

    def columns(self, fields: Sequence[str]) -> Columns:
        """Give the values of some of ``fields`` after all steps."""
        return interned({name: self._column(name) for name in fields or (ACTION,)})

    def _make_column(self, name: str) -> tuple[Sequence[Value], NDArray[np.int64]]:
        columns: Any = self._opened.loaded.columns
        if name == ACTION:
            return ACTION_NAMES, columns.action
        if name != MEMBER and name not in _OF_RUN:
            return artifact.field_values(columns, np.arange(self.state_count), name)
        numbers = columns.member if name == MEMBER else _members(self._opened, _OF_RUN[name])
        distinct, places = np.unique(numbers, return_inverse=True)
        return distinct.tolist(), places.reshape(-1)


def _members(opened: OpenRun, holds: Callable[[api.Segment], bool]) -> NDArray[np.int64]:
    """Count for each row the members whose current segment satisfies ``holds``.

    A member keeps its segment during events of other members; a member that is down has no state.
    """
    changes = np.zeros(opened.total + 1, dtype=np.int64)
    for track in opened.tracks:
        segments = list(track.segments())
        for one, end in zip(segments, [*(each.start for each in segments[1:]), -1], strict=True):
            changes[[one.start, end]] += (1, -1) if holds(one) else (0, 0)
    counts = np.zeros(opened.total, dtype=np.int64)
    counts[opened.lanes.rows] = np.cumsum(changes)[:-1]
    return counts


def find_in_run(opened: OpenRun, states: RunStates, where: str, limit: int) -> api.RunFound:
    """Find the stretches of events for which a predicate holds, ordered by their beginnings."""
    if not where:
        return api.RunFound(0, 0, (), (), FIELDS, ACTION_NAMES)
    predicate = parse(where)
    named = {str(one.value) for one in names_in(predicate.node)}
    of_run = bool(named) and named <= _OF_RUN.keys()
    holds = predicate.mask(states)  # type: ignore[arg-type]
    hints = () if holds.any() else tuple(predicate.unknown_names(states))  # type: ignore[arg-type]
    found = sorted(
        (int(places[first]), int(places[last]), count)
        for rows, places in (
            [(np.array(opened.lanes.rows, dtype=np.int64), np.arange(opened.total))]
            if of_run
            else zip(opened.member_rows, opened.places, strict=True)
        )
        for first, last, count in _stretches(holds[rows])
    )
    return api.RunFound(
        count=len(found),
        events=int(holds.sum()),
        shown=tuple(_stretch(opened, *one, of_run=of_run) for one in found[:limit]),
        hints=hints,
        fields=FIELDS,
        actions=ACTION_NAMES,
        of_cluster=of_run,
    )


def _stretches(holds: NDArray[np.bool_]) -> Iterator[tuple[int, int, int]]:
    """Give first index, last index and length of each stretch of true values."""
    edges = np.flatnonzero(np.diff(holds.astype(np.int8), prepend=0, append=0))
    for first, end in edges.reshape(-1, 2).tolist():
        yield first, end - 1, end - first


def _stretch(opened: OpenRun, first: int, last: int, count: int, *, of_run: bool) -> api.Stretch:
    columns = opened.loaded.columns
    begin, end = opened.lanes.rows[first], opened.lanes.rows[last]
    # Clocks of members differ: a later event of another member may have an earlier time.
    lasted = max(0, int(columns.time_ns[end]) - int(columns.time_ns[begin]))
    return api.Stretch(
        member=int(columns.member[begin]),
        event=first,
        last_event=last,
        action=ACTION_NAMES[int(columns.action[begin])],
        time=seconds_text(int(columns.time_ns[begin])),
        lasted=shown_ns(lasted),
        events=count,
        label=_members_label(opened, first)
        if of_run
        else label_of(tree_of(columns.event(begin).state)),
    )


def _members_label(opened: OpenRun, number: int) -> str:
    """Describe the states of all members after an event."""
    members = opened.members_at(number).members
    words = " · ".join(f"{one.member} {_member_words(one)}" for one in members)
    return shortened(words, LABEL_CHARS)


def _member_words(one: api.MemberAt) -> str:
    if one.leads is not None:
        return f"leads t{one.leads}"
    if one.status or not one.election_state:
        return one.status.lower() or "not started"
    return "follows" if one.election_state == "CLOSED" else one.election_state


def next_change(opened: OpenRun, path: str, member: int, number: int) -> api.NextChange:
    """Find the next event of a member that changes a field, such as ``members.1.logPosition``.

    Raises
    ------
    Refusal
        If a member's state has no such field, or the field is in a list of varying length.
    """
    rows, places = opened.member_rows[member], opened.places[member]
    values = _values(opened, path, rows)
    at = int(np.searchsorted(places, number, side="right"))
    changed = np.flatnonzero(values[1:] != values[:-1]) + 1
    after = changed[changed >= max(at, 1)]
    return api.NextChange(event=int(places[int(after[0])]) if len(after) else None)


def _values(opened: OpenRun, path: str, rows: NDArray[np.int64]) -> Any:
    columns = opened.loaded.columns
    match path.split("."):
        case [name] if name in _STATE:
            return columns.state[rows, _STATE[name]]
        case ["recordingLog", *_]:
            return columns.log_offsets[rows + 1] - columns.log_offsets[rows]
        case ["members", place, name] if name in _RECORD and place.isdecimal():
            if int(place) < columns.members.shape[1]:
                return columns.members[rows, int(place), _RECORD[name]]
    raise bad_request(f"no field {path} whose changes can be found")

"""Questions about runs, corpora, reports and counterexamples: what each takes, and whom it asks.

Two runs beside each other are compared here: elections in their order, and for each member the
first difference. Times, ids of messages and sources are no differences: two runs never agree in
them. A run and a counterexample have other positions and other silent steps; they are compared by
the election states that their members go through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile, zip_longest
from typing import Any, Final, Literal

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.counterexamples import Counterexample
from canvass.browser.exports import checked_format, export_run
from canvass.browser.graphs import OpenGraph
from canvass.browser.guard import Answer, Arguments, Question, bad_request, not_found
from canvass.browser.hazards import hazard_page
from canvass.browser.labels import label_of
from canvass.browser.limits import LANE_EVENTS, LISTED
from canvass.browser.member_steps import MemberSteps
from canvass.browser.neighbourhood import edges_of
from canvass.browser.reports import OpenCorpus, OpenReport
from canvass.browser.run_find import find_in_run, next_change
from canvass.browser.runs import FOLDS, OpenRun, tree_of
from canvass.browser.sources import Store
from canvass.browser.strip import strip_of
from canvass.browser.tracks import bands_of, seconds_text
from canvass.browser.verdicts import RunSource, marks_of
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
    """Compare a run with a behaviour of `Cluster.tla`, given by its states.

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
    """Give the steps of a member that change its election state, and its first one."""
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
    """Give the stretches of states in which a member leads, as those of a run."""
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
    """Give the term that a member leads."""
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
    """Give what counts of a step: its action, input, messages and state."""
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


MAX_PAGE: Final = 1_000_000


class RunRoutes:
    """Answers about the runs of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _run(self, arguments: Arguments) -> RunSource:
        run: RunSource = self._store.content("run", arguments.part("run"))
        return run

    def info(self, arguments: Arguments) -> Answer:
        """Say what is known of a run."""
        return self._run(arguments).view(arguments.part("run"))

    def lanes(self, arguments: Arguments) -> Answer:
        """Draw some events."""
        run = self._run(arguments)
        total = run.opened.total
        show = arguments.text("show")
        if show and show not in FOLDS:
            raise bad_request(f"show is one of: {', '.join(FOLDS)}")
        around = (
            arguments.number("around", 0, max(0, total - 1)) if arguments.text("around") else None
        )
        start = (
            arguments.number("from", 0, total) if arguments.text("from") or around is None else None
        )
        count = arguments.number("count", 200, LANE_EVENTS, 1)
        marks = marks_of(run.opened, run.checked.verdict)
        return run.opened.window(count, marks, show=show, start=start, around=around)

    def members(self, arguments: Arguments) -> Answer:
        """Say where the members are after an event."""
        opened = self._run(arguments).opened
        return opened.members_at(arguments.number("at", 0, max(0, opened.total - 1)))

    def step(self, arguments: Arguments) -> Answer:
        """Give everything of one step."""
        run = self._run(arguments)
        member, step = arguments.number_in_path("member"), arguments.number_in_path("step")
        row = run.opened.lanes.row_of(member, step)
        if row is None:
            raise not_found(f"the run has no step {step} of member {member}")
        answer = run.opened.step(row, run.wrong_at(member, step))
        found = run.graph(self._store)
        if found is None:
            return answer
        if not found[2].ready:
            found[2].begin()
            return replace(answer, graph_pending=True)
        return replace(answer, graph=_in_graph(run, row, found))

    def explanation(self, arguments: Arguments) -> Answer:
        """Say what happened in a run."""
        return self._run(arguments).explanation()

    def find(self, arguments: Arguments) -> Answer:
        """Find events by what holds after them."""
        run = self._run(arguments)
        limit = arguments.number("limit", 100, LISTED, 1)
        return find_in_run(run.opened, run.states.get(), arguments.text("where"), limit)

    def change(self, arguments: Arguments) -> Answer:
        """Find the next change of a field."""
        opened = self._run(arguments).opened
        at = arguments.number("at", 0, max(0, opened.total - 1))
        member = arguments.number("member", 0, max(0, len(opened.places) - 1))
        return next_change(opened, arguments.required("field"), member, at)

    def compare(self, arguments: Arguments) -> Answer:
        """Set a run beside another one, or beside a counterexample."""
        name, opened = arguments.required("other"), self._run(arguments).opened
        if name in dict(self._store.of_kind("counterexample")):
            found: Counterexample = self._store.content("counterexample", name)
            return compare_with_states(opened, found.states, found.actions)
        other: RunSource = self._store.content("run", name)
        return compare(opened, other.opened)

    def hazard(self, arguments: Arguments) -> Answer:
        """Give the page on a hazard."""
        return hazard_page(arguments.part("hazard"))

    def export(self, arguments: Arguments) -> Answer:
        """Give a file of some events."""
        opened = self._run(arguments).opened
        checked_format(arguments.required("format"), ("itf",))
        start = arguments.number("from", 0, max(0, opened.total))
        return export_run(opened, start, arguments.number("count", LANE_EVENTS, LANE_EVENTS, 1))

    def strip(self, arguments: Arguments) -> Answer:
        """Give the whole run at a glance."""
        run = self._run(arguments)
        return strip_of(run.opened, marks_of(run.opened, run.checked.verdict))

    def listed(self, kind: Literal["report", "corpus"]) -> Iterator[Question]:
        """Give the questions about what lists many runs: what is known of all, and a page."""

        def content(arguments: Arguments) -> OpenReport | OpenCorpus:
            found: OpenReport | OpenCorpus = self._store.content(kind, arguments.part(kind))
            return found

        def view(arguments: Arguments) -> Answer:
            return content(arguments).view(arguments.part(kind))

        def runs(arguments: Arguments) -> Answer:
            page = arguments.number("page", 0, MAX_PAGE)
            verdict, text = arguments.text("verdict"), arguments.text("text")
            return content(arguments).runs(arguments.part(kind), verdict, text, page)

        yield Question(f"/{kind}/{{{kind}}}", (), view)
        yield Question(f"/{kind}/{{{kind}}}/runs", ("verdict", "page", "text"), runs)

    def counterexample(self, arguments: Arguments) -> Answer:
        """Give everything of a counterexample."""
        name = arguments.part("counterexample")
        found: Counterexample = self._store.content("counterexample", name)
        return found.view(name)


def _in_graph(
    run: RunSource, row: int, found: tuple[str, OpenGraph, MemberSteps]
) -> api.InGraph | None:
    """Find a step of a run in a graph."""
    name, graph, steps = found
    place = steps.place(run.opened.loaded, row)
    if place is None:
        return None
    edge, source, target = place
    view = graph.view
    return api.InGraph(
        id=name,
        source=view.id_of(source),
        target=view.id_of(target),
        edge=edge,
        drawn_edge=edges_of(graph, source, target, view.edge(edge).action)[0],
    )


def run_questions(store: Store) -> list[Question]:
    """Give the questions about runs, corpora, reports and counterexamples."""
    routes = RunRoutes(store)
    return [
        Question("/run/{run}", (), routes.info),
        Question("/run/{run}/lanes", ("from", "count", "around", "show"), routes.lanes),
        Question("/run/{run}/members", ("at",), routes.members),
        Question("/run/{run}/export", ("format", "from", "count"), routes.export),
        Question("/run/{run}/find", ("where", "limit"), routes.find),
        Question("/run/{run}/change", ("field", "member", "at"), routes.change),
        Question("/run/{run}/compare", ("other",), routes.compare),
        Question("/run/{run}/strip", (), routes.strip),
        Question("/run/{run}/explanation", (), routes.explanation),
        Question("/run/{run}/step/{member}/{step}", (), routes.step),
        Question("/hazard/{hazard}", (), routes.hazard),
        *routes.listed("report"),
        *routes.listed("corpus"),
        Question("/counterexample/{counterexample}", (), routes.counterexample),
    ]

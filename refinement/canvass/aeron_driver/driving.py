"""Drive steps on Aeron's classes, and collect the differences from the spec.

The documents of ``canvass drive`` are here, too: counts by action, and groups of differences with
examples.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.aeron_driver.comparison import (
    SENDS,
    compared_cells,
    field_names,
    fields_of,
    input_of,
    reviewed_classes,
    sends_differ,
    sends_of,
    short_state,
)
from canvass.aeron_driver.drivable import (
    DISABLED_OBSTACLES,
    HIDDEN,
    OBSTACLES,
    DrivableSteps,
    GraphSteps,
    Requests,
    Rows,
    class_of,
    masks,
    names_of,
)
from canvass.aeron_driver.driver import BATCH_ROWS, THROWN, Answers, Cells, Driver, started
from canvass.cluster.messages import Record
from canvass.conformance.diagnose import operator_place
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.schema import INPUT_COLUMNS, NONE, STATE_COLUMNS, STATE_ENUMS


class FieldDifference(Record, frozen=True):
    """One field of an outcome, in the spec and in Java."""

    field: str
    spec: str
    java: str


class DifferingStep(Record, frozen=True):
    """One step in which Aeron and the spec differ."""

    edge: int
    """Row of the graph's edges; -1 for a disabled input."""
    state: str
    input: str
    fields: list[FieldDifference]
    note: str
    """The driver's note, such as an exception that Java threw or reported."""
    event: str = ""
    """Place in a run of the first such step: ``FILE:LINE``, event, and lines of the log."""


class Group(Record, frozen=True):
    """Differences of one action in the same fields, from the same election state and role."""

    action: str
    place: str
    """Election state and role before the step."""
    fields: list[str]
    count: int
    known: str
    """The reviewed class that explains the differences; empty if there is none.

    See `canvass.aeron_driver.comparison`.
    """
    operator: str
    example: DifferingStep
    hidden: list[str] = msgspec.field(default_factory=list)
    """Departures of Aeron's hidden state in these steps."""


class ActionCount(Record, frozen=True):
    """The numbers of driven, equal and different steps of one action."""

    action: str
    driven: int
    equal: int
    different: int


class Reason(Record, frozen=True):
    """A reason why some steps were not driven."""

    name: str
    reason: str
    count: int


class Part(Record, frozen=True):
    """The result of one set of steps: edges, edges with hidden state varied, or disabled inputs."""

    tried: int
    driven: int
    equal: int
    different: int
    explained: int
    """Number of different steps that a reviewed class explains."""
    actions: list[ActionCount]
    not_drivable: list[Reason]
    groups: list[Group]
    seconds: float

    @property
    def unexplained(self) -> int:
        """Number of different steps that no reviewed class explains."""
        return self.different - self.explained


class DriveReport(Record, frozen=True):
    """The document of ``canvass drive --format json``."""

    model: str
    members: int
    revision: str
    release: str
    release_revision: str
    edges: Part
    hidden: Part | None
    disabled: Part | None

    @property
    def is_expected(self) -> bool:
        """Whether a reviewed class explains every difference."""
        parts = (self.edges, self.hidden, self.disabled)
        return not any(part.unexplained for part in parts if part is not None)


class RulesPart(Record, frozen=True):
    """The result of the distinct steps of all runs with one member count and one revision."""

    members: int
    revision: str
    steps: Part


class TraceReport(Record, frozen=True):
    """The document of ``canvass drive --trace --format json``."""

    runs: int
    events: int
    release: str
    release_revision: str
    not_drivable: list[Reason]
    """Events without a step that Aeron could take, by reason."""
    parts: list[RulesPart]

    @property
    def is_expected(self) -> bool:
        """Whether a reviewed class explains every difference."""
        return not any(part.steps.unexplained for part in self.parts)


# --- driving --------------------------------------------------------------------------------------

EXCEPTION: Final = "exception"
"""Stands among the differing fields for an exception that Aeron does not throw on purpose: it is no
``AeronException``, or no election is there to handle it.
"""

_CHUNK: Final = 1 << 16
_OF_ONE_MEMBER: Final = re.compile(r"\[\d+\]")

Progress = Callable[[int, int], object]


@dataclass(slots=True)
class Steps:
    """Steps to drive, with their expected outcomes.

    Attributes
    ----------
    source, given
        Rows of the states before the steps, and of the inputs.
    edge
        Rows of the edges; -1 for disabled inputs.
    target, sent
        Rows of the expected states after the steps, and of the expected lists of sends.
    hidden
        Masks of Aeron's hidden state.
    """

    source: Rows
    given: Rows
    edge: Rows
    target: Rows
    sent: Rows
    hidden: NDArray[Any]

    def __getitem__(self, rows: NDArray[Any] | slice) -> Steps:
        return Steps(*(getattr(self, each.name)[rows] for each in fields(Steps)))


@dataclass(frozen=True, slots=True)
class Outcomes:
    """A batch of driven steps with both outcomes.

    Attributes
    ----------
    steps, requests
        The steps, and their requests.
    answers
        Java's answers.
    expected, expected_sends
        The outcomes of the spec.
    java, java_sends
        The outcomes of Java.
    state_differs
        Compared cells of the state that differ.
    sends_differ, threw
        Whether the sends differ, and whether Java threw an exception that it does not handle.
    """

    steps: Steps
    requests: Cells
    answers: Answers
    expected: Cells
    expected_sends: Cells
    java: Cells
    java_sends: Cells
    state_differs: NDArray[np.bool_]
    sends_differ: NDArray[np.bool_]
    threw: NDArray[np.bool_]

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Mark the steps with different outcomes."""
        return self.state_differs.any(axis=1) | self.sends_differ | self.threw


Observer = Callable[[Outcomes], object]


def edge_steps(steps: DrivableSteps, hidden: NDArray[Any] | None = None) -> Steps:
    """Give all edges as steps; ``hidden`` has a mask for each."""
    graph, edges = steps.graph, steps.edges
    mask = np.zeros(len(edges), dtype=np.int32) if hidden is None else hidden
    return Steps(
        graph.source[edges], graph.input[edges], edges, graph.target[edges], graph.sent[edges], mask
    )


def disabled_steps(steps: GraphSteps) -> Steps:
    """Give all inputs that TLC tried and the spec disables; the expected outcome is no change."""
    graph = steps.graph
    tried = np.flatnonzero(graph.target == NONE)
    source, given = [graph.source[tried]], [graph.input[tried]]
    for code in range(len(ACTIONS)):
        states = np.flatnonzero(graph.expanded & ((graph.disabled >> code & 1) == 1))
        inputs = np.flatnonzero(graph.input_action == code)
        source.append(np.repeat(states, len(inputs)))
        given.append(np.tile(inputs, len(states)))
    sources, inputs = np.concatenate(source), np.concatenate(given)
    silent = int(np.flatnonzero(np.diff(graph.send_offsets) == 0)[0])
    none = np.full(len(sources), NONE, dtype=np.int64)
    target, sent = sources.copy(), np.full_like(none, silent)
    _expect_no_append(steps, sources, inputs, target, sent)
    return Steps(sources, inputs, none, target, sent, np.zeros_like(none))


def _expect_no_append(
    steps: GraphSteps, source: Rows, given: Rows, target: Rows, sent: Rows
) -> None:
    """For a disabled LeaderReady, expect the outcome of the same input without an append.

    The environment does not choose whether the leader appends: if the leader cannot append, its
    duty cycle continues without the append.
    """
    graph = steps.graph
    code = ACTIONS.index(Action.LEADER_READY)
    of_edges = (graph.input_action[graph.input] == code) & (graph.target != NONE)
    edge_of = {
        (int(graph.source[edge]), *graph.inputs[graph.input[edge]].tolist()): edge
        for edge in np.flatnonzero(of_edges).tolist()
    }
    without_append = graph.inputs.copy()
    without_append[:, INPUT_COLUMNS.index("position")] = NONE
    for row in np.flatnonzero(graph.input_action[given] == code).tolist():
        edge = edge_of.get((int(source[row]), *without_append[given[row]].tolist()))
        if edge is not None:
            target[row], sent[row] = graph.target[edge], graph.sent[edge]


Kind = tuple[Action, str, tuple[str, ...], str, str]
"""A kind of difference: action, place, fields, reviewed class, departures of hidden state."""


@dataclass(slots=True)
class Collector:
    """Counts outcomes and keeps the smallest example of each kind of difference."""

    steps: DrivableSteps
    driven: NDArray[Any] = field(default_factory=lambda: np.zeros(len(ACTIONS), dtype=np.int64))
    different: NDArray[Any] = field(default_factory=lambda: np.zeros(len(ACTIONS), dtype=np.int64))
    explained: int = 0
    counts: Counter[Kind] = field(default_factory=Counter)
    smallest: dict[Kind, tuple[float, DifferingStep]] = field(default_factory=dict)
    """The size and the example of each kind."""

    def add(self, outcomes: Outcomes) -> None:
        """Count a batch."""
        action = outcomes.requests[:, 0]
        differ = outcomes.differ
        self.driven += np.bincount(action, minlength=len(ACTIONS))
        self.different += np.bincount(action[differ], minlength=len(ACTIONS))
        rows = np.flatnonzero(differ)
        if not len(rows):
            return
        requests = Requests(self.steps.layout, outcomes.requests[rows])
        known = reviewed_classes(requests, self.steps.graph.rules.revision)
        for row, name in zip(rows.tolist(), known, strict=True):
            self.explained += bool(name)
            self._note(outcomes, row, name)

    def _note(self, outcomes: Outcomes, row: int, known: str) -> None:
        layout = self.steps.layout
        request = outcomes.requests[row]
        names = field_names(layout)
        differing = {names[cell] for cell in np.flatnonzero(outcomes.state_differs[row])}
        fields = sorted(differing)
        if outcomes.sends_differ[row]:
            fields.append(SENDS)
        if outcomes.threw[row]:
            fields.append(EXCEPTION)
        kinds = sorted({_OF_ONE_MEMBER.sub("", name) for name in fields})
        place = " ".join(
            str(STATE_ENUMS[name][request[layout.state + STATE_COLUMNS.index(name)]].value)
            for name in ("election_state", "role")
        )
        hidden = ", ".join(names_of(int(request[1])))
        key = (ACTIONS[request[0]], place, tuple(kinds), known, hidden)
        self.counts[key] += 1
        size = float(np.abs(request[2:]).sum())
        if key not in self.smallest or size < self.smallest[key][0]:
            self.smallest[key] = size, self._example(outcomes, row, fields)

    def _example(self, outcomes: Outcomes, row: int, fields: list[str]) -> DifferingStep:
        layout = self.steps.layout
        request = outcomes.requests[row].tolist()
        spec = fields_of(layout, outcomes.expected[row].tolist())
        java = fields_of(layout, outcomes.java[row].tolist())
        spec[SENDS] = "; ".join(sends_of(layout, outcomes.expected_sends[row].tolist())) or "none"
        java[SENDS] = "; ".join(sends_of(layout, outcomes.java_sends[row].tolist())) or "none"
        note = outcomes.answers.notes.get(row, "")
        spec[EXCEPTION], java[EXCEPTION] = "none", note
        return DifferingStep(
            edge=int(outcomes.steps.edge[row]),
            state=short_state(layout, request[layout.state :]),
            input=input_of(request),
            fields=[FieldDifference(name, spec[name], java[name]) for name in fields],
            note=note,
        )

    def part(self, tried: int, not_drivable: list[Reason], seconds: float) -> Part:
        """Give the result of all batches.

        Parameters
        ----------
        tried
            The number of all steps, drivable or not.
        not_drivable
            The reasons why the others were not driven.
        seconds
            Duration.
        """
        counts = zip(ACTIONS, self.driven.tolist(), self.different.tolist(), strict=True)
        actions = [
            ActionCount(action.value, driven, driven - different, different)
            for action, driven, different in counts
            if driven
        ]
        groups = [
            Group(
                action=action.value,
                place=place,
                fields=list(kinds),
                count=count,
                known=known,
                operator=operator_place(action),
                example=self.smallest[action, place, kinds, known, hidden][1],
                hidden=hidden.split(", ") if hidden else [],
            )
            for (action, place, kinds, known, hidden), count in sorted(
                self.counts.items(), key=lambda item: (bool(item[0][3]), -item[1], item[0])
            )
        ]
        different = int(self.different.sum())
        return Part(
            tried=tried,
            driven=int(self.driven.sum()),
            equal=int(self.driven.sum()) - different,
            different=different,
            explained=self.explained,
            actions=actions,
            not_drivable=not_drivable,
            groups=groups,
            seconds=round(seconds, 3),
        )


def drive(
    driver: Driver,
    steps: DrivableSteps,
    chosen: Steps,
    *,
    observer: Observer | None = None,
    progress: Progress | None = None,
) -> Part:
    """Drive steps and give the result.

    Parameters
    ----------
    driver
        The driver, compiled against the release.
    steps
        All steps of a graph or of runs.
    chosen
        The steps to drive.
    observer
        Called with each batch of outcomes.
    progress
        Called with the number of steps done and of all steps.

    Raises
    ------
    DriverError
        If the driver's process ends.
    """
    kept, reasons = without_obstacles(steps, chosen)
    collector = Collector(steps)
    start, done = time.perf_counter(), 0
    for outcomes in outcomes_of(driver, steps, kept):
        collector.add(outcomes)
        if observer is not None:
            observer(outcomes)
        done += len(outcomes.requests)
        if progress is not None:
            progress(done, len(kept.source))
    return collector.part(len(chosen.source), reasons, time.perf_counter() - start)


def drive_varied(
    driver: Driver,
    steps: GraphSteps,
    seed: int,
    different: Rows,
    progress: Progress | None = None,
) -> Part:
    """Drive the edges with random departures of Aeron's hidden state.

    If a step differs, each departure of its mask is removed in turn, unless the step would then no
    longer differ. So a group names the departures that together make the difference, and each step
    that differs is in one group.

    Parameters
    ----------
    seed
        Seed of the masks.
    different
        Edges that already differ without departures; these are left out.
    """
    rows = np.flatnonzero(~np.isin(steps.edges, different))
    chosen = edge_steps(steps, masks(len(steps.edges), seed))[rows]
    found: list[Steps] = []

    def note(outcomes: Outcomes) -> None:
        found.append(outcomes.steps[np.flatnonzero(outcomes.differ)])

    whole = drive(driver, steps, chosen, observer=note, progress=progress)
    if not whole.different:
        return whole
    least = joined(found)
    for bit in range(len(HIDDEN)):
        rows = np.flatnonzero(least.hidden >> bit & 1)
        fewer = least[rows]
        fewer.hidden = fewer.hidden & ~(1 << bit)
        found = [fewer[:0]]
        drive(driver, steps, fewer, observer=note)
        still = np.isin(fewer.edge, joined(found).edge)
        least.hidden[rows[still]] = fewer.hidden[still]
    return msgspec.structs.replace(whole, groups=drive(driver, steps, least).groups)


def joined(parts: Sequence[Steps]) -> Steps:
    """Concatenate steps."""
    names = [item.name for item in fields(Steps)]
    return Steps(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def outcomes_of(driver: Driver, steps: DrivableSteps, chosen: Steps) -> Iterator[Outcomes]:
    """Drive steps without obstacles; give the outcomes batch by batch."""
    layout = steps.layout
    state_end = 1 + layout.state_width
    with started(driver, layout) as ask:
        for start in range(0, len(chosen.source), BATCH_ROWS):
            part = chosen[slice(start, start + BATCH_ROWS)]
            requests = steps.requests(part.source, part.given, part.hidden)
            answers = ask(requests)
            expected, expected_sends = steps.normal_states[part.target], steps.sends[part.sent]
            java, java_sends = answers.cells[:, 1:state_end], answers.cells[:, state_end:]
            yield Outcomes(
                steps=part,
                requests=requests,
                answers=answers,
                expected=expected,
                expected_sends=expected_sends,
                java=java,
                java_sends=java_sends,
                state_differs=(expected != java) & compared_cells(layout, expected),
                sends_differ=sends_differ(layout, expected_sends, java_sends),
                threw=answers.cells[:, 0] == THROWN,
            )


def without_obstacles(steps: DrivableSteps, chosen: Steps) -> tuple[Steps, list[Reason]]:
    """Give the steps that can be driven, and the reasons why the others cannot.

    ``chosen`` has only edges or only disabled inputs.
    """
    is_edge = bool(len(chosen.edge)) and int(chosen.edge[0]) != NONE
    obstacles = OBSTACLES if is_edge else DISABLED_OBSTACLES
    found = np.full(len(chosen.source), NONE, dtype=np.int64)
    for start in range(0, len(found), _CHUNK):
        part = chosen[slice(start, start + _CHUNK)]
        requests = Requests(steps.layout, steps.requests(part.source, part.given))
        found[start : start + _CHUNK] = class_of(requests, obstacles)
    counts = np.bincount(found[found != NONE], minlength=len(obstacles)).tolist()
    reasons = [
        Reason(obstacle.name, obstacle.reason, count)
        for obstacle, count in zip(obstacles, counts, strict=True)
        if count
    ]
    return chosen[found == NONE], reasons

"""The server's answers, as Structs: the only definition of the page's data, under one name.

Answers about graphs, reports and counterexamples are here; those about runs are in `api_runs`.
``tools/generate_api_types.py`` writes the page's TypeScript types from them. Nothing is computed
here.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from canvass.browser.api_runs import *  # noqa: F403 - all of them, under one name
from canvass.browser.api_runs import Data, Lanes
from canvass.conformance.operators import Operator
from canvass.lanes.of_run import Change


class OverviewState(Data, frozen=True):
    """An election state."""

    name: str
    x: float
    y: float
    phase: str
    """Part of the election: ``start``, ``candidate``, ``leader``, ``follower`` or ``outside``."""


class OverviewEdge(Data, frozen=True):
    """A change of the election state that the spec allows."""

    source: str
    target: str
    actions: tuple[str, ...]
    seeds: bool
    """Whether the published state diagram of Aeron's election has this change."""


class Overview(Data, frozen=True):
    """The election's state machine."""

    states: tuple[OverviewState, ...]
    edges: tuple[OverviewEdge, ...]


class ActionCount(Data, frozen=True):
    """The number of edges with one action."""

    name: str
    count: int


class GraphInfo(Data, frozen=True):
    """A state graph."""

    id: str
    title: str
    kind: Literal["member", "tlc"]
    states: int
    edges: int
    complete: bool | None
    """Whether TLC explored all states within the model's bounds; null if that is unknown."""
    initial: tuple[str, ...]
    actions: tuple[ActionCount, ...]
    fields: tuple[str, ...]
    """The names that predicates and projections may use."""
    map_by: str
    """The field whose projection is a map of the graph; empty if there is none."""
    drawn_states: int
    """The most states that are drawn around a state: a larger ``limit`` is refused."""
    detail: dict[str, str]


class StateRef(Data, frozen=True):
    """A state by its id."""

    id: str
    label: str


class OutEdge(Data, frozen=True):
    """A step that leaves a state."""

    edge: int
    action: str
    target: str
    target_label: str
    words: str
    """In a graph of a cluster: member, action and messages; else the action alone."""
    given: Any
    """The input of the step, as a tree."""
    sends: Any
    """The messages that the step sends, as a tree."""
    changes: tuple[Change, ...]


class InEdge(Data, frozen=True):
    """A step that leads to a state."""

    edge: int
    action: str
    source: str
    source_label: str
    words: str


class StateView(Data, frozen=True):
    """A state with its neighbours."""

    id: str
    label: str
    initial: bool
    expanded: bool
    tree: dict[str, Any]
    out: tuple[OutEdge, ...]
    out_total: int
    entering: tuple[InEdge, ...] = field(name="in")
    in_total: int
    enabled: tuple[ActionCount, ...]
    """Actions that leave the state, with the number of their edges."""


class Node(Data, frozen=True):
    """A drawn state."""

    id: str
    label: str
    x: float
    y: float
    initial: bool
    expanded: bool
    more: int
    """Edges to and from states outside of the drawing."""
    election_state: str | UnsetType = UNSET
    """Election state of the member; in a graph of a cluster, of the member named in ``sign``."""
    sign: str | UnsetType = UNSET
    """In a graph of a cluster: the first member whose state is not that of the centre."""


class Edge(Data, frozen=True):
    """A drawn step."""

    id: int
    source: str
    target: str
    action: str
    loop: bool
    count: int
    """Steps that differ only in input and sends; ``id`` is the first of them."""
    words: str


class LeftOut(Data, frozen=True):
    """Numbers of states and edges outside of the drawing."""

    states: int
    edges: int


class Around(Data, frozen=True):
    """The part of a graph around a state, laid out."""

    root: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: LeftOut


class Found(Data, frozen=True):
    """The states in which a predicate holds."""

    count: int
    shown: tuple[StateRef, ...]
    hints: tuple[str, ...]
    """If there are none: names and values of the predicate that occur in no state."""


class Hop(Data, frozen=True):
    """One step of a path."""

    edge: int
    action: str
    source: str
    target: str
    source_label: str
    target_label: str
    words: str


class PathView(Data, frozen=True):
    """A shortest path."""

    start: StateRef
    hops: tuple[Hop, ...]


class QuotientNode(Data, frozen=True):
    """The states for which an expression has one value."""

    key: str
    count: int
    example: str
    x: float
    y: float


class QuotientEdge(Data, frozen=True):
    """Steps of one action from the states of one node to those of another."""

    source: str
    target: str
    action: str
    count: int


class Projection(Data, frozen=True):
    """A graph projected onto an expression: one node for each of its values."""

    by: str
    nodes: tuple[QuotientNode, ...]
    edges: tuple[QuotientEdge, ...]
    left_out: LeftOut
    left_out_classes: int
    """The number of rarest values of the expression that have no node."""


class Component(Data, frozen=True):
    """A strongly connected component: each state leads to each other one."""

    size: int
    example: str
    label: str


class Components(Data, frozen=True):
    """The strongly connected components of a graph."""

    count: int
    largest: tuple[Component, ...]
    terminal: int
    """Components that no edge leaves."""


class ActionCoverage(Data, frozen=True):
    """How many distinct steps of an action were taken."""

    name: str
    covered: int
    total: int
    """Distinct steps of the action in the graphs; 0 without a graph."""
    events: int


class SimulatedStep(Data, frozen=True):
    """Where a simulated run takes a step."""

    seed: int
    member: int
    step: int
    command: str
    """Simulates the run again and records it."""


class UntakenStep(Data, frozen=True):
    """A step of a graph that no run takes."""

    edge: int
    source: str
    source_label: str
    target: str
    target_label: str
    given: Any
    away: int
    """Steps from an initial state to its source; -1 if none leads there."""
    simulated: SimulatedStep | None
    """Null if no simulated run takes it so far."""


class Untaken(Data, frozen=True):
    """Steps of an action that no run takes. Those that a simulated run takes come first, then the
    nearest to an initial state.
    """

    action: str
    count: int
    simulated_runs: int
    """Simulated runs searched so far."""
    searching: bool
    shown: tuple[UntakenStep, ...]


class GraphCoverage(Data, frozen=True):
    """How much of a graph some runs take."""

    runs: int
    covered: int
    total: int
    """Distinct canonical steps of the graph."""
    events: int
    outside: int
    """Events whose steps the graph does not have."""
    actions: tuple[ActionCoverage, ...]
    edges: dict[str, int]
    """Events of each drawn edge that was taken, by the edge's number."""


class ReportCluster(Data, frozen=True):
    """Divergences of one class and action."""

    signature: str
    divergence_class: str
    action: str
    count: int
    runs: int
    example: str | None
    """Id of the run as a source; null if the run is gone."""
    example_run_id: str
    member: int
    step: int
    message: str


class ReportRun(Data, frozen=True):
    """A run of a report or corpus."""

    run_id: str
    verdict: str
    """``UNCHECKED`` for a run of a corpus that is not checked yet."""
    events: int | None
    """Null until they are counted."""
    reason: str
    source: str
    run: str | None
    """Id of the run as a source; null if it cannot be opened."""


class ReportRuns(Data, frozen=True):
    """A page of the runs of a report or corpus."""

    page: int
    pages: int
    total: int
    runs: tuple[ReportRun, ...]


class CorpusView(Data, frozen=True):
    """A corpus of many runs."""

    id: str
    title: str
    counts: dict[str, int]
    """Runs by verdict."""
    checking: bool
    """Whether the runs are checked one by one without being opened."""


class ReportView(Data, frozen=True):
    """A report on a corpus."""

    id: str
    title: str
    counts: dict[str, int]
    """Runs by verdict."""
    checked_in_part: int
    """Runs that conform, but were not checked against all safety properties."""
    revisions: tuple[str, ...]
    """A text for each choice of a revision, with its runs; of imported runs with the releases."""
    events: int
    divergences: int
    seconds: float
    events_per_second: float
    clusters: tuple[ReportCluster, ...]
    cluster_count: int
    coverage: tuple[ActionCoverage, ...]
    never_taken: tuple[str, ...]
    runs: ReportRuns


class CounterexampleState(Data, frozen=True):
    """A state of a counterexample."""

    number: int
    action: str
    acting: str
    changes: tuple[Change, ...]
    tree: dict[str, Any]


class CounterexampleView(Data, frozen=True):
    """A behaviour that violates a property."""

    id: str
    title: str
    claim: str
    property: str
    """The violated property; empty if the source names none."""
    operator: Operator | None
    """Its definition; null for a property of another specification."""
    explanation: tuple[str, ...]
    loop: int | None
    """Number of the state to which the behaviour returns; null without a loop."""
    stuttering: bool
    states: tuple[CounterexampleState, ...]
    states_total: int
    lanes: Lanes | None
    """Null unless the states are those of a cluster."""
    hazards: tuple[str, ...]
    """Hazards that the model shows and that have a page."""

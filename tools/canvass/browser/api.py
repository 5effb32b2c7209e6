"""What the server says, as Structs: the only definition of the page's data, under one name.

Here is what is said of graphs, reports and counterexamples; the rest is in `api_runs`.
``tools/generate_api_types.py`` writes the page's TypeScript types from them. No value is computed
here, and nothing here knows where a value comes from.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from canvass.browser.api_runs import *  # noqa: F403 - all of them, under one name
from canvass.browser.api_runs import Data, Lanes
from canvass.lanes.of_run import Change


class OverviewState(Data, frozen=True):
    """An election state."""

    name: str
    x: float
    y: float
    phase: str
    """Whose state it is: ``start``, ``candidate``, ``leader``, ``follower`` or ``outside``."""


class OverviewEdge(Data, frozen=True):
    """A change of the election state that the spec allows."""

    source: str
    target: str
    actions: tuple[str, ...]
    seeds: bool
    """Whether the published state diagram of Aeron's election has it."""


class Overview(Data, frozen=True):
    """The election's state machine."""

    states: tuple[OverviewState, ...]
    edges: tuple[OverviewEdge, ...]


class ActionCount(Data, frozen=True):
    """How many edges have an action."""

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
    """Null if nobody knows."""
    initial: tuple[str, ...]
    actions: tuple[ActionCount, ...]
    fields: tuple[str, ...]
    """What predicates and projections may name."""
    drawn_states: int
    """How many states are drawn around one at most: a larger ``limit`` is refused."""
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
    """Who does what with which message, in a graph of a cluster; else the action."""
    given: Any
    """What the step consumes, as a tree."""
    sends: Any
    """What it sends, as a tree."""
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
    """Edges to and from states that are not drawn."""
    election_state: str | UnsetType = UNSET
    """Of a member; in a graph of a cluster, of the member that differs from the centre."""
    sign: str | UnsetType = UNSET
    """In a graph of a cluster, the member that differs from the centre."""


class Edge(Data, frozen=True):
    """A drawn step."""

    id: int
    source: str
    target: str
    action: str
    loop: bool
    count: int
    """Steps that differ only in what they consume or send; ``id`` is the first of them."""
    words: str


class LeftOut(Data, frozen=True):
    """What there is and is not drawn."""

    states: int
    edges: int


class Around(Data, frozen=True):
    """The part of a graph around a state, laid out."""

    root: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: LeftOut


class Found(Data, frozen=True):
    """States that a predicate holds in."""

    count: int
    shown: tuple[StateRef, ...]
    hints: tuple[str, ...]
    """If there are none: what the predicate names and no state has."""


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
    """States for which an expression has one value."""

    key: str
    count: int
    example: str
    x: float
    y: float


class QuotientEdge(Data, frozen=True):
    """Steps of one action between two such sets of states."""

    source: str
    target: str
    action: str
    count: int


class Projection(Data, frozen=True):
    """A graph seen through an expression."""

    by: str
    nodes: tuple[QuotientNode, ...]
    edges: tuple[QuotientEdge, ...]
    left_out: LeftOut
    left_out_classes: int
    """Values of the expression, the rarest ones, that are not among the nodes."""


class Component(Data, frozen=True):
    """States that all lead to one another."""

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
    """How many steps of an action were taken."""

    name: str
    covered: int
    total: int
    """Steps that the graphs have of it; 0 if there is no graph."""
    events: int


class SimulatedStep(Data, frozen=True):
    """A simulated run that takes a step, and where."""

    seed: int
    member: int
    step: int
    command: str
    """Does the run again, and records it."""


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
    """Steps of an action that no run takes: those of simulated runs first, then the nearest."""

    action: str
    count: int
    simulated_runs: int
    """Simulated runs that were searched so far."""
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
    """Divergences that are alike."""

    signature: str
    divergence_class: str
    action: str
    count: int
    runs: int
    example: str | None
    """Id of the run as a source; null if it is no longer there."""
    example_run_id: str
    member: int
    step: int
    message: str


class ReportRun(Data, frozen=True):
    """A run of a report or corpus."""

    run_id: str
    verdict: str
    """``UNCHECKED`` of a run of a corpus that was not opened yet."""
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


class ReportView(Data, frozen=True):
    """A report on a corpus."""

    id: str
    title: str
    counts: dict[str, int]
    """Runs by verdict."""
    checked_in_part: int
    """Runs that conform, but were not checked against all safety properties."""
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
    explanation: tuple[str, ...]
    loop: int | None
    """Number of the state that the behaviour goes back to."""
    stuttering: bool
    states: tuple[CounterexampleState, ...]
    states_total: int
    lanes: Lanes | None
    """Null if the states are not those of a cluster."""
    hazards: tuple[str, ...]
    """Hazards with a page of their own that the model shows."""

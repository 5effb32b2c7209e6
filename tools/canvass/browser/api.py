"""What the server says, as Structs: the only definition of the page's data.

``tools/generate_api_types.py`` writes the page's TypeScript types from them. No value is computed
here, and nothing here knows where a value comes from.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

Kind = Literal["graph", "run", "report", "counterexample"]
Scalar = str | int | bool | None


class Data(Struct, frozen=True, rename="camel"):
    """A part of an answer; fields are in camel case on the wire."""


# --- errors and the session -----------------------------------------------------------------------


class Problem(Data, frozen=True):
    """Why a request has no answer."""

    code: str
    message: str
    column: int | UnsetType = UNSET
    """Place in the expression that was asked for, from 1."""


class Failure(Data, frozen=True):
    """The body of an answer that is an error."""

    error: Problem


class SourceInfo(Data, frozen=True):
    """Something that was opened."""

    id: str
    kind: Kind
    title: str
    detail: str


class Session(Data, frozen=True):
    """What there is to look at."""

    version: str
    opened: str
    """Id of the source to show first; empty if there is none."""
    sources: tuple[SourceInfo, ...]


# --- the election ---------------------------------------------------------------------------------


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


# --- graphs ---------------------------------------------------------------------------------------


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
    initial_total: int
    actions: tuple[ActionCount, ...]
    fields: tuple[str, ...]
    """What predicates and projections may name."""
    detail: dict[str, str]


class StateRef(Data, frozen=True):
    """A state by its id."""

    id: str
    label: str


class FieldChange(Data, frozen=True):
    """A field with another value than before."""

    path: str
    before: str
    after: str


class OutEdge(Data, frozen=True):
    """A step that leaves a state."""

    edge: int
    action: str
    target: str
    target_label: str
    given: Any
    """What the step consumes, as a tree."""
    sends: Any
    """What it sends, as a tree."""
    changes: tuple[FieldChange, ...]


class InEdge(Data, frozen=True):
    """A step that leads to a state."""

    edge: int
    action: str
    source: str
    source_label: str


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
    layer: int
    initial: bool
    expanded: bool
    more: int
    """Edges to and from states that are not drawn."""
    election_state: str | UnsetType = UNSET


class Edge(Data, frozen=True):
    """A drawn step."""

    id: int
    source: str
    target: str
    action: str
    loop: bool
    count: int
    """Steps that differ only in what they consume or send; ``id`` is the first of them."""


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


class Hop(Data, frozen=True):
    """One step of a path."""

    edge: int
    action: str
    source: str
    target: str
    source_label: str
    target_label: str


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
    events: int


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


# --- runs -----------------------------------------------------------------------------------------


class MemberInfo(Data, frozen=True):
    """A member of a run."""

    id: int
    steps: int
    events: int


class Difference(Data, frozen=True):
    """A field in which what was observed differs from what is allowed."""

    field: str
    before: str
    observed: str
    allowed: str


class SourceLines(Data, frozen=True):
    """A definition of the spec."""

    module: str
    line: int
    lines: tuple[str, ...]


class Divergence(Data, frozen=True):
    """Where a run leaves what is allowed, and what helps to understand it."""

    member: int
    step: int
    event_number: int
    """Its place in the causal order."""
    kind: str
    name: str
    """The action or the property."""
    message: str
    about: str
    """What the kind means, in a few words."""
    changed: tuple[Difference, ...]
    expected: tuple[tuple[Difference, ...], ...]
    """For each outcome that the spec allows, where it differs; the nearest first."""
    enabled: tuple[str, ...]
    action_enabled: bool
    failing: tuple[str, ...]
    """Parts of the guard that keep the action from being enabled."""
    operator: SourceLines | None
    note: str
    place: str
    commands: tuple[str, ...]


class Finding(Data, frozen=True):
    """One more thing that is wrong with a run, or missing from it."""

    kind: str
    name: str
    member: int
    step: int
    message: str


class RunView(Data, frozen=True):
    """A run with its verdict."""

    id: str
    run_id: str
    title: str
    revision: str
    verdict: str | None
    """Null while it is checked, or when it could not be."""
    checking: bool
    note: str
    """Why there is no verdict, or no explanation."""
    divergence: Divergence | None
    findings: tuple[Finding, ...]
    members: tuple[MemberInfo, ...]
    events: int


class LaneEvent(Data, frozen=True):
    """One event of one lane."""

    number: int
    """Its place in the causal order."""
    lane: int
    title: str
    reference: str
    given: str
    aside: tuple[str, ...]
    changes: tuple[str, ...]
    mark: str | None
    remark: str
    skipped: int
    election_state: str | UnsetType = UNSET


class LaneMessage(Data, frozen=True):
    """A message between two lanes."""

    name: str
    sender: int
    receiver: int
    sent: int | None
    """Index of the event that sends it, in this answer; null if it is not in it."""
    received: int | None
    fate: str
    text: str


class Lanes(Data, frozen=True):
    """A window of a diagram of lanes."""

    lanes: tuple[str, ...]
    events: tuple[LaneEvent, ...]
    messages: tuple[LaneMessage, ...]
    before: int
    after: int
    total: int


class InGraph(Data, frozen=True):
    """Where a step lies in a state graph, up to the numbering of terms, positions and peers."""

    id: str
    source: str
    target: str
    edge: int
    drawn_edge: int
    """The edge that stands for it in a drawing."""


class StepView(Data, frozen=True):
    """A step of a run."""

    member: int
    step: int
    event_number: int
    action: str
    time_ns: str
    """As text: the number may be larger than JavaScript holds."""
    input: Any
    sends: Any
    before: dict[str, Any] | None
    after: dict[str, Any]
    changes: tuple[FieldChange, ...]
    graph: InGraph | None
    graph_pending: bool
    """Whether the graph is still being made ready to be searched: ask again for ``graph``."""
    divergence: str
    """What is wrong at this step, if something is."""


class MemberAt(Data, frozen=True):
    """Where a member is at some place of the causal order."""

    member: int
    election_state: str
    role: str
    step: int
    """Its last step so far, -1 if it has none."""


class MembersAt(Data, frozen=True):
    """Where the members are."""

    at: int
    total: int
    members: tuple[MemberAt, ...]


class Segment(Data, frozen=True):
    """A member's election state from one event on, to the next segment of the member."""

    start: int
    """Place in the causal order."""
    election_state: str
    """Empty before the member's first step."""


class MemberStrip(Data, frozen=True):
    """A member's election states over a run."""

    id: int
    segments: tuple[Segment, ...]


class StripMark(Data, frozen=True):
    """An event that is out of the ordinary."""

    number: int
    member: int
    kind: str
    text: str


class RunStrip(Data, frozen=True):
    """A whole run at a glance."""

    total: int
    members: tuple[MemberStrip, ...]
    marks: tuple[StripMark, ...]
    left_out: int
    """Segments and marks that are not here, the last ones."""


# --- reports --------------------------------------------------------------------------------------


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


class ReportAction(Data, frozen=True):
    """What of an action was taken."""

    action: str
    events: int
    covered: int
    total: int
    """Steps that the graphs of the report have of it; 0 if there was no graph."""


class ReportRun(Data, frozen=True):
    """A run of a report."""

    run_id: str
    verdict: str
    events: int
    reason: str
    source: str
    run: str | None
    """Id of the run as a source; null if it cannot be opened."""


class ReportRuns(Data, frozen=True):
    """A page of the runs of a report."""

    page: int
    pages: int
    total: int
    runs: tuple[ReportRun, ...]


class ReportView(Data, frozen=True):
    """A report on a corpus."""

    id: str
    title: str
    counts: dict[str, int]
    """Runs by verdict."""
    events: int
    divergences: int
    seconds: float
    events_per_second: float
    clusters: tuple[ReportCluster, ...]
    cluster_count: int
    coverage: tuple[ReportAction, ...]
    never_taken: tuple[str, ...]
    runs: ReportRuns


# --- counterexamples ------------------------------------------------------------------------------


class CounterexampleState(Data, frozen=True):
    """A state of a counterexample."""

    number: int
    action: str
    acting: str
    changes: tuple[FieldChange, ...]
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

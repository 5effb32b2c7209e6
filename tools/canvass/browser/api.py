"""The server's answers, as Structs: the only definition of the page's data.

First the common part of all answers, then the answers about runs, graphs, reports and
counterexamples. ``tools/generate_api_types.py`` writes the page's TypeScript types from them.
Nothing is computed here.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from canvass.cluster.messages import Record
from canvass.conformance.diagnose import Difference, Operator
from canvass.conformance.findings import Divergence
from canvass.corpus.plan import EarlierUnit  # noqa: F401 - for the page's types
from canvass.corpus.report import DivergenceClassSummary, Listed, Summary  # noqa: F401 - for the page's types
from canvass.explanation.elections import ElectionReport
from canvass.explanation.leaderships import Leadership
from canvass.explanation.phases import BallotReport, PhaseReport, VoteReport  # noqa: F401 - for the page's types
from canvass.explanation.risks import RiskReport
from canvass.explanation.stuck import StuckReport
from canvass.explanation.timeline import Evidence, Sentence  # noqa: F401 - for the page's types
from canvass.lanes import diagram
from canvass.lanes.diagram import LaneMessage
from canvass.lanes.drawing import FieldChange
from canvass.traces.schema import Fact

Kind = Literal["graph", "run", "corpus", "report", "counterexample"]


class Problem(Record, frozen=True):
    """The error of a request."""

    code: str
    message: str
    column: int | UnsetType = UNSET
    """Place of the error in an expression, from 1."""


class Failure(Record, frozen=True):
    """The body of an answer that is an error."""

    error: Problem


class SourceInfo(Record, frozen=True):
    """An opened source: a graph, run, corpus, report or counterexample."""

    id: str
    kind: Kind
    title: str
    detail: str


class Session(Record, frozen=True):
    """All opened sources."""

    sources: tuple[SourceInfo, ...]


class Receipt(Record, frozen=True):
    """A received message that no member sent, and the nearest message that was sent."""

    received: str
    nearest: str
    nearest_event: int | None
    rows: tuple[Difference, ...]
    """Fields in which the two differ: ``observed`` as received, ``allowed`` as sent."""


class HazardPage(Record, frozen=True):
    """The project's page on a hazard of the protocol."""

    name: str
    lines: tuple[str, ...]
    """Markdown; the first line is the title."""


class FirstDivergence(Record, frozen=True):
    """The first divergence of a run, with its explanation."""

    first: Divergence
    event_number: int
    """Its place in the causal order."""
    about: str
    """The meaning of the kind, in a few words."""
    changed: tuple[Difference, ...]
    expected: tuple[Difference, ...]
    """For the outcome that the core allows, if any, the fields that differ."""
    enabled: tuple[str, ...]
    failing: tuple[str, ...]
    """Conjuncts of the action's guard that are false."""
    operator: Operator | None
    receipt: Receipt | None
    hazards: tuple[str, ...]
    """Hazards that lead to this divergence and that have a page."""
    note: str
    commands: tuple[str, ...]


class RunPart(Record, frozen=True):
    """The events around one, by their places in the causal order."""

    start: int
    at: int
    """The event that they surround, at which the page opens."""
    end: int
    """The place after the last one."""


class RunView(Record, frozen=True):
    """A run with its verdict."""

    id: str
    run_id: str
    title: str
    revision: str
    releases: tuple[str, ...]
    """The releases that wrote the logs of an imported run, then what limits the revision."""
    verdict: str | None
    """Null while the run is checked, or if it could not be checked."""
    checking: bool
    note: str
    """Why there is no verdict or explanation; of a run without divergence, what is missing."""
    not_checked: tuple[str, ...]
    """Safety properties that were not checked, as steps or the start of the run are unknown."""
    checked_in_part: tuple[str, ...]
    """Safety properties that were checked only on the known part of the logs."""
    divergence: FirstDivergence | None
    divergences: tuple[Divergence, ...]
    facts: tuple[Fact, ...]
    """The parts that are missing."""
    members: int
    events: int
    part: RunPart | None = None
    """The events whose lanes, steps and states a file has; null if it has all of them."""


class LaneEvent(diagram.LaneEvent, frozen=True, kw_only=True):
    """An event of a lane, with its place in the run."""

    number: int
    """Its place among the drawn events of the run, or of the part that a file has."""
    election_state: str = ""
    """Election state of the member after the event."""
    time: str = ""
    """Time of the event, in seconds of the member's own clock."""
    since: str = ""
    """Time since the previous step of the member."""
    place: str = ""
    """File and line of the log that show the event."""
    origin: str = ""
    """``OBSERVED`` or ``INFERRED`` in a run that was imported from logs, else empty."""
    event: int = -1
    """Its place in the causal order of the run; -1 in a counterexample."""
    alike: str = ""
    """The further events of the member that this box stands for, in words; may be empty."""


class Lanes(Record, frozen=True):
    """A window of swim lanes."""

    lanes: tuple[str, ...]
    events: tuple[LaneEvent, ...]
    messages: tuple[LaneMessage, ...]
    before: int
    after: int
    total: int
    chosen: int = -1
    """Number of the drawn event that stands for the requested one; -1 if none was requested."""
    hidden: int = 0
    """Events without a box of their own."""


class InGraph(Record, frozen=True):
    """The edge of a state graph that has the canonical form of a step."""

    id: str
    source: str
    target: str
    edge: int


class SourceLine(Record, frozen=True):
    """The lines of a log that a step prints."""

    place: str
    """File and line."""
    lines: tuple[str, ...]
    """The text of the lines; empty if the log was not found."""
    left_out: int
    """Further lines that the answer does not contain."""
    observed: tuple[str, ...]
    """Fields of the event that the lines show; all other fields are inferred."""
    reason: str


class StepView(Record, frozen=True):
    """A step of a run."""

    member: int
    step: int
    event_number: int
    action: str
    time: str
    since: str
    origin: str
    """``OBSERVED`` or ``INFERRED`` in a run that was imported from logs, else empty."""
    source: SourceLine | None
    input: Any
    sends: Any
    before: dict[str, Any] | None
    after: dict[str, Any]
    changes: tuple[FieldChange, ...]
    graph: InGraph | None
    graph_pending: bool
    """Whether the index of the graph is not ready yet: ask again for ``graph``."""
    divergence: str
    """The divergence at this step, in words; empty if there is none."""


class Stretch(Record, frozen=True):
    """Consecutive events for which a predicate holds."""

    member: int
    event: int
    """Place of the first one in the causal order."""
    last_event: int
    action: str
    time: str
    lasted: str
    """Time from the first to the last event."""
    events: int
    label: str
    """The state after the first."""


class RunFound(Record, frozen=True):
    """The events of a run for which a predicate holds."""

    count: int
    """Stretches."""
    events: int
    shown: tuple[Stretch, ...]
    hints: tuple[str, ...]
    """If there are none: names and values of the predicate that occur in no state."""
    fields: tuple[str, ...]
    """The names that a predicate may use."""
    actions: tuple[str, ...]
    """The values of the field ``action``."""
    of_cluster: bool = False
    """Whether a stretch spans the events of all members; else those of one member."""


class NextChange(Record, frozen=True):
    """The next event that changes a field; null if there is none."""

    event: int | None


class MemberAt(Record, frozen=True):
    """State of a member after an event."""

    member: int
    election_state: str
    role: str
    step: int
    """Its last step so far, -1 if it has none."""
    status: str
    """``DOWN`` between its last event and a restart, ``ENDED`` after its last event; else empty."""
    leads: int | None
    """The term that the member leads; null if it does not lead."""


class MembersAt(Record, frozen=True):
    """States of all members after an event."""

    members: tuple[MemberAt, ...]


class Segment(Record, frozen=True):
    """A member's election state, from an event to the member's next segment."""

    start: int
    """Place in the causal order."""
    election_state: str
    """Empty before the member's first step."""
    role: str = ""
    status: str = ""
    """``DOWN`` between the member's last event and a restart, ``ENDED`` after its last event."""


class LeaderBand(Record, frozen=True):
    """A leadership of a member; times are those of its own clock."""

    member: int
    term: int
    start: int
    """Place in the causal order of the event that closed its election."""
    end: int
    """The place after its last event as leader."""
    lasted: str
    election_start: int
    """Place of the first event of its election."""
    election: str
    """Duration of its election."""


class TimeMark(Record, frozen=True):
    """The time at a place of the causal order."""

    number: int
    time: str
    """Seconds, by the clock of the member that has the event."""


class MemberTimeline(Record, frozen=True):
    """A member's election states over a run."""

    id: int
    segments: tuple[Segment, ...]


class TimelineMark(Record, frozen=True):
    """A restart, a fault, a gap or a divergence."""

    number: int
    member: int
    kind: str
    text: str


class MemberLevels(Record, frozen=True):
    """How a member's term, commit position and log change over a run; lists of equal length."""

    member: int
    numbers: tuple[int, ...]
    """Places in the causal order."""
    term: tuple[int, ...]
    """The term that it leads or follows; -1 for none."""
    commit: tuple[int, ...]
    end: tuple[int, ...]
    """The position at which its recorded log ends."""


class RunTimeline(Record, frozen=True):
    """Election states, leaderships and marks of a whole run."""

    total: int
    members: tuple[MemberTimeline, ...]
    marks: tuple[TimelineMark, ...]
    bands: tuple[LeaderBand, ...]
    times: tuple[TimeMark, ...]
    levels: tuple[MemberLevels, ...]
    left_out: int
    """Number of segments and marks at the end that the answer does not contain."""


class EvidencePlace(Record, frozen=True):
    """Where a line of evidence is."""

    place: str
    """File and line; for an imported run, those of the event log."""
    event: int | None
    """The place of its event in the causal order."""


class ExplanationView(Record, frozen=True):
    """The explanation of a run by `canvass explain`."""

    summary: str
    without_leader_ms: float | None
    """Null if no line shows who led."""
    leaderships: tuple[Leadership, ...]
    interruptions: tuple[Sentence, ...]
    elections: tuple[ElectionReport, ...]
    stuck: tuple[StuckReport, ...]
    risks: tuple[RiskReport, ...]
    hazards: tuple[RiskReport, ...]
    """One risk for each hazard that lines show; the most costly risk comes first."""
    missing: tuple[Sentence, ...]
    places: dict[str, EvidencePlace]
    """For the file and line of each evidence, with a colon between them."""


class GraphInfo(Record, frozen=True):
    """A state graph."""

    id: str
    title: str
    kind: Literal["member", "tlc"]
    states: int
    edges: int
    complete: bool | None
    """Whether TLC explored all states within the model's bounds; null if that is unknown."""
    initial: tuple[str, ...]
    violating: tuple[str, ...]
    """The states in which TLC found the property violated."""
    actions: dict[str, int]
    """The number of edges of each action."""
    fields: tuple[str, ...]
    """The names that predicates and projections may use."""
    map_by: str
    """The field whose projection is a map of the graph; empty if there is none."""
    drawn_states: int
    """The most states that are drawn around a state: a larger ``limit`` is refused."""
    detail: dict[str, str]


class StateRef(Record, frozen=True):
    """A state by its id."""

    id: str
    label: str


class OutEdge(Record, frozen=True):
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
    changes: tuple[FieldChange, ...]


class InEdge(Record, frozen=True):
    """A step that leads to a state."""

    edge: int
    action: str
    source: str
    source_label: str
    words: str


class StateView(Record, frozen=True):
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
    enabled: dict[str, int]
    """Actions that leave the state, with the number of their edges."""


class Node(Record, frozen=True):
    """A drawn state."""

    id: str
    label: str
    layer: int
    """Steps from the root, or to it if negative."""
    initial: bool
    terminal: bool
    """Whether no step leads to another state."""
    more: int
    """Edges to and from states outside of the drawing."""
    election_state: str | UnsetType = UNSET
    """Election state of the member; in a graph of a cluster, of the member named in ``sign``."""
    sign: str | UnsetType = UNSET
    """In a graph of a cluster: the first member whose state is not that of the centre."""


class Edge(Record, frozen=True):
    """A drawn step."""

    id: int
    source: str
    target: str
    action: str
    count: int
    """Steps that differ only in input and sends; ``id`` is the first of them."""
    words: str


class LeftOut(Record, frozen=True):
    """Numbers of states and edges outside of the drawing."""

    states: int
    edges: int


class Around(Record, frozen=True):
    """The part of a graph around a state."""

    root: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: LeftOut


class Found(Record, frozen=True):
    """The states in which a predicate holds."""

    count: int
    shown: tuple[StateRef, ...]
    hints: tuple[str, ...]
    """If there are none: names and values of the predicate that occur in no state."""


class Hop(Record, frozen=True):
    """One step of a path."""

    edge: int
    action: str
    source: str
    target: str
    target_label: str
    words: str


class PathView(Record, frozen=True):
    """A shortest path."""

    start: StateRef
    hops: tuple[Hop, ...]


class QuotientNode(Record, frozen=True):
    """The states for which an expression has one value."""

    key: str
    count: int
    initial: int
    """How many of the states are initial ones."""
    terminal: int
    """From how many of the states no step leads to another state."""
    violating: int
    """In how many of the states TLC found the property violated."""
    example: str
    shares: tuple[int, ...]
    """For each of `Projection.values`, how many of the states have it."""


class QuotientEdge(Record, frozen=True):
    """Steps of one action from the states of one node to those of another."""

    source: str
    target: str
    action: str
    count: int


class Projection(Record, frozen=True):
    """A graph projected onto an expression: one node for each of its values."""

    values: tuple[str, ...]
    """The values of the expression that colours the nodes, the most frequent first."""
    nodes: tuple[QuotientNode, ...]
    edges: tuple[QuotientEdge, ...]
    left_out: LeftOut
    left_out_classes: int
    """The number of rarest values of the expression that have no node."""


class ReportRun(Record, frozen=True):
    """A run of a report or corpus."""

    run_id: str
    verdict: str
    """``UNCHECKED`` for a run of a corpus that is not checked yet."""
    events: int | None
    """Null until they are counted."""
    reason: str
    source: str
    run: str | None = None
    """Id of the run as a source; null if it cannot be opened."""
    members: int | None = None
    elections: int | None = None
    """Null, as the next one, unless the run is explained: those of a corpus, once checked."""
    without_leader_ms: float | None = None


class ReportRuns(Record, frozen=True):
    """A page of the runs of a report or corpus."""

    page: int
    pages: int
    total: int
    runs: tuple[ReportRun, ...]


class CorpusView(Record, frozen=True):
    """A corpus of many runs."""

    id: str
    title: str
    counts: dict[str, int]
    """Runs by verdict."""
    checking: bool
    """Whether the runs are checked one by one without being opened."""


class ReportView(Record, frozen=True):
    """A report on a corpus."""

    id: str
    title: str
    summary: Summary
    """Without the runs that it lists."""
    revisions: tuple[str, ...]
    """A text for each choice of a revision, with its runs; of imported runs with the releases."""
    examples: tuple[str | None, ...]
    """For each class of divergences the id of its example as a source; null if the run is gone."""


class CounterexampleState(Record, frozen=True):
    """A state of a counterexample."""

    number: int
    action: str
    acting: str
    changes: tuple[FieldChange, ...]
    tree: dict[str, Any]


class CounterexampleView(Record, frozen=True):
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


class FalsePart(Record, frozen=True):
    """A part of a property that is false in a state; lines are those of the definition, from 1."""

    state: int
    """The place of the state, from 0."""
    line: int
    column: int
    end_line: int
    end_column: int
    values: tuple[str, ...]
    """The bound variables and the operands, with their values."""


class Formula(Record, frozen=True):
    """The definition of a violated property, with the parts that are false."""

    note: str
    """Why the parts are not evaluated; empty if they are."""
    operator: Operator | None
    parts: tuple[FalsePart, ...]


class StepChoice(Record, frozen=True):
    """A step that may come next."""

    name: str
    """Names the step in a path."""
    member: int
    action: str
    """The action; ``lost`` if a message to the member is lost."""
    words: str
    changes: tuple[str, ...]
    """The first changes of the member's state."""


class WhatIf(Record, frozen=True):
    """Steps that were tried from a state, and the steps that may come next."""

    behaviour: CounterexampleView
    """The states from the start on."""
    rules: str
    choices: tuple[StepChoice, ...]
    actions: tuple[str, ...]
    """The names of all actions."""
    values: tuple[str, ...]
    """The value of the watched expression in each state."""


class GuardPart(Record, frozen=True):
    """A condition under which an action is not enabled."""

    text: str
    blocks: bool
    """Whether it holds."""
    values: tuple[str, ...]
    """The fields that it reads, with their values."""


class TlcAnswer(Record, frozen=True):
    """The answer of TLC: the nearest loss of a committed entry, or whether it confirms a path."""

    text: str
    states: int
    """How many distinct states TLC has seen."""
    counterexample: str | None
    """Id of the behaviour as a source; null without one."""
    pending: bool
    """Whether TLC is at work: ask again."""


class WhyNot(Record, frozen=True):
    """Why a member cannot take an action."""

    note: str
    """The reason, if it is not in the guard."""
    parts: tuple[GuardPart, ...]
    operator: Operator | None
    """The definition of the action in the spec."""

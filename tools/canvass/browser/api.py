"""The server's answers, as Structs: the only definition of the page's data, under one name.

Answers about graphs, reports and counterexamples are here; those about runs are in `api_runs`.
``tools/generate_api_types.py`` writes the page's TypeScript types from them. Nothing is computed
here.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from canvass.browser.api_runs import *  # noqa: F403 - all of them, under one name
from canvass.browser.api_runs import Lanes
from canvass.cluster.messages import Record
from canvass.conformance.diagnose import Operator
from canvass.corpus.report import (  # noqa: F401 - for the page's types
    DivergenceClassSummary,
    EarlierUnit,
    Listed,
    Summary,
)
from canvass.lanes.of_run import FieldChange


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
    run: str | None
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
    runs: ReportRuns


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

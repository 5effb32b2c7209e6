"""What all answers have in common, and what is said of runs and of what happened in them.

The page's code and the other modules know these Structs as those of `canvass.browser.api`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from canvass.conformance.differences import Difference
from canvass.conformance.operators import Operator
from canvass.lanes import model
from canvass.lanes.model import LaneMessage
from canvass.lanes.of_run import Change

Kind = Literal["graph", "run", "corpus", "report", "counterexample"]


class Data(Struct, frozen=True, rename="camel"):
    """A part of an answer; fields are in camel case on the wire."""


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

    opened: str
    """Id of the source to show first; empty if there is none."""
    sources: tuple[SourceInfo, ...]


class MemberInfo(Data, frozen=True):
    """A member of a run."""

    id: int
    steps: int
    events: int


class Receipt(Data, frozen=True):
    """A message that was received and that nobody sent, beside the nearest one that was sent."""

    received: str
    nearest: str
    nearest_event: int | None
    rows: tuple[Difference, ...]
    """Fields in which they differ: ``observed`` as received, ``allowed`` as sent."""


class MemberLevel(Data, frozen=True):
    """Where a member stood at the step that breaks a promise."""

    member: int
    state: str
    log_end: str
    """Where its recorded log ends."""
    terms: str
    """The terms of its log, with their first positions."""
    committed: str
    """Its commit position."""
    event: int


class TextBlock(Data, frozen=True):
    """A part of a text: ``heading``, ``paragraph`` or ``code``."""

    kind: str
    text: str


class HazardPage(Data, frozen=True):
    """What is known of a hazard of the protocol."""

    name: str
    title: str
    blocks: tuple[TextBlock, ...]


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
    failing: tuple[str, ...]
    """Parts of the guard that keep the action from being enabled."""
    operator: Operator | None
    receipt: Receipt | None
    levels: tuple[MemberLevel, ...]
    hazards: tuple[str, ...]
    """Hazards with a page of their own that lead to this."""
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
    not_asked: tuple[str, ...]
    """Safety properties that were not checked, as steps or the start of the run are unknown."""
    asked_in_part: tuple[str, ...]
    """Safety properties that were checked only on the known part of the logs."""
    divergence: Divergence | None
    findings: tuple[Finding, ...]
    members: tuple[MemberInfo, ...]
    events: int


class LaneEvent(model.LaneEvent, frozen=True, kw_only=True):
    """One event of one lane, with its place in the run."""

    number: int
    """Its place among the events that are drawn."""
    election_state: str = ""
    """Of the member of a run after the event."""
    time: str = ""
    """When it happened, in seconds of the member's own clock."""
    since: str = ""
    """How much later than the step before of the same member."""
    place: str = ""
    """The line of a log that shows it."""
    origin: str = ""
    """``OBSERVED`` or ``INFERRED`` in a run that was imported from logs, else empty."""
    event: int = -1
    """Its place in the causal order of all events; -1 if the diagram is of no run."""
    alike: str = ""
    """Which further events of the member it stands for, if it does."""


class Lanes(Data, frozen=True):
    """A window of a diagram of lanes."""

    lanes: tuple[str, ...]
    events: tuple[LaneEvent, ...]
    messages: tuple[LaneMessage, ...]
    before: int
    after: int
    total: int
    chosen: int = -1
    """The event that stands for the one asked for, by its number; -1 if none was."""
    hidden: int = 0
    """Events that are not drawn."""


class InGraph(Data, frozen=True):
    """Where a step lies in a state graph, up to the numbering of terms, positions and peers."""

    id: str
    source: str
    target: str
    edge: int
    drawn_edge: int
    """The edge that stands for it in a drawing."""


class SourceLine(Data, frozen=True):
    """The lines of a log that a step accounts for."""

    place: str
    """File and line."""
    lines: tuple[str, ...]
    """The lines themselves; none if the log was not found."""
    left_out: int
    """Lines that are not here."""
    observed: tuple[str, ...]
    """Fields of the event that the lines show; the others are inferred."""
    reason: str


class StepView(Data, frozen=True):
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
    changes: tuple[Change, ...]
    graph: InGraph | None
    graph_pending: bool
    """Whether the graph is still being made ready to be searched: ask again for ``graph``."""
    divergence: str
    """What is wrong at this step, if something is."""


class Stretch(Data, frozen=True):
    """Events of one member in a row for which a predicate holds."""

    member: int
    event: int
    """The place of the first in the causal order."""
    last_event: int
    step: int
    action: str
    time: str
    lasted: str
    """From the first to the last event, by the member's own clock."""
    events: int
    label: str
    """The state after the first."""


class RunFound(Data, frozen=True):
    """What was found in a run."""

    count: int
    """Stretches."""
    events: int
    shown: tuple[Stretch, ...]
    hints: tuple[str, ...]
    """If there are none: what the predicate names and no state has."""
    fields: tuple[str, ...]
    """What a predicate may name."""
    actions: tuple[str, ...]
    """What ``action`` may be."""


class NextChange(Data, frozen=True):
    """Where a field changes next."""

    event: int | None


class ComparedStep(Data, frozen=True):
    """A step of one of two runs."""

    event: int
    step: int
    action: str
    time: str
    given: Any
    label: str


class ComparedMember(Data, frozen=True):
    """Where a member does in one run what it does not do in another one."""

    member: int
    same: int
    """Steps, or changes of the election state, that agree, from the first one on."""
    left: ComparedStep | None
    """The first one that differs; null if the run has no further step of the member."""
    right: ComparedStep | None
    changes: tuple[Change, ...]
    """Fields after it: ``before`` of the one run, ``after`` of the other."""


class MemberAt(Data, frozen=True):
    """Where a member is at some place of the causal order."""

    member: int
    election_state: str
    role: str
    step: int
    """Its last step so far, -1 if it has none."""
    status: str
    """``DOWN`` between its last event and a restart, ``ENDED`` after its last event; else empty."""
    leads: int | None
    """The term that it leads."""


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
    role: str = ""
    status: str = ""
    """``DOWN`` between the member's last event and a restart, ``ENDED`` after its last event."""


class LeaderBand(Data, frozen=True):
    """A term in which a member led; its times are those of its own clock."""

    member: int
    term: int
    start: int
    """Place in the causal order at which its election was closed."""
    end: int
    """The place after the last one at which it led."""
    lasted: str
    election_start: int
    """Where its own election began."""
    election: str
    """How long its own election took."""


class TimeMark(Data, frozen=True):
    """What the clock showed at a place."""

    number: int
    time: str
    """Seconds of the clock of the member whose event stands there."""


class ComparedElection(Data, frozen=True):
    """The elections of one number of two runs."""

    number: int
    left: LeaderBand | None
    right: LeaderBand | None


class Comparison(Data, frozen=True):
    """Two runs beside each other, or a run and a counterexample."""

    by: str
    """What is compared of each member: every ``step``, or changes of its ``election state``."""
    elections: tuple[ComparedElection, ...]
    members: tuple[ComparedMember, ...]


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
    bands: tuple[LeaderBand, ...]
    times: tuple[TimeMark, ...]
    left_out: int
    """Segments and marks that are not here, the last ones."""


class EvidenceLine(Data, frozen=True):
    """A sentence with its evidence."""

    text: str
    places: str
    """Files and lines that show it."""
    event: int | None
    """The place of the last of them in the order of causes."""


class LeadershipRow(Data, frozen=True):
    """Who led a term, and when; times are seconds of the leader's clock, ``?`` if unknown."""

    term: int
    leader: int | None
    begins: str
    ends: str
    lasted: str
    ended_by: EvidenceLine


class BallotRow(Data, frozen=True):
    """One ballot of one candidate."""

    candidate: int
    term: int
    yes: tuple[int, ...]
    """Members that voted for the candidate, without itself."""
    no: tuple[int, ...]
    none: tuple[int, ...]
    """Members of which no line shows an answer."""
    outcome: str
    sentence: EvidenceLine
    reasons: tuple[EvidenceLine, ...]
    """Of a ballot that was not won, why votes were not given."""


class ElectionRow(Data, frozen=True):
    """One election of the cluster."""

    number: int
    term: int | None
    leader: int | None
    took: str
    first_event: int | None
    """The place of the first step of the first member that looked for a leader."""
    trigger: EvidenceLine
    slowest: EvidenceLine
    ballots: tuple[BallotRow, ...]
    sentence: EvidenceLine


class StuckRow(Data, frozen=True):
    """A member that does not get on, and the condition that it waits for."""

    member: int
    state: str
    guard: str
    page: str
    sentences: tuple[EvidenceLine, ...]


class RiskRow(Data, frozen=True):
    """Something that was at risk."""

    kind: str
    severity: str
    page: str
    sentences: tuple[EvidenceLine, ...]


class ExplanationView(Data, frozen=True):
    """What happened in a run, as `canvass explain` says it; the last ones of each are listed."""

    summary: str
    leaderships: tuple[LeadershipRow, ...]
    elections: tuple[ElectionRow, ...]
    stuck: tuple[StuckRow, ...]
    risks: tuple[RiskRow, ...]
    sessions: tuple[EvidenceLine, ...]
    missing: tuple[EvidenceLine, ...]
    left_out: int
    """Leaderships, elections and further lines before these."""

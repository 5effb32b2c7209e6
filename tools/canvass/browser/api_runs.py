"""What is said of runs."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from canvass.browser.api_base import Data
from canvass.browser.api_graphs import FieldChange


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

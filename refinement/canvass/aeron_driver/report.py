"""What a drive found: counts by action, and groups of differences with an example of each."""

from __future__ import annotations

import msgspec


class FieldDifference(msgspec.Struct, frozen=True, rename="camel"):
    """One field of an outcome, in the spec and in Java."""

    field: str
    spec: str
    java: str


class Example(msgspec.Struct, frozen=True, rename="camel"):
    """One step in which Aeron and the spec differ."""

    edge: int
    """Row of the graph's table of edges; -1 for an input of a disabled action."""
    state: str
    input: str
    fields: list[FieldDifference]
    note: str
    """What the driver has to say: the exception that Java threw or reported."""
    event: str = ""
    """Of a run: where the step was recorded first, as ``FILE:LINE``, event and lines of the log."""


class Group(msgspec.Struct, frozen=True, rename="camel"):
    """Differences of one action in one kind of state, in the same fields."""

    action: str
    place: str
    """Election state and role before the step."""
    fields: list[str]
    count: int
    known: str
    """The reviewed class that explains it (`canvass.aeron_driver.comparison`), empty if none."""
    java: str
    operator: str
    example: Example
    hidden: list[str] = []
    """Hidden state of Aeron that departs from the usual in all of them."""


class Situation(msgspec.Struct, frozen=True, rename="camel"):
    """One situation beyond the graphs, and how Aeron and the reference core act in it."""

    name: str
    question: str
    action: str
    enabled: bool
    """Whether the spec enables the action there."""
    fields: list[FieldDifference]
    """What differs, and what Java sends."""
    note: str


class ActionCount(msgspec.Struct, frozen=True, rename="camel"):
    """How the steps of one action came out."""

    action: str
    driven: int
    equal: int
    different: int
    not_drivable: int


class Reason(msgspec.Struct, frozen=True, rename="camel"):
    """Why some steps were not driven."""

    name: str
    reason: str
    count: int


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """One set of steps: the edges, the edges with hidden state varied, or the disabled inputs."""

    tried: int
    driven: int
    equal: int
    different: int
    explained: int
    """Of the different ones: how many a reviewed class explains."""
    actions: list[ActionCount]
    not_drivable: list[Reason]
    groups: list[Group]
    seconds: float

    @property
    def unexplained(self) -> int:
        """Differences that no reviewed class explains."""
        return self.different - self.explained


class DriveReport(msgspec.Struct, frozen=True, rename="camel"):
    """The result of ``canvass drive``."""

    model: str
    members: int
    revision: str
    release: str
    release_revision: str
    edges: Part
    hidden: Part | None
    disabled: Part | None
    situations: list[Situation]

    @property
    def is_expected(self) -> bool:
        """Whether nothing differs that no reviewed class explains."""
        parts = (self.edges, self.hidden, self.disabled)
        return not any(part.unexplained for part in parts if part is not None)


class RulesPart(msgspec.Struct, frozen=True, rename="camel"):
    """The steps of the runs that have one size and one revision."""

    members: int
    revision: str
    steps: Part


class TraceReport(msgspec.Struct, frozen=True, rename="camel"):
    """The result of ``canvass drive --trace``."""

    runs: int
    events: int
    release: str
    release_revision: str
    not_drivable: list[Reason]
    """Events that are no steps which Aeron could take."""
    parts: list[RulesPart]

    @property
    def is_expected(self) -> bool:
        """Whether nothing differs that no reviewed class explains."""
        return not any(part.steps.unexplained for part in self.parts)

"""The documents of ``canvass drive``: counts by action, and groups of differences with examples."""

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
    """Row of the graph's edges; -1 for a disabled input."""
    state: str
    input: str
    fields: list[FieldDifference]
    note: str
    """The driver's note, such as an exception that Java threw or reported."""
    event: str = ""
    """Place in a run of the first such step: ``FILE:LINE``, event, and lines of the log."""


class Group(msgspec.Struct, frozen=True, rename="camel"):
    """Differences of one action in the same fields, from the same election state and role."""

    action: str
    place: str
    """Election state and role before the step."""
    fields: list[str]
    count: int
    known: str
    """The reviewed class that explains it (`canvass.aeron_driver.comparison`); empty if none."""
    operator: str
    example: Example
    hidden: list[str] = []
    """Departures of Aeron's hidden state in these steps."""


class ActionCount(msgspec.Struct, frozen=True, rename="camel"):
    """The numbers of driven, equal and different steps of one action."""

    action: str
    driven: int
    equal: int
    different: int
    not_drivable: int


class Reason(msgspec.Struct, frozen=True, rename="camel"):
    """A reason for which some steps were not driven."""

    name: str
    reason: str
    count: int


class Part(msgspec.Struct, frozen=True, rename="camel"):
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


class DriveReport(msgspec.Struct, frozen=True, rename="camel"):
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


class RulesPart(msgspec.Struct, frozen=True, rename="camel"):
    """The result of the distinct steps of all runs with one member count and one revision."""

    members: int
    revision: str
    steps: Part


class TraceReport(msgspec.Struct, frozen=True, rename="camel"):
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

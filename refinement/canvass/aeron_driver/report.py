"""The documents of ``canvass drive``: counts by action, and groups of differences with examples."""

from __future__ import annotations

from msgspec import field

from canvass.cluster.messages import Record


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
    hidden: list[str] = field(default_factory=list)
    """Departures of Aeron's hidden state in these steps."""


class ActionCount(Record, frozen=True):
    """The numbers of driven, equal and different steps of one action."""

    action: str
    driven: int
    equal: int
    different: int
    not_drivable: int


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

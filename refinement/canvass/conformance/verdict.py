"""The verdict on a run and its parts: plain records, as they are published.

Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from canvass.cluster.messages import Record
from canvass.traces.releases import LogReleases
from canvass.traces.schema import Fact

VERDICT_SCHEMA: Final = "canvass.verdict/5"


class Verdict(str, Enum):
    """The result of checking a run."""

    CONFORMS = "CONFORMS"
    """Every step is allowed, causality holds, every safety monitor holds."""
    INCOMPLETE = "INCOMPLETE"
    """Steps are missing, and the other steps conform."""
    DIVERGES = "DIVERGES"
    """A step that the spec does not allow, a message nobody sent, or a violated property."""
    MALFORMED = "MALFORMED"
    """The input is not a trace."""


EXIT_CODES: Final = {
    Verdict.CONFORMS: 0,
    Verdict.DIVERGES: 1,
    Verdict.MALFORMED: 2,
    Verdict.INCOMPLETE: 3,
}

WORST_FIRST: Final = (Verdict.DIVERGES, Verdict.MALFORMED, Verdict.INCOMPLETE, Verdict.CONFORMS)
"""The order in which verdicts decide an exit code."""


class DivergenceClass(str, Enum):
    """The class of a divergence."""

    IMPLEMENTATION_STEP = "IMPLEMENTATION_STEP"
    """The member took a step that the spec does not allow."""
    CAUSALITY = "CAUSALITY"
    """A message that nobody sent, or log bytes that nobody wrote."""
    SAFETY_PROPERTY = "SAFETY_PROPERTY"
    """A violated safety property; all steps may be allowed."""
    INSTRUMENTATION_GAP = "INSTRUMENTATION_GAP"
    """The state changed in fields that the action does not write: a step is not recorded."""


MESSAGE_CAUSALITY: Final = "MessageCausality"
"""The name of divergences of messages: not sent, received twice, or received out of order."""
LOG_STREAM: Final = "LogStream"
"""The name of divergences of logs: bytes that nobody wrote, checksums that contradict the log, and
steps that consume the log as if a term began at another position.
"""


class Divergence(Record, frozen=True):
    """A divergence of a run from the spec, at the first step that shows it."""

    kind: DivergenceClass
    name: str
    """The action, the safety property, `MESSAGE_CAUSALITY` or `LOG_STREAM`."""
    member: int
    step: int
    text: str
    rank: int = 0
    """The place of the step in the order of causes."""


class TimingRule(str, Enum):
    """The rule that a timing warning reports."""

    EARLY_TIMEOUT = "EARLY_TIMEOUT"
    """A step of an election took a deadline for expired that had not expired."""
    LEADER_HEARD = "LEADER_HEARD"
    """A follower began an election as if it had lost its leader, but had just heard from it."""
    EARLY_ERROR = "EARLY_ERROR"
    """An election failed with a timeout that had not passed."""


class TimingWarning(Record, frozen=True):
    """A step whose input the run's times contradict; no verdict depends on it."""

    rule: TimingRule
    member: int
    step: int
    action: str
    text: str
    setting: str
    """The property of the timeout that ``run.json`` names."""
    timeout_ns: int
    count: int = 1
    """The number of such steps of the member; this is the first."""


class Choice(Record, frozen=True):
    """The number of inputs of one kind that the spec leaves free."""

    name: str
    shown: int
    """Recorded, or shown by lines of a log."""
    inferred: int


class RunVerdict(Record, frozen=True):
    """The verdict on one run."""

    run_id: str
    path: str
    verdict: Verdict
    events: int = 0
    unchecked: int = 0
    """Events before which the state of the member is not known."""
    divergences: tuple[Divergence, ...] = ()
    """The first divergence of each kind and name, in the order of causes."""
    facts: tuple[Fact, ...] = ()
    reason: str = ""
    """Why the input is not a trace, or what the import of its logs lacks."""
    revision: str = ""
    """The revision of the spec that the run was checked against."""
    timing: tuple[TimingWarning, ...] = ()
    """The timing warnings."""
    choices: tuple[Choice, ...] = ()
    """The numbers of inputs that the spec leaves free."""
    not_checked: tuple[str, ...] = ()
    """Safety properties that were not checked: steps or the start of the run are not known, or the
    rules of its revision do not keep them.
    """
    checked_in_part: tuple[str, ...] = ()
    """Safety properties that were checked only on the known parts of the logs."""
    releases: LogReleases | None = None
    """The releases that wrote the logs of an imported run, and how its revision was chosen."""

    @property
    def exit_code(self) -> int:
        """The exit code of a command that checked this run alone."""
        return EXIT_CODES[self.verdict]


class Counts(Record, frozen=True):
    """The amount that was checked, and the origin of the answers."""

    runs: int = 0
    events: int = 0
    distinct_steps: int = 0
    found_in_table: int = 0
    """Steps of a state graph or of the answers that ship with canvass."""
    found_in_cache: int = 0
    asked_of_oracle: int = 0
    seconds: float = 0.0
    by_tlc: bool = False
    """Whether TLC searched for behaviours (``--engine tlc``)."""


class CorpusVerdict(Record, frozen=True):
    """The verdicts on all runs of a corpus."""

    runs: tuple[RunVerdict, ...]
    counts: Counts = Counts()

    @property
    def exit_code(self) -> int:
        """The exit code of a command: the worst of all, 2 if nothing was checked."""
        return exit_code(run.verdict for run in self.runs)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """Give the exit code of the worst verdict; 2 if there is none.

    A divergence is the worst: no malformed run hides that another run diverges.
    """
    found = set(verdicts)
    worst = next((verdict for verdict in WORST_FIRST if verdict in found), Verdict.MALFORMED)
    return EXIT_CODES[worst]


def limits_text(run: RunVerdict) -> str:
    """Name the safety properties that were not checked in full; an empty text if all were."""
    names = {
        "not checked": run.not_checked,
        "checked only on the known parts of the logs": run.checked_in_part,
    }
    return "; ".join(f"{what}: {', '.join(own)}" for what, own in names.items() if own)


def revision_choice(revision: str, releases: LogReleases | None) -> tuple[str, ...]:
    """Give the revision of a run and how it was chosen, in one line, then a line for each note.

    Of an imported run the first line has the releases, too. Without a revision there is no line.
    """
    if releases is not None:
        return tuple(releases.lines())
    return (f"revision {revision} of the spec, which the run names",) if revision else ()

"""The verdict on a run, and what makes it: plain records, in the form in which they are published.

Nothing here checks anything; `verdict_on` decides which verdict follows from what was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from canvass.cluster.names import wire_name
from canvass.traces.schema import Fact

VERDICT_SCHEMA: Final = "canvass.verdict/1"


class Verdict(str, Enum):
    """What is found about a run."""

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

_NO_FAILURE: Final = (EXIT_CODES[Verdict.CONFORMS], EXIT_CODES[Verdict.INCOMPLETE])

WORST_FIRST: Final = (
    Verdict.DIVERGES,
    Verdict.MALFORMED,
    Verdict.INCOMPLETE,
    Verdict.CONFORMS,
)
"""The order in which verdicts decide an exit code."""


class DivergenceClass(str, Enum):
    """What kind of thing is wrong."""

    IMPLEMENTATION_STEP = "IMPLEMENTATION_STEP"
    """The member did what the spec does not allow."""
    CAUSALITY = "CAUSALITY"
    """A message that nobody sent, or log bytes that nobody wrote."""
    SAFETY_PROPERTY = "SAFETY_PROPERTY"
    """All steps may be allowed, and the cluster still broke a promise."""
    INSTRUMENTATION_GAP = "INSTRUMENTATION_GAP"
    """The state changed where no action changes it, or holds what no member can hold: most likely
    a step was not recorded, or recorded in part.
    """


MESSAGE_CAUSALITY: Final = "MessageCausality"
"""What is broken by a message that nobody sent, or that came twice or out of order."""
LOG_STREAM: Final = "LogStream"
"""What is broken by log bytes that nobody wrote, by checksums that contradict who recorded whose
log, and by terms that do not begin where the log is consumed as if they did.
"""


class Record(Struct, frozen=True, forbid_unknown_fields=True, rename=wire_name):
    """A part of a verdict."""


class Divergence(Record, frozen=True):
    """One thing that is wrong, at the step where it shows first."""

    kind: DivergenceClass
    name: str
    """The action, the safety property, `MESSAGE_CAUSALITY` or `LOG_STREAM`."""
    member: int
    step: int
    text: str
    rank: int = 0
    """The place of the step in the order of causes."""


class TimeoutSource(str, Enum):
    """Where a timeout comes from."""

    GIVEN = "given"
    RUN = "run"
    DEFAULT = "default"
    """Of Aeron."""


class TimingRule(str, Enum):
    """What a warning of the timing monitor says."""

    EARLY_TIMEOUT = "EARLY_TIMEOUT"
    """A step of an election took a deadline for passed that had not passed."""
    LATE_TIMEOUT = "LATE_TIMEOUT"
    """A step of an election, or of a follower, took a deadline for open that had passed."""
    SILENT_COUNTED = "SILENT_COUNTED"
    """A leader counted a member as active that it had not heard of for the heartbeat timeout."""
    HEARD_LEFT_OUT = "HEARD_LEFT_OUT"
    """A leader left out a member that it had just heard of."""
    LEADER_HEARD = "LEADER_HEARD"
    """A follower began an election for want of its leader, which it had just heard of."""
    QUORUM_HEARD = "QUORUM_HEARD"
    """A leader stepped down for want of a quorum, which it had just heard of."""
    EARLY_ERROR = "EARLY_ERROR"
    """An election failed with a timeout that had not passed."""
    EARLY_TERMINATION = "EARLY_TERMINATION"
    """A leader ended before its members had acknowledged that, and before the timeout."""
    REPORT_REFUSED = "REPORT_REFUSED"
    """A follower ended a copy that is not committed, as if its report had been refused."""
    COMMIT_POSITION_FELL = "COMMIT_POSITION_FELL"
    """A leader in its election sent a commit position below one that it had sent in it."""
    SNAPSHOT_LEFT_OUT = "SNAPSHOT_LEFT_OUT"
    """A member processed the log through a position at which another took a snapshot."""


class TimingWarning(Record, frozen=True):
    """A step whose input the run's times contradict; no verdict depends on it."""

    rule: TimingRule
    member: int
    step: int
    action: str
    text: str
    setting: str
    """The property of the timeout; empty if none was compared with."""
    timeout_ns: int
    timeout_source: TimeoutSource
    count: int = 1
    """How many steps of the member are so; this is the first."""


class Choice(Record, frozen=True):
    """Inputs of one kind that the spec leaves free."""

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
    """Events of which the state before is not known."""
    divergences: tuple[Divergence, ...] = ()
    """Of each kind and name the first, in the order of causes."""
    facts: tuple[Fact, ...] = ()
    reason: str = ""
    """Why the input is not a trace."""
    revision: str = ""
    """The rules that the run was held against."""
    timing: tuple[TimingWarning, ...] = ()
    """What the run's times contradict."""
    choices: tuple[Choice, ...] = ()
    """The inputs that the spec leaves free, and how many of them were inferred."""
    not_asked: tuple[str, ...] = ()
    """Safety properties that were not asked, as steps or the start of the run are not known."""
    asked_in_part: tuple[str, ...] = ()
    """Safety properties that were asked only of what is known of the logs."""

    @property
    def exit_code(self) -> int:
        """The exit code of a command that checked this run alone."""
        return EXIT_CODES[self.verdict]


class SharedId(Record, frozen=True):
    """An id that several runs have; each run has its own verdict, and is known by its path."""

    run_id: str
    paths: tuple[str, ...]


class Counts(Record, frozen=True):
    """How much was checked, and how."""

    runs: int = 0
    events: int = 0
    distinct_steps: int = 0
    found_in_graph: int = 0
    """Steps of a state graph, or among the known steps that ship with canvass."""
    found_in_cache: int = 0
    asked_of_oracle: int = 0
    seconds: float = 0.0
    by_tlc: bool = False
    """Whether TLC looked for behaviours, instead of steps being checked."""


class CorpusVerdict(Record, frozen=True):
    """The verdicts on all runs of a corpus."""

    runs: tuple[RunVerdict, ...]
    counts: Counts = Counts()
    timing_fails: bool = False
    """Whether a warning of the timing monitor makes the command fail."""

    @property
    def exit_code(self) -> int:
        """The exit code of a command: the worst of all, 2 if nothing was checked."""
        found = exit_code(run.verdict for run in self.runs)
        if self.timing_fails and found in _NO_FAILURE and any(run.timing for run in self.runs):
            return EXIT_CODES[Verdict.DIVERGES]
        return found


def verdict_on(*, diverges: bool, facts: Sequence[Fact], unchecked: int) -> Verdict:
    """Decide the verdict on a run that could be read: a divergence outweighs what is missing.

    Parameters
    ----------
    diverges
        Whether anything is wrong: a step, a message or a safety property.
    facts
        What is missing from the run.
    unchecked
        How many steps could not be checked, because the state before them is missing.
    """
    if diverges:
        return Verdict.DIVERGES
    return Verdict.INCOMPLETE if facts or unchecked else Verdict.CONFORMS


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """Give the exit code of the worst verdict; 2 if there is none.

    A divergence is the worst: no malformed run hides that another run diverges.
    """
    found = set(verdicts)
    worst = next((verdict for verdict in WORST_FIRST if verdict in found), Verdict.MALFORMED)
    return EXIT_CODES[worst]


def shared_ids(runs: Iterable[RunVerdict]) -> tuple[SharedId, ...]:
    """Give the ids that several runs have, in the order in which they first occur."""
    paths: dict[str, list[str]] = {}
    for run in runs:
        paths.setdefault(run.run_id, []).append(run.path)
    return tuple(
        SharedId(run_id, tuple(found)) for run_id, found in paths.items() if len(found) > 1
    )

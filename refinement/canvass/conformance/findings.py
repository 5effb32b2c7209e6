"""`Findings`: what a check has found, as records and as Arrow tables. Nothing is checked here.

The verdict on a run and its parts are plain records, as they are published. Findings are
provisional as long as they have open steps: steps that TLC has not answered. They are final if TLC
allows all open steps. If TLC refuses one, only the runs with it are checked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from canvass.cluster.messages import Record
from canvass.steps.step import Key, Question
from canvass.traces.aeron_log.releases import LogReleases
from canvass.traces.schema import ACTION_NAMES, Fact, Run

# --- records --------------------------------------------------------------------------------------

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


# --- tables ---------------------------------------------------------------------------------------

_OF_RUN: Final = (
    pa.field("source", pa.string(), nullable=False),
    pa.field("run_id", pa.string()),
    pa.field("revision", pa.string()),
    pa.field("member_count", pa.int32()),
)
VERDICTS: Final = pa.schema(
    [
        *_OF_RUN,
        pa.field("verdict", pa.string(), nullable=False),
        pa.field("events", pa.int64(), nullable=False),
        pa.field("unchecked", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("revision_choice", pa.string(), nullable=False),
        pa.field("open_steps", pa.list_(pa.binary()), nullable=False),
    ]
)
"""A row for each run. ``open_steps`` has the keys of its steps without an answer."""
DIVERGENCES: Final = pa.schema(
    [
        *_OF_RUN,
        pa.field("divergence_class", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("member_id", pa.int32(), nullable=False),
        pa.field("step", pa.int64(), nullable=False),
        pa.field("rank", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
    ]
)
"""A row for each divergence of a run, in the order of causes."""
COVERAGE: Final = pa.schema(
    [
        pa.field("revision", pa.string(), nullable=False),
        pa.field("member_count", pa.int32(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("events", pa.int64(), nullable=False),
    ]
)
"""A row for each action: the number of its events in all runs of a revision and size."""
OPEN_STEPS: Final = pa.schema(
    [
        pa.field("key", pa.binary(), nullable=False),
        pa.field("question", pa.binary(), nullable=False),
    ]
)
"""A row for each distinct open step, with its rules as JSON. `from_question` reads the question."""

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_DECODER: Final = msgspec.json.Decoder(Question)


class Tables(NamedTuple):
    """Findings as `pyarrow.Table`."""

    verdicts: Any
    divergences: Any
    coverage: Any
    open_steps: Any


@dataclass(frozen=True, slots=True)
class RunFindings:
    """The findings in one run."""

    run: Run | None
    """None if it could not be read."""
    verdict: RunVerdict
    """The verdict, if TLC allows all open steps."""
    open_steps: frozenset[Key]
    """The keys of its open steps."""
    actions: NDArray[np.int64]
    """The number of its events of each action, by the code of the action."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings in some runs."""

    runs: tuple[RunFindings, ...]
    """In the order in which the runs came."""
    open_steps: Mapping[Key, Question]
    """The distinct open steps of all runs, by their keys."""
    keys: NDArray[np.uint64]
    """(n, 2) array: the keys of the distinct steps of all runs."""
    codes: NDArray[np.int8]
    """The answer about each of these keys, as `Answers.look_up` gives it."""

    def closed(self) -> Findings:
        """Give the same findings, if TLC has allowed all open steps."""
        runs = tuple(replace(found, open_steps=frozenset()) for found in self.runs)
        return replace(self, runs=runs, open_steps={})

    def tables(self) -> Tables:
        """Give the findings as Arrow tables: `VERDICTS`, `DIVERGENCES`, `COVERAGE`, `OPEN_STEPS`.

        Coverage leaves out malformed runs.
        """
        return Tables(
            pa.Table.from_pylist([_verdict(each) for each in self.runs], VERDICTS),
            pa.Table.from_pylist([*_divergences(self.runs)], DIVERGENCES),
            pa.Table.from_pylist([*_coverage(self.runs)], COVERAGE),
            pa.Table.from_pylist(
                [
                    {"key": key, "question": _ENCODER.encode(step)}
                    for key, step in self.open_steps.items()
                ],
                OPEN_STEPS,
            ),
        )


def from_question(question: bytes) -> Question:
    """Give the step of a question.

    Raises
    ------
    msgspec.MsgspecError
        If it is no question.
    """
    return _DECODER.decode(question)


def _about(found: RunFindings) -> dict[str, Any]:
    run = found.run
    return {
        "source": found.verdict.path,
        "run_id": found.verdict.run_id or None,
        "revision": None if run is None else run.revision,
        "member_count": None if run is None else run.member_count,
    }


def _verdict(found: RunFindings) -> dict[str, Any]:
    verdict, run = found.verdict, found.run
    chosen = ""
    if run is not None and verdict.verdict is not Verdict.MALFORMED:
        chosen = "; ".join(revision_choice(run.revision, verdict.releases))
    return _about(found) | {
        "verdict": verdict.verdict.value,
        "events": verdict.events,
        "unchecked": verdict.unchecked,
        "reason": reason_text(verdict),
        "revision_choice": chosen,
        "open_steps": sorted(found.open_steps),
    }


def _divergences(runs: Iterable[RunFindings]) -> Iterator[dict[str, Any]]:
    for found in runs:
        for divergence in found.verdict.divergences:
            yield _about(found) | {
                "divergence_class": divergence.kind.value,
                "name": divergence.name,
                "member_id": divergence.member,
                "step": divergence.step,
                "rank": divergence.rank,
                "reason": divergence.text,
            }


def _coverage(runs: Iterable[RunFindings]) -> Iterator[dict[str, Any]]:
    counts: Counter[tuple[str, int, str]] = Counter()
    for found in runs:
        if found.run is not None and found.verdict.verdict is not Verdict.MALFORMED:
            for code in np.flatnonzero(found.actions).tolist():
                run = found.run
                counts[run.revision, run.member_count, ACTION_NAMES[code]] += int(
                    found.actions[code]
                )
    for action, count in sorted(counts.items()):
        yield dict(zip(COVERAGE.names, (*action, count), strict=True))


def step_name(member: int, step: int, between: str = ", ") -> str:
    """Name a step of a member; -1 stands for a line of a log that no step prints."""
    return f"member {member}" + (f"{between}step {step}" if step >= 0 else "")


def reason_text(found: RunVerdict) -> str:
    """Give in one line why a run does not conform, or what was not checked; else nothing."""
    if found.divergences:
        first = found.divergences[0]
        return f"{step_name(first.member, first.step)}: {first.name}: {first.text}"
    facts = [
        f"{fact.kind.value} member {fact.member_id}"
        + (f" step {fact.step}" if fact.step > 0 else "")
        for fact in found.facts
    ]
    missing = "; ".join(facts[:5] + ["..."] * (len(facts) > 5))
    return found.reason or missing or limits_text(found)

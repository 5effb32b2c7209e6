"""`Findings`: what a check has found, as records and as Arrow tables.

Findings are provisional as long as they have open steps: steps that TLC has not answered. They are
final if TLC allows all open steps. If TLC refuses one, only the runs with it are checked again.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from canvass.conformance.verdict import RunVerdict, Verdict, limits_text, revision_choice
from canvass.steps.step import Key, Question
from canvass.traces.layout import ACTION_NAMES
from canvass.traces.schema import Run

VERDICTS: Final = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("run_id", pa.string()),
        pa.field("revision", pa.string()),
        pa.field("member_count", pa.int32()),
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
        pa.field("source", pa.string(), nullable=False),
        pa.field("run_id", pa.string()),
        pa.field("revision", pa.string()),
        pa.field("member_count", pa.int32()),
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
"""A row for each distinct open step. `from_question` reads its question."""

_KEY: Final = struct.Struct(">QQ")
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
                    {"key": key_bytes(key), "question": to_question(step)}
                    for key, step in self.open_steps.items()
                ],
                OPEN_STEPS,
            ),
        )


def key_bytes(key: Key) -> bytes:
    """Give a key as 16 bytes."""
    return _KEY.pack(*key)


def key_of(data: bytes) -> Key:
    """Give the key of 16 bytes."""
    first, second = _KEY.unpack(data)
    return first, second


def to_question(step: Question) -> bytes:
    """Give an open step and its rules as JSON."""
    return _ENCODER.encode(step)


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
        "open_steps": [key_bytes(key) for key in sorted(found.open_steps)],
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

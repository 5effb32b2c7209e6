"""The rows of a task: their kinds, their Arrow schema, and the functions that make them.

The rows of all kinds are in one file with one schema: a row has null in the columns of other kinds.
Rows are few: verdicts, divergences, counts, and each distinct open step once for each task. An open
step is a question for the oracle: its content key, and the step with its rules in JSON. The decoder
of JSON is strict and runs no code from the file. Nothing is checked here.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct, structs
from msgspec.structs import replace

from canvass.conformance.findings import reason_text
from canvass.conformance.screen import RunState
from canvass.conformance.step_checker import Example
from canvass.conformance.verdict import (
    Divergence,
    DivergenceClass,
    RunVerdict,
    Verdict,
    revision_choice,
    verdict_on,
)
from canvass.conformance.whole_run import with_limits
from canvass.corpus.plan import Unit
from canvass.traces.alignment.importer import ImportSummary
from canvass.traces.layout import ACTION_NAMES
from canvass.traces.schema import Run


class RowKind(str, Enum):
    """The kinds of rows."""

    VERDICT = "VERDICT"
    """The verdict on a run, or on a unit that is malformed."""
    DIVERGENCE = "DIVERGENCE"
    """A divergence of a run."""
    COVERAGE = "COVERAGE"
    """Number of events of a task with an action."""
    STEP = "STEP"
    """An open step: neither graph nor cache knows whether it is allowed."""
    ANSWER = "ANSWER"
    """The oracle's answer for an open step."""
    DISTINCT = "DISTINCT"
    """Number of distinct canonical steps of a task."""
    EDGES = "EDGES"
    """Edges of a state graph that the events of a task take."""


class Row(Struct, frozen=True, kw_only=True):
    """One row; which fields are set depends on its kind."""

    kind: RowKind
    source: str | None = None
    """Path of the run's unit."""
    run_id: str | None = None
    revision: str | None = None
    member_count: int | None = None
    verdict: str | None = None
    """A value of `Verdict`; it assumes that pending steps are allowed."""
    events: int | None = None
    """VERDICT, COVERAGE: number of events. DISTINCT: number of steps."""
    unchecked: int | None = None
    """Number of the run's events without a known state before them."""
    reason: str | None = None
    """Why a run is malformed or incomplete, or how a step differs."""
    revision_choice: str | None = None
    """VERDICT: the revision and how it was chosen, the releases that wrote imported logs, notes."""
    divergence_class: str | None = None
    name: str | None = None
    """DIVERGENCE: the action, or the violated property. COVERAGE: the action. EDGES: the graph."""
    member_id: int | None = None
    step: int | None = None
    rank: int | None = None
    """Position of the step in the causal order of its run."""
    pending: tuple[bytes, ...] | None = None
    """Keys of the run's open steps."""
    key: bytes | None = None
    payload: bytes | None = None
    """STEP: the question for the oracle. ANSWER: its code. EDGES: numbers of edges."""


ROW_SCHEMA: Final = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("source", pa.string()),
        pa.field("run_id", pa.string()),
        pa.field("revision", pa.string()),
        pa.field("member_count", pa.int32()),
        pa.field("verdict", pa.string()),
        pa.field("events", pa.int64()),
        pa.field("unchecked", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("revision_choice", pa.string()),
        pa.field("divergence_class", pa.string()),
        pa.field("name", pa.string()),
        pa.field("member_id", pa.int32()),
        pa.field("step", pa.int64()),
        pa.field("rank", pa.int64()),
        pa.field("pending", pa.list_(pa.binary())),
        pa.field("key", pa.binary()),
        pa.field("payload", pa.binary()),
    ]
)

VERDICT_COLUMNS: Final = (
    "source",
    "run_id",
    "revision",
    "member_count",
    "verdict",
    "events",
    "unchecked",
    "reason",
    "revision_choice",
)
DIVERGENCE_COLUMNS: Final = (
    "source",
    "run_id",
    "revision",
    "member_count",
    "divergence_class",
    "name",
    "member_id",
    "step",
    "rank",
    "reason",
)
COVERAGE_SCHEMA: Final = pa.schema(
    [
        pa.field("graph", pa.string()),
        pa.field("revision", pa.string()),
        pa.field("member_count", pa.int32()),
        pa.field("name", pa.string()),
        pa.field("events", pa.int64()),
        pa.field("steps", pa.int64()),
        pa.field("covered_steps", pa.int64()),
    ]
)
"""Without a graph: number of events of an action. With a graph: number of its steps of an action,
and how many of them the corpus takes.
"""


def to_batch(rows: Iterable[Row]) -> Any:
    """Return rows as a `pyarrow.RecordBatch`."""
    records = [structs.asdict(row) for row in rows]
    for record in records:
        record["kind"] = record["kind"].value
    return pa.RecordBatch.from_pylist(records, schema=ROW_SCHEMA)


_KEY: Final = struct.Struct(">QQ")
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_DECODER: Final = msgspec.json.Decoder(Example)


def key_of(data: bytes) -> tuple[int, int]:
    """Decode a content key from 16 bytes."""
    first, second = _KEY.unpack(data)
    return first, second


def to_question(example: Example) -> tuple[bytes, bytes]:
    """Encode an open step as a question: its key and its contents."""
    return _KEY.pack(*example.key), _ENCODER.encode(example)


def to_example(question: bytes) -> Example:
    """Decode the step of a question from its contents.

    Raises
    ------
    msgspec.MsgspecError
        If the contents are not those of a question.
    """
    return _DECODER.decode(question)


def open_verdict(unit: Unit, state: RunState) -> RunVerdict:
    """Return the verdict on a run with open steps, on the assumption that they are allowed."""
    verdict = verdict_on(diverges=bool(state.wrong), facts=state.facts, unchecked=state.unchecked)
    found = RunVerdict(
        state.run_id,
        unit.path,
        verdict,
        events=state.events,
        unchecked=state.unchecked,
        facts=state.facts,
    )
    return with_limits(found, state.run)


def with_import(found: RunVerdict, imported: ImportSummary) -> RunVerdict:
    """Return a verdict that accounts for the import's contradiction."""
    place = imported.contradiction
    if place is not None and found.verdict in (Verdict.CONFORMS, Verdict.INCOMPLETE):
        text = f"{place.file}:{place.line}: {place.reason}"
        kind = DivergenceClass.IMPLEMENTATION_STEP
        wrong = Divergence(kind, "AeronLog", place.member_id, -1, text)
        return replace(found, verdict=Verdict.DIVERGES, divergences=(wrong,))
    return found


def verdict_rows(
    unit: Unit, run: Run | None, found: RunVerdict, pending: tuple[bytes, ...] = ()
) -> Iterator[Row]:
    """Yield a row for a verdict and for each divergence."""
    chosen = ""
    if run is not None and found.verdict is not Verdict.MALFORMED:
        chosen = "; ".join(revision_choice(run.revision, found.releases))
    yield Row(
        kind=RowKind.VERDICT,
        source=unit.path,
        run_id=None if run is None else run.run_id,
        revision=None if run is None else run.revision,
        member_count=None if run is None else run.member_count,
        verdict=found.verdict.value,
        events=found.events,
        unchecked=found.unchecked,
        reason=reason_text(found),
        revision_choice=chosen,
        pending=pending,
    )
    for divergence in found.divergences:
        yield Row(
            kind=RowKind.DIVERGENCE,
            source=unit.path,
            run_id=found.run_id,
            revision=None if run is None else run.revision,
            member_count=None if run is None else run.member_count,
            divergence_class=divergence.kind.value,
            name=divergence.name,
            member_id=divergence.member,
            step=divergence.step,
            rank=divergence.rank,
            reason=divergence.text,
        )


def malformed_row(unit: Unit, reason: str, run_id: str | None = None) -> Row:
    """Return the row of a malformed unit, or of one malformed run in it."""
    return Row(
        kind=RowKind.VERDICT,
        source=unit.path,
        run_id=run_id,
        verdict=Verdict.MALFORMED.value,
        events=0,
        unchecked=0,
        reason=reason,
    )


def coverage_rows(found: Iterable[tuple[Run, Sequence[int]]]) -> Iterator[Row]:
    """Yield rows with the number of events by action of some runs."""
    counts: Counter[tuple[str, int, str]] = Counter()
    for run, actions in found:
        for code in np.flatnonzero(actions).tolist():
            counts[run.revision, run.member_count, ACTION_NAMES[code]] += int(actions[code])
    for (revision, member_count, name), count in sorted(counts.items()):
        yield Row(
            kind=RowKind.COVERAGE,
            revision=revision,
            member_count=member_count,
            name=name,
            events=count,
        )

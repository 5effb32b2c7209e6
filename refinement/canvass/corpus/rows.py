"""The results of a task: rows of one Arrow schema, of a few kinds, and how results become rows.

Spark wants one schema for all that a function gives back, so that a row has the columns of every
kind, and null where its own kind has none. Only small things travel: verdicts, divergences, counts,
and each distinct step that is still to be decided, once for each task. Such a step is a question:
its content key, which names it, and the step with its rules in JSON, which is read strictly and has
no code in it. Nothing is checked here.
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

from canvass.conformance.report import limits_text
from canvass.conformance.screen import RunState, with_limits
from canvass.conformance.steps import Example
from canvass.conformance.verdict import (
    Divergence,
    DivergenceClass,
    RunVerdict,
    Verdict,
    verdict_on,
)
from canvass.corpus.plan import Unit
from canvass.traces.alignment.importer import ImportSummary
from canvass.traces.layout import ACTION_NAMES
from canvass.traces.schema import Run


class RowKind(str, Enum):
    """What a row is about."""

    VERDICT = "VERDICT"
    """How a run stands; one row for each run, or for each unit that is none."""
    DIVERGENCE = "DIVERGENCE"
    """What a run does that the spec does not allow."""
    COVERAGE = "COVERAGE"
    """How many events of a task have an action and an outcome."""
    STEP = "STEP"
    """A distinct step that neither graph nor cache decides."""
    ANSWER = "ANSWER"
    """What the oracle says of such a step."""
    DISTINCT = "DISTINCT"
    """How many distinct canonical steps the events of a task have."""
    PART = "PART"
    """A run of which a part of a unit holds only a part; without a run id: that the part was read.
    """
    EDGES = "EDGES"
    """Which edges of a state graph the events of a task take."""


class Row(Struct, frozen=True, kw_only=True):
    """One row; which fields are set depends on its kind."""

    kind: RowKind
    source: str | None = None
    """Path of the unit that the run is in."""
    part: int | None = None
    """Of a unit that was split: the number of the part that this comes from."""
    run_id: str | None = None
    revision: str | None = None
    member_count: int | None = None
    verdict: str | None = None
    """One of `Verdict`; if steps are pending, the one that holds if all of them are allowed."""
    events: int | None = None
    """Of a verdict: events of the run. Of coverage: how often. Of distinct steps: how many."""
    unchecked: int | None = None
    """Events of the run of which the state before is not known."""
    reason: str | None = None
    """Why a run is malformed or incomplete, or in what a step differs; why a part is no trace."""
    divergence_class: str | None = None
    name: str | None = None
    """Of a divergence: the action, or the property that is violated. Of coverage: the action. Of
    edges: the folder of the graph.
    """
    member_id: int | None = None
    step: int | None = None
    rank: int | None = None
    """The place of the step in the order of causes of its run."""
    pending: tuple[bytes, ...] | None = None
    """Keys of the run's steps that are still to be decided."""
    key: bytes | None = None
    payload: bytes | None = None
    """Of a step: what the oracle is asked; of an answer: its code. Of edges: their numbers."""


ROW_SCHEMA: Final = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("source", pa.string()),
        pa.field("part", pa.int32()),
        pa.field("run_id", pa.string()),
        pa.field("revision", pa.string()),
        pa.field("member_count", pa.int32()),
        pa.field("verdict", pa.string()),
        pa.field("events", pa.int64()),
        pa.field("unchecked", pa.int64()),
        pa.field("reason", pa.string()),
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
"""Either events that have an action, or, with a graph, steps that it has of an action and how many
of them the corpus takes.
"""


def to_batch(rows: Iterable[Row]) -> Any:
    """Bring rows into a `pyarrow.RecordBatch`."""
    records = [structs.asdict(row) for row in rows]
    for record in records:
        record["kind"] = record["kind"].value
    return pa.RecordBatch.from_pylist(records, schema=ROW_SCHEMA)


_KEY: Final = struct.Struct(">QQ")
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_DECODER: Final = msgspec.json.Decoder(Example)


def key_of(data: bytes) -> tuple[int, int]:
    """Give the content key that the 16 bytes of a question's key stand for."""
    first, second = _KEY.unpack(data)
    return first, second


def to_question(example: Example) -> tuple[bytes, bytes]:
    """Give key and contents of a step that is to be decided."""
    return _KEY.pack(*example.key), _ENCODER.encode(example)


def to_example(question: bytes) -> Example:
    """Give the step that the contents of a question are about.

    Raises
    ------
    msgspec.MsgspecError
        If it is no question.
    """
    return _DECODER.decode(question)


def open_verdict(unit: Unit, state: RunState) -> RunVerdict:
    """Give the verdict on a run with open steps for the case that they are all allowed."""
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
    """Take into account which lines the importer could not explain, and which are missing."""
    place = imported.contradiction
    if place is not None and found.verdict in (Verdict.CONFORMS, Verdict.INCOMPLETE):
        text = f"{place.file}:{place.line}: {place.reason}"
        kind = DivergenceClass.IMPLEMENTATION_STEP
        wrong = Divergence(kind, "AeronLog", place.member_id, -1, text)
        return replace(found, verdict=Verdict.DIVERGES, divergences=(wrong,))
    open_verdicts = (Verdict.CONFORMS, Verdict.INCOMPLETE)
    if imported.missing and found.verdict in open_verdicts and not found.reason:
        return replace(found, verdict=Verdict.INCOMPLETE, reason="; ".join(imported.missing))
    return found


def verdict_rows(
    unit: Unit, run: Run | None, found: RunVerdict, pending: tuple[bytes, ...] = ()
) -> Iterator[Row]:
    """Give rows for a verdict and each divergence."""
    part = None if unit.part is None else unit.part.number
    yield Row(
        kind=RowKind.VERDICT,
        source=unit.path,
        part=part,
        run_id=None if run is None else run.run_id,
        revision=None if run is None else run.revision,
        member_count=None if run is None else run.member_count,
        verdict=found.verdict.value,
        events=found.events,
        unchecked=found.unchecked,
        reason=reason_text(found),
        pending=pending,
    )
    for divergence in found.divergences:
        yield Row(
            kind=RowKind.DIVERGENCE,
            source=unit.path,
            part=part,
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


def reason_text(found: RunVerdict) -> str:
    """Say in one line why a run does not simply conform, or that it was not checked in full."""
    if found.divergences:
        first = found.divergences[0]
        return f"member {first.member}, step {first.step}: {first.name}: {first.text}"
    facts = [
        f"{fact.kind.value} member {fact.member_id}"
        + (f" step {fact.step}" if fact.step > 0 else "")
        for fact in found.facts
    ]
    missing = "; ".join(facts[:5] + ["..."] * (len(facts) > 5))
    return found.reason or missing or limits_text(found)


def malformed_row(unit: Unit, reason: str, run_id: str | None = None) -> Row:
    """Give the row of a malformed unit, or of one malformed run in it."""
    return Row(
        kind=RowKind.VERDICT,
        source=unit.path,
        run_id=run_id,
        verdict=Verdict.MALFORMED.value,
        events=0,
        unchecked=0,
        reason=reason,
    )


def coverage_rows(
    found: Iterable[tuple[Run, Sequence[int]]], unit: Unit | None = None
) -> Iterator[Row]:
    """Give rows for how often some runs, all of one unit if it is given, took each action."""
    counts: Counter[tuple[str, int, str]] = Counter()
    for run, actions in found:
        for code in np.flatnonzero(actions).tolist():
            counts[run.revision, run.member_count, ACTION_NAMES[code]] += int(actions[code])
    for (revision, member_count, name), count in sorted(counts.items()):
        yield Row(
            kind=RowKind.COVERAGE,
            source=None if unit is None else unit.path,
            part=None if unit is None or unit.part is None else unit.part.number,
            revision=revision,
            member_count=member_count,
            name=name,
            events=count,
        )

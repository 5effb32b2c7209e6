"""The results of a task: rows of one Arrow schema, of a few kinds.

Spark wants one schema for all that a function gives back, so that a row has the columns of every
kind, and null where its own kind has none. Only small things travel: verdicts, divergences, counts,
and each distinct step that is still to be decided, once for each task.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

import pyarrow as pa
from msgspec import Struct, structs


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

"""The rows of a task: findings of all kinds in one Arrow schema.

A row has null in the columns of other kinds. Rows are few: verdicts, divergences, counts, and the
distinct open steps of each task. `canvass.conformance.findings` makes them and says what their
columns mean. Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

import pyarrow as pa
from numpy.typing import NDArray

from canvass.conformance.findings import COVERAGE, DIVERGENCES, OPEN_STEPS, VERDICTS, Tables
from canvass.corpus.plan import Unit


class RowKind(str, Enum):
    """The kinds of rows."""

    VERDICT = "VERDICT"
    """The verdict on a run, or on a unit that is malformed; it holds if open steps are allowed."""
    DIVERGENCE = "DIVERGENCE"
    """A divergence of a run."""
    COVERAGE = "COVERAGE"
    """Number of events with an action."""
    STEP = "STEP"
    """An open step: no table knows whether it is allowed."""
    EDGES = "EDGES"
    """Edges of a state graph that events take."""


_DIGEST: Final = pa.field("digest", pa.string())
"""The digest of a verdict's unit."""
_EDGES: Final = pa.schema([pa.field("name", pa.string()), pa.field("edges", pa.binary())])
"""The graph, and the numbers of its edges as 64-bit integers."""
ROW_SCHEMA: Final = pa.schema(
    {
        field.name: pa.field(field.name, field.type)
        for schema in (
            [pa.field("kind", pa.string()), _DIGEST],
            *(VERDICTS, DIVERGENCES, COVERAGE, OPEN_STEPS, _EDGES),
        )
        for field in schema
    }.values()
)
VERDICT_COLUMNS: Final = tuple(name for name in VERDICTS.names if name != "open_steps")
DIVERGENCE_COLUMNS: Final = tuple(DIVERGENCES.names)
QUARANTINE_COLUMNS: Final = ("source", "run_id", "reason", "digest")
ANSWER_SCHEMA: Final = pa.schema([pa.field("key", pa.binary()), pa.field("code", pa.int8())])
"""The key of a step, and TLC's answer as `canvass.steps.answers` has it."""


def to_batches(
    tables: Tables, units: Mapping[str, Unit], edges: Mapping[str, NDArray[Any]]
) -> Iterator[Any]:
    """Yield findings as batches of rows.

    Parameters
    ----------
    tables
        The findings.
    units
        The units, by their paths.
    edges
        The edges that events take, by the name of the graph.
    """
    digests = [units[source].digest for source in tables.verdicts["source"].to_pylist()]
    verdicts = tables.verdicts.append_column(_DIGEST, pa.array(digests, pa.string()))
    taken = [
        {"name": name, "edges": numbers.astype("<i8").tobytes()} for name, numbers in edges.items()
    ]
    kinds = {
        RowKind.VERDICT: verdicts,
        RowKind.DIVERGENCE: tables.divergences,
        RowKind.COVERAGE: tables.coverage,
        RowKind.STEP: tables.open_steps,
        RowKind.EDGES: pa.Table.from_pylist(taken, _EDGES),
    }
    for kind, table in kinds.items():
        columns = [
            table[name].combine_chunks().cast(field.type)
            if (name := field.name) in table.column_names
            else pa.array([kind.value] * len(table), pa.string())
            if name == "kind"
            else pa.nulls(len(table), field.type)
            for field in ROW_SCHEMA
        ]
        yield from pa.Table.from_arrays(columns, schema=ROW_SCHEMA).to_batches()

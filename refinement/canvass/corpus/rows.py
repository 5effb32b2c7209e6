"""The rows of a task: findings of all kinds in one Arrow schema.

A row has null in the columns of other kinds. Rows are few: verdicts, divergences, counts, and the
distinct open steps of each task. `canvass.conformance.findings` makes them and says what their
columns mean. Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from canvass.conformance.findings import COVERAGE, DIVERGENCES, OPEN_STEPS, VERDICTS, Tables

KINDS: Final = ("VERDICT", "DIVERGENCE", "COVERAGE", "STEP")
"""The kinds of rows, in the order of `Tables`: the verdict on a run or on a malformed unit, which
holds if its open steps are allowed; a divergence of a run; the number of events with an action; an
open step, which no table knows.
"""
_DIGEST: Final = pa.field("digest", pa.string())
"""The digest of a verdict's unit."""
ROW_SCHEMA: Final = pa.schema(
    {
        field.name: pa.field(field.name, field.type)
        for schema in (
            [pa.field("kind", pa.string()), _DIGEST],
            *(VERDICTS, DIVERGENCES, COVERAGE, OPEN_STEPS),
        )
        for field in schema
    }.values()
)
VERDICT_COLUMNS: Final = (*(name for name in VERDICTS.names if name != "open_steps"), "digest")
FOUND_COLUMNS: Final = tuple(
    name for name in ROW_SCHEMA.names if name not in ("digest", "open_steps", "key", "question")
)
"""Columns of verdicts, divergences and counts that the driver reads."""
OPEN: Final = "open"
"""A further column of what it reads: the number of open steps of a verdict."""
DIVERGENCE_COLUMNS: Final = tuple(DIVERGENCES.names)
QUARANTINE_COLUMNS: Final = ("source", "run_id", "reason", "digest")
ANSWER_SCHEMA: Final = pa.schema([pa.field("key", pa.binary()), pa.field("code", pa.int8())])
"""The key of a step, and TLC's answer as `canvass.steps.answers` has it."""


def to_batches(tables: Tables, digests: Mapping[str, str]) -> Iterator[Any]:
    """Yield findings as batches of rows.

    Parameters
    ----------
    tables
        The findings.
    digests
        The digest of each unit, by its path.
    """
    named = [digests[source] for source in tables.verdicts["source"].to_pylist()]
    verdicts = tables.verdicts.append_column(_DIGEST, pa.array(named, pa.string()))
    for kind, table in zip(KINDS, tables._replace(verdicts=verdicts), strict=True):
        rows = table.append_column("kind", pa.repeat(kind, len(table)))
        whole = pa.concat_tables([ROW_SCHEMA.empty_table(), rows], promote_options="default")
        yield from whole.to_batches()

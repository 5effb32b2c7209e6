"""The tables of a batch verification: written from the rows of tasks, and read again.

What each row means is in `canvass.corpus.rows`; which rows count is decided by the job. Rows pass
through the driver batch by batch. A run is named by its source and its id: two runs of a corpus may
have one id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from canvass.corpus.edges import GraphCoverage, coverage_of, edge_count
from canvass.corpus.rows import (
    COVERAGE_SCHEMA,
    DIVERGENCE_COLUMNS,
    ROW_SCHEMA,
    VERDICT_COLUMNS,
    RowKind,
)
from canvass.corpus.storage import Place, writing
from canvass.corpus.task_files import Stage

_FILE: Final = "part-00000.parquet"
_COVERAGE: Final = ("source", "run_id", "revision", "member_count", "name", "events")


@dataclass(frozen=True)
class Superseded:
    """Rows of the first stage that a recheck has superseded."""

    runs: frozenset[tuple[str, str | None]] = frozenset()
    """Runs, each with the unit that it is in."""
    units: frozenset[str] = frozenset()
    """Units of which nothing stays."""

    def has(self, source: str | None, run_id: str | None) -> bool:
        """Say whether a row is superseded."""
        return source in self.units or (source, run_id) in self.runs

    def without(self, batch: Any) -> Any:
        """Leave those rows out."""
        if not self.runs and not self.units:
            return batch
        ids = zip(batch["source"].to_pylist(), batch["run_id"].to_pylist(), strict=True)
        return batch.filter(pa.array([not self.has(*each) for each in ids], pa.bool_()))


@dataclass(frozen=True)
class TaskResults:
    """All rows of tasks about a corpus, and which of them are superseded."""

    first: Stage
    later: Sequence[Stage] = ()
    superseded: Superseded = field(default_factory=Superseded)

    def batches(self, kinds: Sequence[RowKind], columns: Sequence[str]) -> Iterator[Any]:
        """Give the rows of some kinds that count; the columns must name the run and its unit."""
        for batch in self.first.batches(kinds, columns):
            yield self.superseded.without(batch)
        for stage in self.later:
            yield from stage.batches(kinds, columns)


def write_tables(results: TaskResults, out: Place) -> list[GraphCoverage]:
    """Write verdicts, divergences and coverage; give what is covered of the graphs."""
    verdicts = results.batches([RowKind.VERDICT], VERDICT_COLUMNS)
    _write(out / "verdicts", _of(VERDICT_COLUMNS), verdicts)
    divergences = results.batches([RowKind.DIVERGENCE], DIVERGENCE_COLUMNS)
    _write(out / "divergences", _of(DIVERGENCE_COLUMNS), divergences)
    graphs = _graph_coverage(results)
    _write_coverage(out / "coverage", results, graphs)
    return graphs


def read_table(folder: Place, columns: Sequence[str]) -> Iterator[Any]:
    """Give the rows of a table that was written, as Arrow batches."""
    with (folder / _FILE).open("rb") as file:
        yield from pq.ParquetFile(file).iter_batches(columns=list(columns))


def _of(columns: Sequence[str]) -> Any:
    """Give the schema of some columns of rows."""
    return pa.schema([ROW_SCHEMA.field(name) for name in columns])


def _write(folder: Place, schema: Any, batches: Iterable[Any]) -> None:
    """Write a table; a reader finds the file whole or not at all."""
    folder.mkdir()
    with writing(folder / _FILE) as path, pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            if len(batch):
                writer.write_batch(batch.select(schema.names))


# --- coverage -------------------------------------------------------------------------------------


def _graph_coverage(results: TaskResults) -> list[GraphCoverage]:
    """Bring together which edges of the graphs the tasks met."""
    met: dict[str, NDArray[np.bool_]] = {}
    for batch in results.batches([RowKind.EDGES], ("source", "run_id", "name", "payload")):
        for name, payload in zip(*(batch[n].to_pylist() for n in ("name", "payload")), strict=True):
            if name not in met:
                met[name] = np.zeros(edge_count(name), dtype=np.bool_)
            met[name][np.frombuffer(payload, dtype="<i8")] = True
    return [coverage_of(name, np.flatnonzero(met[name])) for name in sorted(met)]


def _write_coverage(folder: Place, results: TaskResults, graphs: list[GraphCoverage]) -> None:
    """Write the events by action, and the steps of graphs by action."""
    counts: Counter[tuple[str, int, str]] = Counter()
    for batch in results.batches([RowKind.COVERAGE], _COVERAGE):
        names = ("revision", "member_count", "name", "events")
        for *action, events in zip(*(batch[name].to_pylist() for name in names), strict=True):
            counts[action[0], action[1], action[2]] += events
    rows: list[tuple[str | int | None, ...]] = [
        (None, *action, events, None, None) for action, events in sorted(counts.items())
    ]
    rows += [
        (one.graph, one.revision, one.member_count, a.action, None, a.steps, a.covered)
        for one in graphs
        for a in one.actions
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in COVERAGE_SCHEMA]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, COVERAGE_SCHEMA, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=COVERAGE_SCHEMA)
    _write(folder, COVERAGE_SCHEMA, [batch])

"""The tables of a batch verification, made of the rows that the workers told.

What each row means is in `canvass.corpus.rows`; which rows count is decided by the job.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from canvass.corpus.edges import EdgeCounter, GraphCoverage
from canvass.corpus.rows import COVERAGE_DDL, DIVERGENCE_COLUMNS, VERDICT_COLUMNS, RowKind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def is_kind(kind: RowKind) -> Column:
    """Give the condition that a row is of a kind."""
    from pyspark.sql import functions as f

    return f.col("kind") == kind.value


def uri_of(path: Path) -> str:
    """Name a path as Spark wants it."""
    return path.as_uri()


def write_tables(session: SparkSession, rows: DataFrame, out: Path) -> list[GraphCoverage]:
    """Write verdicts, divergences and coverage; give what is covered of the graphs."""
    from pyspark.sql import functions as f

    verdicts = rows.where(is_kind(RowKind.VERDICT)).select(*VERDICT_COLUMNS)
    divergences = rows.where(is_kind(RowKind.DIVERGENCE)).select(*DIVERGENCE_COLUMNS)
    repeated = [
        (row.run_id, row.kept)
        for row in verdicts.where(f.col("run_id").isNotNull())
        .groupBy("run_id")
        .agg(f.min("source").alias("kept"), f.count("*").alias("count"))
        .where(f.col("count") > 1)
        .toLocalIterator()
    ]
    if repeated:
        verdicts, divergences = _without_second_runs(session, verdicts, divergences, repeated)
    counted = (
        rows.where(is_kind(RowKind.COVERAGE))
        .groupBy("revision", "member_count", "name")
        .agg(f.sum("events").alias("events"))
    )
    graphs = _graph_coverage(rows)
    coverage = _with_graphs(session, counted, graphs)
    for name, table in (
        ("verdicts", verdicts),
        ("divergences", divergences),
        ("coverage", coverage),
    ):
        table.write.parquet(uri_of(out / name))
    return graphs


def _graph_coverage(rows: DataFrame) -> list[GraphCoverage]:
    """Bring together which edges of the graphs the tasks met."""
    counters: dict[str, EdgeCounter] = {}
    for row in rows.where(is_kind(RowKind.EDGES)).select("name", "payload").toLocalIterator():
        counters.setdefault(row.name, EdgeCounter(row.name)).add([bytes(row.payload)])
    return [counters[name].result() for name in sorted(counters)]


def _with_graphs(
    session: SparkSession, counted: DataFrame, graphs: list[GraphCoverage]
) -> DataFrame:
    """Add to the events by action the steps of graphs by action."""
    from pyspark.sql import functions as f

    null = f.lit(None)
    events = counted.select(
        null.cast("string").alias("graph"),
        "revision",
        "member_count",
        "name",
        "events",
        null.cast("bigint").alias("steps"),
        null.cast("bigint").alias("covered_steps"),
    )
    found = [
        (one.graph, one.revision, one.member_count, a.action, None, a.steps, a.covered)
        for one in graphs
        for a in one.actions
    ]
    if not found:
        return events
    return events.union(session.createDataFrame(found, COVERAGE_DDL))


def _without_second_runs(
    session: SparkSession,
    verdicts: DataFrame,
    divergences: DataFrame,
    repeated: list[tuple[str, str]],
) -> tuple[DataFrame, DataFrame]:
    """Of runs with one id let the first one stand, by place; the others are no runs."""
    from pyspark.sql import functions as f

    known = f.broadcast(session.createDataFrame(repeated, "run_id string, kept string"))
    first = f.col("kept").isNull() | (f.col("kept") == f.col("source"))
    reason = f.concat(f.lit("AMBIGUOUS: the id is that of the run in "), f.col("kept"))
    marked = (
        verdicts.join(known, "run_id", "left")
        .withColumn("verdict", f.when(first, f.col("verdict")).otherwise("MALFORMED"))
        .withColumn("reason", f.when(first, f.col("reason")).otherwise(reason))
    )
    kept = divergences.join(known, "run_id", "left").where(first)
    return marked.select(*VERDICT_COLUMNS), kept.select(*DIVERGENCE_COLUMNS)

"""What a batch verification found, in numbers and examples: ``summary.json``.

A `Summary` is made from the tables by grouped aggregations; of lists that grow with the corpus only
the first entries are taken, and how many there are is said. It decides the exit code, and what is
new against an earlier summary.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import Struct

from canvass.conformance.verdict import EXIT_CODES, Verdict
from canvass.conformance.verdict import exit_code as worst_of
from canvass.corpus.edges import GraphCoverage

if TYPE_CHECKING:
    from canvass.corpus.job import CorpusJob

SUMMARY_SCHEMA: Final = "canvass.batch/1"
SUMMARY_FILE: Final = "summary.json"
MAX_LISTED: Final = 1000
"""Entries of a list in summary and report; the tables hold all."""


class Listed(Struct, frozen=True, rename="camel"):
    """A run, or what should have been one, that does not conform."""

    source: str
    run_id: str | None
    verdict: str
    events: int
    reason: str


class Cluster(Struct, frozen=True, rename="camel"):
    """Divergences that are alike: of one class, at one action or property."""

    divergence_class: str
    name: str
    count: int
    runs: int
    example_run_id: str
    example_source: str
    example_member_id: int
    example_step: int
    example_reason: str

    @property
    def identity(self) -> tuple[str, str]:
        """What an earlier report is searched for."""
        return self.divergence_class, self.name


class Coverage(Struct, frozen=True, rename="camel"):
    """How many events have an action."""

    action: str
    events: int


class Summary(Struct, frozen=True, rename="camel", kw_only=True):
    """The result of a batch verification."""

    schema: Literal["canvass.batch/1"] = SUMMARY_SCHEMA
    version: str
    corpora: list[str]
    tasks: int | None
    """How many tasks were asked for; null if the job chose."""
    runs: int
    events: int
    verdicts: dict[str, int]
    """Runs by verdict; every verdict is a key."""
    divergences: int
    clusters: list[Cluster]
    cluster_count: int
    listed: list[Listed]
    listed_count: int
    coverage: list[Coverage]
    graphs: list[GraphCoverage] = []
    """How much of each state graph that was given the corpus covers."""
    never_taken: list[str]
    """Actions of the spec that no event has."""
    judged_steps: int
    """Distinct steps that the oracle was asked about."""
    rechecked_runs: int
    seconds: float
    events_per_second: float


VERDICTS: Final = tuple(verdict.value for verdict in Verdict)


def summarise(
    job: CorpusJob, *, version: str, corpora: list[str], tasks: int | None, seconds: float
) -> Summary:
    """Make the summary of a job that has run."""
    from pyspark.sql import functions as f

    from canvass.traces.layout import ACTION_NAMES

    verdicts = job.table("verdicts")
    divergences = job.table("divergences")
    counted = verdicts.groupBy("verdict").agg(f.count("*").alias("n"), f.sum("events").alias("e"))
    by_verdict = {row.verdict: (int(row.n), int(row.e or 0)) for row in counted.collect()}
    events = sum(count for _, count in by_verdict.values())
    failing = verdicts.where(f.col("verdict") != "CONFORMS")
    grouped = divergences.groupBy("divergence_class", "name").agg(
        f.count("*").alias("count"),
        f.countDistinct("run_id").alias("runs"),
        # The least of the columns in this order: the same example however the rows are spread.
        f.min(f.struct("run_id", "source", "member_id", "step", "reason")).alias("example"),
    )
    clusters = (
        grouped.orderBy(f.desc("count"), "divergence_class", "name").limit(MAX_LISTED).collect()
    )
    listed = failing.orderBy("verdict", "source", "run_id").limit(MAX_LISTED).collect()
    taken = (
        job.table("coverage")
        .where("graph IS NULL")
        .groupBy("name")
        .agg(f.sum("events").alias("events"))
    )
    coverage = {row.name: int(row.events) for row in taken.collect()}
    return Summary(
        version=version,
        corpora=corpora,
        tasks=tasks,
        runs=sum(count for count, _ in by_verdict.values()),
        events=events,
        verdicts={name: by_verdict.get(name, (0, 0))[0] for name in VERDICTS},
        divergences=divergences.count()
        if len(clusters) == MAX_LISTED
        else sum(int(row["count"]) for row in clusters),
        clusters=[
            Cluster(
                divergence_class=row.divergence_class,
                name=row.name,
                count=int(row["count"]),
                runs=int(row.runs),
                example_run_id=row.example.run_id,
                example_source=row.example.source,
                example_member_id=int(row.example.member_id),
                example_step=int(row.example.step),
                example_reason=row.example.reason or "",
            )
            for row in clusters
        ],
        cluster_count=grouped.count() if len(clusters) == MAX_LISTED else len(clusters),
        listed=[
            Listed(row.source, row.run_id, row.verdict, int(row.events or 0), row.reason or "")
            for row in listed
        ],
        listed_count=sum(count for name, (count, _) in by_verdict.items() if name != "CONFORMS"),
        coverage=[
            Coverage(name, coverage[name])
            for name in sorted(coverage, key=lambda name: (-coverage[name], name))
        ],
        graphs=job.graphs,
        never_taken=[name for name in ACTION_NAMES if not coverage.get(name)],
        judged_steps=job.judged,
        rechecked_runs=job.rechecked,
        seconds=round(seconds, 3),
        events_per_second=round(events / seconds, 1) if seconds > 0 else 0.0,
    )


class BadBaseline(Exception):
    """An earlier report cannot be read."""


def read_summary(folder: Path) -> Summary:
    """Read the summary in a report folder, or a summary file.

    Raises
    ------
    BadBaseline
        If there is none of this form.
    """
    path = folder / SUMMARY_FILE if folder.is_dir() else folder
    try:
        return msgspec.json.decode(path.read_bytes(), type=Summary)
    except OSError as error:
        raise BadBaseline(f"{path}: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise BadBaseline(f"{path}: {error}") from None


def new_clusters(summary: Summary, baseline: Summary) -> list[Cluster]:
    """Give the clusters whose like an earlier report does not have."""
    known = {cluster.identity for cluster in baseline.clusters}
    return [cluster for cluster in summary.clusters if cluster.identity not in known]


def exit_code(summary: Summary, baseline: Summary | None = None) -> int:
    """Give the exit code of DESIGN section 6; divergences that a baseline knows do not count.

    As for ``canvass verify``: the worst there is decides. Nothing checked is 2.
    """
    if not summary.events:
        return EXIT_CODES[Verdict.MALFORMED]
    found = {verdict for verdict in Verdict if summary.verdicts[verdict.value]}
    if baseline is not None and not new_clusters(summary, baseline):
        found.discard(Verdict.DIVERGES)
        found.add(Verdict.CONFORMS)
    return worst_of(found)

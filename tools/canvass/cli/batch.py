"""``canvass batch``: verify corpora in one process or on Spark, once or as they grow.

This module parses the command line, runs the job and keeps the results. `canvass.corpus` does the
work.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.options import Output, need_runs
from canvass.cli.output import CommandError, Format, Stages, json_text, write_json, write_text
from canvass.corpus.spark_session import EngineName, choose_engine, one_line_failures, open_session
from canvass.traces.errors import counted

if TYPE_CHECKING:
    from canvass.corpus.job import CorpusJob, ProcessEngine
    from canvass.corpus.plan import Unit
    from canvass.corpus.report import Identity, Summary
    from canvass.corpus.spark_engine import SparkEngine
    from canvass.corpus.storage import Place


class FailOn(str, Enum):
    """The divergences that make the command fail."""

    ANY = "any"
    NEW = "new"
    """Divergences of classes that the tables do not have."""


def register(app: typer.Typer) -> None:
    """Add the sub-commands."""
    batch = typer.Typer(help="Verify large corpora on Spark.", no_args_is_help=True)
    app.add_typer(batch, name="batch")
    batch.command("verify")(verify)


Corpora = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS", help="Runs, folders of runs, Parquet data sets or files, by path or URL."
    ),
]
Out = Annotated[
    str | None, typer.Option("--out", help="A new or empty folder for tables and report.")
]
Append = Annotated[
    str | None,
    typer.Option(
        metavar="TABLES",
        help="Verify what is new or changed, and add the results to tables in this folder.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(help="local[N], spark://..., yarn, k8s://... or sc://... Default: local[2]."),
]
Engine = Annotated[
    EngineName, typer.Option(help="On spark, in one process, or on the faster one (auto).")
]
Partitions = Annotated[
    int | None, typer.Option(min=1, help="Number of tasks. Default: chosen from the sizes.")
]
Graph = Annotated[Path | None, typer.Option(help="A state graph whose steps count as known.")]
Cache = Annotated[str | None, typer.Option(help="Folder of the cache of TLC's answers.")]
Oracles = Annotated[int, typer.Option(min=1, help="Maximum number of TLC processes at once.")]
Fails = Annotated[
    FailOn, typer.Option(help="Fail on any divergence, or only on kinds that the tables lack.")
]


def verify(
    corpora: Corpora,
    out: Out = None,
    append: Append = None,
    master: Master = None,
    engine: Engine = EngineName.AUTO,
    partitions: Partitions = None,
    graph: Graph = None,
    cache: Cache = None,
    oracles: Oracles = 1,
    fail_on: Fails = FailOn.ANY,
    output: Output = Format.HUMAN,
) -> None:
    """Verify corpora and write tables, summary and report; on Spark if that is faster.

    With --append, a unit is verified if it is new, if its files have changed, or if the spec or
    canvass has changed since. A unit is a run folder, a Parquet file or a folder of event logs.
    The exit code counts the latest verdict on each unit of CORPUS.

    Exit code 0: all runs conform. 1: one diverges. 2: a run is malformed and none diverges,
    nothing was checked, or Spark or TLC cannot run. 3: runs are incomplete. 130: interrupted.

    canvass batch verify CORPUS --out REPORT

    canvass batch verify CORPUS --out REPORT --master spark://host:7077

    canvass batch verify LAKE/date=2026-11-20 --append TABLES --fail-on new

    canvass batch verify s3://lake/runs --append s3://lake/verdicts
    """
    from canvass.corpus.report import exit_code, new_clusters, to_text
    from canvass.corpus.storage import place_of

    only_new = fail_on is FailOn.NEW
    if out is None and append is None:
        raise CommandError("--out or --append is required: the folder of the results")
    if only_new and append is None:
        raise CommandError("--fail-on new requires --append")
    places = tuple(map(place_of, corpora))
    for text in filter(None, (out, append)):
        _need_outside(place_of(text), places)
    made = (None if text is None else place_of(text) for text in (out, append, cache))
    report, tables, answers = made
    summary, known = _verify_due(
        _Request(
            places, report, tables, only_new, engine, master, partitions, graph, answers, oracles
        )
    )
    new = None if known is None else new_clusters(summary, known)
    if output is Format.JSON:
        write_json(summary)
    else:
        write_text(to_text(summary, new, out))
    raise typer.Exit(exit_code(summary, known))


def _need_outside(results: Place, corpora: Sequence[Place]) -> None:
    """Refuse a folder of results in a corpus: there the results would be taken for a run."""
    inner = _normal(results)
    for corpus in corpora:
        if f"{inner}/".startswith(f"{_normal(corpus)}/"):
            raise CommandError(f"{inner} is in {_normal(corpus)}, which is verified")


def _normal(place: Place) -> str:
    """Return a path without links and ``..``; a URL as it is."""
    return str(place.resolve() if isinstance(place, Path) else place)


@dataclass(frozen=True)
class _Request:
    """The options of a verification."""

    corpora: Sequence[Place]
    out: Place | None
    append: Place | None
    only_new: bool
    engine: EngineName
    master: str | None
    partitions: int | None
    graph: Path | None
    cache: Place | None
    oracles: int


def _verify_due(request: _Request) -> tuple[Summary, set[Identity] | None]:
    """Verify the units of the corpora that are due; write tables and report.

    Parameters
    ----------
    request
        The options. Without ``append`` all units are due.

    Returns
    -------
    tuple
        The summary, and the classes of divergences that the tables had before. The latter are None
        unless the request asks for new divergences only.
    """
    from datetime import UTC, datetime

    from canvass.corpus.job import (
        REPORT_TABLES,
        History,
        checker_version,
        make_results_folder,
        make_stamp,
    )
    from canvass.corpus.plan import EarlierUnit
    from canvass.corpus.report import empty_summary, summarise
    from canvass.steps.answers import spec_digest

    due, earlier, known = _list_corpora(request), list[EarlierUnit](), None
    corpora = [str(corpus) for corpus in request.corpora]
    digest, version = spec_digest(), checker_version()
    with Stages(each=True) as progress:
        progress.stage(f"{counted(len(due), 'unit')} listed")
        history = None if request.append is None else History(request.append)
        if history is not None:
            known = history.divergences() if request.only_new else None
            due, earlier = history.split(due, digest, version)
            progress.stage(f"{counted(len(due), 'unit')} to be verified")
        if request.out is not None:
            make_results_folder(request.out)
        summary = empty_summary(corpora, earlier)
        if due:
            with _engine(request, due, progress) as engine:
                job, seconds = _run(request, due, engine, progress)
                if request.out is not None:
                    job.write({name: request.out / name for name in REPORT_TABLES})
                if history is not None:
                    stamp = make_stamp(due, version, digest, datetime.now(UTC))
                    progress.stage(f"adding the verification {stamp.verification_id}")
                    history.append(job, stamp)
                summary = summarise(job, corpora=corpora, seconds=seconds, earlier=earlier)
    if request.out is not None:
        _write_report(summary, request.out, known)
    return summary, known


def _write_report(summary: Summary, out: Place, known: set[Identity] | None) -> None:
    from canvass.corpus.report import REPORT_FILE, SUMMARY_FILE, new_clusters, to_html

    new = None if known is None else new_clusters(summary, known)
    page = to_html(summary, new, out if isinstance(out, Path) else None)
    (out / SUMMARY_FILE).write_bytes(json_text(summary).encode())
    (out / REPORT_FILE).write_bytes(page.encode())


def _list_corpora(request: _Request) -> list[Unit]:
    """Refuse options that exclude each other, and a graph of another spec; list the units."""
    from canvass.conformance.verify import make_lookup
    from canvass.corpus.plan import list_units

    if request.engine is EngineName.PROCESS and request.master is not None:
        raise CommandError("--engine process and --master exclude each other")
    if request.graph is not None:
        make_lookup([request.graph], None)  # Refuses it.
    local = [place for place in request.corpora if isinstance(place, Path)]
    need_runs(local, "canvass batch verify", logs=True)
    return list_units(request.corpora)


def _run(
    request: _Request, units: Sequence[Unit], engine: ProcessEngine | SparkEngine, progress: Stages
) -> tuple[CorpusJob, float]:
    """Run a job; return it, and how many seconds it took."""
    from canvass.corpus.job import CorpusJob
    from canvass.steps.answers import default_cache

    def say(stage: str) -> None:
        progress.stage(stage)
        progress.detail(lambda _: engine.progress())

    job = CorpusJob(
        engine,
        request.cache or default_cache(),
        graph=request.graph,
        partitions=request.partitions,
        oracles=request.oracles,
        say=say,
    )
    started = time.monotonic()
    job.run(units)
    return job, time.monotonic() - started


@contextmanager
def _engine(
    request: _Request, units: Sequence[Unit], progress: Stages
) -> Iterator[ProcessEngine | SparkEngine]:
    """Start an engine, and stop it at the end."""
    chosen, reason = choose_engine(units, request.master, request.engine)
    progress.stage(reason or f"starting {chosen.value}")
    if chosen is EngineName.PROCESS:
        from canvass.corpus.job import ProcessEngine

        yield ProcessEngine()
        return
    with open_session(request.master) as session, one_line_failures():
        from canvass.corpus.spark_engine import SparkEngine

        engine = SparkEngine(session)
        try:
            yield engine
        finally:
            # A session that was there before may go on. One that has ended keeps no rows.
            with suppress(Exception):
                engine.release()

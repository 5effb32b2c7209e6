"""The work of ``canvass batch verify``: run the job, and keep the results.

`canvass.cli.batch` parses the command line and prints the results.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from canvass.cli.output import CommandError, json_text
from canvass.corpus.spark_session import EngineName, choose_engine
from canvass.traces.counts import counted

if TYPE_CHECKING:
    from canvass.cli.output import Stages
    from canvass.corpus.job import CorpusJob, ProcessEngine
    from canvass.corpus.plan import Unit
    from canvass.corpus.report import Identity, Summary
    from canvass.corpus.spark_engine import SparkEngine
    from canvass.corpus.storage import Place


@dataclass(frozen=True)
class Request:
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


def verify(request: Request) -> tuple[Summary, set[Identity] | None]:
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

    from canvass.cli.output import Stages
    from canvass.corpus.history import History, checker_version, make_stamp
    from canvass.corpus.job import REPORT_TABLES, make_results_folder
    from canvass.corpus.report import EarlierUnit, empty_summary, summarise
    from canvass.steps.answers import spec_digest

    due, earlier, known = list_corpora(request), list[EarlierUnit](), None
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


def list_corpora(request: Request) -> list[Unit]:
    """Refuse options that exclude each other, and a graph of another spec; list the units."""
    from canvass.cli.options import need_runs
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
    request: Request, units: Sequence[Unit], engine: ProcessEngine | SparkEngine, progress: Stages
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
    request: Request, units: Sequence[Unit], progress: Stages
) -> Iterator[ProcessEngine | SparkEngine]:
    """Start an engine, and stop it at the end."""
    chosen, reason = choose_engine(units, request.master, request.engine)
    progress.stage(reason or f"starting {chosen.value}")
    if chosen is EngineName.PROCESS:
        from canvass.corpus.job import ProcessEngine

        yield ProcessEngine()
        return
    from canvass.corpus.spark_session import one_line_failures, open_session

    with open_session(request.master) as session, one_line_failures():
        from canvass.corpus.spark_engine import SparkEngine

        engine = SparkEngine(session)
        yield engine
        engine.release()  # The session may have been there before, and may go on.

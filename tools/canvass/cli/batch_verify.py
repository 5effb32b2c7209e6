"""The work of ``canvass batch verify`` and ``watch``: run the job, and keep the results.

`canvass.cli.batch` parses the command line and prints the results.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from canvass.cli.output import CommandError, json_text
from canvass.corpus.engine import EngineName, choose_engine
from canvass.traces.counts import counted

if TYPE_CHECKING:
    from canvass.cli.output import Stages
    from canvass.corpus.engine import Engine
    from canvass.corpus.history import History
    from canvass.corpus.job import CorpusJob
    from canvass.corpus.plan import Unit
    from canvass.corpus.storage import Place
    from canvass.corpus.summary import EarlierUnit, Identity, Summary


@dataclass(frozen=True)
class Request:
    """The options of a verification."""

    corpora: tuple[Place, ...]
    engine: EngineName
    master: str | None
    partitions: int | None
    graph: Place | None
    cache: Place | None
    oracles: int

    @property
    def names(self) -> list[str]:
        """The names of the corpora."""
        return [str(corpus) for corpus in self.corpora]


@dataclass(frozen=True)
class Report:
    """A report for a person."""

    out: Place
    cache: Place | None
    examples: int
    """Number of classes of divergence with an example page."""
    known: set[Identity] | None
    """Kinds of divergences that a baseline has."""

    def write(self, summary: Summary) -> None:
        """Write the summary, the pages of examples, and the report page."""
        from canvass.conformance.verify import make_lookup
        from canvass.corpus.html import REPORT_FILE, render, write_examples
        from canvass.corpus.storage import UrlPath
        from canvass.corpus.summary import SUMMARY_FILE, new_clusters

        (self.out / SUMMARY_FILE).write_bytes(json_text(summary).encode())
        lookup = make_lookup([], None if isinstance(self.cache, UrlPath) else self.cache)
        pages = write_examples(summary.clusters, self.out, lookup, self.examples)
        new = None if self.known is None else new_clusters(summary, self.known)
        folder = self.out if isinstance(self.out, Path) else None
        page = render(summary, new, pages, folder)
        (self.out / REPORT_FILE).write_bytes(page.encode())


def verify(request: Request, report: Report) -> Summary:
    """Verify all units of the corpora; write the report."""
    from canvass.cli.output import Stages
    from canvass.corpus.job import make_results_folder

    units = list_corpora(request)
    make_results_folder(report.out)
    with Engines(request.master) as engines, Stages(each=True) as progress:
        progress.stage(f"{counted(len(units), 'unit')} listed")
        job, seconds = _run(request, units, engines, progress)
        return _written(request, job, seconds, report)


def _written(
    request: Request,
    job: CorpusJob,
    seconds: float,
    report: Report,
    earlier: Sequence[EarlierUnit] = (),
) -> Summary:
    """Write the tables of a report, and the report."""
    from canvass.corpus.job import REPORT_TABLES
    from canvass.corpus.summary import summarise

    tables = {name: report.out / name for name in REPORT_TABLES}
    job.write(tables)
    tasks, names = request.partitions, request.names
    summary = summarise(job, tables, corpora=names, tasks=tasks, seconds=seconds, earlier=earlier)
    report.write(summary)
    return summary


def verify_new(
    request: Request, tables: Place, report: Report | None, *, again: bool
) -> tuple[Summary, set[Identity]]:
    """Verify the units that are due, and add the results to tables.

    Parameters
    ----------
    request
        The options; only units that are due are verified.
    tables
        The folder of the tables, as a path or a URL.
    report
        A report to write as well.
    again
        Whether all units are due.

    Returns
    -------
    tuple
        The summary, and the classes of divergence that the tables had before.
    """
    from canvass.cli.output import Stages
    from canvass.corpus.history import History

    history = History(tables)
    units = list_corpora(request)
    with Engines(request.master) as engines, Stages(each=True) as progress:
        progress.stage(f"{counted(len(units), 'unit')} listed; comparing them with {tables}")
        known = history.divergences()
        summary, _ = verify_due(request, units, history, engines, progress, report, again=again)
    return summary, known


def verify_due(
    request: Request,
    units: list[Unit],
    history: History,
    engines: Engines,
    progress: Stages,
    report: Report | None = None,
    *,
    again: bool = False,
) -> tuple[Summary, str]:
    """Verify the units that are due, and add the results to opened tables.

    Returns
    -------
    tuple
        The summary, and the id of the verification; empty if no unit was due.
    """
    from datetime import UTC, datetime

    from canvass.conformance.step_lookup import spec_digest
    from canvass.corpus.history import checker_version, make_stamp
    from canvass.corpus.job import make_results_folder
    from canvass.corpus.summary import empty_summary, summarise

    digest, ours = spec_digest(), checker_version()
    inputs = history.inputs(units, digest, ours, again=again)
    due, earlier = inputs.due, inputs.earlier_units()
    progress.stage(inputs.causes())
    if report is not None:
        make_results_folder(report.out)
    if not due:
        summary = empty_summary(request.names, earlier)
        if report is not None:
            report.write(summary)
        return summary, ""
    job, seconds = _run(request, due, engines, progress)
    if report is not None:
        _written(request, job, seconds, report, earlier)
    stamp = make_stamp(due, ours, digest, datetime.now(UTC))
    progress.stage(f"adding the verification {stamp.verification_id}")
    tables = history.append(job, stamp)
    summary = summarise(
        job,
        tables,
        corpora=request.names,
        tasks=request.partitions,
        seconds=seconds,
        earlier=earlier,
    )
    return summary, stamp.verification_id


def check_request(request: Request) -> None:
    """Refuse options that exclude each other, and a graph of another spec."""
    from canvass.conformance.verify import make_lookup
    from canvass.corpus.storage import on_this_machine

    if request.engine is EngineName.PROCESS and request.master is not None:
        raise CommandError("--engine process and --master exclude each other")
    if request.graph is not None:
        with on_this_machine(request.graph) as graph:
            make_lookup([graph], None)  # Refuses it.


def list_corpora(request: Request) -> list[Unit]:
    """Check the options, and list the units."""
    from canvass.cli.options import need_runs
    from canvass.corpus.plan import list_units

    check_request(request)
    local = [place for place in request.corpora if isinstance(place, Path)]
    need_runs(local, "canvass batch verify", logs=True)
    return list_units(request.corpora)


def arrived(request: Request) -> list[Unit]:
    """List the units that are in the corpora so far: none in an empty folder."""
    from canvass.corpus.plan import list_units
    from canvass.traces.errors import Code, TraceError

    units = []
    for corpus in request.corpora:
        try:
            units += list_units([corpus])
        except TraceError as error:
            # A store has no empty folders.
            there = not isinstance(corpus, Path) or corpus.is_dir()
            if error.code is not Code.NOT_FOUND or not there:
                raise
    return units


def _run(
    request: Request, units: Sequence[Unit], engines: Engines, progress: Stages
) -> tuple[CorpusJob, float]:
    """Run a job; return it, and how many seconds it took."""
    from canvass.conformance.step_lookup import default_cache
    from canvass.corpus.job import CorpusJob

    def say(stage: str) -> None:
        progress.stage(stage)
        progress.detail(lambda _: engine.progress())

    chosen, reason = choose_engine(units, request.master, request.engine)
    progress.stage(reason or f"starting {chosen.value}")
    engine = engines.engine(chosen)
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


class Engines(ExitStack):
    """The engines of jobs: each is started at its first use, and stopped at the end.

    Parameters
    ----------
    master
        The Spark master, if the user named one.
    """

    def __init__(self, master: str | None) -> None:
        super().__init__()
        self._master = master
        self._started: dict[EngineName, Engine] = {}

    def engine(self, name: EngineName) -> Engine:
        """Return an engine."""
        if name not in self._started:
            self._started[name] = self.enter_context(_open_engine(name, self._master))
        return self._started[name]


@contextmanager
def _open_engine(chosen: EngineName, master: str | None) -> Iterator[Engine]:
    """Start an engine, and stop it at the end."""
    from canvass.corpus.engine import ProcessEngine, SparkEngine
    from canvass.corpus.spark_session import one_line_failures, open_session

    if chosen is EngineName.PROCESS:
        yield ProcessEngine()
        return
    with open_session(master) as session, one_line_failures():
        yield SparkEngine(session)

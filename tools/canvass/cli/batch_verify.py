"""The work of ``canvass batch verify`` and ``watch``: run the job, and keep the results.

`canvass.cli.batch` parses the command line and prints the results.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from canvass.cli.output import CommandError, json_text
from canvass.corpus.engine import EngineName, choose_engine
from canvass.traces.counts import counted
from canvass.version import VERSION

if TYPE_CHECKING:
    from canvass.cli.output import Stages
    from canvass.corpus.engine import Engine
    from canvass.corpus.history import History, Inputs
    from canvass.corpus.job import JobProgress
    from canvass.corpus.plan import Unit
    from canvass.corpus.storage import Place
    from canvass.corpus.summary import Identity, Summary


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
    work: Place | None = None
    """Folder of the files between stages. Default: in the folder of the results."""
    """A condition on the partitions of units."""


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


def verify(request: Request, out: Place) -> Summary:
    """Verify all units of the corpora; write the tables to a new folder."""
    from canvass.cli.output import Stages

    units = _list_units(request)
    with Engines(request.master) as engines, Stages(each=True) as progress:
        progress.stage(f"{counted(len(units), 'unit')} listed")
        return _verify_units(request, units, out, engines, progress)


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
    units = _list_units(request)
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
    from canvass.corpus.summary import empty_summary

    digest, ours = spec_digest(), checker_version()
    inputs = history.inputs(units, digest, ours, again=again)
    due = inputs.due
    progress.stage(_causes(inputs.causes()))
    if not due:
        corpora = [str(corpus) for corpus in request.corpora]
        summary = _with_earlier(empty_summary(VERSION, corpora), inputs)
        if report is not None:
            make_results_folder(report.out)
            report.write(summary)
        return summary, ""
    stamp = make_stamp(due, ours, digest, datetime.now(UTC))
    with history.report_folder() if report is None else nullcontext(report.out) as out:
        summary = _verify_units(request, [each.unit for each in due], out, engines, progress)
        summary = _with_earlier(summary, inputs)
        if report is not None:
            report.write(summary)
        progress.stage(f"adding verification {stamp.verification_id}")
        history.append(out, due, stamp)
    return summary, stamp.verification_id


def _with_earlier(summary: Summary, inputs: Inputs) -> Summary:
    """Add the verdicts on the units that are not due."""
    import msgspec

    from canvass.corpus.summary import MAX_LISTED

    units = inputs.earlier_units()
    return msgspec.structs.replace(
        summary,
        earlier=inputs.earlier(),
        earlier_listed=units[:MAX_LISTED],
        earlier_listed_count=len(units),
    )


_CAUSES = {
    "new": "new",
    "changed": "changed",
    "spec": "verified under another spec",
    "canvass": "verified by another canvass",
    "again": "to be verified again",
    "": "unchanged",
}


def _causes(counts: dict[str, int]) -> str:
    parts = [f"{counts[name]:,} {words}" for name, words in _CAUSES.items() if counts.get(name)]
    return "units: " + ", ".join(parts)


def check_request(request: Request) -> None:
    """Refuse options that exclude each other, and a graph of another spec."""
    from canvass.conformance.verify import make_lookup
    from canvass.corpus.storage import local_folder

    if request.engine is EngineName.PROCESS and request.master is not None:
        raise CommandError("--engine process and --master exclude each other")
    if request.graph is not None:
        make_lookup([local_folder(request.graph)], None)  # Refuses it.


def _list_units(request: Request) -> list[Unit]:
    from canvass.cli.options import need_runs
    from canvass.corpus.plan import list_units

    check_request(request)
    local = [place for place in request.corpora if isinstance(place, Path)]
    need_runs(local, "canvass batch verify", logs=True)
    return list_units(request.corpora)


def progress_text(far: JobProgress, seconds: float) -> str:
    """Return the progress of a verification in words: tasks, events, rate, divergences."""
    if not far.events and not far.importing:
        return f"{counted(far.tasks, 'task')} at work, no event checked yet"
    parts = [f"{far.done:,} of {counted(far.tasks, 'task')}", counted(far.events, "event")]
    parts.append(f"{far.events / max(seconds, 0.001):,.0f} events/s")
    parts.append(f"{counted(far.diverging, 'run diverges', 'runs diverge')} so far")
    parts += [far.importing] if far.importing else []
    return ", ".join(parts)


def _verify_units(
    request: Request, units: list[Unit], out: Place, engines: Engines, progress: Stages
) -> Summary:
    from canvass.corpus.job import CorpusJob
    from canvass.corpus.summary import summarise
    from canvass.corpus.task_checker import TaskChecker

    def say(stage: str) -> None:
        progress.stage(stage)
        progress.detail(lambda seconds: engine.obstacle() or progress_text(job.progress(), seconds))

    chosen, reason = choose_engine(units, request.master, request.engine)
    progress.stage(reason or f"starting {chosen.value}")
    engine = engines.engine(chosen)
    job = CorpusJob(
        engine,
        TaskChecker.of(graph=request.graph, cache=request.cache),
        out,
        work=request.work,
        partitions=request.partitions,
        oracles=request.oracles,
        say=say,
    )
    started = time.monotonic()
    job.run(units)
    summary = summarise(
        job,
        version=VERSION,
        corpora=[str(corpus) for corpus in request.corpora],
        tasks=request.partitions,
        seconds=time.monotonic() - started,
    )
    job.clean()
    return summary


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

"""``canvass verify``: check runs against the spec.

This module has the command line, the progress and the output; `canvass.conformance` checks. Event
logs are runs, too: they are imported for one command, whose output names the logs.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from canvass.cli.options import Cache, Graphs, Page, PathKind, kind_of, need_runs
from canvass.cli.output import EXIT_ERROR, Stages, complain, emit, typed, write_file, write_text

if TYPE_CHECKING:
    from canvass.conformance.diagnose import RefusedStep
    from canvass.conformance.findings import CorpusVerdict, RunVerdict
    from canvass.conformance.verify import Unit
    from canvass.explanation.explanation import Explanation
    from canvass.explanation.risks import RiskReport
    from canvass.steps.answers import StepLookup


_MAX_EXPLAINED: Final = 200_000
"""The most events of a run whose page shows its leaders and elections."""
MAX_REPORTS: Final = 10
"""The most divergences that one command explains; it gives the verdicts of all runs."""


class Engine(str, Enum):
    """The engine that decides whether a run is a behaviour of the spec."""

    STEPS = "steps"
    """Each distinct step by state graphs and TLC's kept answers, then causality and monitors."""
    TLC = "tlc"
    """TLC alone, which searches for the behaviour: independent of the first, and slow."""


class VerifyFormat(str, Enum):
    """The format of verdicts on stdout."""

    HUMAN = "human"
    JSON = "json"
    JUNIT = "junit"


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("verify")(verify)


def verify(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|CORPUS|LOGS",
            help="Run folders, folders of runs, Parquet data sets, event logs and folders of them.",
        ),
    ],
    graph: Graphs = None,
    cache: Cache = None,
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache",
            help="Use neither the cache nor the steps that ship with canvass: ask TLC.",
        ),
    ] = False,
    engine: Annotated[
        Engine,
        typer.Option(help="Check each step, or let TLC search for each whole run (slow)."),
    ] = Engine.STEPS,
    output: Annotated[
        VerifyFormat,
        typer.Option("--format", metavar="FORMAT", help="human, json or junit."),
    ] = VerifyFormat.HUMAN,
    html: Page = None,
) -> None:
    """Check that runs are behaviours of the spec.

    Exit code 0: all runs conform. 1: a run diverges. 2: a run is malformed and none diverges,
    nothing was checked, or TLC could not run. 3: steps are missing, and the others conform.
    130: interrupted.
    """
    runs = [path for path in paths if kind_of(path) is not PathKind.LOG_FILE]
    need_runs(runs, "canvass verify", logs=True)
    from canvass.conformance.report import to_junit, to_report
    from canvass.conformance.verify import make_lookup

    of_steps = {"--graph": graph, "--cache": cache, "--no-cache": no_cache}
    for name, is_given in of_steps.items():
        if engine is Engine.TLC and is_given:
            raise typer.BadParameter(f"{name} is for --engine steps")
    if html is not None and not html.absolute().parent.is_dir():
        raise typer.BadParameter(f"{html}: there is no such folder", param_hint="--html")
    lookup = make_lookup(graph or [], cache, keep=not no_cache)
    found = _as_read(_checked(list(import_units(paths)), lookup, engine))
    if not found.runs:
        complain("nothing was checked: no log has a line of a cluster's member")
    if html is not None:
        write_file(html, _page(found, lookup, html.parent))
    if output is VerifyFormat.JUNIT:
        write_text(to_junit(found))
    else:
        refused = _refused(found.runs, lookup)
        values = _values(found, refused) if output is VerifyFormat.HUMAN else {}
        record = to_report(_as_given(found), refused)
        emit(output, record, "verify", **values)
    raise typer.Exit(found.exit_code)


def _checked(units: list[Unit], lookup: StepLookup, engine: Engine) -> CorpusVerdict:
    """Check units with an engine, and show the progress."""
    from canvass.conformance.verify import check_units

    with Stages() as stages:
        stages.stage("checking")

        def read(done: int, total: int, events: int) -> None:
            stages.detail(f"{done:,} of {total:,} runs and files, {events:,} events")

        def ask(steps: int) -> None:
            stages.detail(f"asking TLC about {steps:,} steps, each of which is asked about once")

        read(0, len(units), 0)
        if engine is Engine.TLC:
            from canvass.conformance.tlc_engine import check_with_tlc

            return check_with_tlc(units, read)
        return check_units(units, lookup, read, ask, timed=True)


def _page(found: CorpusVerdict, lookup: StepLookup, folder: Path) -> str:
    """Draw the page of the divergences; its links are relative to its folder."""
    from canvass.conformance.report import make_cases, to_html
    from canvass.explanation.explanation import sections

    cases = make_cases(found.runs, lookup, MAX_REPORTS)
    named = [replace(case, run=_run_given(case.run)) for case in cases]
    alone = len(found.runs) == 1 and found.exit_code != EXIT_ERROR
    who_led = _explanation(found.runs[0]) if alone else None
    return to_html(_as_given(found), named, [] if who_led is None else [sections(who_led)], folder)


def _explanation(run: RunVerdict) -> Explanation | None:
    """Explain leaders and elections of a run of bounded size, from its logs if these were given."""
    from canvass.explanation.explanation import explain
    from canvass.explanation.reading import read, read_each
    from canvass.traces.run import RUN_FILE

    folder, given = Path(run.path), Path(_run_given(run).path)
    if not 0 < run.events <= _MAX_EXPLAINED or not (folder / RUN_FILE).is_file():
        return None
    clusters = [] if given == folder else list(read_each(given).values())
    return explain(clusters[0] if len(clusters) == 1 else read(folder))


def _hazards(run: RunVerdict) -> list[RiskReport]:
    """Give the hazards that the steps of a diverging run show, the graver ones first.

    None are given unless the first divergence of the run is a violated safety property.
    """
    from canvass.conformance.findings import DivergenceClass
    from canvass.explanation.risks import shown_hazards

    if run.divergences[0].kind is not DivergenceClass.SAFETY_PROPERTY:
        return []
    found = _explanation(run)
    return [] if found is None else shown_hazards(found.risks)[:MAX_REPORTS]


def _refused(runs: Sequence[RunVerdict], lookup: StepLookup) -> list[RefusedStep]:
    """Explain the first divergence of each run, up to `MAX_REPORTS`."""
    wrong = [run for run in runs if run.divergences][:MAX_REPORTS]
    if not wrong:
        return []
    from canvass.conformance.diagnose import explain_refusal, load

    return [
        explain_refusal(load(Path(run.path), run.run_id), run.divergences[0], lookup)
        for run in wrong
    ]


def _values(found: CorpusVerdict, refused: Sequence[RefusedStep]) -> dict[str, object]:
    """Give the values that the template uses besides the verdicts."""
    from canvass.conformance import report

    runs = found.runs
    wrong = [run for run in runs if run.divergences]
    return {
        "runs": runs,
        "notes": report.notes(found),
        "names": report.run_names([_run_given(run) for run in runs]),
        "given": _run_given,
        "command": typed(),
        "wrong": list(zip(wrong, map(report.divergence_lines, refused), strict=False)),
        "hidden": len(wrong) - len(refused),
        "most": MAX_REPORTS,
        "hazards": _hazards,
        "report": report,
    }


_LOGS: Final = {PathKind.LOGS, PathKind.LOG_FILE, PathKind.LOG_FOLDERS, PathKind.FOLDER}


_imported: Final[dict[str, str]] = {}
"""The logs of each imported run."""
_unread: Final[dict[str, str]] = {}
"""The id that a run of logs would have, by the file of the logs that cannot be read."""


def _as_read(found: CorpusVerdict) -> CorpusVerdict:
    """Name the logs that cannot be read as their runs would be named."""
    named = (
        msgspec.structs.replace(run, run_id=_unread.get(run.path, run.run_id)) for run in found.runs
    )
    return msgspec.structs.replace(found, runs=tuple(named))


def _as_given(found: CorpusVerdict) -> CorpusVerdict:
    """Replace the paths of imported runs, which end with the process, by those of their logs."""
    return msgspec.structs.replace(found, runs=tuple(map(_run_given, found.runs)))


def _run_given(run: RunVerdict) -> RunVerdict:
    """Name the logs that a run was imported from, if it was."""
    return msgspec.structs.replace(run, path=_imported.get(run.path, run.path))


def import_units(paths: Iterable[Path]) -> Iterator[Unit]:
    """Give the units of paths; event logs are imported first.

    The imported runs are deleted when the process ends. A file without any line of a cluster's
    member is left out. For logs that cannot be imported, an error takes the place of the unit.
    """
    from canvass.conformance.verify import units_of

    below: dict[Path, list[tuple[str, Path]]] = {path: [] for path in paths}
    for path, found in below.items():
        if kind_of(path) in _LOGS and not any(path.glob("*/run.json")):
            from canvass.traces.aeron_log.logs import logs_below

            found += logs_below(path)
    yield from units_of(path for path, found in below.items() if not found)
    taken = set[str]()
    for found in filter(None, below.values()):
        from canvass.traces.aeron_log.source import AeronLogError, LogCode
        from canvass.traces.alignment.alignment import ImportFault, NoMember
        from canvass.traces.alignment.importer import import_clusters, run_id_of
        from canvass.traces.errors import Code, TraceError

        scratch = Path(tempfile.mkdtemp(prefix="canvass-logs-"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        for name, log in found:
            name = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).lstrip("-_.")[:100] or "log"
            while name in taken:
                name += "-"
            taken.add(name)
            try:
                for run in import_clusters([log], scratch / name):
                    _imported[str(run)] = str(log)
                    yield run
            except NoMember:
                continue
            except ImportFault as fault:
                _unread[str(log)] = run_id_of(name)
                yield TraceError(Code.BAD_VALUE, str(log), 0, 0, str(fault))
            except AeronLogError as error:
                if error.code not in (LogCode.NOT_A_LOG, LogCode.NO_LOG):
                    _unread[error.file] = run_id_of(name)
                    place = (error.file, error.line, error.column)
                    yield TraceError(Code.BAD_VALUE, *place, error.reason)

"""``canvass verify``: check runs against the spec.

This module has the command line, the progress and the output; `canvass.conformance` checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.options import (
    Cache,
    Graphs,
    Page,
    PathKind,
    kind_of,
    need_runs,
)
from canvass.cli.output import (
    EXIT_ERROR,
    emit,
    result_console,
    write_file,
    write_text,
)

if TYPE_CHECKING:
    from canvass.conformance.refused_step import RefusedStep
    from canvass.conformance.step_lookup import StepLookup
    from canvass.conformance.verdict import CorpusVerdict, Counts, RunVerdict
    from canvass.conformance.verify import Unit


@dataclass
class VerifyProgress:
    """The progress of a verification.

    Attributes
    ----------
    done, total
        Runs and files of data sets that were read, and all of them.
    events
        Events so far.
    asked
        Steps that TLC is being asked about; 0 if it is not asked.
    """

    done: int = 0
    total: int = 0
    events: int = 0
    asked: int = 0

    def read(self, done: int, total: int, events: int) -> None:
        """Note the progress of reading."""
        self.done, self.total, self.events, self.asked = done, total, events, 0

    def ask(self, steps: int) -> None:
        """Note that TLC is asked about steps."""
        self.asked = steps

    def words(self, seconds: float) -> str:
        """Give the progress as text."""
        if self.asked:
            return f"asking TLC about {self.asked:,} steps, each of which is asked about once"
        parts = [f"{self.done:,} of {self.total:,} runs and files", f"{self.events:,} events"]
        if 0 < self.done < self.total:
            left_s = seconds * (self.total - self.done) / self.done
            parts.append(f"about {_duration(left_s)} left")
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


_MAX_EXPLAINED: Final = 200_000
"""The most events of a run whose page shows its leaders and elections."""
_STYLES: Final = {"": "", "title": "bold", "bad": "bold red", "dim": "dim"}
"""Styles of the lines of a divergence."""
MAX_REPORTS: Final = 10
"""The most divergences that one command explains; it gives the verdicts of all runs."""
_STYLE: Final = {
    "CONFORMS": "green",
    "INCOMPLETE": "yellow",
    "DIVERGES": "bold red",
    "MALFORMED": "bold red",
}


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
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Number of processes.")] = 1,
    engine: Annotated[
        Engine,
        typer.Option(help="Check each step, or let TLC search for each whole run (slow)."),
    ] = Engine.STEPS,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="With --engine tlc: time limit for each run."),
    ] = None,
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
    from canvass.cli.log_units import import_units
    from canvass.conformance.junit import to_junit
    from canvass.conformance.report import to_report
    from canvass.conformance.verify import make_lookup

    of_steps = {"--graph": graph, "--jobs": jobs > 1, "--cache": cache, "--no-cache": no_cache}
    for name, is_given in of_steps.items():
        if engine is Engine.TLC and is_given:
            raise typer.BadParameter(f"{name} is for --engine steps")
    if engine is Engine.STEPS and timeout is not None:
        raise typer.BadParameter("--timeout is for --engine tlc")
    if html is not None and not html.absolute().parent.is_dir():
        raise typer.BadParameter(f"{html}: there is no such folder", param_hint="--html")
    lookup = make_lookup(graph or [], cache, keep=not no_cache)
    found = _checked(list(import_units(paths)), lookup, engine, timeout, jobs)
    if html is not None:
        write_file(html, _page(found, lookup, html.parent))
    if output is VerifyFormat.JUNIT:
        write_text(to_junit(found))
    else:
        explained = _explained(found.runs, lookup)
        report = to_report(found, explained)
        emit(output, report, lambda: _show(found.runs, found.counts, explained))
    raise typer.Exit(found.exit_code)


def _checked(
    units: list[Unit], lookup: StepLookup, engine: Engine, timeout: float | None, jobs: int
) -> CorpusVerdict:
    """Check units with an engine, and show the progress."""
    from canvass.cli.output import Stages
    from canvass.conformance.verify import check_units

    far = VerifyProgress(total=len(units))
    with Stages() as stages:
        stages.stage("checking")
        stages.detail(far.words)
        if engine is Engine.TLC:
            from canvass.conformance.tlc_engine import check_with_tlc

            return check_with_tlc(units, timeout, far.read)
        return check_units(units, lookup, far.read, far.ask, timed=True, jobs=jobs)


def _page(found: CorpusVerdict, lookup: StepLookup, folder: Path) -> str:
    """Draw the page of the divergences; its links are relative to its folder."""
    from canvass.conformance.html import to_html
    from canvass.conformance.report import make_cases

    cases = make_cases(found.runs, lookup, MAX_REPORTS)
    return to_html(found, cases, _who_led(found), folder)


def _who_led(found: CorpusVerdict) -> list[str]:
    """Give the sections on leaders and elections, if one run of bounded size was checked."""
    from canvass.explanation.explanation import explain, sections
    from canvass.explanation.reading import read
    from canvass.traces.run import RUN_FILE

    if len(found.runs) != 1 or not 0 < found.runs[0].events <= _MAX_EXPLAINED:
        return []
    folder = Path(found.runs[0].path)
    if not (folder / RUN_FILE).is_file() or found.exit_code == EXIT_ERROR:
        return []
    return [sections(explain(read(folder)))]


def _show_hazards(run: RunVerdict) -> None:
    """Print the hazards that the steps of a diverging run show, the graver ones first."""
    from rich.text import Text

    from canvass.conformance.verdict import DivergenceClass
    from canvass.explanation.explanation import explain
    from canvass.explanation.reading import read
    from canvass.explanation.risks import shown_hazards
    from canvass.lanes.model import visible
    from canvass.traces.run import RUN_FILE

    folder, kind = Path(run.path), run.divergences[0].kind
    is_short = run.events <= _MAX_EXPLAINED and (folder / RUN_FILE).is_file()
    if kind is not DivergenceClass.SAFETY_PROPERTY or not is_short:
        return
    for risk in shown_hazards(explain(read(folder)).risks)[:MAX_REPORTS]:
        said = visible(f"{risk.title}: {risk.sentences[0]}")
        result_console().print(Text(f"\n  What the lines show: {said}"))


def _explained(runs: Sequence[RunVerdict], lookup: StepLookup) -> list[RefusedStep]:
    """Explain the first divergence of each run, up to `MAX_REPORTS`."""
    wrong = [run for run in runs if run.divergences][:MAX_REPORTS]
    if not wrong:
        return []
    from canvass.conformance.diagnose import load
    from canvass.conformance.refused_step import explain_refusal

    return [
        explain_refusal(load(Path(run.path), run.run_id), run.divergences[0], lookup)
        for run in wrong
    ]


def _show(runs: Sequence[RunVerdict], counts: Counts, explained: Sequence[RefusedStep]) -> None:
    from rich.text import Text

    from canvass.conformance.report import (
        about,
        divergence_lines,
        limits,
        log_lines_of,
        meaning,
        place_of,
        revision_lines,
        run_names,
        shared_id_remark,
        show_command,
        summary,
        timing_lines,
    )
    from canvass.conformance.verdict import shared_ids
    from canvass.lanes.model import visible

    console = result_console()
    names = run_names(runs)
    width = max(map(len, names), default=0)
    for run, run_name in zip(runs, names, strict=True):
        name = run.verdict.value
        line = f"{run_name:<{width}}  {run.events:>9,} events  {about(run)}"
        console.print(Text(f"{name:<10}  ", _STYLE[name]), Text(line.rstrip()), sep="")
    wrong = [run for run in runs if run.divergences]
    for run, explanation in zip(wrong, explained, strict=False):
        console.print()
        for line, style in divergence_lines(explanation):
            console.print(Text(line, _STYLES[style]))
        first = run.divergences[0]
        console.print(Text(f"\n  the step in the trace: {visible(str(place_of(run, first)))}"))
        if (log := log_lines_of(run, first.member, first.step)) is not None:
            console.print(Text(f"  {log.what}: {visible(str(log.first))}"))
        _show_hazards(run)
        console.print(Text(f"\n  See it again: {show_command(run.path, first)}"))
    hidden = len(wrong) - len(explained)
    if hidden > 0:
        console.print(Text(f"\n{hidden} more runs diverge; verify one alone for its report."))
    for run, run_name in zip(runs, names, strict=True):
        for warning in run.timing[:MAX_REPORTS]:
            said, compared = timing_lines(warning)
            console.print()
            console.print(Text("timing ", "yellow"), Text(f"{run_name}, {said}"), sep="")
            console.print(Text(f"       {compared}"))
        if len(run.timing) > MAX_REPORTS:
            console.print(Text(f"\n{len(run.timing) - MAX_REPORTS} more in --format json"))
    console.print()
    for shared in shared_ids(runs)[:MAX_REPORTS]:
        console.print(Text(shared_id_remark(shared.run_id, len(shared.paths), shared.paths)))
    for said in (*revision_lines(runs), meaning(runs), *limits(runs)):
        if said:
            console.print(Text(said))
    console.print(Text(summary(counts)))

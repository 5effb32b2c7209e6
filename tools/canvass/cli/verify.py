"""``canvass verify``: check runs against the spec.

The command line and what becomes of the verdicts are here; the checking is in
`canvass.conformance`, a divergence for a person in `divergence`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.output import progress_console, result_console, write_json

if TYPE_CHECKING:
    from canvass.conformance.check import Progress
    from canvass.conformance.explain import Explanation
    from canvass.conformance.judge import Judge
    from canvass.conformance.verdict import Counts, RunVerdict

MAX_REPORTS: Final = 10
"""Divergence reports of one invocation; the verdicts of all runs are given in any case."""
_STYLE: Final = {
    "CONFORMS": "green",
    "INCOMPLETE": "yellow",
    "DIVERGES": "bold red",
    "MALFORMED": "bold red",
}


class VerifyFormat(str, Enum):
    """How verdicts are written to stdout."""

    HUMAN = "human"
    JSON = "json"
    JUNIT = "junit"


def register(app: typer.Typer) -> None:
    """Add the sub-command."""

    @app.command("verify")
    def verify(
        paths: Annotated[
            list[Path],
            typer.Argument(
                metavar="RUN|CORPUS...", help="Run folders, folders of runs, Parquet data sets."
            ),
        ],
        graph: Annotated[
            list[Path] | None,
            typer.Option("--graph", metavar="ARTIFACT", help="State graphs that know many steps."),
        ] = None,
        cache: Annotated[
            Path | None,
            typer.Option(metavar="FOLDER", help="Where TLC's answers are kept; else the user's."),
        ] = None,
        no_cache: Annotated[
            bool, typer.Option("--no-cache", help="Keep no answers, and use none.")
        ] = False,
        jobs: Annotated[
            int, typer.Option("--jobs", "-j", min=1, help="Processes that read and check.")
        ] = 1,
        output: Annotated[
            VerifyFormat, typer.Option("--format", help="For a person, a machine or a CI server.")
        ] = VerifyFormat.HUMAN,
    ) -> None:
        """Check that runs are behaviours of the spec.

        Exit code 0: all conform. 1: one diverges. 3: steps are missing, and what is there conforms.
        2: one is no trace, or nothing was checked, or TLC could not run. 130: interrupted.
        """
        from canvass.cli.judging import make_judge
        from canvass.conformance.check import check_units, units_of
        from canvass.conformance.parallel import check_in_processes

        judge = make_judge(graph or [], cache, keep=not no_cache)
        units = list(units_of(paths))
        with _progress() as told:
            if jobs > 1 and len(units) > 1:
                found = check_in_processes(units, judge, jobs, told)
            else:
                found = check_units(units, judge, told)
        explained = _explained(found.runs, judge)
        if output is VerifyFormat.JSON:
            from canvass.conformance.report import to_report

            write_json(to_report(found, explained))
        elif output is VerifyFormat.JUNIT:
            from canvass.conformance.junit import to_junit

            print(to_junit(found))
        else:
            _show(found.runs, found.counts, explained)
        raise typer.Exit(found.exit_code)


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """Show progress on stderr if that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    console = progress_console()
    if not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("checking"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[events]:,} events"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, events=0)

        def told(done: int, total: int, events: int) -> None:
            bar.update(task, completed=done, total=total, events=events)

        yield told


def _explained(runs: Sequence[RunVerdict], judge: Judge) -> list[Explanation]:
    """Explain the first divergence of each run, up to `MAX_REPORTS`."""
    from canvass.conformance.diagnose import load
    from canvass.conformance.explain import explain

    wrong = [run for run in runs if run.divergences][:MAX_REPORTS]
    return [explain(load(Path(run.path), run.run_id), run.divergences[0], judge) for run in wrong]


def _show(runs: Sequence[RunVerdict], counts: Counts, explained: Sequence[Explanation]) -> None:
    from rich.text import Text

    from canvass.cli.divergence import show_divergence

    console = result_console()
    width = max((len(run.run_id) for run in runs), default=0)
    for run in runs:
        name = run.verdict.value
        line = f"{run.run_id:<{width}}  {run.events:>9,} events  {_about(run)}"
        console.print(Text(f"{name:<10}  ", _STYLE[name]), Text(line.rstrip()), sep="")
    for explanation in explained:
        console.print()
        show_divergence(console, explanation)
    hidden = sum(1 for run in runs if run.divergences) - len(explained)
    if hidden > 0:
        console.print(Text(f"\n{hidden} more runs diverge; verify one alone for its report."))
    console.print()
    console.print(Text(summary(counts)))


def _about(run: RunVerdict) -> str:
    if run.divergences:
        first = run.divergences[0]
        more = f" (+{len(run.divergences) - 1})" if len(run.divergences) > 1 else ""
        return f"{first.name} at member {first.member}, step {first.step}{more}"
    if run.reason:
        return run.reason
    parts = [f"{fact.kind.value} of member {fact.member_id}" for fact in run.facts[:3]]
    if run.unchecked:
        parts.append(f"{run.unchecked} steps from an unknown state")
    return ", ".join(parts)


def summary(counts: Counts) -> str:
    """Say in a few words how much was checked, and how."""
    rate = counts.events / counts.seconds if counts.seconds else 0.0
    return (
        f"{counts.runs:,} runs, {counts.events:,} events in {counts.seconds:.1f} s"
        f" ({rate:,.0f} events/s); {counts.distinct_steps:,} distinct steps:"
        f" {counts.found_in_graph:,} in the graph, {counts.found_in_cache:,} in the cache,"
        f" {counts.asked_of_oracle:,} asked of TLC"
    )

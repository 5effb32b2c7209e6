"""``canvass selftest``: mutants and corrupted runs that the checker must find.

This module parses the command line and prints the report; `canvass.selftest` does the rest.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.options import Output
from canvass.cli.output import EXIT_OK, EXIT_UNEXPECTED, Format, Stages, emit, result_console

if TYPE_CHECKING:
    from rich.console import Console

    from canvass.selftest.runs import SelftestReport

RUNS: Final = 1_008
"""A multiple of the number of corruptions: each gets the same number of runs."""
QUICK_RUNS: Final = 96
_PIPED_WIDTH: Final = 200
"""Width of the tables without a terminal: wide enough to fold no cell."""


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("selftest")(selftest)


def selftest(
    quick: Annotated[
        bool, typer.Option("--quick", help="Check fewer runs, and the core on small graphs only.")
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(min=16, help="Number of good runs and of corrupted runs. Default: 1,008."),
    ] = None,
    output: Output = Format.HUMAN,
) -> None:
    """Check the checker: it must find mutants of the core, and corrupted runs.

    Each mutant of the core must differ from an edge of a state graph. Good runs must conform,
    and corrupted runs must be rejected for the right reason. The first self-test builds the
    state graphs, which takes some minutes.

    Exit code 0: everything was found. 1: a mutant survives, or a verdict is wrong. 2: TLC could
    not run. 130: interrupted.
    """
    count = runs or (QUICK_RUNS if quick else RUNS)
    with Stages(each=True) as stages:
        report = _test(count, stages, whole=not quick)
    emit(output, report, lambda: _show(result_console(), report))
    raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)


def _test(count: int, stages: Stages, *, whole: bool) -> SelftestReport:
    from canvass.conformance.step_lookup import default_cache
    from canvass.selftest.kill_matrix import Graphs, control, kill_mutants
    from canvass.selftest.runs import check_runs, make_report

    began_s = time.monotonic()
    folder = default_cache() / "graphs"
    folder.mkdir(parents=True, exist_ok=True)
    graphs = Graphs(folder, stages.stage)
    mutants = kill_mutants(graphs, progress=lambda name: stages.detail(f"mutant {name}"))
    stages.stage("the core itself on the graphs")
    controls = control(graphs, whole=whole)
    with tempfile.TemporaryDirectory(prefix="canvass-selftest-") as root:
        found = check_runs(
            Path(root),
            good=count,
            corrupted=count,
            graphs=graphs.folders,
            progress=stages.stage,
        )
    return make_report(controls, mutants, found, time.monotonic() - began_s)


def _show(console: Console, report: SelftestReport) -> None:
    from rich.text import Text

    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    _show_mutants(console, report)
    console.print()
    _show_corruptions(console, report)
    for wrong in report.wrong[:20]:
        line = f"WRONG  {wrong.run_id}: {wrong.verdict}, expected {wrong.expected}"
        console.print(Text(line, "bold red"))
    console.print()
    tried = sum(graph.tried for graph in report.graphs)
    edges = sum(graph.edges for graph in report.graphs)
    mismatches = sum(graph.mismatches for graph in report.graphs)
    killed = len(report.mutants) - report.mutants_alive
    rejected, not_rejected = report.corrupted_runs, report.corrupted_runs_wrong
    asked, disputed = report.asked_of_oracle, report.oracle_disagreements
    lines = (
        f"core       {edges:,} edges, {tried:,} inputs, {mismatches} mismatches",
        f"mutants    {killed} of {len(report.mutants)} killed",
        f"good       {report.good_runs:,} runs conform, {report.good_runs_rejected} do not",
        f"corrupted  {rejected:,} runs rejected for the right reason, {not_rejected} not",
        f"oracle     {asked:,} steps checked by TLC, which disagrees on {disputed}",
    )
    for line in lines:
        console.print(Text(line))
    verdict = "everything was found" if report.ok else "NOT everything was found"
    console.print(Text(f"{verdict} ({report.seconds:.0f} s)", "green" if report.ok else "bold red"))


def _show_mutants(console: Console, report: SelftestReport) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("mutant of the core", "killed by", "at", "what differs"):
        table.add_column(title, overflow="fold")
    for mutant in report.mutants:
        if mutant.killed:
            cells = (mutant.name, mutant.action, mutant.operator, mutant.difference)
            table.add_row(*cells)
        else:
            table.add_row(mutant.name, "ALIVE", "", f"{mutant.tried:,} inputs", style="bold red")
    console.print(table)


def _show_corruptions(console: Console, report: SelftestReport) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("corrupted runs", overflow="fold")
    for title in ("rejected", "wrong", "legal"):
        table.add_column(title, justify="right")
    for kind in report.corruptions:
        style = "bold red" if kind.wrong or not kind.rejected else ""
        cells = (kind.description, f"{kind.rejected:,}", f"{kind.wrong:,}", f"{kind.legal:,}")
        table.add_row(*cells, style=style)
    console.print(table)

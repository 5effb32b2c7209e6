"""``canvass selftest``: corrupted runs that the checker must reject.

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
_PIPED_WIDTH: Final = 200
"""Width of the tables without a terminal: wide enough to fold no cell."""


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("selftest")(selftest)


def selftest(
    runs: Annotated[
        int, typer.Option(min=16, help="Number of good runs and of corrupted runs.")
    ] = RUNS,
    output: Output = Format.HUMAN,
) -> None:
    """Check the checker: it must reject corrupted runs for the right reason.

    Runs of a simulated cluster must conform, and runs that are corrupted in sixteen ways must be
    rejected for the right reason. TLC confirms each step of these verdicts.

    Exit code 0: everything was found. 1: a verdict is wrong. 2: TLC could not run.
    130: interrupted.
    """
    from canvass.selftest.runs import check_runs, make_report

    began_s = time.monotonic()
    with (
        Stages(each=True) as stages,
        tempfile.TemporaryDirectory(prefix="canvass-selftest-") as root,
    ):
        found = check_runs(Path(root), good=runs, corrupted=runs, progress=stages.stage)
    report = make_report(found, time.monotonic() - began_s)
    emit(output, report, lambda: _show(result_console(), report))
    raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)


def _show(console: Console, report: SelftestReport) -> None:
    from rich.text import Text

    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    _show_corruptions(console, report)
    for wrong in report.wrong[:20]:
        line = f"WRONG  {wrong.run_id}: {wrong.verdict}, expected {wrong.expected}"
        console.print(Text(line, "bold red"))
    console.print()
    rejected, not_rejected = report.corrupted_runs, report.corrupted_runs_wrong
    asked, disputed = report.asked_of_oracle, report.oracle_disagreements
    lines = (
        f"good       {report.good_runs:,} runs conform, {report.good_runs_rejected} do not",
        f"corrupted  {rejected:,} runs rejected for the right reason, {not_rejected} not",
        f"oracle     {asked:,} steps checked by TLC, which disagrees on {disputed}",
    )
    for line in lines:
        console.print(Text(line))
    verdict = "everything was found" if report.ok else "NOT everything was found"
    console.print(Text(f"{verdict} ({report.seconds:.0f} s)", "green" if report.ok else "bold red"))


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

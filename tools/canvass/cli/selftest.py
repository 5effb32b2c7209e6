"""``canvass selftest``: corrupted runs that the checker must reject.

This module parses the command line and prints the report; `canvass.selftest` does the rest.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from canvass.cli.options import Output
from canvass.cli.output import EXIT_OK, EXIT_UNEXPECTED, Format, Stages, emit

RUNS: Final = 1_008
"""A multiple of the number of corruptions: each gets the same number of runs."""


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
    emit(output, report, "selftest")
    raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)

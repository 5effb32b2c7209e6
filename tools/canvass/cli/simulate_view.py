"""What ``canvass simulate`` shows: how far it is, and the result for a person."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from canvass.cli.output import progress_console, result_console

if TYPE_CHECKING:
    from canvass.cli.simulate_runs import SimulationReport

_PLAIN_PERIOD_S: Final = 10.0
"""Between two lines of progress where lines cannot be changed."""


@contextmanager
def progress(total: int) -> Iterator[Callable[[int, str], None]]:
    """Show on stderr how far it is: a bar on a terminal, now and then a line elsewhere."""
    console = progress_console()
    with ExitStack() as stack:
        if console.is_terminal:
            from rich.progress import Progress

            bar = stack.enter_context(Progress(console=console, transient=True))
            task = bar.add_task("seeds", total=total)
            yield lambda done, summary: bar.update(task, completed=done, description=summary)
            return
        last_s = time.monotonic()

        def say(done: int, summary: str) -> None:
            nonlocal last_s
            if time.monotonic() - last_s >= _PLAIN_PERIOD_S:
                last_s = time.monotonic()
                line = f"canvass: {done:,} of {total:,} seeds: {summary}"
                console.print(line, markup=False, soft_wrap=True)

        yield say


def show(report: SimulationReport, out: Path | None) -> None:
    """Write the result for a person."""
    console = result_console()

    def say(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    say(
        f"{report.seeds:,} seeds of {report.members} members, {report.revision}: "
        f"{report.steps:,} steps ({report.steps_per_second:,.0f}/s), "
        f"{report.simulated_seconds:,.0f} simulated seconds"
    )
    for name, count in report.counts.items():
        say(f"  {count:>12,}  {name}")
    if report.distinct_steps >= 0:
        say(f"{report.distinct_steps:,} distinct canonical steps")
    for graph in report.coverage:
        say(f"steps of {graph.graph}: {graph.covered:,} of {graph.steps:,} covered")
        for action, (covered, steps) in graph.actions.items():
            say(f"  {covered:>8,} of {steps:>8,}  {action}")
    if not report.findings:
        say("no property violated, no run stuck")
    for finding in report.findings:
        say(f"seed {finding.seed}: {finding.name}: {finding.violation}")
        say(f"  at step {finding.step:,}; again: {finding.replay}")
    if report.left_out:
        say(
            f"{len(report.left_out):,} runs left members out until the next election, which is no "
            "failure: see docs/findings/HZ3.md"
        )
        for one in report.left_out:
            say(f"  seed {one.seed}: {one.reason}")
    if out is not None:
        say(f"recorded in {out}")

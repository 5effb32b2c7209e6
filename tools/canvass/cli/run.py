"""``canvass run``: a cluster of processes on this machine, with faults.

This module has the command line, the table on the terminal and the printed result. `canvass.runner`
runs the cluster.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Self

import typer

from canvass.cli.options import Output, Revision
from canvass.cli.output import (
    EXIT_OK,
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    complain,
    emit,
    progress_console,
    text_of,
    typed,
)

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from canvass.runner.fault_script import TimedCommand
    from canvass.runner.load import Load
    from canvass.runner.supervisor import Supervisor


_CLIENTS: Final = 2


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("run")(run)


def run(
    out: Annotated[Path, typer.Option(help="The folder of the cluster, new or empty.")],
    members: Annotated[int, typer.Option(min=1, max=7, help="Number of members.")] = 3,
    seconds: Annotated[
        float, typer.Option(min=0, help="End after this time; 0: run until `quit` is typed.")
    ] = 0,
    clock: Annotated[
        int, typer.Option(min=1, max=20, help="Divide all of Aeron's timeouts by this.")
    ] = 5,
    revision: Annotated[
        Revision, typer.Option(help="The protocol that the members run.")
    ] = Revision.HARDENED,
    services: Annotated[
        int, typer.Option(min=1, max=8, help="Number of services in each member, each a counter.")
    ] = 1,
    script: Annotated[
        Path | None,
        typer.Option(help="File of faults: on each line a time in seconds and a command."),
    ] = None,
    random_faults: Annotated[int | None, typer.Option(help="Seed of kills and pauses.")] = None,
    load: Annotated[float, typer.Option(min=0, help="Requests per second that clients offer.")] = 0,
    clients: Annotated[
        int | None,
        typer.Option(min=1, max=8, help="With --load: number of clients. Default: 2."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Continue the cluster in the folder.")
    ] = False,
    output: Output = Format.HUMAN,
) -> None:
    """Run a cluster: real processes on 127.0.0.1, real files, real sockets.

    Type `kill 0`, `start 0`, `pause leader`, `resume all`, `stop follower`, `toggle snapshot`
    or `quit` while it runs. Or give a script: on each line a time in seconds and a command.
    Every member records its steps.

    Exit code 0: at the end all members agree, every acknowledged request counts once, and the
    services of all members were equal at equal positions. 1: one of these conditions does not
    hold. 2: the cluster could not be run. 130: interrupted.

    canvass run --out CLUSTER --load 100

    canvass run --out CLUSTER --seconds 60 --random-faults 1 --load 200 && canvass verify
    CLUSTER/runs
    """
    from canvass.runner.cluster_run import ClusterOptions, run_cluster

    if clients is not None and not load:
        raise CommandError("--clients requires --load")
    faults = _script_of(script, random_faults, seconds, members, clock)
    count = clients or _CLIENTS
    options = ClusterOptions(
        members, out, seconds, clock, revision.value, services, faults, load, count, again
    )
    view = partial(RunView, quiet=output is Format.JSON)
    report = asyncio.run(run_cluster(options, view))
    emit(output, report, "run", command=typed())
    for problem in report.problems:
        complain(problem)
    raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)


def _script_of(
    script: Path | None, seed: int | None, seconds: float, members: int, clock: int
) -> list[TimedCommand]:
    """Give the faults of a script together with the random ones of a seed, ordered by time."""
    from canvass.runner import RunnerError
    from canvass.runner.fault_script import parse_script, random_script

    timed = []
    if script is not None:
        try:
            timed += parse_script(text_of(script), members)
        except RunnerError as error:
            raise CommandError(f"{script}, {error}") from None
    if seed is not None:
        if not seconds:
            raise CommandError("--random-faults requires --seconds")
        drawn = random_script(seed, seconds, members, clock)
        if not drawn:
            raise CommandError(
                f"--random-faults has no time for a fault in {seconds:g} s: the first begins "
                f"after {3 * 10 / clock:g} s, so give more --seconds"
            )
        timed += drawn
    late = [one for one in timed if seconds and one.at_s > seconds]
    if late:
        when = f"at {late[0].at_s:g} s, after the end of the run (--seconds {seconds:g})"
        raise CommandError(f"{script}: `{late[0].command}` is {when}")
    return sorted(timed, key=lambda one: one.at_s)


_PLAIN_PERIOD_S: Final = 5.0
_SAID: Final = 6
"""The number of last commands to show."""
_COLUMNS: Final = ("member", "process", "role", "election", "term", "committed", "steps")


class RunView:
    """A view of a cluster while it runs.

    Parameters
    ----------
    supervisor, load
        The cluster and its clients.
    began_s
        The start of the run, by the monotonic clock.
    quiet
        Whether to show nothing.
    """

    def __init__(
        self, supervisor: Supervisor, load: Load | None, began_s: float, *, quiet: bool
    ) -> None:
        self._supervisor, self._load, self._began_s = supervisor, load, began_s
        self._console = progress_console()
        self._quiet = quiet
        self._live: Live | None = None
        self._plain_due_s = 0.0
        self._said: list[str] = []

    def __enter__(self) -> Self:
        """Start to show the table, on a terminal."""
        if self._console.is_terminal and not self._quiet:
            from rich.live import Live

            self._live = Live(self._table(), console=self._console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Leave the last table on the terminal."""
        if self._live is not None:
            self._live.stop()

    def say(self, words: str) -> None:
        """Show a line."""
        if not self._quiet:
            self._console.print(f"canvass: {words}", markup=False)

    def refresh(self) -> None:
        """Show the present state."""
        if self._live is not None:
            self._live.update(self._table(), refresh=True)
        elif not self._quiet and time.monotonic() >= self._plain_due_s:
            self._plain_due_s = time.monotonic() + _PLAIN_PERIOD_S
            self._console.print(self._line(), markup=False, soft_wrap=True)

    def _line(self) -> str:
        members = []
        for i in range(len(self._supervisor.configs)):
            _, process, role, election_state, term, *_ = self._row(i)
            state = f", {role} {election_state} term {term}" if role else ""
            members.append(f"member {i} {process}{state}")
        return f"canvass: {self._passed()}: {'; '.join(members)}{self._requests()}"

    def _passed(self) -> str:
        return f"{time.monotonic() - self._began_s:.0f} s"

    def _requests(self) -> str:
        if self._load is None:
            return ""
        book = self._load.book
        requests = f"{book.acknowledged:,} of {book.offered:,} requests acknowledged"
        latency = f"p50 {book.percentile_ms(0.5):.1f} ms, p99 {book.percentile_ms(0.99):.1f} ms"
        return f"; {requests}, {latency}"

    def _table(self) -> Table:
        from rich.table import Table

        done = ", ".join(self._supervisor.done[-_SAID:])
        caption = f"{self._passed()}{self._requests()}" + (f"\nlast: {done}" if done else "")
        table = Table(caption=caption, caption_justify="left")
        for column in _COLUMNS:
            right = _COLUMNS.index(column) >= _COLUMNS.index("term")
            table.add_column(column, justify="right" if right else "left", no_wrap=True)
        for i in range(len(self._supervisor.configs)):
            table.add_row(*self._row(i), style=self._style(i))
        return table

    def _style(self, i: int) -> str:
        if not self._supervisor.is_up(i):
            return "dim"
        if self._supervisor.is_paused(i):
            return "yellow"
        return "bold" if self._supervisor.leader() == i else ""

    def _row(self, i: int) -> list[str]:
        supervisor = self._supervisor
        started = f"process {supervisor.incarnation(i)}"
        if not supervisor.is_up(i):
            return [str(i), f"down, {started}", *[""] * (len(_COLUMNS) - 2)]
        process = f"paused, {started}" if supervisor.is_paused(i) else started
        status = supervisor.status(i)
        if status is None:
            return [str(i), f"starting, {started}", *[""] * (len(_COLUMNS) - 2)]
        role = status.role
        if status.module_state != "ACTIVE":
            role += f" ({status.module_state.lower()})"
        return [
            str(i),
            process,
            role,
            status.election_state,
            str(status.leadership_term_id),
            str(status.commit_position),
            f"{status.steps:,}",
        ]

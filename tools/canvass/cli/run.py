"""``canvass run``: a cluster of processes on this machine, with faults by hand or by a script.

The command line and the printed result are here. `canvass.runner` runs the cluster, and
`canvass.cli.run_view` draws it on the terminal.
"""

from __future__ import annotations

import asyncio
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.output import (
    EXIT_OK,
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    complain,
    emit,
    result_console,
    text_of,
)
from canvass.cli.simulate import Revision

if TYPE_CHECKING:
    from canvass.runner.cluster_run import ClusterReport


class Service(str, Enum):
    """What the cluster runs."""

    COUNTER = "counter"
    KEY_VALUE = "key-value"


def register(app: typer.Typer) -> None:
    """Add the sub-command."""

    @app.command("run")
    def run(
        out: Annotated[Path, typer.Option(help="Where all is kept: a folder, new or empty.")],
        members: Annotated[int, typer.Option(min=1, max=7, help="How many members.")] = 3,
        seconds: Annotated[
            float, typer.Option(min=0, help="End after so long; 0: when `quit` is typed.")
        ] = 0,
        clock: Annotated[
            int, typer.Option(min=1, max=20, help="Divides all of Aeron's durations.")
        ] = 5,
        revision: Annotated[
            Revision, typer.Option(help="The protocol that the members run.")
        ] = Revision.HARDENED,
        service: Annotated[
            list[Service] | None,
            typer.Option(
                help="An application that runs on the cluster; may be given again for another. "
                "A counter if none is given.",
                show_default=False,
            ),
        ] = None,
        script: Annotated[
            Path | None, typer.Option(help="A script of faults: lines of time and command.")
        ] = None,
        random_faults: Annotated[
            int | None, typer.Option(help="Draw kills and pauses from this seed.")
        ] = None,
        load: Annotated[
            float, typer.Option(min=0, help="Requests a second that clients offer.")
        ] = 0,
        clients: Annotated[int, typer.Option(min=1, max=8, help="How many offer them.")] = 2,
        record: Annotated[bool, typer.Option(help="Record the steps of each member.")] = True,
        sync: Annotated[bool, typer.Option(help="Force what is written to disk.")] = True,
        secret_file: Annotated[
            Path | None, typer.Option(help="Holds what clients have to know to be let in.")
        ] = None,
        again: Annotated[
            bool, typer.Option("--again", help="Go on with the cluster that is in the folder.")
        ] = False,
        output: Annotated[
            Format, typer.Option("--format", help="For a person or a machine.")
        ] = Format.HUMAN,
    ) -> None:
        """Run a cluster: real processes on 127.0.0.1, real files, real sockets.

        Type `kill 0`, `start 0`, `pause leader`, `resume all`, `stop follower`, `toggle snapshot`,
        `node 1 replicate-standby-snapshot` or `quit` while it runs, or give a script of such lines,
        each after a time in seconds. Every member records its steps while it works.

        Exit code 0: all members agree in the end, every acknowledged request counts once, and the
        services of all members were equal at equal positions. 1: not so. 2: the cluster could not
        be run. 130: interrupted.

        canvass run --out CLUSTER --load 100

        canvass run --out CLUSTER --seconds 60 --random-faults 1 --load 200 && canvass verify
        CLUSTER/runs
        """
        from canvass.cli.client import read_secret
        from canvass.cli.run_view import RunView
        from canvass.runner.cluster_run import ClusterOptions, run_cluster
        from canvass.runner.fault_script import parse_script, random_script

        timed = []
        if script is not None:
            timed += parse_script(text_of(script), members)
        if random_faults is not None:
            if not seconds:
                raise CommandError("--random-faults requires --seconds")
            timed += random_script(random_faults, seconds, members, clock)
        services = [one.value for one in service or [Service.COUNTER]]
        if len(set(services)) < len(services):
            raise CommandError("--service names an application twice")
        if load and Service.COUNTER.value not in services:
            raise CommandError("--load adds to a counter: it needs --service counter")
        options = ClusterOptions(
            members,
            out,
            seconds,
            clock,
            revision.value,
            services,
            sorted(timed, key=lambda one: one.at_s),
            load,
            clients,
            record,
            sync,
            read_secret(secret_file),
            again,
        )
        view = partial(RunView, quiet=output is Format.JSON)
        report = asyncio.run(run_cluster(options, view))
        emit(output, report, lambda: _show(report))
        raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)


def _show(report: ClusterReport) -> None:
    """Write the result for a person."""
    console = result_console()
    console.print(
        f"{report.members} members, {report.revision}: {report.seconds:,.0f} s, "
        f"newest term {report.terms}, {report.committed_bytes:,} bytes committed"
    )
    if report.done:
        console.print("  " + ", ".join(f"{name} {count}" for name, count in report.done.items()))
    if report.requests_offered:
        latencies = ", ".join(
            f"{name} {value:,.1f} ms" for name, value in report.latency_ms.items()
        )
        value = "was not asked for" if report.counter is None else f"is at {report.counter}"
        console.print(
            f"  {report.requests_acknowledged:,} of {report.requests_offered:,} requests "
            f"acknowledged, the counter {value}; {latencies}"
        )
    if report.positions_compared:
        count = report.positions_compared
        places = "1 position" if count == 1 else f"{count:,} positions"
        console.print(f"  services of different members were compared at {places} of the log")
    for problem in report.problems:
        complain(problem)
    if report.ok and "toggle" in report.done and report.terms < 0:
        console.print("the cluster was ended by its operator")
    elif report.ok:
        console.print("all members agree; nothing was lost or counted twice")
    if report.run:
        console.print(f"recorded in {report.run}; now: canvass verify {report.run}")

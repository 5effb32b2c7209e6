"""``canvass run``: a cluster of processes on this machine, with faults by hand or by a script.

The command line, the course of a run and its result are here; processes are started by
`canvass.cli.supervisor`, and what is on the terminal is drawn by `canvass.cli.run_view`.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from canvass.cli.output import (
    EXIT_OK,
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    complain,
    result_console,
    text_of,
    write_json,
)
from canvass.cli.simulate import Revision

if TYPE_CHECKING:
    from canvass.cli.fault_script import TimedCommand
    from canvass.cli.run_view import RunView
    from canvass.cli.supervisor import Supervisor

_VIEW_PERIOD_S: Final = 0.25


class Service(str, Enum):
    """What the cluster runs."""

    COUNTER = "counter"
    KEY_VALUE = "key-value"


class RunReport(msgspec.Struct, frozen=True, rename="camel"):
    """What ``canvass run --format json`` writes."""

    ok: bool
    seconds: float
    members: int
    revision: str
    run: str
    """The folder of the recorded run; empty if nothing was recorded."""
    done: dict[str, int]
    """How often each command was obeyed."""
    terms: int
    """The newest leadership term."""
    steps: int
    committed_bytes: int
    requests_offered: int
    requests_acknowledged: int
    counter: int | None
    positions_compared: int
    """At how many positions of the log the services of members were found equal."""
    latency_ms: dict[str, float]
    problems: list[str]


@dataclass(frozen=True)
class RunOptions:
    """What the command line says."""

    members: int
    out: Path
    seconds: float
    clock: int
    revision: str
    services: list[str]
    script: list[TimedCommand]
    load: float
    clients: int
    record: bool
    sync: bool
    secret: str
    again: bool


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
        from canvass.cli.fault_script import parse_script, random_script

        timed = []
        if script is not None:
            timed += parse_script(text_of(script), members)
        if random_faults is not None:
            if not seconds:
                raise CommandError("--random-faults needs --seconds: chance has no end of its own")
            timed += random_script(random_faults, seconds, members, clock)
        services = [one.value for one in service or [Service.COUNTER]]
        if len(set(services)) < len(services):
            raise CommandError("--service names an application twice")
        if load and Service.COUNTER.value not in services:
            raise CommandError("--load adds to a counter: it needs --service counter")
        options = RunOptions(
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
        report = asyncio.run(_run(options, quiet=output is Format.JSON))
        if output is Format.JSON:
            write_json(report)
        else:
            _show(report)
        raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)


async def _run(options: RunOptions, *, quiet: bool) -> RunReport:
    from canvass.cli.load import Load
    from canvass.cli.run_end import come_together, compare_services, was_ended
    from canvass.cli.run_view import RunView
    from canvass.cli.supervisor import alone_in

    supervisor = _supervisor(options)
    load = None
    if options.load:
        endpoints = supervisor.endpoints
        load = Load(
            endpoints,
            options.load,
            options.clients,
            options.clock,
            options.secret,
            options.services,
        )
    began_s = time.monotonic()
    value = None
    problems: list[str] = []
    held = ExitStack()
    held.enter_context(alone_in(supervisor.folder.root))
    try:
        with RunView(supervisor, load, began_s, quiet=quiet) as view:
            for i in range(options.members):
                await supervisor.start(i)
            await _lead(options, supervisor, view)
            began_s = time.monotonic()  # Times of a script count from the first leader on.
            if load is not None:
                await load.start()
            await _course(options, supervisor, view, began_s)
            seconds = time.monotonic() - began_s
            ended = was_ended(supervisor)
            if not ended:
                problems += await come_together(supervisor, options.clock, view.refresh)
            if load is not None and not problems and not ended:
                value = await load.finish(timeout_s=60 / options.clock + 10)
                if value is None:
                    problems.append("the clients' last requests were not answered")
                elif not (supervisor.failures or await supervisor.snapshot()):
                    problems.append("the members did not take a last snapshot at one position")
            view.refresh()
    finally:
        if load is not None:
            await load.close()
        statuses = [supervisor.status(i) for i in range(options.members)]
        await supervisor.stop_all()
        held.close()
    if load is not None and value is not None:
        problems += load.book.check(value)
    problems += supervisor.failures
    folders = [supervisor.folder.data(i) for i in range(options.members)]
    positions, different = compare_services(folders)
    problems += different
    known = [status for status in statuses if status is not None]
    return RunReport(
        ok=not problems,
        seconds=round(seconds, 1),
        members=options.members,
        revision=options.revision,
        run=str(supervisor.folder.run) if options.record else "",
        done=dict(sorted(supervisor.counts.items())),
        terms=max((status.leadership_term_id for status in known), default=-1),
        steps=sum(status.steps for status in known),
        committed_bytes=max((status.commit_position for status in known), default=0),
        requests_offered=0 if load is None else load.book.offered,
        requests_acknowledged=0 if load is None else load.book.acknowledged,
        counter=value,
        positions_compared=positions,
        latency_ms={}
        if load is None
        else {
            name: round(load.book.percentile_ms(share), 2)
            for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
        },
        problems=problems,
    )


def _supervisor(options: RunOptions) -> Supervisor:
    from canvass.cli.member import MemberConfig
    from canvass.cli.supervisor import Supervisor, free_ports, new_folder, old_folder

    run_id = f"run-{options.revision}-{options.members}"
    folder = old_folder(options.out, run_id) if options.again else new_folder(options.out, run_id)
    cluster_id = secrets.randbits(62)
    ports = free_ports(2 * options.members)
    configs = [
        MemberConfig(
            cluster_id,
            i,
            options.members,
            options.revision,  # type: ignore[arg-type]  # It is one of the three.
            options.clock,
            ports[: options.members],
            ports[options.members :],
            str(folder.data(i)),
            options.services,
            str(folder.run) if options.record else "",
            folder.run_id,
            options.sync,
            options.secret,
        )
        for i in range(options.members)
    ]
    supervisor = Supervisor(folder, configs)
    if options.again:
        supervisor.check_again()
    return supervisor


async def _lead(options: RunOptions, supervisor: Supervisor, view: RunView) -> None:
    """Wait for the first leader, so that clients do not measure how long a start takes."""
    limit_s = time.monotonic() + 200 / options.clock
    while supervisor.leader() is None and not supervisor.failures and time.monotonic() < limit_s:
        view.refresh()
        await asyncio.sleep(0.05)


async def _course(
    options: RunOptions, supervisor: Supervisor, view: RunView, began_s: float
) -> None:
    """Obey the script, what is typed and what other terminals ask for, until it is time."""
    from canvass.cli.run_commands import RunCommands
    from canvass.cli.run_end import was_ended

    async with RunCommands(supervisor.folder.root, options.members, view.say) as commands:
        script = list(options.script)
        while True:
            passed_s = time.monotonic() - began_s
            while script and script[0].at_s <= passed_s:
                await supervisor.obey(script.pop(0).command)
            while not commands.asked.empty():
                asked = commands.asked.get_nowait()
                before = len(supervisor.done)
                if asked.command.action != "quit":
                    await supervisor.obey(asked.command)
                    asked.answer(", ".join(supervisor.done[before:]))
                    continue
                asked.answer("quit")
                await asyncio.sleep(0)  # The answer is sent before the socket closes.
                return
            if options.seconds and passed_s >= options.seconds:
                return
            up = any(supervisor.is_up(i) for i in range(options.members))
            if was_ended(supervisor) and not up:
                return
            view.refresh()
            due_s = script[0].at_s - passed_s if script else _VIEW_PERIOD_S
            await asyncio.sleep(max(0.0, min(_VIEW_PERIOD_S, due_s)))


def _show(report: RunReport) -> None:
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

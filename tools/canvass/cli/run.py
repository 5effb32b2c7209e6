"""``canvass run`` and ``canvass simulate``: clusters with faults.

`run` makes a cluster of processes on this machine, in `canvass.runner`. `simulate` runs clusters in
virtual time, one run for each seed, in `canvass.selftest.simulation_series`. This module has the
command lines, the progress and the printed results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.options import Output, Revision
from canvass.cli.output import (
    EXIT_OK,
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    Stages,
    complain,
    emit,
    text_of,
    typed,
)

if TYPE_CHECKING:
    from canvass.runner.commands import TimedCommand
    from canvass.runner.load import Load
    from canvass.runner.supervisor import Supervisor


def register(app: typer.Typer) -> None:
    """Add the sub-commands."""
    app.command("run")(run)
    app.command("simulate")(simulate)


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

    faults = _script_of(script, random_faults, seconds, members, clock)
    options = ClusterOptions(
        members, out, seconds, clock, revision.value, services, faults, load, again
    )
    report = asyncio.run(run_cluster(options, RunView))
    emit(output, report, "run", command=typed())
    for problem in report.problems:
        complain(problem)
    raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)


def _script_of(
    script: Path | None, seed: int | None, seconds: float, members: int, clock: int
) -> list[TimedCommand]:
    """Give the faults of a script together with the random ones of a seed, ordered by time."""
    from canvass.runner import RunnerError
    from canvass.runner.commands import parse_script, random_script

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


class RunView(Stages):
    """Shows each member of a cluster, and the requests of its clients, while it runs."""

    def __init__(self, supervisor: Supervisor, load: Load | None) -> None:
        super().__init__()
        self._supervisor, self._load = supervisor, load
        self.stage("running")
        self.detail(lambda _s: "; ".join(self._parts()))

    def say(self, words: str) -> None:
        """Show a line."""
        complain(words)

    def _parts(self) -> Iterator[str]:
        yield from map(self._member, range(len(self._supervisor.configs)))
        if self._load is not None:
            book = self._load.book
            yield f"{book.acknowledged:,} of {book.offered:,} requests acknowledged"
            yield f"p50 {book.percentile_ms(0.5):.1f} ms, p99 {book.percentile_ms(0.99):.1f} ms"

    def _member(self, i: int) -> str:
        supervisor = self._supervisor
        started, status = f"process {supervisor.incarnation(i)}", supervisor.status(i)
        if not supervisor.is_up(i):
            return f"member {i} down, {started}"
        if status is None:
            return f"member {i} starting, {started}"
        text = f"member {i} {'paused, ' if supervisor.is_paused(i) else ''}{started}"
        text += f", {status.role} {status.election_state}"
        if status.module_state != "ACTIVE":
            text += f" ({status.module_state.lower()})"
        return f"{text} term {status.leadership_term_id}, committed {status.commit_position}"


def simulate(
    members: Annotated[int, typer.Option(min=1, max=9, help="Number of members.")] = 3,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds; each is one run.")] = 100,
    seed_start: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    steps: Annotated[
        int, typer.Option(min=1, help="Steps of each run before its faults stop.")
    ] = 5_000,
    revision: Annotated[
        Revision, typer.Option(help="The protocol that the members run.")
    ] = Revision.HARDENED,
    profile: Annotated[
        str,
        typer.Option(help="The faults: swarm (all kinds), or a profile, for example broken-joins."),
    ] = "swarm",
    out: Annotated[
        Path | None,
        typer.Option(help="Record the runs in this folder, beside others."),
    ] = None,
    output: Output = Format.HUMAN,
) -> None:
    """Simulate clusters in virtual time, with faults that the seed chooses.

    Members, archives, services and clients are as in `canvass run`. Each run is recorded and
    checked as by `canvass verify`, without TLC. After --steps the faults stop; then every
    request must be answered, and all members must follow one leader and agree.

    Exit code 0: no finding, or the revision is not hardened. 1: hardened members violate a
    property or are stuck. 2: the runs could not be simulated. 130: interrupted.

    canvass simulate --seeds 1000

    canvass simulate --profile broken-joins --seeds 200

    canvass simulate --revision 1.50 --seeds 1 --seed-start 42 --out CORPUS
    """
    from canvass.selftest.simulation_series import run_id_of, simulate_series
    from canvass.simulation.options import PROFILES, Options

    if profile not in PROFILES:
        raise CommandError(f"--profile {profile} is none of {', '.join(PROFILES)}")
    base = Options(seed_start, members, revision.value, steps)
    wanted = range(seed_start, seed_start + seeds) if out is not None else ()
    kept = [k for k in wanted if out and (out / run_id_of(replace(base, seed=k))).exists()]
    if kept:
        raise CommandError(f"{out} has the run of seed {kept[-1]}: choose another --seed-start")
    with Stages() as stages:
        stages.stage("simulating")
        report = simulate_series(base, seeds, profile, out, stages.detail)
    emit(output, report, "simulate", out=out)
    raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)

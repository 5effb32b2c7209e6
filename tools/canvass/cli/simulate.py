"""``canvass simulate``: run clusters with faults in virtual time, one run for each seed.

This module has the command line and the printed result; `canvass.selftest.simulation_series` does
the runs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from canvass.cli.options import Output, Revision
from canvass.cli.output import EXIT_OK, EXIT_UNEXPECTED, CommandError, Format, Stages, emit


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("simulate")(simulate)


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
        left = seed_start + seeds - kept[-1] - 1
        goes_on = f"; --seed-start {kept[-1] + 1} --seeds {left} goes on after it" if left else ""
        raise CommandError(f"{out} has the run of seed {kept[-1]}{goes_on}")
    with Stages() as stages:
        stages.stage("simulating")
        report = simulate_series(base, seeds, profile, out, stages.detail)
    emit(output, report, "simulate", out=out)
    raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)

"""``canvass simulate``: run clusters with faults in virtual time, seed after seed.

The command line and what is shown are here; `canvass.cli.simulate_runs` does the runs, in the
simulator of `canvass.simulation`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.options import Output, Revision
from canvass.cli.output import (
    EXIT_OK,
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    emit,
    result_console,
)
from canvass.cli.progress import Stages

if TYPE_CHECKING:
    from canvass.cli.simulate_runs import SimulationReport
    from canvass.simulation.options import Options


@contextmanager
def progress(total: int) -> Iterator[Callable[[int, str], None]]:
    """Show on stderr how many seeds are done, and what they came to."""
    with Stages() as stages:
        stages.stage("simulating")
        yield lambda done, summary: stages.detail(f"{done:,} of {total:,} seeds, {summary}")


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


SWARM = "swarm"
"""The profile that is none: the seed chooses among all faults."""
NO_RECORD = "the spec has no member that loses its disk, so there is nothing to verify"


def register(app: typer.Typer) -> None:
    """Add the sub-command."""

    @app.command("simulate")
    def simulate(
        members: Annotated[int, typer.Option(min=1, max=9, help="How many members.")] = 3,
        seeds: Annotated[int, typer.Option(min=1, help="How many seeds; each is one run.")] = 100,
        seed_start: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
        steps: Annotated[
            int, typer.Option(min=1, help="Steps of each run before its faults stop.")
        ] = 5_000,
        revision: Annotated[
            Revision, typer.Option(help="The protocol that the members run.")
        ] = Revision.HARDENED,
        options: Annotated[
            str, typer.Option(metavar="JSON", help="Do one run again: the options of a `run.json`.")
        ] = "",
        coverage: Annotated[
            bool, typer.Option("--coverage", help="Count the distinct steps that the runs take.")
        ] = False,
        graph: Annotated[
            list[Path] | None,
            typer.Option("--graph", metavar="ARTIFACT", help="State graphs to cover."),
        ] = None,
        coverage_guided: Annotated[
            bool,
            typer.Option(
                "--coverage-guided", help="Prefer options that recently reached new steps."
            ),
        ] = False,
        profile: Annotated[
            str, typer.Option(help="Faults that make one kind of situation likely.")
        ] = SWARM,
        disk_loss: Annotated[
            bool,
            typer.Option("--disk-loss", help="Let a member lose its disk; nothing is recorded."),
        ] = False,
        out: Annotated[
            Path | None, typer.Option(help="Record the runs in this folder, new or empty.")
        ] = None,
        output: Output = Format.HUMAN,
    ) -> None:
        """Simulate clusters: one thread, virtual time, faults that the seed chooses.

        Members, archives, services and clients are those of `canvass run`. Safety is looked at
        after every step. After so many steps the faults stop; then every request has to be
        answered, and all members have to serve one leader and to agree.

        Exit code 0: nothing was found, or only what the revision is known to allow. 1: a hardened
        cluster violates a property or is stuck. 2: the work could not be done. 130: interrupted.

        canvass simulate --seeds 1000

        canvass simulate --coverage-guided --graph GRAPH --seeds 200

        canvass simulate --profile broken-joins --seeds 200

        canvass simulate --revision 1.50 --seeds 1 --seed-start 42 --out CORPUS
        """
        from canvass.simulation.options import Options

        if out is not None and out.exists() and any(out.iterdir()):
            raise CommandError(f"{out} is not empty; runs are recorded in a folder of their own")
        if disk_loss and (out is not None or coverage_guided or coverage or graph or options):
            raise CommandError(
                f"--disk-loss excludes --out, --options and all about coverage: {NO_RECORD}"
            )
        _known(profile)
        if profile != SWARM and (coverage_guided or options):
            raise CommandError(
                "--profile excludes --coverage-guided and --options: these choose the faults"
            )
        if options:
            if coverage_guided or seeds != 100:
                raise CommandError("--options is one run: leave out --coverage-guided and --seeds")
            report = _run_one(_options_of(options), out)
        elif coverage_guided or coverage or graph:
            base = Options(seed_start, members, revision.value, steps)
            drawn = None if coverage_guided else profile
            report = _run_covered(base, seeds, graph or [], out, drawn)
        else:
            base = Options(seed_start, members, revision.value, steps)
            report = _run(base, seeds, out, profile, disk_loss=disk_loss)
        emit(output, report, lambda: show(report, out))
        raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)


def _known(profile: str) -> None:
    """Refuse a profile that there is not."""
    from canvass.simulation.options import PROFILES

    if profile not in PROFILES:
        raise CommandError(f"--profile: there is no {profile!r}, but {', '.join(PROFILES)}")


def _options_of(text: str) -> Options:
    """Read options as JSON."""
    import msgspec

    from canvass.simulation.options import Options

    try:
        return msgspec.json.decode(text, type=Options)
    except (msgspec.DecodeError, ValueError) as error:
        raise CommandError(f"--options: {error}") from None


def _coverage_guided_replay(options: Options) -> str:
    from dataclasses import asdict

    import msgspec

    encoded = msgspec.json.encode(asdict(options)).decode()
    return f"canvass simulate --options {shlex.quote(encoded)} --out CORPUS"


def _run_one(options: Options, out: Path | None) -> SimulationReport:
    from canvass.cli.simulate_runs import Tally
    from canvass.selftest.simulated import record_run
    from canvass.simulation.simulator import Simulator

    if out is not None and options.faults.disk_loss_mean:
        raise CommandError(f"--options: a run with losses of disks is not recorded: {NO_RECORD}")
    tally = Tally()
    result = Simulator(options).run() if out is None else record_run(options, out)
    tally.add(result, _coverage_guided_replay(options))
    return tally.report(options)


def _run(
    base: Options, seeds: int, out: Path | None, profile: str, *, disk_loss: bool
) -> SimulationReport:
    from dataclasses import replace

    from canvass.cli.simulate_runs import Tally
    from canvass.selftest.simulated import record_run, replay_command
    from canvass.simulation.options import PROFILES, with_disk_loss
    from canvass.simulation.simulator import Simulator

    tally = Tally()
    with progress(seeds) as show:
        for done in range(seeds):
            options = PROFILES[profile](replace(base, seed=base.seed + done))
            options = with_disk_loss(options) if disk_loss else options
            result = Simulator(options).run() if out is None else record_run(options, out)
            show(done + 1, tally.add(result, replay_command(options, profile)))
    return tally.report(base)


def _run_covered(
    base: Options, seeds: int, graphs: list[Path], out: Path | None, profile: str | None
) -> SimulationReport:
    """Do runs and count what they cover: those of a profile, or guided ones."""
    from dataclasses import replace

    from canvass.cli.simulate_coverage import CoverageMeter
    from canvass.cli.simulate_runs import Tally
    from canvass.selftest.simulated import replay_command
    from canvass.simulation.coverage_guidance import CoverageGuidance
    from canvass.simulation.options import PROFILES

    tally, meter, guidance = Tally(), CoverageMeter(graphs, out), CoverageGuidance(base)
    with progress(seeds) as show:
        for done in range(seeds):
            if profile is None:
                options = guidance.next()
                again = _coverage_guided_replay(options)
            else:
                options = PROFILES[profile](replace(base, seed=base.seed + done))
                again = replay_command(options, profile)
            result, news = meter.run(options)
            if profile is None:
                guidance.reward(news, result.steps)
            show(done + 1, f"{tally.add(result, again)}, {meter.distinct_steps:,} distinct")
    return tally.report(base, meter.distinct_steps, meter.report())

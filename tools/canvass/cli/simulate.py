"""``canvass simulate``: run clusters with faults in virtual time, seed after seed.

The command line and what it prints are here; the simulator is in `canvass.simulation`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
import typer

from canvass.cli.output import (
    EXIT_OK,
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    progress_console,
    result_console,
    write_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canvass.simulation.options import Options
    from canvass.simulation.simulator import RunResult
    from canvass.simulation.whole import WholeResult
    from canvass.simulation.whole_options import WholeOptions

_PLAIN_PERIOD_S: Final = 10.0
"""Between two lines of progress where lines cannot be changed."""


class Revision(str, Enum):
    """The protocol that the members run."""

    R149 = "1.49"
    R150 = "1.50"
    HARDENED = "hardened"


class SimulationFinding(msgspec.Struct, frozen=True, rename="camel"):
    """A property that a run violated, or a run that came to no end."""

    seed: int
    name: str
    """The property, or ``Stuck``."""
    told: str
    step: int
    time_ns: int
    replay: str
    """The command that does the same run again and records it."""


class SimulationReport(msgspec.Struct, frozen=True, rename="camel"):
    """What ``canvass simulate --format json`` writes."""

    ok: bool
    """Whether every finding is one that the revision is known to allow."""
    revision: str
    members: int
    seeds: int
    seed_start: int
    steps: int
    seconds: float
    steps_per_second: float
    simulated_seconds: float
    counts: dict[str, int]
    actions: dict[str, int]
    recovery_ns_max: int
    digest: str
    """A hash of all runs."""
    findings: list[SimulationFinding]


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
        whole: Annotated[
            bool, typer.Option("--whole", help="Simulate archives, services and clients, too.")
        ] = False,
        requests: Annotated[
            int, typer.Option(min=1, help="With --whole: what each of two clients asks for.")
        ] = 100,
        out: Annotated[
            Path | None, typer.Option(help="Record the runs in this folder, new or empty.")
        ] = None,
        output: Annotated[
            Format, typer.Option("--format", help="For a person or a machine.")
        ] = Format.HUMAN,
    ) -> None:
        """Simulate clusters: one thread, virtual time, faults that the seed chooses.

        Safety is looked at after every step. After so many steps the faults stop, and all members
        have to come to serve one leader.

        Exit code 0: nothing was found, or only what the revision is known to allow. 1: a hardened
        cluster violates a property or is stuck. 2: the work could not be done. 130: interrupted.

        canvass simulate --whole --seeds 100

        canvass simulate --seeds 1000

        canvass simulate --revision 1.50 --seeds 1 --seed-start 42 --out CORPUS
        """
        from canvass.simulation.options import Options

        if out is not None and out.exists() and any(out.iterdir()):
            raise CommandError(f"{out} is not empty; runs are recorded in a folder of their own")
        if whole:
            from canvass.simulation.whole_options import WholeOptions

            whole_base = WholeOptions(seed_start, members, revision.value, requests=requests)
            report = _run_whole(whole_base, seeds, out)
        else:
            report = _run(Options(seed_start, members, revision.value, steps), seeds, out)
        if output is Format.JSON:
            write_json(report)
        else:
            _show(report, out)
        raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)


def replay_command(options: Options) -> str:
    """The command that does a run again and records it."""
    return (
        f"canvass simulate --members {options.member_count} --seeds 1 --seed-start {options.seed} "
        f"--steps {options.steps} --revision {options.revision} --out CORPUS"
    )


def record_run(options: Options, folder: Path) -> RunResult:
    """Do one run and record it in a folder of its own within ``folder``."""
    from canvass.simulation.simulator import Simulator
    from canvass.traces.recorder import RunRecorder
    from canvass.traces.schema import Run

    revision: Literal["1.49", "1.50", "hardened"] = Revision(options.revision).value
    run_id = f"sim-{revision}-{options.member_count}-{options.seed}"
    run = Run(
        schema="canvass.run/1",
        run_id=run_id,
        revision=revision,
        member_count=options.member_count,
        source={"kind": "simulation", "seed": options.seed, "options": asdict(options)},
    )
    with RunRecorder(folder / run_id, run, suffix=".zst", flush=False) as recorder:
        members = [recorder.member(i) for i in range(options.member_count)]
        return Simulator(options, members).run()


def _findings(result: RunResult) -> Iterator[SimulationFinding]:
    options, replay = result.options, replay_command(result.options)
    for one in result.findings:
        yield SimulationFinding(
            options.seed, one.property_name, one.told, one.step, one.time_ns, replay
        )
    if result.stuck:
        told = "; ".join(result.stuck)
        yield SimulationFinding(options.seed, "Stuck", told, result.steps, result.time_ns, replay)


class _Tally:
    """What a series of simulations comes to, whichever kind they are."""

    def __init__(self) -> None:
        from hashlib import blake2b

        self._began_s = time.monotonic()
        self._steps = self._simulated_ns = 0
        self._counts: Counter[str] = Counter()
        self._digest = blake2b(digest_size=16)
        self._findings: list[SimulationFinding] = []

    def add(self, result: RunResult | WholeResult, found: Iterable[SimulationFinding]) -> str:
        """Count one more in; give what there is to tell of all so far."""
        self._steps += result.steps
        self._simulated_ns += result.time_ns
        self._counts.update(result.counts)
        self._digest.update(result.digest.encode())
        self._findings += found
        per_s = self._steps / max(time.monotonic() - self._began_s, 0.001)
        return f"{self._steps:,} steps, {per_s:,.0f}/s, {len(self._findings)} findings"

    def report(
        self,
        base: Options | WholeOptions,
        seeds: int,
        actions: Mapping[str, int],
        recovery_ns_max: int,
    ) -> SimulationReport:
        """Give the report of the series, which began with the options ``base``."""
        seconds = time.monotonic() - self._began_s
        return SimulationReport(
            ok=not self._findings or base.revision != Revision.HARDENED.value,
            revision=base.revision,
            members=base.member_count,
            seeds=seeds,
            seed_start=base.seed,
            steps=self._steps,
            seconds=round(seconds, 3),
            steps_per_second=round(self._steps / max(seconds, 0.001), 1),
            simulated_seconds=round(self._simulated_ns / 1e9, 3),
            counts=dict(sorted(self._counts.items())),
            actions=dict(sorted(actions.items())),
            recovery_ns_max=recovery_ns_max,
            digest=self._digest.hexdigest(),
            findings=self._findings,
        )


def _run(base: Options, seeds: int, out: Path | None) -> SimulationReport:
    from dataclasses import replace

    from canvass.simulation.options import swarm
    from canvass.simulation.simulator import Simulator

    tally = _Tally()
    actions: Counter[str] = Counter()
    recovery_ns = 0
    with _progress(seeds) as show:
        for done in range(seeds):
            options = swarm(replace(base, seed=base.seed + done))
            result = Simulator(options).run() if out is None else record_run(options, out)
            recovery_ns = max(recovery_ns, result.recovery_ns)
            actions.update(result.actions)
            show(done + 1, tally.add(result, _findings(result)))
    return tally.report(base, seeds, actions, recovery_ns)


def _run_whole(base: WholeOptions, seeds: int, out: Path | None) -> SimulationReport:
    from dataclasses import replace

    from canvass.cli.simulate_whole import record_whole_run, whole_findings, whole_replay_command
    from canvass.simulation.whole import WholeSimulator
    from canvass.simulation.whole_options import whole_swarm

    tally = _Tally()
    with _progress(seeds) as show:
        for done in range(seeds):
            options = whole_swarm(replace(base, seed=base.seed + done))
            if out is None:
                result = WholeSimulator(options).run()
            else:
                result = record_whole_run(options, Revision(base.revision).value, out)
            replay = whole_replay_command(options)
            found = (
                SimulationFinding(options.seed, name, told, result.steps, result.time_ns, replay)
                for name, told in whole_findings(result)
            )
            show(done + 1, tally.add(result, found))
    return tally.report(base, seeds, {}, -1)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int, str], None]]:
    """Show on stderr how far it is: a bar on a terminal, now and then a line elsewhere."""
    console = progress_console()
    with ExitStack() as stack:
        if console.is_terminal:
            from rich.progress import Progress

            bar = stack.enter_context(Progress(console=console, transient=True))
            task = bar.add_task("seeds", total=total)
            yield lambda done, told: bar.update(task, completed=done, description=told)
            return
        last_s = time.monotonic()

        def say(done: int, told: str) -> None:
            nonlocal last_s
            if time.monotonic() - last_s >= _PLAIN_PERIOD_S:
                last_s = time.monotonic()
                line = f"canvass: {done:,} of {total:,} seeds: {told}"
                console.print(line, markup=False, soft_wrap=True)

        yield say


def _show(report: SimulationReport, out: Path | None) -> None:
    """Write the result for a person."""
    console = result_console()
    console.print(
        f"{report.seeds:,} seeds of {report.members} members, {report.revision}: "
        f"{report.steps:,} steps ({report.steps_per_second:,.0f}/s), "
        f"{report.simulated_seconds:,.0f} simulated seconds"
    )
    for name, count in report.counts.items():
        console.print(f"  {count:>12,}  {name}")
    if not report.findings:
        console.print("no property violated, no run stuck")
    for finding in report.findings:
        console.print(f"seed {finding.seed}: {finding.name}: {finding.told}")
        console.print(f"  at step {finding.step:,}; again: {finding.replay}")
    if out is not None:
        console.print(f"recorded in {out}")

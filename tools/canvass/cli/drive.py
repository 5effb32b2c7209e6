"""``canvass drive``: execute the steps of a state graph or of runs on Aeron's own classes.

This module parses the command line and prints the report; `canvass.aeron_driver` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.options import Output, need_runs
from canvass.cli.output import (
    EXIT_OK,
    EXIT_UNEXPECTED,
    CheckProgress,
    CommandError,
    Format,
    Stages,
    complain,
    emit,
)

if TYPE_CHECKING:
    from canvass.aeron_driver.drivable import GraphSteps
    from canvass.aeron_driver.driver import ClassPath, Driver
    from canvass.aeron_driver.driving import DriveReport, Observer, Part, Steps
    from canvass.graph.artifact import Graph


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("drive")(drive)


def drive(
    *,
    graph: Annotated[
        str | None,
        typer.Argument(
            metavar="GRAPH|MODEL", help="Folder of a member's state graph, or a model to build."
        ),
    ] = None,
    classpath: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="Aeron's classes: an aeron-all jar, or folders and jars."
        ),
    ],
    trace: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN|CORPUS",
            help="Take the steps of recorded runs, not of a graph; repeatable.",
        ),
    ] = None,
    disabled: Annotated[
        bool, typer.Option("--disabled", help="Also drive inputs that the spec disables.")
    ] = False,
    vary: Annotated[
        int | None,
        typer.Option(metavar="SEED", help="Also vary Aeron's hidden state, with this seed."),
    ] = None,
    output: Output = Format.HUMAN,
) -> None:
    """Take every step of a state graph, or of runs, on the Java classes of an Aeron release.

    For each step, Aeron's own election and consensus module get the state and the input. The new
    state and the messages are compared with those of the spec or, with --trace, with the recorded
    ones. Needs a JDK.

    Exit code 0: all steps are equal, or a reviewed class explains the difference. 1: other steps
    differ. 2: the driver could not run. 130: interrupted.
    """
    from canvass.aeron_driver.driver import ClassPath, compile_driver
    from canvass.steps.answers import default_cache

    if (graph is None) == (not trace):
        raise CommandError("name a graph or model, or runs with --trace")
    if trace and (disabled or vary is not None):
        raise CommandError("--vary and --disabled are for a graph")
    if trace:
        need_runs(trace, "canvass drive --trace")
    path = ClassPath.parse(classpath)
    folder = default_cache()
    driver = compile_driver(path, folder / "driver")
    if graph is None:
        raise typer.Exit(_drive_runs(driver, trace or [], output))
    opened = _graph(graph, folder / "graphs")
    if opened.rules.hardening:
        raise CommandError(f"{opened.manifest.model} is hardened: Aeron follows other rules")
    _compare_revisions("the graph", opened.rules.revision, path)
    report = _drive(driver, opened, disabled=disabled, seed=vary)
    emit(output, report, "drive")
    raise typer.Exit(EXIT_OK if report.is_expected else EXIT_UNEXPECTED)


def _compare_revisions(subject: str, revision: str, path: ClassPath) -> None:
    if revision != path.revision:
        complain(
            f"{subject} is of revision {revision}, but Aeron {path.release} follows"
            f" {path.revision}: steps differ where the revisions differ"
        )


def _drive_runs(driver: Driver, paths: list[Path], output: Format) -> int:
    """Drive the steps of runs, show the result, and give the exit code."""
    from canvass.aeron_driver.run_steps import collect, drive_runs
    from canvass.conformance.verify import units_of

    with _progress("reading the runs"):
        found = collect(units_of(paths))
    for rules in found.by_rules:
        _compare_revisions("a run", rules.revision, driver.class_path)
    with _progress("steps of the runs") as progress:
        report = drive_runs(driver, found, progress)
    emit(output, report, "drive_runs")
    return EXIT_OK if report.is_expected else EXIT_UNEXPECTED


def _graph(name: str, cache: Path) -> Graph:
    """Open the folder of a graph, or build the graph of a model."""
    from canvass.graph.artifact import open_graph
    from canvass.graph.build import cached_graph, load_model, models

    if name not in models():
        if not Path(name).is_dir():
            raise CommandError(
                f"{name}: neither the folder of a state graph nor a model ({', '.join(models())})"
            )
        return open_graph(Path(name))
    with CheckProgress(1, 1, name) as progress:
        return cached_graph(load_model(name), cache, on_event=progress.on_event)


def _drive(driver: Driver, graph: Graph, *, disabled: bool, seed: int | None) -> DriveReport:
    import numpy as np

    from canvass.aeron_driver.drivable import GraphSteps
    from canvass.aeron_driver.driving import (
        DriveReport,
        Outcomes,
        disabled_steps,
        drive_varied,
        edge_steps,
    )

    steps = GraphSteps(graph)
    different = []

    def note(outcomes: Outcomes) -> None:
        different.append(outcomes.steps.edge[outcomes.differ])

    edges = _part(driver, steps, edge_steps(steps), "edges", note)
    varied = None
    if seed is not None:
        with _progress("hidden state varied") as progress:
            varied = drive_varied(driver, steps, seed, np.concatenate(different), progress)
    tried = None
    if disabled:
        tried = _part(driver, steps, disabled_steps(steps), "disabled inputs")
    return DriveReport(
        model=graph.manifest.model,
        members=graph.rules.member_count,
        revision=graph.rules.revision,
        release=driver.class_path.release,
        release_revision=driver.class_path.revision,
        edges=edges,
        hidden=varied,
        disabled=tried,
    )


def _part(
    driver: Driver,
    steps: GraphSteps,
    chosen: Steps,
    title: str,
    observer: Observer | None = None,
) -> Part:
    from canvass.aeron_driver.driving import drive

    with _progress(title) as progress:
        return drive(driver, steps, chosen, observer=observer, progress=progress)


@contextmanager
def _progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show the number of driven steps on stderr."""
    with Stages() as stages:
        stages.stage(title)
        yield lambda done, total: stages.detail(f"{done:,} of {total:,} steps")

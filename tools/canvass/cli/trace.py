"""``canvass trace``: show runs, convert them, and make them small.

Drawing is in `canvass.lanes`, shrinking in `canvass.conformance.shrink`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.options import PathKind, RunId, existing, kind_of, named_step, need_runs
from canvass.cli.output import CommandError, Stages, lane_width, print_lines, typed
from canvass.cli.verify import import_units
from canvass.traces.errors import TraceError, counted

if TYPE_CHECKING:
    from canvass.conformance.diagnose import RunColumns
    from canvass.conformance.shrink import Shrunk
    from canvass.lanes.drawing import RunLanes


def open_run(path: Path, run_id: str | None) -> RunColumns:
    """Read a whole run.

    Parameters
    ----------
    path
        A run folder, a folder with one run, a data set or a file of a data set.
    run_id
        The id of the run, if there are several.

    Raises
    ------
    CommandError
        If ``run_id`` is needed, or no run has this id, or the run has no events.
    TraceError
        If the run is malformed.
    """
    from canvass.conformance.diagnose import load

    place, name = single(path, runs_of(path), run_id)
    try:
        return load(place, name)
    except KeyError:
        raise CommandError(f"{place}: the run has no events") from None


def single(path: Path, found: list[tuple[Path, str]], run_id: str | None) -> tuple[Path, str]:
    """Return the run with an id, or the only run.

    Raises
    ------
    CommandError
        If there are several runs and ``run_id`` is None, or no run has this id.
    """
    if run_id is not None:
        found = [entry for entry in found if entry[1] == run_id]
        if not found:
            raise CommandError(f"{path}: there is no run {run_id}")
    if len(found) > 1:
        names = ", ".join([*(name for _, name in found[:3]), *(["..."] if found[3:] else [])])
        raise CommandError(
            f"{path}: {len(found)} runs ({names}); name one with --run, or give its folder"
        )
    if not found:
        raise CommandError(f"{path}: there is no run in it")
    return found[0]


def runs_of(path: Path, command: str = "canvass trace show") -> list[tuple[Path, str]]:
    """Return the path and the id of each run of a corpus, or of event logs.

    Raises
    ------
    CommandError
        If the path has something else than runs; the message names the command for it.
    TraceError
        If a run is malformed.
    """
    from canvass.traces.parquet import DatasetFile
    from canvass.traces.run import RunFolder

    if kind_of(path) is not PathKind.LOG_FILE:
        need_runs([path], command, logs=True)
    found: list[tuple[Path, str]] = []
    for unit in import_units([path]):
        if isinstance(unit, TraceError):
            raise unit
        if unit.is_dir():
            found.append((unit, RunFolder(unit).run.run_id))
        else:
            with DatasetFile(unit) as opened:
                found += [(unit, run_id) for run_id in opened.runs]
    return found


def row_named(lanes: RunLanes, name: str) -> int:
    """Return the row of the event that ``--around`` names.

    Raises
    ------
    CommandError
        If the name is not ``MEMBER:STEP``, or the run does not have the event.
    """
    named = named_step(name)
    if named is None:
        raise CommandError(f"--around {name}: an event is named MEMBER:STEP, such as 1:42")
    row = lanes.row_of(*named)
    if row is None:
        raise CommandError(f"--around {name}: the run has no step {named[1]} of member {named[0]}")
    return row


def shrink(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="A run that diverges, or a data set with --run.",
            callback=existing,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The run folder to write.")],
    run_id: RunId = None,
) -> None:
    """Make the smallest run that still diverges in the same way, at the same event.

    Removes ends of streams, whole members and steps without consequence, as long as the checker
    finds the same divergence. Exit code 2: the run does not diverge.

    canvass trace shrink RUN --out small && canvass trace show small
    """
    from canvass.conformance import shrink as shrinking
    from canvass.conformance.diagnose import load
    from canvass.conformance.verify import check_units, make_lookup
    from canvass.traces.run import write_run
    from canvass.traces.streams import written_aside

    if out.exists():
        raise CommandError(f"{out} exists; name a new folder")
    place, name = single(run, runs_of(run, "canvass trace shrink"), run_id)
    lookup = make_lookup([], None)
    (found,) = (one for one in check_units([place], lookup).runs if one.run_id == name)
    if not found.divergences:
        why = f": {found.reason}" if found.reason else ""
        raise CommandError(f"{run} is {found.verdict.value}{why}: there is nothing to shrink")
    loaded = load(place, name)
    with Stages() as stages:
        stages.stage("shrinking")
        say = lambda count: stages.detail(f"{count:,} events")  # noqa: E731
        shrunk = shrinking.shrink(loaded, found, lookup, say)
    with written_aside(out) as folder:
        write_run(shrunk.run, shrunk.events, folder)
    _show(shrunk, out)


def _show(shrunk: Shrunk, out: Path) -> None:
    first, was = shrunk.divergence, shrunk.original
    print(f"{shrunk.before:,} events became {shrunk.after:,} ({shrunk.checks} candidates checked)")
    for member, events in shrunk.events.items():
        print(f"  member {member}: {len(events):,} events")
    for member in shrunk.dropped:
        print(f"  member {member}: left out")
    moved = f" (step {was.step} of the run given)" if was.step != first.step else ""
    print(f"{first.kind.value}: {first.name} at member {first.member}, step {first.step}{moved}")
    print(f"written to {out}; see it: {typed()} trace show {out}")


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Run folders.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.")],
) -> None:
    """Convert run folders to a Parquet data set, without loss.

    canvass trace convert my-corpus my-data-set
    """
    from canvass.traces.parquet import write_dataset
    from canvass.traces.run import Corpus
    from canvass.traces.streams import written_aside

    need_runs([source], "canvass trace convert")
    corpus = Corpus(source)
    if corpus.files:
        raise CommandError(f"{source} is a data set already")
    if out.exists():
        raise CommandError(f"{out} exists; name a new folder")
    with written_aside(out) as folder:
        runs, _ = write_dataset(corpus, folder)
    print(f"{counted(runs, 'run')} written to {out}")


def register(app: typer.Typer) -> None:
    """Add the command group to the application."""
    group = typer.Typer(help="Show, convert and shrink runs.", no_args_is_help=True)
    group.command("show")(show)
    group.command("convert")(convert)
    group.command("shrink")(shrink)
    app.add_typer(group, name="trace")


def show(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="A run, event logs, or a data set with --run.", callback=existing
        ),
    ],
    run_id: RunId = None,
    around: Annotated[
        str | None,
        typer.Option(metavar="EVENT", help="The event to look at, MEMBER:STEP, such as 1:42."),
    ] = None,
    context: Annotated[
        int | None,
        typer.Option(min=0, help="With --around: events before and after it. Default: 10."),
    ] = None,
    messages: Annotated[
        bool, typer.Option("--messages", help="Show the contents of received messages.")
    ] = False,
) -> None:
    """Show a run in swim lanes: the steps of each member, their changes, and the messages.

    Events are in causal order: a message is received below the event that sends it. Clocks order
    independent events only.

    canvass trace show RUN --around 1:42 | less -R
    """
    from canvass.lanes.diagram import Fate, TextLanes
    from canvass.lanes.drawing import RunLanes

    if context is not None and not around:
        raise CommandError("--context requires --around: name the event that it surrounds")
    lanes = RunLanes(open_run(run, run_id).columns)
    rows = lanes.rows
    if around:
        place, count = lanes.place[row_named(lanes, around)], 10 if context is None else context
        rows = rows[max(0, place - count) : place + count + 1]
    diagram = lanes.diagram(rows)
    print_lines(TextLanes(diagram, lane_width(), contents=messages).lines())
    if any(one.sent is None and one.fate is not Fate.UNSENT for one in diagram.messages):
        print_lines([[("sent before: by a step that is not shown, above the first one", "dim")]])

"""``canvass trace shrink``: the smallest run that still diverges in the same way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.output import CommandError, Format, emit, progress_console

if TYPE_CHECKING:
    from canvass.conformance.shrink import Shrunk


def shrink(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run that diverges, or a data set with --run.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The run folder to make.")],
    run_id: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="Which run of a data set.")
    ] = None,
    midway: Annotated[
        bool, typer.Option("--midway", help="Streams may lose their beginnings as well.")
    ] = False,
    graph: Annotated[
        list[Path] | None,
        typer.Option("--graph", metavar="ARTIFACT", help="State graphs that know many steps."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where TLC's answers are kept; else the user's."),
    ] = None,
    output: Annotated[
        Format, typer.Option("--format", help="How to write the result.")
    ] = Format.HUMAN,
) -> None:
    """Make the smallest run that still diverges in the same way, at the same event.

    Ends of streams, whole members and steps without consequence are left out as long as the checker
    finds the same divergence. Exit code 2 if the run does not diverge.

    canvass trace shrink RUN --out small && canvass trace show small
    """
    from canvass.cli.lookup_options import make_lookup
    from canvass.cli.trace_run import runs_of, single
    from canvass.conformance.check import check_units
    from canvass.conformance.diagnose import load
    from canvass.conformance.shrink import NothingToShrink, Shrinker, write_run
    from canvass.traces.run import Corpus

    if out.exists():
        raise CommandError(f"{out} exists; name a new folder")
    place, name = single(run, runs_of(run, "canvass trace shrink"), run_id)
    lookup = make_lookup(graph or [], cache)
    (found,) = (one for one in check_units([place], lookup).runs if one.run_id == name)
    if not found.divergences:
        why = f": {found.reason}" if found.reason else ""
        raise CommandError(f"{run} is {found.verdict.value}{why}: there is nothing to shrink")
    (whole,) = (one for one in Corpus(place).load() if one.run.run_id == name)
    console = progress_console()
    streams = {member: events for member, events in whole.events.items() if events}
    with console.status("shrinking") as status:
        shrinker = Shrinker(whole.run, streams, load(place, name), found, lookup)
        shrinker.on_progress = lambda count: status.update(f"shrinking: {count:,} events")
        try:
            shrunk = shrinker.shrink(midway=midway)
        except NothingToShrink as error:
            raise CommandError(str(error)) from None
    write_run(shrunk.run, shrunk.events, out)
    emit(output, _document(shrunk, out), lambda: _show(shrunk, out))


def _document(shrunk: Shrunk, out: Path) -> dict[str, object]:
    return {
        "run": str(out),
        "before": shrunk.before,
        "after": shrunk.after,
        "members": {str(member): len(events) for member, events in shrunk.events.items()},
        "dropped": shrunk.dropped,
        "cut": shrunk.cut,
        "checks": shrunk.checks,
        "original": shrunk.original,
        "divergence": shrunk.divergence,
    }


def _show(shrunk: Shrunk, out: Path) -> None:
    first, was = shrunk.divergence, shrunk.original
    print(f"{shrunk.before:,} events became {shrunk.after:,} ({shrunk.checks} candidates checked)")
    for member, events in shrunk.events.items():
        midway = ", not from its beginning" if member in shrunk.cut else ""
        print(f"  member {member}: {len(events):,} events{midway}")
    for member in shrunk.dropped:
        print(f"  member {member}: left out")
    moved = f" (step {was.step} of the run given)" if was.step != first.step else ""
    print(f"{first.kind.value}: {first.name} at member {first.member}, step {first.step}{moved}")
    print(f"written to {out}; see it: canvass trace show {out}")

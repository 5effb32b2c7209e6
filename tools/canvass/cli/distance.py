"""``canvass distance``: the nearest violation from a moment of a run, or from members' disks.

This module finds the moments that the command line names, and writes the results. The search is in
`canvass.distance.search`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from canvass.cli.check import export as export_counterexamples
from canvass.cli.check import need_export_target, show_counterexample
from canvass.cli.options import Output, PathKind, kind_of, named_step, need_runs
from canvass.cli.output import (
    EXIT_ERROR,
    EXIT_OK,
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    complain,
    write_json,
)
from canvass.spec.files import spec_root
from canvass.traces.errors import counted

if TYPE_CHECKING:
    from canvass.distance.moments import RunMoments
    from canvass.distance.search import Distance, Moment, MomentReport, SearchBounds
    from canvass.models.counterexample import Counterexample

_SPAN: Final = re.compile(r"(\d{1,8}(?:\.\d{1,9})?)(ms|s|m)", re.ASCII)
_UNIT_NS: Final = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_NUMBER: Final = re.compile(r"\d{1,18}", re.ASCII)


class _At(msgspec.Struct, frozen=True):
    """A moment with its place in the run."""

    moment: Moment
    event: int | None = None
    time_ns: int | None = None
    counted_too_far: int | None = None


def span_ns(text: str) -> int:
    """Read a length of time: ``500ms``, ``1s``, ``2m``.

    Raises
    ------
    CommandError
        If the text is not a length of time, or the length is zero.
    """
    found = _SPAN.fullmatch(text.strip())
    length = int(float(found[1]) * _UNIT_NS[found[2]]) if found else 0
    if not length:
        raise CommandError(f"{text!r} is not a time; write 500ms, 1s or 2m")
    return length


def given_moments(source: str, every: str | None) -> Iterator[_At]:
    """Give the moments that a source and ``--every`` name.

    Raises
    ------
    CommandError
        If there is no run or disk at the path, or the run does not have the moment.
    DiskError, TraceError
        If disks or a run cannot be read.
    """
    folder, which = _parted(source)
    if not (folder / "run.json").is_file():
        if which or every is not None:
            raise CommandError(f"{folder} is not a run; --every and EVENT require a run")
        from canvass.disks.files import find_members
        from canvass.distance.moments import moment_of_disks

        if all(one.is_empty for one in find_members(folder)):
            need_runs([folder], "canvass distance")
            raise CommandError(f"{folder}: neither a run nor the disks of members")
        yield _At(moment_of_disks([folder]))
        return
    yield from _of_run(folder, which, every)


def _parted(source: str) -> tuple[Path, str]:
    """Split ``PATH:EVENT``; both parts may contain colons.

    The path is the longest beginning of the text that exists.
    """
    parts = source.split(":")
    for count in range(len(parts), 0, -1):
        path = ":".join(parts[:count])
        if path and kind_of(Path(path)) not in (PathKind.ABSENT, PathKind.BROKEN_LINK):
            return Path(path), ":".join(parts[count:])
    raise CommandError(f"{parts[0] or source}: {PathKind.ABSENT.value}")


def _of_run(folder: Path, which: str, every: str | None) -> Iterator[_At]:
    from canvass.distance.moments import RunMoments, UnknownState

    try:
        run = RunMoments(folder)
    except KeyError:
        raise CommandError(f"{folder}: the run has no events") from None
    if every is not None and which:
        raise CommandError("--every covers the whole run; leave out the event")
    chosen = [] if every is None else run.exposed_every(span_ns(every))
    too_far = {place: exposed.counted_too_far for place, exposed in chosen}
    places = list(too_far) or [_place(run, which)]
    begun = run.time_ns(0)
    try:
        for place, moment in zip(places, run.moments(places), strict=True):
            yield _At(moment, place, run.time_ns(place) - begun, too_far.get(place))
    except UnknownState as error:
        raise CommandError(f"{folder}: {error}, so its state is not known") from None


def _place(run: RunMoments, which: str) -> int:
    if not which:
        return run.total - 1
    if step := named_step(which):
        found = run.place_of(*step)
        if found is None:
            raise CommandError(f"member {step[0]} has no step {step[1]} in this run")
        return found
    if _NUMBER.fullmatch(which):
        if int(which) >= run.total:
            raise CommandError(f"there is no event {which}: the last one is {run.total - 1:,}")
        return int(which)
    if not _SPAN.fullmatch(which):
        raise CommandError(
            f"{which!r} is not an event; give 85, 1:27 (step 27 of member 1) or 12.5s"
        )
    until = run.time_ns(0) + span_ns(which)
    if until > (end := max(map(run.time_ns, range(run.total)))):
        lasted = (end - run.time_ns(0)) / 1e9
        raise CommandError(f"{which} is after the end of the run, which took {lasted:,.3f} s")
    return max((k for k in range(run.total) if run.time_ns(k) <= until), default=0)


Timeout = Annotated[
    float, typer.Option(min=0.001, metavar="SECONDS", help="Time limit of each search.")
]
Every = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Of a run: search once in each interval, such as 1s."),
]
Export = Annotated[
    Path | None,
    typer.Option(
        "--export",
        metavar="PATH",
        help="Write the nearest counterexample to FILE.json or FILE.itf.json.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("distance")(distance)


def distance(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN[:EVENT]|DISKS",
            help="An event of a run, or members' disks. EVENT: 85, 1:27 (step 27 of member 1) or"
            " 12.5s. Default: the last event.",
        ),
    ],
    every: Every = None,
    steps: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of steps.")] = 12,
    timeout: Timeout = 60,
    diagram: Annotated[
        bool, typer.Option("--diagram", help="Draw the counterexample as swim lanes.")
    ] = False,
    export_to: Export = None,
    output: Output = Format.HUMAN,
) -> None:
    """Search for the nearest violation from a moment of a run, or from members' disks.

    Exit code 0: no violation was found within the bounds and the time limit. 1: a violation
    was found. 2: TLC could not run, or did not finish.

    canvass distance RUN:95.1s --diagram

    canvass distance RUN --every 1s --format json > distance.json
    """
    from canvass.distance.search import SearchBounds

    if diagram and output is Format.JSON:
        raise CommandError("--diagram draws for a person; leave out --format json")
    if diagram and every is not None:
        raise CommandError("--every draws no swim lanes; leave out --diagram")
    if export_to is not None:
        need_export_target(export_to)
    bounds = SearchBounds(steps=steps, seconds=timeout)
    searcher = _Searcher(spec_root(), bounds)
    code = _search(searcher, source, every=every, diagram=diagram, output=output, export=export_to)
    raise typer.Exit(code)


@dataclass
class _Searcher:
    """Searches from moments. If moments differ only in numbers of positions and terms, one search
    serves all of them.
    """

    root: Path
    bounds: SearchBounds
    known: dict[str, Distance] = field(default_factory=dict)

    def search(self, at: _At) -> tuple[Distance, MomentReport]:
        """Search from one moment."""
        from canvass.distance.search import MomentReport, search

        moment = at.moment.without_repeats()
        small, back = moment.small()
        key = repr(replace(small, label=""))
        if key not in self.known:
            self.known[key] = search(self.root, moment, self.bounds)
        found = self.known[key]
        return found, MomentReport(
            moment=at.moment.label,
            event=at.event,
            time_ns=at.time_ns,
            steps=found.steps,
            faults=found.faults,
            searched=found.searched,
            complete=found.complete,
            states=found.states,
            seconds=round(found.seconds, 3),
            positions=[back[rank] for rank in range(small.end + 1) if rank in back],
            under_way=len(moment.under_way),
            repeats=len(at.moment.under_way) - len(moment.under_way),
            counted_too_far=at.counted_too_far,
        )


def _search(
    searcher: _Searcher,
    source: str,
    *,
    every: str | None,
    diagram: bool,
    output: Format,
    export: Path | None,
) -> int:
    """Search from each moment, write the results, and return the exit code."""
    root, bounds = searcher.root, searcher.bounds
    reports: list[MomentReport] = []
    failed = False
    for at in given_moments(source, every):
        found, report = searcher.search(at)
        if found.failure:
            complain(f"{at.moment.label}: {found.failure}")
            failed = True
            continue
        reports.append(report)
        if output is Format.HUMAN:
            print(_line(report))
            if every is None:
                _show(root, found, report.positions, diagram=diagram)
    if output is Format.JSON:
        from canvass.distance.search import MAX_CRASHES, PROPERTY, DistanceReport

        kept = {"steps": bounds.steps, "crashes": MAX_CRASHES, "seconds": bounds.seconds}
        write_json(DistanceReport(source, PROPERTY, kept, reports))
    elif every is not None:
        for line in _nearest(reports):
            print(line)
    if export is not None:
        violating = [one for one in searcher.known.values() if one.violation is not None]
        nearest = min(violating, key=lambda one: one.steps or 0, default=None)
        export_counterexamples([_counterexample(root, nearest)] if nearest else [], export)
    if failed:
        return EXIT_ERROR
    return EXIT_UNEXPECTED if any(one.steps is not None for one in reports) else EXIT_OK


def _time(report: MomentReport) -> str:
    return "" if report.time_ns is None else f"{report.time_ns / 1e9:9.3f} s  "


def _line(report: MomentReport) -> str:
    from canvass.distance.search import counted_text, found_text

    text = found_text(report) + counted_text(report)
    if report.under_way:
        text += f"; {counted(report.under_way, 'message')} under way"
    counts = f"{report.states:,} states, {report.seconds:.1f} s"
    return f"{_time(report)}{report.moment}: {text}; {counts}"


def _nearest(reports: Sequence[MomentReport]) -> Iterator[str]:
    """Give a summary and the nearest moments, by number of faults and then of steps.

    Then come moments without a violation in reach at which reported positions are counted too far.
    """
    from canvass.distance.search import counted_text, faults_text

    near = sorted(
        (one for one in reports if one.steps is not None),
        key=lambda one: (sum(one.faults.values()), one.steps),
    )
    exposed = sorted(
        (one for one in reports if one.steps is None and one.counted_too_far),
        key=lambda one: -(one.counted_too_far or 0),
    )
    yield f"{len(reports)} moments, {len(near)} with a violation in reach" + (":" if near else "")
    for one in near[:5]:
        yield f"  {_time(one)}{one.moment}: {one.steps} steps{faults_text(one)}{counted_text(one)}"
    for one in exposed[:5]:
        yield f"  {_time(one)}{one.moment}: more than {one.searched} steps{counted_text(one)}"


def _counterexample(root: Path, found: Distance) -> Counterexample:
    from canvass.distance.search import MODULE
    from canvass.models.counterexample import counterexample

    assert found.violation is not None
    return counterexample(root, root / f"{MODULE}.tla", MODULE, found.violation)


def _show(root: Path, found: Distance, positions: Sequence[int], *, diagram: bool) -> None:
    if found.violation is None:
        return
    shown = _counterexample(root, found)
    named = ", ".join(f"{rank} = {position}" for rank, position in enumerate(positions))
    print(f"positions: {named}; greater numbers are beyond all of them")
    show_counterexample(shown, diagram=diagram)

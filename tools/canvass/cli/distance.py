"""``canvass distance``: the nearest violation from a moment of a run.

This module finds the moments that the command line names, and writes the results. The search is in
`canvass.distance.search`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from canvass.cli.check import export as export_counterexamples
from canvass.cli.check import need_export_target, show_counterexample
from canvass.cli.options import Output, PathKind, kind_of, named_step, need_runs
from canvass.cli.output import EXIT_OK, EXIT_UNEXPECTED, CommandError, Format, write_json
from canvass.spec.files import spec_root
from canvass.traces.errors import counted

if TYPE_CHECKING:
    from canvass.distance.moments import RunMoments
    from canvass.distance.search import Distance, MomentReport
    from canvass.models.counterexample import Counterexample
    from canvass.tlc.results import Violation

_SPAN: Final = re.compile(r"(\d{1,8}(?:\.\d{1,9})?)(ms|s|m)", re.ASCII)
_UNIT_NS: Final = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_NUMBER: Final = re.compile(r"\d{1,18}", re.ASCII)


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


def _chosen(source: str, every: str | None) -> tuple[RunMoments, dict[int, int | None]]:
    """Give a run, and the places in it from which to search.

    With ``--every``, each has the number of bytes by which reports are counted too far.

    Raises
    ------
    CommandError
        If there is no run at the path, or the run does not have the event.
    TraceError
        If the run cannot be read.
    """
    from canvass.distance.moments import RunMoments

    folder, which = _parted(source)
    need_runs([folder], "canvass distance")
    if every is not None and which:
        raise CommandError("--every covers the whole run; leave out the event")
    try:
        run = RunMoments(folder)
    except KeyError:
        raise CommandError(f"{folder}: the run has no events") from None
    if every is None:
        return run, {_place(run, which): None}
    exposed = run.exposed_every(span_ns(every))
    return run, {place: exposure.counted_too_far for place, exposure in exposed}


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
    typer.Option(metavar="TIME", help="Search once in each interval, such as 1s."),
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
            metavar="RUN[:EVENT]",
            help="An event of a run. EVENT: 85, 1:27 (step 27 of member 1) or 12.5s. Default: the"
            " last event.",
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
    """Search for the nearest violation from a moment of a run.

    Exit code 0: no violation was found within the bounds and the time limit. 1: a violation
    was found. 2: TLC could not run, or did not finish.

    canvass distance RUN:95.1s --diagram

    canvass distance RUN --every 1s --format json > distance.json
    """
    from canvass.distance.moments import UnknownState

    refused = {
        "--diagram draws for a person; leave out --format json": output is Format.JSON,
        "--every draws no swim lanes; leave out --diagram": every is not None,
    }
    for reason in filter(refused.get, refused if diagram else ()):
        raise CommandError(reason)
    if export_to is not None:
        need_export_target(export_to)
    run, places = _chosen(source, every)
    reports: list[MomentReport] = []
    violations: list[tuple[int, Violation]] = []
    try:
        for report, violation in _searched(run, places, steps, timeout):
            reports.append(report)
            if violation is not None:
                violations.append((len(violation.states), violation))
            if output is Format.HUMAN:
                print(_line(report))
                if every is None and violation is not None:
                    _show(violation, report.positions, diagram=diagram)
    except UnknownState as error:
        raise CommandError(f"{source}: {error}, so its state is not known") from None
    if output is Format.JSON:
        from canvass.distance.search import MAX_CRASHES, PROPERTY, DistanceReport

        bounds = {"steps": steps, "crashes": MAX_CRASHES, "seconds": timeout}
        write_json(DistanceReport(source, PROPERTY, bounds, reports))
    elif every is not None:
        for line in _nearest(reports):
            print(line)
    if export_to is not None:
        nearest = sorted(violations, key=lambda one: one[0])[:1]
        export_counterexamples([_counterexample(one) for _, one in nearest], export_to)
    raise typer.Exit(EXIT_UNEXPECTED if violations else EXIT_OK)


def _searched(
    run: RunMoments, places: Mapping[int, int | None], steps: int, seconds: float
) -> Iterator[tuple[MomentReport, Violation | None]]:
    """Search from each place.

    If moments differ only in numbers of positions and terms, one search serves all of them.
    """
    from canvass.distance.search import MomentReport, search

    known: dict[str, tuple[Distance, Violation | None]] = {}
    for place, whole in zip(places, run.moments(places), strict=True):
        moment = whole.without_repeats()
        small, back = moment.small()
        key = repr(replace(small, label=""))
        if key not in known:
            known[key] = search(spec_root(), moment, steps, seconds)
        found, violation = known[key]
        report = MomentReport(
            **msgspec.structs.asdict(found),
            moment=moment.label,
            event=place,
            time_ns=run.time_ns(place) - run.time_ns(0),
            positions=[back[rank] for rank in range(small.end + 1) if rank in back],
            under_way=len(moment.under_way),
            repeats=len(whole.under_way) - len(moment.under_way),
            counted_too_far=places[place],
        )
        yield report, violation


def _time(report: MomentReport) -> str:
    return f"{report.time_ns / 1e9:9.3f} s  "


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


def _counterexample(violation: Violation) -> Counterexample:
    from canvass.distance.search import MODULE
    from canvass.models.counterexample import counterexample

    root = spec_root()
    return counterexample(root, root / f"{MODULE}.tla", MODULE, violation)


def _show(violation: Violation, positions: Sequence[int], *, diagram: bool) -> None:
    named = ", ".join(f"{rank} = {position}" for rank, position in enumerate(positions))
    print(f"positions: {named}; greater numbers are beyond all of them")
    show_counterexample(_counterexample(violation), diagram=diagram)

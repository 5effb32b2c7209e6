"""``canvass check --from``: the nearest violation from a moment of a run, or from members' disks.

The command line's part only: which moments are meant, and how distances are written. The search is
`canvass.distance.search`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from canvass.cli.output import (
    EXIT_ERROR,
    EXIT_OK,
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    complain,
    write_json,
)

if TYPE_CHECKING:
    from canvass.distance.moment import Moment
    from canvass.distance.search import Bounds, Distance
    from canvass.tlc import TlcOptions

_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)")
_UNIT_NS: Final = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_STEP: Final = re.compile(r"(\d+)/(\d+)")


class MomentReport(msgspec.Struct, frozen=True, rename="camel"):
    """The distance from one moment: an element of ``canvass check --from --format json``.

    ``steps`` is null if no violation was found; then ``searched`` says how far was looked.
    ``countedTooFar`` is how far the reports that a member counts are beyond what the reporters
    share with its log, in bytes; null without ``--every``.
    """

    moment: str
    event: int | None
    time_ns: int | None
    steps: int | None
    faults: dict[str, int]
    searched: int
    complete: bool
    states: int
    seconds: float
    positions: list[int]
    counted_too_far: int | None = None


class DistanceReport(msgspec.Struct, frozen=True, rename="camel"):
    """What ``canvass check --from --format json`` writes."""

    source: str
    property: str
    bounds: dict[str, float]
    moments: list[MomentReport]


class _At(msgspec.Struct, frozen=True):
    """A moment that is to be searched from, and where in a run it is."""

    moment: Moment
    event: int | None = None
    time_ns: int | None = None
    counted_too_far: int | None = None


def span_ns(text: str) -> int:
    """Read a length of time: ``500ms``, ``1s``, ``2m``.

    Raises
    ------
    CommandError
        If it is none, or zero.
    """
    found = _SPAN.fullmatch(text.strip())
    length = int(float(found[1]) * _UNIT_NS[found[2]]) if found else 0
    if not length:
        raise CommandError(f"{text!r} is no length of time; write 500ms, 1s or 2m")
    return length


def is_run(path: Path) -> bool:
    """Whether a folder is a run; else it is taken for members' disks."""
    return (path / "run.json").is_file()


def given_moments(source: str, every: str | None) -> Iterator[_At]:
    """Give the moments that ``--from`` and ``--every`` name.

    Raises
    ------
    CommandError
        If there is no such run or no such moment in it.
    DiskError, TraceError
        If disks or a run cannot be read.
    """
    path, _, which = source.rpartition(":")
    folder = Path(path) if path and not Path(source).exists() else Path(source)
    which = which if folder == Path(path) and path else ""
    if not folder.exists():
        raise CommandError(f"{folder} does not exist")
    if not is_run(folder):
        if which or every:
            raise CommandError(f"{folder} is not a run; --every and EVENT require one")
        from canvass.distance.of_disks import moment_of_disks

        yield _At(moment_of_disks([folder]))
        return
    yield from _of_run(folder, which, every)


def _of_run(folder: Path, which: str, every: str | None) -> Iterator[_At]:
    from canvass.distance.of_run import RunMoments

    run = RunMoments(folder)
    if every and which:
        raise CommandError("--every covers the whole run; leave out the event")
    chosen = run.exposed_every(span_ns(every)) if every else []
    too_far = {place: exposed.counted_too_far for place, exposed in chosen}
    places = list(too_far) or [_place(run, which)]
    begun = run.time_ns(0)
    for place, moment in zip(places, run.moments(places), strict=True):
        yield _At(moment, place, run.time_ns(place) - begun, too_far.get(place))


def _place(run: object, which: str) -> int:
    from canvass.distance.of_run import RunMoments

    assert isinstance(run, RunMoments)
    step = _STEP.fullmatch(which)
    if not which:
        return run.total - 1
    if step:
        found = run.place_of(int(step[1]), int(step[2]))
        if found is None:
            raise CommandError(f"member {step[1]} has no step {step[2]} in this run")
        return found
    if which.isdecimal():
        if int(which) >= run.total:
            raise CommandError(f"there is no event {which}: the run has {run.total:,}, from 0 on")
        return int(which)
    until = run.time_ns(0) + span_ns(which)
    return max((k for k in range(run.total) if run.time_ns(k) <= until), default=0)


def check_from(
    source: str,
    *,
    every: str | None,
    wanted: str,
    bounds: Bounds,
    root: Path,
    options: TlcOptions,
    diagram: bool,
    output: Format,
    export_to: Path | None,
) -> int:
    """Search from each moment, write what was found, and give the exit code.

    Raises
    ------
    CommandError, DiskError, TraceError, TlcError
        If there is no such moment, or the search cannot be done.
    """
    from canvass.distance.search import search

    _check_words(wanted, every, export_to)
    reports: list[MomentReport] = []
    known: dict[str, Distance] = {}
    failed = False
    for at in given_moments(source, every):
        small, back = at.moment.without_idle_talk().small()
        key = repr(replace(small, label=""))
        if key not in known:
            known[key] = search(root, at.moment, options, bounds, wanted)
        found = known[key]
        if found.failure:
            complain(f"{at.moment.label}: {found.failure}")
            failed = True
            continue
        positions = [back[rank] for rank in range(small.end + 1) if rank in back]
        reports.append(
            MomentReport(
                moment=at.moment.label,
                event=at.event,
                time_ns=at.time_ns,
                steps=found.steps,
                faults=found.faults,
                searched=found.searched,
                complete=found.complete,
                states=found.states,
                seconds=round(found.seconds, 3),
                positions=positions,
                counted_too_far=at.counted_too_far,
            )
        )
        if output is Format.HUMAN:
            print(_line(reports[-1], wanted))
            if every is None:
                _show(root, found, positions, diagram=diagram)
    if output is Format.JSON:
        kept = {"steps": bounds.steps, "crashes": bounds.crashes, "seconds": bounds.seconds}
        write_json(DistanceReport(source, wanted, kept, reports))
    elif every is not None:
        for line in _nearest(reports):
            print(line)
    if export_to is not None and _is_picture(export_to):
        _draw(reports, wanted, export_to)
    elif export_to is not None:
        _export(root, list(known.values()), export_to)
    if failed:
        return EXIT_ERROR
    return EXIT_UNEXPECTED if any(one.steps is not None for one in reports) else EXIT_OK


def _check_words(wanted: str, every: str | None, export_to: Path | None) -> None:
    from canvass.distance.search import PROPERTIES

    if wanted not in PROPERTIES:
        raise CommandError(f"--property {wanted} is none of {', '.join(PROPERTIES)}")
    if every is None and export_to is not None and _is_picture(export_to):
        raise CommandError(f"{export_to}: a picture is of a run over time; add --every")


def _faults(report: MomentReport) -> str:
    named = {"crash": "crashes", "lost leader": "lost leaders"}
    parts = [f"{n} {kind if n == 1 else named[kind]}" for kind, n in sorted(report.faults.items())]
    return f" ({', '.join(parts)} among them)" if parts else ""


def _line(report: MomentReport, wanted: str) -> str:
    at = "" if report.time_ns is None else f"{report.time_ns / 1e9:9.3f} s  "
    if report.steps == 0:
        said = f"{wanted} is violated here already"
    elif report.steps is not None:
        steps = "1 step" if report.steps == 1 else f"{report.steps} steps"
        said = f"{steps} to a violation of {wanted}{_faults(report)}"
    else:
        stopped = "" if report.complete else ", stopped by the time limit"
        said = f"no violation of {wanted} within {report.searched} steps{stopped}"
    said += _counted(report)
    return f"{at}{report.moment}: {said}; {report.states:,} states, {report.seconds:.1f} s"


def _counted(report: MomentReport) -> str:
    if not report.counted_too_far:
        return ""
    return f"; reports are counted {report.counted_too_far:,} bytes too far"


def _nearest(reports: Sequence[MomentReport]) -> Iterator[str]:
    """The moments in the order of their distance: those that need the fewest faults first.

    Where none is in reach, a member that counts reports too far is nearer than one that does not.
    """
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
        at = "" if one.time_ns is None else f"{one.time_ns / 1e9:9.3f} s  "
        yield f"  {at}{one.moment}: {one.steps} steps{_faults(one)}{_counted(one)}"
    for one in exposed[:5]:
        at = "" if one.time_ns is None else f"{one.time_ns / 1e9:9.3f} s  "
        yield f"  {at}{one.moment}: more than {one.searched} steps{_counted(one)}"


def _show(root: Path, found: Distance, positions: Sequence[int], *, diagram: bool) -> None:
    from canvass.cli.counterexample import counterexample, swim_lanes
    from canvass.distance.search import MODULE

    if found.violation is None:
        return
    shown = counterexample(root, root / f"{MODULE}.tla", MODULE, found.violation)
    named = ", ".join(f"{rank} = {position:,}" for rank, position in enumerate(positions))
    print(f"positions: {named}; larger ones are behind all of these")
    for line in swim_lanes(shown) if diagram else shown.lines():
        print(line)


def _is_picture(target: Path) -> bool:
    return target.suffix == ".svg"


def _draw(reports: Sequence[MomentReport], wanted: str, target: Path) -> None:
    from canvass.cli.distance_curve import curve

    if not reports:
        complain("there is nothing to draw")
        return
    target.write_text(curve(reports, f"steps to a violation of {wanted}"), encoding="utf-8")
    complain(f"wrote {target}")


def _export(root: Path, found: Sequence[Distance], target: Path) -> None:
    from canvass.cli.counterexample import counterexample
    from canvass.distance.search import MODULE

    violating = [one for one in found if one.violation is not None]
    if not violating:
        complain("there is no counterexample to export")
        return
    nearest = min(violating, key=lambda one: one.steps or 0)
    assert nearest.violation is not None
    document = counterexample(root, root / f"{MODULE}.tla", MODULE, nearest.violation).document()
    target.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
    complain(f"wrote {target}")

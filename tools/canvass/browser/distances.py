"""The distances over a run, read from the document of ``canvass distance --format json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from canvass.browser import api
from canvass.browser.documents import reading
from canvass.browser.runs import OpenRun
from canvass.browser.sources import Source
from canvass.browser.tracks import seconds_text
from canvass.browser.verdicts import RunSource
from canvass.distance.report import PROPERTY, DistanceReport, MomentReport, distance_text
from canvass.distance.search import FAULTS

MAX_BYTES: Final = 64 << 20
"""Largest file: with 300 bytes for a moment, it has 200,000 moments."""
MAX_MOMENTS: Final = 5000
"""Most moments in an answer: more would each be narrower than a pixel."""


class DistanceError(Exception):
    """The distances cannot be shown; the message is one line."""


def add_distances(sources: Sequence[Source], file: Path) -> None:
    """Read a document, and give its distances to the only source, which must be a run.

    Raises
    ------
    DistanceError
        If there are other sources, or the file is no document of this run.
    TraceError, AeronLogError
        If the run cannot be read.
    """
    if [source.kind for source in sources] != ["run"]:
        raise DistanceError(f"{file}: distances are of one run; open that run alone")
    run: RunSource = sources[0].content.get()
    run.distances = read_distances(file, run.opened)


def read_distances(file: Path, opened: OpenRun) -> api.Distances:
    """Read the distances over a run.

    Raises
    ------
    DistanceError
        If the file cannot be read, is not a document of ``canvass distance --format json``, or
        has a moment of another run: an event that the run does not have, or another time of an
        event.
    """
    report = _document(file)
    for moment in report.moments:
        if reason := _reason_against(moment, opened):
            raise DistanceError(f"{file}: not of the run {opened.run.run_id}: {reason}")
    return api.Distances(
        property=report.property,
        moments=tuple(_mark(one) for one in report.moments[:MAX_MOMENTS]),
        left_out=max(0, len(report.moments) - MAX_MOMENTS),
    )


def _document(file: Path) -> DistanceReport:
    with reading(file, DistanceError, "not written by `canvass distance`"):
        if not file.is_file():
            reason = "not a file" if file.exists() else "there is no such file"
            raise DistanceError(f"{file}: {reason}")
        if file.stat().st_size > MAX_BYTES:
            raise DistanceError(f"{file}: larger than {MAX_BYTES >> 20} MiB")
        report = msgspec.json.decode(file.read_bytes(), type=DistanceReport)
    named = {kind for moment in report.moments for kind in moment.faults}
    if report.property != PROPERTY or not named <= set(FAULTS.values()):
        raise DistanceError(f"{file}: not written by `canvass distance`: unknown property or fault")
    return report


def _reason_against(moment: MomentReport, opened: OpenRun) -> str:
    """Tell why a moment is not of the run; empty if it is."""
    if moment.event is None or moment.time_ns is None:
        return "a moment of disks has no event"
    if moment.event >= opened.total:
        return f"it has event {moment.event}, but the run has {opened.total:,} events, from 0 on"
    time = opened.loaded.columns.time_ns
    begun, now = (int(time[opened.lanes.rows[place]]) for place in (0, moment.event))
    if moment.time_ns != now - begun:
        times = f"{moment.time_ns:,} ns after the first one, but {now - begun:,} ns in the run"
        return f"its event {moment.event} is {times}"
    return ""


def _mark(moment: MomentReport) -> api.DistanceMark:
    assert moment.event is not None
    assert moment.time_ns is not None
    time = f"{seconds_text(moment.time_ns)} after the first event"
    return api.DistanceMark(
        event=moment.event,
        text=f"{time}: {distance_text(moment)}",
        steps=moment.steps,
        searched=moment.searched,
        exposed=bool(moment.counted_too_far),
    )

"""Drive the distinct steps of recorded runs on Aeron's classes."""

from __future__ import annotations

from typing import Final

import msgspec

from canvass.aeron_driver import DriverError
from canvass.aeron_driver.compilation import Driver
from canvass.aeron_driver.driving import Progress, drive, edge_steps
from canvass.aeron_driver.report import Group, Part, RulesPart, TraceReport
from canvass.aeron_driver.run_steps import (
    UNDRIVABLE,
    Collected,
    DistinctSteps,
    RunEvent,
    table_of,
)
from canvass.aeron_driver.steps import DrivableSteps
from canvass.traces.run import RunFolder

_MAX_LINES: Final = 3
"""Lines of the log that are named of one event."""


def drive_runs(driver: Driver, found: Collected, progress: Progress | None = None) -> TraceReport:
    """Drive the distinct steps of some runs.

    Parameters
    ----------
    driver
        Compiled against the release.
    found
        The runs' steps.
    progress
        Called with the number of steps done and of all steps of one size and revision.

    Raises
    ------
    DriverError
        If the runs have no step that could be driven, or the driver's process ends.
    """
    ordered = sorted(
        found.by_rules.values(), key=lambda one: (one.rules.revision, one.rules.member_count)
    )
    parts = [
        RulesPart(one.rules.member_count, one.rules.revision, _drive_one(driver, one, progress))
        for one in ordered
    ]
    if not any(part.steps.driven for part in parts):
        raise DriverError("the runs have no step that could be driven")
    return TraceReport(
        runs=found.runs,
        events=found.recorded,
        release=driver.class_path.release,
        release_revision=driver.class_path.revision,
        not_drivable=[
            msgspec.structs.replace(reason, count=found.undrivable[status])
            for status, reason in UNDRIVABLE.items()
            if found.undrivable[status]
        ],
        parts=parts,
    )


def _drive_one(driver: Driver, distinct: DistinctSteps, progress: Progress | None) -> Part:
    steps = DrivableSteps(table_of(distinct))
    part = drive(driver, steps, edge_steps(steps), progress=progress)
    groups = [_with_event(group, distinct.events) for group in part.groups]
    return msgspec.structs.replace(part, groups=groups)


def _with_event(group: Group, events: list[RunEvent]) -> Group:
    example = group.example
    named = msgspec.structs.replace(example, edge=-1, event=place_of(events[example.edge]))
    return msgspec.structs.replace(group, example=named)


def place_of(event: RunEvent) -> str:
    """Name the place of an event: file and line, the event, and the lines of an imported log."""
    name = f"event {event.member}:{event.step}"
    if not event.path.is_dir():
        return f"{event.path} run {event.run_id} {name}"
    folder, line = RunFolder(event.path), 0
    for batch in folder.batches(event.member):
        for each in batch:
            line += 1
            if each.step != event.step:
                continue
            place = f"{folder.streams[event.member]}:{line} {name}"
            if each.source is None:
                return place
            shown = ",".join(map(str, each.source.lines[:_MAX_LINES]))
            return f"{place} {each.source.file}:{shown}"
    return f"{folder.streams[event.member]} {name}"

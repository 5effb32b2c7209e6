"""The distinct steps of recorded runs, laid out like the steps of a state graph.

Steps with equal canonical forms are one distinct step. The driver takes the first of them as it was
recorded: no field of its state is erased. Only its numbers are replaced by their ranks, and its
member becomes member 0, as in every graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
from msgspec.structs import replace

from canvass.aeron_driver import DriverError
from canvass.aeron_driver.drivable import DrivableSteps
from canvass.aeron_driver.driver import Driver
from canvass.aeron_driver.driving import (
    Part,
    Progress,
    Reason,
    RulesPart,
    TraceReport,
    drive,
    edge_steps,
)
from canvass.cluster.member import Member
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.conformance.run_arrays import steps_of
from canvass.conformance.verify import Unit
from canvass.graph.artifact import StepArrays
from canvass.steps.kernel import Status, canonical_keys
from canvass.steps.step import Sends, Step, columns_of, renamed, smallest, step_of
from canvass.traces.columns import EventColumns
from canvass.traces.errors import TraceError
from canvass.traces.parquet import DatasetFile
from canvass.traces.run import RunFolder
from canvass.traces.schema import NumberKind, Run, kind

UNDRIVABLE: Final = {
    Status.UNKNOWN_BEFORE: (
        "unknown state",
        "The state before is unknown: the stream does not begin at step 0, or events are missing.",
    ),
    Status.OUT_OF_DOMAIN: (
        "impossible value",
        "A field names a member that the cluster does not have.",
    ),
}
"""The reasons why an event is not a step: a name and a sentence."""


@dataclass(frozen=True, slots=True)
class RunEvent:
    """The place in a run at which a step was recorded."""

    path: Path
    run_id: str
    member: int
    step: int


@dataclass(slots=True)
class Collected:
    """The distinct steps of some runs.

    Attributes
    ----------
    runs, recorded
        Numbers of runs and events.
    undrivable
        Numbers of events that are not steps, by reason.
    by_rules
        The distinct steps as `as_driven` gives them, each with the event at which it first
        occurred.
    """

    runs: int = 0
    recorded: int = 0
    undrivable: Counter[Status] = field(default_factory=Counter)
    by_rules: dict[Rules, dict[Step, RunEvent]] = field(default_factory=dict)
    _keys: set[bytes] = field(default_factory=set)

    def read(self, path: Path, runs: Mapping[str, Run], batches: Iterable[EventColumns]) -> None:
        """Read runs batch by batch, and keep the distinct steps."""
        rules = {run_id: _rules(path, run) for run_id, run in runs.items()}
        self.runs += len(runs)
        last: EventColumns | None = None
        for columns in batches:
            self.recorded += len(columns)
            own = [runs[run_id] for run_id in columns.runs]
            steps = steps_of(columns, own, last)
            keys, status = canonical_keys(steps, [run.rules for run in own], columns.run)
            last = columns.last()
            for row in range(len(columns)):
                if status[row] == Status.KEYED:
                    key = keys[row].tobytes()
                    if key in self._keys:
                        continue
                    self._keys.add(key)
                elif status[row] != Status.FRAME_BROKEN:
                    self.undrivable[Status(int(status[row]))] += 1
                    continue
                # A step with a broken frame changes a field that its action may not change, but can
                # be driven.
                step = as_driven(step_of(steps, row))
                run_id = columns.runs[int(columns.run[row])]
                place = int(columns.member[row]), int(columns.step[row])
                found = self.by_rules.setdefault(rules[run_id], {})
                found.setdefault(step, RunEvent(path, run_id, *place))


def collect(units: Iterable[Unit]) -> Collected:
    """Read runs, and give their distinct steps.

    Parameters
    ----------
    units
        Run folders and files of data sets, as `canvass.conformance.verify.units_of` gives them.

    Raises
    ------
    DriverError
        If no release of Aeron follows the rules of a run.
    TraceError
        If a unit is not a trace.
    """
    found = Collected()
    for unit in units:
        if isinstance(unit, TraceError):
            raise unit
        if unit.suffix == ".parquet" and not unit.is_dir():
            with DatasetFile(unit) as file:
                runs = {run_id: entry.run for run_id, entry in file.runs.items()}
                found.read(unit, runs, file.batches())
        else:
            folder = RunFolder(unit)
            found.read(unit, {folder.run.run_id: folder.run}, folder.columns())
    return found


def _rules(path: Path, run: Run) -> Rules:
    """Give the rules of Aeron that a run follows."""
    try:
        rules = run.rules
    except ValueError as error:
        raise DriverError(f"{path}: {error}") from None
    if rules.hardening:
        raise DriverError(f"{path}: run {run.run_id} is hardened: no release follows its rules")
    return Rules(rules.member_count, rules.revision, frozenset(), NULL_VALUE)


def as_driven(step: Step) -> Step:
    """Give a step as it is driven: with ranks for numbers, and the inputs that its action reads.

    The member of the step and member 0 swap ids. The sends are ordered by receiver.
    """
    step = smallest(step)
    i = step.member
    place = {i: 0, 0: i}

    def rename(name: str, value: int) -> int:
        return place.get(value, value) if kind(name) is NumberKind.MEMBER else value

    def moved(state: Member) -> Member:
        records = list(state.members)
        records[0], records[i] = records[i], records[0]
        return replace(state, members=tuple(records))

    named = renamed(step, rename)
    sends: Sends = tuple(
        sorted(((place.get(to, to), sent) for to, sent in named.sends), key=lambda send: send[0])
    )
    return replace(
        named,
        member=0,
        before=moved(named.before),
        after=moved(named.after),
        input=replace(
            named.input,
            active=frozenset(place.get(j, j) for j in step.input.active),
            accepted=frozenset(place.get(j, j) for j in step.input.accepted),
        ),
        sends=sends,
    )


def table_of(rules: Rules, steps: Sequence[Step]) -> StepArrays:
    """Lay out distinct steps as arrays; a step has two rows of states, before and after it."""
    columns = columns_of(steps)
    rows = np.arange(len(steps), dtype=np.int64)
    return StepArrays(
        rules=rules,
        state=columns.state,
        members=columns.members,
        log_offsets=columns.log_offsets,
        log=columns.log,
        input_action=columns.action,
        inputs=columns.inputs,
        message=columns.message,
        send_offsets=columns.send_offsets,
        sends=columns.sends,
        source=columns.before,
        input=rows,
        target=columns.after,
        sent=rows,
    )


_MAX_LINES: Final = 3
"""Maximum number of lines of the log that are named for an event."""


def drive_runs(driver: Driver, found: Collected, progress: Progress | None = None) -> TraceReport:
    """Drive the distinct steps of some runs.

    Parameters
    ----------
    driver
        The driver, compiled against the release.
    found
        The distinct steps of the runs.
    progress
        Called with the number of steps done and of all steps under the same rules.

    Raises
    ------
    DriverError
        If the runs have no step that can be driven, or the driver's process ends.
    """
    ordered = sorted(found.by_rules, key=lambda rules: (rules.revision, rules.member_count))
    parts = [
        RulesPart(
            rules.member_count,
            rules.revision,
            _drive_one(driver, rules, found.by_rules[rules], progress),
        )
        for rules in ordered
    ]
    if not any(part.steps.driven for part in parts):
        raise DriverError("the runs have no step that can be driven")
    return TraceReport(
        runs=found.runs,
        events=found.recorded,
        release=driver.class_path.release,
        release_revision=driver.class_path.revision,
        not_drivable=[
            Reason(*UNDRIVABLE[status], count) for status, count in sorted(found.undrivable.items())
        ],
        parts=parts,
    )


def _drive_one(
    driver: Driver, rules: Rules, distinct: Mapping[Step, RunEvent], progress: Progress | None
) -> Part:
    steps = DrivableSteps(table_of(rules, list(distinct)))
    part = drive(driver, steps, edge_steps(steps), progress=progress)
    events = list(distinct.values())
    groups = [
        replace(
            group,
            example=replace(group.example, edge=-1, event=place_of(events[group.example.edge])),
        )
        for group in part.groups
    ]
    return replace(part, groups=groups)


def place_of(event: RunEvent) -> str:
    """Name the place of an event: file, line, event, and the log lines of an imported run."""
    name = f"event {event.member}:{event.step}"
    if not event.path.is_dir():
        return f"{event.path} run {event.run_id} {name}"
    folder = RunFolder(event.path)
    events = chain.from_iterable(folder.batches(event.member))
    for line, each in enumerate(events, 1):
        if each.step == event.step:
            place = f"{folder.streams[event.member]}:{line} {name}"
            if each.source is None:
                return place
            shown = ",".join(map(str, each.source.lines[:_MAX_LINES]))
            return f"{place} {each.source.file}:{shown}"
    return f"{folder.streams[event.member]} {name}"

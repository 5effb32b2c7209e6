"""What there is to check, and how it is cut into tasks: names and sizes only, no file is opened.

A `Unit` is what one task must have whole: a run folder, a folder of Aeron's logs, or one file of a
Parquet data set. Units
are packed into tasks of like cost, so that neither a thousand small runs nor one large one leaves
the other tasks waiting. What is no run becomes a refused unit and stops nothing else.
"""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from canvass.traces.aeron_log.naming import is_log_name
from canvass.traces.errors import Code, TraceError
from canvass.traces.limits import MAX_RUNS
from canvass.traces.run import RUN_FILE

BYTES_PER_COST: Final = {".ndjson": 1, ".gz": 20, ".zst": 30, ".parquet": 100}
"""How many bytes of plain NDJSON hold as many events as one byte of such a file does, about."""

AERON_LOG_COST: Final = 200
"""A byte of an event log is that much dearer: the importer drives the core with each line."""

TASK_COST: Final = 1 << 29
"""Bytes of plain NDJSON that one task should have at most: about 300,000 events, a second's work
and more than a task costs to start.
"""

COST_PER_EVENT: Final = TASK_COST // 300_000
"""Bytes of plain NDJSON that an event has, about."""

_RUN_FOLDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


class UnitKind(str, Enum):
    """What a unit is."""

    RUN = "RUN"
    """A run folder."""
    FILE = "FILE"
    """A file of a Parquet data set: whole runs."""
    AERON_LOGS = "AERON_LOGS"
    """A folder with the event logs of a real cluster, which is imported where it is checked."""
    REFUSED = "REFUSED"
    """Something in a corpus folder that no run can be."""
    JOIN = "JOIN"
    """A run, or the runs without events, of a unit that was cut into parts."""


Partition = tuple[tuple[str, str], ...]
"""Names and values, from the outermost folder on."""


class Part(Struct, frozen=True):
    """A part of a unit that one task would take too long for: whole rows, by their place."""

    number: int
    """Of the parts of the unit, in the order of their events."""
    first: int
    """The first row group of a file, or a byte of a stream; what begins there or later is in it."""
    end: int
    last: bool
    """Whether the file or stream ends with it."""
    member: int = -1
    """Of a run folder: whose stream it is."""


class Unit(Struct, frozen=True):
    """What one task takes whole."""

    kind: UnitKind
    path: str
    cost: int
    """Its size as bytes of plain NDJSON, about."""
    code: str = ""
    """Of a refused unit: a `Code`."""
    reason: str = ""
    runs: tuple[str, ...] = ()
    """Of a unit that is checked again: the ids of the runs to be reported; all if there are none.
    Of one that joins parts: the run that was cut, or none for the runs of the file without events.
    """
    part: Part | None = None
    """If it is a part: which."""
    joined: tuple[Part, ...] = ()
    """If it joins parts: which, in order."""
    partition: Partition = ()
    """Names and values of the partitions that it is in, as Hive writes them in folder names."""

    @property
    def location(self) -> Path:
        """Its path."""
        return Path(self.path)


Task = tuple[Unit, ...]
"""Units that one Spark task checks, one after the other."""


def list_units(corpora: Iterable[Path]) -> list[Unit]:
    """List what is to be checked, each once, in the order of the corpora and of the names in them.

    Parameters
    ----------
    corpora
        Run folders, folders with logs of Aeron, folders of such folders, Parquet data sets or files
        of such. All of them may be in partitions: folders such as ``date=2026-11-20``.

    Raises
    ------
    TraceError
        If a corpus cannot be listed, or holds nothing to check, or is of both forms.
    """
    units = [unit for corpus in corpora for unit in _units_of(corpus.absolute())]
    return list({unit.path: unit for unit in units}.values())


def unit_at(path: Path) -> Unit | None:
    """Give what one folder or file of a corpus is, on its own; None if it is no part of a run."""
    if path.is_dir():
        return _folder_unit(path)
    return _file_unit(path) if path.suffix == ".parquet" and path.is_file() else None


def _units_of(path: Path, partition: Partition = ()) -> list[Unit]:
    if path.suffix == ".parquet" and path.is_file():
        return [_file_unit(path)]
    entries = _entries(path)
    if any(entry.name == RUN_FILE or is_log_name(entry.name) for entry in entries):
        return [_folder_unit(path)]
    units = [unit for entry in entries for unit in _units_at(entry, path)]
    kinds = {unit.kind for unit in units if not unit.partition}
    if UnitKind.FILE in kinds and kinds & {UnitKind.RUN, UnitKind.AERON_LOGS}:
        raise TraceError(Code.AMBIGUOUS, str(path), 0, 0, "run folders and Parquet files")
    if not units and not partition:
        raise TraceError(Code.NOT_FOUND, str(path), 0, 0, "neither runs nor a data set")
    return units


def _units_at(entry: os.DirEntry[str], parent: Path) -> list[Unit]:
    """Give the units that an entry of a corpus is or, if it is a partition, has."""
    found = partition_of(entry.name)
    if found is not None and entry.is_dir(follow_symlinks=False):
        units = _units_of(parent / entry.name, (found,))
        return [msgspec.structs.replace(u, partition=(found, *u.partition)) for u in units]
    unit = _unit_of(entry, parent)
    return [] if unit is None else [unit]


def partition_of(name: str) -> tuple[str, str] | None:
    """Read the name of a partition's folder, such as ``date=2026-11-20``; None if it is none."""
    key, separator, value = name.partition("=")
    return (unquote(key), unquote(value)) if key and separator else None


def _entries(path: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as listed:
            entries = [entry for entry in listed if not entry.name.startswith(".")]
    except FileNotFoundError:
        raise TraceError(
            Code.NOT_FOUND, str(path), 0, 0, "there is no such file or folder"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TraceError(Code.UNREADABLE, str(path), 0, 0, reason) from None
    if len(entries) > MAX_RUNS:
        raise TraceError(Code.TOO_LARGE, str(path), 0, 0, f"more than {MAX_RUNS} files")
    return sorted(entries, key=lambda entry: entry.name)


def _unit_of(entry: os.DirEntry[str], parent: Path) -> Unit | None:
    path = parent / entry.name
    if entry.is_symlink():
        return _refused(path, "a symbolic link")
    if entry.is_dir(follow_symlinks=False):
        if not _RUN_FOLDER.fullmatch(entry.name):
            return _refused(path, "no name for a run folder")
        return _folder_unit(path)
    return _file_unit(path) if entry.name.endswith(".parquet") else None


def _refused(path: Path, reason: str) -> Unit:
    return Unit(UnitKind.REFUSED, str(path), 0, Code.BAD_NAME.value, reason)


def _file_unit(path: Path) -> Unit:
    return Unit(UnitKind.FILE, str(path), cost_of(path.name, path.lstat().st_size))


def _folder_unit(path: Path) -> Unit:
    cost, kind = 0, UnitKind.RUN
    try:
        with os.scandir(path) as entries:
            found = list(entries)
            cost = sum(cost_of(e.name, e.stat(follow_symlinks=False).st_size) for e in found)
    except OSError:
        found = []  # Its reader says what is wrong with it.
    names = [entry.name for entry in found]
    if RUN_FILE not in names and any(map(is_log_name, names)):
        kind, cost = UnitKind.AERON_LOGS, cost * AERON_LOG_COST
    return Unit(kind, str(path), cost)


def cost_of(name: str, size: int) -> int:
    """Give the cost of a file of events: its size as plain NDJSON, about."""
    return size * BYTES_PER_COST.get(PurePath(name).suffix, 1)


def pack(units: Sequence[Unit], *, tasks: int | None = None, parallelism: int = 1) -> list[Task]:
    """Distribute units over tasks of like cost, the most expensive task first.

    Parameters
    ----------
    units
        All of them.
    tasks
        How many tasks, if the caller wants to say; never more than there are units.
    parallelism
        How many tasks run at once, if known: there are several for each, so that the last ones fill
        the gaps.

    Returns
    -------
    list
        Tasks without empty ones; the units of a task in their given order. Equal arguments give
        equal tasks.
    """
    if not units:
        return []
    total = sum(unit.cost for unit in units)
    wanted = max(4 * parallelism, -(-total // TASK_COST)) if tasks is None else tasks
    wanted = max(1, min(wanted, len(units)))
    loads = [(0, 0, number) for number in range(wanted)]
    chosen: list[list[int]] = [[] for _ in range(wanted)]
    for place in sorted(range(len(units)), key=lambda at: (-units[at].cost, at)):
        # Among equally loaded tasks the one with the fewest units: refused and empty ones cost 0.
        cost, count, number = heapq.heappop(loads)
        chosen[number].append(place)
        heapq.heappush(loads, (cost + units[place].cost, count + 1, number))
    order = sorted(loads, key=lambda load: (-load[0], load[2]))
    return [tuple(units[at] for at in sorted(chosen[number])) for _, _, number in order]

"""Units of a corpus, and their packing into tasks by size.

A `Unit` is a run folder, a folder of Aeron's logs, or one file of a Parquet data set; one task
checks it whole. Tasks have about the same cost, so that no task keeps the others waiting. An entry
of a corpus that cannot be a run becomes a refused unit, and the other units are checked.

Readers of traces need local files: a unit in a store is copied to this machine while it is read.
"""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from canvass.corpus.storage import (
    Entry,
    Place,
    UrlPath,
    absolute,
    download,
    entries,
    entry_of,
    files_below,
    place_of,
)
from canvass.traces.aeron_log.source import is_log_name
from canvass.traces.errors import Code, TraceError
from canvass.traces.limits import MAX_RUNS
from canvass.traces.run import EMPTY, MIXED, NO_RUN_FOLDER, RUN_FILE, RUN_FOLDER, stray_reason

BYTES_PER_COST: Final = {".ndjson": 1, ".gz": 20, ".zst": 30, ".parquet": 100}
"""Bytes of plain NDJSON that hold about as many events as one byte of a file with the suffix."""

AERON_LOG_COST: Final = 200
"""Cost of a byte of an event log: the importer drives the core with each line."""

TASK_COST: Final = 1 << 29
"""Maximum bytes of plain NDJSON in one task: about 300,000 events. They take about a second, longer
than the start of a task.
"""

COST_PER_EVENT: Final = TASK_COST // 300_000
"""Approximate bytes of an event in plain NDJSON."""


class UnitKind(str, Enum):
    """The kinds of units."""

    RUN = "RUN"
    """A run folder."""
    FILE = "FILE"
    """A file of a Parquet data set: whole runs."""
    AERON_LOGS = "AERON_LOGS"
    """A folder with the event logs of a real cluster; the task that checks it imports it."""
    REFUSED = "REFUSED"
    """An entry of a corpus folder that cannot be a run."""


Partition = tuple[tuple[str, str], ...]
"""Names and values of Hive partitions, outermost folder first."""


class Unit(Struct, frozen=True):
    """A unit of a corpus; one task checks it whole."""

    kind: UnitKind
    path: str
    """Its path or URL."""
    cost: int
    """Its approximate size as bytes of plain NDJSON."""
    code: str = ""
    """Why it is refused, as a `Code`; for ``REFUSED``."""
    reason: str = ""
    """Why it is refused, in words; for ``REFUSED``."""
    runs: tuple[str, ...] = ()
    """At a recheck: ids of the runs that are checked; empty for all."""
    partition: Partition = ()
    """Names and values of its Hive partitions."""
    copy: str = ""
    """Path of the local copy while a unit in a store is read."""
    changed_ns: int = 0
    """Time of the last change, in nanoseconds since 1970; 0 if unknown."""
    stat: str = ""
    """A hash of the names, sizes and times of its files; empty if unknown."""

    @property
    def location(self) -> Path:
        """The path of its files on this machine."""
        return Path(self.copy or self.path)

    @property
    def place(self) -> Place:
        """Its path or URL."""
        return place_of(self.path)


Task = tuple[Unit, ...]
"""The units of one task, which checks one after the other."""


def list_units(corpora: Iterable[Place]) -> list[Unit]:
    """List the units of corpora, each once, in the order of the corpora and of their names.

    Parameters
    ----------
    corpora
        Run folders, folders with logs of Aeron, folders of these folders, Parquet data sets or
        their files. All of them may be in partitions: folders such as ``date=2026-11-20``.

    Raises
    ------
    TraceError
        If a corpus cannot be listed, has no units, or has run folders beside Parquet files.
    """
    units = [unit for corpus in corpora for unit in _Lister(corpus).units()]
    return list({unit.path: unit for unit in units}.values())


def unit_at(place: Place) -> Unit | None:
    """Return the unit of a folder or a Parquet file; None for other files."""
    if place.is_dir():
        return _folder_unit(place, _entries_or_none(place))
    return _file_unit(place) if place.suffix == ".parquet" and place.is_file() else None


class _Lister:
    """Lists a corpus; one request lists all names in a store."""

    def __init__(self, root: Place) -> None:
        self._root = absolute(root)
        self._found: dict[str, list[Entry]] = {}
        if isinstance(root, UrlPath):
            for entry in root.entries(recursive=True):
                parent, _, name = f"/{entry.name}".rpartition("/")
                if not name.startswith("."):
                    self._found.setdefault(parent, []).append(entry._replace(name=name))

    def units(self) -> list[Unit]:
        """Return the units of the corpus."""
        if not _is_text(str(self._root)):
            raise TraceError(Code.BAD_NAME, str(self._root), 0, 0, _NO_TEXT)
        return self._units_of(self._root, ())

    def _units_of(self, place: Place, partition: Partition) -> list[Unit]:
        if place.suffix == ".parquet" and place.is_file():
            return [_file_unit(place)]
        found = self._entries(place)
        if _is_unit(found):
            return [self._folder_unit(place, found)]
        units = [unit for entry in found for unit in self._units_at(entry, place)]
        kinds = {unit.kind for unit in units if not unit.partition}
        if UnitKind.FILE in kinds and kinds & {UnitKind.RUN, UnitKind.AERON_LOGS}:
            raise TraceError(Code.AMBIGUOUS, str(place), 0, 0, MIXED)
        if not units and not partition:
            raise TraceError(Code.NOT_FOUND, str(place), 0, 0, EMPTY)
        return units

    def _units_at(self, entry: Entry, parent: Place) -> list[Unit]:
        """Return the units of an entry of a corpus: one, none, or all units of a partition."""
        place = parent / entry.name
        if not _is_text(entry.name) and (entry.folder or entry.name.endswith(".parquet")):
            return [_refused(place, _NO_TEXT)]
        key = partition_of(entry.name)
        if key is not None and entry.folder:
            units = self._units_of(place, (key,))
            return [msgspec.structs.replace(u, partition=(key, *u.partition)) for u in units]
        if entry.link:
            return [_refused(place, "a symbolic link")]
        if entry.folder:
            unit = self._folder_unit(place, self._entries_or_none(place), entry.modified_ns)
            if unit.kind is UnitKind.RUN and not RUN_FOLDER.fullmatch(entry.name):
                return [_refused(place, NO_RUN_FOLDER)]
            return [unit]
        if reason := stray_reason(entry.name):
            return [_refused(place, reason)]
        return [_file_unit(place, entry)] if entry.name.endswith(".parquet") else []

    def _folder_unit(self, place: Place, found: list[Entry] | None, changed_ns: int = 0) -> Unit:
        """Return the unit of a folder; a unit that has other units in it is refused."""
        inner = (entry.name for entry in found or () if entry.folder and not entry.link)
        for name in inner if _is_unit(found or ()) else ():
            if _is_unit(self._entries_or_none(place / name) or ()):
                return _refused(place, f"a run or event logs, and others in {name}")
        return _folder_unit(place, found, changed_ns)

    def _entries_or_none(self, place: Place) -> list[Entry] | None:
        with suppress(TraceError):
            return self._entries(place)
        return None

    def _entries(self, place: Place) -> list[Entry]:
        if isinstance(place, UrlPath):
            found = sorted(self._found.get(place.url.removeprefix(str(self._root)), []))
            if not found and place == self._root:
                raise _absent(place)
        else:
            found = _local_entries(place)
        if len(found) > MAX_RUNS:
            raise TraceError(Code.TOO_LARGE, str(place), 0, 0, f"more than {MAX_RUNS} files")
        return found


def _is_unit(found: Iterable[Entry]) -> bool:
    """Tell whether a folder with these entries is a run, or has the logs of a cluster."""
    return any(entry.name == RUN_FILE or is_log_name(entry.name) for entry in found)


def _local_entries(path: Place) -> list[Entry]:
    try:
        return entries(path)
    except FileNotFoundError:
        raise _absent(path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TraceError(Code.UNREADABLE, str(path), 0, 0, reason) from None


def _entries_or_none(place: Place) -> list[Entry] | None:
    try:
        return entries(place)
    except OSError:
        return None


def _absent(place: Place) -> TraceError:
    return TraceError(Code.NOT_FOUND, str(place), 0, 0, "there is no such file or folder")


def partition_of(name: str) -> tuple[str, str] | None:
    """Parse the name of a partition's folder, such as ``date=2026-11-20``; else return None."""
    key, separator, value = name.partition("=")
    return (unquote(key), unquote(value)) if key and separator else None


_NO_TEXT: Final = "the name is not UTF-8: rename it"


def _is_text(name: str) -> bool:
    """Tell whether a name is UTF-8: the file system gives other bytes as lone surrogates."""
    return not any("\ud800" <= each <= "\udfff" for each in name)


def _refused(place: Place, reason: str) -> Unit:
    # Files of tasks and tables hold UTF-8 only.
    path, why = (t.encode("utf-8", "backslashreplace").decode() for t in (str(place), reason))
    return Unit(UnitKind.REFUSED, path, 0, Code.BAD_NAME.value, why)


def _file_unit(place: Place, entry: Entry | None = None) -> Unit:
    if entry is None:
        entry = entry_of(place)
    size = 0 if entry is None else entry.size
    unit = Unit(UnitKind.FILE, str(place), cost_of(place.name, size))
    return _with_times(unit, [] if entry is None else [entry])


def _folder_unit(place: Place, found: list[Entry] | None, changed_ns: int = 0) -> Unit:
    """Return the unit of a folder; ``found`` is None if it cannot be listed: its reader fails."""
    listed = found or []
    cost, kind = sum(cost_of(e.name, e.size) for e in listed), UnitKind.RUN
    names = [entry.name for entry in listed]
    if RUN_FILE not in names and any(map(is_log_name, names)):
        if link := next((e.name for e in listed if e.link and is_log_name(e.name)), ""):
            # Its size and times are those of the link: a change of the log would not be seen.
            return _refused(place, f"{link} is a symbolic link")
        kind, cost = UnitKind.AERON_LOGS, cost * AERON_LOG_COST
    return _with_times(Unit(kind, str(place), cost), listed, changed_ns)


def _with_times(unit: Unit, files: Iterable[Entry], changed_ns: int = 0) -> Unit:
    """Set when a unit has changed, by its files and, on this machine, its folder."""
    described = blake2b(digest_size=16)
    for each in (file for file in files if not file.folder):
        line = f"{each.name}\0{each.size}\0{each.modified_ns}\n"
        described.update(line.encode(errors="surrogateescape"))
        changed_ns = max(changed_ns, each.modified_ns)
    stat = described.hexdigest() if changed_ns else ""
    return msgspec.structs.replace(unit, changed_ns=changed_ns, stat=stat)


def cost_of(name: str, size: int) -> int:
    """Return the cost of a file of events: its approximate size as plain NDJSON."""
    return size * BYTES_PER_COST.get(PurePath(name).suffix, 1)


def pack(units: Sequence[Unit], *, tasks: int | None = None, parallelism: int = 1) -> list[Task]:
    """Distribute units over tasks of about the same cost, the most expensive task first.

    Parameters
    ----------
    units
        All units.
    tasks
        Number of tasks, at most one for each unit. Default: from sizes and ``parallelism``.
    parallelism
        Number of tasks that run at once, if known. There are several tasks for each, so that short
        tasks fill the gaps at the end.

    Returns
    -------
    list
        Tasks, none of them empty; the units of a task in the given order. Equal arguments give
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


@contextmanager
def on_this_machine(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Yield units whose `location` is on this machine; copies are removed at the end."""
    if not any(isinstance(unit.place, UrlPath) for unit in units):
        yield list(units)
        return
    with tempfile.TemporaryDirectory(prefix="canvass-units-") as scratch:
        yield [_copied(unit, Path(scratch, str(at))) for at, unit in enumerate(units)]


def _copied(unit: Unit, scratch: Path) -> Unit:
    place = unit.place
    if not isinstance(place, UrlPath) or unit.kind is UnitKind.REFUSED:
        return unit
    copy = scratch / place.name
    if place.suffix == ".parquet":
        copy.parent.mkdir(parents=True)
        download(place, copy)
        return replace(unit, copy=str(copy))
    copy.mkdir(parents=True)
    for file in files_below(place) if unit.kind is UnitKind.AERON_LOGS else entries(place):
        if not file.folder:
            target = copy / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            download(place / file.name, target)
    return replace(unit, copy=str(copy))

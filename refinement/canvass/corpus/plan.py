"""What there is to check, and how it is packed into tasks: names and sizes only.

A `Unit` is what one task must have whole: a run folder, a folder of Aeron's logs, or one file of a
Parquet data set. Units are packed into tasks of like cost, so that neither a thousand small runs
nor one large one leaves the other tasks waiting. What is no run becomes a refused unit and stops
nothing else.

Readers of traces take files of this machine: what a store has of a unit is copied for as long as it
is read. Of a unit that is split into parts only the bytes of a part are copied; the rest of the
copy is a gap in a file of the same size.
"""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Any, Final
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
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
    storage_errors,
)
from canvass.traces.aeron_log.source import is_log_name
from canvass.traces.errors import Code, TraceError
from canvass.traces.limits import MAX_LINE_BYTES, MAX_METADATA_BYTES, MAX_RUNS
from canvass.traces.run import MIXED, RUN_FILE, RUN_FOLDER, STRAY_STREAM, is_stream_name

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
    """A run, or the runs without events, of a unit that was split into parts."""


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
    """Its path or URL."""
    cost: int
    """Its size as bytes of plain NDJSON, about."""
    code: str = ""
    """Of a refused unit: a `Code`."""
    reason: str = ""
    runs: tuple[str, ...] = ()
    """Of a unit that is checked again: the ids of the runs to be reported; all if there are none.
    Of one that joins parts: the run that was split; none for the runs of the file without events.
    """
    part: Part | None = None
    """If it is a part: which."""
    joined: tuple[Part, ...] = ()
    """If it joins parts: which, in order."""
    partition: Partition = ()
    """Names and values of the partitions that it is in, as Hive writes them in folder names."""
    copy: str = ""
    """Of a unit in a store: where its files are on this machine for now."""
    changed_ns: int = 0
    """When it last changed, in nanoseconds since 1970; 0 if not known."""
    stat: str = ""
    """A hash of the names, sizes and times of its files; empty if not known."""

    @property
    def location(self) -> Path:
        """Where its files are on this machine."""
        return Path(self.copy or self.path)

    @property
    def place(self) -> Place:
        """Where it is."""
        return place_of(self.path)


Task = tuple[Unit, ...]
"""Units that one Spark task checks, one after the other."""


def list_units(corpora: Iterable[Place]) -> list[Unit]:
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
    units = [unit for corpus in corpora for unit in _Lister(corpus).units()]
    return list({unit.path: unit for unit in units}.values())


def unit_at(place: Place) -> Unit | None:
    """Give what one folder or file of a corpus is, on its own; None if it is no part of a run."""
    if place.is_dir():
        return _folder_unit(place, _entries_or_none(place))
    return _file_unit(place) if place.suffix == ".parquet" and place.is_file() else None


class _Lister:
    """Lists a corpus; of one in a store all names are asked for at once."""

    def __init__(self, root: Place) -> None:
        self._root = absolute(root)
        self._found: dict[str, list[Entry]] = {}
        if isinstance(root, UrlPath):
            for entry in root.entries(recursive=True):
                parent, _, name = f"/{entry.name}".rpartition("/")
                if not name.startswith("."):
                    self._found.setdefault(parent, []).append(entry._replace(name=name))

    def units(self) -> list[Unit]:
        """Give what there is to check."""
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
            raise TraceError(Code.NOT_FOUND, str(place), 0, 0, "neither runs nor a data set")
        return units

    def _units_at(self, entry: Entry, parent: Place) -> list[Unit]:
        """Give the units that an entry of a corpus is or, if it is a partition, has."""
        place = parent / entry.name
        key = partition_of(entry.name)
        if key is not None and entry.folder:
            units = self._units_of(place, (key,))
            return [msgspec.structs.replace(u, partition=(key, *u.partition)) for u in units]
        if entry.link:
            return [_refused(place, "a symbolic link")]
        if entry.folder:
            if not RUN_FOLDER.fullmatch(entry.name):
                return [_refused(place, "no name for a run folder")]
            return [self._folder_unit(place, self._entries_or_none(place), entry.modified_ns)]
        if is_stream_name(entry.name):
            return [_refused(place, STRAY_STREAM)]
        return [_file_unit(place, entry)] if entry.name.endswith(".parquet") else []

    def _folder_unit(self, place: Place, found: list[Entry] | None, changed_ns: int = 0) -> Unit:
        """Give the unit of a folder; one that holds others as well is refused, not half read."""
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
    """Whether a folder is one unit: a run, or the logs of a cluster."""
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
    """Read the name of a partition's folder, such as ``date=2026-11-20``; None if it is none."""
    key, separator, value = name.partition("=")
    return (unquote(key), unquote(value)) if key and separator else None


def _refused(place: Place, reason: str) -> Unit:
    return Unit(UnitKind.REFUSED, str(place), 0, Code.BAD_NAME.value, reason)


def _file_unit(place: Place, entry: Entry | None = None) -> Unit:
    if entry is None:
        entry = entry_of(place)
    size = 0 if entry is None else entry.size
    unit = Unit(UnitKind.FILE, str(place), cost_of(place.name, size))
    return _with_times(unit, [] if entry is None else [entry])


def _folder_unit(place: Place, found: list[Entry] | None, changed_ns: int = 0) -> Unit:
    """Give the unit of a folder; if it cannot be listed, its reader says what is wrong with it."""
    listed = found or []
    cost, kind = sum(cost_of(e.name, e.size) for e in listed), UnitKind.RUN
    names = [entry.name for entry in listed]
    if RUN_FILE not in names and any(map(is_log_name, names)):
        kind, cost = UnitKind.AERON_LOGS, cost * AERON_LOG_COST
    return _with_times(Unit(kind, str(place), cost), listed, changed_ns)


def _with_times(unit: Unit, files: Iterable[Entry], changed_ns: int = 0) -> Unit:
    """Note when a unit has changed, by its files and, on this machine, its folder."""
    described = blake2b(digest_size=16)
    for each in (file for file in files if not file.folder):
        described.update(f"{each.name}\0{each.size}\0{each.modified_ns}\n".encode())
        changed_ns = max(changed_ns, each.modified_ns)
    stat = described.hexdigest() if changed_ns else ""
    return msgspec.structs.replace(unit, changed_ns=changed_ns, stat=stat)


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


_MAGIC_BYTES: Final = 8
"""What follows the metadata of a Parquet file: their length and ``PAR1``."""
_MARGIN: Final = MAX_LINE_BYTES + 2
"""How far around a range its reader looks for the ends of lines."""

_PIECE: Final = 1 << 22

_Range = tuple[int, int]


@contextmanager
def on_this_machine(units: Sequence[Unit], *, outline: bool = False) -> Iterator[list[Unit]]:
    """Give units whose `location` is on this machine.

    Parameters
    ----------
    units
        Any units.
    outline
        Whether names, sizes, ``run.json`` and the metadata of Parquet files are enough. They are
        for a unit that joins parts.
    """
    if not any(isinstance(unit.place, UrlPath) for unit in units):
        yield list(units)
        return
    with tempfile.TemporaryDirectory(prefix="canvass-units-") as scratch:
        yield [_copied(unit, Path(scratch, str(at)), outline) for at, unit in enumerate(units)]


def _copied(unit: Unit, scratch: Path, outline: bool) -> Unit:
    place = unit.place
    if not isinstance(place, UrlPath) or unit.kind is UnitKind.REFUSED:
        return unit
    copy = scratch / place.name
    outline = outline or unit.kind is UnitKind.JOIN
    if place.suffix == ".parquet":
        copy.parent.mkdir(parents=True)
        _copy_parquet(place, copy, unit.part, outline)
    else:
        copy.mkdir(parents=True)
        _copy_folder(unit, place, copy, outline)
    return replace(unit, copy=str(copy))


def _copy_folder(unit: Unit, place: UrlPath, copy: Path, outline: bool) -> None:
    files = files_below(place) if unit.kind is UnitKind.AERON_LOGS else entries(place)
    for file in files:
        target = copy / file.name
        if file.folder:
            continue
        if file.name == RUN_FILE or not (outline or unit.part):
            target.parent.mkdir(parents=True, exist_ok=True)
            download(place / file.name, target)
        else:
            _copy_ranges(place / file.name, target, file.size, _ranges_of(file, unit.part))


def _ranges_of(file: Entry, part: Part | None) -> list[_Range]:
    """Give what a part needs of a member's stream."""
    if part is None or not file.name.startswith(f"member-{part.member}."):
        return []
    if not file.name.endswith(".ndjson"):
        return [(0, file.size)]
    return [(max(0, part.first - _MARGIN), min(file.size, part.end + _MARGIN))]


def _copy_parquet(place: UrlPath, copy: Path, part: Part | None, outline: bool) -> None:
    if part is None and not outline:
        download(place, copy)
        return
    entry = place.entry()
    size = 0 if entry is None else entry.size
    try:
        with place.open() as file:
            metadata = pq.ParquetFile(
                file,
                thrift_string_size_limit=MAX_METADATA_BYTES,
                thrift_container_size_limit=MAX_RUNS,
            ).metadata
            file.seek(size - _MAGIC_BYTES)
            length = int.from_bytes(file.read(4), "little") + _MAGIC_BYTES
    except (pa.ArrowException, OSError, ValueError):
        download(place, copy)  # Its reader says what is wrong with it.
        return
    ranges = [(0, 4), (size - length, size)]
    if part is not None:  # The row group before it has the event before its first one.
        groups = range(max(0, part.first - 1), part.end)
        ranges += [_bytes_of(metadata.row_group(number)) for number in groups]
    _copy_ranges(place, copy, size, ranges)


def _bytes_of(row_group: Any) -> _Range:
    columns = [row_group.column(at) for at in range(row_group.num_columns)]
    starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
    ends = [at + column.total_compressed_size for at, column in zip(starts, columns, strict=True)]
    return min(starts), max(ends)


def _copy_ranges(place: UrlPath, target: Path, size: int, ranges: Iterable[_Range]) -> None:
    """Copy some bytes of a file to their places in a file of the same size."""
    with target.open("wb") as file:
        file.truncate(size)
        wanted = list(ranges)
        if not wanted:
            return
        with storage_errors(place), place.open() as source:
            for first, end in wanted:
                source.seek(first)
                file.seek(first)
                while first < end:
                    first += file.write(source.read(min(_PIECE, end - first)))

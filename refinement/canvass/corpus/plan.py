"""Units of a corpus, and the tasks that check them.

A `Unit` is a run folder, a folder of Aeron's logs, or one file of a Parquet data set; it is checked
whole. An entry of a corpus that cannot be a run becomes a refused unit, and the other units are
checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from canvass.cluster.messages import Record
from canvass.corpus.storage import Entry, Place, absolute, entry_of, place_of, tree
from canvass.traces.aeron_log.source import is_log_name
from canvass.traces.errors import Code, TraceError
from canvass.traces.run import EMPTY, MIXED, NO_RUN_FOLDER, RUN_FILE, RUN_FOLDER, stray_reason

_COST_PER_BYTE: Final = {".ndjson": 1, ".gz": 20, ".zst": 30, ".parquet": 100}
"""Bytes of plain NDJSON that hold about as many events as one byte of a file with the suffix."""

_AERON_LOG_COST: Final = 200
"""Cost of a byte of an event log: the importer drives the core with each line."""

TASK_COST: Final = 1 << 29
"""Bytes of plain NDJSON that are checked at once: about 300,000 events. They take about a second,
longer than the start of a task.
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


class Unit(Struct, frozen=True):
    """A unit of a corpus."""

    kind: UnitKind
    path: str
    """Its path or URL."""
    cost: int
    """Its approximate size as bytes of plain NDJSON."""
    code: str = ""
    """Why it is refused, as a `Code`; for ``REFUSED``."""
    reason: str = ""
    """Why it is refused, in words; for ``REFUSED``."""
    digest: str = ""
    """A digest of the names, sizes and times of its files."""

    @property
    def location(self) -> Path:
        """Its path on this machine."""
        return Path(self.path)

    @property
    def place(self) -> Place:
        """Its path or URL."""
        return place_of(self.path)


class EarlierUnit(Record, frozen=True):
    """A unit that has not changed since it was verified, with the verdicts on its runs."""

    source: str
    verdicts: dict[str, int]
    """Its runs by verdict."""


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
    units = [unit for corpus in corpora for unit in _listed(absolute(corpus))]
    return list({unit.path: unit for unit in units}.values())


def _listed(root: Place) -> list[Unit]:
    """Return the units of a corpus. All names in it are listed first."""
    if not _is_text(str(root)):
        raise TraceError(Code.BAD_NAME, str(root), 0, 0, _NO_TEXT)
    if root.suffix == ".parquet" and root.is_file():
        return [_unit(UnitKind.FILE, root, [entry_of(root)])]
    try:
        units = _Lister(root, tree(root)).units_of("")
    except FileNotFoundError:
        reason = "there is no such file or folder"
        raise TraceError(Code.NOT_FOUND, str(root), 0, 0, reason) from None
    except OSError as error:
        raise TraceError(Code.UNREADABLE, str(root), 0, 0, error.strerror or str(error)) from None
    if not units:
        raise TraceError(Code.NOT_FOUND, str(root), 0, 0, EMPTY)
    return units


class _Lister:
    """Finds the units among the entries of a corpus; its folders are named from its root."""

    def __init__(self, root: Place, entries: Mapping[str, Sequence[Entry]]) -> None:
        self._root, self._entries = root, entries

    def units_of(self, folder: str) -> list[Unit]:
        """Return the units of a folder: itself, or those in it."""
        found = self._entries[folder]
        if _is_unit(found):
            return [self._unit_of(folder)]
        own, inner = list[Unit](), list[Unit]()
        for entry in found:
            below = f"{folder}/{entry.name}".lstrip("/")
            if partition_of(entry.name) and entry.folder:
                inner += self.units_of(below)
            elif unit := self._unit_at(entry, below):
                own.append(unit)
        kinds = {unit.kind for unit in own}
        if UnitKind.FILE in kinds and kinds & {UnitKind.RUN, UnitKind.AERON_LOGS}:
            raise TraceError(Code.AMBIGUOUS, str(self._place(folder)), 0, 0, MIXED)
        return sorted([*own, *inner], key=lambda unit: unit.path)

    def _place(self, below: str) -> Place:
        return self._root / below if below else self._root

    def _unit_at(self, entry: Entry, below: str) -> Unit | None:
        """Return the unit of an entry of a corpus, if it is one."""
        place = self._place(below)
        if entry.link:
            return _refused(place, "a symbolic link")
        if entry.folder:
            unit = self._unit_of(below)
            if unit.kind is UnitKind.RUN and not RUN_FOLDER.fullmatch(entry.name):
                return _refused(place, NO_RUN_FOLDER)
            return unit
        if reason := stray_reason(entry.name):
            return _refused(place, reason)
        return _unit(UnitKind.FILE, place, [entry]) if entry.name.endswith(".parquet") else None

    def _unit_of(self, folder: str) -> Unit:
        """Return the unit of a folder; a unit that has other units in it is refused."""
        place, found = self._place(folder), self._entries[folder]
        names = {entry.name for entry in found}
        for name in sorted(entry.name for entry in found if entry.folder and _is_unit(found)):
            if _is_unit(self._entries[f"{folder}/{name}".lstrip("/")]):
                return _refused(place, f"a run or event logs, and others in {name}")
        kind = UnitKind.RUN
        if RUN_FILE not in names and any(map(is_log_name, names)):
            kind = UnitKind.AERON_LOGS
            if links := [each.name for each in found if each.link and is_log_name(each.name)]:
                # Its size and times are those of the link: a change of the log would not be seen.
                return _refused(place, f"{links[0]} is a symbolic link")
        return _unit(kind, place, [each for each in found if not each.folder])


def _is_unit(found: Iterable[Entry]) -> bool:
    """Tell whether a folder with these entries is a run, or has the logs of a cluster."""
    return any(entry.name == RUN_FILE or is_log_name(entry.name) for entry in found)


def partition_of(name: str) -> tuple[str, str] | None:
    """Parse the name of a partition's folder, such as ``date=2026-11-20``; else return None."""
    key, separator, value = name.partition("=")
    return (unquote(key), unquote(value)) if key and separator else None


_NO_TEXT: Final = "the name is not UTF-8: rename it"


def _is_text(name: str) -> bool:
    """Tell whether a name is UTF-8: the file system gives other bytes as lone surrogates."""
    return not any("\ud800" <= each <= "\udfff" for each in name)


def _refused(place: Place, reason: str) -> Unit:
    # Tables hold UTF-8 only.
    path, why = (t.encode("utf-8", "backslashreplace").decode() for t in (str(place), reason))
    digest = blake2b(why.encode(), digest_size=16).hexdigest()
    return Unit(UnitKind.REFUSED, path, 0, Code.BAD_NAME.value, why, digest=digest)


def _unit(kind: UnitKind, place: Place, files: Sequence[Entry]) -> Unit:
    if not _is_text(str(place)):
        return _refused(place, _NO_TEXT)
    found = blake2b(digest_size=16)
    for each in files:
        line = f"{each.name}\0{each.size}\0{each.modified_ns}\n"
        found.update(line.encode(errors="surrogateescape"))
    cost = sum(each.size * _COST_PER_BYTE.get(PurePath(each.name).suffix, 1) for each in files)
    cost *= _AERON_LOG_COST if kind is UnitKind.AERON_LOGS else 1
    return Unit(kind, str(place), cost, digest=found.hexdigest())


def pack(
    units: Sequence[Unit], *, tasks: int | None = None, parallelism: int = 1
) -> list[list[Unit]]:
    """Distribute units over tasks of like cost, the most expensive one first.

    The units are dealt in the order of their costs, so no task costs more than a fair share plus
    the cost of the most expensive unit.

    Parameters
    ----------
    units
        All units.
    tasks
        Number of tasks, at most one for each unit. Default: from sizes and ``parallelism``.
    parallelism
        Number of tasks that run at once. There are several tasks for each, so that short tasks fill
        the gaps at the end.

    Returns
    -------
    list
        Tasks, none of them empty.
    """
    total = sum(unit.cost for unit in units)
    wanted = max(4 * parallelism, -(-total // TASK_COST)) if tasks is None else tasks
    wanted = min(wanted, len(units))
    ordered = sorted(units, key=lambda unit: -unit.cost)
    return [ordered[number::wanted] for number in range(wanted)]


def chunks(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    """Yield the units that are checked together: at most `TASK_COST`, or one unit."""
    chunk, cost = list[Unit](), 0
    for unit in units:
        if chunk and cost + unit.cost > TASK_COST:
            yield chunk
            chunk, cost = [], 0
        chunk.append(unit)
        cost += unit.cost
    if chunk:
        yield chunk

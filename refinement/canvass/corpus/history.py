"""Tables that grow with every verification, and which units of a corpus that grows are due.

The tables say what was verified, when, under which spec, and how. A verification adds one Parquet
file to each table, in the partition of its day. ``inputs`` has a row for each unit: from it the
next verification finds what is new. The files are staged first; an empty file `_COMMIT` beside them
decides. Without it, they are removed at the next start. With it, they are moved into the tables, at
the next start if the driver was killed before. So each verification is in the tables once, whenever
the driver dies.

Tables: ``verdicts``, ``divergences``, ``coverage``, ``quarantine`` (what is malformed, with the
reason) and ``inputs``, which is moved last. Beside them are the ``tasks`` of the jobs, a line of
JSON each.

A unit is due when it has been quiet for a while and was not looked at before; one that lacks
streams is waited for longer. Times are those of its files, so that a watch that is started again
goes on where the last one was.
"""

from __future__ import annotations

import fcntl
import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from canvass.conformance.verdict import Verdict
from canvass.corpus.plan import Unit, UnitKind, list_units, on_this_machine
from canvass.corpus.rows import COVERAGE_SCHEMA, DIVERGENCE_COLUMNS, ROW_SCHEMA, VERDICT_COLUMNS
from canvass.corpus.storage import (
    Place,
    UrlPath,
    entries,
    files_below,
    remove_folder,
    storage_errors,
    writing,
)
from canvass.corpus.task_files import TASK_LOG, read_table
from canvass.traces.errors import Code, TraceError
from canvass.traces.run import RunFolder
from canvass.traces.schema import FactKind

_TASKS: Final = "tasks"
TABLES: Final = ("verdicts", "divergences", "coverage", "quarantine", "inputs")
"""In the order in which their files are put in place, after those of the tasks."""
_STAGING: Final = "_staging"
_COMMIT: Final = "_COMMIT"
_LOCK: Final = "_lock"
_HASH_THREADS: Final = 2
_PIECE: Final = 1 << 20
_QUIET_S: Final = 2.0
"""A file that changed less than this before it was read may change again within its time stamp."""

_STAMP: Final = (
    pa.field("verification_id", pa.string(), nullable=False),
    pa.field("verified_at", pa.timestamp("us", "UTC"), nullable=False),
    pa.field("canvass_version", pa.string(), nullable=False),
    pa.field("spec_digest", pa.string(), nullable=False),
)
_INPUTS: Final = (
    pa.field("source", pa.string(), nullable=False),
    pa.field("cause", pa.string(), nullable=False),
    pa.field("digest", pa.string(), nullable=False),
    pa.field("stat", pa.string()),
    pa.field("events", pa.int64(), nullable=False),
    *(pa.field(each.value.lower(), pa.int64(), nullable=False) for each in Verdict),
)
_COUNTS: Final = tuple(each.value.lower() for each in Verdict)
_VERIFIED_BY: Final = ("spec_digest", "canvass_version")
_KNOWN: Final = ("source", "verified_at", *_VERIFIED_BY, "digest", "stat", *_COUNTS)
_QUARANTINE: Final = ("source", "run_id", "reason")


class Stamp(Struct, frozen=True, rename="camel"):
    """What every row says of the verification that it is from."""

    verification_id: str
    verified_at: datetime
    """In UTC."""
    canvass_version: str
    spec_digest: str

    @property
    def day(self) -> str:
        """The partition, as Hive names it."""
        return f"date={self.verified_at:%Y-%m-%d}"


class Input(Struct, frozen=True):
    """A unit as it is now."""

    unit: Unit
    cause: str
    """Why it is verified: ``new``, ``changed``, ``spec`` (verified against another spec),
    ``canvass`` (verified by another canvass) or ``again``. Empty if it need not be.
    """
    digest: str
    """Of the contents of its files."""
    stat: str | None
    """Sizes and times of its files; None if they cannot be relied on."""
    counts: tuple[int, ...] = ()
    """Of a unit that need not be verified: its runs by verdict, in the order of `Verdict`."""


class Inputs(Struct, frozen=True):
    """All units of a corpus, as they are now."""

    listed: tuple[Input, ...]

    @property
    def due(self) -> list[Input]:
        """Those to be verified."""
        return [each for each in self.listed if each.cause]

    def causes(self) -> Counter[str]:
        """Count the units by cause."""
        return Counter(each.cause for each in self.listed)

    def earlier(self) -> dict[str, int]:
        """Count the runs of the others by verdict."""
        totals = Counter[str]()
        for each in self.listed:
            totals.update(dict(zip((v.value for v in Verdict), each.counts, strict=False)))
        return {each.value: totals[each.value] for each in Verdict}


class HistoryInUse(Exception):
    """Another verification is adding to the tables."""


class History:
    """Tables of verifications in a folder.

    Parameters
    ----------
    folder
        The folder.
    """

    def __init__(self, folder: Place) -> None:
        self._folder = folder
        self._staging = folder / _STAGING

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep other verifications of this machine out, and end what a killed driver began.

        Raises
        ------
        HistoryInUse
            If another verification is adding to the tables.
        """
        folder = self._folder
        if isinstance(folder, UrlPath):  # Object stores have no locks: one at a time, please.
            self._recover()
            yield
            return
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / _LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                reason = "another verification is adding to these tables"
                raise HistoryInUse(f"{folder}: {reason}") from None
            self._recover()
            yield

    def _recover(self) -> None:
        """Put in place what was committed; remove what was not."""
        names = [file.name for file in files_below(self._staging)]
        committed = {name.split("/")[0] for name in names if name.endswith(f"/{_COMMIT}")}
        for identity in sorted(committed):
            self._put_in_place(identity)
        if names:
            remove_folder(self._staging)

    def _put_in_place(self, identity: str) -> None:
        folder = self._staging / identity
        staged = [file.name for file in files_below(folder)]
        for table in (_TASKS, *TABLES):
            for name in staged:
                if name.startswith(f"{table}/"):
                    _move(folder / name, self._folder / name)
        (folder / _COMMIT).unlink()

    @contextmanager
    def report_folder(self) -> Iterator[Place]:
        """Give a folder for a report beside the tables, where workers see it as well."""
        folder = self._staging / f"report-{uuid4().hex}"
        yield folder
        remove_folder(folder)

    # --- what is due ------------------------------------------------------------------------------

    def inputs(
        self, units: Sequence[Unit], spec_digest: str, version: str, *, again: bool = False
    ) -> Inputs:
        """Compare the units with their latest verification.

        Parameters
        ----------
        units
            All units of the corpus.
        spec_digest
            Of the spec that they are to conform to.
        version
            Of canvass and its code, as `checker_version` gives it.
        again
            Whether all of them are to be verified.
        """
        known = self._known({unit.path for unit in units})
        with ThreadPoolExecutor(_HASH_THREADS) as pool:
            compared = pool.map(lambda unit: _compare(unit, known.get(unit.path), again), units)
            now = dict(zip(_VERIFIED_BY, (spec_digest, version), strict=True))
            return Inputs(tuple(_with_checker(each, known, now) for each in compared))

    def _known(self, sources: set[str]) -> Mapping[str, Mapping[str, Any]]:
        """Give the latest row of each unit."""
        latest: dict[str, Mapping[str, Any]] = {}
        for batch in self._batches("inputs", _KNOWN):
            for row in batch.to_pylist():
                before = latest.get(row["source"])
                if row["source"] in sources and (
                    before is None or before["verified_at"] <= row["verified_at"]
                ):
                    latest[row["source"]] = row
        return latest

    def divergences(self) -> set[tuple[str, str]]:
        """Give the kinds of divergences that the tables have: class, and action or property."""
        names = ("divergence_class", "name")
        return {
            kind
            for batch in self._batches("divergences", names)
            for kind in zip(*(batch.column(name).to_pylist() for name in names), strict=True)
        }

    def _batches(self, table: str, columns: Sequence[str]) -> Iterator[Any]:
        """Read the files of a table; a missing table has none."""
        folder = self._folder / table
        for file in files_below(folder):
            if file.name.endswith(".parquet"):
                place = folder / file.name
                with storage_errors(place), place.open("rb") as opened:
                    yield from pq.ParquetFile(opened).iter_batches(columns=list(columns))

    # --- what was found ---------------------------------------------------------------------------

    def append(self, report: Place, inputs: Sequence[Input], stamp: Stamp) -> None:
        """Add the tables of a report; all of them or, if the driver dies, none.

        Parameters
        ----------
        report
            The folder of the tables that the job has written.
        inputs
            The units that were verified.
        stamp
            Of the verification. One that is there already is replaced.
        """
        staged = self._staging / stamp.verification_id
        for name, table in _tables(report, inputs):
            _write(staged / name / stamp.day, f"{stamp.verification_id}.parquet", table, stamp)
        _write_tasks(staged / _TASKS / stamp.day, report / TASK_LOG, stamp)
        (staged / _COMMIT).touch()
        self._put_in_place(stamp.verification_id)
        remove_folder(self._staging)


def _write(folder: Place, name: str, table: Any, stamp: Stamp) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with writing(folder / name) as path:
        pq.write_table(_stamped(table, stamp), path, compression="zstd")


def _write_tasks(folder: Place, log: Place, stamp: Stamp) -> None:
    """Write the lines of a job's tasks, each with the stamp of the verification."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder, named = msgspec.json.Encoder(), msgspec.to_builtins(stamp)
    lines = (msgspec.json.decode(line) for line in log.read_bytes().splitlines())
    data = encoder.encode_lines({**named, **line} for line in lines)
    (folder / f"{stamp.verification_id}.ndjson").write_bytes(data)


def _move(source: Place, target: Place) -> None:
    if isinstance(source, UrlPath) and isinstance(target, UrlPath):
        source.replace(target)
    elif isinstance(source, Path) and isinstance(target, Path):
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)


_DECIDING: Final = ("cluster", "traces", "graph", "steps", "conformance", "corpus")
"""The packages that decide verdicts, on logs of Aeron too."""


def checker_version() -> str:
    """Name what decides verdicts: the version of canvass, and a digest of that code."""
    found = hashlib.blake2b(digest_size=6)
    for name in _DECIDING:
        folder = Path(str(import_module(f"canvass.{name}").__file__)).parent
        for file in sorted(folder.rglob("*.py")):
            found.update(f"{name}/{file.relative_to(folder).as_posix()}\0".encode())
            found.update(file.read_bytes())
    return f"{metadata.version('canvass')}+{found.hexdigest()}"


def make_stamp(inputs: Iterable[Input], version: str, spec_digest: str, now: datetime) -> Stamp:
    """Make the stamp of a verification: of the same inputs on the same day it has the same id."""
    found = hashlib.blake2b(f"{version}\n{spec_digest}\n{now:%Y-%m-%d}\n".encode(), digest_size=16)
    for each in sorted(inputs, key=lambda each: each.unit.path):
        found.update(f"{each.unit.path}\0{each.digest}\n".encode())
    return Stamp(found.hexdigest(), now, version, spec_digest)


def _compare(unit: Unit, before: Mapping[str, Any] | None, again: bool) -> Input:
    """Compare a unit with its latest verification, but for what has verified it."""
    stat = _stat_of(unit)
    if before is not None and stat is not None and stat == before["stat"]:
        digest = before["digest"]
    elif _stands_for_contents(unit, stat) and (before is None or before["stat"] is not None):
        digest = str(stat)
    else:
        digest = _digest_of(unit)
    if before is None:
        return Input(unit, "new", digest, stat)
    if digest != before["digest"]:
        return Input(unit, "changed", digest, stat)
    counts = tuple(before[name] for name in _COUNTS)
    return Input(unit, "again" if again else "", digest, stat, () if again else counts)


def _with_checker(
    each: Input, known: Mapping[str, Mapping[str, Any]], now: Mapping[str, str]
) -> Input:
    """Have a unit verified that another spec or another canvass has verified."""
    if each.cause:
        return each
    before = known[each.unit.path]
    for cause, name in zip(("spec", "canvass"), _VERIFIED_BY, strict=True):
        if before[name] != now[name]:
            return Input(each.unit, cause, each.digest, each.stat)
    return each


def _stat_of(unit: Unit) -> str | None:
    """Give sizes and times of a unit's files; None if a file may change within its time."""
    age_s = datetime.now(UTC).timestamp() - unit.changed_ns / 1e9
    return unit.stat if unit.stat and age_s >= _QUIET_S else None


def _files_of(unit: Unit) -> list[tuple[str, Place]]:
    if unit.kind is UnitKind.FILE:
        return [(".", unit.place)]
    try:
        found = [] if unit.kind is UnitKind.REFUSED else entries(unit.place)
    except OSError:
        found = []
    return [(file.name, unit.place / file.name) for file in found if not file.folder]


def _stands_for_contents(unit: Unit, stat: str | None) -> bool:
    """Tell whether sizes and times do: a store replaces files whole, and reading them costs."""
    return stat is not None and isinstance(unit.place, UrlPath)


def _digest_of(unit: Unit) -> str:
    """Hash the contents of a unit's files; what cannot be read counts by its name."""
    found = hashlib.blake2b(unit.reason.encode(), digest_size=16)
    for name, place in _files_of(unit):
        found.update(f"{name}\0".encode())
        try:
            with place.open("rb") as file:
                while data := file.read(_PIECE):
                    found.update(data)
        except OSError as error:
            found.update(repr(error.errno).encode())
    return found.hexdigest()


# --- rows -----------------------------------------------------------------------------------------


def _tables(report: Place, inputs: Sequence[Input]) -> Iterator[tuple[str, Any]]:
    digests = {each.unit.path: each.digest for each in inputs}
    verdicts = _read(report / "verdicts", VERDICT_COLUMNS)
    yield "verdicts", verdicts
    yield "divergences", _read(report / "divergences", DIVERGENCE_COLUMNS)
    yield "coverage", _read(report / "coverage", COVERAGE_SCHEMA.names, COVERAGE_SCHEMA)
    wrong = verdicts.filter(pc.equal(verdicts["verdict"], Verdict.MALFORMED.value))
    found = [digests.get(source, "") for source in wrong["source"].to_pylist()]
    quarantine = wrong.select(_QUARANTINE).append_column("digest", pa.array(found, pa.string()))
    yield "quarantine", quarantine
    yield "inputs", _input_rows(inputs, verdicts)


def _read(folder: Place, columns: Sequence[str], schema: Any = ROW_SCHEMA) -> Any:
    fields = pa.schema([schema.field(name) for name in columns])
    return pa.Table.from_batches(
        [batch.select(fields.names) for batch in read_table(folder, columns)], schema=fields
    )


def _input_rows(inputs: Sequence[Input], verdicts: Any) -> Any:
    counted: Counter[tuple[str, str]] = Counter()
    events: Counter[str] = Counter()
    columns = (verdicts[name].to_pylist() for name in ("source", "verdict", "events"))
    for source, verdict, count in zip(*columns, strict=True):
        counted[source, verdict] += 1
        events[source] += count or 0
    rows = [
        {
            "source": each.unit.path,
            "cause": each.cause,
            "digest": each.digest,
            "stat": each.stat,
            "events": events[each.unit.path],
            **{v.value.lower(): counted[each.unit.path, v.value] for v in Verdict},
        }
        for each in inputs
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(_INPUTS))


def _stamped(table: Any, stamp: Stamp) -> Any:
    for field in _STAMP:
        value = pa.scalar(getattr(stamp, field.name), field.type)
        column = pa.repeat(value, len(table))
        table = table.append_column(field, column)
    return table


class Patience(Struct, frozen=True):
    """For how many seconds a unit must not have changed before it is verified."""

    settle_s: float = 5.0
    """If all its streams are there."""
    patience_s: float = 600.0
    """If streams are missing, or nobody can tell: then it is verified as it is."""


class Arrivals:
    """Finds what has come since the last look.

    Parameters
    ----------
    corpora
        Folders in which units arrive, by path or URL. They may be empty at first.
    patience
        How long a unit is waited for.
    """

    def __init__(self, corpora: Iterable[Place], patience: Patience) -> None:
        self._corpora = tuple(corpora)
        self._patience = patience
        self._seen: dict[str, str] = {}

    def listed(self) -> list[Unit]:
        """List all units.

        Raises
        ------
        TraceError
            As `list_units`, but for a folder in which there is nothing yet.
        """
        return [unit for corpus in self._corpora for unit in _units_of(corpus)]

    def due(self, units: Iterable[Unit]) -> list[Unit]:
        """Give the units that are settled and were not `seen` as they are now."""
        now_ns = time.time_ns()
        return [
            unit
            for unit in units
            if self._seen.get(unit.path) != unit.stat and is_settled(unit, self._patience, now_ns)
        ]

    def seen(self, units: Iterable[Unit]) -> None:
        """Note units as done."""
        self._seen.update((unit.path, unit.stat) for unit in units)


def _units_of(corpus: Place) -> list[Unit]:
    try:
        return list_units([corpus])
    except TraceError as error:
        # A store has no empty folders.
        if error.code is Code.NOT_FOUND and (not isinstance(corpus, Path) or corpus.is_dir()):
            return []
        raise


def is_settled(unit: Unit, patience: Patience, now_ns: int) -> bool:
    """Tell whether a unit has been as it is for long enough."""
    quiet_s = (now_ns - unit.changed_ns) / 1e9
    if quiet_s >= patience.patience_s:
        return True
    return quiet_s >= patience.settle_s and _has_all_streams(unit)


def _has_all_streams(unit: Unit) -> bool:
    """Tell whether nothing of a unit is missing; of logs of Aeron nobody can tell."""
    if unit.kind is not UnitKind.RUN:
        return unit.kind is not UnitKind.AERON_LOGS
    try:
        with on_this_machine([unit], outline=True) as (here,):
            facts = RunFolder(here.location).facts
    except (TraceError, OSError):
        return False
    return all(fact.kind is not FactKind.MISSING_STREAM for fact in facts)

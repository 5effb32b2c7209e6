"""Tables that grow with each verification, and the units of a growing corpus that are due.

The tables record what was verified, when, and against which spec. A verification adds one Parquet
file to each table, in the partition of its day. ``inputs`` has a row for each unit and is written
last: a verification counts if its id is there. The next verification leaves out the units that have
a row with the same digests of contents, spec and canvass.

Tables: ``verdicts``, ``divergences``, ``coverage``, ``quarantine`` (malformed units with the
reason) and ``inputs``. Beside them, ``tasks`` has a line of JSON for each
task.

``canvass batch watch`` verifies a unit when its files have not changed for a while; longer if the
unit lacks streams. A watch that is started again goes on from the times of the files.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from canvass.conformance.verdict import Verdict
from canvass.corpus.plan import Unit, UnitKind, list_units
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
from canvass.corpus.summary import EarlierUnit
from canvass.corpus.task_files import TASK_LOG, read_table
from canvass.traces.errors import Code, TraceError
from canvass.traces.run import RUN_FILE, RunFolder
from canvass.traces.schema import FactKind
from canvass.version import VERSION

_TASKS: Final = "tasks"
TABLES: Final = ("verdicts", "divergences", "coverage", "quarantine", "inputs")
"""Tables in the order in which their files are written."""
_WORK: Final = "_work"
_HASH_THREADS: Final = 2
_PIECE: Final = 1 << 20
_QUIET_S: Final = 2.0
"""Seconds after a change in which another change may leave the file's time stamp as it is."""

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
    """The columns of each row that describe its verification."""

    verification_id: str
    verified_at: datetime
    """In UTC."""
    canvass_version: str
    spec_digest: str

    @property
    def day(self) -> str:
        """The name of the Hive partition."""
        return f"date={self.verified_at:%Y-%m-%d}"


class Input(Struct, frozen=True):
    """A unit, compared with its latest verification."""

    unit: Unit
    cause: str
    """Why it is due: ``new``, ``changed``, ``spec`` (verified against another spec), ``canvass``
    (verified by another canvass) or ``again``. Empty if it is not due.
    """
    digest: str
    """Digest of the contents of its files."""
    stat: str | None
    """Hash of the sizes and times of its files; None if a file may change within its time stamp."""
    counts: tuple[int, ...] = ()
    """Its runs by verdict, in the order of `Verdict`, if it is not due."""

    @property
    def verdicts(self) -> dict[str, int]:
        """Its runs by verdict, if it is not due."""
        return dict(zip((each.value for each in Verdict), self.counts, strict=False))


class Inputs(Struct, frozen=True):
    """All units of a corpus, compared with their latest verifications."""

    listed: tuple[Input, ...]

    @property
    def due(self) -> list[Input]:
        """The units to be verified."""
        return [each for each in self.listed if each.cause]

    def causes(self) -> Counter[str]:
        """Count the units by cause."""
        return Counter(each.cause for each in self.listed)

    def earlier(self) -> dict[str, int]:
        """Count the runs of the units that are not due by verdict."""
        totals = Counter[str]()
        for each in self.listed:
            totals.update(each.verdicts)
        return {each.value: totals[each.value] for each in Verdict}

    def earlier_units(self) -> list[EarlierUnit]:
        """List the units that are not due and have runs that do not conform."""
        fine = Verdict.CONFORMS.value
        return [
            EarlierUnit(each.unit.path, each.verdicts)
            for each in self.listed
            if sum(each.counts) > each.verdicts.get(fine, 0)
        ]


class History:
    """Tables of verifications in a folder.

    Parameters
    ----------
    folder
        The folder.
    """

    def __init__(self, folder: Place) -> None:
        self._folder = folder

    @contextmanager
    def report_folder(self) -> Iterator[Place]:
        """Yield a folder for a report beside the tables, which workers reach; then remove it."""
        folder = self._folder / _WORK / uuid4().hex
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
            Digest of the current spec.
        version
            The current `checker_version`.
        again
            Whether all units are due.
        """
        known = self._known({unit.path for unit in units})
        with ThreadPoolExecutor(_HASH_THREADS) as pool:
            compared = pool.map(lambda unit: _compare(unit, known.get(unit.path), again), units)
            now = dict(zip(_VERIFIED_BY, (spec_digest, version), strict=True))
            return Inputs(tuple(_with_checker(each, known, now) for each in compared))

    def _known(self, sources: set[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return the latest row of each unit."""
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
        """Return the classes of divergence in the tables: class, and action or property."""
        names = ("divergence_class", "name")
        return {
            kind
            for batch in self._batches("divergences", names)
            for kind in zip(*(batch.column(name).to_pylist() for name in names), strict=True)
        }

    def _batches(self, table: str, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of a table; a missing table has none."""
        folder = self._folder / table
        whole = {file.name for file in files_below(self._folder / TABLES[-1])}
        for file in files_below(folder):
            if file.name.endswith(".parquet") and file.name in whole:
                place = folder / file.name
                with storage_errors(place), place.open("rb") as opened:
                    yield from pq.ParquetFile(opened).iter_batches(columns=list(columns))

    # --- what was found ---------------------------------------------------------------------------

    def append(self, report: Place, inputs: Sequence[Input], stamp: Stamp) -> None:
        """Add the tables of a report, ``inputs`` last.

        Parameters
        ----------
        report
            The folder with the tables of the job.
        inputs
            The verified units.
        stamp
            The stamp of the verification. Rows with the same id are replaced.
        """
        _write_tasks(self._folder / _TASKS / stamp.day, report / TASK_LOG, stamp)
        for name, table in _tables(report, inputs):
            name_of_file = f"{stamp.verification_id}.parquet"
            _write(self._folder / name / stamp.day, name_of_file, table, stamp)


def _write(folder: Place, name: str, table: Any, stamp: Stamp) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with writing(folder / name) as path:
        pq.write_table(_stamped(table, stamp), path, compression="zstd")


def _write_tasks(folder: Place, log: Place, stamp: Stamp) -> None:
    """Write the task log of a job, with the stamp of the verification in each line."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder, named = msgspec.json.Encoder(), msgspec.to_builtins(stamp)
    lines = (msgspec.json.decode(line) for line in log.read_bytes().splitlines())
    data = encoder.encode_lines({**named, **line} for line in lines)
    (folder / f"{stamp.verification_id}.ndjson").write_bytes(data)


DECIDING: Final = ("cluster", "traces", "graph", "steps", "conformance", "corpus", "spec", "tlc")
"""The packages whose code decides verdicts, also on logs of Aeron."""


def checker_version() -> str:
    """Return the version of canvass, and a digest of the code that decides verdicts."""
    found = hashlib.blake2b(digest_size=6)
    for name in DECIDING:
        folder = Path(str(import_module(f"canvass.{name}").__file__)).parent
        for file in sorted(folder.rglob("*.py")):
            found.update(f"{name}/{file.relative_to(folder).as_posix()}\0".encode())
            found.update(file.read_bytes())
    return f"{VERSION}+{found.hexdigest()}"


def make_stamp(inputs: Iterable[Input], version: str, spec_digest: str, now: datetime) -> Stamp:
    """Make the stamp of a verification. Its id is the same for the same inputs on the same day."""
    found = hashlib.blake2b(f"{version}\n{spec_digest}\n{now:%Y-%m-%d}\n".encode(), digest_size=16)
    for each in sorted(inputs, key=lambda each: each.unit.path):
        found.update(f"{each.unit.path}\0{each.digest}\n".encode())
    return Stamp(found.hexdigest(), now, version, spec_digest)


def _compare(unit: Unit, before: Mapping[str, Any] | None, again: bool) -> Input:
    """Compare the files of a unit with its latest verification."""
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
    """Make a unit due if another spec or another canvass was used at its latest verification."""
    if each.cause:
        return each
    before = known[each.unit.path]
    for cause, name in zip(("spec", "canvass"), _VERIFIED_BY, strict=True):
        if before[name] != now[name]:
            return Input(each.unit, cause, each.digest, each.stat)
    return each


def _stat_of(unit: Unit) -> str | None:
    """Return the hash of sizes and times of a unit's files; None if a file has just changed."""
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
    """Tell whether the stat replaces the digest: stores replace files whole, and reads cost."""
    return stat is not None and isinstance(unit.place, UrlPath)


def _digest_of(unit: Unit) -> str:
    """Hash the contents of a unit's files; a file that cannot be read counts by name and error."""
    found = hashlib.blake2b(unit.reason.encode(), digest_size=16)
    for name, place in _files_of(unit):
        found.update(f"{name}\0".encode(errors="surrogateescape"))
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
    """Seconds without a change after which a unit is verified."""

    settle_s: float = 5.0
    """For a unit with all its streams."""
    patience_s: float = 600.0
    """For a unit that lacks streams, and for logs of Aeron, which may always get more lines."""


class Arrivals:
    """Finds the units that have arrived since the last look.

    Parameters
    ----------
    corpora
        Folders in which units arrive, by path or URL. They may be empty at first.
    patience
        Seconds without a change after which a unit is verified.
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
            As `list_units` says, but not for an empty folder.
        """
        return [unit for corpus in self._corpora for unit in _units_of(corpus)]

    def due(self, units: Iterable[Unit]) -> list[Unit]:
        """Return the settled units that are new or have changed since `seen`."""
        now_ns = time.time_ns()
        return [
            unit
            for unit in units
            if self._seen.get(unit.path) != unit.stat and is_settled(unit, self._patience, now_ns)
        ]

    def seen(self, units: Iterable[Unit]) -> None:
        """Record that units were verified."""
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
    """Tell whether a unit has not changed for long enough."""
    quiet_s = (now_ns - unit.changed_ns) / 1e9
    if quiet_s >= patience.patience_s:
        return True
    return quiet_s >= patience.settle_s and _has_all_streams(unit)


def _has_all_streams(unit: Unit) -> bool:
    """Tell whether a unit has all its streams; False for logs of Aeron, as nothing shows it."""
    if unit.kind is not UnitKind.RUN:
        return unit.kind is not UnitKind.AERON_LOGS
    try:
        with tempfile.TemporaryDirectory(prefix="canvass-outline-") as outline:
            for file in entries(unit.place):
                if not file.folder:  # The names of streams are enough.
                    data = (unit.place / RUN_FILE).read_bytes() if file.name == RUN_FILE else b""
                    Path(outline, file.name).write_bytes(data)
            facts = RunFolder(Path(outline)).facts
    except (TraceError, OSError):
        return False
    return all(fact.kind is not FactKind.MISSING_STREAM for fact in facts)

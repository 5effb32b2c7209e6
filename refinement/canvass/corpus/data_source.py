"""``spark.read.format("canvass")`` and ``format("canvass-aeron")``: events of runs, or lines of
Aeron's event logs, as rows.

Events have the columns of ``canvass.events/1`` (`canvass.traces.arrow`) without dictionaries. They
answer questions about a corpus; `canvass.corpus.job` verifies it much faster. ``source`` is null
for run folders, as only the strict reader of single events keeps it. More columns: ``revision`` of
the run's rules, one for each Hive partition, and ``truncated``, which has a reason in the rows of a
stream that ends within a line or whose import is incomplete. Folders of Aeron's logs are imported
by the task that reads them.

Options of events are ``path``, also the argument of ``load``, and ``memberCount``: members of each
cluster, 3 by default; a run of another size is an error. With ``schema`` only the named columns
come.

Lines of logs have the columns ``cluster`` (the folder), ``file``, ``member``, ``part`` (of a rolled
log, else null), ``line`` (from 1), ``component`` and ``event`` (null if the line has none),
``time_ns`` (the host's monotonic clock, null if the line has none), ``text``, and one for each Hive
partition.
"""

from __future__ import annotations

import re
import tempfile
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from canvass.corpus.plan import Unit, UnitKind, list_units, pack, partition_of
from canvass.corpus.storage import Place, absolute, files_below, on_this_machine, place_of
from canvass.traces.aeron_log.errors import AeronLogError, LogCode
from canvass.traces.aeron_log.line import stamp_of
from canvass.traces.aeron_log.parser import decoded
from canvass.traces.aeron_log.source import LogSource, parse_log_name
from canvass.traces.alignment.importer import import_logs
from canvass.traces.arrow import arrow_schema, to_table
from canvass.traces.errors import Code, TraceError
from canvass.traces.parquet import REVISION, TRUNCATED, DatasetFile
from canvass.traces.run import RunFolder
from canvass.traces.schema import Fact, FactKind, Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

DEFAULT_MEMBER_COUNT: Final = 3


def register(session: SparkSession) -> None:
    """Register ``format("canvass")`` and ``format("canvass-aeron")`` in a session."""
    session.dataSource.register(CanvassDataSource)
    session.dataSource.register(AeronLogSource)


def plain_schema(member_count: int) -> Any:
    """Return the Arrow schema of events without dictionaries, which Spark does not have."""
    return pa.schema(
        [pa.field(f.name, _plain(f.type), f.nullable) for f in arrow_schema(member_count)]
    )


def row_schema(member_count: int) -> Any:
    """Return the Arrow schema of the rows of the data source."""
    schema = plain_schema(member_count)
    for name in (TRUNCATED, REVISION):
        schema = schema.append(pa.field(name, pa.string()))
    return schema


def _plain(kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return pa.struct([pa.field(f.name, _plain(f.type), f.nullable) for f in fields])
    if pa.types.is_list(kind):
        element = kind.value_field
        return pa.list_(pa.field(element.name, _plain(element.type), element.nullable))
    return kind


class TaskPartition(InputPartition):
    """The units of one Spark partition."""

    def __init__(self, units: str) -> None:
        super().__init__(units)


class CanvassDataSource(DataSource):
    """Runs as a table of events."""

    @classmethod
    def name(cls) -> str:
        """Give the name of the format."""
        return "canvass"

    def schema(self) -> StructType:
        """Return the columns of events, for the member count in the options."""
        return from_arrow_schema(with_partitions(row_schema(_members(self.options)), self.options))

    def reader(self, schema: StructType) -> EventsReader:
        """Return the reader of one scan.

        Raises
        ------
        BadOption
            If a column does not exist.
        """
        if unknown := sorted(set(schema.names) - set(self.schema().names)):
            raise BadOption(f"there is no column {unknown[0]!r}")
        return EventsReader(self.options, to_arrow_schema(schema))


class UnitReader(DataSourceReader):
    """Reads units; the units of a partition one after the other."""

    def __init__(self, options: Mapping[str, str], schema: Any) -> None:
        self._path = path_of(options)
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Pack the units into partitions."""
        tasks = pack(list_units([self._path]), parallelism=2) or [[]]
        return [TaskPartition(msgspec.json.encode(task).decode()) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the rows of a partition as Arrow batches; a malformed unit is an error."""
        for unit in msgspec.json.decode(partition.value, type=list[Unit]):
            with on_this_machine(unit.place) as here:
                yield from self._read_unit(unit, here)

    @abstractmethod
    def _read_unit(self, unit: Unit, here: Path) -> Iterator[Any]:
        """Yield the rows of a unit, whose files are here, as Arrow batches."""


_Reasons = dict[tuple[str, int], str]
"""Why streams are not whole, by run and member."""


class EventsReader(UnitReader):
    """Reads the events of units."""

    def __init__(self, options: Mapping[str, str], schema: Any) -> None:
        super().__init__(options, schema)
        self._member_count = _members(options)

    def _read_unit(self, unit: Unit, here: Path) -> Iterator[Any]:
        if unit.kind is UnitKind.REFUSED:
            raise TraceError(Code(unit.code), unit.path, 0, 0, unit.reason)
        with tempfile.TemporaryDirectory(prefix="canvass-source-") as scratch:
            if unit.kind is UnitKind.AERON_LOGS:
                logs, here = here, Path(scratch, here.name)
                import_logs([logs], here)
            if unit.kind is UnitKind.FILE:
                yield from self._read_file(unit, here)
            else:
                yield from self._read_folder(unit, here)

    def _read_file(self, unit: Unit, path: Path) -> Iterator[Any]:
        with DatasetFile(path) as file:
            runs = {run_id: entry.run for run_id, entry in file.runs.items()}
            reasons = _reasons([fact for each in file.runs.values() for fact in each.facts], runs)
            absent = self._check(unit, runs)
            for table, _ in file.read():
                absent -= set(table["run"].unique().to_pylist())
                yield from self._rows(table, unit, runs, reasons)
        _refuse_absent(unit, absent)

    def _read_folder(self, unit: Unit, path: Path) -> Iterator[Any]:
        folder = RunFolder(path)
        runs = {folder.run.run_id: folder.run}
        absent = self._check(unit, runs)
        for member_id in folder.streams:
            # Without the context rows of batches. Only the end of a stream says if it is whole.
            read = [to_table(c).slice(c.context) for c, _ in folder.sourced_columns(member_id)]
            reasons = _reasons(folder.facts, runs)
            for table in filter(len, read):
                absent.clear()
                yield from self._rows(table, unit, runs, reasons)
        _refuse_absent(unit, absent)

    def _check(self, unit: Unit, runs: Mapping[str, Run]) -> set[str]:
        """Check the sizes of clusters; return the ids of the runs."""
        if wrong := {run.member_count for run in runs.values()} - {self._member_count}:
            reason = f"a cluster of {min(wrong)}: set the option memberCount"
            raise TraceError(Code.BAD_SCHEMA, unit.path, 0, 0, reason)
        return set(runs)

    def _rows(
        self, table: Any, unit: Unit, runs: Mapping[str, Run], reasons: _Reasons
    ) -> Iterator[Any]:
        """Yield the rows of a table, with the wanted columns."""
        plain = plain_schema(self._member_count)
        rows = table.select(plain.names).cast(plain)
        ids = rows["run"].combine_chunks().dictionary_encode()
        revisions = [runs[run_id].revision for run_id in ids.dictionary.to_pylist()]
        more: dict[str, Any] = {REVISION: pa.array(revisions, pa.string()).take(ids.indices)}
        streams = zip(*(rows[name].to_pylist() for name in ("run", "member")), strict=True)
        marks = map(reasons.get, streams) if reasons else [None] * len(rows)
        more[TRUNCATED] = pa.array(marks, pa.string())
        values = partition_values(self._path, unit)
        for name in self._schema.names:
            if name not in rows.column_names:  # A unit may be in no such partition.
                value = pa.scalar(values.get(name), pa.string())
                rows = rows.append_column(name, more.get(name, pa.repeat(value, len(rows))))
        yield from rows.select(self._schema.names).cast(self._schema).to_batches()


def _reasons(facts: Sequence[Fact], runs: Mapping[str, Run]) -> _Reasons:
    """Why streams are not whole: they are truncated, or their import lacks something."""
    found = {
        (run_id, member_id): one
        for run_id, run in runs.items()
        for one in run.missing[:1]
        for member_id in range(run.member_count)
    }
    for fact in facts:
        if fact.kind is FactKind.TRUNCATED:
            found[fact.run_id, fact.member_id] = fact.detail or "truncated"
    return found


def _refuse_absent(unit: Unit, absent: set[str]) -> None:
    if absent:
        reason = f"the run {min(absent)} has no events, and no row can report it"
        raise TraceError(Code.NOT_FOUND, unit.path, 0, 0, reason)


# --- options --------------------------------------------------------------------------------------


class BadOption(Exception):
    """An option of a data source is missing or has a wrong value."""


def partition_values(root: Place, unit: Unit) -> dict[str, str | None]:
    """Return the values of a unit's partitions by name; None for Hive's null."""
    *folders, _ = unit.path.removeprefix(str(absolute(root))).split("/")
    found = filter(None, map(partition_of, folders))
    return {name: None if value == _NULL else value for name, value in found}


_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


def partition_names(place: Place) -> list[str]:
    """Return the names of the partitions below a folder, from the first folder of each level."""
    names: list[str] = []
    while True:
        found = [each.name for each in files_below(place, recursive=False) if each.folder]
        found = [name for name in found if partition_of(name)]
        if not found:
            return names
        names.append(found[0].partition("=")[0])
        place = place / found[0]


def with_partitions(schema: Any, options: Mapping[str, str]) -> Any:
    """Return a schema with a column for each partition of the path."""
    names = partition_names(path_of(options))
    return pa.schema([*schema, *(pa.field(n, pa.string()) for n in names if n not in schema.names)])


def path_of(options: Mapping[str, str]) -> Place:
    """Return the option ``path``."""
    if "path" not in options:
        raise BadOption("the data source needs a path")
    return place_of(options["path"].removeprefix("file:"))


def _members(options: Mapping[str, str]) -> int:
    """Return the option ``memberCount``."""
    text = options.get("memberCount", str(DEFAULT_MEMBER_COUNT))
    if not text.isdecimal():
        raise BadOption(f"memberCount={text!r} is no number")
    return int(text)


_LINE: Final = (
    "cluster",
    "file",
    "member",
    "part",
    "line",
    "component",
    "event",
    "time_ns",
    "text",
)
_NUMBERS: Final = ("member", "part", "line", "time_ns")
SCHEMA: Final = pa.schema(
    [(name, pa.int64() if name in _NUMBERS else pa.string()) for name in _LINE]
)
_EVENT: Final = re.compile(r"([A-Z_]+): ([A-Z][A-Z0-9_]*)")
_ROWS_AT_ONCE: Final = 8192
_MAX_LINE_BYTES: Final = 1 << 20


class AeronLogSource(DataSource):
    """Aeron's event logs as a table of lines."""

    @classmethod
    def name(cls) -> str:
        """Give the name of the format."""
        return "canvass-aeron"

    def schema(self) -> StructType:
        """Return the columns of lines."""
        return from_arrow_schema(with_partitions(SCHEMA, self.options))

    def reader(self, schema: StructType) -> LinesReader:
        """Return the reader of one scan."""
        return LinesReader(self.options, to_arrow_schema(schema))


class LinesReader(UnitReader):
    """Reads the lines of folders of logs."""

    def _read_unit(self, unit: Unit, here: Path) -> Iterator[Any]:
        if unit.kind is not UnitKind.AERON_LOGS:
            raise TraceError(Code.NOT_FOUND, unit.path, 0, 0, "no folder of Aeron's logs")
        shared = {"cluster": unit.path, **partition_values(self._path, unit)}
        for path in sorted(here.iterdir()):
            name = parse_log_name(path.name)
            if name is None:
                continue
            about = shared | {
                "file": f"{unit.path}/{path.name}",
                "member": name.member_id,
                "part": name.part,
            }
            rows = (about | row for row in log_lines(path))
            while some := list(islice(rows, _ROWS_AT_ONCE)):
                yield pa.RecordBatch.from_pylist(some, self._schema)


def log_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the columns of each line of a log.

    Raises
    ------
    AeronLogError
        If the file cannot be read, is damaged or unpacks to too much.
    """
    number, rest = 0, b""
    for piece in LogSource(path).pieces():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            number += 1
            yield _line(number, line)
        if len(rest) > _MAX_LINE_BYTES:
            reason = f"a line of more than {_MAX_LINE_BYTES} bytes"
            raise AeronLogError(str(path), number + 1, 0, LogCode.TOO_LARGE, reason)
    if rest:
        yield _line(number + 1, rest)


def _line(number: int, data: bytes) -> dict[str, Any]:
    text = decoded(data)
    stamp = stamp_of(text)
    named = None if stamp is None else _EVENT.match(text, stamp[1])
    component, event = (None, None) if named is None else named.groups()
    time_ns = None if stamp is None else stamp[0]
    found = {"line": number, "time_ns": time_ns, "text": text}
    return found | {"component": component, "event": event}

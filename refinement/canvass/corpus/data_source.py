"""``spark.read.format("canvass")`` and ``format("canvass-aeron")``: events of runs, or lines of
Aeron's event logs, as rows.

Events have the columns of ``canvass.events/1`` (`canvass.traces.arrow`) without dictionaries. They
answer questions about a corpus; `canvass.corpus.job` verifies it much faster. ``source`` is null
for run folders, as only the strict reader of single events keeps it. More columns: ``revision`` of
the run's rules, one for each Hive partition, and ``truncated``. ``truncated`` is null, except in
the last row of a stream that ends within a line, where it has the reason. Folders of Aeron's logs
are imported by the task that reads them.

Options of events:

* ``path``, also the argument of ``load``;
* ``run``, ``member``, ``revision``, ``columns``: the wanted values, with commas between them;
* ``memberCount``: members of each cluster, 3 by default; a run of another size is an error;
* ``partitions``: the number of Spark's partitions.

Row groups and streams that the options exclude are not read.

Lines of logs have the columns ``cluster`` (the folder), ``file``, ``member``, ``part`` (of a rolled
log, else null), ``line`` (from 1), ``component`` and ``event`` (null if the line has none),
``time_ns`` (the host's monotonic clock, null if the line has none), ``text``, and one for each Hive
partition. Their options are ``path``, ``member`` and ``partitions``.
"""

from __future__ import annotations

import re
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from canvass.conformance.check import REVISION, TRUNCATED
from canvass.corpus.plan import Partition, Unit, UnitKind, list_units, pack, partition_of
from canvass.corpus.storage import Place, entries, on_this_machine, place_of
from canvass.traces.aeron_log.errors import AeronLogError, LogCode
from canvass.traces.aeron_log.line import stamp_of
from canvass.traces.aeron_log.parser import decoded
from canvass.traces.aeron_log.source import LogSource, parse_log_name
from canvass.traces.alignment.importer import import_logs
from canvass.traces.arrow import arrow_schema, to_table
from canvass.traces.errors import Code, TraceError
from canvass.traces.parquet import DatasetFile
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
        count = whole_number(self.options, "memberCount", DEFAULT_MEMBER_COUNT)
        schema = with_partitions(row_schema(count), self.options)
        wanted = self.options.get("columns")
        if wanted is not None:
            schema = chosen_columns(schema, [name.strip() for name in wanted.split(",")])
        return from_arrow_schema(schema)

    def reader(self, schema: StructType) -> EventsReader:
        """Return the reader of one scan."""
        return EventsReader(self.options, schema.names)


def chosen_columns(schema: Any, names: Sequence[str]) -> Any:
    """Return some fields of a schema.

    Raises
    ------
    BadOption
        If a column does not exist.
    """
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        raise BadOption(f"there is no column {unknown[0]!r}")
    return pa.schema([schema.field(name) for name in names])


class UnitReader(DataSourceReader):
    """Reads units; the units of a partition one after the other."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        self._path = path_of(options)
        self._names = list(names)
        self._tasks = whole_number(options, "partitions", 0) or None
        self._wanted = wanted_values(options)

    def partitions(self) -> Sequence[InputPartition]:
        """Pack the units into partitions."""
        tasks = pack(list_units([self._path]), tasks=self._tasks, parallelism=2) or [[]]
        return [TaskPartition(msgspec.json.encode(task).decode()) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the rows of a partition as Arrow batches; a malformed unit is an error."""
        for unit in msgspec.json.decode(partition.value, type=list[Unit]):
            with on_this_machine(unit.place) as here:
                yield from self._read_unit(unit, here)

    @abstractmethod
    def _read_unit(self, unit: Unit, here: Path) -> Iterator[Any]:
        """Yield the rows of a unit, whose files are here, as Arrow batches."""

    def _is_wanted(self, **values: object) -> bool:
        return all(value in self._wanted.get(name, (value,)) for name, value in values.items())


class EventsReader(UnitReader):
    """Reads the events of units."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        super().__init__(options, names)
        self._member_count = whole_number(options, "memberCount", DEFAULT_MEMBER_COUNT)

    def _read_unit(self, unit: Unit, here: Path) -> Iterator[Any]:
        if unit.kind is UnitKind.REFUSED:
            raise TraceError(Code(unit.code), unit.path, 0, 0, unit.reason)
        with ExitStack() as opened:
            if unit.kind is UnitKind.AERON_LOGS:
                scratch = opened.enter_context(
                    tempfile.TemporaryDirectory(prefix="canvass-source-")
                )
                import_logs([here], Path(scratch, here.name))
                here = Path(scratch, here.name)
            if unit.kind is UnitKind.FILE:
                file = opened.enter_context(DatasetFile(here))
                facts = [fact for entry in file.runs.values() for fact in entry.facts]
                runs = [entry.run for entry in file.runs.values()]
                tables = self._tables_of_file(file)
            else:
                folder = RunFolder(here)
                facts, runs = folder.facts, [folder.run]
                tables = self._tables_of_run(folder)
            if wrong := {run.member_count for run in runs} - {self._member_count}:
                reason = f"a cluster of {min(wrong)}: set the option memberCount"
                raise TraceError(Code.BAD_SCHEMA, unit.path, 0, 0, reason)
            wanted = {
                run.run_id for run in runs if self._is_wanted(run=run.run_id, revision=run.revision)
            }
            seen = set[str]()
            revisions = {run.run_id: run.revision for run in runs}
            for table in _marked(tables, lambda: _truncated(facts, runs)) if wanted else ():
                seen.update(table["run"].unique().to_pylist())
                yield from self._rows(table, unit, revisions)
            if (absent := wanted - seen) and "member" not in self._wanted:
                reason = f"the run {min(absent)} has no events, and no row can report it"
                raise TraceError(Code.NOT_FOUND, unit.path, 0, 0, reason)

    def _tables_of_file(self, file: DatasetFile) -> Iterator[Any]:
        """Yield the row groups that may have wanted runs; the reader checks their events."""
        groups: Iterable[int] = range(file.row_groups)
        if chosen := self._wanted.get("run"):
            runs = (run_id for run_id in file.runs if run_id in chosen)
            groups = sorted({number for run_id in runs for number in file.groups_of(run_id)})
        for number, _ in zip(groups, file.batches(list(groups)), strict=True):
            yield file.table(number)

    def _tables_of_run(self, folder: RunFolder) -> Iterator[Any]:
        """Yield the events of wanted members, without the context rows of batches."""
        for member_id in filter(lambda member: self._is_wanted(member=member), folder.streams):
            for columns, _ in folder.sourced_columns(member_id):
                yield to_table(columns).slice(columns.context)

    def _rows(self, table: Any, unit: Unit, revisions: Mapping[str, str]) -> Iterator[Any]:
        """Yield the wanted rows of a table, with the wanted columns."""
        plain = plain_schema(self._member_count)
        runs = table["run"].combine_chunks().dictionary_encode()
        named = pa.array([revisions[run_id] for run_id in runs.dictionary.to_pylist()], pa.string())
        rows = table.select(plain.names).cast(plain).append_column(TRUNCATED, table[TRUNCATED])
        rows = rows.append_column(REVISION, named.take(runs.indices))
        partition = partition_values(unit.partition)
        for name in self._names:
            if name not in rows.column_names:  # A unit may be in no such partition.
                column = pa.repeat(pa.scalar(partition.get(name), pa.string()), len(rows))
                rows = rows.append_column(name, column)
        for name, values in self._wanted.items():
            rows = rows.filter(pc.field(name).isin(list(values)))
        yield from rows.select(self._names).to_batches()


def _marked(tables: Iterable[Any], truncated: Callable[[], _Truncated]) -> Iterator[Any]:
    """Yield tables with the column ``truncated``.

    Whether a stream ends in a table is seen in the next one; only then the reader of a stream knows
    whether it is truncated.
    """
    before = None
    for table in chain(tables, [None]):
        if before is not None:
            ended = truncated()
            if table is not None and len(table):
                ended.pop(_stream_at(table, 0), None)
            yield before.append_column(TRUNCATED, _marks(before, ended))
        before = table


_Truncated = dict[tuple[str, int], str]
"""Why streams that end in a table are truncated, by run and member."""


def _truncated(facts: Iterable[Fact], runs: Iterable[Run]) -> _Truncated:
    """Why streams are not whole: they are truncated, or their import lacks something."""
    found = {
        (run.run_id, i): one
        for run in runs
        for one in run.missing[:1]
        for i in range(run.member_count)
    }
    for fact in facts:
        if fact.kind is FactKind.TRUNCATED:
            found[fact.run_id, fact.member_id] = fact.detail or "truncated"
    return found


def _stream_at(table: Any, row: int) -> tuple[str, int]:
    return table.column("run")[row].as_py(), table.column("member")[row].as_py()


def _marks(table: Any, truncated: _Truncated) -> Any:
    """Return the column ``truncated`` of a table."""
    marks: list[str | None] = [None] * len(table)
    if truncated and len(table):
        runs = table.column("run").combine_chunks().dictionary_encode().indices
        streams = np.stack([runs, table.column("member")])
        ends = np.flatnonzero((np.diff(streams, axis=1) != 0).any(axis=0)).tolist()
        for row in [*ends, len(table) - 1]:
            marks[row] = truncated.get(_stream_at(table, row))
    return pa.array(marks, pa.string())


# --- options --------------------------------------------------------------------------------------


class BadOption(Exception):
    """An option of a data source is missing or has a wrong value."""


def wanted_values(options: Mapping[str, str]) -> dict[str, frozenset[Any]]:
    """Parse the options ``run``, ``member`` and ``revision``: values with commas between them.

    Raises
    ------
    BadOption
        If the id of a member is no number.
    """
    wanted: dict[str, frozenset[Any]] = {}
    for name in ("run", "member", "revision"):
        if name in options:
            values = [value.strip() for value in options[name].split(",")]
            if name == "member" and not all(value.isdecimal() for value in values):
                raise BadOption(f"{name}={options[name]!r} is no list of members' ids")
            wanted[name] = frozenset(map(int, values) if name == "member" else values)
    return wanted


def partition_values(partition: Partition) -> dict[str, str | None]:
    """Return the values of partitions by name; None for Hive's null."""
    return {name: None if value == _NULL else value for name, value in partition}


_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


def partition_names(place: Place) -> list[str]:
    """Return the names of the partitions below a folder, from the first folder of each level."""
    names: list[str] = []
    while place.is_dir():
        found = [each.name for each in entries(place) if partition_of(each.name) and each.folder]
        if not found:
            break
        names.append(found[0].partition("=")[0])
        place = place / found[0]
    return names


def with_partitions(schema: Any, options: Mapping[str, str]) -> Any:
    """Return a schema with a column for each partition of the path."""
    names = partition_names(path_of(options))
    return pa.schema([*schema, *(pa.field(n, pa.string()) for n in names if n not in schema.names)])


def path_of(options: Mapping[str, str]) -> Place:
    """Return the option ``path``."""
    if "path" not in options:
        raise BadOption("the data source needs a path")
    return place_of(options["path"].removeprefix("file:"))


def whole_number(options: Mapping[str, str], name: str, default: int) -> int:
    """Read an option that is a whole number."""
    text = options.get(name, str(default))
    if not text.isdecimal():
        raise BadOption(f"{name}={text!r} is no number")
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
        return LinesReader(self.options, schema.names)


class LinesReader(UnitReader):
    """Reads the lines of folders of logs."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        super().__init__(options, names)
        kinds = {field.name: field.type for field in SCHEMA}
        self._schema = pa.schema([(name, kinds.get(name, pa.string())) for name in names])

    def _read_unit(self, unit: Unit, here: Path) -> Iterator[Any]:
        if unit.kind is not UnitKind.AERON_LOGS:
            raise TraceError(Code.NOT_FOUND, unit.path, 0, 0, "no folder of Aeron's logs")
        shared = {"cluster": unit.path, **partition_values(unit.partition)}
        for path in sorted(here.iterdir()):
            name = parse_log_name(path.name)
            if name is None or not self._is_wanted(member=name.member_id):
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

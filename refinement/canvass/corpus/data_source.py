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

Partitions, files, row groups and streams that the options exclude are not read.

Lines of logs have the columns ``cluster`` (the folder), ``file``, ``member``, ``part`` (of a rolled
log, else null), ``line`` (from 1), ``component`` and ``event`` (null if the line has none),
``time_ns`` (the host's monotonic clock, null if the line has none), ``text``, and one for each Hive
partition. Their options are ``path``, ``member`` and ``partitions``.
"""

from __future__ import annotations

import re
import tempfile
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from canvass.corpus.plan import Task, Unit, UnitKind, list_units, on_this_machine, pack
from canvass.corpus.selection import (
    BadOption,
    Selection,
    partition_names,
    partition_values,
)
from canvass.corpus.storage import Place, place_of
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

    from canvass.traces.columns import EventColumns

TRUNCATED: Final = "truncated"
REVISION: Final = "revision"
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
        schema = row_schema(count)
        for name in partition_names(path_of(self.options)):
            if name not in schema.names:
                schema = schema.append(pa.field(name, pa.string()))
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
        self._selection = Selection.of(options)

    def partitions(self) -> Sequence[InputPartition]:
        """Pack the units that may have wanted rows into partitions."""
        units = list_units([self._path])
        tasks = pack(units, tasks=self._tasks, parallelism=2) or [()]
        return [TaskPartition(msgspec.json.encode(task).decode()) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the rows of a partition as Arrow batches; a malformed unit is an error."""
        for unit in msgspec.json.decode(partition.value, type=Task):
            with (
                tempfile.TemporaryDirectory(prefix="canvass-source-") as scratch,
                on_this_machine([unit]) as (here,),
            ):
                yield from self._read_unit(here, Path(scratch))

    @abstractmethod
    def _read_unit(self, unit: Unit, scratch: Path) -> Iterator[Any]:
        """Yield the rows of a unit on this machine as Arrow batches."""


class EventsReader(UnitReader):
    """Reads the events of units."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        super().__init__(options, names)
        self._member_count = whole_number(options, "memberCount", DEFAULT_MEMBER_COUNT)

    def _read_unit(self, unit: Unit, scratch: Path) -> Iterator[Any]:
        schema = plain_schema(self._member_count)
        if unit.kind is UnitKind.REFUSED:
            raise TraceError(Code(unit.code), unit.path, 0, 0, unit.reason)
        for batch in _batches_of(unit, scratch, self._selection):
            if batch.member_count != self._member_count:
                reason = f"a cluster of {batch.member_count}: set the option memberCount"
                raise TraceError(Code.BAD_SCHEMA, unit.path, 0, 0, reason)
            rows = batch.table.cast(schema)
            rows = rows.append_column(TRUNCATED, _marks(batch.table, batch.truncated))
            rows = rows.append_column(REVISION, _revisions(rows["run"], batch.revisions))
            for name, value in partition_values(unit.partition).items():
                if name not in rows.column_names:
                    column = pa.repeat(pa.scalar(value, pa.string()), len(rows))
                    rows = rows.append_column(name, column)
            for name in self._names:
                if name not in rows.column_names:  # The unit is in no such partition.
                    rows = rows.append_column(name, pa.nulls(len(rows), pa.string()))
            yield from self._selection.rows(rows).select(self._names).to_batches()


class _Batch(NamedTuple):
    """Events of a unit."""

    member_count: int
    table: Any
    truncated: _Truncated
    revisions: Mapping[str, str]
    """By run id."""


def _batches_of(unit: Unit, scratch: Path, selection: Selection) -> Iterator[_Batch]:
    path = unit.location
    if unit.kind is UnitKind.FILE:
        yield from _file_tables(path, selection)
        return
    if unit.kind is UnitKind.AERON_LOGS:
        import_logs([path], scratch / path.name)
        path = scratch / path.name
    yield from _run_tables(path, selection)


_NO_EVENTS: Final = "the run {} has no events, and no row can report it"

_Truncated = dict[tuple[str, int], str]
"""Why streams that end in a table are truncated, by run and member."""


def _file_tables(path: Path, selection: Selection) -> Iterator[_Batch]:
    with DatasetFile(path) as file:
        revisions = {run_id: entry.run.revision for run_id, entry in file.runs.items()}
        wanted = [run_id for run_id, name in revisions.items() if selection.has_run(run_id, name)]
        groups: Sequence[int] = range(file.row_groups)
        if len(wanted) < len(revisions):
            groups = sorted({number for run_id in wanted for number in file.groups_of(run_id)})
        facts = (fact for entry in file.runs.values() for fact in entry.facts)
        truncated = _truncated(facts, (entry.run for entry in file.runs.values()))
        before = None
        absent = set(wanted)
        # `batches` checks the events of each row group.
        for number, _ in zip(groups, file.batches(groups), strict=True):
            table = file.table(number)
            absent -= set(table["run"].unique().to_pylist())
            if before is not None:
                going_on = _stream_at(table, 0)
                ended = {stream: why for stream, why in truncated.items() if stream != going_on}
                yield _Batch(file.member_count, before, ended, revisions)
            before = table
        if before is not None:
            yield _Batch(file.member_count, before, truncated, revisions)
        if absent:
            raise TraceError(Code.NOT_FOUND, str(path), 0, 0, _NO_EVENTS.format(min(absent)))


def _run_tables(path: Path, selection: Selection) -> Iterator[_Batch]:
    folder = RunFolder(path)
    run = folder.run
    if not selection.has_run(run.run_id, run.revision):
        return
    revisions = {run.run_id: run.revision}
    wanted = [member_id for member_id in folder.streams if selection.has_member(member_id)]
    is_empty = len(wanted) == len(folder.streams)
    for member_id in wanted:
        before = None
        for columns, _ in folder.sourced_columns(member_id):
            if before is not None:
                yield _Batch(run.member_count, before, {}, revisions)
            before = _table(columns)
        if before is not None:  # Only now it is known whether the stream is truncated.
            is_empty = False
            yield _Batch(run.member_count, before, _truncated(folder.facts, [run]), revisions)
    if is_empty:
        raise TraceError(Code.NOT_FOUND, str(path), 0, 0, _NO_EVENTS.format(run.run_id))


def _revisions(runs: Any, revisions: Mapping[str, str]) -> Any:
    """Return the column ``revision``."""
    coded = runs.combine_chunks().dictionary_encode()
    found = [revisions[run_id] for run_id in coded.dictionary.to_pylist()]
    return pa.array(found, pa.string()).take(coded.indices)


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


def _table(columns: EventColumns) -> Any:
    """Return a batch as a table without its context row."""
    return to_table(columns).slice(columns.context)


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


SCHEMA: Final = pa.schema(
    [
        pa.field("cluster", pa.string()),
        pa.field("file", pa.string()),
        pa.field("member", pa.int64()),
        pa.field("part", pa.int64()),
        pa.field("line", pa.int64()),
        pa.field("component", pa.string()),
        pa.field("event", pa.string()),
        pa.field("time_ns", pa.int64()),
        pa.field("text", pa.string()),
    ]
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
        schema = SCHEMA
        for name in partition_names(path_of(self.options)):
            if name not in schema.names:
                schema = schema.append(pa.field(name, pa.string()))
        return from_arrow_schema(schema)

    def reader(self, schema: StructType) -> LinesReader:
        """Return the reader of one scan."""
        return LinesReader(self.options, schema.names)


class LinesReader(UnitReader):
    """Reads the lines of folders of logs."""

    def _read_unit(self, unit: Unit, scratch: Path) -> Iterator[Any]:  # noqa: ARG002 - nothing is imported
        if unit.kind is not UnitKind.AERON_LOGS:
            raise TraceError(Code.NOT_FOUND, unit.path, 0, 0, "no folder of Aeron's logs")
        shared = {"cluster": unit.path, **partition_values(unit.partition)}
        for path in sorted(unit.location.iterdir()):
            name = parse_log_name(path.name)
            if name is None or not self._selection.has_member(name.member_id):
                continue
            about = shared | {
                "file": f"{unit.path}/{path.name}",
                "member": name.member_id,
                "part": name.part,
            }
            rows = (about | row for row in log_lines(path))
            while some := list(islice(rows, _ROWS_AT_ONCE)):
                kinds = {each.name: each.type for each in SCHEMA}
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array([row.get(name) for row in some], kinds.get(name, pa.string()))
                        for name in self._names
                    ],
                    names=self._names,
                )


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

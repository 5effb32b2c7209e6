"""``spark.read.format("canvass")`` and ``format("canvass-aeron")``: events of runs, or lines of
Aeron's event logs, as rows.

Events have the columns of ``canvass.events/1`` (`canvass.traces.arrow`) without dictionaries. They
answer questions about a corpus; `canvass.corpus.job` verifies it much faster. There are more
columns: ``revision`` (of the run's rules), one for each Hive partition, and ``truncated``. The last
has a reason in all rows of a stream that ends within a line, or whose import is incomplete. The
task that reads a unit brings it into the form of a data set: it imports folders of Aeron's logs and
converts run folders.

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
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from canvass.corpus.plan import Unit, UnitKind, list_units, pack, partition_of
from canvass.corpus.storage import Place, absolute, on_this_machine, place_of
from canvass.traces.aeron_log.line import stamp_of
from canvass.traces.aeron_log.parser import decoded
from canvass.traces.aeron_log.source import AeronLogError, LogCode, LogSource, parse_log_name
from canvass.traces.alignment.importer import import_logs
from canvass.traces.arrow import arrow_schema, to_table
from canvass.traces.errors import Code, TraceError
from canvass.traces.parquet import REVISION, TRUNCATED, DatasetFile, RunEntry, write_dataset
from canvass.traces.run import Corpus
from canvass.traces.schema import MAX_LINE_BYTES, FactKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


def register(session: SparkSession) -> None:
    """Register ``format("canvass")`` and ``format("canvass-aeron")`` in a session."""
    session.dataSource.register(CanvassDataSource)
    session.dataSource.register(AeronLogSource)


def row_schema(member_count: int) -> Any:
    """Return the Arrow schema of the rows of the data source, which has no dictionaries."""
    more = [pa.field(name, pa.string()) for name in (TRUNCATED, REVISION)]
    events = from_arrow_schema(arrow_schema(member_count))
    return pa.schema([*to_arrow_schema(events), *more])


# --- units ----------------------------------------------------------------------------------------


class UnitSource(DataSource):
    """Rows of the units below a path, with a column for each of its partitions."""

    columns: Any = None
    """The Arrow schema of the other columns."""
    reads: type[UnitReader]

    def schema(self) -> StructType:
        """Return the columns."""
        root = _root(self.options)
        found = (partition_values(root, unit) for unit in list_units([root]))
        names = dict.fromkeys(name for values in found for name in values)
        more = [pa.field(n, pa.string()) for n in names if n not in self.columns.names]
        return from_arrow_schema(pa.schema([*self.columns, *more]))

    def reader(self, schema: StructType) -> UnitReader:
        """Return the reader of one scan."""
        return self.reads(self.options, to_arrow_schema(schema))


class UnitReader(DataSourceReader):
    """Reads units; the units of a partition one after the other."""

    def __init__(self, options: Mapping[str, str], schema: Any) -> None:
        self._root = _root(options)
        self._member_count = _members(options)
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Pack the units into partitions."""
        tasks = pack(list_units([self._root]), parallelism=2)
        return [InputPartition(msgspec.json.encode(task).decode()) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the rows of a partition as Arrow batches; a malformed unit is an error."""
        for unit in msgspec.json.decode(partition.value, type=list[Unit]):
            values = partition_values(self._root, unit)
            with on_this_machine(unit.place) as here:
                for table in self._read_unit(unit, here):
                    for name in self._schema.names:
                        if name not in table.column_names:  # A unit may be in no such partition.
                            value = pa.scalar(values.get(name), pa.string())
                            table = table.append_column(name, pa.repeat(value, len(table)))
                    yield from table.select(self._schema.names).cast(self._schema).to_batches()

    @abstractmethod
    def _read_unit(self, unit: Unit, here: Path) -> Iterator[Any]:
        """Yield the rows of a unit as Arrow tables; its files are at ``here`` on this machine."""


def _root(options: Mapping[str, str]) -> Place:
    return place_of(options["path"].removeprefix("file:"))


def _members(options: Mapping[str, str]) -> int:
    return int(options.get("memberCount", 3))


def partition_values(root: Place, unit: Unit) -> dict[str, str | None]:
    """Return the values of a unit's partitions by name; None for Hive's null."""
    *folders, _ = unit.path.removeprefix(str(absolute(root))).split("/")
    found = filter(None, map(partition_of, folders))
    return {name: None if value == _NULL else value for name, value in found}


_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


# --- events ---------------------------------------------------------------------------------------


class EventsReader(UnitReader):
    """Reads the events of units."""

    def _read_unit(self, unit: Unit, here: Path) -> Iterator[Any]:
        if unit.kind is UnitKind.REFUSED:
            raise TraceError(Code(unit.code), unit.path, 0, 0, unit.reason)
        with tempfile.TemporaryDirectory(prefix="canvass-source-") as name:
            scratch, files = Path(name), [here]
            if unit.kind is UnitKind.AERON_LOGS:
                logs, here = here, scratch / here.name
                import_logs([logs], here)
            if unit.kind is not UnitKind.FILE:
                write_dataset(Corpus(here), scratch / "canvass-set")
                files = sorted((scratch / "canvass-set").iterdir())
            for path in files:
                with DatasetFile(path) as file:
                    yield from self._read_file(unit, file)

    def _read_file(self, unit: Unit, file: DatasetFile) -> Iterator[Any]:
        if wrong := {each.run.member_count for each in file.runs.values()} - {self._member_count}:
            reason = f"a cluster of {min(wrong)}: set the option memberCount"
            raise TraceError(Code.BAD_SCHEMA, unit.path, 0, 0, reason)
        absent = set(file.runs)
        for read, columns in file.read():
            if not read.schema.equals(arrow_schema(self._member_count)):
                read = to_table(replace(columns, sources=file.sources(read)))
            table = _with_facts(read, file.runs)
            absent -= set(table["run"].unique().to_pylist())
            yield table
        if absent:
            reason = f"the run {min(absent)} has no events, and no row can report it"
            raise TraceError(Code.NOT_FOUND, unit.path, 0, 0, reason)


def _with_facts(table: Any, runs: Mapping[str, RunEntry]) -> Any:
    """Return events without dictionaries, with revisions and with what is missing from streams."""
    plain = to_arrow_schema(from_arrow_schema(table.schema))
    rows = table.cast(plain)
    ids = rows["run"].combine_chunks().dictionary_encode()
    entries = {run_id: runs[run_id] for run_id in ids.dictionary.to_pylist()}
    revisions = pa.array([each.run.revision for each in entries.values()], pa.string())
    reasons = {
        (run_id, member): one
        for run_id, each in entries.items()
        for one in each.run.missing[:1]
        for member in range(each.run.member_count)
    } | {
        (run_id, fact.member_id): fact.detail or "truncated"
        for run_id, each in entries.items()
        for fact in each.facts
        if fact.kind is FactKind.TRUNCATED
    }
    streams = zip(*(rows[name].to_pylist() for name in ("run", "member")), strict=True)
    marks = map(reasons.get, streams) if reasons else [None] * len(rows)
    rows = rows.append_column(REVISION, revisions.take(ids.indices))
    return rows.append_column(TRUNCATED, pa.array(marks, pa.string()))


class CanvassDataSource(UnitSource):
    """Runs as a table of events."""

    reads = EventsReader

    @classmethod
    def name(cls) -> str:
        """Give the name of the format."""
        return "canvass"

    @property
    def columns(self) -> Any:
        """The columns of events, for the member count in the options."""
        return row_schema(_members(self.options))


# --- lines ----------------------------------------------------------------------------------------

_NUMBERS: Final = ("member", "part", "line", "time_ns")
_LINE: Final = ("cluster", "file", *_NUMBERS[:3], "component", "event", "time_ns", "text")
LINES: Final = pa.schema(
    [(name, pa.int64() if name in _NUMBERS else pa.string()) for name in _LINE]
)
"""The columns of lines."""
_EVENT: Final = re.compile(r"([A-Z_]+): ([A-Z][A-Z0-9_]*)")
_ROWS_AT_ONCE: Final = 8192


class LinesReader(UnitReader):
    """Reads the lines of folders of logs."""

    def _read_unit(self, unit: Unit, here: Path) -> Iterator[Any]:
        if unit.kind is not UnitKind.AERON_LOGS:
            raise TraceError(Code.NOT_FOUND, unit.path, 0, 0, "no folder of Aeron's logs")
        for path in sorted(here.iterdir()):
            name = parse_log_name(path.name)
            if name is None:
                continue
            file = f"{unit.path}/{path.name}"
            about = {"cluster": unit.path, "file": file, "member": name.member_id}
            rows = (about | {"part": name.part} | row for row in log_lines(path))
            while some := list(islice(rows, _ROWS_AT_ONCE)):
                yield pa.Table.from_pylist(some, LINES)


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
        if len(rest) > MAX_LINE_BYTES:
            reason = f"a line of more than {MAX_LINE_BYTES} bytes"
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


class AeronLogSource(UnitSource):
    """Aeron's event logs as a table of lines."""

    columns = LINES
    reads = LinesReader

    @classmethod
    def name(cls) -> str:
        """Give the name of the format."""
        return "canvass-aeron"

"""``spark.read.format("canvass")``: the events of runs as rows, whatever form the runs have.

The columns are those of ``canvass.events/1`` (`canvass.traces.arrow`) with dictionaries decoded,
for whoever wants to ask a corpus other questions than whether it conforms. To verify it, rows are
the slow way: give `canvass.corpus.job` the paths. The column ``source`` is null for run folders, of
which only the strict reader of single events keeps it. One column is added, ``truncated``: in the
last row of a member's stream, why the stream stops within a line; else null. So a cut stream is
not taken for a whole one, if it has any event.

Options: ``path`` (which ``load`` takes too), ``memberCount`` (default 3; a run of another size is
an error), and ``partitions``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from canvass.corpus.plan import Task, UnitKind, list_units, pack
from canvass.traces.arrow import arrow_schema, to_table
from canvass.traces.errors import Code, TraceError
from canvass.traces.facts import Fact, FactKind
from canvass.traces.parquet import DatasetFile
from canvass.traces.run import RunFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from canvass.traces.columns import EventColumns

NAME: Final = "canvass"
TRUNCATED: Final = "truncated"
DEFAULT_MEMBER_COUNT: Final = 3


class BadOption(Exception):
    """An option of the data source is missing or has no such value."""


def register(session: SparkSession) -> None:
    """Make ``format("canvass")`` known to a session."""
    session.dataSource.register(CanvassDataSource)


def plain_schema(member_count: int) -> Any:
    """Give the Arrow schema of events without dictionaries, which Spark does not have."""
    return pa.schema(
        [pa.field(f.name, _plain(f.type), f.nullable) for f in arrow_schema(member_count)]
    )


def row_schema(member_count: int) -> Any:
    """Give the Arrow schema of the rows of the data source."""
    return plain_schema(member_count).append(pa.field(TRUNCATED, pa.string()))


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
        return NAME

    def schema(self) -> StructType:
        """Give the columns of events of clusters of the size that is asked for."""
        count = _whole(self.options, "memberCount", DEFAULT_MEMBER_COUNT)
        return from_arrow_schema(row_schema(count))

    def reader(self, schema: StructType) -> EventsReader:  # noqa: ARG002 - Spark's signature
        """Give the reader of one scan."""
        return EventsReader(self.options)


class EventsReader(DataSourceReader):
    """Reads units, each partition's one after the other."""

    def __init__(self, options: Mapping[str, str]) -> None:
        if "path" not in options:
            raise BadOption("the data source needs a path")
        self._path = Path(options["path"].removeprefix("file:"))
        self._member_count = _whole(options, "memberCount", DEFAULT_MEMBER_COUNT)
        tasks = _whole(options, "partitions", 0)
        self._tasks = tasks or None

    def partitions(self) -> Sequence[InputPartition]:
        """Pack what there is into partitions."""
        tasks = pack(list_units([self._path]), tasks=self._tasks, parallelism=2)
        return [TaskPartition(msgspec.json.encode(task).decode()) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Give the events of a partition as Arrow batches; the first malformed unit is an error."""
        schema = plain_schema(self._member_count)
        for unit in msgspec.json.decode(partition.value, type=Task):
            if unit.kind is UnitKind.REFUSED:
                raise TraceError(Code(unit.code), unit.path, 0, 0, unit.reason)
            path = Path(unit.path)
            tables = _file_tables(path) if unit.kind is UnitKind.FILE else _run_tables(path)
            for member_count, table, cuts in tables:
                if member_count != self._member_count:
                    reason = f"a cluster of {member_count}: set the option memberCount"
                    raise TraceError(Code.BAD_SCHEMA, unit.path, 0, 0, reason)
                rows = table.cast(schema).append_column(TRUNCATED, _marks(table, cuts))
                yield from rows.to_batches()


_Cuts = dict[tuple[str, int], str]
"""Why streams that end in a table are cut, by run and member."""


def _file_tables(path: Path) -> Iterator[tuple[int, Any, _Cuts]]:
    with DatasetFile(path) as file:
        cuts = _cuts(fact for entry in file.runs.values() for fact in entry.facts)
        before = None
        # Through the columns: what they refuse must not come through here.
        for number, _ in enumerate(file.batches()):
            table = file.table(number)
            if before is not None:
                going_on = _stream_at(table, 0)
                ended = {stream: why for stream, why in cuts.items() if stream != going_on}
                yield file.member_count, before, ended
            before = table
        if before is not None:
            yield file.member_count, before, cuts


def _run_tables(path: Path) -> Iterator[tuple[int, Any, _Cuts]]:
    folder = RunFolder(path)
    for member_id in folder.streams:
        before = None
        for columns, _ in folder.sourced_columns(member_id):
            if before is not None:
                yield folder.run.member_count, before, {}
            before = _table(columns)
        if before is not None:  # What the stream ends with is known only now.
            yield folder.run.member_count, before, _cuts(folder.facts)


def _cuts(facts: Iterable[Fact]) -> _Cuts:
    found = (fact for fact in facts if fact.kind is FactKind.TRUNCATED)
    return {(fact.run_id, fact.member_id): fact.detail or "cut" for fact in found}


def _stream_at(table: Any, row: int) -> tuple[str, int]:
    return table.column("run")[row].as_py(), table.column("member")[row].as_py()


def _marks(table: Any, cuts: _Cuts) -> Any:
    """Give the column ``truncated`` of a table."""
    marks: list[str | None] = [None] * len(table)
    if cuts and len(table):
        runs = table.column("run").combine_chunks().dictionary_encode().indices
        streams = np.stack([runs, table.column("member")])
        ends = np.flatnonzero((np.diff(streams, axis=1) != 0).any(axis=0)).tolist()
        for row in [*ends, len(table) - 1]:
            marks[row] = cuts.get(_stream_at(table, row))
    return pa.array(marks, pa.string())


def _table(columns: EventColumns) -> Any:
    """Give a batch as a table without its context row."""
    return to_table(columns).slice(columns.context)


def _whole(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name, str(default))
    if not text.isdecimal():
        raise BadOption(f"{name}={text!r} is no number")
    return int(text)

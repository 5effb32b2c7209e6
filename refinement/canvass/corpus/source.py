"""``spark.read.format("canvass")``: the events of runs as rows, whatever form the runs have.

The columns are those of ``canvass.events/1`` (`canvass.traces.arrow`) with dictionaries decoded,
for whoever wants to ask a corpus other questions than whether it conforms. To verify it, rows are
the slow way: give `canvass.corpus.job` the paths. The column ``source`` is null for run folders, of
which only the strict reader of single events keeps it.

Options: ``path`` (which ``load`` takes too), ``memberCount`` (default 3; a run of another size is
an error), and ``partitions``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from canvass.corpus.plan import Task, UnitKind, list_units, pack
from canvass.traces.arrow import arrow_schema, to_table
from canvass.traces.errors import Code, TraceError
from canvass.traces.parquet import DatasetFile
from canvass.traces.run import RunFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from canvass.traces.columns import EventColumns

NAME: Final = "canvass"
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
        return from_arrow_schema(plain_schema(count))

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
            for member_count, table in tables:
                if member_count != self._member_count:
                    reason = f"a cluster of {member_count}: set the option memberCount"
                    raise TraceError(Code.BAD_SCHEMA, unit.path, 0, 0, reason)
                yield from table.cast(schema).to_batches()


def _file_tables(path: Path) -> Iterator[tuple[int, Any]]:
    with DatasetFile(path) as file:
        # Through the columns: what they refuse must not come through here.
        for number, _ in enumerate(file.batches()):
            yield file.member_count, file.table(number)


def _run_tables(path: Path) -> Iterator[tuple[int, Any]]:
    folder = RunFolder(path)
    for columns in folder.columns():
        yield columns.member_count, _table(columns)


def _table(columns: EventColumns) -> Any:
    """Give a batch as a table without its context row."""
    return to_table(columns).slice(columns.context)


def _whole(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name, str(default))
    if not text.isdecimal():
        raise BadOption(f"{name}={text!r} is no number")
    return int(text)

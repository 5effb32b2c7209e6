"""``spark.read.format("canvass-aeron")``: the lines of Aeron's event logs as rows.

One row a line, as it was printed: for questions about logs, such as which events a cluster printed
before a run diverged. To verify logs, give their folders to ``canvass batch verify``; to read the
events that they are imported as, use ``format("canvass")``.

Columns: ``cluster`` (the folder), ``file``, ``member``, ``part`` (of a log that was rolled; else
null), ``line`` (counted from 1), ``component`` and ``event`` (null if the line has none),
``time_ns`` (of the host's monotonic clock; null likewise), ``text``, and one for each Hive
partition.

Options: ``path`` (which ``load`` takes too), ``where`` and ``member`` as for ``canvass``, and
``partitions``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource
from pyspark.sql.pandas.types import from_arrow_schema

from canvass.corpus.plan import Unit, UnitKind
from canvass.corpus.selection import partition_names, partition_values
from canvass.corpus.source import UnitReader, path_of
from canvass.traces.aeron_log.errors import AeronLogError, LogCode
from canvass.traces.aeron_log.line import stamp_of
from canvass.traces.aeron_log.parser import decoded
from canvass.traces.aeron_log.source import LogSource, parse_log_name
from canvass.traces.errors import Code, TraceError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

NAME: Final = "canvass-aeron"
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
        return NAME

    def schema(self) -> StructType:
        """Give the columns of lines."""
        schema = SCHEMA
        for name in partition_names(path_of(self.options)):
            if name not in schema.names:
                schema = schema.append(pa.field(name, pa.string()))
        return from_arrow_schema(schema)

    def reader(self, schema: StructType) -> LinesReader:
        """Give the reader of one scan."""
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
    """Give what stands in each line of a log.

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

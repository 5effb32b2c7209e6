"""The Arrow schema ``canvass.events/1``, and events in columns to and from Arrow tables.

A table holds events of clusters with one number of members. Its columns are those in the tuples of
`canvass.traces.schema`, with the names ``input_<column>``, ``message_<column>``,
``state_<column>``, and ``member_<k>_<column>`` for member k. The lists ``recording_log``, ``sends``
and ``log_checksums`` hold structs, whose fields are also in these tuples. Enums, actions and
message types are dictionary-encoded strings, flags are booleans, all else is int64. There are no
nulls, except ``message_type`` of an event without a message, and ``source``.

The conversion to `EventColumns` has no loop over events. The module reads and writes no files of
events.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import ValidationError, convert
from msgspec.structs import asdict

from canvass.traces.columns import EventColumns, Ints
from canvass.traces.errors import Code
from canvass.traces.schema import (
    ACTION_NAMES,
    CHECKSUM_COLUMNS,
    EVENTS_SCHEMA,
    FLAG_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MAX_MEMBERS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_TYPE_NAMES,
    NONE,
    STATE_COLUMNS,
    STATE_ENUMS,
    Source,
    published_schemas,
)

_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
_INT: Final = pa.int64()
_STATE_NAMES: Final = {
    name: tuple(value.value for value in values) for name, values in STATE_ENUMS.items()
}
_NAMES: Final = _STATE_NAMES | {"action": ACTION_NAMES, "type": MESSAGE_TYPE_NAMES}
"""For each column with codes, the names of its codes."""
_SOURCE: Final = pa.struct(
    [
        pa.field("file", _TEXT, nullable=False),
        pa.field("lines", pa.list_(_INT), nullable=False),
        pa.field("observed", pa.list_(_TEXT), nullable=False),
        pa.field("reason", _TEXT, nullable=False),
    ]
)
_NO_SOURCE: Final = Source("", (), ())
SCHEMA_KEY: Final = b"canvass.schema"
MEMBER_COUNT_KEY: Final = b"canvass.memberCount"


class ColumnError(Exception):
    """A table is no table of events. The ``code`` is one of `canvass.traces.errors.Code`."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason


ADDED_COLUMN: Final = "input_entry_position"
"""A column that older tables of events lack, because no step in them has that input."""
_FILLED: Final = frozenset({ADDED_COLUMN, "source"})
"""The columns that a table may lack."""


def _type(name: str) -> Any:
    if name == "type" or name in STATE_ENUMS:
        return _TEXT
    return pa.bool_() if name in FLAG_COLUMNS else _INT


def _struct(columns: Sequence[str]) -> Any:
    """Return the type of a list of structs with some columns."""
    fields = [pa.field(name, _TEXT if name == "type" else _INT, nullable=False) for name in columns]
    return pa.list_(pa.field("element", pa.struct(fields), nullable=False))


def _flat(member_count: int) -> list[tuple[str, Sequence[str]]]:
    """Return the flat columns after the first ones, as prefixes with names."""
    members = [(f"member_{member}_", MEMBER_COLUMNS) for member in range(member_count)]
    flat = ("input_", INPUT_COLUMNS), ("message_", MESSAGE_COLUMNS), ("state_", STATE_COLUMNS)
    return [*flat, *members]


_LISTS: Final = (
    ("recording_log", "log_offsets", "log", LOG_COLUMNS),
    ("sends", "send_offsets", "sends", MESSAGE_COLUMNS),
    ("log_checksums", "checksum_offsets", "checksums", CHECKSUM_COLUMNS),
)
"""The columns of lists: their offsets and cells in `EventColumns`, and the fields."""


def arrow_schema(member_count: int) -> Any:
    """Return the `pyarrow.Schema` of events of clusters with this many members."""
    columns = [
        ("run", _TEXT),
        ("member", _INT),
        ("step", _INT),
        ("time_ns", _INT),
        ("action", _TEXT),
        *((prefix + name, _type(name)) for prefix, names in _flat(member_count) for name in names),
        *((name, _struct(columns)) for name, _, _, columns in _LISTS),
        ("source", _SOURCE),
    ]
    nullable = ("message_type", "source")
    fields = [pa.field(name, kept, nullable=name in nullable) for name, kept in columns]
    metadata = {SCHEMA_KEY: EVENTS_SCHEMA.encode(), MEMBER_COUNT_KEY: str(member_count).encode()}
    return pa.schema(fields, metadata=metadata)


def _coded(codes: Ints, names: Sequence[str]) -> Any:
    indices = pa.array(codes.astype(np.int32), mask=codes == NONE)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))


def _cells(name: str, cells: Ints) -> Any:
    if name in _NAMES:
        return _coded(cells, _NAMES[name])
    return pa.array(cells.astype(np.bool_)) if name in FLAG_COLUMNS else pa.array(cells)


def _list(offsets: Ints, flat: Ints, columns: Sequence[str]) -> Any:
    listed = _struct(columns)
    arrays = [_cells(name, flat[:, place]) for place, name in enumerate(columns)]
    values = pa.StructArray.from_arrays(arrays, fields=list(listed.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, type=listed)


def _source_array(sources: Sequence[Source | None]) -> Any:
    """Return the column of sources; the fields of a missing source are empty, not null."""
    given = pa.array([asdict(source or _NO_SOURCE) for source in sources], _SOURCE)
    absent = pa.array([source is None for source in sources], pa.bool_())
    fields = list(_SOURCE)
    arrays = [given.field(field.name) for field in fields]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=absent)


def to_table(columns: EventColumns) -> Any:
    """Return events in columns as a `pyarrow.Table`."""
    arrays = [
        _coded(columns.run, columns.runs),
        pa.array(columns.member),
        pa.array(columns.step),
        pa.array(columns.time_ns),
        _coded(columns.action, ACTION_NAMES),
    ]
    members = (columns.members[:, k, :] for k in range(columns.member_count))
    blocks = (columns.inputs, columns.message, columns.state, *members)
    for (_, names), block in zip(_flat(columns.member_count), blocks, strict=True):
        arrays += [_cells(name, block[:, place]) for place, name in enumerate(names)]
    arrays += [
        *(
            _list(getattr(columns, offsets), getattr(columns, cells), names)
            for _, offsets, cells, names in _LISTS
        ),
        _source_array(columns.sources or [None] * len(columns)),
    ]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(columns.member_count))


def sources_of(table: Any) -> list[Source | None]:
    """Return the source of each row of a table.

    Raises
    ------
    ColumnError
        ``BAD_SCHEMA`` if the column has another type.
    """
    if "source" not in table.schema.names:
        return [None] * table.num_rows
    try:
        return convert(table.column("source").to_pylist(), list[Source | None])
    except ValidationError as error:
        raise ColumnError(Code.BAD_SCHEMA, f"source: {error}") from None


def member_count_of(schema: Any) -> int:
    """Give the member count of a table of events, by the names of its columns.

    Raises
    ------
    ColumnError
        ``BAD_SCHEMA`` if a column is missing, or the metadata name another format.
    """
    metadata = schema.metadata or {}
    if metadata.get(SCHEMA_KEY, EVENTS_SCHEMA.encode()) != EVENTS_SCHEMA.encode():
        raise ColumnError(Code.BAD_SCHEMA, f"the metadata do not name {EVENTS_SCHEMA}")
    names = set(schema.names)
    records = (count for count in range(MAX_MEMBERS, 0, -1) if f"member_{count - 1}_vote" in names)
    member_count = next(records, 1)
    missing = [name for name in arrow_schema(member_count).names if name not in names]
    missing = [name for name in missing if name not in _FILLED]
    if missing:
        what = ", ".join(missing[:5])
        raise ColumnError(Code.BAD_SCHEMA, f"no columns of {EVENTS_SCHEMA}: {what} missing")
    return member_count


class _Table:
    """The columns of a table of events as numbers; nulls that are not allowed are refused.

    Another tool may have written the table again, with columns in another order, with plain or
    large strings, with other widths of integers, or with large lists. Values are cast if the cast
    loses nothing. Further columns are left out. If no row has a value, a column may have no type.
    """

    def __init__(self, table: Any) -> None:
        known = set(arrow_schema(member_count_of(table.schema)).names) - {"source"}
        own = table.select([name for name in table.schema.names if name in known])
        self._batch = own.unify_dictionaries().combine_chunks()

    def column(self, name: str) -> Any:
        chunked = self._batch.column(name)
        return chunked.chunk(0) if chunked.num_chunks else pa.array([], chunked.type)

    def numbers(self, name: str) -> Ints:
        """Return a flat column."""
        found: Ints = _numbers(self.column(name), name, name)
        return found

    def block(self, prefix: str, columns: Sequence[str]) -> Ints:
        """Return flat columns as one array."""
        cells = np.full((self._batch.num_rows, len(columns)), NONE, dtype=np.int64)
        for place, name in enumerate(columns):
            if prefix + name != ADDED_COLUMN or ADDED_COLUMN in self._batch.schema.names:
                cells[:, place] = _numbers(self.column(prefix + name), name, prefix + name)
        return cells

    def lists(self, name: str, columns: Sequence[str]) -> tuple[Ints, Ints]:
        """Return the offsets and the cells of a column of lists of structs."""
        array = self.column(name)
        if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
            raise ColumnError(Code.BAD_SCHEMA, f"{name}: {array.type} is no list")
        _need_no_null(array, name)
        offsets = array.offsets.to_numpy().astype(np.int64)
        values = array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
        _need_no_null(values, name)
        cells = np.empty((len(values), len(columns)), dtype=np.int64)
        for place, column in enumerate(columns if len(values) else ()):
            if not pa.types.is_struct(values.type) or values.type.get_field_index(column) < 0:
                raise ColumnError(Code.BAD_SCHEMA, f"{name} has no field {column}")
            cells[:, place] = _numbers(pc.struct_field(values, column), column, f"{name}.{column}")
        return offsets - offsets[0], cells


def _need_no_null(array: Any, name: str) -> None:
    if array.null_count:
        raise ColumnError(Code.BAD_VALUE, f"{name}: a null")


def _numbers(array: Any, column: str, name: str) -> Any:
    """Return the cells of a flat array; ``name`` names the array in errors."""
    array = _cast(array, column, name)
    if column in _NAMES:
        return _codes(array, _NAMES[column], name)
    cells = array.to_numpy()
    if column in FLAG_COLUMNS and ((cells < 0) | (cells > 1)).any():
        raise ColumnError(Code.BAD_SCHEMA, f"{name}: a number that is neither 0 nor 1")
    return cells


def _cast(array: Any, column: str, name: str) -> Any:
    """Return a flat array as texts with a dictionary, or as numbers; flags are 0 and 1."""
    wanted = _TEXT if column == "run" or column in _NAMES else _INT
    if name != "message_type":
        _need_no_null(array, name)
    try:
        return array.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        reason = f"{name}: {array.type} is no {wanted}: {str(error).splitlines()[0]}"
        raise ColumnError(Code.BAD_SCHEMA, reason) from None


def _codes(array: Any, names: Sequence[str], what: str) -> Ints:
    """Return the codes of a dictionary-encoded array; null becomes -1."""
    known = {name: code for code, name in enumerate(names)}
    table = np.array(
        [known.get(name, NONE) for name in array.dictionary.to_pylist()] + [NONE], dtype=np.int64
    )
    indices = array.indices.fill_null(len(table) - 1).to_numpy(zero_copy_only=False)
    codes: Ints = table[indices]
    if np.count_nonzero(codes == NONE) != array.null_count:
        wrong = (codes == NONE) & array.is_valid().to_numpy(zero_copy_only=False)
        value = array[int(wrong.argmax())].as_py()
        raise ColumnError(Code.BAD_VALUE, f"{what}: the format has no value {value!r}")
    return codes


def _in_order_of_rows(run: Any) -> tuple[list[str], Ints]:
    """Give the runs of a column in the order of its rows, and for each row the index of its run.

    The dictionary of the column may have any order. It may name a run twice, or a run without rows.
    """
    names = run.dictionary.to_pylist()
    indices = run.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    begins = np.flatnonzero(np.diff(indices, prepend=-1))
    found = list(dict.fromkeys(names[place] for place in indices[begins].tolist()))
    numbers = {name: number for number, name in enumerate(found)}
    return found, np.array([numbers.get(name, NONE) for name in names], dtype=np.int64)[indices]


def from_table(table: Any) -> EventColumns:
    """Return the events of a table in columns; another tool may have written the table.

    Raises
    ------
    ColumnError
        ``BAD_SCHEMA`` or ``BAD_VALUE``. The contents of events are not checked here.
    """
    member_count = member_count_of(table.schema)
    flat = _Table(table)
    runs, run = _in_order_of_rows(_cast(flat.column("run"), "run", "run"))
    inputs, message, state, *records = (
        flat.block(prefix, names) for prefix, names in _flat(member_count)
    )
    lists: dict[str, Any] = {}
    for name, offsets, cells, names in _LISTS:
        lists[offsets], lists[cells] = flat.lists(name, names)
    return EventColumns(
        member_count=member_count,
        runs=tuple(runs),
        run=run,
        member=flat.numbers("member"),
        step=flat.numbers("step"),
        time_ns=flat.numbers("time_ns"),
        action=flat.numbers("action"),
        inputs=inputs,
        message=message,
        state=state,
        members=np.stack(records, axis=1),
        **lists,
    )


# --- published schemas ----------------------------------------------------------------------------

FOLDER = Path(__file__).parent / "schemas"


def arrow_columns(member_count: int) -> str:
    """Return the Arrow columns of a data set of clusters of a size, one in each line."""
    return "".join(
        f"{field.name}: {field.type}{'' if field.nullable else ' not null'}\n"
        for field in arrow_schema(member_count)
    )


def published() -> dict[str, bytes]:
    """Return all published schemas by file name. The columns are those of three members."""
    name = f"{EVENTS_SCHEMA.replace('/', '-')}.arrow.txt"
    return published_schemas() | {name: arrow_columns(3).encode()}


def main() -> None:
    """Write the published schemas: ``python -m canvass.traces.arrow``."""
    FOLDER.mkdir(exist_ok=True)
    for name, contents in published().items():
        (FOLDER / name).write_bytes(contents)


if __name__ == "__main__":
    main()

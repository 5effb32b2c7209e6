"""Tables of events that other tools wrote again: read if nothing is lost, else the column named."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run
from canvass.traces.arrow import ColumnError, from_table, to_table
from canvass.traces.errors import Code
from canvass.traces.run import RunFolder


def plain(kind: Any) -> Any:
    """The type without dictionaries, with large lists, and fields in another order."""
    if pa.types.is_dictionary(kind):
        return pa.large_string()
    if pa.types.is_list(kind):
        return pa.large_list(pa.field("item", plain(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, plain(f.type)) for f in reversed(list(kind))])
    return kind


def rewritten(table: Any, seed: int) -> Any:
    """The table as another tool may write it: other types, another order, one column more."""
    narrow = {"member": pa.int8(), "step": pa.int32(), "input_interval": pa.int8()}
    fields = [pa.field(f.name, narrow.get(f.name, plain(f.type))) for f in table.schema]
    fields.append(pa.field("ingested_at", pa.string()))
    random.Random(seed).shuffle(fields)
    rows = [row | {"input_interval": int(row["input_interval"])} for row in table.to_pylist()]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("runs") / "run"
    record_run(folder, Rules(3), 1, 200, faults=0.05, run_id="run")
    return to_table(next(RunFolder(folder).columns()))


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_other_types_and_order_is_read(table: Any, seed: int) -> None:
    columns, again = from_table(table), from_table(rewritten(table, seed).slice(0))

    for name in ("run", "member", "step", "action", "inputs", "message", "state", "members"):
        np.testing.assert_array_equal(getattr(again, name), getattr(columns, name))
    for name in ("log", "log_offsets", "sends", "send_offsets", "checksums"):
        np.testing.assert_array_equal(getattr(again, name), getattr(columns, name))
    assert again.runs == columns.runs


def test_a_slice_of_a_rewritten_table_has_its_own_lists(table: Any) -> None:
    part = from_table(rewritten(table, 1).slice(5, 20))

    np.testing.assert_array_equal(part.sends, from_table(table.slice(5, 20)).sends)


def with_column(table: Any, name: str, values: Any) -> Any:
    return table.set_column(table.schema.get_field_index(name), name, pa.array(values))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step", 0.5),
        ("time_ns", "soon"),
        ("input_interval", 2),
        ("action", 3.0),
        ("recording_log", "none"),
        ("sends", [{"type": "Vote"}]),
        ("member", None),
    ],
)
def test_a_column_that_cannot_be_read_is_named(table: Any, name: str, value: Any) -> None:
    changed = with_column(table, name, [value] * len(table))

    with pytest.raises(ColumnError, match=name):
        from_table(changed)


@pytest.mark.parametrize("name", ["state_role", "sends", "member_1_vote"])
def test_a_missing_column_is_named(table: Any, name: str) -> None:
    with pytest.raises(ColumnError, match=name) as caught:
        from_table(table.drop_columns([name]))

    assert caught.value.code is Code.BAD_SCHEMA

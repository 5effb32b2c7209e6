"""A state graph for other tools: Graphviz, networkx, and all that read Parquet.

The Parquet is plain, for DuckDB, polars, pandas or Spark: variables are typed columns. It is
written and read without SciPy, which the text for Graphviz needs, and without networkx.

``states.parquet``: ``_row``, ``_id``, ``_initial``, ``_expanded``, and the variables.
``edges.parquet``: ``edge``, ``source`` and ``target`` (rows of states), ``action``; also
``arguments`` (of the action), or ``input`` and ``sends`` (of a member's step, as JSON).

The *shape* of a variable says how its values are stored, so that `read_states` gives them back
exactly; shapes are JSON in the metadata of ``states.parquet``.

==========================  ================================  =====================================
shape                       TLA+                              Arrow
==========================  ================================  =====================================
bool, int, str              values of one of these kinds      bool, int32, string
model                       model values                      string
["opt", NAME, S]            one model value, or S             S; null for the model value
["set", S], ["seq", S]      sets (canonical order), tuples    list
["map", K, S]               functions                         map
["record", {NAME: S}, [N]]  records; N: fields some lack      struct; null for a missing field
text                        values of several kinds           string: the value as TLA+ text
none                        no value, as in an empty set      null
==========================  ================================  =====================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from canvass.graph import GraphError
from canvass.graph.folders import EDGES_FILE, STATES_FILE, made_aside, need_place
from canvass.graph.view import StateGraph
from canvass.tlc.values import (
    Function,
    ModelValue,
    Value,
    format_value,
    function,
    ordered,
    parse_value,
)

if TYPE_CHECKING:
    import networkx as nx

_MAX_NETWORKX_EDGES: Final = 1_000_000
_SHORT: Final = 12
"""Digits of an id in a label."""


def to_dot(graph: StateGraph, rows: Iterable[int]) -> str:
    """Give states and all edges between them in Graphviz's language.

    A state is labelled by its election state, if it has one, and by the beginning of its id.
    """
    from canvass.graph.queries import arrows_among

    initial = set(graph.initial.tolist())
    lines = [f"digraph {_dot(graph.title)} {{", "  node [shape=box];"]
    chosen = np.unique(np.array(list(rows), dtype=np.int32))
    for row in chosen.tolist():
        label = graph.id_of(row)[:_SHORT]
        if graph.kind == "member":
            label = f"{graph.tree(row)['electionState']}\n{label}"
        style = ", style=filled" if row in initial else ""
        style += "" if graph.expanded[row] else ", color=gray"
        lines.append(f"  {_dot(graph.id_of(row))} [label={_dot(label)}{style}];")
    for arrow in arrows_among(graph, chosen):
        source, target = (_dot(graph.id_of(row)) for row in (arrow.source, arrow.target))
        times = "" if arrow.count == 1 else f" ({arrow.count})"
        lines.append(f"  {source} -> {target} [label={_dot(f'{arrow.action}{times}')}];")
    return "\n".join([*lines, "}", ""])


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + "".join(c if c.isprintable() else "\ufffd" for c in escaped) + '"'


def to_networkx(graph: StateGraph, *, limit: int = _MAX_NETWORKX_EDGES) -> nx.MultiDiGraph:
    """Give a graph as a networkx graph, for your own questions.

    Parameters
    ----------
    graph
        The state graph. Each state and edge becomes a Python object: some 1 GB for a million.
    limit
        More edges are refused.

    Returns
    -------
    networkx.MultiDiGraph
        Nodes are rows, with ``id``, ``initial`` and ``expanded``; an edge has its number as its
        key, and ``action``.

    Raises
    ------
    GraphError
        If there are more edges than the limit.
    """
    import networkx as nx

    count = len(graph.out.ends)
    if max(count, graph.state_count) > limit:
        raise GraphError(
            f"{graph.state_count:,} states and {count:,} edges are more than the {limit:,} that"
            " are given to networkx; export to Parquet, or raise the limit"
        )
    made = nx.MultiDiGraph(title=graph.title)
    initial = set(graph.initial.tolist())
    expanded = graph.expanded.tolist()
    made.add_nodes_from(
        (row, {"id": graph.id_of(row), "initial": row in initial, "expanded": expanded[row]})
        for row in range(graph.state_count)
    )
    columns = (graph.out.own, graph.out.ends, graph.out.edge, graph.out.action)
    made.add_edges_from(
        (one, two, edge, {"action": graph.actions[action]})
        for one, two, edge, action in zip(*(column.tolist() for column in columns), strict=True)
    )
    return made


# --- Parquet --------------------------------------------------------------------------------------

Shape: TypeAlias = str | list[Any]

_ROWS: Final = 1 << 17
"""Rows of a row group."""
_OWN: Final = ("_row", "_id", "_initial", "_expanded")
_METADATA: Final = b"canvass.shapes"
_SCALARS: Final[dict[type, str]] = {bool: "bool", int: "int", str: "str"}
_TYPES: Final = {
    "bool": pa.bool_(),
    "int": pa.int32(),
    "str": pa.string(),
    "model": pa.string(),
    "text": pa.string(),
    "none": pa.null(),
}


def shape_of(values: Sequence[Value]) -> Shape:
    """Give the shape of some values."""
    names = {value.name for value in values if isinstance(value, ModelValue)}
    others = [value for value in values if not isinstance(value, ModelValue)]
    if not names:
        return _plain_shape(others) if others else "none"
    if not others:
        return "model"
    inner = _plain_shape(others)
    return "text" if len(names) > 1 or inner == "text" else ["opt", names.pop(), inner]


def _plain_shape(values: Sequence[Any]) -> Shape:
    """Give the shape of values without model values; there is one at least."""
    kinds = set(map(type, values))
    if len(kinds) == 1 and kinds <= _SCALARS.keys():
        return _SCALARS[kinds.pop()]
    if kinds == {frozenset}:
        return ["set", shape_of([part for value in values for part in value])]
    if kinds == {tuple}:
        return ["seq", shape_of([part for value in values for part in value])]
    if not kinds <= {tuple, Function}:
        return "text"
    if all(value == () or (type(value) is Function and value.is_record) for value in values):
        return _record_shape(values)
    pairs = [pair for value in values for pair in _pairs(value)]
    keys = shape_of([key for key, _ in pairs])
    return ["map", "text" if keys[0] == "opt" else keys, shape_of([part for _, part in pairs])]


def _record_shape(records: Sequence[Any]) -> Shape:
    names = list(dict.fromkeys(name for record in records for name in record))
    if len({name.lower() for name in names}) < len(names):
        return "text"  # DuckDB and Spark do not distinguish such names.
    fields, lacking = {}, []
    for name in names:
        found = [record[name] for record in records if name in record]
        fields[name] = shape_of(found)
        if len(found) < len(records):
            lacking.append(name)
            # Null already means that the record does not have the field.
            fields[name] = "text" if fields[name][0] == "opt" else fields[name]
    return ["record", fields, lacking]


def _pairs(value: Any) -> Iterator[tuple[Value, Value]]:
    yield from enumerate(value, 1) if isinstance(value, tuple) else value.items()


def arrow_type(shape: Shape) -> pa.DataType:
    """Give the Arrow type of a shape."""
    match shape:
        case str():
            return _TYPES[shape]
        case ["opt", _, inner]:
            return arrow_type(inner)
        case ["record", fields, _]:
            return pa.struct([(name, arrow_type(part)) for name, part in fields.items()])
        case ["map", keys, parts]:
            return pa.map_(arrow_type(keys), arrow_type(parts))
        case _:
            return pa.list_(arrow_type(shape[1]))


def encode(shape: Shape, value: Any) -> Any:
    """Give a value as Arrow takes it."""
    match shape:
        case "model":
            return value.name
        case "text":
            return format_value(value)
        case str():
            return value
        case ["opt", _, inner]:
            return None if isinstance(value, ModelValue) else encode(inner, value)
        case ["record", fields, _]:
            return {name: encode(fields[name], value[name]) for name in value}
        case ["map", keys, parts]:
            return [(encode(keys, key), encode(parts, part)) for key, part in _pairs(value)]
        case _:
            parts = value if shape[0] == "seq" else ordered(value)
            return [encode(shape[1], part) for part in parts]


def decode(shape: Shape, cell: Any) -> Value:
    """Give the exact value of a cell, as Arrow's ``to_pylist`` gives it."""
    match shape:
        case "model":
            return ModelValue(cell)
        case "text":
            return parse_value(cell)
        case str():
            plain: Value = cell
            return plain
        case ["opt", name, inner]:
            return ModelValue(name) if cell is None else decode(inner, cell)
        case ["record", fields, lacking]:
            there = [name for name in fields if name not in lacking or cell[name] is not None]
            return function({name: decode(fields[name], cell[name]) for name in there})
        case ["map", keys, parts]:
            return function({decode(keys, key): decode(parts, part) for key, part in cell})
        case _:
            made = [decode(shape[1], part) for part in cell]
            return tuple(made) if shape[0] == "seq" else frozenset(made)


def write_parquet(graph: StateGraph, folder: Path) -> None:
    """Write a graph to a new folder.

    Raises
    ------
    GraphError
        If the folder exists or cannot be written, or a variable has the name of a column.
    """
    need_place(folder)
    clash = next((name for name in graph.fields if name in _OWN), None)
    if clash is not None:
        raise GraphError(f"the graph has a variable {clash}, which is a column of the export")
    shapes, distinct, codes = {}, {}, {}
    for name in graph.fields:
        columns = graph.columns([name])
        numbers, places = np.unique(columns.nodes[name], return_inverse=True)
        values = [columns.values.value(number) for number in numbers.tolist()]
        shape = shapes[name] = shape_of(values)
        distinct[name] = pa.array([encode(shape, one) for one in values], arrow_type(shape))
        codes[name] = places.reshape(-1)
    initial = np.zeros(graph.state_count, dtype=np.bool_)
    initial[graph.initial] = True
    with made_aside(folder) as aside:
        _write(
            aside / STATES_FILE,
            graph.state_count,
            lambda part: {
                "_row": np.arange(part.start, part.stop, dtype=np.int32),
                "_id": [graph.id_of(row) for row in range(part.start, part.stop)],
                "_initial": initial[part],
                "_expanded": graph.expanded[part],
                **{name: distinct[name].take(pa.array(codes[name][part])) for name in codes},
            },
            {_METADATA: msgspec.json.encode(shapes)},
        )
        texts = {name: (pa.array(of), which) for name, (of, which) in graph.edge_texts().items()}
        actions = pa.array(graph.actions, type=pa.string())
        _write(
            aside / EDGES_FILE,
            graph.edge_count,
            lambda part: {
                "edge": graph.out.edge[part],
                "source": graph.out.own[part],
                "target": graph.out.ends[part],
                "action": actions.take(pa.array(graph.out.action[part])),
                **{
                    name: of.take(pa.array(which[part], mask=which[part] < 0))
                    for name, (of, which) in texts.items()
                },
            },
            {},
        )


def _write(path: Path, count: int, columns: Any, metadata: dict[bytes, bytes]) -> None:
    """Write a table in row groups; ``columns`` gives those of a slice of the rows."""
    writer: Any = None
    for start in range(0, max(count, 1), _ROWS):
        table = pa.table(columns(slice(start, min(start + _ROWS, count))))
        table = table.replace_schema_metadata(metadata)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()


def read_states(path: Path) -> Iterator[dict[str, Value]]:
    """Give the states of an exported ``states.parquet`` in the order of their rows, exactly."""
    file = pq.ParquetFile(path)
    shapes = msgspec.json.decode(file.schema_arrow.metadata[_METADATA])
    for batch in file.iter_batches(columns=list(shapes)):
        for row in batch.to_pylist():
            yield {name: decode(shape, row[name]) for name, shape in shapes.items()}

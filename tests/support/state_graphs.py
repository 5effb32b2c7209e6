"""Small state graphs written by hand: values and edges become a dump, and the dump a graph."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from canvass.graph.dump_graph import DumpOrigin, DumpView, read_graph, write_dump_graph
from canvass.graph.open import open_view
from canvass.tlc.config import from_python
from canvass.tlc.values import format_value

State = Mapping[str, Any]
Edge = tuple[int, str, int]


def dot_text(states: Sequence[State], edges: Sequence[Edge], initial: Sequence[int] = (0,)) -> str:
    """Write a graph as TLC does; states are numbered by their places."""
    lines = ["strict digraph DiskGraph {"]
    for number, state in enumerate(states):
        conjuncts = [f"/\\ {name} = {format_value(from_python(v))}" for name, v in state.items()]
        label = "\n".join(conjuncts).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        style = ",style = filled" if number in initial else ""
        lines.append(f'{number} [label="{label}"{style}];')
    lines += [f'{one} -> {two} [label="{action}"];' for one, action, two in edges]
    return "\n".join([*lines, "}", ""])


def view_of(
    states: Sequence[State],
    edges: Sequence[Edge],
    initial: Sequence[int] = (0,),
    *,
    complete: bool | None = None,
    name: str = "Small",
) -> DumpView:
    """Make a graph; it is written to a folder and read again."""
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / f"{name}.dot"
        dump.write_text(dot_text(states, edges, initial))
        tables = read_graph(dump, complete=complete)
        made = Path(folder) / "graph"
        write_dump_graph(made, tables, model=name, complete=complete, origin=DumpOrigin())
        view = open_view(made)
        assert isinstance(view, DumpView)
        return view


def numbered(count: int, edges: Sequence[Edge], initial: Sequence[int] = (0,)) -> DumpView:
    """Make a graph whose states are ``n = 0``, ``n = 1``, ..."""
    return view_of([{"n": number} for number in range(count)], edges, initial)


def numbers(view: DumpView) -> list[int]:
    """Give the ``n`` of each row."""
    return [int(view.tree(row)["n"]) for row in range(view.state_count)]

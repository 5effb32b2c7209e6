"""`Columns`: the values of some fields in all states, as nodes of a table of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from canvass.graph.csr import Rows
from canvass.graph.interned import ValueTable


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Fields as columns.

    Attributes
    ----------
    values
        The table.
    nodes
        For each field, the node of its value in each state.
    """

    values: ValueTable
    nodes: Mapping[str, Rows]

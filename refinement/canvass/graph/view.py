"""`StateGraph`: what queries need of a state graph; `open_view` opens either kind.

Questions (`canvass.graph.predicate`, `walks`, `project`, `diff`, `export`)
know this protocol and nothing of files. A graph is arrays here: opening one makes no Python object
for a state or an edge, and a state becomes a readable tree when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from canvass.graph import GraphError
from canvass.graph.artifact import SCHEMA
from canvass.graph.csr import Offsets, Rows
from canvass.graph.folders import MANIFEST_FILE, AnyManifest, decode_manifest
from canvass.graph.values import Columns
from canvass.tlc import Value

Kind = Literal["member", "tlc"]
Tree = dict[str, Any]
"""A state, an input or a message as JSON has it: field by name."""


@dataclass(frozen=True, slots=True)
class EdgeView:
    """One edge, readable.

    Attributes
    ----------
    edge
        Its number.
    source, target
        Rows of states.
    action
        The action's name; what stands between the parentheses of a label is in ``given``.
    given
        What the step consumed; empty if the graph does not say.
    sends
        What it sent, each as ``{"to": .., "message": ..}``; empty if the graph does not say.
    """

    edge: int
    source: int
    target: int
    action: str
    given: Tree
    sends: Sequence[Tree]


class StateGraph(Protocol):
    """A state graph in arrays.

    States are rows from 0 in the order of their ids, which are content hashes: equal on every
    machine, and in every graph that has the state. Edges have numbers, too. ``out_*`` are the edges
    by source: those of ``row`` are at ``out_offsets[row]`` up to ``out_offsets[row + 1]``. ``in_*``
    are the same by target.
    """

    @property
    def kind(self) -> Kind:
        """``member``: made by ``canvass graph build``; ``tlc``: by a dump of any model."""

    @property
    def folder(self) -> Path:
        """Where the graph is."""

    @property
    def title(self) -> str:
        """The name of the model."""

    @property
    def complete(self) -> bool | None:
        """Whether all reachable states were expanded, none if unknown."""

    @property
    def detail(self) -> Tree:
        """Where the graph comes from, for a person: name and value."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions; the index is the code in ``out_action``."""

    @property
    def action_counts(self) -> NDArray[np.int64]:
        """Edges by the code of their action."""

    @property
    def fields(self) -> tuple[str, ...]:
        """What a predicate may begin a path with: the variables of the state."""

    @property
    def ids(self) -> NDArray[np.uint8]:
        """16 bytes for each state, ascending."""

    @property
    def identities(self) -> NDArray[np.int64]:
        """128 bits for each state, equal for states that differ in the numbering of peers only."""

    @property
    def state_count(self) -> int:
        """How many states there are."""

    @property
    def edge_count(self) -> int:
        """How many edges there are, those included that lead back to their source."""

    @property
    def initial(self) -> Rows:
        """The rows of the initial states."""

    @property
    def expanded(self) -> NDArray[np.bool_]:
        """For each state, whether its steps are in the graph."""

    @property
    def out_offsets(self) -> Offsets:
        """Where the edges of each state begin in the arrays ``out_*``."""

    @property
    def out_target(self) -> Rows:
        """Where an edge leads."""

    @property
    def out_action(self) -> Rows:
        """The code of its action."""

    @property
    def out_edge(self) -> Rows:
        """Its number."""

    @property
    def out_label(self) -> NDArray[np.int64]:
        """A hash of what it consumes and sends, or of its label; equal for equal ones anywhere."""

    @property
    def in_offsets(self) -> Offsets:
        """Where the edges that lead to each state begin in the arrays ``in_*``."""

    @property
    def in_source(self) -> Rows:
        """Where an edge comes from."""

    @property
    def in_action(self) -> Rows:
        """The code of its action."""

    @property
    def in_edge(self) -> Rows:
        """Its number."""

    def id_of(self, row: int) -> str:
        """Give the id of a state: 32 hexadecimal digits."""

    def find(self, prefix: str) -> int | None:
        """Give the row of the state whose id begins with the text, none if there is none.

        Raises
        ------
        GraphError
            If the text is no beginning of an id, or several states have it.
        """

    def columns(self, fields: Sequence[str]) -> Columns:
        """Give the values of some of ``fields`` in all states."""

    def state(self, row: int) -> Mapping[str, Value]:
        """Give a state as TLA+ values, by the names of its variables."""

    def tree(self, row: int) -> Tree:
        """Give a state as plain JSON values, by the names of its variables."""

    def edge(self, edge: int) -> EdgeView:
        """Give one edge.

        Raises
        ------
        GraphError
            If there is none of that number.
        """


def open_view(folder: Path, *, verify: bool = True) -> StateGraph:
    """Open a folder that ``canvass graph build`` or ``canvass graph import`` made.

    Parameters
    ----------
    folder
        Of the graph.
    verify
        Whether to compare the files with the digests in the manifest.

    Raises
    ------
    GraphError
        If there is no graph, or it is damaged.
    """
    from canvass.graph.dump_folder import SCHEMA as DUMP_SCHEMA
    from canvass.graph.dump_folder import open_dump_view
    from canvass.graph.member_view import open_member_view

    schema = decode_manifest(folder, AnyManifest).schema
    if schema in (SCHEMA, DUMP_SCHEMA):
        opened = open_member_view if schema == SCHEMA else open_dump_view
        return opened(folder, verify=verify)
    path = folder / MANIFEST_FILE
    raise GraphError(f"{path}: the schema is {ascii(schema)[:60]}, not {SCHEMA} or {DUMP_SCHEMA}")

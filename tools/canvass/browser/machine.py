"""The election's state machine: its changes as TLC printed them, and the published diagram.

`election.json` has the changes of the election state; a test compares it with state graphs.
`diagram.json` has the published diagram.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

import msgspec
from msgspec import Struct

from canvass.browser.api import Overview, OverviewEdge, OverviewState

EDGES_FILE: Final = "election.json"

COLUMN: Final = 340.0
ROW: Final = 90.0
DIAGRAM_FILE: Final = "diagram.json"


class Place(Struct, frozen=True):
    """A state in the published diagram: the leader's are on the left, those of a catch-up right."""

    name: str
    column: int
    row: int
    phase: str


class PublishedDiagram(Struct, frozen=True):
    """The published state diagram: its states, and the edges that it or its text names."""

    states: tuple[Place, ...]
    edges: frozenset[tuple[str, str]]


class Change(Struct, frozen=True):
    """A change of the election state, with the actions that cause it."""

    source: str
    target: str
    actions: tuple[str, ...]


@cache
def stored_edges() -> tuple[Change, ...]:
    """Read the changes of the election state that the spec has, from `EDGES_FILE`."""
    return msgspec.json.decode(_text(EDGES_FILE), type=tuple[Change, ...])


@cache
def published() -> PublishedDiagram:
    """Read the published diagram, from `DIAGRAM_FILE`."""
    return msgspec.json.decode(_text(DIAGRAM_FILE), type=PublishedDiagram)


def _text(name: str) -> bytes:
    return files("canvass.browser").joinpath(name).read_bytes()


def overview() -> Overview:
    """Give the election's state machine, with a place for each state."""
    states = tuple(
        OverviewState(name=one.name, x=one.column * COLUMN, y=one.row * ROW, phase=one.phase)
        for one in published().states
    )
    edges = tuple(
        OverviewEdge(
            source=one.source,
            target=one.target,
            actions=one.actions,
            seeds=(one.source, one.target) in published().edges,
        )
        for one in stored_edges()
    )
    return Overview(states=states, edges=edges)

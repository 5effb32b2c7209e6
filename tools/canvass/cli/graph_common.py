"""What the commands of ``canvass graph`` have in common: arguments, and how states are named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from canvass.cli.output import CommandError, complain, result_console
from canvass.lanes.model import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from canvass.graph.view import StateGraph

Folder = Annotated[Path, typer.Argument(metavar="GRAPH", help="Folder of a state graph.")]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="EXPR", help="A condition, such as 'role = \"LEADER\"'."),
]
Actions = Annotated[
    list[str] | None,
    typer.Option("--action", metavar="NAME", help="Only steps of this action; repeatable."),
]
Limit = Annotated[int, typer.Option(min=1, help="Maximum number to show.")]

STATE_HELP: Final = "The beginning of a state's id, or 'initial' for the only initial state."
INITIAL: Final = "initial"


class Answer(msgspec.Struct, frozen=True, rename="camel"):
    """The JSON document of a command of ``canvass graph``, or a part of it."""


def say(text: str) -> None:
    """Write one line for a person; what a graph holds cannot steer the terminal."""
    result_console().print(visible(text))


def row_of(graph: StateGraph, state: str) -> int:
    """Give the row of the state that a person names.

    Raises
    ------
    CommandError
        If there is none.
    GraphError
        If several begin so, or the text is no beginning of an id.
    """
    if state == INITIAL:
        initial = graph.initial.tolist()
        if len(initial) != 1:
            raise CommandError(f"the graph has {len(initial)} initial states; name one by its id")
        return int(initial[0])
    row = graph.find(state)
    if row is None:
        raise CommandError(f"no state has an id that begins with {state}")
    return row


def rows_where(graph: StateGraph, where: str) -> list[int]:
    """Give the states in which a condition holds.

    Raises
    ------
    PredicateError
        If the text is no condition of this graph.
    """
    from canvass.graph.predicate import parse

    predicate = parse(where)
    rows: list[int] = predicate.rows(graph).tolist()
    if not rows:
        for line in predicate.unknown_names(graph):
            complain(line)
    return rows


def note_of(graph: StateGraph, row: int) -> str:
    """Say in a few words what a state is: a member's election state and role."""
    marks = "" if graph.expanded[row] else "  not expanded"
    if graph.kind == "member":
        tree = graph.tree(row)
        marks = f"  {tree['electionState']} {tree['role']}{marks}"
    return marks


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Give the fields of a state as a person reads them, short parts on one line."""
    for name, value in tree.items():
        place = f"{path}.{name}" if path else name
        if isinstance(value, dict) and len(msgspec.json.encode(value)) > 100:
            yield from leaves(value, place)
        elif isinstance(value, list) and len(msgspec.json.encode(value)) > 100:
            yield from leaves({f"{number}": item for number, item in enumerate(value, 1)}, place)
        else:
            yield place, value if isinstance(value, str) else msgspec.json.encode(value).decode()

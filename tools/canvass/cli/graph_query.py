"""``canvass graph find|path|export``: queries of a state graph.

The arguments that all commands of ``canvass graph`` share are here, too. Exit code 1: there is no
such state or path.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from canvass.cli.options import Output, existing
from canvass.cli.output import (
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    complain,
    emit,
    progress_console,
    result_console,
    write_file,
)
from canvass.cluster.messages import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from canvass.graph.view import Side, StateGraph, Tree
    from canvass.graph.walks import Hop


Folder = Annotated[
    Path, typer.Argument(metavar="GRAPH", help="Folder of a state graph.", callback=existing)
]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="EXPR", help="A condition, such as 'role = \"LEADER\"'."),
]
SHOWN: Final = 20
"""Most rows of each kind in the text output, which counts the others."""
MOST_STATES: Final = 20_000
"""Most states of a picture: Graphviz cannot lay out as many."""

STATE_HELP: Final = "The beginning of a state's id, or 'initial' for the only initial state."
INITIAL: Final = "initial"
_PROGRESS_EVERY_S: Final = 2.0
"""The time before the first line of progress of a query, and between two lines."""


class Answer(Record, frozen=True):
    """The JSON document of a command of ``canvass graph``, or a part of it."""


class NearState(Answer, frozen=True):
    """A neighbour of a state, and the number of steps of one action that lead to or from it."""

    action: str
    state: str
    count: int


class StateAnswer(Answer, frozen=True):
    """A state, and the steps that leave it and lead to it."""

    id: str
    initial: bool
    expanded: bool
    state: Tree
    leaving: list[NearState]
    entering: list[NearState]


class StateFound(Answer, frozen=True, omit_defaults=True):
    """A state where a condition holds, with the value of ``--show``."""

    id: str
    value: str | None = None


class StatesFound(Answer, frozen=True):
    """The states where a condition holds."""

    count: int
    of: int
    shown: list[StateFound]


class PathStep(Answer, frozen=True):
    """A step of a path: the action, the state that it leads to, the number of the edge."""

    action: str
    state: str
    edge: int


class ExportFormat(str, Enum):
    """Formats of other tools."""

    DOT = "dot"
    PARQUET = "parquet"


def row_of(graph: StateGraph, state: str) -> int:
    """Give the row of a state that the command line names.

    Raises
    ------
    CommandError
        If there is no such state.
    GraphError
        If several ids begin with the text, or the text is not 1 to 32 hexadecimal digits.
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
    report = progress("evaluated for {:,} of {:,} distinct values")
    rows: list[int] = predicate.rows(graph, report).tolist()
    if not rows:
        for line in predicate.unknown_names(graph):
            complain(line)
    return rows


def progress(line: str) -> Callable[[int, int], None]:
    """Give a function that prints the progress of long work: a line with two numbers.

    It prints a line only now and then. The time counts from its first call.
    """
    console, due = progress_console(), list[float]()

    def report(*numbers: int) -> None:
        due[:] = due or [monotonic() + _PROGRESS_EVERY_S]
        if monotonic() >= due[0]:
            due[0] += _PROGRESS_EVERY_S
            console.print(line.format(*numbers))

    return report


def _note_of(graph: StateGraph, row: int) -> str:
    """Describe a state in a few words: a member's election state and role."""
    marks = "" if graph.expanded[row] else "  not expanded"
    if graph.kind == "member":
        tree = graph.tree(row)
        marks = f"  {tree['electionState']} {tree['role']}{marks}"
    return marks


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Give the fields of a state as lines of text, short parts on one line."""
    from canvass.lanes.of_counterexample import part_path

    for name, value in tree.items():
        place, text = part_path(path, name), msgspec.json.encode(value).decode()
        if isinstance(value, dict | list) and len(text) > 100:
            parts = value if isinstance(value, dict) else dict(enumerate(value, 1))
            yield from _leaves({str(key): part for key, part in parts.items()}, place)
        else:
            yield place, value if isinstance(value, str) else text


def add(group: typer.Typer) -> None:
    """Add the commands to the group."""
    group.command("find")(find)
    group.command("path")(path)
    group.command("export")(export)


def find(
    graph: Folder,
    state: Annotated[str | None, typer.Argument(metavar="STATE", help=STATE_HELP)] = None,
    where: Where = None,
    show: Annotated[
        str | None,
        typer.Option("--show", metavar="EXPR", help="With --where: values to print of each state."),
    ] = None,
    output: Output = Format.HUMAN,
) -> None:
    """Show a state and the steps that leave and enter it, or the states where EXPR holds.

    Exit code 1: there is no such state.
    """
    from canvass.graph.open import open_view

    if (state is None) == (where is None):
        raise CommandError("name a STATE, or a condition with --where, and not both")
    opened = open_view(graph)
    if state is not None:
        one = _state(opened, row_of(opened, state))
        emit(output, one, "graph_state", leaves=list(_leaves(one.state)), most=SHOWN)
        return
    assert where is not None
    rows = rows_where(opened, where)
    _show_found(opened, rows, show, output)
    if not rows:
        raise typer.Exit(EXIT_UNEXPECTED)


def _state(graph: StateGraph, row: int) -> StateAnswer:
    return StateAnswer(
        id=graph.id_of(row),
        initial=graph.is_initial(row),
        expanded=bool(graph.expanded[row]),
        state=graph.tree(row),
        leaving=_near(graph, row, graph.out),
        entering=_near(graph, row, graph.into),
    )


def _near(graph: StateGraph, row: int, side: Side) -> list[NearState]:
    """Give the steps at one side of a state, grouped by their action and the other state."""
    own = slice(int(side.offsets[row]), int(side.offsets[row + 1]))
    counts = Counter(zip(side.action[own].tolist(), side.ends[own].tolist(), strict=True))
    return sorted(
        (
            NearState(graph.actions[action], graph.id_of(end), count)
            for (action, end), count in counts.items()
        ),
        key=lambda one: (one.action, one.state),
    )


def _show_found(graph: StateGraph, rows: list[int], show: str | None, output: Format) -> None:
    from canvass.graph.project import values_at

    shown = rows[:SHOWN] if output is Format.HUMAN else rows
    values = [None] * len(shown) if show is None else values_at(graph, show, shown)
    states = [StateFound(graph.id_of(row), value) for row, value in zip(shown, values, strict=True)]
    found = StatesFound(count=len(rows), of=graph.state_count, shown=states)
    notes = {graph.id_of(row): _note_of(graph, row) for row in rows[:SHOWN]}
    emit(output, found, "graph_found", notes=notes)


def path(
    graph: Folder,
    source: Annotated[str, typer.Argument(metavar="FROM", help=STATE_HELP)] = "",
    target: Annotated[str, typer.Argument(metavar="TO", help=STATE_HELP)] = "",
    where: Where = None,
    output: Output = Format.HUMAN,
) -> None:
    """Show a shortest path to a state, or to the nearest state where EXPR holds.

    It starts at FROM, or at an initial state. One state alone is TO, or FROM with --where. Exit
    code 1: no path leads there.
    """
    from canvass.graph.open import open_view
    from canvass.graph.walks import NoPath, shortest_path

    if where is None and not target:
        source, target = "", source
    if bool(target) == (where is not None):
        raise CommandError("name the state TO, or a condition with --where, and not both")
    opened = open_view(graph)
    sources = [row_of(opened, source)] if source else opened.initial.tolist()
    targets = [row_of(opened, target)] if where is None else rows_where(opened, where)
    try:
        hops = shortest_path(opened, sources, targets)
    except NoPath:
        begin = f"from {opened.id_of(sources[0])}" if source else "from an initial state"
        goal = f"to {opened.id_of(targets[0])}" if where is None else "to a state where that holds"
        complain(f"no path leads {begin} {goal}")
        raise typer.Exit(EXIT_UNEXPECTED) from None
    steps = [PathStep(hop.action, opened.id_of(hop.target), hop.edge) for hop in hops]
    changed = [] if output is Format.JSON else [_changes(opened, hop) for hop in hops]
    emit(output, steps, "graph_path", changed=changed)


def _changes(graph: StateGraph, hop: Hop) -> tuple[str, list[str]]:
    """Describe the state after a step in a few words, and give what the step has changed."""
    from canvass.tlc.changes import state_changes

    changes = state_changes(graph.state(hop.source), graph.state(hop.target))
    return _note_of(graph, hop.target), list(map(str, changes))


def export(
    graph: Folder,
    form: Annotated[ExportFormat, typer.Option("--format", metavar="FORM", help="See above.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write, or folder. Default: stdout.")
    ] = None,
    where: Where = None,
) -> None:
    """Write a graph for other tools: Graphviz, or what reads Parquet.

    dot holds states and the steps between them: those where EXPR holds, or all. parquet is a new
    folder with all states and steps as tables, a column a variable.

    Exit code 1: there is no state where EXPR holds; nothing is written.
    """
    from canvass.graph.export import to_dot
    from canvass.graph.open import open_view

    opened = open_view(graph)
    if form is ExportFormat.PARQUET:
        from canvass.graph.parquet import write_parquet

        if out is None:
            raise CommandError("--format parquet makes a folder: name a new one with --out")
        if where is not None:
            raise CommandError("--format parquet holds the whole graph; choose in a query instead")
        write_parquet(opened, out)
        return
    rows = list(range(opened.state_count)) if where is None else rows_where(opened, where)
    if not rows:
        complain("there is no state where that holds")
        raise typer.Exit(EXIT_UNEXPECTED)
    if len(rows) > MOST_STATES:
        raise CommandError(
            f"{len(rows):,} states are more than {MOST_STATES:,}: choose with --where, or export"
            " to parquet"
        )
    text = to_dot(opened, rows)
    if out is None:
        result_console().out(text, end="", highlight=False)
        return
    try:
        write_file(out, text)
    except OSError as error:
        raise CommandError(f"{out} cannot be written: {error.strerror}") from None

"""``canvass graph find|path|components|project``: queries of a state graph.

The arguments that all commands of ``canvass graph`` share are here, too. Exit code 1: there is no
such state or path.
"""

from __future__ import annotations

from collections import Counter
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
    say,
)
from canvass.traces.counts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from canvass.graph.folders import Offsets, Rows
    from canvass.graph.project import QuotientEdge
    from canvass.graph.view import StateGraph, Tree
    from canvass.graph.walks import Hop


Folder = Annotated[
    Path, typer.Argument(metavar="GRAPH", help="Folder of a state graph.", callback=existing)
]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="EXPR", help="A condition, such as 'role = \"LEADER\"'."),
]
SHOWN: Final = 20
"""Rows that a person is shown of each kind; the output says how many more there are."""

STATE_HELP: Final = "The beginning of a state's id, or 'initial' for the only initial state."
INITIAL: Final = "initial"


class Answer(msgspec.Struct, frozen=True, rename="camel"):
    """The JSON document of a command of ``canvass graph``, or a part of it."""


def row_of(graph: StateGraph, state: str) -> int:
    """Give the row of a state that the command line names.

    Raises
    ------
    CommandError
        If there is none.
    GraphError
        If several ids begin with the text, or the text is no beginning of an id.
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
    rows: list[int] = predicate.rows(graph, progress(EVALUATED)).tolist()
    if not rows:
        for line in predicate.unknown_names(graph):
            complain(line)
    return rows


def progress(line: str) -> Callable[[int, int], None]:
    """Give a function that now and then prints a line with two numbers: how far long work is."""
    console, due = progress_console(), [monotonic() + _PATIENCE_S]

    def report(*numbers: int) -> None:
        if monotonic() >= due[0]:
            due[0] += _PATIENCE_S
            console.print(line.format(*numbers))

    return report


EVALUATED: Final = "evaluated for {:,} of {:,} distinct values"


def note_of(graph: StateGraph, row: int) -> str:
    """Describe a state in a few words: a member's election state and role."""
    marks = "" if graph.expanded[row] else "  not expanded"
    if graph.kind == "member":
        tree = graph.tree(row)
        marks = f"  {tree['electionState']} {tree['role']}{marks}"
    return marks


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Give the fields of a state as lines of text, short parts on one line."""
    from canvass.lanes.of_counterexample import part_path

    for name, value in tree.items():
        place = part_path(path, name)
        if isinstance(value, dict) and len(msgspec.json.encode(value)) > 100:
            yield from leaves(value, place)
        elif isinstance(value, list) and len(msgspec.json.encode(value)) > 100:
            yield from leaves({f"{number}": item for number, item in enumerate(value, 1)}, place)
        else:
            yield place, value if isinstance(value, str) else msgspec.json.encode(value).decode()


_PATIENCE_S: Final = 2.0
"""How long a question may take before its progress is shown, and then between two lines."""
CLASSES: Final = 50
"""The most classes of a projection; the largest are kept."""
CHANGES: Final = 12
"""The most changes of a step that are printed."""


class NearState(Answer, frozen=True):
    """A state to which or from which steps of one action lead, and how many there are."""

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


class LeftOut(Answer, frozen=True, omit_defaults=True):
    """The numbers of things that are not shown."""

    states: int
    edges: int
    classes: int | None = None


class Component(Answer, frozen=True):
    """A strongly connected component: its size, one of its states, whether no step leaves it."""

    size: int
    example: str
    terminal: bool


class ComponentsFound(Answer, frozen=True):
    """The strongly connected components of a graph, and some of them."""

    count: int
    terminal: int
    unexpanded: int
    largest: list[Component]
    terminals: list[Component]


class StateClass(Answer, frozen=True):
    """States that agree in an expression: its value, the value as TLA+ text, one of the states."""

    key: Any
    label: str
    count: int
    example: str


class Projection(Answer, frozen=True):
    """The classes of states, and the steps between them by the numbers of the classes."""

    by: str
    classes: list[StateClass]
    edges: tuple[QuotientEdge, ...]
    left_out: LeftOut


def add(group: typer.Typer) -> None:
    """Add the commands to the group."""
    group.command("find")(find)
    group.command("path")(path)
    group.command("components")(components)
    group.command("project")(project)


def find(
    graph: Folder,
    state: Annotated[str | None, typer.Argument(metavar="STATE", help=STATE_HELP)] = None,
    where: Where = None,
    show: Annotated[
        str | None,
        typer.Option("--show", metavar="EXPR", help="With --where: values to print of each state."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of states to show.")] = SHOWN,
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
        _show_state(opened, row_of(opened, state), output)
        return
    assert where is not None
    _show_found(opened, rows_where(opened, where), show, limit, output)


def _show_state(graph: StateGraph, row: int, output: Format) -> None:
    answer = StateAnswer(
        id=graph.id_of(row),
        initial=graph.is_initial(row),
        expanded=bool(graph.expanded[row]),
        state=graph.tree(row),
        leaving=_near(graph, row, graph.out_offsets, graph.out_action, graph.out_target),
        entering=_near(graph, row, graph.in_offsets, graph.in_action, graph.in_source),
    )
    emit(output, answer, lambda: _print_state(answer))


def _near(
    graph: StateGraph, row: int, offsets: Offsets, actions: Rows, ends: Rows
) -> list[NearState]:
    """Give the steps at one side of a state, those of one action to one state together."""
    own = slice(int(offsets[row]), int(offsets[row + 1]))
    counts = Counter(zip(actions[own].tolist(), ends[own].tolist(), strict=True))
    return sorted(
        (
            NearState(graph.actions[action], graph.id_of(end), count)
            for (action, end), count in counts.items()
        ),
        key=lambda one: (one.action, one.state),
    )


def _print_state(one: StateAnswer) -> None:
    initial = "  initial" if one.initial else ""
    say(f"{one.id}{initial}{'' if one.expanded else '  not expanded'}")
    for name, value in leaves(one.state):
        say(f"  {name:<34} {value}")
    for sign, steps in (("->", one.leaving), ("<-", one.entering)):
        for step in steps[:SHOWN]:
            times = f" ({step.count})" if step.count > 1 else ""
            say(f"  {sign} {step.state}  {step.action}{times}")
        if len(steps) > SHOWN:
            say(f"  {sign} {len(steps) - SHOWN:,} more (--format json has all)")


def _show_found(
    graph: StateGraph, rows: list[int], show: str | None, limit: int, output: Format
) -> None:
    from canvass.graph.project import values_at

    shown = rows[:limit]
    values = [None] * len(shown) if show is None else values_at(graph, show, shown)
    found = StatesFound(
        count=len(rows),
        of=graph.state_count,
        shown=[
            StateFound(graph.id_of(row), value) for row, value in zip(shown, values, strict=True)
        ],
    )

    def print_found() -> None:
        say(f"{found.count:,} of {found.of:,} states")
        for row, one in zip(shown, found.shown, strict=True):
            say(f"  {one.id}{note_of(graph, row) if one.value is None else f'  {one.value}'}")
        if len(rows) > len(shown):
            say(f"  ... {len(rows) - len(shown):,} more; --limit shows them")

    emit(output, found, print_found)
    if not rows:
        raise typer.Exit(EXIT_UNEXPECTED)


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
    emit(output, steps, lambda: _print_path(opened, hops))


def _print_path(graph: StateGraph, hops: list[Hop]) -> None:
    from canvass.tlc.changes import state_changes

    if not hops:
        say("the state is there from the beginning: no step is needed")
    for hop in hops:
        say(f"{hop.action:<32} {graph.id_of(hop.target)}{note_of(graph, hop.target)}")
        changes = state_changes(graph.state(hop.source), graph.state(hop.target))
        for change in changes[:CHANGES]:
            say(f"    {change}")
        if len(changes) > CHANGES:
            say(f"    ... {counted(len(changes) - CHANGES, 'change')} more")


def components(graph: Folder, output: Output = Format.HUMAN) -> None:
    """Show the strongly connected components: sets of states that all lead to each other.

    No step leaves a terminal component. A component is not called terminal if the steps of one of
    its states are not in the graph.
    """
    from canvass.graph.open import open_view
    from canvass.graph.walks import components as find_components

    opened = open_view(graph)
    found = find_components(opened)
    ends = found.terminal.nonzero()[0].tolist()

    def named(numbers: Iterable[int]) -> list[Component]:
        return [
            Component(
                size=int(found.sizes[number]),
                example=opened.id_of(int(found.examples[number])),
                terminal=bool(found.terminal[number]),
            )
            for number in numbers
        ]

    answer = ComponentsFound(
        count=len(found),
        terminal=len(ends),
        unexpanded=int(found.unexpanded.sum()),
        largest=named(range(min(SHOWN, len(found)))),
        terminals=named(ends[:SHOWN]),
    )
    emit(output, answer, lambda: _print_components(opened, answer, int((found.sizes == 1).sum())))


def _print_components(graph: StateGraph, found: ComponentsFound, single: int) -> None:
    say(
        f"{found.count:,} components, {single:,} of them of one state; {found.terminal:,} terminal,"
        f" {found.unexpanded:,} with states that are not expanded"
    )
    for title, components in (("largest", found.largest), ("terminal", found.terminals)):
        for one in components:
            note = note_of(graph, row_of(graph, one.example))
            say(f"  {title:<9} {one.size:>10,} states, such as {one.example}{note}")


def project(
    graph: Folder,
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="EXPR", help="One expression, or several separated by commas."
        ),
    ],
    output: Output = Format.HUMAN,
) -> None:
    """Put states with the same EXPR into one class; show the classes and the steps between them."""
    from canvass.graph.open import open_view
    from canvass.graph.project import project as find_quotient

    opened = open_view(graph)
    found = find_quotient(opened, by, limit=CLASSES, on_progress=progress(EVALUATED))
    rows = zip(
        found.keys, found.labels, found.counts.tolist(), found.examples.tolist(), strict=True
    )
    answer = Projection(
        by=by,
        classes=[
            StateClass(key, label, count, opened.id_of(row)) for key, label, count, row in rows
        ],
        edges=found.edges,
        left_out=LeftOut(found.left_out_states, found.left_out_edges, found.left_out_classes),
    )
    emit(output, answer, lambda: _print_classes(answer))


def _print_classes(found: Projection) -> None:
    width = max(len(one.label) for one in found.classes)
    for number, one in enumerate(found.classes):
        say(f"{one.label:<{width}}  {one.count:>10,} states, such as {one.example}")
        steps = Counter[int]()
        for edge in found.edges:
            if edge.source == number and edge.target != number:
                steps[edge.target] += edge.count
        for target, count in sorted(steps.items()):
            say(f"    {count:>10,} -> {found.classes[target].label}")
    left = found.left_out
    if left.classes:
        say(
            f"... {counted(left.classes, 'class', 'classes')} more"
            f" with {counted(left.states, 'state')}, and {counted(left.edges, 'step')}"
            " from and to them"
        )

"""``canvass graph find|path|neighbours|components|project``: questions to a state graph.

Exit code 1 says that there is nothing of what was asked for.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.graph_common import (
    STATE_HELP,
    Actions,
    Folder,
    Limit,
    Where,
    leaves,
    note_of,
    row_of,
    rows_where,
    say,
)
from canvass.cli.options import Output
from canvass.cli.output import (
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    complain,
    emit,
)

if TYPE_CHECKING:
    from canvass.graph.project import Quotient
    from canvass.graph.view import StateGraph, Tree
    from canvass.graph.walks import Components, Direction, Hop, Neighbourhood


CHANGES: Final = 12
"""Changes of a step that are printed."""


def add(group: typer.Typer) -> None:
    """Add the commands to the group."""
    group.command("find")(find)
    group.command("path")(path)
    group.command("neighbours")(neighbours)
    group.command("components")(components)
    group.command("project")(project)


def find(
    graph: Folder,
    state: Annotated[str | None, typer.Argument(metavar="[STATE]", help=STATE_HELP)] = None,
    where: Where = None,
    show: Annotated[
        str | None,
        typer.Option("--show", metavar="EXPR", help="With --where: values to print of each state."),
    ] = None,
    limit: Limit = 20,
    output: Output = Format.HUMAN,
) -> None:
    """Show a state and how many steps of each action leave it, or the states where EXPR holds.

    Exit code 1: there is no such state.
    """
    from canvass.graph.view import open_view

    if (state is None) == (where is None):
        raise CommandError("name a STATE, or a condition with --where, and not both")
    opened = open_view(graph)
    if state is not None:
        _show_state(opened, row_of(opened, state), output)
        return
    assert where is not None
    _show_found(opened, rows_where(opened, where), show, limit, output)


def _show_state(graph: StateGraph, row: int, output: Format) -> None:
    start, end = int(graph.out_offsets[row]), int(graph.out_offsets[row + 1])
    codes = Counter(graph.out_action[start:end].tolist())
    leaving = {graph.actions[code]: count for code, count in codes.items()}
    tree = graph.tree(row)
    document = {
        "id": graph.id_of(row),
        "initial": row in graph.initial,
        "expanded": bool(graph.expanded[row]),
        "state": tree,
        "edges": dict(sorted(leaving.items())),
    }
    emit(output, document, lambda: _print_state(graph, row, tree, leaving))


def _print_state(graph: StateGraph, row: int, tree: Tree, leaving: dict[str, int]) -> None:
    initial = "  initial" if row in graph.initial else ""
    say(f"{graph.id_of(row)}{initial}{'' if graph.expanded[row] else '  not expanded'}")
    for name, value in leaves(tree):
        say(f"  {name:<34} {value}")
    for action, count in sorted(leaving.items()):
        say(f"  {count:>6} {action}")


def _show_found(
    graph: StateGraph, rows: list[int], show: str | None, limit: int, output: Format
) -> None:
    from canvass.graph.project import values_at

    shown = rows[:limit]
    values = None if show is None else values_at(graph, show, shown)
    states = [
        {"id": graph.id_of(row), **({} if values is None else {"value": values[place]})}
        for place, row in enumerate(shown)
    ]

    def print_found() -> None:
        say(f"{len(rows):,} of {graph.state_count:,} states")
        for place, row in enumerate(shown):
            note = note_of(graph, row) if values is None else f"  {values[place]}"
            say(f"  {graph.id_of(row)}{note}")
        if len(rows) > len(shown):
            say(f"  ... {len(rows) - len(shown):,} more; --limit shows them")

    emit(output, {"count": len(rows), "of": graph.state_count, "shown": states}, print_found)
    if not rows:
        raise typer.Exit(EXIT_UNEXPECTED)


def path(
    graph: Folder,
    source: Annotated[str, typer.Argument(metavar="[FROM]", help=STATE_HELP)] = "",
    target: Annotated[str, typer.Argument(metavar="[TO]", help=STATE_HELP)] = "",
    where: Where = None,
    actions: Actions = None,
    output: Output = Format.HUMAN,
) -> None:
    """Show a shortest path to a state, or to the nearest state where EXPR holds.

    It starts at FROM, or at an initial state. Exit code 1: no path leads there.
    """
    from canvass.graph.view import open_view
    from canvass.graph.walks import NoPath, shortest_path

    if bool(target) == (where is not None):
        raise CommandError("name the state TO, or a condition with --where, and not both")
    opened = open_view(graph)
    sources = [row_of(opened, source)] if source else opened.initial.tolist()
    targets = [row_of(opened, target)] if where is None else rows_where(opened, where)
    try:
        hops = shortest_path(opened, sources, targets, actions)
    except NoPath:
        begin = f"from {opened.id_of(sources[0])}" if source else "from an initial state"
        goal = f"to {opened.id_of(targets[0])}" if where is None else "to a state where that holds"
        complain(f"no path leads {begin} {goal}")
        raise typer.Exit(EXIT_UNEXPECTED) from None
    document = [
        {"action": hop.action, "state": opened.id_of(hop.target), "edge": hop.edge} for hop in hops
    ]
    emit(output, document, lambda: _print_path(opened, hops))


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
            say(f"    ... {len(changes) - CHANGES} changes more")


def neighbours(
    graph: Folder,
    state: Annotated[str, typer.Argument(metavar="STATE", help=STATE_HELP)],
    depth: Annotated[int, typer.Option(min=1, max=50, help="Maximum distance, in steps.")] = 1,
    forwards: Annotated[bool, typer.Option("--out", help="Only successors.")] = False,
    backwards: Annotated[bool, typer.Option("--in", help="Only predecessors.")] = False,
    actions: Actions = None,
    limit: Limit = 50,
    output: Output = Format.HUMAN,
) -> None:
    """Show the states around a state, and the steps between them."""
    from canvass.graph.view import open_view
    from canvass.graph.walks import around

    opened = open_view(graph)
    row = row_of(opened, state)
    direction: Direction = "both"
    if forwards != backwards:
        direction = "out" if forwards else "in"
    found = around(opened, row, depth, limit, actions, direction=direction)
    names = {each: opened.id_of(each) for each in found.rows.tolist()}
    shown = zip(found.rows.tolist(), found.layers.tolist(), found.more.tolist(), strict=True)
    document = {
        "root": names[row],
        "states": [
            {"id": names[each], "layer": layer, "more": more} for each, layer, more in shown
        ],
        "edges": [
            {
                "source": names[arrow.source],
                "target": names[arrow.target],
                "action": arrow.action,
                "count": arrow.count,
            }
            for arrow in found.arrows
        ],
        "leftOut": {"states": found.left_out_states, "edges": found.left_out_edges},
    }
    emit(output, document, lambda: _print_neighbours(opened, found, names, depth))


def _print_neighbours(
    graph: StateGraph, found: Neighbourhood, names: dict[int, str], depth: int
) -> None:
    row = found.root
    say(f"{names[row]}{note_of(graph, row)}")
    for arrow in found.arrows:
        times = f" ({arrow.count})" if arrow.count > 1 else ""
        if depth > 1:
            ends = f"{names[arrow.source][:12]} -> {names[arrow.target][:12]}"
            say(f"  {ends}  {arrow.action}{times}")
        elif arrow.source == row:
            note = "  itself" if arrow.target == row else f"{note_of(graph, arrow.target)}"
            say(f"  -> {names[arrow.target]}  {arrow.action}{times}{note}")
        elif arrow.target == row:
            note = note_of(graph, arrow.source)
            say(f"  <- {names[arrow.source]}  {arrow.action}{times}{note}")
    if found.left_out_states:
        say(f"  ... {found.left_out_states:,} states more; --limit shows them")


def components(
    graph: Folder,
    actions: Actions = None,
    limit: Limit = 10,
    output: Output = Format.HUMAN,
) -> None:
    """Show the strongly connected components: sets of states that all lead to each other.

    No step leaves a terminal component. One with states that are not expanded is not terminal.
    """
    from canvass.graph.view import open_view
    from canvass.graph.walks import components as find_components

    opened = open_view(graph)
    found = find_components(opened, actions)
    ends = found.terminal.nonzero()[0].tolist()
    largest = list(range(min(limit, len(found))))

    def rows(numbers: list[int]) -> list[dict[str, object]]:
        return [
            {
                "size": int(found.sizes[number]),
                "example": opened.id_of(int(found.examples[number])),
                "terminal": bool(found.terminal[number]),
            }
            for number in numbers
        ]

    document = {
        "count": len(found),
        "terminal": len(ends),
        "unexpanded": int(found.unexpanded.sum()),
        "largest": rows(largest),
        "terminals": rows(ends[:limit]),
    }
    emit(output, document, lambda: _print_components(opened, found, largest, ends[:limit]))


def _print_components(
    graph: StateGraph, found: Components, largest: list[int], ends: list[int]
) -> None:
    single = int((found.sizes == 1).sum())
    say(
        f"{len(found):,} components, {single:,} of them of one state;"
        f" {int(found.terminal.sum()):,} terminal,"
        f" {int(found.unexpanded.sum()):,} with states that are not expanded"
    )
    for title, numbers in (("largest", largest), ("terminal", ends)):
        for number in numbers:
            row = int(found.examples[number])
            say(
                f"  {title:<9} {int(found.sizes[number]):>10,} states, such as"
                f" {graph.id_of(row)}{note_of(graph, row)}"
            )


def project(
    graph: Folder,
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="EXPR", help="One expression, or several separated by commas."
        ),
    ],
    actions: Actions = None,
    limit: Limit = 50,
    output: Output = Format.HUMAN,
) -> None:
    """Put states with the same EXPR into one class; show the classes and the steps between them."""
    from canvass.graph.project import project as find_quotient
    from canvass.graph.view import open_view

    opened = open_view(graph)
    found = find_quotient(opened, by, actions, limit=limit)
    left_out = {
        "classes": found.left_out_classes,
        "states": found.left_out_states,
        "edges": found.left_out_edges,
    }
    counts, examples = found.counts.tolist(), found.examples.tolist()
    document = {
        "by": by,
        "classes": [
            {"key": key, "label": label, "count": count, "example": opened.id_of(row)}
            for key, label, count, row in zip(
                found.keys, found.labels, counts, examples, strict=True
            )
        ],
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "action": edge.action,
                "count": edge.count,
            }
            for edge in found.edges
        ],
        "leftOut": left_out,
    }
    emit(output, document, lambda: _print_classes(opened, found))


def _print_classes(graph: StateGraph, found: Quotient) -> None:
    width = max(len(label) for label in found.labels)
    for number, label in enumerate(found.labels):
        example = graph.id_of(int(found.examples[number]))
        say(f"{label:<{width}}  {int(found.counts[number]):>10,} states, such as {example}")
        steps = Counter[int]()
        for edge in found.edges:
            if edge.source == number and edge.target != number:
                steps[edge.target] += edge.count
        for target, count in sorted(steps.items()):
            say(f"    {count:>10,} -> {found.labels[target]}")
    if found.left_out_classes:
        say(
            f"... {found.left_out_classes:,} classes more with {found.left_out_states:,} states;"
            " --limit shows them"
        )

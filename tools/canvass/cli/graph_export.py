"""``canvass graph diff|export``: compare a graph with another one, export a part of it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.graph_query import SHOWN, Answer, Folder, Where, row_of, rows_where
from canvass.cli.options import Output, existing
from canvass.cli.output import (
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    complain,
    emit,
    json_text,
    result_console,
    say,
    write_file,
)

if TYPE_CHECKING:
    from canvass.graph.diff import ActionDiff, EdgeSample
    from canvass.graph.folders import Rows
    from canvass.graph.view import StateGraph


MOST_STATES: Final = 20_000
"""States in an export but Parquet: more than other tools can lay out."""


class ExportFormat(str, Enum):
    """Formats of other tools."""

    DOT = "dot"
    GRAPHML = "graphml"
    JSON = "json"
    ITF = "itf"
    PARQUET = "parquet"


class StatesShown(Answer, frozen=True):
    """The states that only one graph has: how many, and the first of them."""

    count: int
    shown: list[str]

    @classmethod
    def of(cls, graph: StateGraph, rows: Rows) -> StatesShown:
        """Name the first of some states."""
        return cls(len(rows), [graph.id_of(row) for row in rows[:SHOWN].tolist()])


class StatesDiff(Answer, frozen=True):
    """The states of two graphs."""

    both: int
    only_first: StatesShown
    only_second: StatesShown


class DiffReport(Answer, frozen=True):
    """The output of ``canvass graph diff --format json``."""

    same: bool
    first: str
    second: str
    states: StatesDiff
    actions: tuple[ActionDiff, ...]
    changed: tuple[EdgeSample, ...]


def add(group: typer.Typer) -> None:
    """Add the commands to the group."""
    group.command("diff")(diff)
    group.command("export")(export)


def diff(
    first: Annotated[
        Path, typer.Argument(metavar="FIRST", help="Folder of a state graph.", callback=existing)
    ],
    second: Annotated[
        Path, typer.Argument(metavar="SECOND", help="Folder of another one.", callback=existing)
    ],
    output: Output = Format.HUMAN,
) -> None:
    """Compare two graphs, of one model or of two: states and steps that only one of them has.

    Exit code 0: they are the same. 1: they differ.
    """
    from canvass.graph.diff import diff as compare
    from canvass.graph.open import open_view

    one, two = open_view(first), open_view(second)
    found = compare(one, two, limit=SHOWN)
    report = DiffReport(
        same=found.same,
        first=one.title,
        second=two.title,
        states=StatesDiff(
            both=found.both,
            only_first=StatesShown.of(one, found.only_first),
            only_second=StatesShown.of(two, found.only_second),
        ),
        actions=found.actions,
        changed=found.changed,
    )
    emit(output, report, lambda: _print(report))
    if not found.same:
        raise typer.Exit(EXIT_UNEXPECTED)


def _print(found: DiffReport) -> None:
    states = found.states
    if found.same:
        say(f"the same: {states.both:,} states")
        return
    say(
        f"{states.both:,} states in both, {states.only_first.count:,} only in the first,"
        f" {states.only_second.count:,} only in the second"
    )
    say(f"{'distinct steps':<32} {'both':>10} {'first':>10} {'second':>10} {'changed':>10}")
    for row in found.actions:
        say(
            f"{row.action:<32} {row.both:>10,} {row.only_first:>10,} {row.only_second:>10,}"
            f" {row.changed:>10,}"
        )
    for sample in found.changed:
        say(f"  {sample.side:<6} {sample.source[:12]} -> {sample.target[:12]}  {sample.action}")
    for title, only in (("first", states.only_first), ("second", states.only_second)):
        for state in only.shown:
            say(f"  {title:<6} {state}")


def export(
    graph: Folder,
    form: Annotated[ExportFormat, typer.Option("--format", metavar="FORM", help="See above.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write, or folder. Default: stdout.")
    ] = None,
    around: Annotated[
        str | None, typer.Option("--around", metavar="STATE", help="Only states near this one.")
    ] = None,
    depth: Annotated[
        int, typer.Option(min=1, max=50, help="With --around: maximum distance, in steps.")
    ] = 2,
    where: Where = None,
) -> None:
    """Write a graph for other tools: all of it, the part around a state, or a path.

    dot, graphml and json hold states and the steps between them: those around a state, those where
    EXPR holds, or all. itf holds a shortest path to a state where EXPR holds. parquet is a new
    folder with all states and steps as tables, a column a variable.

    Exit code 1: there is no such state or path; nothing is written.
    """
    from canvass.graph.open import open_view

    if around is not None and (where is not None or form is ExportFormat.ITF):
        raise CommandError("--around is not for a path, and not for --where; leave it out")
    opened = open_view(graph)
    if form is ExportFormat.PARQUET:
        from canvass.graph.parquet import write_parquet

        if out is None:
            raise CommandError("--format parquet makes a folder: name a new one with --out")
        if around is not None or where is not None:
            raise CommandError("--format parquet holds the whole graph; choose in a query instead")
        write_parquet(opened, out)
        return
    text = _text(opened, form, _rows(opened, around, depth, where))
    if out is None:
        result_console().out(text, end="", highlight=False)
        return
    try:
        write_file(out, text)
    except OSError as error:
        raise CommandError(f"{out} cannot be written: {error.strerror}") from None


def _rows(graph: StateGraph, around: str | None, depth: int, where: str | None) -> list[int]:
    """Choose the states to export; for a path, those where it may end."""
    from canvass.graph.walks import around as neighbourhood

    if around is not None:
        found = neighbourhood(graph, row_of(graph, around), depth, MOST_STATES)
        if found.left_out_states:
            complain(f"{found.left_out_states:,} states within {depth} steps are left out")
        near: list[int] = found.rows.tolist()
        return near
    rows = list(range(graph.state_count)) if where is None else rows_where(graph, where)
    if not rows:
        complain("there is no state where that holds")
        raise typer.Exit(EXIT_UNEXPECTED)
    return rows


def _text(graph: StateGraph, form: ExportFormat, rows: list[int]) -> str:
    from canvass.graph.export import to_dot, to_graphml, to_itf, to_json
    from canvass.graph.walks import NoPath, shortest_path

    if form is ExportFormat.ITF:
        if len(rows) == graph.state_count:
            raise CommandError("a path needs its end: a condition with --where")
        try:
            hops = shortest_path(graph, graph.initial.tolist(), rows)
        except NoPath as error:
            complain(str(error))
            raise typer.Exit(EXIT_UNEXPECTED) from None
        start = hops[0].source if hops else next(k for k in graph.initial.tolist() if k in rows)
        return json_text(to_itf(graph, start, hops))
    if len(rows) > MOST_STATES:
        raise CommandError(
            f"{len(rows):,} states are more than {MOST_STATES:,}: choose with --around or --where,"
            " or export to parquet"
        )
    if form is ExportFormat.JSON:
        return json_text(to_json(graph, rows))
    return to_dot(graph, rows) if form is ExportFormat.DOT else to_graphml(graph, rows)

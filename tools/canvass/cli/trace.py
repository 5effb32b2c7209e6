"""``canvass trace``: look at runs, and turn them into other forms.

``show`` is here, the others in modules of their own; drawing is in `canvass.lanes`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli import trace_convert, trace_shrink
from canvass.cli.output import CommandError, Format, result_console, write_json

if TYPE_CHECKING:
    from canvass.lanes.of_run import RunLanes
    from canvass.lanes.text import Line

_CONTEXT: Final = 10
_PIPE_WIDTH: Final = 120
"""Columns where there is no terminal to ask; ``--width`` and ``COLUMNS`` say otherwise."""
_STYLES: Final = {
    "": "",
    "dim": "dim",
    "title": "bold",
    "bad": "bold red",
    "fault": "yellow",
    "message": "cyan",
}

RunPath = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder, or a data set with --run.")
]
RunId = Annotated[str | None, typer.Option("--run", metavar="ID", help="Which run of a data set.")]


def register(app: typer.Typer) -> None:
    """Add the command group to the application."""
    group = typer.Typer(help="Look at runs, and turn them into other forms.", no_args_is_help=True)
    group.callback()(_group)
    group.command("show")(show)
    group.command("convert")(trace_convert.convert)
    group.command("shrink")(trace_shrink.shrink)
    group.command("schema")(trace_convert.schema)
    app.add_typer(group, name="trace")


def _group() -> None:
    """Look at runs, and turn them into other forms."""


def show(
    run: RunPath,
    run_id: RunId = None,
    around: Annotated[
        str | None,
        typer.Option(metavar="EVENT", help="The event to look at, MEMBER:STEP, such as 1:42."),
    ] = None,
    context: Annotated[
        int, typer.Option(min=0, help="With --around: events before and after it.")
    ] = _CONTEXT,
    start: Annotated[
        str | None, typer.Option("--from", metavar="EVENT", help="The first event to show.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="EVENT", help="The last event to show.")
    ] = None,
    member: Annotated[
        list[int] | None, typer.Option(min=0, help="Only this member's lane; may be repeated.")
    ] = None,
    messages: Annotated[
        bool, typer.Option("--messages", help="Say what is in the messages received.")
    ] = False,
    width: Annotated[
        int | None, typer.Option(min=20, help="Columns to use; else those of the terminal.")
    ] = None,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Draw with ASCII alone.")] = False,
    output: Annotated[
        Format, typer.Option("--format", help="For a person, or the diagram as data.")
    ] = Format.HUMAN,
) -> None:
    """Show a run in swim lanes: what each member did, what it changed, and the messages.

    Events stand in an order of causes: a message is received below where it was sent. Clocks decide
    nothing but the order of what is independent.

    canvass trace show RUN --around 1:42 | less -R
    """
    from canvass.cli.trace_run import open_run, row_named, window
    from canvass.lanes.of_run import RunLanes
    from canvass.lanes.text import ASCII, UNICODE, TextLanes

    if around and (start or end):
        raise CommandError("--around and --from/--to exclude each other")
    loaded = open_run(run, run_id)
    lanes = RunLanes(loaded.columns)
    for one in member or ():
        if one >= loaded.run.member_count:
            raise CommandError(f"--member {one}: the run has {loaded.run.member_count} members")
    rows = window(lanes, start, end)
    if around:
        rows = _around(lanes, row_named(lanes, around, "--around"), context, member)
    diagram = lanes.diagram(rows, members=member or None)
    if output is Format.JSON:
        write_json(diagram)
        return
    console = result_console()
    if not width:
        width = console.width if console.is_terminal else console_columns()
    plain = ascii_only or not _can_draw()
    drawn = TextLanes(diagram, width, glyphs=ASCII if plain else UNICODE, contents=messages)
    if console.is_terminal and not console.no_color:
        from rich.text import Text

        for line in drawn.lines():
            console.print(Text.assemble(*((text, _STYLES[style]) for text, style in line)))
        return
    _print_plain(drawn.lines())


def _around(lanes: RunLanes, row: int, context: int, members: Sequence[int] | None) -> list[int]:
    """Give the events about one, those of other members than the wanted ones not counted."""
    wanted = None if not members else {*members, int(lanes.columns.member[row])}
    place = lanes.place[row]

    def kept(rows: Sequence[int]) -> list[int]:
        return [one for one in rows if wanted is None or int(lanes.columns.member[one]) in wanted]

    before = kept(lanes.rows[:place]) if wanted else lanes.rows[max(0, place - context) : place]
    after = kept(lanes.rows[place + 1 :]) if wanted else lanes.rows[place + 1 :]
    return [*before[max(0, len(before) - context) :], row, *after[:context]]


def console_columns() -> int:
    """Give the columns to use where there is no terminal."""
    columns = os.environ.get("COLUMNS", "")
    return (
        int(columns)
        if columns.isascii() and columns.isdigit() and int(columns) >= 20
        else _PIPE_WIDTH
    )


def _can_draw() -> bool:
    """Tell whether stdout can take the characters of the drawing."""
    try:
        "│●▶→⋮✖".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _print_plain(lines: Iterable[Line]) -> None:
    """Write lines without any style; one write for many, as a run may have millions."""
    from itertools import islice

    source = iter(lines)
    while block := list(islice(source, 1_000)):
        sys.stdout.write("".join("".join(text for text, _ in line) + "\n" for line in block))

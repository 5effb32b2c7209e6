"""``canvass replay``: check traces of any system against the state graph of its specification.

This module has the command line. `canvass.replay` does the work.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from canvass.cli.graph_query import Folder
from canvass.cli.options import Output
from canvass.cli.output import Format, Stages, emit
from canvass.traces.counts import counted


class Initial(str, Enum):
    """States in which a trace may begin."""

    INIT = "init"
    ANY = "any"


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("replay")(replay)


def replay(
    graph: Folder,
    traces: Annotated[
        list[Path],
        typer.Argument(metavar="TRACE", help="Traces, or folders of *.ndjson and *.jsonl."),
    ],
    hidden: Annotated[
        int, typer.Option(min=0, max=1000, help="Steps that may be missing before each line.")
    ] = 0,
    initial: Annotated[
        Initial, typer.Option(help="Where a trace may begin: in an initial state, or in any.")
    ] = Initial.INIT,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Show the states and steps that no trace takes.")
    ] = False,
    output: Output = Format.HUMAN,
) -> None:
    """Check traces against the state graph of any specification.

    A line of a trace is a step, or a part of the state after it, or both:
    {"action": "Fill", "vars": {"big": 5}}.

    Exit code 0: each trace is a behaviour. 1: one is not. 2: one cannot be read. 3: the graph lacks
    states or steps that could explain a line.
    """
    from canvass.conformance.findings import EXIT_CODES, WORST_FIRST
    from canvass.graph.open import open_view
    from canvass.replay.lines import traces_in
    from canvass.replay.report import replay_all
    from canvass.replay.walk import Walker

    files = traces_in(traces)
    walker = Walker(open_view(graph), hidden=hidden, anywhere=initial is Initial.ANY)
    with Stages() as progress:
        progress.stage(f"replaying {counted(len(files), 'trace')}")
        found = replay_all(walker, files, covering=coverage)

    emit(output, found, "replay")
    verdicts = {one.verdict for one in found.replays}
    raise typer.Exit(EXIT_CODES[next(one for one in WORST_FIRST if one in verdicts)])

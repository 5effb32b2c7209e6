"""``canvass graph``: make state graphs with TLC, and ask what is in them.

Only the commands and what they print are here; the work is in `canvass.graph`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.output import CommandError, Format, result_console, write_json

if TYPE_CHECKING:
    from canvass.cluster.member import Member
    from canvass.graph.artifact import Graph

Folder = Annotated[Path, typer.Argument(metavar="GRAPH", help="Folder of a state graph.")]
Output = Annotated[Format, typer.Option("--format", help="How to write the result.")]


def register(app: typer.Typer) -> None:
    """Add the command group to the application."""
    group = typer.Typer(help="Make state graphs and ask what is in them.", no_args_is_help=True)
    group.command("build")(build)
    group.command("stats")(stats)
    group.command("find")(find)
    group.command("path")(path)
    app.add_typer(group, name="graph")


def build(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Such as MCMemberGraph3.")],
    out: Annotated[Path, typer.Option("--out", help="The folder to make.")],
    steps: Annotated[
        int | None,
        typer.Option(min=-1, help="How far from the model's roots; -1: as far as the bounds go."),
    ] = None,
    heap: Annotated[str, typer.Option(help="Limit of Java's heap, such as 3g.")] = "3g",
    output: Output = Format.HUMAN,
) -> None:
    """Let TLC make the state graph of a model.

    The graph is the same on every machine. A graph that is in the folder is replaced.
    """
    from canvass.cli.check import heap_mib
    from canvass.cli.progress import CheckProgress
    from canvass.graph.build import build_graph, load_model
    from canvass.tlc import TlcOptions

    chosen = load_model(model)
    if steps is not None:
        chosen = chosen.with_steps(steps)
    with CheckProgress(1, 1, model) as progress:
        graph = build_graph(
            chosen, out, options=TlcOptions(heap_mib=heap_mib(heap)), on_event=progress.on_event
        )
    _print_stats(graph, output)


def stats(graph: Folder, output: Output = Format.HUMAN) -> None:
    """Say where a graph comes from and how large it is; its files are verified."""
    from canvass.graph.artifact import open_graph

    _print_stats(open_graph(graph), output)


def find(
    graph: Folder,
    state: Annotated[str, typer.Argument(metavar="STATE", help="The beginning of a state's id.")],
    output: Output = Format.HUMAN,
) -> None:
    """Show a state, and how many steps of each action leave it."""
    from collections import Counter

    from canvass.graph.artifact import open_graph
    from canvass.traces.actions import ACTIONS
    from canvass.traces.layout import NONE

    opened = open_graph(graph)
    row = _row_of(opened, state)
    leaving = Counter(
        ACTIONS[int(opened.input_action[opened.input[edge]])].value
        for edge in opened.edges_of(row)
        if opened.target[edge] != NONE
    )
    fields = _fields(opened.member(row))
    if output is Format.JSON:
        write_json(
            {"id": opened.id_of(row), "state": fields, "edges": dict(sorted(leaving.items()))}
        )
        return
    console = result_console()
    console.print(f"{opened.id_of(row)}{'' if opened.expanded[row] else '  not expanded'}")
    for name, value in fields.items():
        console.print(f"  {name:<34} {value}")
    for action, count in sorted(leaving.items()):
        console.print(f"  {count:>6} {action}")


def path(
    graph: Folder,
    source: Annotated[str, typer.Argument(metavar="FROM", help="The beginning of a state's id.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The beginning of a state's id.")],
    output: Output = Format.HUMAN,
) -> None:
    """Show a shortest path from one state to another."""
    from canvass.graph.artifact import open_graph
    from canvass.graph.query import shortest_path

    opened = open_graph(graph)
    hops = shortest_path(opened, _row_of(opened, source), _row_of(opened, target))
    if output is Format.JSON:
        write_json(
            [{"action": hop.action.value, "state": opened.id_of(hop.target)} for hop in hops]
        )
        return
    console = result_console()
    for hop in hops:
        console.print(f"{hop.action.value:<32} {opened.id_of(hop.target)}")


def _row_of(graph: Graph, state: str) -> int:
    row = graph.find(state)
    if row is None:
        raise CommandError(f"no state has an id that begins with {state}")
    return row


def _fields(member: Member) -> dict[str, object]:
    from dataclasses import asdict, fields

    values = asdict(member)
    return {
        field.name: getattr(values[field.name], "value", values[field.name])
        for field in fields(member)
    }


def _print_stats(graph: Graph, output: Format) -> None:
    import numpy as np

    from canvass.cluster.member import ElectionState
    from canvass.traces.layout import STATE_INDEX

    manifest = graph.manifest
    codes = graph.state[graph.expanded, STATE_INDEX["election_state"]]
    found = np.bincount(codes, minlength=len(ElectionState)).tolist()
    expanded = {state.value: found[code] for code, state in enumerate(ElectionState)}
    if output is Format.JSON:
        write_json({"manifest": manifest, "expandedByElectionState": expanded})
        return
    console, counts = result_console(), manifest.counts
    hardening = f", hardened against {', '.join(manifest.rules.hardening)}" * bool(
        manifest.rules.hardening
    )
    console.print(
        f"{manifest.model}: {manifest.rules.member_count} members,"
        f" revision {manifest.rules.revision}{hardening}; TLC {manifest.tlc_version}"
    )
    console.print(
        f"{counts.states:,} states, {counts.expanded:,} of them expanded"
        f" ({'all that there are' if manifest.complete else 'those near the roots'});"
        f" {counts.tried:,} inputs tried"
    )
    console.print(
        f"{counts.edges:,} edges with {counts.canonical:,} canonical forms;"
        f" {counts.inputs:,} inputs, {counts.sends:,} lists of sends"
    )
    for title, numbers in (("expanded", expanded), ("edges", counts.actions)):
        for name, count in numbers.items():
            if count:
                console.print(f"  {title:<9} {name:<32} {count:>10,}")

"""``canvass graph``: make state graphs with TLC, and query them.

This module has the commands that make graphs and show their size. Queries and exports are in
`graph_query`, coverage by runs in `graph_coverage`. The work is in `canvass.graph`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from canvass.cli import graph_query
from canvass.cli.graph_coverage import coverage
from canvass.cli.graph_query import Answer, Folder
from canvass.cli.options import Output
from canvass.cli.output import CommandError, Format, emit

if TYPE_CHECKING:
    from canvass.graph.artifact import Manifest
    from canvass.graph.dump_folder import DumpManifest
    from canvass.graph.view import StateGraph
    from canvass.tlc.config import TlcConfig


_READ: Final = "read {:,} states and {:,} edges"


class GraphStats(Answer, frozen=True, omit_defaults=True):
    """The output of ``canvass graph stats --format json``."""

    manifest: Manifest | DumpManifest
    expanded_by_election_state: dict[str, int] | None = None


def register(app: typer.Typer) -> None:
    """Add the command group to the application."""
    group = typer.Typer(help="Build and query state graphs.", no_args_is_help=True)
    group.command("build")(build)
    group.command("stats")(stats)
    graph_query.add(group)
    group.command("coverage")(coverage)
    app.add_typer(group, name="graph")


def build(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model, such as MCElection (see canvass check --list), a file Spec.tla, or a"
            " file that TLC's -dump dot,actionlabels wrote.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The folder to make.")],
    config: Annotated[
        Path | None, typer.Option(help="Configuration of Spec.tla. Default: Spec.cfg beside it.")
    ] = None,
    complete: Annotated[
        bool,
        typer.Option(
            "--complete", help="Of a dump: TLC finished, without CONSTRAINT, SYMMETRY or VIEW."
        ),
    ] = False,
    heap: Annotated[str, typer.Option(help="Java heap size, such as 3g.")] = "3g",
) -> None:
    """Build a state graph with TLC, or from a dump of TLC, in a new folder.

    The graph is the same on every machine. If TLC finds a violation, the output says which, the
    graph has the states up to there, and the exit code is 0. A dump does not say whether TLC
    finished, so `canvass replay` accuses no trace on its graph without --complete.
    """
    from canvass.cli.options import heap_mib
    from canvass.cli.output import CheckProgress
    from canvass.graph.build import build_graph, load_model, models
    from canvass.graph.dump_import import import_dump
    from canvass.graph.open import open_view
    from canvass.tlc.workspace import TlcOptions

    file = Path(model)
    if config is not None and file.suffix != ".tla":
        raise CommandError("--config is for a file Spec.tla")
    if complete and not file.is_file():
        raise CommandError("--complete is for a dump of TLC")
    options = TlcOptions(heap_mib=heap_mib(heap), stack_mib=64)
    if model in models():
        with CheckProgress(1, 1, model) as progress:
            chosen = load_model(model)
            build_graph(chosen, out, options=options, on_event=progress.on_event)
    elif file.is_file() and file.suffix != ".tla":
        whole, read = True if complete else None, graph_query.progress(_READ)
        import_dump(file, out, complete=whole, on_progress=read)
    else:
        _build_dump(model, config, out, options)
    _show(open_view(out))


def _build_dump(model: str, config: Path | None, out: Path, options: Any) -> None:
    """Build the graph of a model of the manifest, or of a file ``Spec.tla``."""
    from dataclasses import replace

    from canvass.cli.output import CheckProgress
    from canvass.graph.dump_import import build_dump
    from canvass.tlc.workspace import read_config

    module = Path(model)
    if module.suffix == ".tla":
        if not module.is_file():
            raise CommandError(f"{module}: there is no such file")
        settings = read_config(config or module.with_suffix(".cfg"))
        name = module.stem
    else:
        module, settings, options = _of_manifest(model, options)
        name = model
    with CheckProgress(1, 1, name) as progress:
        build_dump(
            module,
            settings,
            out,
            model=name,
            options=replace(options, workers=1),
            on_event=progress.on_event,
            on_progress=graph_query.progress(_READ),
        )


def _of_manifest(model: str, options: Any) -> tuple[Path, TlcConfig, Any]:
    from dataclasses import replace

    from canvass.models.model_run import config_of, select
    from canvass.spec.files import find_file, module_folders, spec_root
    from canvass.spec.manifest import Mode, load_manifest

    root = spec_root()
    entry = select(load_manifest(), [model], frozenset())[0]
    if entry.mode is not Mode.CHECK:
        raise CommandError(f"{model} is simulated, not searched: it has no state graph")
    options = replace(options, check_deadlock=False, library=module_folders())
    return find_file(f"{entry.module}.tla"), config_of(root, entry), options


def stats(graph: Folder, output: Output = Format.HUMAN) -> None:
    """Show the origin and the size of a graph, and verify its files."""
    from canvass.graph.open import open_view

    _show(open_view(graph), output)


def _show(view: StateGraph, output: Format = Format.HUMAN) -> None:
    """Print the origin and the size of a graph."""
    import numpy as np

    from canvass.cluster.member import ElectionState
    from canvass.graph.artifact import MemberView
    from canvass.graph.dump_folder import DumpView
    from canvass.traces.layout import STATE_INDEX

    if isinstance(view, MemberView):
        graph = view.graph
        codes = graph.state[graph.expanded, STATE_INDEX["election_state"]]
        found = np.bincount(codes, minlength=len(ElectionState)).tolist()
        expanded = {state.value: found[code] for code, state in enumerate(ElectionState)}
        emit(output, GraphStats(graph.manifest, expanded), "graph_stats")
    elif isinstance(view, DumpView):
        emit(output, GraphStats(view.manifest), "graph_stats_dump")

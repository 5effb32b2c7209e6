"""``canvass graph`` and ``canvass replay``: make state graphs with TLC, query them, replay traces.

The queries are find, path and export. Of a member's graph, ``canvass graph coverage`` shows which
steps some runs take, by action: edges with the same canonical form count as one step.
`canvass.conformance` reads the runs and computes the forms of their steps. ``canvass replay``
checks traces of any system against the state graph of its specification. This module has the
command lines and answers; the work is in `canvass.graph` and `canvass.replay`.

Exit code 1 of a query: there is no such state or path.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from canvass.cli.options import Output, existing, heap_mib
from canvass.cli.output import (
    EXIT_UNEXPECTED,
    CheckProgress,
    CommandError,
    Format,
    Stages,
    complain,
    emit,
    result_console,
    write_file,
)
from canvass.cluster.messages import Record
from canvass.traces.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from canvass.graph.artifact import Graph, Manifest
    from canvass.graph.dump_graph import DumpManifest
    from canvass.graph.view import EdgeView, Side, StateGraph, Tree
    from canvass.tlc.config import TlcConfig


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


def register(app: typer.Typer) -> None:
    """Add the command group, and the command that replays traces."""
    group = typer.Typer(help="Build and query state graphs.", no_args_is_help=True)
    group.command("build")(build)
    group.command("stats")(stats)
    group.command("find")(find)
    group.command("path")(path)
    group.command("export")(export)
    group.command("coverage")(coverage)
    app.add_typer(group, name="graph")
    app.command("replay")(replay)


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
    from canvass.graph.build import build_graph, load_model, models
    from canvass.graph.dump_graph import import_dump
    from canvass.graph.open import open_view
    from canvass.tlc.runner import TlcOptions

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
        with Stages() as stages:
            stages.stage(f"reading {file}")
            read = stages.numbers("{:,} states and {:,} edges")
            import_dump(file, out, complete=True if complete else None, on_progress=read)
    else:
        _build_dump(model, config, out, options)
    _show(open_view(out))


def _build_dump(model: str, config: Path | None, out: Path, options: Any) -> None:
    """Build the graph of a model of the manifest, or of a file ``Spec.tla``."""
    from canvass.graph.dump_graph import build_dump
    from canvass.tlc.config import read_config

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
            on_progress=progress.numbers("read {:,} states and {:,} edges"),
        )


def _of_manifest(model: str, options: Any) -> tuple[Path, TlcConfig, Any]:
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
    from canvass.graph.artifact import MemberView
    from canvass.graph.dump_graph import DumpView

    if isinstance(view, MemberView):
        emit(output, GraphStats(view.graph.manifest), "graph_stats")
    elif isinstance(view, DumpView):
        emit(output, GraphStats(view.manifest), "graph_stats_dump")


class GraphStats(Record, frozen=True):
    """The output of ``canvass graph stats --format json``."""

    manifest: Manifest | DumpManifest


class NearState(Record, frozen=True):
    """A neighbour of a state, and the number of steps of one action that lead to or from it."""

    action: str
    state: str
    count: int


class StateAnswer(Record, frozen=True):
    """A state, and the steps that leave it and lead to it."""

    id: str
    initial: bool
    expanded: bool
    state: Tree
    leaving: list[NearState]
    entering: list[NearState]


class StateFound(Record, frozen=True, omit_defaults=True):
    """A state where a condition holds, with the value of ``--show``."""

    id: str
    value: str | None = None


class StatesFound(Record, frozen=True):
    """The states where a condition holds."""

    count: int
    of: int
    shown: list[StateFound]


class PathStep(Record, frozen=True):
    """A step of a path: the action, the state that it leads to, the number of the edge."""

    action: str
    state: str
    edge: int


class ExportFormat(str, Enum):
    """Formats of other tools."""

    DOT = "dot"
    PARQUET = "parquet"


def _row_of(graph: StateGraph, state: str) -> int:
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


def _rows_where(graph: StateGraph, where: str) -> list[int]:
    """Give the states in which a condition holds.

    Raises
    ------
    PredicateError
        If the text is no condition of this graph.
    """
    from canvass.graph.predicate import parse

    predicate = parse(where)
    with Stages() as stages:
        stages.stage("evaluating the condition")
        report = stages.numbers("{:,} of {:,} distinct values")
        rows: list[int] = predicate.rows(graph, report).tolist()
    if not rows:
        for line in predicate.unknown_names(graph):
            complain(line)
    return rows


def _note_of(graph: StateGraph, row: int) -> str:
    """Describe a state in a few words: a member's election state and role."""
    marks = "" if graph.expanded[row] else "  not expanded"
    if graph.kind == "member":
        tree = graph.tree(row)
        marks = f"  {tree['electionState']} {tree['role']}{marks}"
    return marks


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Give the fields of a state as lines of text, short parts on one line."""
    from canvass.lanes.drawing import part_path

    for name, value in tree.items():
        place, text = part_path(path, name), msgspec.json.encode(value).decode()
        if isinstance(value, dict | list) and len(text) > 100:
            parts = value if isinstance(value, dict) else dict(enumerate(value, 1))
            yield from _leaves({str(key): part for key, part in parts.items()}, place)
        else:
            yield place, value if isinstance(value, str) else text


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
    if show is not None and where is None:
        raise CommandError("--show is for --where; for a STATE, all values are printed")
    opened = open_view(graph)
    if state is not None:
        one = _state(opened, _row_of(opened, state))
        emit(output, one, "graph_state", leaves=list(_leaves(one.state)), most=SHOWN)
        return
    assert where is not None
    rows = _rows_where(opened, where)
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
    from canvass.graph.queries import values_at

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
    from canvass.graph.queries import NoPath, shortest_path

    if where is None and not target:
        source, target = "", source
    if bool(target) == (where is not None):
        raise CommandError("name the state TO, or a condition with --where, and not both")
    opened = open_view(graph)
    sources = [_row_of(opened, source)] if source else opened.initial.tolist()
    targets = [_row_of(opened, target)] if where is None else _rows_where(opened, where)
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


def _changes(graph: StateGraph, hop: EdgeView) -> tuple[str, list[str]]:
    """Describe the state after a step in a few words, and give what the step has changed."""
    from canvass.tlc.counterexample import state_changes

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
    from canvass.graph.export import to_dot, write_parquet
    from canvass.graph.open import open_view

    opened = open_view(graph)
    if form is ExportFormat.PARQUET:
        if out is None:
            raise CommandError("--format parquet makes a folder: name a new one with --out")
        if where is not None:
            raise CommandError("--format parquet holds the whole graph; choose in a query instead")
        write_parquet(opened, out)
        return
    rows = list(range(opened.state_count)) if where is None else _rows_where(opened, where)
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
    write_file(out, text)


class ActionSteps(Record, frozen=True):
    """The steps of one action."""

    action: str
    steps: int
    """Distinct canonical steps of the graph with this action."""
    covered: int
    """How many of them the runs take."""


class GraphCoverage(Record, frozen=True):
    """How much of a graph the runs cover."""

    graph: str
    """The folder of the graph."""
    model: str
    revision: str
    member_count: int
    steps: int
    covered: int
    actions: list[ActionSteps]


class MissedStep(Record, frozen=True):
    """A step of a graph that no run takes."""

    edge: int
    source: str
    action: str
    target: str
    input: Tree


class CoverageReport(Record, frozen=True):
    """The output of ``canvass graph coverage --format json``."""

    coverage: GraphCoverage
    runs: int
    malformed: int
    events: int
    missed: list[MissedStep]


def coverage(
    graph: Folder,
    corpora: Annotated[
        list[Path], typer.Argument(metavar="CORPUS", help="Runs, folders of runs, data sets.")
    ],
    output: Output = Format.HUMAN,
) -> None:
    """Show which steps of a member's graph some runs take, and which they never take."""
    import numpy as np

    from canvass.conformance.findings import Verdict
    from canvass.conformance.verify import read_and_check, units_of
    from canvass.graph.artifact import MemberView, open_keys
    from canvass.graph.open import open_view
    from canvass.steps.answers import Answers

    opened = open_view(graph)
    if not isinstance(opened, MemberView):
        raise CommandError(f"{graph}: steps of runs are found in graphs of a member only")
    table = open_keys(graph)
    findings = read_and_check(units_of(corpora), Answers((table,)))
    verdicts = [found.verdict for found in findings.runs]
    malformed = sum(verdict.verdict is Verdict.MALFORMED for verdict in verdicts)
    events = sum(verdict.events for verdict in verdicts)
    if not events:
        runs = counted(len(verdicts), "run")
        raise CommandError(f"there is no event in {runs}, {malformed:,} malformed")
    edges = np.array(table.edges)
    found = np.intersect1d(edges, table.lookup(findings.keys))
    missed = map(opened.edge, np.setdiff1d(edges, found)[:SHOWN].tolist())
    report = CoverageReport(
        coverage=_counted(graph, opened.graph, edges, found),
        runs=len(verdicts),
        malformed=malformed,
        events=events,
        missed=[
            MissedStep(
                edge=one.edge,
                source=opened.id_of(one.source),
                action=one.action,
                target=opened.id_of(one.target),
                input=one.given,
            )
            for one in missed
        ],
    )
    if not len(found):
        complain(
            "no step of the runs is in the graph: are members, revision and hardenings the same?"
        )
    if malformed:
        complain(f"{malformed} runs are malformed; canvass verify says why")
    emit(output, report, "graph_coverage")


def _counted(folder: Path, graph: Graph, edges: Any, found: Any) -> GraphCoverage:
    """Count all steps of a graph, and the covered ones, by action."""
    import numpy as np

    from canvass.traces.schema import ACTION_NAMES

    actions, rules = np.array(graph.input_action[graph.input]), graph.manifest.rules
    steps, covered = (np.bincount(actions[e], minlength=len(ACTION_NAMES)) for e in (edges, found))
    return GraphCoverage(
        graph=str(folder),
        model=graph.manifest.model,
        revision=rules.revision,
        member_count=rules.member_count,
        steps=len(edges),
        covered=len(found),
        actions=[
            ActionSteps(name, int(steps[code]), int(covered[code]))
            for code, name in enumerate(ACTION_NAMES)
            if steps[code]
        ],
    )


class Initial(str, Enum):
    """States in which a trace may begin."""

    INIT = "init"
    ANY = "any"


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
    from canvass.replay.walk import Walker, replay_all

    files = traces_in(traces)
    anywhere = initial is Initial.ANY
    walker = Walker(open_view(graph), hidden=hidden, anywhere=anywhere, covering=coverage)
    with Stages() as progress:
        progress.stage(f"replaying {counted(len(files), 'trace')}")
        found = replay_all(walker, files)

    emit(output, found, "replay")
    verdicts = {one.verdict for one in found.replays}
    raise typer.Exit(EXIT_CODES[next(one for one in WORST_FIRST if one in verdicts)])

"""``canvass graph coverage``: which steps of a member's graph some runs take, by action.

Edges with the same canonical form count as one step of the graph. `canvass.conformance` reads the
runs and computes the canonical forms of their steps.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from canvass.cli.graph_query import SHOWN, Answer, Folder
from canvass.cli.options import Output
from canvass.cli.output import CommandError, Format, complain, emit
from canvass.traces.counts import counted

if TYPE_CHECKING:
    from canvass.graph.artifact import Graph
    from canvass.graph.view import Tree


class ActionSteps(Answer, frozen=True):
    """The steps of one action."""

    action: str
    steps: int
    """Distinct canonical steps of the graph with this action."""
    covered: int
    """How many of them the runs take."""


class GraphCoverage(Answer, frozen=True):
    """How much of a graph the runs cover."""

    graph: str
    """The folder of the graph."""
    model: str
    revision: str
    member_count: int
    steps: int
    covered: int
    actions: list[ActionSteps]


class MissedStep(Answer, frozen=True):
    """A step of a graph that no run takes."""

    edge: int
    source: str
    action: str
    target: str
    input: Tree


class CoverageReport(Answer, frozen=True):
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
    from canvass.graph.artifact import MemberView, open_graph, open_keys
    from canvass.graph.open import open_view
    from canvass.steps.answers import Answers

    opened = open_view(graph)
    if not isinstance(opened, MemberView):
        raise CommandError(f"{graph}: steps of runs are found in graphs of a member only")
    table, arrays = open_keys(graph), open_graph(graph)
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
        coverage=_counted(graph, arrays, edges, found),
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

    from canvass.traces.layout import ACTION_NAMES

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

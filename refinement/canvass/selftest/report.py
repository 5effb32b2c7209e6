"""What ``canvass selftest`` reports, in the form in which it is published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from canvass.cluster.names import wire_name
from canvass.selftest.corruptions import CORRUPTIONS
from canvass.selftest.kill_matrix import Control, MutantResult
from canvass.selftest.runs import RunsResult

SCHEMA: Final = "canvass.selftest/1"


class Record(Struct, frozen=True, rename=wire_name):
    """A part of the report."""


class GraphReport(Record, frozen=True):
    """The core itself on one graph."""

    model: str
    tried: int
    edges: int
    mismatches: int


class MutantReport(Record, frozen=True):
    """What gave one mutant of the core away."""

    name: str
    module: str
    revision: str
    killed: bool
    graph: str = ""
    action: str = ""
    operator: str = ""
    """Where the spec defines the action."""
    difference: str = ""
    tried: int = 0


class CorruptionReport(Record, frozen=True):
    """What became of the runs that were corrupted in one way."""

    name: str
    description: str
    rejected: int
    """With the right class of verdict."""
    wrong: int
    legal: int
    """Drawn, and not counted: what came out may be a behaviour."""


class WrongReport(Record, frozen=True):
    """A run of which the checker did not say what it should."""

    run_id: str
    kind: str
    verdict: str
    expected: str


class SelftestReport(Record, frozen=True):
    """The whole."""

    schema: str
    ok: bool
    seconds: float
    graphs: tuple[GraphReport, ...]
    mutants: tuple[MutantReport, ...]
    mutants_alive: int
    good_runs: int
    """Good runs that conform."""
    good_runs_rejected: int
    corrupted_runs: int
    """Corrupted runs that were rejected as they should be."""
    corrupted_runs_wrong: int
    corruptions: tuple[CorruptionReport, ...]
    wrong: tuple[WrongReport, ...]
    events: int
    asked_of_oracle: int
    oracle_disagreements: int


def make_report(
    controls: Sequence[Control],
    mutants: Sequence[MutantResult],
    runs: RunsResult,
    seconds: float,
) -> SelftestReport:
    """Put the results together."""
    good_wrong = [each for each in runs.wrong if each.kind == "good"]
    corrupted_wrong = len(runs.wrong) - len(good_wrong)
    alive = sum(result.kill is None for result in mutants)
    mismatches = sum(control.wrong is not None for control in controls)
    unused = {each.__name__ for each in CORRUPTIONS} - set(runs.corrupted)
    return SelftestReport(
        schema=SCHEMA,
        ok=not (alive or mismatches or runs.wrong or runs.disagreements or unused),
        seconds=round(seconds, 1),
        graphs=tuple(
            GraphReport(each.graph, each.tried, each.edges, int(each.wrong is not None))
            for each in controls
        ),
        mutants=tuple(_mutant(result) for result in mutants),
        mutants_alive=alive,
        good_runs=runs.good,
        good_runs_rejected=len(good_wrong),
        corrupted_runs=runs.corrupted.total(),
        corrupted_runs_wrong=corrupted_wrong,
        corruptions=tuple(
            CorruptionReport(
                name=corruption.__name__,
                description=(corruption.__doc__ or "").split(".")[0],
                rejected=runs.corrupted[corruption.__name__],
                wrong=sum(each.kind == corruption.__name__ for each in runs.wrong),
                legal=runs.legal[corruption.__name__],
            )
            for corruption in CORRUPTIONS
        ),
        wrong=tuple(WrongReport(w.run_id, w.kind, w.verdict, w.expected) for w in runs.wrong),
        events=runs.events,
        asked_of_oracle=runs.asked,
        oracle_disagreements=runs.disagreements,
    )


def _mutant(result: MutantResult) -> MutantReport:
    mutant, kill = result.mutant, result.kill
    if kill is None:
        return MutantReport(
            mutant.name, mutant.module, mutant.revision, killed=False, tried=result.tried
        )
    return MutantReport(
        name=mutant.name,
        module=mutant.module,
        revision=mutant.revision,
        killed=True,
        graph=kill.graph,
        action=kill.action.value,
        operator=kill.operator.partition(", ")[2],
        difference=kill.difference,
        tried=result.tried,
    )

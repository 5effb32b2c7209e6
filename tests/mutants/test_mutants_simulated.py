"""Mutants of the core in simulated clusters: caught by verification, or by the simulation.

A page has a row with the result of each mutant. The night tests search again for every row. A push
runs the seed of a row for some. With ``--rewrite`` a test writes its row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from canvass.cluster import core
from canvass.conformance.verdict import DivergenceClass
from canvass.conformance.verify import check_units
from canvass.selftest.runs import CoreThenOracle, record_run
from canvass.steps.answers import StepLookup
from canvass.traces.counts import counted
from support.core_clusters import (
    CORE_CLUSTERS,
    STEPS,
    EndingCluster,
    core_cluster_rules,
    simulate_core_cluster,
)
from support.mutant_search import search_options
from support.mutants import EQUAL, MASKED, MUTANTS
from support.simulated_mutants import SimulatedKill, simulate_mutant, wrong_with

PAGE: Final = Path(__file__).parents[2] / "docs" / "theory" / "mutants-in-simulation.md"
GUIDE: Final = PAGE.parents[1] / "guide" / "simulate.md"
SEEDS: Final = 100
SEEDS_OF_EQUALS: Final = 4
"""Number of seeds for mutants that no run of whole members shows: one for each kind of run."""
QUICK: Final = (
    "nominee_is_silent",
    "quorum_of_half",
    "replication_ends_without_a_commit",
    "short_copy_is_taken_for_whole",
    "vote_without_persisting",
    *(name for name, mutant in MUTANTS.items() if mutant.shows_in == "effects"),
)
ROW: Final = re.compile(r"^\| `(\w+)` \| (\w+) \| (\d+) \| (.*) \|$", re.MULTILINE)

TEXT: Final = """\
# Mutants of the core in simulated clusters

Whole members run in simulated clusters with faults. One rule of their core and duty cycle is broken (`tests/support/mutant_search.py`). Each
step of a run is compared with the core's. When a step differs, the run is recorded and verified. A mutant is caught if the spec does not allow
a recorded step, or if the simulation finds a violated property, an error or a stuck cluster that the core does not have with the same seed (of
the hardened protocol, or one that no revision has). Some mutants differ in one situation only. They are searched for with a profile of `canvass
simulate --profile` that makes the situation likely (`SITUATIONS` there, [simulate](../guide/simulate.md)).

Each mutant has one of these results:

* `caught`, in clusters of whole members: {caught} of {count}, {quick} of them within 10 seeds, the last one by seed {last}.
* `cores`, caught in clusters of cores alone: {cores}, the last one by seed {last_core}. In whole members the module or the duty cycle never makes the
  step that the mutant allows, or all hardenings together exclude it. `tests/support/core_clusters.py` drives cores without these, with all
  steps of `Cluster.tla`, and verifies the recorded runs. The seeds are counted in such runs.
* `equivalent`, because no behaviour shows it: {equal}. The table names the lemma of `Properties.tla` that is the reason. TLC checks the invariants in
  the models that claim them ([the lemmas](models.md#the-lemmas)), within their bounds. All edges of the member's graphs show that
  the mutant equals the core where its invariant holds. No step of an equivalent mutant differs in the runs of
  `tests/mutants/test_equal_mutants.py`.

{rare} left that only rarer runs could show. The state graphs kill all but two; no state that a member can reach shows these two
(`tests/mutants/test_mutants_on_edges.py`).

    pytest -m night tests/mutants/test_mutants_simulated.py       # with --rewrite it writes this page

| mutant | in simulation | seeds tried | by what, or why not |
|---|---|---|---|
{rows}
"""  # noqa: E501  (lines of a page)


def rows_of(text: str) -> dict[str, tuple[str, int, str]]:
    """Read the rows of a page by mutant: verdict, seeds tried, reason."""
    return {name: (by, int(seeds), line) for name, by, seeds, line in ROW.findall(text)}


def page_of(rows: dict[str, tuple[str, int, str]]) -> str:
    caught = [seeds for by, seeds, _ in rows.values() if by == "caught"]
    cores = [seeds for by, seeds, _ in rows.values() if by == "cores"]
    rare = sum(by == "rare" for by, _, _ in rows.values())
    table = [
        f"| `{name}` | {by} | {seeds} | {line} |"
        for name, (by, seeds, line) in sorted(rows.items())
    ]
    return TEXT.format(
        count=len(rows),
        caught=len(caught),
        quick=sum(seeds <= 10 for seeds in caught),
        last=max(caught, default=0),
        cores=len(cores),
        last_core=max(cores, default=0),
        equal=sum(by == "equivalent" for by, _, _ in rows.values()),
        rare=counted(rare, "mutant is", "mutants are") if rare else "No mutant is",
        rows="\n".join(table),
    )


def row_of(kill: SimulatedKill) -> tuple[str, int, str]:
    name = kill.mutant.name
    match kill.by:
        case "verification" if name in MASKED:
            return "cores", kill.seeds, f"`{kill.reason}`; {MASKED[name]}"
        case "verification":
            return "caught", kill.seeds, f"`{kill.reason}`"
        case "simulation":
            return "caught", kill.seeds, f"the simulation: {kill.reason}"
        case _:
            if name in EQUAL:
                return "equivalent", kill.seeds, f"`{EQUAL[name].lemma}`: {EQUAL[name].equal}"
            return "rare", kill.seeds, "?"


def found_with(name: str, seeds: Sequence[int], folder: Path) -> SimulatedKill:
    """Search for a run that shows a mutant."""
    lookup = StepLookup(oracle=CoreThenOracle().ask)
    simulate = simulate_core_cluster if name in MASKED else simulate_mutant
    return simulate(MUTANTS[name], seeds, folder, lookup)


def test_the_core_has_no_finding_of_a_mutant() -> None:
    assert wrong_with(search_options(MUTANTS["term_is_opened_late"], 1), core.step) == ""


@pytest.mark.parametrize("name", QUICK)
def test_the_seed_of_the_page_catches_some_mutants(name: str, tmp_path: Path) -> None:
    row = rows_of(PAGE.read_text(encoding="utf-8"))[name]
    kill = found_with(name, [row[1] - 1], tmp_path)

    assert row_of(replace(kill, seeds=row[1])) == row


@pytest.mark.night
@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_every_mutant_is_caught_or_the_page_says_why_not(
    name: str, tmp_path: Path, rewrite: bool
) -> None:
    row = row_of(found_with(name, range(SEEDS_OF_EQUALS if name in EQUAL else SEEDS), tmp_path))
    if rewrite:
        rows = rows_of(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
        PAGE.write_text(page_of({**rows, name: row}), encoding="utf-8")

    assert rows_of(PAGE.read_text(encoding="utf-8"))[name] == row


def test_the_page_has_every_mutant_and_a_reason_for_each_that_is_not_caught() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = rows_of(text)

    assert text == page_of(rows)
    assert set(rows) == set(MUTANTS)
    assert {name for name, row in rows.items() if row[0] == "equivalent"} == set(EQUAL)
    assert (
        {name for name, row in rows.items() if row[0] == "cores"}
        == set(MASKED)
        == set(CORE_CLUSTERS)
    )
    assert "rare" not in {row[0] for row in rows.values()}
    last = {by: max(row[1] for row in rows.values() if row[0] == by) for by in ("caught", "cores")}
    guide = " ".join(GUIDE.read_text(encoding="utf-8").split())
    assert f"and all by seed {last['caught']}," in guide
    assert f"cores alone catch them by seed {last['cores']} " in guide
    assert not EQUAL.keys() & MASKED.keys()


@pytest.mark.parametrize("name", sorted(MASKED))
def test_runs_of_unbroken_cores_alone_conform(name: str, tmp_path: Path) -> None:
    rules = core_cluster_rules(MUTANTS[name])
    paths = [tmp_path / f"{name.replace('_', '-')}-{seed}" for seed in range(4)]
    for seed, path in enumerate(paths):
        record_run(path, rules, seed, STEPS, faults=0.1, run_id=path.name, cluster=EndingCluster)

    runs = check_units(paths, StepLookup(oracle=CoreThenOracle().ask)).runs
    reported = [one for run in runs for one in run.divergences]
    # Protocols with hazards violate properties by steps that the spec allows.
    assert [one for one in reported if one.kind is not DivergenceClass.SAFETY_PROPERTY] == []

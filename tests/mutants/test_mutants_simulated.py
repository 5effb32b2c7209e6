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
from canvass.conformance.findings import DivergenceClass
from canvass.conformance.verify import check_units
from canvass.selftest.runs import CoreThenOracle, record_run
from canvass.steps.answers import StepLookup
from canvass.traces.errors import counted
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

TEXT: Final = Path(__file__).with_name("mutants_in_simulation.txt").read_text("utf-8")
"""The page, with places for its figures and rows."""


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
    assert all(bool(one.lemma) == bool(one.equal) for one in MUTANTS.values())
    assert all(rows[name][2] == f"`{one.lemma}`: {one.equal}" for name, one in EQUAL.items())
    assert all(rows[name][2].endswith(why) for name, why in MASKED.items())


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

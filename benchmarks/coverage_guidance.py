"""Compare the coverage of simulated runs with and without guidance, at an equal number of steps.

The budget is the steps of a number of runs of three hardened members without guidance; guided runs
are done until they have taken as many. Covered are steps of the state graph of one hardened member
of three, and distinct canonical steps. Runs are guided by new steps of the graph, and then by new
distinct steps. The graph is built first, unless its folder is given as an argument. Nothing is
asserted here.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from canvass.graph.build import cache_folder, cached_graph, load_model
from canvass.selftest.simulation_series import CoverageGuidance, CoverageMeter
from canvass.simulation.options import Options, swarm

MODEL = "MCMemberGraph3Hardened"
RUNS = 100
STEPS = 800
FIRST_SEEDS = (0, 10_000, 20_000)


def series(graphs: list[Path], first_seed: int, budget: int) -> tuple[int, int, int]:
    """Do a series of runs, guided up to a number of steps if one is given.

    Returns
    -------
    tuple
        Steps of the graph if there is one, distinct steps, and steps taken.
    """
    base = Options(first_seed, steps=STEPS)
    meter, guidance = CoverageMeter(graphs, None), CoverageGuidance(base)
    taken = number = 0
    while taken < budget if budget else number < RUNS:
        options = guidance.next() if budget else swarm(replace(base, seed=first_seed + number))
        result, news = meter.run(options)
        if budget:
            guidance.reward(news, result.steps)
        taken += result.steps
        number += 1
    return sum(one.covered for one in meter.report()), meter.distinct_steps, taken


def built_in(cache: Path) -> Path:
    """Build the graph in a cache; give its folder."""
    model = load_model(MODEL).with_steps(0)
    cached_graph(model, cache)
    return cache_folder(model, cache)


def main() -> None:
    """Run all series and print their rows, each against the one without guidance."""
    with tempfile.TemporaryDirectory() as cache:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else built_in(Path(cache))
        for first_seed in FIRST_SEEDS:
            plain = series([folder], first_seed, 0)
            by_graph = series([folder], first_seed, plain[2])
            by_steps = series([], first_seed, plain[2])
            named = {"swarm": plain, "guided by the graph": by_graph, "by all steps": by_steps}
            for name, (covered, distinct, taken) in named.items():
                print(
                    f"from seed {first_seed:<7,} {name:<20} {covered:>6,} graph steps "
                    f"({covered / plain[0]:.2f}) {distinct:>7,} distinct "
                    f"({distinct / plain[1]:.2f}) {taken:>8,} taken",
                    flush=True,
                )


if __name__ == "__main__":
    main()

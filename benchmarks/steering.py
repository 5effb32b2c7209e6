"""Compare what simulated runs cover with and without steering, on equal budgets.

The budget is a number of runs of so many steps each, of three hardened members. Covered are steps
of the state graph of one hardened member of three, and distinct canonical steps. Nothing is
asserted here.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from canvass.cli.simulate_coverage import CoverageMeter
from canvass.graph.build import cache_folder, cached_graph, load_model
from canvass.simulation.options import Options, swarm
from canvass.simulation.steering import Steering

MODEL = "MCMemberGraph3Hardened"
RUNS = 100
STEPS = 800
FIRST_SEEDS = (0, 10_000, 20_000)


def series(folder: Path, first_seed: int, *, steer: bool) -> tuple[int, int, int]:
    """Do a series of runs; give steps of the graph, distinct steps, and steps taken."""
    base = Options(first_seed, steps=STEPS)
    meter, steering, taken = CoverageMeter([folder], None), Steering(base), 0
    for number in range(RUNS):
        seed = first_seed + number
        options = steering.next() if steer else swarm(replace(base, seed=seed))
        result, news = meter.run(options)
        steering.tell(options, news)
        taken += result.steps
    return meter.report()[0].covered, meter.distinct_steps, taken


def main() -> None:
    """Run all series and print their rows as they come."""
    with tempfile.TemporaryDirectory() as cache:
        model = load_model(MODEL).with_steps(0)
        cached_graph(model, Path(cache))
        folder = cache_folder(model, Path(cache))
        for first_seed in FIRST_SEEDS:
            for steer in (False, True):
                covered, distinct, taken = series(folder, first_seed, steer=steer)
                what = f"{RUNS} runs from seed {first_seed:,}, {'steered' if steer else 'swarm'}"
                print(
                    f"{what:<36} {covered:>6,} graph steps {distinct:>7,} distinct "
                    f"{taken:>8,} taken",
                    flush=True,
                )


if __name__ == "__main__":
    main()

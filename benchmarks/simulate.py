"""Measure simulated steps in a second: alone, recorded, and recorded and checked.

Each row is a rate per second of processor time of one core, over a few seeds with the faults that
they choose. Nothing is asserted, because the figures depend on the machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

from canvass.selftest.simulation_series import record_run, simulate
from canvass.simulation.options import Options, swarm
from canvass.simulation.simulator import RunResult, Simulator

SEEDS = range(20)
STEPS = 3_000

Row = tuple[str, float, str]


def measured(name: str, run: Callable[[Options], RunResult], members: int) -> Iterator[Row]:
    """Run the seeds; yield the steps per second, and virtual time divided by processor time."""
    began_s = process_time()
    results = [run(swarm(Options(seed, members, steps=STEPS))) for seed in SEEDS]
    took_s = process_time() - began_s
    what = f"{name}, {members} members"
    yield what, sum(result.steps for result in results) / took_s, "steps/s"
    yield what, sum(result.time_ns for result in results) / 1e9 / took_s, "times the clock"


def main() -> None:
    """Run all benchmarks and print their rows as they come."""
    with tempfile.TemporaryDirectory() as folder:
        runs: tuple[tuple[str, Callable[[Options], RunResult]], ...] = (
            ("simulate", lambda options: Simulator(options).run()),
            ("simulate and record", lambda options: record_run(options, Path(folder))),
            ("simulate, record and check", simulate),
        )
        for name, run in runs:
            for members in (3, 5):
                for what, number, unit in measured(name, run, members):
                    print(f"{what:<40} {number:>14,.0f} {unit}", flush=True)


if __name__ == "__main__":
    main()

"""Measure how fast event logs are imported, and whether the time per line and the memory grow.

Run with `python benchmarks/aeron_import.py [--steps N ...]`. The logs are those of a simulated
cluster of three members that takes N steps, in the format of Aeron 1.52. The script prints the
lines per second of processor time, reading and writing included; the time per line as a ratio to
that of the shortest log; and the peak memory of the process. Each length has its own process.
Neither the time per line nor the memory should grow with the length.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from canvass.traces.alignment.importer import import_logs
from support.aeron_simulated import options_of, simulate
from support.aeron_text import texts_of


def write_logs(folder: Path, steps: int) -> None:
    """Write the logs of a simulated cluster."""
    logs = simulate(options_of("calm", 1, 3, steps))
    for i, lines in texts_of(logs.lines).items():
        (folder / f"member-{i}.log").write_text("".join(f"{line}\n" for line in lines))


def measure(folder: Path) -> tuple[int, float, float]:
    """Give the number of lines, lines per second, and the most memory in MiB."""
    with tempfile.TemporaryDirectory() as run:
        begun = process_time()
        summary = import_logs([folder], Path(run) / "run")
        seconds = process_time() - begun
    assert summary.outcome == "EXPLAINED"
    count = sum(one.lines for one in summary.members)
    return count, count / seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--steps", type=int, nargs="+", default=[10_000, 30_000, 100_000, 300_000]
    )
    names = ("lines", "lines/s", "time of a line", "memory, MiB")
    sys.stdout.write("".join(f"{name:>16}" for name in names) + "\n")
    first = 0.0
    for steps in arguments.parse_args().steps:
        with (
            tempfile.TemporaryDirectory() as folder,
            multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool,
        ):
            pool.apply(write_logs, (Path(folder), steps))
            count, rate, memory = pool.apply(measure, (Path(folder),))
        first = first or rate
        sys.stdout.write(f"{count:>16,}{rate:>16,.0f}{first / rate:>16.2f}{memory:>16,.0f}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Measure how fast event logs become a run, that it takes as long per line for long logs, and that
memory does not grow with them.

Run with `python benchmarks/aeron_import.py [--seconds S ...]`. The logs are of a made-up cluster of
three members that lives for so long, written as Aeron 1.52 does; printed are lines per second of
processor time, reading and writing included, what a line takes against one of the shortest log, and
the most memory that the process has used. Each length has a process of its own.
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
from support.aeron_cluster import AeronCluster
from support.aeron_text import line_of_1_52

PIECE_SECONDS = 25
"""So much of a cluster's life is kept in memory while its logs are written."""


def write_logs(folder: Path, seconds: int) -> None:
    """Write the logs of a made-up cluster."""
    cluster = AeronCluster(1, 3, faults=False)
    for begin in range(0, seconds, PIECE_SECONDS):
        cluster.run(min(PIECE_SECONDS, seconds - begin) * 1000)
        for i, node in enumerate(cluster.nodes):
            with (folder / f"member-{i}.log").open("a") as file:
                file.writelines(f"{line_of_1_52(record)}\n" for record in node.lines)
            node.lines.clear()
            node.steps.clear()


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
    arguments.add_argument("--seconds", type=int, nargs="+", default=[35, 105, 350, 1050])
    names = ("lines", "lines/s", "time of a line", "memory, MiB")
    sys.stdout.write("".join(f"{name:>16}" for name in names) + "\n")
    first = 0.0
    for seconds in arguments.parse_args().seconds:
        with (
            tempfile.TemporaryDirectory() as folder,
            multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool,
        ):
            pool.apply(write_logs, (Path(folder), seconds))
            count, rate, memory = pool.apply(measure, (Path(folder),))
        first = first or rate
        sys.stdout.write(f"{count:>16,}{rate:>16,.0f}{first / rate:>16.2f}{memory:>16,.0f}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Measure how fast event logs become a run, and that it takes as long per line for long logs.

Run with `python benchmarks/aeron_import.py [--seconds S ...]`. The logs are of a made-up cluster of
three members that lives for so long; printed are lines per second of processor time, of the
inference alone and of inference and writing, what a line takes against one of the shortest log, and
how much memory the process has used at most beyond what it used before. Each length has a process
of its own.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import resource
import sys
import tempfile
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from canvass.traces.aeron_import.importer import write_run
from canvass.traces.aeron_import.proposing import propose
from support.aeron_cluster import AeronCluster
from support.aeron_runs import logs_of_nodes


def peak_mib() -> float:
    """The most memory that this process has used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(seconds: int) -> tuple[int, float, float, float]:
    """Give the number of lines, lines per second of inferring and of both, and memory in MiB."""
    cluster = AeronCluster(1, 3, faults=False)
    cluster.run(seconds * 1000)
    logs = logs_of_nodes({i: node.lines for i, node in enumerate(cluster.nodes)})
    count = sum(len(node.lines) for node in cluster.nodes)
    del cluster
    gc.collect()
    gc.disable()
    before = peak_mib()
    begun = process_time()
    found = propose(logs)
    inferred = process_time()
    with tempfile.TemporaryDirectory() as folder:
        write_run(found, Path(folder) / "run", "benchmark")
    written = process_time()
    gc.enable()
    assert found.failure is None
    memory = peak_mib() - before
    return count, count / (inferred - begun), count / (written - begun), memory


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=int, nargs="+", default=[35, 105, 350, 1050])
    measure(5)
    names = ("lines", "inferred, lines/s", "written too, lines/s", "time of a line", "memory, MiB")
    sys.stdout.write("".join(f"{name:>22}" for name in names) + "\n")
    first = 0.0
    for seconds in arguments.parse_args().seconds:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            count, inferred, both, memory = pool.apply(measure, (seconds,))
        first = first or both
        ratio = first / both
        sys.stdout.write(
            f"{count:>22,}{inferred:>22,.0f}{both:>22,.0f}{ratio:>22.2f}{memory:>22,.0f}\n"
        )


if __name__ == "__main__":
    main()

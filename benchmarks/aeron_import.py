"""Measure how fast event logs become a run, and that it takes as long per line for long logs.

Run with `python benchmarks/aeron_import.py [--seconds S ...]`. The logs are of a made-up cluster of
three members that lives for so long; printed are lines per second of processor time, of the
inference alone and of inference and writing.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from canvass.traces.aeron_import.importer import write_run
from canvass.traces.aeron_import.proposing import propose
from support.aeron_cluster import AeronCluster
from support.aeron_runs import logs_of_nodes


def measure(seconds: int) -> tuple[int, float, float]:
    """Give the number of lines, and lines per second of inferring, and of both."""
    cluster = AeronCluster(1, 3, faults=False)
    cluster.run(seconds * 1000)
    logs = logs_of_nodes({i: node.lines for i, node in enumerate(cluster.nodes)})
    count = sum(len(node.lines) for node in cluster.nodes)
    gc.collect()
    gc.disable()
    begun = process_time()
    found = propose(logs)
    inferred = process_time()
    with tempfile.TemporaryDirectory() as folder:
        write_run(found, Path(folder) / "run", "benchmark")
    written = process_time()
    gc.enable()
    assert found.failure is None
    return count, count / (inferred - begun), count / (written - begun)


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=int, nargs="+", default=[15, 60, 240])
    measure(5)
    sys.stdout.write(f"{'lines':>10}{'inferred, lines/s':>20}{'written too, lines/s':>22}\n")
    for seconds in arguments.parse_args().seconds:
        count, inferred, both = measure(seconds)
        sys.stdout.write(f"{count:>10,}{inferred:>20,.0f}{both:>22,.0f}\n")


if __name__ == "__main__":
    main()

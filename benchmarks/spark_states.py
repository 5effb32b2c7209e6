"""Measure ``canvass batch verify`` of a corpus with each engine, and with other canvass versions.

``python benchmarks/spark_states.py [--rounds N] [--cache FOLDER] CORPUS [PYTHON...]`` verifies the
corpus in turns with the user's commands: with ``--engine process`` and ``--engine spark`` of this
checkout, and with both engines of each ``PYTHON``, an interpreter with another version of canvass.
A first turn fills the caches and is not counted; it is left out if the folder has filled caches.
The script prints medians of the elapsed time and of the processor time, on which other load of the
machine has less influence, and the largest peaks of memory; then ratios, and the machine's load.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

from spark_verify import Peaks, Taken, largest, measured, peaks, processor_seconds, say

ENGINES = ("process", "spark")


def verify(python: str, corpus: str, engine: str, out: Path, cache: Path) -> None:
    """Run the command; its result may be any verdict."""
    words = ["batch", "verify", corpus, "--out", str(out), "--cache", str(cache)]
    words += ["--engine", engine]
    done = subprocess.run([python, "-m", "canvass.cli.main", *words], capture_output=True)
    if done.returncode not in (0, 1, 3):
        sys.exit(done.stderr.decode())


def watched(action: partial[None], found: list[Peaks]) -> Taken:
    """Run an action; while it runs, measure the peak memory and processor time of its processes.

    Afterwards is too late: the processor time of a process that Spark has ended is lost.
    """
    ended, began = threading.Event(), processor_seconds()
    spent = [began]

    def look() -> None:
        while not ended.wait(0.5):
            found.append(peaks({os.getpid(): ""}))
            spent.append(processor_seconds())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        taken = measured(action)
    finally:
        ended.set()
        thread.join()
    return taken._replace(processor=max(taken.processor, max(spent) - began))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--engines", nargs="+", default=ENGINES)
    parser.add_argument("corpus")
    parser.add_argument("pythons", nargs="*")
    given = parser.parse_args()
    pythons = [sys.executable, *given.pythons]
    taken: dict[tuple[int, str], list[Taken]] = {}
    memory: dict[tuple[int, str], list[Peaks]] = {}
    with tempfile.TemporaryDirectory(prefix="canvass-spark-states-") as name:
        root = Path(name)
        caches = given.cache or root
        for turn in range(given.rounds + 1):
            for place, python in enumerate(pythons):
                cache = caches / f"cache-{place}"
                if not turn and cache.exists():
                    continue
                for engine in given.engines if turn else ENGINES[:1]:
                    out = root / f"{turn}-{place}-{engine}"
                    action = partial(verify, python, given.corpus, engine, out, cache)
                    found: list[Peaks] = []
                    one = watched(action, found)
                    if turn:
                        taken.setdefault((place, engine), []).append(one)
                        memory.setdefault((place, engine), []).extend(found)
                    load = os.getloadavg()[0]
                    say(f"{python} {engine}: {one.seconds:.1f} s, {one.processor:.1f} s", end="")
                    say(f" of processors, load {load:.1f}")
    say(f"\nmedians of {given.rounds} rounds")
    say("\n| state, engine | time | processors | peaks in MiB |")
    say("|---|---|---|---|")
    medians = {}
    for (place, engine), all_taken in taken.items():
        clock, spent = (statistics.median(column) for column in zip(*all_taken, strict=True))
        medians[place, engine] = clock, spent
        peak = largest(memory[place, engine])
        say(f"| {pythons[place]}, {engine} | {clock:.1f} s | {spent:.1f} s | {peak} |")
    for place, python in enumerate(pythons if len(given.engines) == len(ENGINES) else ()):
        (alone, cost), (spark, more) = (medians[place, engine] for engine in ENGINES)
        say(f"{python}: Spark is {alone / spark:.2f} times as fast as one process,", end=" ")
        say(f"with {more / cost:.2f} times its processors")


if __name__ == "__main__":
    main()

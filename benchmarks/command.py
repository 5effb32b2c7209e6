"""Measure the command: how long it takes to start, and how many states TLC checks through it.

Each benchmark is a function that yields rows of what was measured, the number and its unit. Nothing
is asserted here: numbers of one machine are no pass or fail.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

CANVASS = str(Path(sys.executable).with_name("canvass"))
REPEATS = 5

Row = tuple[str, float, str]


def start_up() -> Iterator[Row]:
    """What a person waits for before a command does anything."""
    for words in (("--help",), ("check", "--list")):
        times_s = []
        for _ in range(REPEATS):
            began_s = time.perf_counter()
            subprocess.run([CANVASS, *words], check=True, stdout=subprocess.DEVNULL)
            times_s.append(time.perf_counter() - began_s)
        yield f"canvass {' '.join(words)}", statistics.median(times_s) * 1000, "ms"


def model_checking() -> Iterator[Row]:
    """How many states TLC finds in a second, start of Java included, on the models of a push."""
    command = [CANVASS, "check", "--format", "json"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for model in json.loads(done.stdout)["models"]:
        if model["generated"]:
            yield f"check {model['name']}", model["generated"] / model["seconds"], "states/s"


BENCHMARKS: tuple[Callable[[], Iterator[Row]], ...] = (start_up, model_checking)


def main() -> None:
    """Run all benchmarks and print their rows as they come."""
    for benchmark in BENCHMARKS:
        for name, number, unit in benchmark():
            print(f"{name:<40} {number:>14,.0f} {unit}", flush=True)


if __name__ == "__main__":
    main()

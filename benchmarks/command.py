"""Measure the command: how long it takes to start, and how many states TLC checks through it.

Each benchmark is a function that yields rows of what was measured, the number and its unit. Nothing
is asserted here: numbers of one machine are no pass or fail.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

CANVASS = str(Path(sys.executable).with_name("canvass"))
REPEATS = 5
VERIFY = """
from canvass.steps import jit
jit.ROWS_TO_COMPILE = jit.ROWS_TO_LOAD = {rows}
from canvass.cli.main import main
main()
"""
SAMPLE = str(Path(__file__).parents[1] / "samples/aeron/b-leader-killed")

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


def first_verdict() -> Iterator[Row]:
    """How long the verdict on a sample takes, as a ratio to ``python -c pass``.

    A cold start has no machine code on disk. Of TLC's answers it has the ones that ship with
    canvass. Kernels are plain Python at first, or compiled at once.
    """
    nothing = _median_s([sys.executable, "-c", "pass"], dict(os.environ))
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder, "run"))
        subprocess.run(
            [CANVASS, "import", "aeron", SAMPLE, "--out", run], check=True, capture_output=True
        )
        for rows in (0, 1 << 40):
            cold, warm = [], []
            for round_ in range(REPEATS):
                kept = Path(folder, f"{rows}-{round_}")
                settings = os.environ | {
                    "XDG_CACHE_HOME": str(kept / "answers"),
                    "NUMBA_CACHE_DIR": str(kept / "machine-code"),
                }
                command = [sys.executable, "-c", VERIFY.format(rows=rows), "verify", run]
                cold.append(_median_s(command, settings, 1))
                warm.append(_median_s(command, settings, 1))
            form = "plain" if rows else "compiled"
            yield f"verify a sample, cold, {form}", statistics.median(cold) / nothing, "x"
            yield f"verify a sample, again, {form}", statistics.median(warm) / nothing, "x"


def _median_s(command: list[str], settings: dict[str, str], repeats: int = REPEATS) -> float:
    times_s = []
    for _ in range(repeats):
        began_s = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=settings)
        times_s.append(time.perf_counter() - began_s)
    return statistics.median(times_s)


def model_checking() -> Iterator[Row]:
    """How many states TLC finds in a second, start of Java included, on the models of a push."""
    command = [CANVASS, "check", "--format", "json"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for model in json.loads(done.stdout)["models"]:
        if model["generated"]:
            yield f"check {model['name']}", model["generated"] / model["seconds"], "states/s"


BENCHMARKS: tuple[Callable[[], Iterator[Row]], ...] = (start_up, first_verdict, model_checking)


def main() -> None:
    """Run all benchmarks and print their rows as they come."""
    for benchmark in BENCHMARKS:
        for name, number, unit in benchmark():
            print(f"{name:<40} {number:>14,.0f} {unit}", flush=True)


if __name__ == "__main__":
    main()

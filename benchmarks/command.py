"""Measure the command: how long it takes to start, and how many states TLC checks through it.

Each benchmark is a function that yields rows: the name, the number and its unit. Nothing is
asserted, because the figures depend on the machine.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

CANVASS = str(Path(sys.executable).with_name("canvass"))
REPEATS = 5
VERIFY = """
from canvass.steps import compiled_loops
compiled_loops.ROWS_TO_COMPILE = compiled_loops.ROWS_TO_LOAD = {rows}
from canvass.cli.main import main
main()
"""
SAMPLE = str(Path(__file__).parents[1] / "samples/aeron/b-leader-killed")

Row = tuple[str, float, str]


def start_up() -> Iterator[Row]:
    """Processor time until a command begins its work."""
    for words in (("--help",), ("check", "--list")):
        yield f"canvass {' '.join(words)}", _median_cpu_s([CANVASS, *words]) * 1000, "ms"


def first_verdict() -> Iterator[Row]:
    """The processor time of the verdict on a sample, as a ratio to ``python -c pass``.

    A cold start has neither byte code nor machine code on disk, and no cache; it has only those of
    TLC's answers that ship with canvass. Kernels are plain Python, as usual for a run of this size,
    or compiled at once.
    """
    nothing_s = _median_cpu_s([sys.executable, "-c", "pass"])
    yield "python -c pass", nothing_s * 1000, "ms"
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder, "run"))
        subprocess.run(
            [CANVASS, "import", "aeron", SAMPLE, "--out", run], check=True, capture_output=True
        )
        for form, rows, rounds in (("plain", 1 << 40, REPEATS), ("compiled", 0, 1)):
            times_s: dict[str, list[float]] = {"cold": [], "again": []}
            for round_ in range(rounds):
                kept = Path(folder, f"{form}-{round_}")
                settings = os.environ | {
                    "XDG_CACHE_HOME": str(kept / "answers"),
                    "NUMBA_CACHE_DIR": str(kept / "machine-code"),
                    "PYTHONPYCACHEPREFIX": str(kept / "byte-code"),
                    "PYTHONDONTWRITEBYTECODE": "",
                }
                command = [sys.executable, "-c", VERIFY.format(rows=rows), "verify", run]
                for times in times_s.values():
                    times.append(_median_cpu_s(command, settings, 1))
            for when, times in times_s.items():
                seconds = statistics.median(times)
                yield f"verify a sample, {when}, {form}", seconds * 1000, "ms"
                yield f"verify a sample, {when}, {form}", seconds / nothing_s, "x"


def _median_cpu_s(
    command: list[str], settings: dict[str, str] | None = None, repeats: int = REPEATS
) -> float:
    """User and system time, so that the load of the machine counts little."""
    times_s = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env=settings)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times_s)


def model_checking() -> Iterator[Row]:
    """How many states TLC finds in a second, start of Java included, on the CI set."""
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

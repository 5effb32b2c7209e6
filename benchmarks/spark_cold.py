"""Measure what the first report of a small corpus costs, on Spark and in one process.

``python benchmarks/spark_cold.py [EVENTS [ROUNDS [PYTHON...]]]`` makes a data set of EVENTS events
(default 100000), with all answers of the oracle in the cache. In each round, new processes open a
session with its first jobs, and run ``canvass batch verify`` with each engine and with ``--engine
auto``; each is timed from the start of Python to its end. Each ``PYTHON`` is an interpreter with
another version of canvass, which verifies the same data set with its default engine. The script
prints medians of the elapsed time and of the processor time, on which other load of the machine has
less influence, and both as multiples of the time to open a session.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from _corpora import write_dataset
from spark_verify import Taken, measured, simulate

STAGES = "--stages"
SESSION = "open a session"


def stages() -> dict[str, Taken]:
    """Open a session and run the first jobs on it; give the times of each stage."""
    found = {}

    def stage(name: str, action: Callable[[], object]) -> object:
        given: list[object] = []
        found[name] = measured(lambda: given.append(action()))
        return given[0]

    def load() -> None:
        for name in ("pyspark.sql", "canvass.corpus.check", "canvass.corpus.spark_engine"):
            import_module(name)

    stage("import pyspark and canvass", load)
    from canvass.corpus.spark_session import open_session

    opened = open_session("local[2]")
    session = stage(SESSION, opened.__enter__)
    numbers = session.range(0, 2, 1, 2)  # type: ignore[attr-defined]
    stage("first job, without Python", numbers.toArrow)
    stage("first job with Python workers", numbers.mapInArrow(_same, "id long").toArrow)
    stage("first import of canvass there", numbers.mapInArrow(_import, "id long").toArrow)
    stage("the same once more", numbers.mapInArrow(_import, "id long").toArrow)
    stage("stop", partial(opened.__exit__, None, None, None))
    return found


def _same(batches: object) -> object:
    return batches


def _import(batches: object) -> object:
    import_module("canvass.corpus.check")
    return batches


def verify(root: Path, out: str, python: str, engine: str | None) -> None:
    """Run the command as a user does."""
    cache = root / f"cache-{python.replace('/', '-')}"
    words = ["batch", "verify", str(root / "set"), "--out", str(root / out), "--cache", str(cache)]
    words += [] if engine is None else ["--engine", engine]
    subprocess.run([python, "-m", "canvass.cli.main", *words], check=True, capture_output=True)


def main() -> None:
    """Measure and print."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    ways: list[tuple[str, str, str | None]] = [
        (f"batch verify --engine {engine}", sys.executable, engine)
        for engine in ("spark", "process", "auto")
    ]
    ways += [(f"batch verify of {python}", python, None) for python in sys.argv[3:]]
    rows: dict[str, list[Taken]] = {}
    with tempfile.TemporaryDirectory(prefix="canvass-spark-cold-") as name:
        root = Path(name)
        made = write_dataset(simulate(root / "base"), root / "set", events, events_per_file=250_000)
        for number, python in enumerate([sys.executable, *sys.argv[3:]]):
            verify(root, f"first-{number}", python, None)  # Fills the cache.
        for number in range(rounds):
            command = [sys.executable, __file__, STAGES]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for stage, taken in json.loads(said.splitlines()[-1]).items():
                rows.setdefault(stage, []).append(Taken(*taken))
            for place, (way, python, engine) in enumerate(ways):
                taken = measured(partial(verify, root, f"{place}-{number}", python, engine))
                rows.setdefault(way, []).append(taken)
    print(f"{made:,} events, medians of {rounds} rounds: seconds, seconds of processors;")
    print("the same divided by those of opening a session")
    medians = {
        stage: [statistics.median(column) for column in zip(*all_taken, strict=True)]
        for stage, all_taken in rows.items()
    }
    clock, processor = medians[SESSION]
    for stage, (seconds, costs) in medians.items():
        print(f"  {stage:48}{seconds:8.2f}{costs:8.2f}", end="")
        print(f"{seconds / clock:8.2f}{costs / processor:8.2f}")


if __name__ == "__main__":
    if STAGES in sys.argv:
        print(json.dumps(stages()))
    else:
        main()

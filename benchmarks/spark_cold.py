"""Measure what the first report of a small corpus costs, on Spark and in one process.

``python benchmarks/spark_cold.py [EVENTS [ROUNDS]]`` makes a data set of so many events (default
100000), with all answers of the oracle in the cache. In each round new processes open a session
with its first jobs, and run ``canvass batch verify`` with either engine, each from the start of
Python to its end. Medians are printed: seconds of the clock, and of processors, which others on the
machine disturb less.
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

from spark_verify import Taken, measured, simulate

from canvass.conformance.check import check_units
from canvass.conformance.step_lookup import StepLookup

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.corpora import write_dataset

STAGES = "--stages"


def stages() -> dict[str, Taken]:
    """Open a session and run the first jobs on it; tell what each stage took."""
    found = {}

    def stage(name: str, action: Callable[[], object]) -> object:
        given: list[object] = []
        found[name] = measured(lambda: given.append(action()))
        return given[0]

    def load() -> None:
        for name in ("pyspark.sql", "canvass.corpus.checker", "canvass.corpus.engine"):
            import_module(name)

    stage("import pyspark and canvass", load)
    from canvass.corpus.session import open_session

    opened = open_session("local[2]")
    session = stage("open a session", opened.__enter__)
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
    import_module("canvass.corpus.checker")
    return batches


def verify(engine: str, root: Path, number: int) -> None:
    """Run the command as a user does."""
    words = ["batch", "verify", str(root / "set"), "--out", str(root / f"{engine}-{number}")]
    words += ["--cache", str(root / "cache"), "--engine", engine]
    command = [sys.executable, "-m", "canvass.cli.main", *words]
    subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    """Measure and print."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    rows: dict[str, list[Taken]] = {}
    with tempfile.TemporaryDirectory(prefix="canvass-spark-cold-") as name:
        root = Path(name)
        base = simulate(root / "base")
        assert check_units(sorted(base.iterdir()), StepLookup(cache=root / "cache")).exit_code == 0
        made = write_dataset(base, root / "set", events, events_per_file=250_000)
        for number in range(rounds):
            command = [sys.executable, __file__, STAGES]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for stage, taken in json.loads(said.splitlines()[-1]).items():
                rows.setdefault(stage, []).append(Taken(*taken))
            for engine in ("spark", "process"):
                taken = measured(partial(verify, engine, root, number))
                rows.setdefault(f"batch verify --engine {engine}", []).append(taken)
    print(f"{made:,} events, medians of {rounds} rounds: seconds, seconds of processors")
    for stage, all_taken in rows.items():
        clock, processor = (statistics.median(column) for column in zip(*all_taken, strict=True))
        print(f"  {stage:36}{clock:8.2f}{processor:8.2f}")


if __name__ == "__main__":
    if STAGES in sys.argv:
        print(json.dumps(stages()))
    else:
        main()

"""How fast runs are checked: the canonical form, compiled and plain, and whole verifications.

``python benchmarks/verify.py [RUNS]`` simulates so many runs of three members, checks them once so
that all answers are known and all code is compiled, and prints one table. Times are of the process,
not of the wall; each figure is the median of five rounds.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
from processor_time import median_cpu, show

from canvass.cli.main import run as run_command
from canvass.conformance.batch import Batch, join, states_before
from canvass.conformance.check import check_corpus
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.steps import StepChecker, keys_of, step_at
from canvass.steps.canonical import canonical
from canvass.traces.parquet import DatasetWriter
from canvass.traces.run import Corpus, RunFolder, write_dataset

RUNS = 40
PLAIN_STEPS = 400


def measure_form(batch: Batch) -> None:
    """Measure the canonical form of a batch."""
    columns, states = batch.columns, states_before(batch)
    compiled = median_cpu(lambda: keys_of(batch, states))
    rows = np.linspace(0, len(columns) - 1, PLAIN_STEPS).astype(int).tolist()
    steps = [step_at(columns, states, row) for row in rows]
    rules = [batch.runs[int(columns.run[row])].rules for row in rows]
    plain = median_cpu(
        lambda: [canonical(step, own).key for step, own in zip(steps, rules, strict=True)]
    )
    show("canonical form, compiled", len(columns), "steps", compiled)
    show("canonical form, plain Python", len(steps), "steps", plain)
    ratio = (plain / len(steps)) / (compiled / len(columns))
    print(f"{'':<52}{ratio:>14,.0f} times faster compiled")

    def numbered() -> None:
        checker = StepChecker()
        checker.check(batch)

    show("states before, form, distinct", len(columns), "steps", median_cpu(numbered))


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        corpus = root / "corpus"
        simulate = ["simulate", "--seeds", str(runs), "--steps", "3000", "--out", str(corpus)]
        with redirect_stdout(StringIO()):
            run_command([*simulate, "--format", "json"])  # What it finds is not the matter here.
        lookup = StepLookup(cache=root / "cache")
        first = check_corpus([corpus], lookup)
        counts = first.counts
        print(
            f"{counts.runs} runs, {counts.events:,} events, {counts.distinct_steps:,} distinct"
            f" steps, {counts.asked_of_oracle:,} asked of TLC in {counts.seconds:.1f} s of wall"
        )
        with DatasetWriter(root / "parquet") as writer:
            write_dataset(Corpus(corpus), writer)
        parts = [
            ({opened.run.run_id: opened.run}, columns)
            for opened in map(RunFolder, Corpus(corpus).folders)
            for columns in opened.columns()
        ]
        measure_form(join(parts))
        for name, path in (("NDJSON", corpus), ("Parquet", root / "parquet")):

            def verify(path: Path = path) -> object:
                return check_corpus([path], lookup)

            verify()
            show(f"whole verification, {name}", counts.events, "events", median_cpu(verify))


if __name__ == "__main__":
    main()

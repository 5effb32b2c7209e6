"""How fast the two engines of ``canvass verify`` check the same runs.

``python benchmarks/trace_engines.py [RUNS [STEPS]]`` records RUNS runs of three members with about
STEPS steps each, and checks them with both engines:

- step by step, first without any known answer, then with all answers in the cache, as NDJSON and as
  Parquet;
- by TLC as whole behaviours, first many in one run of TLC, then one alone.

The last column is the time as a multiple of the first line's.

``python benchmarks/trace_engines.py --corpus [RUNS [STEPS]]`` leaves out TLC's behaviours. It
measures a thousand runs, which are copies of one twentieth as many recorded runs.

Times are seconds of processor time, Java included, so that other load of the machine has little
influence. If a check takes less than a second, its time is the median of three rounds.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from _corpora import copy_folders

from canvass.cluster.rules import Rules
from canvass.conformance.findings import CorpusVerdict
from canvass.conformance.tlc_engine import check_with_tlc
from canvass.conformance.verify import check_units, units_of
from canvass.selftest.runs import record_run
from canvass.steps.answers import StepLookup
from canvass.traces.parquet import write_dataset
from canvass.traces.run import Corpus

RUNS, STEPS = 20, 200
CORPUS_RUNS = 1000
COPIES = 20
ROUNDS = 3


def processor_seconds() -> float:
    """Processor seconds of this process and of the child processes that have ended."""
    return sum(os.times()[:4])


def median_seconds(action: Callable[[], CorpusVerdict]) -> float:
    """Median seconds of an action that must find nothing wrong."""
    times = []
    for _ in range(ROUNDS):
        start = processor_seconds()
        assert action().exit_code == 0
        times.append(processor_seconds() - start)
        if times[0] > 1:
            break
    return statistics.median(times)


def show(name: str, events: int, seconds: float, against: float | None = None) -> None:
    """Print one line of the table."""
    ratio = "" if against is None else f"{seconds / against:>12,.0f}"
    print(f"{name:<48}{seconds:>10,.2f} s{events / seconds:>14,.0f} steps/s{ratio}")


def main() -> None:
    """Print the table."""
    numbers = [int(word) for word in sys.argv[1:] if word != "--corpus"]
    large = "--corpus" in sys.argv
    runs = numbers[0] if numbers else CORPUS_RUNS if large else RUNS
    steps = numbers[1] if len(numbers) > 1 else STEPS
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        corpus = root / "runs"
        for seed in range(runs // COPIES if large else runs):
            record_run(
                corpus / f"run-{seed:04}", Rules.of("1.50"), seed, steps, run_id=f"run-{seed:04}"
            )
        if large:
            corpus = copy_folders(corpus, root / "copies", COPIES)
        write_dataset(Corpus(corpus), root / "set")
        measure(corpus, root, large=large)


def measure(corpus: Path, root: Path, *, large: bool) -> None:
    """Measure a corpus of run folders; ``root`` also has the corpus as a data set."""
    oracle = StepLookup(cache=root / "cache")
    started = processor_seconds()
    first = check_units(units_of([corpus]), oracle)
    unknown = processor_seconds() - started
    assert first.exit_code == 0
    counts = first.counts
    print(f"{counts.runs} runs, {counts.events:,} steps, {counts.distinct_steps:,} distinct")
    check_units(units_of([root / "set"]), oracle)
    known = median_seconds(lambda: check_units(units_of([corpus]), oracle))
    parquet = median_seconds(lambda: check_units(units_of([root / "set"]), oracle))
    show("step by step, NDJSON, all answers kept", counts.events, known)
    show("step by step, Parquet, all answers kept", counts.events, parquet)
    show("step by step, NDJSON, nothing known before", counts.events, unknown, known)
    if large:
        return
    units = Corpus(corpus).folders
    together = median_seconds(lambda: check_with_tlc(units))
    show("TLC, runs together", counts.events, together, known)
    started = processor_seconds()
    own = check_with_tlc(units[:1])
    alone = (processor_seconds() - started) * counts.events / own.counts.events
    show("TLC, each run alone (from one)", counts.events, alone, known)


if __name__ == "__main__":
    main()

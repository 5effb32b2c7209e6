"""Measure batch verification: Spark local[2] beside one process, on the same data sets.

``python benchmarks/spark_verify.py [EVENTS...]`` makes a data set of each size of copies of a few
recorded runs, and verifies each in one process and on Spark, with all answers of the oracle in the
cache. The first job on Spark pays for starting workers; the second one does not. Time is that of
the clock and that of processors, which others on the machine disturb less. The marginal figures are
those between the smallest and the largest size, in which fixed costs cancel out. Memory is the peak
of each process, by kind.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from canvass.conformance.check import check_units
from canvass.conformance.judge import Judge
from canvass.corpus.checker import ConformanceChecker
from canvass.corpus.job import CorpusJob
from canvass.corpus.plan import list_units
from canvass.corpus.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.corpora import record_runs, write_dataset

RUNS, STEPS = 40, 1000
EVENTS_PER_FILE = 200_000
SIZES = (200_000, 1_000_000)


def one_process(folder: Path, cache: Path) -> None:
    """Verify a data set here."""
    found = check_units(sorted(folder.iterdir()), Judge(cache=cache))
    assert found.exit_code == 0


def on_spark(session: SparkSession, folder: Path, cache: Path, out: Path) -> None:
    """Verify a data set on Spark; the tables are written."""
    job = CorpusJob(session, ConformanceChecker.of(cache=cache), out)
    job.run(list_units([folder]))
    assert not job.judged
    assert not job.rechecked


def descendants() -> Iterator[Path]:
    """Give the folders in /proc of this process and of all that came from it."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int(stat_of(folder)[1])
            except OSError:
                continue
    own = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    yield from (Path("/proc") / str(pid) for pid in sorted(own))


def stat_of(folder: Path) -> list[str]:
    """Give the fields of a process's ``stat`` from the third one, its state, on."""
    return (folder / "stat").read_text().rpartition(")")[2].split()


def processor_seconds() -> float:
    """Give the processor time of this process and of all that came from it so far."""
    ticks = sum(sum(map(int, stat_of(folder)[11:15])) for folder in descendants())
    return ticks / os.sysconf("SC_CLK_TCK")


def peaks() -> dict[str, list[int]]:
    """Give the peak memory in MiB of this process and of all that came from it, by name."""
    peak: dict[str, list[int]] = {}
    for folder in descendants():
        lines = (folder / "status").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        name = "this process" if folder.name == str(os.getpid()) else fields["Name"].strip()
        peak.setdefault(name, []).append(int(fields.get("VmHWM", "0 kB").split()[0]) // 1024)
    return {name: sorted(sizes, reverse=True)[:3] for name, sizes in sorted(peak.items())}


class Taken(NamedTuple):
    """What a verification took."""

    seconds: float
    processor: float


def measured(action: Callable[[], object]) -> Taken:
    """Do something and tell what it took."""
    started, spent = time.perf_counter(), processor_seconds()
    action()
    return Taken(time.perf_counter() - started, processor_seconds() - spent)


def main() -> None:
    """Measure and print."""
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    rows: list[tuple[int, Taken, Taken, Taken]] = []
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        base, cache = record_runs(root / "base", RUNS, STEPS), root / "cache"
        judge = Judge(cache=cache)
        asked = measured(lambda: check_units(sorted(base.iterdir()), judge))
        print(f"{RUNS * STEPS:,} events, {judge.asked:,} distinct steps judged by TLC:", end=" ")
        print(f"{asked.seconds:.1f} s")
        write_dataset(base, root / "warm", 1, events_per_file=EVENTS_PER_FILE)
        one_process(root / "warm", cache)  # Compiles what is not compiled yet.
        with open_session("local[2]") as session:
            for number, size in enumerate(sizes):
                folder = root / f"set-{number}"
                events = write_dataset(base, folder, size, events_per_file=EVENTS_PER_FILE)
                alone = measured(partial(one_process, folder, cache))
                out = root / f"out-{number}"
                first = measured(partial(on_spark, session, folder, cache, out / "first"))
                warm = measured(partial(on_spark, session, folder, cache, out / "warm"))
                rows.append((events, alone, first, warm))
            memory = peaks()
    print(f"{'events':>12}{'one process':>16}{'Spark, first':>16}{'Spark, warm':>16}   events/s")
    for events, *taken in rows:
        print(f"{events:12,}" + "".join(f"{events / each.seconds:16,.0f}" for each in taken))
    print("processor time, microseconds an event")
    for events, *taken in rows:
        costs = (each.processor / events * 1e6 for each in taken)
        print(f"{events:12,}" + "".join(f"{each:16.1f}" for each in costs))
    if len(rows) > 1:
        (less, low, _, low_warm), (more, high, _, high_warm) = rows[0], rows[-1]
        print("marginal, between the smallest and the largest")
        for name, a, b in (("one process", low, high), ("Spark, warm", low_warm, high_warm)):
            count = more - less
            rate, spent = count / (b.seconds - a.seconds), (b.processor - a.processor) / count
            print(f"  {name}: {rate:,.0f} events/s, {spent * 1e6:.1f} microseconds an event")
    for name, sizes_mib in memory.items():
        print(f"peak memory, {name}: {', '.join(f'{size:,} MiB' for size in sizes_mib)}")


if __name__ == "__main__":
    main()

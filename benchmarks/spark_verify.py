"""Measure batch verification: Spark local[2], one process and TLC, side by side on the same runs.

``python benchmarks/spark_verify.py [EVENTS...]`` records simulated runs (as ``canvass simulate``
does), makes a data set of each size of copies of them (`tests/support/corpora.py` says what a copy
is), and verifies each in one process and on Spark, with all answers of the oracle in the cache. The
first job on Spark pays for starting workers; the second one does not. Then as many events in one
run are verified on Spark, and a few of the simulated runs by TLC itself. Time is that of the clock
and that of processors, which others on the machine disturb less. Marginal figures are those between
the smallest and the largest size, in which fixed costs cancel out. Memory is the peak of each kind
of process after each size.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from canvass.cli.simulate_runs import record_run
from canvass.conformance.check import check_units
from canvass.conformance.judge import Judge
from canvass.conformance.tlc_engine import check_with_tlc
from canvass.corpus.checker import ConformanceChecker
from canvass.corpus.job import CorpusJob
from canvass.corpus.plan import list_units
from canvass.corpus.session import open_session
from canvass.simulation.options import Options, swarm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.corpora import write_dataset
from support.long_runs import write_long_run

RUNS, STEPS = 24, 800
TLC_RUNS = 3
EVENTS_PER_FILE = 250_000
SIZES = (100_000, 1_000_000)


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


def simulate(root: Path) -> Path:
    """Record simulated runs, each a seed."""
    for seed in range(RUNS):
        record_run(swarm(Options(seed, 3, "hardened", STEPS)), root)
    return root


def with_tlc(base: Path, cache: Path) -> None:
    """Verify a few runs by TLC, and the same ones here."""
    runs = sorted(base.iterdir())[:TLC_RUNS]
    judge = Judge(cache=cache)
    events = check_units(runs, judge).counts.events
    here = measured(partial(check_units, runs, judge))
    tlc = measured(partial(check_with_tlc, runs))
    say(f"{TLC_RUNS} of these runs, {events:,} events: TLC {events / tlc.seconds:,.0f} events/s,")
    say(f"  one process {events / here.seconds:,.0f} events/s,", end=" ")
    say(f"{tlc.seconds / here.seconds:,.0f} times as fast")


def say(text: str, end: str = "\n") -> None:
    """Print at once: somebody is waiting."""
    print(text, end=end, flush=True)


class Row(NamedTuple):
    """The measurements of one size."""

    events: int
    alone: Taken
    first: Taken
    warm: Taken


def measure_size(session: SparkSession, base: Path, cache: Path, root: Path, size: int) -> Row:
    """Verify a data set of one size in all ways, and print."""
    folder, out = root / f"set-{size}", root / f"out-{size}"
    events = write_dataset(base, folder, size, events_per_file=EVENTS_PER_FILE)
    alone = measured(partial(one_process, folder, cache))
    first = measured(partial(on_spark, session, folder, cache, out / "first"))
    warm = measured(partial(on_spark, session, folder, cache, out / "warm"))
    row = Row(events, alone, first, warm)
    rates = "".join(f"{events / taken.seconds:16,.0f}" for taken in row[1:])
    costs = " ".join(f"{taken.processor / events * 1e6:.1f}" for taken in row[1:])
    memory = "; ".join(
        f"{name} {', '.join(f'{size:,}' for size in sizes)}" for name, sizes in peaks().items()
    )
    say(f"{events:12,}{rates}   {costs}\n{'':12}    peaks, MiB: {memory}")
    shutil.rmtree(folder)
    return row


def measure_long_run(session: SparkSession, cache: Path, root: Path, row: Row) -> None:
    """Verify as many events in one run, and print."""
    folder, out = root / "long", root / "out-long"
    events = write_long_run(folder / "events-3-00000.parquet", row.events)
    short = root / "short"
    write_long_run(short / "events-3-00000.parquet", 10_000)
    check_units(list(short.iterdir()), Judge(cache=cache))
    taken = measured(partial(on_spark, session, folder, cache, out))
    rate, ratio = events / taken.seconds, taken.seconds * row.events / row.warm.seconds / events
    say(f"one run of {events:,} events: {rate:,.0f} events/s, {ratio:.2f} times the time of the")
    say(f"  many runs; {taken.processor / events * 1e6:.1f} microseconds of processors an event")
    say("; ".join(f"{name}: {sizes}" for name, sizes in peaks().items()))


def main() -> None:
    """Measure and print."""
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        base, cache = simulate(root / "base"), root / "cache"
        judge = Judge(cache=cache)
        found = check_units(sorted(base.iterdir()), judge)
        assert found.exit_code == 0
        say(f"{RUNS} simulated runs, {found.counts.events:,} events:", end=" ")
        say(f"{judge.asked:,} distinct steps judged by TLC in {found.counts.seconds:.0f} s")
        write_dataset(base, root / "warm", 1, events_per_file=EVENTS_PER_FILE)
        one_process(root / "warm", cache)  # Compiles what is not compiled yet.
        say(f"{'events':>12}{'one process':>16}{'Spark, first':>16}{'Spark, warm':>16}", end="")
        say("   events/s; microseconds of processors an event")
        with open_session("local[2]") as session:
            rows = [measure_size(session, base, cache, root, size) for size in sizes]
            measure_long_run(session, cache, root, rows[-1])
        with_tlc(base, cache)
    if len(rows) > 1:
        count = rows[-1].events - rows[0].events
        say("marginal, between the smallest and the largest")
        for name, a, b in (
            ("one process", rows[0].alone, rows[-1].alone),
            ("Spark, warm", rows[0].warm, rows[-1].warm),
        ):
            rate, spent = count / (b.seconds - a.seconds), (b.processor - a.processor) / count
            say(f"  {name}: {rate:,.0f} events/s, {spent * 1e6:.1f} microseconds an event")


if __name__ == "__main__":
    main()

"""Measure batch verification: Spark local[2], one process and TLC, side by side on the same runs.

``python benchmarks/spark_verify.py [EVENTS...]`` records simulated runs (as ``canvass simulate``
does), makes a data set of each size of copies of them (`tests/support/corpora.py` says what a copy
is), and verifies each in one process and twice on Spark, with all answers of the oracle in the
cache. The first of all jobs on Spark pays for starting workers. Then as many events in one run are
verified in both ways, but for the smallest size, and a few of the simulated runs by TLC itself.
Time is that of the clock and that of processors, which others on the machine disturb less. Marginal
figures are those between the smallest and the largest size, in which fixed costs cancel out. Memory
is the peak of each process while a size was verified on Spark; each has a job of its own here: data
are made in one, the verification in one process has another, the driver does nothing else.

Ended by SIGTERM, it leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from canvass.conformance.check import check_units
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.tlc_engine import check_with_tlc
from canvass.corpus.checker import ConformanceChecker
from canvass.corpus.engine import SparkEngine
from canvass.corpus.job import CorpusJob
from canvass.corpus.plan import list_units
from canvass.corpus.session import open_session
from canvass.selftest.simulated import record_run
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


def one_process(folder: Path, cache: Path) -> Taken:
    """Verify a data set here."""
    spent, started = time.process_time(), time.perf_counter()
    found = check_units(sorted(folder.iterdir()), StepLookup(cache=cache))
    assert found.exit_code == 0
    return Taken(time.perf_counter() - started, time.process_time() - spent)


def on_spark(session: SparkSession, folder: Path, cache: Path, out: Path) -> None:
    """Verify a data set on Spark; the tables are written."""
    job = CorpusJob(SparkEngine(session), ConformanceChecker.of(cache=cache), out)
    job.run(list_units([folder]))
    assert not job.asked
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


def forget_peaks() -> None:
    """Have the peaks of memory begin anew."""
    for folder in descendants():
        with suppress(OSError):
            (folder / "clear_refs").write_text("5")


def peaks(names: dict[int, str]) -> str:
    """Tell the peak memory in MiB of this process and of all that came from it that have a name.

    Those without a name are the JVM, and Spark's Python workers with what they were forked from.
    """
    peak: dict[str, list[int]] = {}
    for folder in descendants():
        try:
            lines = (folder / "status").read_text().splitlines()
        except OSError:
            continue
        fields = {name: text.strip() for name, _, text in (line.partition(":") for line in lines)}
        name = names.get(int(folder.name), "JVM" if fields["Name"] == "java" else "workers")
        if name and "VmHWM" in fields:
            peak.setdefault(name, []).append(int(fields["VmHWM"].split()[0]) // 1024)
    reported = (f"{name} {', '.join(map(str, sorted(peak[name])[::-1]))}" for name in sorted(peak))
    return "; ".join(reported)


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
    lookup = StepLookup(cache=cache)
    events = check_units(runs, lookup).counts.events
    here = measured(partial(check_units, runs, lookup))
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


@dataclass(frozen=True)
class Bench:
    """Where and with whom things are measured."""

    session: SparkSession
    root: Path
    maker: ProcessPoolExecutor
    """Makes data."""
    checker: ProcessPoolExecutor
    """Verifies in one process."""
    names: dict[int, str]
    """The names of processes in the report of their memory; a process may have none."""

    @property
    def cache(self) -> Path:
        """Where the oracle's answers are."""
        return self.root / "cache"

    def measure_size(self, size: int) -> Row:
        """Verify a data set of one size in all ways, and print."""
        folder, out = self.root / f"set-{size}", self.root / f"out-{size}"
        making = self.maker.submit(
            write_dataset, self.root / "base", folder, size, events_per_file=EVENTS_PER_FILE
        )
        events = making.result()
        forget_peaks()
        alone = self.checker.submit(one_process, folder, self.cache).result()
        first = measured(partial(on_spark, self.session, folder, self.cache, out / "first"))
        warm = measured(partial(on_spark, self.session, folder, self.cache, out / "warm"))
        row = Row(events, alone, first, warm)
        rates = "".join(f"{events / taken.seconds:16,.0f}" for taken in row[1:])
        costs = " ".join(f"{taken.processor / events * 1e6:.1f}" for taken in row[1:])
        say(f"{events:12,}{rates}   {costs}\n{'':12}    peaks, MiB: {peaks(self.names)}")
        shutil.rmtree(folder)
        return row

    def measure_long_run(self, row: Row) -> None:
        """Verify as many events in one run, and print."""
        folder, out = self.root / f"long-{row.events}", self.root / f"out-long-{row.events}"
        making = self.maker.submit(write_long_run, folder / "events-3-00000.parquet", row.events)
        events = making.result()
        short = self.root / "short"
        self.maker.submit(write_long_run, short / "events-3-00000.parquet", 10_000).result()
        check_units(list(short.iterdir()), StepLookup(cache=self.cache))
        forget_peaks()
        alone = self.checker.submit(one_process, folder, self.cache).result()
        taken = measured(partial(on_spark, self.session, folder, self.cache, out))
        ratio = taken.seconds * row.events / row.warm.seconds / events
        say(f"one run of {events:,} events: {events / taken.seconds:,.0f} events/s on Spark,", " ")
        say(f"{taken.processor / events * 1e6:.1f} microseconds; {ratio:.2f} times the time of the")
        say(f"  many runs; one process {events / alone.seconds:,.0f} events/s,", end=" ")
        say(f"{alone.processor / events * 1e6:.1f} microseconds, ", end="")
        say(f"{alone.seconds * row.events / row.alone.seconds / events:.2f} times the many runs")
        say(f"{'':16}peaks, MiB: {peaks(self.names)}")
        shutil.rmtree(folder)


def tell_marginal(rows: list[Row]) -> None:
    """Print what more events cost."""
    count = rows[-1].events - rows[0].events
    say("marginal, between the smallest and the largest")
    for name, a, b in (
        ("one process", rows[0].alone, rows[-1].alone),
        ("Spark, second", rows[0].warm, rows[-1].warm),
    ):
        rate, spent = count / (b.seconds - a.seconds), (b.processor - a.processor) / count
        say(f"  {name}: {rate:,.0f} events/s, {spent * 1e6:.1f} microseconds an event")


def end(number: int, _: FrameType | None) -> NoReturn:
    """Leave as after an error: folders are removed, Spark and the processes are ended."""
    sys.exit(128 + number)


def main() -> None:
    """Measure and print."""
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    signal.signal(signal.SIGTERM, end)
    with ExitStack() as stack:
        root = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="canvass-spark-verify-"))
        )
        spawn = get_context("spawn")
        maker, checker = (
            stack.enter_context(ProcessPoolExecutor(1, mp_context=spawn)) for _ in range(2)
        )
        names = {
            os.getpid(): "driver",
            maker.submit(os.getpid).result(): "",
            checker.submit(os.getpid).result(): "one process",
        }
        base = maker.submit(simulate, root / "base").result()
        lookup = StepLookup(cache=root / "cache")
        found = check_units(sorted(base.iterdir()), lookup)
        assert found.exit_code == 0
        say(f"{RUNS} simulated runs, {found.counts.events:,} events:", end=" ")
        say(f"{lookup.asked:,} distinct steps checked by TLC in {found.counts.seconds:.0f} s")
        maker.submit(
            write_dataset, base, root / "warm", 1, events_per_file=EVENTS_PER_FILE
        ).result()
        checker.submit(one_process, root / "warm", root / "cache").result()  # Compiles, loads.
        started = time.perf_counter()
        session = stack.enter_context(open_session("local[2]"))
        say(f"a session on Spark took {time.perf_counter() - started:.1f} s to open")
        say(f"{'events':>12}{'one process':>16}{'Spark, first':>16}{'Spark, second':>16}", end="")
        say("   events/s; microseconds of processors an event")
        helpers = {int(folder.name) for folder in descendants()} - names.keys()
        names |= dict.fromkeys((pid for pid in helpers if not is_java(pid)), "")
        bench = Bench(session, root, maker, checker, names)
        rows = [bench.measure_size(size) for size in sizes]
        if len(rows) > 1:
            tell_marginal(rows)
        with_tlc(base, root / "cache")
        for row in rows[1:] or rows:
            bench.measure_long_run(row)


def is_java(pid: int) -> bool:
    """Tell whether a process is a JVM."""
    return "java" in (Path("/proc") / str(pid) / "comm").read_text()


if __name__ == "__main__":
    main()

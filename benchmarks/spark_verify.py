"""Measure batch verification: Spark local[2], one process and TLC, side by side on the same runs.

``python benchmarks/spark_verify.py [--rounds N] [EVENTS...]`` records simulated runs (as ``canvass
simulate`` does). For each size, it makes a data set of copies of them (`benchmarks/_corpora.py`
defines a copy), and for each size but the smallest also one run of as many events. In each of N
rounds (default 5) a new process opens a session, and verifies each data set in one process and
twice on Spark, with all answers of the oracle in the cache. The first job of a session also starts
the workers. At last TLC itself verifies a few of the simulated runs, once.

It prints medians as rows of a Markdown table: of the elapsed time, and of the processor time, on
which other load of the machine has less influence. Marginal figures are differences between the
smallest and the largest size, in which fixed costs cancel out. Memory is the largest peak of each
process while a data set was verified. After SIGTERM the script leaves nothing behind.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from _corpora import write_dataset
from _long_runs import write_long_run

from canvass.conformance.tlc_engine import check_with_tlc
from canvass.conformance.verify import check_units
from canvass.corpus.job import REPORT_TABLES, CorpusJob
from canvass.corpus.plan import list_units
from canvass.corpus.spark_engine import SparkEngine
from canvass.corpus.spark_session import open_session
from canvass.selftest.simulation_series import record_run
from canvass.simulation.options import Options, swarm
from canvass.steps.answers import StepLookup
from canvass.traces.errors import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUNS, STEPS = 24, 800
TLC_RUNS = 3
EVENTS_PER_FILE = 250_000
SIZES = (100_000, 1_000_000)


def one_process(folder: Path, cache: Path) -> Taken:
    """Verify a data set in this process."""
    spent, started = time.process_time(), time.perf_counter()
    found = check_units(sorted(folder.iterdir()), StepLookup(cache=cache))
    assert found.exit_code == 0
    return Taken(time.perf_counter() - started, time.process_time() - spent)


def on_spark(session: SparkSession, folder: Path, cache: Path, out: Path) -> None:
    """Verify a data set on Spark; the tables are written."""
    engine = SparkEngine(session)
    job = CorpusJob(engine, cache)
    job.run(list_units([folder]))
    job.write({name: out / name for name in REPORT_TABLES})
    assert not job.asked
    engine.release()  # Else the next round finds the rows of this one.


def descendants() -> Iterator[Path]:
    """Give the folders in /proc of this process and of its descendants."""
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
    """Give the processor time of this process and of its descendants so far."""
    ticks = sum(sum(map(int, stat_of(folder)[11:15])) for folder in descendants())
    return ticks / os.sysconf("SC_CLK_TCK")


def forget_peaks() -> None:
    """Reset the peaks of memory."""
    for folder in descendants():
        with suppress(OSError):
            (folder / "clear_refs").write_text("5")


Peaks = dict[str, list[int]]
"""Peak memory in MiB by the name of the process, the largest first."""


def peaks(names: dict[int, str]) -> Peaks:
    """Give the peak memory of this process and of its descendants that have a name.

    ``names`` has names by process id. The JVM, Spark's Python workers and the process that forks
    these are not in it; they get their names here.
    """
    peak: Peaks = {}
    for folder in descendants():
        try:
            lines = (folder / "status").read_text().splitlines()
        except OSError:
            continue
        fields = {name: text.strip() for name, _, text in (line.partition(":") for line in lines)}
        name = names.get(int(folder.name), "JVM" if fields["Name"] == "java" else "workers")
        if name and "VmHWM" in fields:
            peak.setdefault(name, []).append(int(fields["VmHWM"].split()[0]) // 1024)
    return {name: sorted(peak[name], reverse=True) for name in sorted(peak)}


def largest(found: list[Peaks]) -> str:
    """Give the largest peaks of several rounds as text; for workers the two largest."""
    names = sorted({name for each in found for name in each})
    tops = {
        name: [
            max(column)
            for column in zip(*(each[name][:2] for each in found if name in each), strict=False)
        ]
        for name in names
    }
    return "; ".join(f"{name} {', '.join(map(str, top))}" for name, top in tops.items())


class Taken(NamedTuple):
    """Time and memory of a verification."""

    seconds: float
    processor: float


def median(taken: list[Taken]) -> Taken:
    """Give the medians of clock and processors."""
    clock, processor = zip(*taken, strict=True)
    return Taken(statistics.median(clock), statistics.median(processor))


def measured(action: Callable[[], object]) -> Taken:
    """Run an action; give its time."""
    started, spent = time.perf_counter(), processor_seconds()
    action()
    return Taken(time.perf_counter() - started, processor_seconds() - spent)


def simulate(root: Path) -> Path:
    """Record simulated runs, each a seed."""
    for seed in range(RUNS):
        record_run(swarm(Options(seed, 3, "hardened", STEPS)), root)
    return root


def with_tlc(base: Path, cache: Path) -> None:
    """Verify a few runs by TLC, and the same runs step by step."""
    runs = sorted(base.iterdir())[:TLC_RUNS]
    lookup = StepLookup(cache=cache)
    events = check_units(runs, lookup).counts.events
    here = measured(partial(check_units, runs, lookup))
    tlc = measured(partial(check_with_tlc, runs))
    say(f"{TLC_RUNS} of these runs, {events:,} events: TLC {events / tlc.seconds:,.0f} events/s,")
    say(f"  one process {events / here.seconds:,.0f} events/s,", end=" ")
    say(f"{tlc.seconds / here.seconds:,.0f} times as fast")


def say(text: str, end: str = "\n") -> None:
    """Print and flush, because somebody may be watching."""
    print(text, end=end, flush=True)


WAYS = ("one process", "Spark, first", "Spark")
"""Columns of the table. The first job of a session is "Spark, first" of the first data set."""


@dataclass(frozen=True)
class Measured:
    """The measurements of a data set, by round."""

    folder: Path
    events: int
    in_one_run: bool = False
    taken: dict[str, list[Taken]] = field(default_factory=dict)
    peaks: list[Peaks] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name the data set by its size."""
        return f"{self.events:,} in one run" if self.in_one_run else f"{self.events:,}"

    def note(self, way: str, taken: Taken) -> None:
        """Note what a verification took, and print it."""
        self.taken.setdefault(way, []).append(taken)
        say(f"  {self.name:32}{way:14}{taken.seconds:8.1f} s{taken.processor:8.1f} s of processors")

    def median(self, way: str) -> Taken:
        """Give the medians of one way."""
        return median(self.taken[way])

    def row(self) -> str:
        """Give a row of the table."""
        found = (self.median(way) for way in WAYS)
        return f"| {self.name} | {' | '.join(cell(self.events, taken) for taken in found)} |"


def cell(events: int, taken: Taken) -> str:
    """Give rate and cost of a verification."""
    cost = taken.processor / events * 1e6
    return f"{events / taken.seconds:,.0f} events/s, {cost:.1f} µs"


def run_round(root: Path, folders: list[Path]) -> tuple[Taken, list[list[Taken]], list[Peaks]]:
    """Open a session and verify all data sets in all ways, in a process of its own.

    Returns
    -------
    tuple
        The time to open the session; for each data set the times of all ways; for each data set
        the peaks of memory.
    """
    cache = root / "cache"
    found, memory = [], []
    with ExitStack() as stack:
        spawn = get_context("spawn")
        checker = stack.enter_context(ProcessPoolExecutor(1, mp_context=spawn))
        checker.submit(one_process, folders[0], cache).result()  # Compiles, loads.
        names = {os.getpid(): "driver", checker.submit(os.getpid).result(): "one process"}
        sessions: list[SparkSession] = []
        opening = partial(stack.enter_context, open_session("local[2]"))
        opened = measured(lambda: sessions.append(opening()))
        helpers = {int(folder.name) for folder in descendants()} - names.keys()
        names |= dict.fromkeys((pid for pid in helpers if not is_java(pid)), "")
        for folder in folders:
            forget_peaks()
            ways = [checker.submit(one_process, folder, cache).result()]
            for way in WAYS[1:]:
                with tempfile.TemporaryDirectory() as out:
                    goal = Path(out) / way
                    ways.append(measured(partial(on_spark, sessions[0], folder, cache, goal)))
            found.append(ways)
            memory.append(peaks(names))
    return opened, found, memory


def tell(sets: list[Measured], opened: list[Taken]) -> None:
    """Print the medians."""
    rounds = counted(len(opened), "round")
    say(f"\nmedians of {rounds}; a session took {median(opened).seconds:.1f} s to open")
    say(f"\n| events | {' | '.join(WAYS)} |\n|---|---|---|---|")
    for each in sets:
        say(each.row())
    sizes = [each for each in sets if not each.in_one_run]
    if sizes[-1].events > sizes[0].events:
        tell_marginal(sizes[0], sizes[-1])
    say("")
    for each in sets:
        alone, spark = each.median(WAYS[0]), each.median(WAYS[-1])
        ratio, cost = alone.seconds / spark.seconds, spark.processor / alone.processor
        say(f"{each.name}: Spark is {ratio:.2f} times as fast as one process, with", end=" ")
        say(f"{cost:.2f} times its processors; peaks in MiB: {largest(each.peaks)}")


def tell_marginal(first: Measured, last: Measured) -> None:
    """Print what more events cost, as a row of the table."""
    cells = []
    for way in (WAYS[0], WAYS[-1]):
        low, high = first.median(way), last.median(way)
        more = Taken(high.seconds - low.seconds, high.processor - low.processor)
        cells.append(cell(last.events - first.events, more))
    say(f"| between {first.name} and {last.name} | {cells[0]} | | {cells[1]} |")


def end(number: int, _: FrameType | None) -> NoReturn:
    """Exit as after an error, so that folders are removed, and Spark and the processes ended."""
    sys.exit(128 + number)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("events", type=int, nargs="*", default=list(SIZES))
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error("--rounds is at least 1")
    signal.signal(signal.SIGTERM, end)
    with ExitStack() as stack:
        root = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="canvass-spark-verify-"))
        )
        spawn = get_context("spawn")
        maker = stack.enter_context(ProcessPoolExecutor(1, mp_context=spawn))
        base = maker.submit(simulate, root / "base").result()
        maker.submit(write_long_run, root / "short" / "events-3-00000.parquet", 10_000).result()
        lookup = StepLookup(cache=root / "cache")
        found = check_units([*sorted(base.iterdir()), *(root / "short").iterdir()], lookup)
        assert found.exit_code == 0
        say(f"{RUNS} simulated runs and a short one, {found.counts.events:,} events:", end=" ")
        say(f"{lookup.asked:,} distinct steps checked by TLC in {found.counts.seconds:.0f} s")
        sets = make_sets(maker, root, given.events)
        opened = []
        for number in range(given.rounds):
            with ProcessPoolExecutor(1, mp_context=spawn) as fresh:
                folders = [each.folder for each in sets]
                session, taken, memory = fresh.submit(run_round, root, folders).result()
            say(f"round {number + 1}: a session took {session.seconds:.1f} s to open")
            opened.append(session)
            for each, ways, peak in zip(sets, taken, memory, strict=True):
                each.peaks.append(peak)
                for way, one in zip(WAYS, ways, strict=True):
                    each.note(way, one)
        tell(sets, opened)
        with_tlc(base, root / "cache")


def make_sets(maker: ProcessPoolExecutor, root: Path, sizes: list[int]) -> list[Measured]:
    """Make all data sets: short runs of each size, and one run of each size but the first."""
    sets = []
    for number, size in enumerate(sizes):
        folder = root / f"set-{size}"
        write = partial(write_dataset, events_per_file=EVENTS_PER_FILE)
        events = maker.submit(write, root / "base", folder, size).result()
        sets.append(Measured(folder, events))
        if number:
            folder = root / f"long-{size}"
            path = folder / "events-3-00000.parquet"
            events = maker.submit(write_long_run, path, size).result()
            sets.append(Measured(folder, events, in_one_run=True))
    return sets


def is_java(pid: int) -> bool:
    """Tell whether a process is a JVM."""
    return "java" in (Path("/proc") / str(pid) / "comm").read_text()


if __name__ == "__main__":
    main()

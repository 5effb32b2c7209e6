"""Measure batch verification of large corpora on Spark local[2]: 10^8 events, giant runs.

``python benchmarks/spark_scale.py [FOLDER [ROUNDS [NAME...]]]`` verifies these corpora in turns,
``ROUNDS`` times (default 5); with ``NAME``, only the named ones:

- ``set``: 10^7 events of copies of simulated runs, in files of 250,000 events;
- ``long``: one run of 10^7 events in one file;
- ``files``: as many events of such runs, of 10,000 events each, in 1,000 files;
- ``skewed``: the long run beside ``set`` and ``files``, which have thousands of short ones;
- ``alone``: ``set`` once more, in one process without Spark;

then once ``large``, 10^8 events like those of ``set``. It prints each time as it is measured, then
the medians and the largest peaks of memory as rows of a Markdown table, and ratios of the medians.
The times do not include the start of the session and its workers; ``spark_states.py`` measures
commands from their start.

The corpora stay in ``FOLDER`` (3 GB; by default ``out/spark-scale``) for the next time, because
making them takes longer than measuring them. With ``ROUNDS`` 0 the script makes the named corpora
and measures nothing. Then ``NAME`` can also be ``logs``: 1,000 copies of the event logs of real
clusters in ``samples/aeron``.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from _corpora import write_dataset
from _long_runs import write_long_run
from msgspec.structs import replace
from spark_verify import (
    EVENTS_PER_FILE,
    Peaks,
    Taken,
    descendants,
    forget_peaks,
    is_java,
    largest,
    measured,
    median,
    on_spark,
    one_process,
    peaks,
    say,
    simulate,
)

from canvass.conformance.verify import check_units
from canvass.corpus.spark_session import open_session
from canvass.steps.answers import StepLookup
from canvass.traces.errors import counted
from canvass.traces.parquet import RUNS_KEY, DatasetFile, RunEntry
from canvass.traces.schema import encode

EVENTS: Final = 10_000_000
FILES: Final = 1_000
LARGER: Final = 10
TURNS: Final = ("set", "long", "files", "skewed")
ALONE: Final = "alone"
LARGE: Final = "large"
LOGS: Final = "logs"
SAMPLES: Final = Path(__file__).resolve().parents[1] / "samples" / "aeron"
ROUNDS: Final = 5


def make(root: Path, chosen: set[str]) -> None:
    """Make the chosen corpora that do not exist yet, and the answers of the oracle."""
    needed = {"base"} | chosen
    if "skewed" in chosen:
        needed |= {"long", "files", "set"}
    if ALONE in chosen:
        needed.add("set")
    for name, action in (
        ("base", make_base),
        ("long", partial(make_long, EVENTS)),
        ("files", make_files),
        (LARGE, make_large),
        ("set", make_set),
        ("skewed", make_skewed),
        (LOGS, make_logs),
    ):
        if name in needed and not (root / name).exists():
            started = time.perf_counter()
            action(root)
            say(f"made {name} in {time.perf_counter() - started:.0f} s")
    # The answers for an earlier version of the spec do not count.
    lookup = StepLookup(cache=root / "cache")
    checked = check_units([*sorted((root / "base").iterdir()), *(root / "short").iterdir()], lookup)
    assert checked.exit_code == 0


def make_base(root: Path) -> None:
    """Record simulated runs, and two short ones that are built like the long run.

    Each of the session's two workers gets one of the short ones when the session is opened.
    """
    if not (root / "short").exists():
        make_long(EVENTS // FILES, root, "one")
        copy_run(root / "one", root / "short", 2)
    simulate(root / "base.new").rename(root / "base")


def make_long(events: int, root: Path, name: str = "long") -> None:
    """Write one long run."""
    aside = root / f"{name}.new"
    write_long_run(aside / "events-3-00000.parquet", events)
    aside.rename(root / name)


def make_files(root: Path) -> None:
    """Write short runs that are built like the long one, each in its own file."""
    copy_run(root / "one", root / "files", FILES)


def copy_run(folder: Path, target: Path, copies: int) -> None:
    """Write copies of the only run of a data set, each in its own file."""
    path = folder / "events-3-00000.parquet"
    with DatasetFile(path) as file:
        (entry,) = file.runs.values()
    table = pq.read_table(path)
    aside = target.with_suffix(".new")
    aside.mkdir()
    for number in range(copies):
        run_id = f"long-{number}"
        named = replace(entry, run=replace(entry.run, run_id=run_id))
        write_renamed(table, named, aside / f"events-3-{number:05d}.parquet")
    aside.rename(target)


def write_renamed(table: Any, entry: RunEntry, path: Path) -> None:
    """Write the events of one run under another id."""
    place = table.schema.get_field_index("run")
    field = table.schema.field(place)
    ids = pa.array([entry.run.run_id] * len(table)).cast(field.type)
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        writer.write_table(table.set_column(place, field, ids))
        writer.add_key_value_metadata({RUNS_KEY: encode([entry])})


def make_large(root: Path) -> None:
    """Write 10^8 events."""
    aside = root / "large.new"
    write_dataset(root / "base", aside, LARGER * EVENTS, events_per_file=EVENTS_PER_FILE)
    aside.rename(root / "large")


def make_set(root: Path) -> None:
    """Take the first 10^7 events of the large data set; without it, write equal ones."""
    if not (root / LARGE).exists():
        aside = root / "set.new"
        write_dataset(root / "base", aside, EVENTS, events_per_file=EVENTS_PER_FILE)
        aside.rename(root / "set")
        return
    (root / "set").mkdir()
    total = 0
    for path in sorted((root / "large").iterdir()):
        if total < EVENTS:
            os.link(path, root / "set" / path.name)
            total += pq.read_metadata(path).num_rows


def make_skewed(root: Path) -> None:
    """Put the long run beside the short ones."""
    (root / "skewed").mkdir()
    for name in ("long", "set", "files"):
        for path in (root / name).iterdir():
            kind, members, number = path.stem.split("-")
            target = f"{kind}-{members}-{TURNS.index(name)}{number}.parquet"
            os.link(path, root / "skewed" / target)


def make_logs(root: Path) -> None:
    """Copy event logs of real clusters; the name of a folder is the id of its run."""
    clusters = sorted(folder for folder in SAMPLES.iterdir() if folder.is_dir())
    aside = root / "logs.new"
    for number in range(FILES):
        cluster = clusters[number % len(clusters)]
        shutil.copytree(cluster, aside / f"{cluster.name}-{number}")
    aside.rename(root / LOGS)


def events_of(folder: Path) -> int:
    """Count the events of a data set."""
    return sum(pq.read_metadata(path).num_rows for path in folder.iterdir())


def verdicts_of(out: Path) -> Iterator[str]:
    """Give the verdicts of a verification."""
    for batch in ds.dataset(out / "verdicts", format="parquet").to_batches(["verdict"]):
        yield from batch["verdict"].unique().to_pylist()


def tell(
    times: dict[str, list[Taken]], memory: dict[str, list[Peaks]], counts: dict[str, int]
) -> None:
    """Print medians as a table, and their ratios."""
    medians = {name: median(taken) for name, taken in times.items()}
    say("\n| corpus | time | processors | peaks in MiB |\n|---|---|---|---|")
    for name, (seconds, processor) in medians.items():
        corpus = f"{name}: {counts[name]:,} events, {counted(len(times[name]), 'round')}"
        peak = largest(memory.get(name, []))
        say(f"| {corpus} | {seconds:.1f} s | {processor:.1f} s | {peak} |")
    say("")
    clock = {name: taken.seconds for name, taken in medians.items()}
    for name, (seconds, processor) in medians.items():
        say(f"{name}: {counts[name] / seconds:,.0f} events/s,", end=" ")
        say(f"{processor / counts[name] * 1e6:.2f} µs of processors an event")
    if {ALONE, "set"} <= clock.keys():
        cost = medians["set"].processor / medians[ALONE].processor
        say(f"set: {clock[ALONE] / clock['set']:.2f} times as fast as one process,", end=" ")
        say(f"with {cost:.2f} times its processors")
    if {"long", "files"} <= clock.keys():
        alike = clock["files"] / counts["files"]
        say(f"long / files, an event: {clock['long'] / counts['long'] / alike:.2f}")
    if set(TURNS) <= clock.keys():
        parts = sum(clock[name] for name in ("long", "set", "files"))
        say(f"skewed / its three parts one after the other: {clock['skewed'] / parts:.2f}")
    if {LARGE, "set"} <= clock.keys() and counts[LARGE] > counts["set"]:
        tell_billion(medians, counts)


def tell_billion(medians: dict[str, Taken], counts: dict[str, int]) -> None:
    """Print how time grows from 10^7 to 10^8 events, and how long 10^9 events take on N cores."""
    small, large = medians["set"], medians[LARGE]
    say(f"large / set: {large.seconds / small.seconds:.2f} times the time,", end=" ")
    say(f"{counts[LARGE] / counts['set']:.2f} times the events")
    cost = (large.processor - small.processor) / (counts[LARGE] - counts["set"])
    say(f"10^9 events: {cost * 1e6:.2f} µs of a core each, {cost * 1e9:,.0f} core seconds")
    for cores in (2, 8, 32, 128):
        say(f"| {cores} | {cost * 1e9 / cores:,.0f} s |")


def main() -> None:
    """Make, measure and print."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "out/spark-scale")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    chosen = sys.argv[3:] or [*TURNS, ALONE, LARGE]
    root.mkdir(parents=True, exist_ok=True)
    make(root, set(chosen))
    if not rounds:
        return
    counts = {name: events_of(root / name) for name in (*TURNS, LARGE) if (root / name).exists()}
    counts[ALONE] = counts.get("set", 0)
    times: dict[str, list[Taken]] = {}
    memory: dict[str, list[Peaks]] = {}
    with (
        tempfile.TemporaryDirectory() as scratch,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        open_session("local[2]") as session,
    ):
        cache, out = root / "cache", Path(scratch)
        pool.submit(one_process, root / "short", cache).result()
        helpers = {int(folder.name) for folder in descendants()} - {os.getpid()}
        names = dict.fromkeys((pid for pid in helpers if not is_java(pid)), "")
        names[os.getpid()] = "driver"
        on_spark(session, root / "short", cache, out / "first")  # Compiles, loads.
        for number in range(rounds + 1):
            turns = TURNS if number < rounds else (LARGE,)
            for name in [name for name in turns if name in chosen]:
                forget_peaks()
                goal = out / f"{name}-{number}"
                taken = measured(partial(on_spark, session, root / name, cache, goal))
                times.setdefault(name, []).append(taken)
                say(f"{name:8}{taken.seconds:9.1f} s{taken.processor:9.1f} s of processors", end="")
                memory.setdefault(name, []).append(peaks(names))
                say(f"   peaks, MiB: {memory[name][-1]}")
                assert set(verdicts_of(goal)) == {"CONFORMS"}
                shutil.rmtree(goal)
            if number < rounds and ALONE in chosen:
                taken = pool.submit(one_process, root / "set", cache).result()
                times.setdefault(ALONE, []).append(taken)
                say(f"{ALONE:8}{taken.seconds:9.1f} s{taken.processor:9.1f} s of processors")
    tell(times, memory, counts)


if __name__ == "__main__":
    main()

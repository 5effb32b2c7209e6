"""Measure what one long run costs in parts: checking the parts, joining them, and the memory of it.

``python benchmarks/joined_run.py [--folder FOLDER] [EVENTS...]`` writes a run of each size, checks
it in one process if it has 10^6 events or so, in parts, and joins the parts, without Spark. Runs
in ``FOLDER`` are kept and found again. Each of the three has a process of its own, in which the
same was done with a small run before, so that everything is compiled and loaded. Time is that of
processors: the join is what one worker does while the others have nothing to do.

Memory is the peak of that process in MiB: all, and without the pages of files, which the kernel
takes back when memory is short. Its memory at the start, mostly libraries, is printed as well. A
process that checks or joins parts may have 2 GiB of its own memory (``RLIMIT_DATA``), not more.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
from msgspec.structs import replace

from canvass.conformance.check import check_units
from canvass.conformance.step_lookup import StepLookup
from canvass.corpus.plan import Task, Unit, UnitKind, list_units, pack
from canvass.corpus.rows import RowKind
from canvass.corpus.split import split_large
from canvass.corpus.task_checker import TaskChecker

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.long_runs import write_long_run

SIZES = (1_000_000, 10_000_000)
WHOLE_UP_TO = 2_000_000
"""Events that one process has memory for."""
LIMIT_BYTES = 2 << 30
LOOK_S = 0.02
ONE_PROCESS = "one process"
WARM_EVENTS = 100_000
WARM_PARTS = 3


class Taken(NamedTuple):
    """Time and memory of a call."""

    processor: float
    before_mib: int
    peak_mib: int
    own_mib: int = 0


def memory(name: str, process: str | int = "self") -> int:
    """Give one of the figures of a process's memory, in MiB; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith(f"{name}:")), 0)


def measured(warm: Callable[[], object], action: Callable[[], object]) -> Taken:
    """Do something once it has been done in small, and tell what it took."""
    warm()
    Path("/proc/self/clear_refs").write_text("5")
    before, started = memory("VmRSS"), time.process_time()
    action()
    return Taken(time.process_time() - started, before, memory("VmHWM"))


def in_own_process(
    warm: Callable[[], object], action: Callable[[], object], *, limited: bool
) -> Taken:
    """Measure in a process that does nothing else."""
    context = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=limit if limited else None) as pool:
        found = pool.submit(measured, warm, action)
        (process,) = pool._processes
        own = 0
        while not found.done():
            own = max(own, memory("RssAnon", process))
            time.sleep(LOOK_S)
        return found.result()._replace(own_mib=own)


def limit() -> None:
    """Let this process have no more memory of its own than a small worker."""
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES))


def check_whole(folder: Path, cache: Path) -> None:
    """Check a run in one process."""
    found = check_units(sorted(folder.iterdir()), StepLookup(cache=cache))
    assert found.exit_code == 0


def check_tasks(checker: TaskChecker, tasks: list[Task]) -> None:
    """Do tasks; the one that joins gives the verdict."""
    rows = [row for task in tasks for row in checker.check(task)]
    verdicts = [row.verdict for row in rows if row.kind is RowKind.VERDICT]
    joins = [unit for task in tasks for unit in task if unit.kind is UnitKind.JOIN]
    assert verdicts == ["CONFORMS"] * len(joins)


class Split(NamedTuple):
    """A run that is split: the tasks that check its parts, and the one that joins them."""

    checker: TaskChecker
    parts: list[Task]
    join: list[Task]


def split(folder: Path, cache: Path, work: Path, *, pieces: int | None = None) -> Split:
    """Split a run as a job on Spark does, or into so many pieces."""
    checker = TaskChecker.of(cache=cache)
    checker.prepare(work)
    (unit,) = list_units([folder])
    units = split_large([unit]) if pieces is None else split_large([unit], unit.cost // pieces)
    return Split(checker, pack(units, parallelism=2), [(joining(units),)])


def joining(units: list[Unit]) -> Unit:
    """Give the unit that joins the parts of the one run there is."""
    parts = tuple(unit.part for unit in units if unit.part is not None)
    assert len(parts) == len(units) > 1
    return replace(units[0], kind=UnitKind.JOIN, part=None, runs=("long",), joined=parts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("events", type=int, nargs="*", default=SIZES)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="canvass-joined-run-") as name:
        root = Path(name)
        cache, small = root / "cache", root / "small"
        write_long_run(small / "events-3-00000.parquet", WARM_EVENTS)
        check_whole(small, cache)
        warm = split(small, cache, root / "work-small", pieces=WARM_PARTS)
        check_tasks(warm.checker, warm.parts)
        print(f"{'events':>12}{'':14}{'processor s':>12}{'MiB before':>12}{'peak':>8}{'own':>8}")
        for size in given.events:
            folder = (given.folder or root) / f"long-{size}"
            if not folder.is_dir():
                write_long_run(folder / "events-3-00000.parquet", size)
            events = pq.read_metadata(folder / "events-3-00000.parquet").num_rows
            run = split(folder, cache, root / f"work-{size}")
            before = partial(check_whole, small, cache)
            ways = [
                ("parts", before, partial(check_tasks, run.checker, run.parts)),
                (
                    "join",
                    partial(check_tasks, warm.checker, warm.join),
                    partial(check_tasks, run.checker, run.join),
                ),
            ]
            if events <= WHOLE_UP_TO:
                ways.insert(0, (ONE_PROCESS, before, partial(check_whole, folder, cache)))
            for way, first, action in ways:
                taken = in_own_process(first, action, limited=way != ONE_PROCESS)
                print(f"{events:12,}  {way:12}{taken.processor:12.2f}", end="")
                print(f"{taken.before_mib:12,}{taken.peak_mib:8,}{taken.own_mib:8,}", flush=True)


if __name__ == "__main__":
    main()

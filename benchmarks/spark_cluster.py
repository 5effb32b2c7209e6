"""Try batch verification on a standalone cluster, with a worker killed in the middle.

``python benchmarks/spark_cluster.py [EVENTS [TRIAL...]]`` starts a master and two workers on the
loopback interface from the jars that pyspark brings, records a corpus with good and spoilt runs,
and verifies it three times: in this process, on the cluster undisturbed, and on the cluster while a
worker is killed with its executor as soon as some tasks are done. The verdicts and divergences must
be the same. It ends with an error if they are not, and leaves no process behind.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.corpora import copy_folders, record_runs
from support.spoilt_runs import corrupt
from support.standalone_spark import (
    LOST,
    Cluster,
    Results,
    await_text,
    batch_verify,
    kill_amid,
    results_here,
    results_of,
    standalone_cluster,
)

RUNS, STEPS = 12, 400
EVENTS = 100_000
TASKS = 16
TRIALS = ("undisturbed", "killed")


def say(text: str) -> None:
    """Print at once: somebody is waiting."""
    print(text, flush=True)


def make_corpus(root: Path, events: int) -> Path:
    """Record runs, spoil some, and copy them all."""
    base = record_runs(root / "base", RUNS, STEPS)
    corpus = copy_folders(base, root / "corpus", max(1, events // (RUNS * STEPS)))
    corrupt(corpus)
    return corpus


def try_one(name: str, cluster: Cluster, corpus: Path, out: Path, expected: Results) -> None:
    """Verify on the cluster, compare, and print."""
    began, note = time.monotonic(), ""
    with batch_verify(corpus, out, out.parent / "cache", cluster.url, TASKS) as job:
        if name == "killed":
            note = f" a worker after {kill_amid(cluster, job, out)} tasks"
            await_text(cluster.master_log, LOST)
        code = job.wait()
    found = results_of(out)
    assert found == expected, f"{name}: other verdicts"
    say(f"{name}{note}: {len(found[0]):,} runs, {len(found[1]):,} divergences, the same")
    say(f"  exit code {code}, {time.monotonic() - began:.1f} s")


def main() -> None:
    """Try, compare, and print."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that no process is left behind.
    events = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        corpus = make_corpus(root, events)
        began = time.monotonic()
        expected = results_here(corpus, root / "cache")
        verdicts = sorted(str(row[1]) for row in expected[0])
        count = sum(int(str(row[2])) for row in expected[0])
        say(f"one process: {count:,} events, {time.monotonic() - began:.1f} s with the oracle,")
        say(f"  { ({name: verdicts.count(name) for name in dict.fromkeys(verdicts)}) }")
        with standalone_cluster(root) as cluster:
            for name in sys.argv[2:] or TRIALS:
                try_one(name, cluster, corpus, root / name, expected)


if __name__ == "__main__":
    main()

"""Try batch verification on a standalone cluster, with a worker killed in the middle.

``python benchmarks/spark_cluster.py [EVENTS [TRIAL...]]`` starts a master and two workers on the
loopback interface from the jars that pyspark brings, records a corpus with good and spoilt runs,
and verifies it three times: in this process, on the cluster undisturbed, and on the cluster while a
worker is killed with its executor as soon as some tasks are done. The verdicts and divergences must
be the same. It ends with an error if they are not, and leaves no process behind.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pyspark

from canvass.conformance.check import check_units
from canvass.conformance.judge import Judge

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.corpora import copy_folders, record_runs
from support.spoilt_runs import corrupt

HOST = "127.0.0.1"
RUNS, STEPS = 12, 400
EVENTS = 100_000
TASKS = 16
TRIALS = ("undisturbed", "killed")
PATIENCE_S = 60.0
Told = set[tuple[object, ...]]


def free_port() -> int:
    """Give a port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def environment() -> dict[str, str]:
    """Give the environment of all processes: small, and reachable from this machine only."""
    home = Path(pyspark.__file__).parent
    return os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }


@contextmanager
def daemon(log: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a master or a worker in a process group of its own; kill the group at the end."""
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *words]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=environment(), start_new_session=True
        )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it started, at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def await_text(log: Path, text: str) -> None:
    """Wait until a log has a text."""
    deadline = time.monotonic() + PATIENCE_S
    while text not in log.read_text(errors="replace"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{log} does not say {text!r}")
        time.sleep(0.1)


def verify(corpus: Path, out: Path, cache: Path, master: str) -> subprocess.Popen[bytes]:
    """Begin a batch verification as a user would."""
    words = ["batch", "verify", str(corpus), "--out", str(out), "--cache", str(cache)]
    words += ["--master", master, "--partitions", str(TASKS)]
    return subprocess.Popen(
        [sys.executable, "-m", "canvass.cli.main", *words],
        env=environment(),
        stdout=subprocess.DEVNULL,
    )


def told(out: Path) -> tuple[Told, Told]:
    """Give verdicts and divergences of a report."""
    verdicts = pq.read_table(out / "verdicts").to_pylist()
    divergences = pq.read_table(out / "divergences").to_pylist()
    named = ("run_id", "divergence_class", "name", "member_id", "step", "rank", "reason")
    return (
        {(r["source"], r["verdict"], r["events"], r["unchecked"]) for r in verdicts},
        {tuple(row[name] for name in named) for row in divergences},
    )


def told_here(corpus: Path, cache: Path) -> tuple[Told, Told]:
    """Give what one process says."""
    found = check_units(sorted(corpus.iterdir()), Judge(cache=cache)).runs
    return (
        {(run.path, run.verdict.value, run.events, run.unchecked) for run in found},
        {
            (run.run_id, one.kind.value, one.name, one.member, one.step, one.rank, one.text)
            for run in found
            for one in run.divergences
        },
    )


def make_corpus(root: Path, events: int) -> Path:
    """Record runs, spoil some, and copy them all."""
    base = record_runs(root / "base", RUNS, STEPS)
    corpus = copy_folders(base, root / "corpus", max(1, events // (RUNS * STEPS)))
    corrupt(corpus)
    return corpus


def kill_one(
    workers: list[subprocess.Popen[bytes]], job: subprocess.Popen[bytes], out: Path
) -> int:
    """Kill a worker as soon as a few tasks are done; give how many were."""
    progress = out / "work" / "progress"
    while job.poll() is None:
        done = len(list(progress.iterdir())) if progress.is_dir() else 0
        if done >= 3:
            kill(workers[0])
            return done
        time.sleep(0.02)
    raise RuntimeError("the job was over before a worker could be killed")


def main() -> None:
    """Try, compare, and print."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that no process is left behind.
    events = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    master = f"spark://{HOST}:{free_port()}"
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        root = Path(scratch)
        corpus, cache = make_corpus(root, events), root / "cache"
        expected = told_here(corpus, cache)
        verdicts = sorted(str(row[1]) for row in expected[0])
        print({name: verdicts.count(name) for name in dict.fromkeys(verdicts)})
        words = ["org.apache.spark.deploy.master.Master", "--host", HOST, "--webui-port", "0"]
        log = root / "master.log"
        stack.enter_context(daemon(log, *words, "--port", master.rpartition(":")[2]))
        await_text(log, "I have been elected leader")
        workers = []
        for number in range(2):
            words = ["org.apache.spark.deploy.worker.Worker", "--host", HOST, "--cores", "1"]
            words += ["--memory", "1g", "--webui-port", "0", "--work-dir", str(root / f"w{number}")]
            log = root / f"worker-{number}.log"
            workers.append(stack.enter_context(daemon(log, *words, master)))
            await_text(log, "Successfully registered with master")
        for name in sys.argv[2:] or TRIALS:
            began, out = time.monotonic(), root / name
            job = verify(corpus, out, cache, master)
            stack.callback(job.kill)
            note = ""
            if name == "killed":
                note = f" a worker after {kill_one(workers, job, out)} tasks"
            code = job.wait()
            found = told(out)
            assert found == expected, f"{name}: other verdicts"
            print(f"{name}{note}: {len(found[0]):,} runs, {len(found[1]):,} divergences, the same")
            print(f"  exit code {code}, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()

"""Spark's own servers on the loopback interface, and batch verifications on them as by users.

A master with workers, or a server of Spark Connect, is started from the jars that pyspark contains.
The results of Spark and of one process are brought to the same form here; the corpora are not here.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pyspark

from canvass.conformance.findings import RunVerdict
from canvass.conformance.verify import check_units
from canvass.steps.answers import StepLookup

HOST = "127.0.0.1"
PATIENCE_S = 120.0
TASKS_BEFORE_THE_KILL = 3
LOST = "app of lost executor"
"""The line of the master's log when an application loses an executor with its worker."""

Results = tuple[set[tuple[object, ...]], set[tuple[object, ...]]]
"""The verdicts and the divergences of runs."""


@dataclass(frozen=True)
class Cluster:
    """A master and its workers."""

    url: str
    master_log: Path
    workers: list[subprocess.Popen[bytes]]


def free_port() -> int:
    """Give a port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def environment(memory: str = "256m", python: str = sys.executable) -> dict[str, str]:
    """Give the environment of all processes: small, and reachable from this machine only."""
    home = Path(pyspark.__file__).parent
    return os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": memory,
        "PYSPARK_PYTHON": python,
    }


@contextmanager
def daemon(
    log: Path, *words: str, memory: str = "256m", python: str = sys.executable
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a master, a worker or a server in a process group of its own; kill it at the end."""
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *words]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            env=environment(memory, python),
            start_new_session=True,
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
    """Wait until a log contains a text."""
    deadline = time.monotonic() + PATIENCE_S
    while text not in log.read_text(errors="replace"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{log} does not say {text!r}")
        time.sleep(0.1)


@contextmanager
def standalone_cluster(
    root: Path, workers: int = 2, python: str = sys.executable
) -> Iterator[Cluster]:
    """Start a master and workers of one core each; leave no process behind.

    The workers' Python is ``python``, unless the driver names another one.
    """
    url = f"spark://{HOST}:{free_port()}"
    log = root / "master.log"
    words = ["org.apache.spark.deploy.master.Master", "--host", HOST, "--webui-port", "0"]
    with ExitStack() as stack:
        stack.enter_context(daemon(log, *words, "--port", url.rpartition(":")[2]))
        await_text(log, "I have been elected leader")
        started = []
        for number in range(workers):
            words = ["org.apache.spark.deploy.worker.Worker", "--host", HOST, "--cores", "1"]
            words += ["--memory", "1g", "--webui-port", "0", "--work-dir", str(root / f"w{number}")]
            log = root / f"worker-{number}.log"
            started.append(stack.enter_context(daemon(log, *words, url, python=python)))
        for number in range(workers):
            await_text(root / f"worker-{number}.log", "Successfully registered with master")
        yield Cluster(url, root / "master.log", started)


@contextmanager
def connect_server(root: Path) -> Iterator[str]:
    """Start a server of Spark Connect with two cores; give its address."""
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": HOST,
        "spark.ui.enabled": "false",
        "spark.local.dir": str(root),
        "spark.sql.warehouse.dir": str(root / "warehouse"),
    }
    words = ["org.apache.spark.deploy.SparkSubmit", "--master", "local[2]"]
    words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    words += [word for item in settings.items() for word in ("--conf", "=".join(item))]
    log = root / "connect.log"
    with daemon(log, *words, "spark-internal", memory="1g"):
        await_text(log, "Spark Connect server started")
        yield f"sc://{HOST}:{port}"


@contextmanager
def batch_verify(
    corpus: Path, out: Path, cache: Path, master: str, tasks: int
) -> Iterator[subprocess.Popen[bytes]]:
    """Begin a batch verification as a user would; kill it at the end if it is not over."""
    words = ["batch", "verify", str(corpus), "--out", str(out), "--cache", str(cache)]
    words += ["--master", master, "--partitions", str(tasks)]
    process = subprocess.Popen(
        [sys.executable, "-m", "canvass.cli.main", *words],
        env=environment(),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        kill(process)


def kill_amid(cluster: Cluster, job: subprocess.Popen[bytes]) -> int:
    """Kill a worker with its executor as soon as a few tasks are done; give their number."""
    logs = cluster.master_log.parent
    while job.poll() is None:
        texts = (log.read_text(errors="replace") for log in logs.glob("w*/app-*/*/stderr"))
        done = sum(text.count("Finished task") for text in texts)
        if done >= TASKS_BEFORE_THE_KILL:
            kill(cluster.workers[0])
            return done
        time.sleep(0.02)
    raise RuntimeError("the job was over before a worker could be killed")


def results_of(out: Path) -> Results:
    """Give verdicts and divergences of a report."""
    verdicts = pq.read_table(out / "verdicts").to_pylist()
    divergences = pq.read_table(out / "divergences").to_pylist()
    named = ("run_id", "divergence_class", "name", "member_id", "step", "rank", "reason")
    return (
        {(r["source"], r["verdict"], r["events"], r["unchecked"]) for r in verdicts},
        {tuple(row[name] for name in named) for row in divergences},
    )


def results_here(corpus: Path, cache: Path) -> Results:
    """Give verdicts and divergences from a verification in one process."""
    return results_of_runs(check_units(sorted(corpus.iterdir()), StepLookup(cache=cache)).runs)


def results_of_runs(runs: Iterable[RunVerdict]) -> Results:
    """Give verdicts and divergences of runs."""
    found = list(runs)
    return (
        {(run.path, run.verdict.value, run.events, run.unchecked) for run in found},
        {
            (run.run_id, one.kind.value, one.name, one.member, one.step, one.rank, one.text)
            for run in found
            for one in run.divergences
        },
    )

"""Measure real clusters: committed requests a second, latencies, and how long a restart takes.

The clusters are started as by `canvass run`, on this machine's disk and loopback; each row is a
separate run. A restart is that of a single member: it is timed from opening its files until its
services have processed its whole log. Nothing is asserted, because the figures depend on the
machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, time_ns

from canvass.archive.archive import Archive
from canvass.archive.storage import FileStorage
from canvass.cluster.clocks import Timing
from canvass.cluster.messages import Message
from canvass.cluster.rules import Rules
from canvass.log.entries import SessionMessageHeader
from canvass.node.consensus_module import NodeSettings
from canvass.node.node import Node
from canvass.services.service import REQUEST, Counter
from canvass.transport.messages import (
    PROTOCOL_VERSION,
    Egress,
    SessionConnectRequest,
    SessionEvent,
    StreamMessage,
)

SECONDS = 20
RATES = (50, 100_000)
"""Offered requests per second: few, and more than a cluster can take."""
LENGTHS = (1_000, 10_000, 50_000)
"""Requests in the log of a member that is started again."""


def run(folder: Path, rate: int) -> dict[str, float]:
    """Run a cluster; give its report's figures."""
    command = [sys.executable, "-m", "canvass.cli.main", "run", "--out", str(folder)]
    command += ["--seconds", str(SECONDS), "--load", str(rate)]
    done = subprocess.run(
        [*command, "--clock", "5", "--format", "json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    report = json.loads(done.stdout)
    return {"rate": report["requestsAcknowledged"] / report["seconds"], **report["latencyMs"]}


class Alone:
    """A member alone on real files."""

    def __init__(self, folder: Path) -> None:
        self.sent: list[Egress] = []
        self.storage = FileStorage(folder, sync=False)
        settings = NodeSettings(0, Rules.of("hardened", 1), Timing(), "0=a:1")
        self.service = Counter()
        self.node = Node(
            settings,
            Archive(self.storage),
            [self.service],
            self,
            lambda _limit: 0,
        )
        self.now_ns = time_ns()
        self.node.start(self.now_ns, self.now_ns // 1_000_000)

    def send_egress(self, channel: str, message: Egress) -> None:
        """Keep the message."""
        del channel
        self.sent.append(message)

    def send_consensus(self, to: int, number: int, message: Message) -> None:
        """Do nothing: there is no other member."""

    def send_stream(self, to: int, message: StreamMessage) -> None:
        """Do nothing: there is no other member."""

    def accepts(self, to: int) -> bool:
        """Tell whether a receiver accepts messages: no member does, as there is no other one."""
        return to < 0

    def work(self) -> None:
        """Work until there is nothing to do, beyond the next slow tick."""
        self.now_ns += 20_000_000
        while self.node.work(self.now_ns, self.now_ns // 1_000_000):
            self.now_ns += 1_000


def fill(folder: Path, count: int) -> None:
    """Give a member a log with ``count`` requests."""
    alone = Alone(folder)
    while not alone.node.leads:
        alone.work()
    alone.node.on_ingress(SessionConnectRequest(1, 1, PROTOCOL_VERSION, "client", b""))
    while not alone.sent:
        alone.work()
    opened = alone.sent[0]
    assert isinstance(opened, SessionEvent)
    term = alone.node.member.module_leadership_term_id
    for number in range(1, count + 1):
        payload = REQUEST.pack(1, number) + b"add 1"
        alone.node.on_ingress(SessionMessageHeader(term, opened.cluster_session_id, 0, payload))
        if number % 500 == 0:
            alone.work()
    alone.work()
    alone.node.archive.close()


def restart(folder: Path, count: int) -> tuple[float, float]:
    """Restart a member; give the seconds until its disk is read, and until its log is processed."""
    began_s = perf_counter()
    alone = Alone(folder)
    read_s = perf_counter() - began_s
    while alone.service.snapshot() != b"%d" % count:
        alone.work()
    took_s = perf_counter() - began_s
    alone.node.archive.close()
    return read_s, took_s


def main() -> None:
    """Run all benchmarks and print their rows as they come."""
    with tempfile.TemporaryDirectory() as root:
        for rate in RATES:
            result = run(Path(root, f"{rate}"), rate)
            what = f"offered {rate:,}/s"
            print(
                f"{what:<40} {result['rate']:>7,.0f} requests/s, p50 {result['p50']:,.1f} ms, "
                f"p99 {result['p99']:,.1f} ms, max {result['max']:,.1f} ms",
                flush=True,
            )
        for count in LENGTHS:
            folder = Path(root, f"log-{count}")
            fill(folder, count)
            read_s, took_s = restart(folder, count)
            what = f"restart on {count:,} requests"
            print(f"{what:<40} {read_s:>7.3f} s to read, {took_s:.3f} s in all", flush=True)


if __name__ == "__main__":
    main()

"""How far `canvass watch` is behind logs that grow, and how much memory it takes.

The lines of a captured cluster are written again and again at a given rate, each time with later
stamps, terms and positions; the metrics of the command and the memory of its process are read
meanwhile.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

SAMPLE = Path(__file__).parents[1] / "samples" / "aeron" / "b-leader-killed"
PERIOD_NS = 60_000_000_000
TERMS, BYTES = 3, 1 << 20

_STAMP = re.compile(r"^\[(\d+)\.(\d{9})\]")
_TERM = re.compile(r"\b((?:logL|l|candidateT|nextL)[a-zA-Z]*TermId|candidateTermId)=(\d+)")
_POSITION = re.compile(r"\b([a-zA-Z]*[pP]osition)=(\d+)")


def shifted(line: str, loop: int) -> str:
    """A line as it would be in a later run of the same cluster."""
    stamp = _STAMP.match(line)
    if stamp is None:
        return line
    nanos = int(stamp[1] + stamp[2]) + loop * PERIOD_NS
    rest = _TERM.sub(lambda m: f"{m[1]}={int(m[2]) + loop * TERMS}", line[stamp.end() :])
    rest = _POSITION.sub(lambda m: f"{m[1]}={int(m[2]) + loop * BYTES}", rest)
    return f"[{nanos // 10**9}.{nanos % 10**9:09d}]{rest}"


def merged() -> list[tuple[int, str]]:
    """The members' lines in the order of their stamps."""
    found = []
    for member_id in (0, 1, 2):
        with gzip.open(SAMPLE / f"member-{member_id}.log.gz", "rt") as file:
            for line in file:
                stamp = _STAMP.match(line)
                found.append((stamp[1] + stamp[2] if stamp else "", member_id, line))
    return [(member_id, line) for _, member_id, line in sorted(found)]


def endless(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines for ever."""
    loop = 0
    while True:
        for member_id, line in lines:
            yield member_id, shifted(line, loop)
        loop += 1


def memory_mib(pid: int) -> float:
    """Resident memory of a process."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]


def main() -> None:
    """Write, watch and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=5000, help="lines a second")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--port", type=int, default=19177)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="canvass-watch-") as name:
        folder = Path(name)
        files = [(folder / f"member-{k}.log").open("w") for k in (0, 1, 2)]
        program = [sys.executable, "-m", "canvass.cli.main", "watch", name]
        watch = subprocess.Popen(
            [*program, "--metrics", str(given.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            run(given, files, watch.pid)
        finally:
            watch.terminate()
            watch.wait()
            for file in files:
                file.close()


def run(given: argparse.Namespace, files: Sequence[TextIO], pid: int) -> None:
    """Write at the rate, and look each second."""
    source, written, size = endless(merged()), 0, 0
    begun = time.monotonic()
    behind: list[float] = []
    sizes: list[float] = []
    first = 1
    for second in range(given.seconds):
        for slice_ in range(10):
            for _ in range(given.rate // 10):
                member_id, line = next(source)
                size += files[member_id].write(line)
            for file in files:
                file.flush()
            written += given.rate // 10
            due = begun + second + (slice_ + 1) / 10
            time.sleep(max(0.0, due - time.monotonic()))
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{given.port}/metrics") as answer:
                text = answer.read().decode()
        except urllib.error.URLError:
            if behind:
                raise
            first = second + 2
            continue  # Python starts.
        read = sum(int(n) for n in re.findall(r"canvass_read_bytes_total\{.*\} (\d+)", text))
        behind.append((size - read) / (size / written) / given.rate)
        sizes.append(memory_mib(pid))
    elapsed = time.monotonic() - begun
    print(f"{written:,} lines written at {written / elapsed:,.0f} lines/s")
    print(f"behind: {max(behind):.2f} s at most, {sum(behind) / len(behind):.2f} s on average")
    text = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    cpu = (int(text[11]) + int(text[12])) / os.sysconf("SC_CLK_TCK")
    print(f"processor: {cpu / elapsed:.2f} of one core")
    half = sizes[len(sizes) // 2]
    at_last = f"{half:.0f} MiB at half of the time, {sizes[-1]:.0f} MiB at the end"
    print(f"memory: {sizes[0]:.0f} MiB after {first} s, {at_last}")


if __name__ == "__main__":
    main()

"""Measure how fast event logs are read: the shipped captured runs, repeated to a size that tells.

Run with `python benchmarks/aeron_log_parse.py [--lines N] [--rounds N]`. Printed are medians, in
lines per second of processor time: of cutting and classifying alone, of all lines, of cluster lines
only.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

from canvass.traces.aeron_log.parser import LogParser

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "aeron"
PIECE_BYTES = 1 << 18


def captured() -> list[bytes]:
    """Lines of all shipped logs."""
    paths = sorted(SAMPLES.glob("*/member-*.log.gz"))
    return [line for path in paths for line in gzip.decompress(path.read_bytes()).splitlines()]


def repeated(lines: list[bytes], count: int) -> bytes:
    """So many lines of a log, the given ones over and over."""
    times = -(-count // len(lines))
    return b"\n".join((lines * times)[:count]) + b"\n"


def classify(data: bytes) -> int:
    """Cut into lines and tell the component and event of each: what any reader must do."""
    found = 0
    for line in data.decode("ascii").split("\n"):
        words = line.split(" ", 3)
        found += len(words) > 2 and words[1] == "CLUSTER:" and words[2].isupper()
    return found


def parse(data: bytes) -> int:
    """Read into typed records."""
    parser = LogParser()
    parser.begin_file("benchmark")
    found = sum(
        len(parser.feed(data[at : at + PIECE_BYTES])) for at in range(0, len(data), PIECE_BYTES)
    )
    return found + len(parser.end_file()) + len(parser.close())


def rate(run: Callable[[bytes], int], data: bytes, rounds: int) -> float:
    """Lines per second, the median of some rounds."""
    times = []
    for _ in range(rounds):
        start = process_time()
        run(data)
        times.append(process_time() - start)
    return data.count(b"\n") / median(times)


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--lines", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=7)
    given = arguments.parse_args()
    lines = captured()
    cluster = [line for line in lines if b"] CLUSTER: " in line]
    states = [line for line in cluster if b"_POSITION [" not in line]
    mixed = repeated(lines, given.lines)
    table = {
        "classified, all lines": rate(classify, mixed, given.rounds),
        "parsed, all lines": rate(parse, mixed, given.rounds),
        "parsed, cluster lines": rate(parse, repeated(cluster, given.lines), given.rounds),
        "parsed, without positions": rate(parse, repeated(states, given.lines), given.rounds),
        "parsed, twice as many": rate(parse, repeated(lines, 2 * given.lines), given.rounds),
    }
    for name, value in table.items():
        sys.stdout.write(f"{name:<28}{value:>12,.0f} lines/s\n")


if __name__ == "__main__":
    main()

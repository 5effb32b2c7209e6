"""Logs of whole clusters that nobody's cluster wrote: pieces of captured ones, spoilt from a seed.

Each is a folder's worth of files, by name. What is spoilt is small, so that many can be tried: a
stretch of a capture with its beginning, of one to all members, of all releases.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from support.aeron_runs import FINDING, RELEASES, SAMPLES

Lines: TypeAlias = list[bytes]
Cluster: TypeAlias = dict[int, Lines]

_NUMBERS: Final = (
    b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808", b"9" * 300, b"-1",
    b"-2", b"0", b"1", b"2", b"3", b"8", b"9", b"96", b"97", b"4294967296", b"2147483647", b"",
    b"1e9", b"null", b"true",
)  # fmt: skip
_BYTES: Final = (b"\0", b"\xff\xfe", b"\x1b[31m", b"\r", b"\n", b'"', b"=", b"\xc3\x28", b"[", b" ")
_KINDS: Final = (
    "spoil a number", "spoil a number", "swap two numbers", "delete", "delete", "double", "double",
    "reorder", "move far", "swap files", "mix releases", "empty file", "no file", "NULs", "bytes",
    "truncate", "encoding", "long line", "another member", "restart", "drop an event", "grow",
)  # fmt: skip


@cache
def _captures() -> tuple[Cluster, ...]:
    """The lines of each member of each captured cluster."""
    folders = (*RELEASES, *SAMPLES, FINDING)
    return tuple(
        {
            int(log.name.split(".")[0].split("-")[1]): _lines(log)
            for log in sorted(folder.glob("member-*.log.gz"))
        }
        for folder in folders
    )


def _lines(log: Path) -> Lines:
    """The lines of the cluster's component, with the headers of processes."""
    lines = gzip.decompress(log.read_bytes()).splitlines(keepends=True)
    return [line for line in lines if b" CLUSTER: " in line or b"log started" in line]


def _excerpt(random: Random) -> Cluster:
    """The beginnings of one captured cluster's logs, or a stretch of each somewhere else."""
    size = random.choice((3, 12, 30, 60))
    found = {}
    share = random.random() if random.random() < 0.4 else 0.0
    for i, lines in random.choice(_captures()).items():
        start = int(share * len(lines))
        found[i] = lines[start : start + random.randint(1, size)]
    return found


def _numbers(line: bytes) -> list[tuple[int, int]]:
    """Where the digits of each number of a line begin and end."""
    spans, at = [], 0
    while at < len(line):
        end = at
        while end < len(line) and line[end : end + 1].isdigit():
            end += 1
        if end > at:
            spans.append((at, end))
        at = end + 1
    return spans


def _spoil_number(random: Random, line: bytes, other: bytes) -> bytes:
    """A line with one number as another line has it, a little off, or one of the worst."""
    spans, others = _numbers(line), _numbers(other)
    if not spans:
        return line
    at, end = random.choice(spans)
    match random.randrange(3):
        case 0:
            put = random.choice(_NUMBERS)
        case 1 if others:
            first, last = random.choice(others)
            put = other[first:last]
        case _:
            off = random.choice((-1, 1, 32, -32, 96, 1 << 20))
            put = str(int(line[at:end][:18]) + off).encode()
    return line[:at] + put + line[end:]


def _spoil(random: Random, kind: str, cluster: Cluster) -> None:
    """Spoil a cluster in one way, in one place."""
    i = random.choice(sorted(cluster))
    lines = cluster[i]
    if not lines:
        return
    at = random.randrange(len(lines))
    size = random.choice((1, 1, 2, 5, 20))
    match kind:
        case "spoil a number":
            lines[at] = _spoil_number(random, lines[at], random.choice(lines))
        case "swap two numbers":
            other = random.randrange(len(lines))
            first, second = lines[at], lines[other]
            lines[at] = _spoil_number(random, first, second)
            lines[other] = _spoil_number(random, second, first)
        case "delete":
            del lines[at : at + size]
        case "double":
            lines[at:at] = lines[at : at + size]
        case "reorder":
            part = lines[at : at + size + 1]
            random.shuffle(part)
            lines[at : at + size + 1] = part
        case "move far":
            part = lines[at : at + size]
            del lines[at : at + size]
            place = random.randrange(len(lines) + 1)
            lines[place:place] = part
        case "swap files":
            j = random.choice(sorted(cluster))
            cluster[i], cluster[j] = cluster[j], cluster[i]
        case "mix releases":
            donor = random.choice(_captures())
            cluster[i] = list(random.choice(list(donor.values()))[: len(lines)])
        case "empty file":
            cluster[i] = []
        case "no file":
            if len(cluster) > 1:
                del cluster[i]
        case "NULs":
            lines[at] = lines[at][: len(lines[at]) // 2] + b"\0" * random.choice((1, 64, 4096))
        case "bytes":
            place = random.randrange(len(lines[at]) + 1)
            put = random.choice((*_BYTES, random.randbytes(8)))
            lines[at] = lines[at][:place] + put + lines[at][place:]
        case "truncate":
            lines[at] = lines[at][: random.randrange(len(lines[at]) + 1)]
            if random.random() < 0.5:
                del lines[at + 1 :]
        case "encoding":
            text = b"".join(lines).decode("latin-1")
            name = random.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp037"))
            cluster[i] = [text.encode(name)]
        case "long line":
            filler = random.choice((b"a", b"9", b" ", b"=", b'"', b"a=1 "))
            lines[at] = lines[at].rstrip() + filler * random.choice((2_000, 70_000)) + b"\n"
        case "another member":
            m = random.choice(b"0123456789")
            member = b"memberId=%c" % m
            lines[at] = lines[at].replace(b"memberId=%d" % i, member)
        case "restart":
            starts = [line for line in lines if b"log started" in line or b"INIT" in line]
            lines.insert(at, random.choice(starts or lines))
        case "drop an event":
            words = lines[at].split(b" ", 3)
            event = b" ".join(words[1:3])
            for each in cluster:
                cluster[each] = [one for one in cluster[each] if event not in one]
        case "grow":
            lines[at:at] = [lines[at]] * random.choice((50, 200))


def hostile_cluster(seed: str) -> dict[str, bytes]:
    """The files of one folder of logs."""
    random = Random(seed)
    cluster = {i: list(lines) for i, lines in _excerpt(random).items()}
    for _ in range(random.choice((0, 1, 1, 2, 3, 8))):
        _spoil(random, random.choice(_KINDS), cluster)
    return {f"member-{i}.log": b"".join(lines) for i, lines in cluster.items()}


def hostile_clusters(seed: int, count: int) -> Iterator[dict[str, bytes]]:
    """The files of so many folders."""
    for number in range(count):
        yield hostile_cluster(f"{seed} {number}")

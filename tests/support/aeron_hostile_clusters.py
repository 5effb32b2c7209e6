"""Logs of whole clusters that no cluster wrote: pieces of captured ones, damaged from a seed.

Each cluster is the files of one folder, by name. The pieces are small, so that many can be tried: a
stretch of a capture with its beginning, of one to all members, of all releases.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from support.aeron_runs import FINDING, RELEASES, SAMPLES

Lines: TypeAlias = list[bytes]
Cluster: TypeAlias = dict[int, Lines]
Files: TypeAlias = dict[str, bytes]
"""Names and contents of a cluster's log files."""

_NUMBERS: Final = (
    b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808", b"9" * 300, b"-1",
    b"-2", b"0", b"1", b"2", b"3", b"8", b"9", b"96", b"97", b"4294967296", b"2147483647", b"",
    b"1e9", b"null", b"true",
)  # fmt: skip
_BYTES: Final = (b"\0", b"\xff\xfe", b"\x1b[31m", b"\r", b"\n", b'"', b"=", b"\xc3\x28", b"[", b" ")
_OF_A_LINE: Final = (
    "number", "number", "number", "NULs", "bytes", "truncate", "long", "member", "restart", "grow",
)  # fmt: skip
_OF_A_BLOCK: Final = ("delete", "double", "reorder", "move")
_OF_FILES: Final = ("swap", "mix releases", "empty", "remove", "encode", "drop an event", "end")


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
    """The beginnings of one captured cluster's logs, or another stretch of each."""
    size = random.choice((3, 12, 30, 60))
    found = {}
    share = random.random() if random.random() < 0.4 else 0.0
    for i, lines in random.choice(_captures()).items():
        start = int(share * len(lines))
        found[i] = lines[start : start + random.randint(1, size)]
    return found


def _spoil_number(random: Random, line: bytes, other: bytes) -> bytes:
    """A line with one number changed: to that of another line, a little, or to an extreme one."""
    found, others = list(re.finditer(rb"\d+", line)), re.findall(rb"\d+", other)
    if not found:
        return line
    at, end = random.choice(found).span()
    match random.randrange(3):
        case 0:
            put = random.choice(_NUMBERS)
        case 1 if others:
            put = random.choice(others)
        case _:
            off = random.choice((-1, 1, 32, -32, 96, 1 << 20))
            put = str(int(line[at:end][:18]) + off).encode()
    return line[:at] + put + line[end:]


def _spoiled_line(random: Random, kind: str, line: bytes, lines: Lines) -> Lines:
    """The replacement of a line."""
    place = random.randrange(len(line) + 1)
    match kind:
        case "number":
            return [_spoil_number(random, line, random.choice(lines))]
        case "NULs":
            return [line[:place] + b"\0" * random.choice((1, 64, 4096))]
        case "bytes":
            return [line[:place] + random.choice((*_BYTES, random.randbytes(8))) + line[place:]]
        case "truncate":
            return [line[:place]]
        case "long":
            filler = random.choice((b"a", b"9", b" ", b"=", b'"', b"a=1 "))
            return [line.rstrip() + filler * random.choice((2_000, 70_000)) + b"\n"]
        case "member":
            return [re.sub(rb"memberId=\d+", b"memberId=%d" % random.randrange(10), line)]
        case "restart":
            starts = [one for one in lines if b"log started" in one or b"INIT" in one]
            return [random.choice(starts or lines), line]
        case _:
            return [line] * random.choice((50, 200))


def _spoil_block(random: Random, kind: str, lines: Lines) -> None:
    """Delete, repeat or move a block of lines, or change their order."""
    at = random.randrange(len(lines))
    end = at + random.choice((1, 1, 2, 5, 20))
    block = lines[at:end]
    match kind:
        case "delete":
            del lines[at:end]
        case "double":
            lines[at:at] = block
        case "reorder":
            random.shuffle(block)
            lines[at:end] = block
        case _:
            del lines[at:end]
            place = random.randrange(len(lines) + 1)
            lines[place:place] = block


def _spoil_files(random: Random, kind: str, cluster: Cluster, i: int) -> None:
    """Damage whole files: swap, replace, empty, remove, encode or cut them, or drop an event."""
    lines = cluster[i]
    match kind:
        case "swap":
            j = random.choice(sorted(cluster))
            cluster[i], cluster[j] = cluster[j], cluster[i]
        case "mix releases":
            donor = random.choice(_captures())
            cluster[i] = list(random.choice(list(donor.values()))[: len(lines)])
        case "empty":
            cluster[i] = []
        case "remove" if len(cluster) > 1:
            del cluster[i]
        case "encode":
            text = b"".join(lines).decode("latin-1")
            name = random.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp037"))
            cluster[i] = [text.encode(name)]
        case "drop an event":
            event = b" ".join(random.choice(lines).split(b" ", 3)[1:3])
            for each in cluster:
                cluster[each] = [one for one in cluster[each] if event not in one]
        case _:
            del lines[random.randrange(len(lines)) :]


def _spoil(random: Random, cluster: Cluster) -> None:
    """Spoil a cluster in one way, in one place."""
    i = random.choice(sorted(cluster))
    if not (lines := cluster[i]):
        return
    kind = random.choice((*_OF_A_LINE, *_OF_A_BLOCK * 2, *_OF_FILES))
    if kind in _OF_FILES:
        _spoil_files(random, kind, cluster, i)
    elif kind in _OF_A_BLOCK:
        _spoil_block(random, kind, lines)
    else:
        at = random.randrange(len(lines))
        lines[at : at + 1] = _spoiled_line(random, kind, lines[at], lines)


def hostile_cluster(seed: str) -> Files:
    """The files of one folder of logs."""
    random = Random(seed)
    cluster = {i: list(lines) for i, lines in _excerpt(random).items()}
    for _ in range(random.choice((0, 1, 1, 2, 3, 8))):
        _spoil(random, cluster)
    return {f"member-{i}.log": b"".join(lines) for i, lines in cluster.items()}


def hostile_clusters(seed: int, count: int) -> Iterator[Files]:
    """The files of ``count`` folders."""
    for number in range(count):
        yield hostile_cluster(f"{seed} {number}")


def write_files(folder: Path, files: Files) -> Path:
    """Write the files of a cluster in a new folder."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder

"""Damage to log files as disks, pipes, editors and clocks do it, drawn from a seed.

Nothing here knows what a line means, but for its stamp.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

Files: TypeAlias = dict[str, bytes]
"""Names and contents of a cluster's log files."""

_OTHER_LINES: Final = (
    b"[1342.000000001] DRIVER: FRAME_OUT [32/32]: address=/127.0.0.1:40123 type=DATA",
    b"[1342.000000002] ARCHIVE: CMD_IN_KEEP_ALIVE [24/24]: controlSessionId=1 correlationId=-1",
    b"[1342.000000003] CLUSTER: NEWS_OF_TOMORROW [8/8]: memberId=0 what=unknown",
    b"[1342.000000004] CLUSTER: COMMIT_POSITION",
    b"java.lang.IllegalStateException: not of the log",
    b"\tat org.example.Service.onMessage(Service.java:42)",
    b"",
    b"\xff\xfe\x00 not text",
)


def _lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")


def _joined(lines: list[bytes]) -> bytes:
    return b"\n".join(lines)


def cut_block(data: bytes, rng: Random) -> bytes:
    """Lines are missing."""
    lines = _lines(data)
    at = rng.randrange(len(lines))
    return _joined(lines[:at] + lines[at + rng.choice((1, 3, 20, 150)) :])


def cut_bytes(data: bytes, rng: Random) -> bytes:
    """Bytes are missing; what was before and behind them is one line now."""
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 7, 90, 3000)) :]


def cut_end(data: bytes, rng: Random) -> bytes:
    """The file ends early."""
    return data[: rng.randrange(len(data))]


def cut_beginning(data: bytes, rng: Random) -> bytes:
    """The file begins late."""
    return data[rng.randrange(len(data)) :]


def double_lines(data: bytes, rng: Random) -> bytes:
    """Lines were written twice."""
    lines = _lines(data)
    at, size = rng.randrange(len(lines)), rng.choice((1, 1, 5, 60))
    return _joined(lines[: at + size] + lines[at:])


def exchange_lines(data: bytes, rng: Random) -> bytes:
    """Two lines have changed places."""
    lines = _lines(data)
    one, other = (rng.randrange(len(lines)) for _ in range(2))
    lines[one], lines[other] = lines[other], lines[one]
    return _joined(lines)


def overwrite(data: bytes, rng: Random) -> bytes:
    """A block was never written to disk."""
    at = rng.randrange(len(data))
    size = min(rng.choice((1, 16, 512, 4096)), len(data) - at)
    return data[:at] + rng.choice((b"\0", b"\xff", b" ", b"9")) * size + data[at + size :]


def interleave(data: bytes, rng: Random) -> bytes:
    """Another process wrote into the same file."""
    lines = _lines(data)
    for _ in range(rng.choice((1, 4, 40))):
        lines.insert(rng.randrange(len(lines)), rng.choice(_OTHER_LINES))
    at = rng.randrange(len(lines))
    middle = rng.randint(0, len(lines[at]))
    lines[at] = lines[at][:middle] + rng.choice(_OTHER_LINES) + lines[at][middle:]
    return _joined(lines)


def use_windows_ends(data: bytes, _rng: Random) -> bytes:
    """An editor has changed the ends of the lines."""
    return data.replace(b"\n", b"\r\n")


def move_clock(data: bytes, rng: Random) -> bytes:
    """The clock jumps in the midst of a life, or the whole log is on another one."""
    lines = _lines(data)
    shift = rng.choice((-1000, -5, 3, 86_400))

    def moved(match: re.Match[bytes]) -> bytes:
        return b"[%d." % (int(match[1]) + shift)

    at = rng.choice((0, rng.randrange(len(lines))))
    later = [re.sub(rb"^\[(\d+)\.", moved, line) for line in lines[at:]]
    return _joined(lines[:at] + later)


def change_numbers(data: bytes, rng: Random) -> bytes:
    """Numbers of some lines are others."""
    lines = _lines(data)
    values = (b"-1", b"0", b"7", b"63", b"64", b"9223372036854775807", b"99999999999999999999")
    for _ in range(rng.choice((1, 3))):
        at = rng.randrange(len(lines))
        if found := list(re.finditer(rb"=(-?\d+)", lines[at])):
            match = rng.choice(found)
            line = lines[at]
            lines[at] = line[: match.start(1)] + rng.choice(values) + line[match.end(1) :]
    return _joined(lines)


DAMAGES: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (
    cut_block,
    cut_bytes,
    cut_end,
    cut_beginning,
    double_lines,
    exchange_lines,
    overwrite,
    interleave,
    use_windows_ends,
    move_clock,
    change_numbers,
)


def damaged(files: Files, rng: Random) -> Files:
    """Files to which up to three things have happened."""
    found = dict(files)
    for _ in range(rng.choice((1, 1, 2, 3))):
        name = rng.choice(sorted(found))
        if found[name]:
            found[name] = rng.choice(DAMAGES)(found[name], rng)
    return _as_files(found, rng)


def _as_files(files: Files, rng: Random) -> Files:
    """Some logs are compressed, cut after that, rolled, lost, or there twice."""
    found: Files = {}
    for name, data in files.items():
        kind = rng.choice(("plain", "plain", "plain", "gzip", "torn", "rolled", "lost", "twice"))
        if kind in ("gzip", "torn"):
            packed = gzip.compress(data, mtime=0)
            found[f"{name}.gz"] = packed[: rng.randrange(len(packed))] if kind == "torn" else packed
        elif kind == "rolled":
            at = data.find(b"\n", rng.randint(0, len(data))) + 1
            found[f"{name}.1"], found[name] = data[:at], data[at:]
        elif kind != "lost":
            found[name] = data
        if kind == "twice":
            found[f"again-{name}"] = data
    return found


def write_files(folder: Path, files: Files) -> Path:
    """Write the files into a new folder."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder

"""Bytes that no logger writes, drawn from a seed.

They are random bytes, and lines of real logs of all releases, damaged as by disks, editors,
encodings and attackers.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Final

from support.aeron_runs import RELEASES

_NUMBERS: Final = (
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"9" * 400, b"-0",
    b"1e9", b"0x10", b"1_0", b"+1", b"NaN", b"", b"-", "\u0661\u0662".encode(), b"1.0", b"00000001",
)  # fmt: skip
_PIECES: Final = (
    b'"', b'reason="', b'""', b" -> ", b"=", b" ", b"\n", b"\r", b"\r\n", b"\0", b"\x1b[31m",
    b"\xff", b"\xef\xbb\xbf", "\u2028".encode(), "\U0001f600".encode(), b"[", b"]",
    b"[1.000000000] ",
    b"[-1.-5] ", b"[99999999999.000000000] ", b" CLUSTER: ", b" ARCHIVE: ", b"log started ",
    b"log started 9999-99-99 99:99:99.999+9999", b"log started 0001-01-01 00:00:00.000+2359",
    b", enabled loggers: {", b"{CLUSTER: version=1.52.2}", b"version=99999.1", b" (truncated)",
    b" memberId=", b" memberId=8", b" memberId=-2", b"CLUSTER: START version=", b"[9/9]:", b"null",
    b"{" * 50, b"=" * 200, b'"' * 99, b"a=" * 60, b"a" * 70_000,
)  # fmt: skip


@cache
def _lines() -> tuple[bytes, ...]:
    """A line of each kind from the captures of each release: all events, and other lines."""
    found: dict[bytes, bytes] = {}
    for run in RELEASES:
        for log in sorted(run.glob("member-*.log.gz")):
            for line in gzip.decompress(log.read_bytes()).splitlines():
                words = line.split(b" ", 3)
                found.setdefault(run.name[:4].encode() + b" ".join(words[1:3]), line)
    return tuple(found.values())


def _random_bytes(random: Random) -> bytes:
    return random.randbytes(random.choice((0, 1, 2, 30, 2000)))


def _log(random: Random) -> bytes:
    """Real lines of all releases in any order."""
    lines = [random.choice(_lines()) for _ in range(random.choice((1, 2, 5, 30)))]
    ends = random.choice(((b"\n",), (b"\r\n",), (b"\n", b"\n", b"", b"\r", b"\n\n")))
    return b"".join(line + random.choice(ends) for line in lines)


def _with_number(random: Random) -> bytes:
    """A value of a line is replaced."""
    log = _log(random)
    if not (at := [k for k in range(len(log)) if log[k : k + 1] == b"="]):
        return log
    place = random.choice(at) + 1
    end = place
    while end < len(log) and log[end : end + 1] not in (b" ", b"\n"):
        end += 1
    return log[:place] + random.choice((*_NUMBERS, *_PIECES)) + log[end:]


def _with_pieces(random: Random) -> bytes:
    """Pieces of lines are inserted at wrong places."""
    log = _log(random)
    for _ in range(random.choice((1, 3, 12))):
        at = random.randrange(len(log) + 1)
        log = log[:at] + random.choice(_PIECES) + log[at:]
    return log


def _only_pieces(random: Random) -> bytes:
    return b"".join(random.choice(_PIECES) for _ in range(random.randrange(40)))


def _torn(random: Random) -> bytes:
    """Bytes are missing, doubled or flipped."""
    log = bytearray(_log(random))
    for _ in range(random.choice((1, 4, 20))):
        at = random.randrange(len(log) + 1)
        size = random.choice((1, 3, 60, 400))
        match random.randrange(4):
            case 0:
                del log[at : at + size]
            case 1:
                log[at:at] = log[at : at + size]
            case 2:
                log[at : at + 1] = random.randbytes(1)
            case _:
                log[at : at + size] = b"\0" * size
    return bytes(log)


def _encoded(random: Random) -> bytes:
    """The text in another encoding, as some shells and editors write it."""
    text = _log(random).decode("latin-1")
    return text.encode(random.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7")))


_KINDS: Final[tuple[Callable[[Random], bytes], ...]] = (
    _random_bytes, _log, _with_number, _with_pieces, _only_pieces, _torn, _torn, _encoded,
)  # fmt: skip


def hostile_files(seed: int, count: int) -> Iterator[bytes]:
    """The contents of ``count`` files."""
    for number in range(count):
        random = Random(f"{seed} {number}")
        yield random.choice(_KINDS)(random)

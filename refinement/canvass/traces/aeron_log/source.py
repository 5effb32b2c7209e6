"""Files to bytes: plain, gzip or Zstandard, streamed, with a cap on what comes out.

This is the only module of the package that opens files. A compressed file that ends too early gives
what it holds, and says so; one whose data is damaged is refused.
"""

from __future__ import annotations

import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import zstandard

from canvass.traces.aeron_log.errors import AeronLogError, LogCode

_NAME: Final = re.compile(r"member-([0-9]{1,18})\.log(?:\.([0-9]{1,9}))?(?:\.gz|\.zst)?")


_SIMILAR: Final = re.compile(r"member.*log.*", re.IGNORECASE)


class LogName(NamedTuple):
    """What the name of a log says."""

    member_id: int
    part: int | None
    """The number of a file that was rolled."""


def parse_log_name(name: str) -> LogName | None:
    """Read the name of a file; None if it is not that of a member's log."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return LogName(int(match[1]), None if match[2] is None else int(match[2]))


def is_log_name(name: str) -> bool:
    """Tell whether a file has the name of a member's log."""
    return _NAME.fullmatch(name) is not None


def is_similar_name(name: str) -> bool:
    """Tell whether the name of a file is almost that of a member's log: somebody may mean one."""
    return _NAME.fullmatch(name) is None and _SIMILAR.fullmatch(name) is not None


CHUNK_BYTES: Final = 1 << 18
"""What is read at once of a file that is not compressed, and the most that gzip is asked for."""

PACKED_CHUNK_BYTES: Final = 1 << 10
"""What is read at once of one that is. Small, so that a bomb is noticed before much is unpacked:
Zstandard gives all that the input holds, at most 128 KiB for 4 bytes, so 32 MiB for this.
"""

MAX_LOG_BYTES: Final = 1 << 33
"""Of one file, unpacked: 8 GiB, about the length of the longest log that the line limit allows."""

MAX_RATIO: Final = 200
"""Event logs pack 7 to 20 times; a bomb 1000 times and more."""

RATIO_FREE_BYTES: Final = 1 << 20
"""Output up to which the ratio says nothing."""


_GZIP: Final = 31
"""zlib's number for: with the header and check sum of gzip."""


class LogSource:
    """One file, read once.

    Parameters
    ----------
    path
        Ends in ``.gz`` or ``.zst`` if it is compressed.

    Attributes
    ----------
    cut
        After reading: the compressed data ended before its end mark.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut = False

    def pieces(self) -> Iterator[bytes]:
        """Bytes of the log, in pieces of bounded size.

        Raises
        ------
        AeronLogError
            If the file cannot be read, is no regular file, is damaged, or unpacks to too much.
        """
        try:
            # Not to hang on a pipe that carries a log's name.
            handle = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise self._error(LogCode.UNREADABLE, _cause(error)) from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise self._error(LogCode.UNREADABLE, "not a regular file")
        with os.fdopen(handle, "rb", buffering=0) as file:
            try:
                yield from self._capped(file)
            except OSError as error:
                raise self._error(LogCode.UNREADABLE, _cause(error)) from None
            except (zlib.error, zstandard.ZstdError):
                raise self._error(
                    LogCode.COMPRESSED_DATA, "the compressed data is damaged"
                ) from None

    def _capped(self, file: BinaryIO) -> Iterator[bytes]:
        unpack = {".gz": self._gzip, ".zst": self._zstd}.get(self.path.suffix, self._plain)
        given = 0
        for piece in unpack(file):
            given += len(piece)
            if given > MAX_LOG_BYTES:
                raise self._error(LogCode.TOO_LARGE, f"longer than {MAX_LOG_BYTES} bytes")
            packed = unpack != self._plain
            if packed and given > RATIO_FREE_BYTES + MAX_RATIO * file.tell():
                reason = f"unpacks to more than {MAX_RATIO} times its size"
                raise self._error(LogCode.COMPRESSION_RATIO, reason)
            yield piece

    def _plain(self, file: BinaryIO) -> Iterator[bytes]:
        while piece := file.read(CHUNK_BYTES):
            yield piece

    def _gzip(self, file: BinaryIO) -> Iterator[bytes]:
        unpacker = zlib.decompressobj(wbits=_GZIP)
        started = False
        while data := file.read(PACKED_CHUNK_BYTES):
            while True:
                piece = unpacker.decompress(data, CHUNK_BYTES)
                started = True
                if piece:
                    yield piece
                if unpacker.eof:
                    # Logs are packed in parts that follow each other, and padded by some tools.
                    data = unpacker.unused_data.lstrip(b"\0")
                    unpacker, started = zlib.decompressobj(wbits=_GZIP), False
                    if not data:
                        break
                else:
                    data = unpacker.unconsumed_tail
                    if not data and len(piece) < CHUNK_BYTES:
                        break
        self.cut = started or file.tell() == 0

    def _zstd(self, file: BinaryIO) -> Iterator[bytes]:
        frames = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        unpacker = frames.decompressobj()
        started = False
        while data := file.read(PACKED_CHUNK_BYTES):
            while data:
                piece = unpacker.decompress(data)
                started = True
                if piece:
                    yield piece
                data = b""
                if unpacker.eof:
                    data = unpacker.unused_data
                    unpacker, started = frames.decompressobj(), False
        self.cut = started or file.tell() == 0

    def _error(self, code: LogCode, reason: str) -> AeronLogError:
        return AeronLogError(str(self.path), 0, 0, code, reason)


def _cause(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or "not a file name"

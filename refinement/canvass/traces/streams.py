"""Files as streams of bytes: plain, gzip or zstandard, by the suffix, with bounded memory.

Only this module of the package opens trace files for reading, and regular files only. Of links it
follows those of event logs. It follows no link in a run: the run may be a stranger's, and reports
show what is in its files. This module does not know what the bytes mean.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final, Protocol, Self

import zstandard

from canvass.traces.errors import Code, TraceError
from canvass.traces.limits import MAX_RATIO, MAX_WINDOW_BYTES, RATIO_FREE_BYTES

SUFFIXES: Final = ("", ".gz", ".zst")
"""Suffixes of a stream's file."""

_GZIP_PIECE: Final = 1 << 16
_ZSTD_PIECE: Final = 1 << 9
"""Compressed bytes of one read. One piece of zstandard decompresses to at most 16 MiB at once."""
_GZIP_WINDOW: Final = 31


class Source(Protocol):
    """Bytes to read, in any pieces."""

    def read(self, size: int, /) -> bytes:
        """Return at least one byte and about ``size`` at most; none at the end."""
        ...


class _Decoder(Protocol):
    """The common properties of the decompression objects of zlib and zstandard."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


class Decompressor:
    """The bytes of a gzip or zstandard file, member after member.

    If the file stops within a member, or has no member, ``cut`` is true after its last byte. Zeros
    after a gzip member are padding.

    Parameters
    ----------
    raw, name, suffix
        The file, its name in errors, and its suffix.
    max_ratio, max_window
        The limits. Default: those of streams in `canvass.traces.limits`.
    """

    def __init__(
        self,
        raw: Source,
        name: str,
        suffix: str,
        max_ratio: int = MAX_RATIO,
        max_window: int = MAX_WINDOW_BYTES,
    ) -> None:
        self._raw = raw
        self._name = name
        self._gzip = suffix == ".gz"
        self._max_ratio, self._max_window = max_ratio, max_window
        self._start()
        self._fresh = False
        self._pending = b""
        self._consumed = self._produced = 0
        self.cut = False

    def _start(self) -> None:
        if self._gzip:
            self._zlib = zlib.decompressobj(_GZIP_WINDOW)
            self._decoder: _Decoder = self._zlib
        else:
            self._zstd = zstandard.ZstdDecompressor(
                max_window_size=self._max_window
            ).decompressobj()
            self._decoder = self._zstd

    def _expand(self, data: bytes, size: int) -> bytes:
        if not self._gzip:
            return self._zstd.decompress(data)
        out = self._zlib.decompress(data, size)
        self._pending = self._zlib.unconsumed_tail
        return out

    def read(self, size: int) -> bytes:
        """Give the next bytes, none at the end.

        Raises
        ------
        TraceError
            ``BAD_COMPRESSION`` or ``RATIO_TOO_HIGH``.
        """
        while True:
            data = self._pending or self._raw.read(_GZIP_PIECE if self._gzip else _ZSTD_PIECE)
            if not self._pending:
                self._consumed += len(data)
            self._pending = b""
            if not data:
                self.cut = not self._fresh
                return b""
            if self._decoder.eof:
                data = data.lstrip(b"\0") if self._gzip else data
                if not data:
                    continue
                self._start()
            try:
                out = self._expand(data, size)
            except (zlib.error, zstandard.ZstdError, MemoryError) as error:
                reason = f"the compressed data is damaged: {error}"
                raise TraceError(Code.BAD_COMPRESSION, self._name, 0, 0, reason) from None
            self._fresh = self._decoder.eof
            if self._fresh:
                self._pending = self._decoder.unused_data
            self._produced += len(out)
            if self._produced > max(RATIO_FREE_BYTES, self._max_ratio * self._consumed):
                reason = f"one compressed byte becomes more than {self._max_ratio}"
                raise TraceError(Code.RATIO_TOO_HIGH, self._name, 0, 0, reason)
            if out:
                return out


class StreamFile:
    """An open file and its bytes, decompressed by the suffix of its name.

    Parameters
    ----------
    path
        The file.
    follow
        Whether it may be a link.
    max_ratio, max_window
        The limits of `Decompressor`.
    """

    def __init__(
        self,
        path: Path,
        *,
        follow: bool = False,
        max_ratio: int = MAX_RATIO,
        max_window: int = MAX_WINDOW_BYTES,
    ) -> None:
        self.name = str(path)
        self._file = open_regular(path, self.name, follow=follow)
        suffix = path.suffix if path.suffix in SUFFIXES else ""
        self._decompressor = (
            Decompressor(self._file, self.name, suffix, max_ratio, max_window) if suffix else None
        )
        self._read: Callable[[int], bytes] = (
            self._decompressor.read if self._decompressor else self._file.read
        )

    def read(self, size: int, /) -> bytes:
        """Give the next bytes, none at the end.

        Raises
        ------
        TraceError
            ``UNREADABLE``, ``BAD_COMPRESSION`` or ``RATIO_TOO_HIGH``.
        """
        try:
            return self._read(size)
        except OSError as error:
            raise _unreadable(self.name, error) from None

    @property
    def cut(self) -> bool:
        """Whether the compressed file stops within a member; only known at its end."""
        return self._decompressor is not None and self._decompressor.cut

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        """Give the stream."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the file."""
        self.close()


def _unreadable(name: str, error: OSError) -> TraceError:
    code = Code.NOT_FOUND if isinstance(error, FileNotFoundError) else Code.UNREADABLE
    return TraceError(code, name, 0, 0, error.strerror or type(error).__name__)


def open_regular(path: Path, name: str, *, follow: bool = False) -> BinaryIO:
    """Open a regular file for reading; refuse a symbolic link unless ``follow`` is set.

    Raises
    ------
    TraceError
        ``NOT_FOUND``, ``UNREADABLE``, or ``BAD_NAME`` for a link.
    """
    try:
        # Without O_NONBLOCK the open of a named pipe would wait for a writer.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    except ValueError as error:
        raise TraceError(Code.BAD_NAME, name, 0, 0, str(error)) from None
    except OSError as error:
        if path.is_symlink() and not follow:
            raise TraceError(Code.BAD_NAME, name, 0, 0, "a symbolic link") from None
        raise _unreadable(name, error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise TraceError(Code.UNREADABLE, name, 0, 0, "not a regular file")
    return os.fdopen(descriptor, "rb", buffering=1 << 18)


def read_small(path: Path, name: str, limit: int) -> bytes:
    """Read a whole file of at most ``limit`` bytes.

    Raises
    ------
    TraceError
        ``NOT_FOUND``, ``UNREADABLE``, ``BAD_NAME`` or ``TOO_LARGE``.
    """
    with open_regular(path, name) as file:
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise _unreadable(name, error) from None
    if len(data) > limit:
        raise TraceError(Code.TOO_LARGE, name, 0, 0, f"more than {limit} bytes")
    return data

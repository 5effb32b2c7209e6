"""Files as streams of bytes: plain, gzip or zstandard, by the suffix, with bounded memory.

Only this module of the package opens trace files for reading, and it opens only regular files. It
follows links to event logs. It follows no link in a run: a stranger may have made the run, and
reports show what is in its files. What `written_aside` writes appears complete or not at all. The
module does not know what the bytes mean.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, Self

import zstandard

from canvass.traces.errors import Code, TraceError, file_named_in_errors

_DECODERS: Final[dict[str, tuple[int, Callable[[], Any]]]] = {
    ".gz": (1 << 12, lambda: zlib.decompressobj(31)),
    ".zst": (1 << 9, lambda: zstandard.ZstdDecompressor().decompressobj()),
}
"""For each suffix, the compressed bytes of one read, which unpack to at most 16 MiB, and a function
that makes the decompressor."""
SUFFIXES: Final = ("", *_DECODERS)
"""The suffixes of a stream's file."""


class Source(Protocol):
    """A source of bytes, in pieces of any size."""

    def read(self, size: int, /) -> bytes:
        """Return at least one byte and at most about ``size`` bytes; none at the end."""
        ...


class StreamFile:
    """An open file and its bytes, decompressed as the suffix of its name says.

    A compressed file may have several members (frames), which are read one after the other. Zeros
    after a member are padding.

    Parameters
    ----------
    path
        The file.
    follow
        Whether the path may be a link.

    Attributes
    ----------
    cut
        Whether the compressed file stops within a member, or has no member. Known only at its end.
    """

    def __init__(self, path: Path, *, follow: bool = False) -> None:
        self.name = str(path)
        self.cut = False
        self._file = open_regular(path, self.name, follow=follow)
        self._how = _DECODERS.get(path.suffix)
        self._decoder: Any = None
        self._rest = b""
        self._any = False

    def read(self, size: int, /) -> bytes:
        """Give the next bytes; none at the end.

        Raises
        ------
        TraceError
            ``UNREADABLE`` or ``BAD_COMPRESSION``.
        """
        try:
            return self._file.read(size) if self._how is None else self._unpacked(*self._how)
        except OSError as error:
            raise _unreadable(self.name, error) from None
        except (zlib.error, zstandard.ZstdError, MemoryError) as error:
            reason = f"the compressed data is damaged: {error}"
            raise TraceError(Code.BAD_COMPRESSION, self.name, 0, 0, reason) from None

    def _unpacked(self, piece: int, new: Callable[[], Any]) -> bytes:
        while data := self._rest or self._file.read(piece):
            self._rest = b""
            if self._decoder is None:
                data = data.lstrip(b"\0") if self._any else data
                if not data:
                    continue
                self._decoder = new()
            self._any = True
            out: bytes = self._decoder.decompress(data)
            if self._decoder.eof:
                self._rest, self._decoder = self._decoder.unused_data, None
            if out:
                return out
        self.cut = self._decoder is not None or not self._any
        return b""

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
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
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


def read_whole(path: Path, name: str) -> bytes:
    """Read a whole file.

    Raises
    ------
    TraceError
        ``NOT_FOUND``, ``UNREADABLE`` or ``BAD_NAME``.
    """
    with open_regular(path, name) as file:
        try:
            return file.read()
        except OSError as error:
            raise _unreadable(name, error) from None


@contextmanager
def written_aside(out: Path) -> Iterator[Path]:
    """Yield the path of a new folder or file, which becomes ``out`` unless the block raises.

    Parameters
    ----------
    out
        The path of the result. If an empty folder is there, it is kept, and the files are put into
        it.

    Raises
    ------
    OSError
        If the file system refuses. The error names ``out`` or a file in it.
    """
    is_there = out.is_dir()
    if not is_there:
        out.parent.mkdir(parents=True, exist_ok=True)
    place = out if is_there else out.parent
    try:
        # The name of ``out`` is not part of this name, which could become too long.
        made = tempfile.TemporaryDirectory(prefix=".canvass-", dir=place)
    except OSError as error:
        error.filename = str(out)
        raise
    with made as aside:
        folder = Path(aside) / "run"
        try:
            with file_named_in_errors(folder):
                yield folder
        except OSError as error:
            if error.filename is not None:
                error.filename = str(error.filename).replace(str(folder), str(out))
            raise
        if is_there:
            for path in sorted(folder.iterdir()):
                shutil.move(path, out)
        else:
            folder.replace(out)

"""The files of event logs: their names, their unpacked bytes up to a limit, and `AeronLogError`.

That error is the only one that this package raises about logs. A fault of one line raises none: the
line becomes a record (`TruncatedLine`, `DamagedLine`).

A link to a regular file is followed, because the log folders of hosts are often links. A link that
a stranger made reveals nothing about a file that is no event log: the error has only the name of
the link. A compressed file that ends too early is read up to its end, and `LogSource.cut` is set. A
file with damaged compressed data is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from canvass.traces.errors import Code, TraceError
from canvass.traces.streams import StreamFile


class LogCode(str, Enum):
    """The kind of a fault, as a constant that programs may compare."""

    NOT_A_LOG = "NOT_A_LOG"
    NO_LOG = "NO_LOG"
    OLD_RELEASE = "OLD_RELEASE"
    DUPLICATE_LOG = "DUPLICATE_LOG"
    MIXED_MEMBERS = "MIXED_MEMBERS"
    OVERLAPPING_CLUSTERS = "OVERLAPPING_CLUSTERS"
    TOO_MANY_MEMBERS = "TOO_MANY_MEMBERS"
    UNREADABLE = "UNREADABLE"
    LINE_TOO_LONG = "LINE_TOO_LONG"
    TOO_LARGE = "TOO_LARGE"
    COMPRESSION_RATIO = "COMPRESSION_RATIO"
    COMPRESSED_DATA = "COMPRESSED_DATA"


class AeronLogError(Exception):
    """The input is no event log of Aeron, or exceeds a limit.

    Parameters
    ----------
    file
        The file, as the caller named it; empty if the bytes are not from a file.
    line
        The line, counted from 1; 0 if the error is about the file as a whole.
    column
        The column in characters, counted from 1; 0 if the error is about the line as a whole.
    code
        The kind of the fault.
    reason
        One sentence; text of the log in it is quoted and escaped.
    """

    def __init__(self, file: str, line: int, column: int, code: LogCode, reason: str) -> None:
        super().__init__(file, line, column, code, reason)
        self.file = file
        self.line = line
        self.column = column
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        place = ":".join([self.file or "<bytes>", *(str(n) for n in (self.line, self.column) if n)])
        return f"{place}: {self.reason} ({self.code.value})"


_NAME: Final = re.compile(r"member-([0-9]{1,18})\.log(?:\.([0-9]{1,9}))?(?:\.gz|\.zst)?")
_OTHER: Final = re.compile(r"[^.].*\.log(?:\.gz|\.zst)?", re.DOTALL)
SIMILAR_NAME: Final = re.compile(r"member.*log.*", re.IGNORECASE)
"""The names that are, or resemble, that of a member's log."""


class LogName(NamedTuple):
    """The parts of a log's file name."""

    member_id: int
    part: int | None
    """The number of a file that was rolled."""


def parse_log_name(name: str) -> LogName | None:
    """The parts of a file name, or None if it is not the name of a member's log."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return LogName(int(match[1]), None if match[2] is None else int(match[2]))


def is_log_name(name: str) -> bool:
    """Whether a file has the name of a member's log."""
    return parse_log_name(name) is not None


def is_other_log(name: str) -> bool:
    """Whether a file has the suffix of a log, but not the name of a member's log."""
    return _OTHER.fullmatch(name) is not None and not is_log_name(name)


CHUNK_BYTES: Final = 1 << 18
"""The number of bytes that are read at once."""

MAX_LOG_BYTES: Final = 1 << 33
"""The largest unpacked file, 8 GiB: some 50 million lines."""
MAX_RATIO: Final = 200
"""The largest compression ratio. Event logs have 7 to 20, a decompression bomb 1000 and more."""
RATIO_FREE_BYTES: Final = 1 << 22
"""The unpacked size up to which the ratio is not checked: short files may have any ratio."""


class LogSource:
    """One file, read once.

    Parameters
    ----------
    path
        The path of the file. It ends in ``.gz`` or ``.zst`` if the file is compressed.

    Attributes
    ----------
    cut
        Whether the compressed data ended before its end mark; known after reading.
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
        given = 0
        try:
            with StreamFile(self.path, follow=True) as file:
                bomb = max(RATIO_FREE_BYTES, MAX_RATIO * self.path.stat().st_size)
                while piece := file.read(CHUNK_BYTES):
                    given += len(piece)
                    if given > MAX_LOG_BYTES:
                        reason = f"longer than {MAX_LOG_BYTES} bytes"
                        raise AeronLogError(str(self.path), 0, 0, LogCode.TOO_LARGE, reason)
                    if given > bomb:
                        reason = f"one compressed byte becomes more than {MAX_RATIO}"
                        code = LogCode.COMPRESSION_RATIO
                        raise AeronLogError(str(self.path), 0, 0, code, reason)
                    yield piece
                self.cut = file.cut
        except TraceError as error:
            damaged = error.code is Code.BAD_COMPRESSION
            code = LogCode.COMPRESSED_DATA if damaged else LogCode.UNREADABLE
            raise AeronLogError(str(self.path), 0, 0, code, error.reason) from None

"""The only exception that this package raises about logs, and its codes.

A fault of one line raises no exception. The line becomes a record (`TruncatedLine`, `DamagedLine`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final


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


MAX_SHOWN: Final = 120
"""Characters of a line that a message repeats; enough to recognise it, short enough for a terminal.
"""


MAX_FILES: Final = 10
"""The most files that one message names."""


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
        return f"{self.said} ({self.code.value})"

    @property
    def said(self) -> str:
        """The place and the reason."""
        place = ":".join([self.file or "<bytes>", *(str(n) for n in (self.line, self.column) if n)])
        return f"{place}: {self.reason}"


def joined(errors: Sequence[AeronLogError]) -> AeronLogError:
    """Make one error of the errors of several files: the first one; its reason names the others."""
    first, *others = errors
    said = [first.reason, *(f"also {error.said}" for error in others[: MAX_FILES - 1])]
    if len(errors) > MAX_FILES:
        said.append(f"and {len(errors) - MAX_FILES} more files")
    return AeronLogError(first.file, first.line, first.column, first.code, "; ".join(said))


class LineProblem(Exception):
    """The fault of one line. This package catches it and makes a record of the line."""

    def __init__(self, column: int, reason: str) -> None:
        super().__init__(column, reason)
        self.column = column
        self.reason = reason


class OpenQuote(LineProblem):
    """A quoted value does not end: the line may be the first one of an event with several lines."""


def shown(text: str) -> str:
    """Text of a log, quoted, escaped and shortened, so that it is safe to print."""
    return ascii(text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "...")

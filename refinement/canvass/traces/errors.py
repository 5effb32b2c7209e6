"""`TraceError`, the only exception of the readers of traces, its codes, and words for messages."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from enum import Enum

_SHOWN = 300


class Code(str, Enum):
    """Why a trace is refused."""

    UNREADABLE = "UNREADABLE"
    """The operating system refuses to read the file, or it is not a regular file."""
    NOT_FOUND = "NOT_FOUND"
    """There is no such run, stream or data set."""
    BAD_NAME = "BAD_NAME"
    """A file has a name that the format does not allow, or is a symbolic link."""
    AMBIGUOUS = "AMBIGUOUS"
    """Two files claim to be the same stream or run."""
    BAD_COMPRESSION = "BAD_COMPRESSION"
    """Compressed data are damaged."""
    LINE_TOO_LONG = "LINE_TOO_LONG"
    EMPTY_LINE = "EMPTY_LINE"
    BAD_SYNTAX = "BAD_SYNTAX"
    """The text is no JSON."""
    BAD_VALUE = "BAD_VALUE"
    """A field is missing, unknown, of another type, or out of range."""
    BAD_EVENT = "BAD_EVENT"
    """Each field is well-typed, but the fields contradict each other."""
    BAD_SCHEMA = "BAD_SCHEMA"
    """Columns or metadata of a data set are not those of the format."""


class TraceError(Exception):
    """The input is not a trace.

    Parameters
    ----------
    code
        The reason, for programs.
    file
        The name of the file, as the caller gave it.
    line, column
        The place, counted from 1; 0 if there is none.
    reason
        The reason, for people. Control characters in it are escaped.
    """

    def __init__(self, code: Code, file: str, line: int, column: int, reason: str) -> None:
        shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in reason[:_SHOWN])
        super().__init__(code, file, line, column, shown)
        self.code = code
        self.file = file
        self.line = line
        self.column = column
        self.reason = shown

    def __str__(self) -> str:
        """Return file, place, code and reason in one line."""
        file = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in self.file)
        place = ":".join([file, *(str(each) for each in (self.line, self.column) if each)])
        return f"{place}: {self.code.value}: {self.reason}"


@contextmanager
def file_named_in_errors(path: object) -> Iterator[None]:
    """Add a file name to each `OSError` without one: Python names the file only if `open` fails."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as "1 run" or "1,200 runs".

    Parameters
    ----------
    number
        The number.
    noun
        The singular.
    plural
        The plural. Default: the singular with an "s".
    """
    return f"1 {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def member_names(members: Collection[int]) -> str:
    """Return the names of members, such as "member 1" or "members 0, 2"."""
    return f"member{'' if len(members) == 1 else 's'} {', '.join(map(str, sorted(members)))}"

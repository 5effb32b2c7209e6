"""`DiskError`: the one exception of everything that reads the files of a member."""

from __future__ import annotations

_SHOWN = 300


def printable(text: str) -> str:
    """The text in one line, without control characters, cut after a few hundred characters."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:_SHOWN])


class DiskError(Exception):
    """A file is not what its name says, or cannot be read.

    Parameters
    ----------
    file
        As the caller named it.
    offset
        The byte at which reading failed, or -1 if that is not one byte.
    reason
        Why, for people. Text taken from the file is shown with its control characters escaped.
    """

    def __init__(self, file: str, offset: int, reason: str) -> None:
        super().__init__(file, offset, reason)
        self.file = printable(file)
        self.offset = offset
        self.reason = printable(reason)

    def __str__(self) -> str:
        """Say where and why, in one line."""
        place = self.file if self.offset < 0 else f"{self.file}:{self.offset}"
        return f"{place}: {self.reason}"

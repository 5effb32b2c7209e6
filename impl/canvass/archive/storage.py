"""What an archive needs of a disk: a flat folder of files to append to, truncate and rename.

Only the port is here, and the errors. `canvass.archive.files` stands on a file system,
`canvass.archive.memory` on a disk that can fail in every way that this contract allows:

* what was written to a file survives a crash once `Storage.sync` of that file has returned; before,
  any part of it may be lost, in any order;
* that a file exists, bears a name or is gone survives once `Storage.sync_folder` has returned.
"""

from __future__ import annotations

from typing import Protocol


class ArchiveError(Exception):
    """Something about an archive is not as it must be; the message is one line."""


class DamageError(ArchiveError):
    """What is on disk is not what was written there."""

    def __init__(self, name: str, offset: int, reason: str) -> None:
        super().__init__(f"{name} is damaged at offset {offset}: {reason}")
        self.name, self.offset = name, offset


class Storage(Protocol):
    """A folder of files. Errors are those of the operating system (`OSError`).

    After an error of `sync` or `sync_folder` the process has to end: what was written before may be
    lost, though a second call would not say so.
    """

    def names(self) -> list[str]:
        """The names of all files, in order."""
        ...

    def size(self, name: str) -> int:
        """How many bytes a file has."""
        ...

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Read so many bytes, or less at the end of the file."""
        ...

    def create(self, name: str) -> None:
        """Make an empty file; one that is there is emptied."""
        ...

    def append(self, name: str, data: bytes) -> None:
        """Write at the end of a file."""
        ...

    def truncate(self, name: str, size: int) -> None:
        """Cut a file off."""
        ...

    def sync(self, name: str) -> None:
        """Make a file's contents durable."""
        ...

    def rename(self, name: str, new_name: str) -> None:
        """Give a file another name, in place of the one that has it."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file."""
        ...

    def sync_folder(self) -> None:
        """Make the names durable."""
        ...

    def close(self) -> None:
        """Give up what is held open."""
        ...

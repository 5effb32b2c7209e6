"""The interface of an archive to its disk: a flat folder of files to append, truncate and rename.

`canvass.archive.files` implements it with a file system, `canvass.archive.memory` with a disk that
can fail in every way that this contract allows:

* data written to a file survive a crash once `Storage.sync` of that file has returned; before, any
  part of the data may be lost, in any order;
* a file that was created, renamed or removed stays so once `Storage.sync_folder` has returned.
"""

from __future__ import annotations

from typing import Protocol


class ArchiveError(Exception):
    """An archive cannot be read or changed; the message is one line."""


class DamageError(ArchiveError):
    """Data on disk has changed since it was written."""

    def __init__(self, name: str, offset: int, reason: str) -> None:
        super().__init__(f"{name} is damaged at offset {offset}: {reason}")
        self.name, self.offset = name, offset


class Storage(Protocol):
    """A folder of files. Errors are `OSError` of the operating system.

    After an error of `sync` or `sync_folder` the process must end: data written before may be lost,
    and a second call would not report this.
    """

    def names(self) -> list[str]:
        """The names of all files, in order."""
        ...

    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """Read ``length`` bytes, or fewer at the end of the file; all that follow if it is -1."""
        ...

    def create(self, name: str) -> None:
        """Create an empty file. An existing file of this name is emptied."""
        ...

    def append(self, name: str, data: bytes) -> None:
        """Write data at the end of a file."""
        ...

    def truncate(self, name: str, size: int) -> None:
        """Truncate a file to ``size`` bytes."""
        ...

    def sync(self, name: str) -> None:
        """Make a file's contents durable."""
        ...

    def rename(self, name: str, new_name: str) -> None:
        """Rename a file. A file with the new name is replaced."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file."""
        ...

    def sync_folder(self) -> None:
        """Make the names of the files durable."""
        ...

    def close(self) -> None:
        """Close all files."""
        ...

"""The interface of an archive to its disk: a flat folder of files to append, truncate and rename.

`FileStorage` implements it with a folder of the file system; the other modules of the package open
no files. `canvass.archive.memory` is a disk that can fail in every way that this contract allows:

* data written to a file survive a crash once `Storage.sync` of that file has returned; before, any
  part of the data may be lost, in any order;
* a file that was created, renamed or removed stays so once `Storage.sync_folder` has returned.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
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


class FileStorage:
    """A folder, held by one process at a time; see `Storage`. ``fsync`` makes data durable.

    Parameters
    ----------
    folder
        The folder. It is created if it does not exist.
    sync
        Whether to force data to disk. Without it, a crash of the machine can lose acknowledged
        data; a crash of the process cannot.

    Raises
    ------
    ArchiveError
        If another process holds the folder.
    """

    def __init__(self, folder: Path, *, sync: bool = True) -> None:
        self.folder, self._sync = folder, sync
        self._open: dict[str, int] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise ArchiveError(f"{folder} is in use by another process") from None

    def names(self) -> list[str]:
        """See `Storage`; hidden files are left out."""
        return sorted(p.name for p in self.folder.iterdir() if not p.name.startswith("."))

    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """See `Storage`."""
        file = self._file(name)
        return os.pread(file, os.fstat(file).st_size if length < 0 else length, offset)

    def create(self, name: str) -> None:
        """See `Storage`."""
        self._forget(name)
        self._file(name, os.O_CREAT | os.O_TRUNC)

    def append(self, name: str, data: bytes) -> None:
        """See `Storage`."""
        view = memoryview(data)
        file = self._file(name)
        while view:
            view = view[os.write(file, view) :]

    def truncate(self, name: str, size: int) -> None:
        """See `Storage`."""
        os.ftruncate(self._file(name), size)

    def sync(self, name: str) -> None:
        """See `Storage`."""
        if self._sync:
            os.fsync(self._file(name))

    def rename(self, name: str, new_name: str) -> None:
        """See `Storage`."""
        self._forget(name)
        self._forget(new_name)
        os.rename(name, new_name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def remove(self, name: str) -> None:
        """See `Storage`."""
        self._forget(name)
        os.unlink(name, dir_fd=self._folder)

    def sync_folder(self) -> None:
        """See `Storage`."""
        if self._sync:
            os.fsync(self._folder)

    def close(self) -> None:
        """See `Storage`."""
        for name in list(self._open):
            self._forget(name)
        os.close(self._folder)

    def _file(self, name: str, flags: int = 0) -> int:
        found = self._open.get(name)
        if found is None:
            flags |= os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            found = self._open[name] = os.open(name, flags, 0o644, dir_fd=self._folder)
        return found

    def _forget(self, name: str) -> None:
        found = self._open.pop(name, None)
        if found is not None:
            os.close(found)

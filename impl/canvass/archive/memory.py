"""A disk in memory that can fail in every way that the contract of `Storage` allows.

A crash keeps synced data. Of data written later, any sectors may remain. Of later changes of the
folder, those up to some point remain, as in a journal. The caller chooses each fault.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Final

SECTOR: Final = 512
"""Bytes that a disk writes whole or not at all."""


class PowerFailure(Exception):
    """The machine stops before the next write."""


@dataclass
class _File:
    data: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    lost: dict[int, int] = field(default_factory=dict)
    """The bytes that were overwritten in place, by offset."""

    def images(self) -> list[bytes]:
        """The contents that a crash may leave: each unsynced sector lost, torn, or whole."""
        data, synced = bytes(self.data), self.synced
        if data == synced:
            return [synced]
        shared = next((n for n, (a, b) in enumerate(zip(data, synced, strict=False)) if a != b), -1)
        keep = min(len(data), len(synced)) if shared < 0 else shared
        cuts = {keep, len(data), *range(keep, len(data), max(16, (len(data) - keep) // 16))}
        cuts |= set(range((keep // SECTOR + 1) * SECTOR, len(data), SECTOR))
        found = [synced, *(data[:cut] for cut in sorted(cuts))]
        # A file system may store the size before the bytes: zeros stand for missing bytes.
        for start in range(keep // SECTOR * SECTOR, len(data), SECTOR):
            first = max(start, keep)
            prefix = data[:first] + bytes(min(start + SECTOR, len(data)) - first)
            found.append(prefix + data[len(prefix) :])
        return list(dict.fromkeys(found))


class MemoryStorage:
    """A disk in memory; see `canvass.archive.storage.Storage`.

    Parameters
    ----------
    capacity
        The capacity in bytes.

    Attributes
    ----------
    writes
        The number of operations that have changed the disk.
    fail_before
        The number of the operation before which `PowerFailure` is raised, or -1.
    power_fails
        Whether the machine stops then. Otherwise only the process ends, and no data are lost.
    sync_fails
        Whether the next sync fails.
    """

    def __init__(self, capacity: int = 1 << 40) -> None:
        self.capacity = capacity
        self.writes = 0
        self.fail_before = -1
        self.power_fails = True
        self.sync_fails = False
        self._names: dict[str, _File] = {}
        self._history: list[dict[str, _File]] = [{}]
        """The folder at its last sync, and after each later change."""

    @property
    def used(self) -> int:
        """The size of all files in bytes."""
        return sum(len(file.data) for file in self._names.values())

    # The port.

    def names(self) -> list[str]:
        """See `canvass.archive.storage.Storage`."""
        return sorted(self._names)

    def read(self, name: str, offset: int = 0, length: int = -1) -> bytes:
        """See `canvass.archive.storage.Storage`."""
        end = None if length < 0 else offset + length
        return bytes(self._file(name).data[offset:end])

    def create(self, name: str) -> None:
        """See `canvass.archive.storage.Storage`."""
        self._write()
        self._names = {**self._names, name: _File()}
        self._history.append(self._names)

    def append(self, name: str, data: bytes) -> None:
        """See `canvass.archive.storage.Storage`."""
        self._write()
        room = self.capacity - self.used
        self._file(name).data += data[: max(0, room)]
        if len(data) > room:
            raise OSError(errno.ENOSPC, "No space left on device", name)

    def truncate(self, name: str, size: int) -> None:
        """See `canvass.archive.storage.Storage`."""
        self._write()
        file = self._file(name)
        del file.data[size:]
        file.lost = {offset: byte for offset, byte in file.lost.items() if offset < size}

    def sync(self, name: str) -> None:
        """See `canvass.archive.storage.Storage`."""
        self._sync()
        file = self._file(name)
        file.synced = bytes(file.data)

    def rename(self, name: str, new_name: str) -> None:
        """See `canvass.archive.storage.Storage`."""
        self._write()
        names = dict(self._names)
        names[new_name] = names.pop(name)
        self._names = names
        self._history.append(names)

    def remove(self, name: str) -> None:
        """See `canvass.archive.storage.Storage`."""
        self._write()
        self._names = {other: file for other, file in self._names.items() if other != name}
        self._history.append(self._names)

    def sync_folder(self) -> None:
        """See `canvass.archive.storage.Storage`."""
        self._sync()
        self._history = [self._names]

    def close(self) -> None:
        """See `canvass.archive.storage.Storage`."""

    # Faults.

    def crash(self, rng: random.Random) -> None:
        """Draw the contents that a crash of the machine leaves."""
        names = rng.choice(self._history)
        lost = {name: file.lost for name, file in names.items()}
        self._restore({name: rng.choice(file.images()) for name, file in names.items()})
        for name, file in self._names.items():
            end = len(file.data)
            file.lost = {offset: byte for offset, byte in lost[name].items() if offset < end}

    def images(self, limit: int = 4096) -> Iterator[MemoryStorage]:
        """Every disk that a crash may leave now, at most ``limit`` for each state of the folder."""
        for names in self._history:
            choices = [file.images() for file in names.values()]
            for count, contents in enumerate(product(*choices)):
                if count >= limit:
                    break
                image = MemoryStorage(self.capacity)
                image._restore(dict(zip(names, contents, strict=True)))
                yield image

    def spoil(self, name: str, offset: int, mask: int = 1) -> None:
        """Flip bits of a file, in the synced data too."""
        self.stray(name, offset, bytes([self._file(name).data[offset] ^ mask]))

    def stray(self, name: str, offset: int, data: bytes) -> None:
        """Overwrite a part of a file, as a misdirected write does, in the synced data too."""
        file = self._file(name)
        for place, byte in enumerate(file.data[offset : offset + len(data)], offset):
            file.lost.setdefault(place, byte)
        self._overwrite(file, offset, data)

    def mend(self) -> bool:
        """Put back all bytes that were overwritten in place. Return whether there were any."""
        found = False
        for file in self._names.values():
            found = found or bool(file.lost)
            for offset, byte in file.lost.items():
                self._overwrite(file, offset, bytes([byte]))
            file.lost = {}
        return found

    @staticmethod
    def _overwrite(file: _File, offset: int, data: bytes) -> None:
        file.data[offset : offset + len(data)] = data
        synced = bytearray(file.synced)
        synced[offset : offset + len(data)] = data[: max(0, len(synced) - offset)]
        file.synced = bytes(synced)

    def _restore(self, contents: dict[str, bytes]) -> None:
        self._names = {name: _File(bytearray(data), data) for name, data in contents.items()}
        self._history = [self._names]

    def _file(self, name: str) -> _File:
        found = self._names.get(name)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "No such file", name)
        return found

    def _write(self) -> None:
        if self.writes == self.fail_before:
            raise PowerFailure
        self.writes += 1

    def _sync(self) -> None:
        self._write()
        if self.sync_fails:
            raise OSError(errno.EIO, "Input/output error")

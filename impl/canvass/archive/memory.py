"""A disk in memory that loses, tears and spoils what the contract of `Storage` does not protect.

A crash keeps what was synced. Of what was written since, in sectors, any part may be there; of the
folder's changes those up to some point, as a journal keeps them. Faults come one at a time and as
asked: nothing here is left to chance but what the caller draws.
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

    def images(self) -> list[bytes]:
        """What a crash may leave: the sectors in question lost, torn off somewhere, or there."""
        data, synced = bytes(self.data), self.synced
        if data == synced:
            return [synced]
        shared = next((n for n, (a, b) in enumerate(zip(data, synced, strict=False)) if a != b), -1)
        keep = min(len(data), len(synced)) if shared < 0 else shared
        cuts = {keep, len(data), *range(keep, len(data), max(16, (len(data) - keep) // 16))}
        cuts |= set(range((keep // SECTOR + 1) * SECTOR, len(data), SECTOR))
        found = [synced, *(data[:cut] for cut in sorted(cuts))]
        # The size is known before the bytes are: zeros stand for what has not been written.
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
        How many bytes there is room for.

    Attributes
    ----------
    writes
        How many operations have changed something.
    fail_before
        The number of the operation before which `PowerFailure` is raised, or -1.
    power_fails
        Whether that is an end of the machine; else of the process, and what was written is there.
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
        """The folder as it was synced, and after each change since."""

    @property
    def used(self) -> int:
        """How many bytes the files have."""
        return sum(len(file.data) for file in self._names.values())

    # The port.

    def names(self) -> list[str]:
        """See `canvass.archive.storage.Storage`."""
        return sorted(self._names)

    def size(self, name: str) -> int:
        """See `canvass.archive.storage.Storage`."""
        return len(self._file(name).data)

    def read(self, name: str, offset: int, length: int) -> bytes:
        """See `canvass.archive.storage.Storage`."""
        return bytes(self._file(name).data[offset : offset + length])

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
        del self._file(name).data[size:]

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
        """Lose what a crash of the machine may lose, as drawn."""
        names = rng.choice(self._history)
        self._restore({name: rng.choice(file.images()) for name, file in names.items()})

    def images(self, limit: int = 4096) -> Iterator[MemoryStorage]:
        """Every disk that a crash now may leave, so many of each folder at most."""
        for names in self._history:
            choices = [file.images() for file in names.values()]
            for count, contents in enumerate(product(*choices)):
                if count >= limit:
                    break
                image = MemoryStorage(self.capacity)
                image._restore(dict(zip(names, contents, strict=True)))
                yield image

    def spoil(self, name: str, offset: int, mask: int = 1) -> None:
        """Let bits of a file rot; what had been synced is as rotten as what is read."""
        self.stray(name, offset, bytes([self._file(name).data[offset] ^ mask]))

    def stray(self, name: str, offset: int, data: bytes) -> None:
        """Let something else stand in a file, as a write that went astray leaves it, synced too."""
        file = self._file(name)
        end = offset + len(data)
        file.data[offset:end] = data
        if end <= len(file.synced):
            file.synced = file.synced[:offset] + data + file.synced[end:]
        elif offset < len(file.synced):
            file.synced = file.synced[:offset] + data[: len(file.synced) - offset]

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

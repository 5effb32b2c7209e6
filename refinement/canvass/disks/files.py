"""The files of members: their paths, and their bytes, opened for reading only.

This module writes, creates and locks nothing, and does not interpret the bytes. A file whose name
ends in ``.gz`` is decompressed in memory.
"""

from __future__ import annotations

import gzip
import mmap
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.disks.findings import DiskError

Bytes = NDArray[np.uint8]

RECORDING_LOG: Final = "recording.log"
NODE_STATE: Final = "node-state.dat"
MARK_FILE: Final = "cluster-mark.dat"
CATALOG: Final = "archive.catalog"
NAMES: Final = (RECORDING_LOG, NODE_STATE, MARK_FILE, CATALOG)

DEPTH: Final = 3
"""The number of folder levels below the given folder that are searched."""

MAX_SMALL: Final = 1 << 28
"""The greatest size of a file that is not a segment, in bytes: 256 MiB."""
MAX_SEGMENT: Final = 1 << 30
"""The greatest size of a segment, in bytes: Aeron allows 1 GiB."""

_SEGMENT: Final = re.compile(r"(\d{1,18})-(\d{1,18})\.rec")


@dataclass(frozen=True, slots=True)
class MemberFiles:
    """The files of one member.

    ``files`` has the paths of the existing files of `NAMES`. ``segments`` has the paths of the
    segments by recording id and by the position at which the segment begins.
    """

    folder: Path
    files: dict[str, Path] = field(default_factory=dict)
    segments: dict[int, dict[int, Path]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether the member has no file."""
        return not self.files and not self.segments


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    """The files in a folder and below it, in a fixed order."""
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise DiskError(str(folder), -1, error.strerror or "cannot be listed") from None
    for path in paths:
        if path.is_dir():
            if depth > 0:
                yield from _walk(path, depth - 1)
        else:
            yield path


def _collect(folder: Path, paths: Sequence[Path]) -> tuple[MemberFiles, list[str]]:
    """The member's files among ``paths``, and the names that occur twice."""
    found, twice = MemberFiles(folder), []
    for path in paths:
        plain = path.name.removesuffix(".gz")
        segment = _SEGMENT.fullmatch(plain)
        if plain in NAMES:
            if plain in found.files:
                twice.append(plain)
            found.files.setdefault(plain, path)
        elif segment:
            recording, position = int(segment[1]), int(segment[2])
            of_recording = found.segments.setdefault(recording, {})
            if position in of_recording:
                twice.append(plain)
            of_recording.setdefault(position, path)
    return found, twice


def find_members(folder: Path) -> list[MemberFiles]:
    """Find the files of one member below a folder, or of several members in folders of their own.

    Raises
    ------
    DiskError
        If the folder does not exist, or if several files of one name are in a member's folder.
    """
    if not folder.is_dir():
        raise DiskError(str(folder), -1, "there is no such folder")
    found, twice = _collect(folder, list(_walk(folder, DEPTH)))
    if not twice:
        return [found]
    members = []
    for child in sorted(path for path in folder.iterdir() if path.is_dir()):
        inner, again = _collect(child, list(_walk(child, DEPTH - 1)))
        if again:
            where = f"{again[0]} is there more than once; give the folder of one member"
            raise DiskError(str(child), -1, where)
        if not inner.is_empty:
            members.append(inner)
    if len(members) < 2:
        where = f"{twice[0]} is there more than once; give the folder of one member"
        raise DiskError(str(folder), -1, where)
    return members


def read_bytes(path: Path, limit: int = MAX_SMALL) -> Bytes:
    """The bytes of a file: mapped into memory, or decompressed if its name ends in ``.gz``.

    Raises
    ------
    DiskError
        If the file cannot be read, is not a regular file, or is larger than ``limit`` bytes.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DiskError(str(path), -1, "not a regular file")
        if status.st_size > limit:
            raise DiskError(str(path), -1, f"{status.st_size} bytes are more than {limit}")
        if path.name.endswith(".gz"):
            with gzip.open(path) as packed:
                data = packed.read(limit + 1)
            if len(data) > limit:
                raise DiskError(str(path), -1, f"over {limit} bytes")
            return np.frombuffer(data, np.uint8)
        if status.st_size == 0:
            return np.zeros(0, np.uint8)
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, np.uint8)
    except (EOFError, OSError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DiskError(str(path), -1, reason) from None


def read_segment(path: Path, length: int) -> Bytes:
    """The bytes of a segment.

    Zeros are added to a shorter file, because copies often omit the zeros at the end.
    """
    data = read_bytes(path, MAX_SEGMENT)
    if len(data) >= length:
        return data[:length]
    padded = np.zeros(length, np.uint8)
    padded[: len(data)] = data
    return padded

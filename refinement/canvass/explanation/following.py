"""Logs that are being written, read as they grow: rolled files, truncated files, new members.

A file that is rolled keeps its content under another name; the lines read from it bear that name
from then on.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from canvass.traces.aeron_log.errors import AeronLogError, LogCode
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.aeron_log.parser import LogParser
from canvass.traces.aeron_log.records import LogRecord
from canvass.traces.aeron_log.source import LogSource

_CURRENT: Final = re.compile(r"member-([0-9]{1,9})\.log")
_ROLLED: Final = re.compile(r"member-([0-9]{1,9})\.log\.[0-9]{1,9}(?:\.gz|\.zst)?")
CHUNK_BYTES: Final = 1 << 20
"""Read of one file at once: a busy member does not keep the others waiting."""


class FollowedLog:
    """The log of one member, as far as it has been read.

    Parameters
    ----------
    path
        The file that is being written; it need not be there yet.
    rolled
        Files that were rolled before, in the order in which they were written.

    Attributes
    ----------
    names
        Names of the files read; a record's ``file`` is an index into it.
    lines
        How many records have been read.
    read_bytes
        How much has been read.
    """

    def __init__(self, path: Path, rolled: list[Path]) -> None:
        self.path = path
        self.names: list[str] = []
        self.lines = 0
        self.read_bytes = 0
        self._parser = LogParser(max_lines=sys.maxsize)
        self._rolled = rolled
        self._file: BinaryIO | None = None
        self._inode = 0
        self._inodes: set[int] = set()

    def read(self) -> tuple[list[LogRecord], bool]:
        """Read what has come since the last call.

        Returns
        -------
        tuple
            Records in the order of the lines, and whether the end of what is there was reached.

        Raises
        ------
        AeronLogError
            If a file is no event log.
        """
        found: list[LogRecord] = []
        while self._rolled:
            found += self._whole(self._rolled.pop(0))
        if self._file is None and not self._open():
            self.lines += len(found)
            return found, True
        assert self._file is not None
        data = self._file.read(CHUNK_BYTES)
        self.read_bytes += len(data)
        found += self._parser.feed(data)
        at_end = len(data) < CHUNK_BYTES
        if at_end and self._has_changed():
            rest = self._file.read()
            self.read_bytes += len(rest)
            found += self._parser.feed(rest)
            self.close()
            self._find_rolled()
            found += self._parser.end_file()
            at_end = False
        self.lines += len(found)
        return found, at_end

    def files(self) -> list[Path]:
        """The files that are there now, the oldest first, the one that is written last."""
        rolled = [
            path
            for path in self.path.parent.glob(f"{self.path.name}.*")
            if _ROLLED.fullmatch(path.name)
        ]
        rolled.sort(key=lambda path: path.stat().st_mtime_ns)
        return [*rolled, self.path] if self.path.is_file() else rolled

    def _whole(self, path: Path) -> Iterator[LogRecord]:
        source = LogSource(path)
        self._inodes.add(path.stat().st_ino)
        self._parser.begin_file(str(path))
        self.names.append(path.name)
        for piece in source.pieces():
            self.read_bytes += len(piece)
            yield from self._parser.feed(piece)
        yield from self._parser.end_file(cut=source.cut)

    def _open(self) -> bool:
        try:
            self._file = self.path.open("rb", buffering=0)
        except FileNotFoundError:
            return False
        except OSError as error:
            reason = error.strerror or "cannot be read"
            raise AeronLogError(str(self.path), 0, 0, LogCode.UNREADABLE, reason) from None
        self._inode = os.fstat(self._file.fileno()).st_ino
        self._inodes.add(self._inode)
        self._parser.begin_file(str(self.path))
        self.names.append(self.path.name)
        return True

    def _has_changed(self) -> bool:
        """Whether the file has been rolled or truncated since it was opened."""
        assert self._file is not None
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False
        return there.st_ino != self._inode or there.st_size < self._file.tell()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _find_rolled(self) -> None:
        """Find the name that the file was given when it was rolled, and files that were written
        and rolled since then.
        """
        unread = []
        for path in self.path.parent.glob(f"{self.path.name}.*"):
            inode = path.stat().st_ino
            if inode == self._inode:
                self.names[-1] = path.name
            # A packed file is a copy of one that was read.
            elif inode not in self._inodes and re.fullmatch(r"\.[0-9]{1,9}", path.suffix):
                unread.append(path)
        self._rolled = _in_order(unread)


class FollowedLogs:
    """The logs in a folder; a member whose log comes later is found, too.

    Parameters
    ----------
    folder
        Holds ``member-<id>.log``, and beside it the files that were rolled.

    Attributes
    ----------
    members
        By member id, as the file names say.

    Raises
    ------
    AeronLogError
        If the folder cannot be listed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.members: dict[int, FollowedLog] = {}
        self.look()

    def look(self) -> None:
        """Find logs that are new in the folder."""
        try:
            names = sorted(path.name for path in self.folder.iterdir())
        except OSError as error:
            reason = error.strerror or "cannot be listed"
            raise AeronLogError(str(self.folder), 0, 0, LogCode.UNREADABLE, reason) from None
        for name in names:
            match = _CURRENT.fullmatch(name) or _ROLLED.fullmatch(name)
            if match is None or int(match[1]) in self.members:
                continue
            member_id = int(match[1])
            rolled = [self.folder / one for one in names if _is_rolled(one, member_id)]
            path = self.folder / f"member-{match[1]}.log"
            self.members[member_id] = FollowedLog(path, _in_order(rolled))

    def __enter__(self) -> FollowedLogs:
        return self

    def __exit__(self, *caught: object) -> None:
        for log in self.members.values():
            log.close()

    def read(self) -> tuple[dict[int, list[LogRecord]], bool]:
        """Read what has come of every member, and say whether all of it was read."""
        found, at_end = {}, True
        for member_id, log in self.members.items():
            found[member_id], reached = log.read()
            at_end &= reached
        return found, at_end


def _is_rolled(name: str, member_id: int) -> bool:
    match = _ROLLED.fullmatch(name)
    return match is not None and int(match[1]) == member_id


def _in_order(paths: list[Path]) -> list[Path]:
    """Files as they were written: their numbers do not say so, their headers do."""
    if len(paths) < 2:
        return paths
    logs = read_cluster(paths)
    return [path for log in logs.members.values() for path in log.files]

"""The event logs of a running cluster, read as they grow.

Files are rolled, truncated, or copied and truncated, and members come later. The lines read from a
file that is rolled have its new name from then on.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, Final

from canvass.traces.aeron_log.errors import AeronLogError, LogCode
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.aeron_log.parser import LogParser
from canvass.traces.aeron_log.records import LogRecord
from canvass.traces.aeron_log.source import (
    LogName,
    LogSource,
    is_packed,
    is_similar_name,
    parse_log_name,
)
from canvass.traces.errors import Code, TraceError
from canvass.traces.streams import open_regular

_HEAD_BYTES: Final = 4096
"""The beginning of a file, by which a copy of it is known: its header, or the first stamps."""
CHUNK_BYTES: Final = 1 << 20
"""Bytes read of one file at once, so that a busy member does not delay the others."""


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
        self._pieces: Iterator[list[LogRecord]] = iter(())
        self._file: BinaryIO | None = None
        self._inode = 0
        self._inodes: set[int] = set()
        self._head = b""

    def read(self) -> tuple[list[LogRecord], bool]:
        """Read lines written since the last call: at most a piece of one file.

        Returns
        -------
        tuple
            Records in the order of the lines, and whether the end of the file was reached.

        Raises
        ------
        AeronLogError
            If a file is not an event log.
        """
        piece = next(self._pieces, None)
        if piece is None and self._rolled:
            self._pieces = self._whole(self._rolled.pop(0))
            piece = next(self._pieces)
        if piece is not None:
            self.lines += len(piece)
            return piece, False
        if self._file is None and not self._open():
            return [], True
        assert self._file is not None
        data = b"" if self._is_rewritten(self._file) else self._file.read(CHUNK_BYTES)
        self.read_bytes += len(data)
        self._head += data[: _HEAD_BYTES - len(self._head)]
        found = list(self._parser.feed(data))
        at_end = len(data) < CHUNK_BYTES
        if at_end and self._has_changed():
            copies = self._find_copies()
            if not self._is_rewritten(self._file):
                rest = self._file.read()
            elif copies:
                self.names[-1] = copies[-1].name
                with copies[-1].open("rb") as copy:
                    copy.seek(self._file.tell())
                    rest = copy.read()
            else:
                rest = b""
            self.read_bytes += len(rest)
            found += self._parser.feed(rest)
            self.close()
            self._find_rolled()
            found += self._parser.end_file()
            at_end = False
        self.lines += len(found)
        return found, at_end

    @property
    def fault(self) -> AeronLogError | None:
        """The error for a file that has no line of an event log so far."""
        return self._parser.fault

    def _whole(self, path: Path) -> Iterator[list[LogRecord]]:
        """The records of a rolled file, in pieces of bounded size."""
        source = LogSource(path)
        self._inodes.add(path.stat().st_ino)
        self._parser.begin_file(str(path))
        self.names.append(path.name)
        for piece in source.pieces():
            self.read_bytes += len(piece)
            yield list(self._parser.feed(piece))
        yield list(self._parser.end_file(cut=source.cut))

    def _open(self) -> bool:
        try:
            self._file = open_regular(self.path, str(self.path), follow=True)
        except TraceError as error:
            if error.code is Code.NOT_FOUND:
                return False
            reason = error.reason
            raise AeronLogError(str(self.path), 0, 0, LogCode.UNREADABLE, reason) from None
        self._inode = os.fstat(self._file.fileno()).st_ino
        self._inodes.add(self._inode)
        self._head = b""
        self._parser.begin_file(str(self.path))
        self.names.append(self.path.name)
        return True

    def _has_changed(self) -> bool:
        """Whether the file has been rolled or rewritten since it was opened."""
        assert self._file is not None
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False
        return there.st_ino != self._inode or self._is_rewritten(self._file)

    def _is_rewritten(self, file: BinaryIO) -> bool:
        """Whether the open file has been truncated, and perhaps written again."""
        is_shorter = os.fstat(file.fileno()).st_size < file.tell()
        return is_shorter or os.pread(file.fileno(), len(self._head), 0) != self._head

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _find_copies(self) -> list[Path]:
        """The copies of the open file, the longest one last. They are not read as files of their
        own.
        """
        found = []
        for path in self._unread() if self._head else ():
            with path.open("rb") as copy:
                if copy.read(len(self._head)) == self._head:
                    status = os.fstat(copy.fileno())
                    self._inodes.add(status.st_ino)
                    found.append((status.st_size, path))
        return [path for _, path in sorted(found)]

    def _find_rolled(self) -> None:
        """Find the name that the file was given when it was rolled, and files that were written
        and rolled since then.
        """
        for path in self._plain_files():
            if path.stat().st_ino == self._inode:
                self.names[-1] = path.name
        self._rolled = _in_order(self._unread())

    def _unread(self) -> list[Path]:
        """The rolled files that were not read."""
        return [path for path in self._plain_files() if path.stat().st_ino not in self._inodes]

    def _plain_files(self) -> list[Path]:
        """The rolled files. A packed one is left out: it is a copy of one that was read."""
        groups, _ = find_files(self.path.parent)
        paths = chain.from_iterable(groups.values())
        mine = f"{self.path.name}."
        return [path for path in paths if path.name.startswith(mine) and not is_packed(path)]


def find_files(folder: Path) -> tuple[dict[int, list[Path]], dict[str, str]]:
    """Find the logs in a folder that is being written.

    Returns
    -------
    tuple
        The files of each member, the newest at the end. Then the files that are left out, each
        with the reason.

    Raises
    ------
    AeronLogError
        If the folder cannot be listed.
    """
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        reason = error.strerror or "cannot be listed"
        raise AeronLogError(str(folder), 0, 0, LogCode.UNREADABLE, reason) from None
    found: dict[LogName, tuple[bool, int, Path]] = {}
    left_out: dict[str, str] = {}
    for path in paths:
        name = parse_log_name(path.name)
        if name is None:
            if is_similar_name(path.name):
                left_out[path.name] = "the name is not that of a log"
            continue
        try:
            status = path.stat()
        except OSError as error:  # A link to nothing, or a file that was removed just now.
            left_out[path.name] = error.strerror or "cannot be opened"
            continue
        if not stat.S_ISREG(status.st_mode):
            left_out[path.name] = "not a regular file"
        elif name in found:  # While a rolled file is being packed, it is there twice.
            left_out[path.name] = f"the same log is there as {found[name][2].name}"
        else:
            found[name] = (path.suffix == ".log", status.st_mtime_ns, path)
    groups: dict[int, list[Path]] = {}
    for name, (_, _, path) in sorted(found.items(), key=itemgetter(1)):
        groups.setdefault(name.member_id, []).append(path)
    return dict(sorted(groups.items())), left_out


class FollowedLogs:
    """The logs in a folder; a member whose log comes later is found, too.

    Parameters
    ----------
    folder
        Holds ``member-<id>.log``, and beside it the files that were rolled or packed.

    Attributes
    ----------
    members
        By member id, as the file names say.
    left_out
        Names of files that are not read, with the reasons.

    Raises
    ------
    AeronLogError
        If the folder cannot be listed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.members: dict[int, FollowedLog] = {}
        self.left_out: dict[str, str] = {}
        self.look()

    def look(self) -> None:
        """Find logs that are new in the folder."""
        groups, self.left_out = find_files(self.folder)
        for member_id, paths in groups.items():
            if member_id not in self.members:
                current = self.folder / f"{paths[0].name.partition('.log')[0]}.log"
                ended = [path for path in paths if path != current]
                self.members[member_id] = FollowedLog(current, _in_order(ended))

    def __enter__(self) -> FollowedLogs:
        return self

    def __exit__(self, *caught: object) -> None:
        for log in self.members.values():
            log.close()

    def read(self) -> tuple[dict[int, list[LogRecord]], bool]:
        """Read the new lines of every member, and say whether all of them were read."""
        found, at_end = {}, True
        for member_id, log in self.members.items():
            found[member_id], reached = log.read()
            at_end &= reached
        return found, at_end


def _in_order(paths: list[Path]) -> list[Path]:
    """Files in the order in which they were written, by their headers: numbers do not show it."""
    if len(paths) < 2:
        return paths
    logs = read_cluster(paths)
    return [path for log in logs.members.values() for path in log.files]

"""The event logs of a running cluster, read as they grow.

Files are rolled, truncated, or copied and truncated, and members come later. The lines read from a
file that is rolled have its new name from then on. A log that cannot be read is not read until
another file takes its place; the other logs are.
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

from canvass.explanation.timeline import UnreadLines, is_stamped
from canvass.traces.aeron_log.errors import AeronLogError, LogCode, joined
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.aeron_log.parser import LogParser
from canvass.traces.aeron_log.records import LogRecord, TruncatedLine
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
        Files that were rolled before.

    Attributes
    ----------
    names
        Names of the files read; a record's ``file`` is an index into it.
    lines
        How many records have been read.
    read_bytes
        How much has been read.
    error
        Why the log is not read; None if it is, or if no file is there.
    last_error
        The error after which the log was read on: lines may be missing. None without one.
    bad_files
        Inodes of the files that are left out because of their errors.
    damaged
        The last line that could not be read, in a log that is read; None without one.
    """

    def __init__(self, path: Path, rolled: list[Path]) -> None:
        self.path = path
        self.names: list[str] = []
        self.lines = 0
        self.read_bytes = 0
        self.error: AeronLogError | None = None
        self.last_error: AeronLogError | None = None
        self.bad_files: set[int] = set()
        self.damaged: TruncatedLine | None = None
        self._parser = LogParser(max_lines=sys.maxsize)
        self._last: LogRecord | None = None
        self._unordered = rolled
        self._rolled: list[Path] = []
        self._pieces: Iterator[list[LogRecord]] = iter(())
        self._file: BinaryIO | None = None
        self._inode = 0
        self._inodes: set[int] = set()
        self._head = b""
        self._is_bad = False
        self._failed = -1

    def read(self) -> tuple[list[LogRecord], bool]:
        """Read lines written since the last call: at most a piece of one file.

        If a file cannot be read, `error` says why, until a line of another file has been read.

        Returns
        -------
        tuple
            Records in the order of the lines, and whether there is nothing more to read now.
        """
        found: list[LogRecord] = []
        at_end = False
        try:
            piece = self._read_rolled()
            at_end = piece is None
            if piece is None:
                at_end = self._read_current(found)
            else:
                self._add(piece, found)
        except AeronLogError as error:
            self._fail(error, found)
            self._is_bad = self._file is not None
            self.bad_files.add(self._inode)
        except OSError as error:
            name, reason = str(error.filename or self.path), error.strerror or type(error).__name__
            self._fail(AeronLogError(name, 0, 0, LogCode.UNREADABLE, reason), found)
        return found, at_end

    def _add(self, piece: list[LogRecord], found: list[LogRecord]) -> None:
        """Add records that have been read. One with a stamp shows that the log is read again."""
        found += piece
        self.lines += len(piece)
        damaged = (one for one in reversed(piece) if isinstance(one, TruncatedLine))
        self.damaged = next(damaged, self.damaged)
        last = next(filter(is_stamped, reversed(piece)), None)
        if last is None:
            return
        self._last = last
        self.bad_files.discard(self._inode)
        if self.error is not None:
            if self.error.line and self.error.file == str(self.path):  # It may have been rolled.
                self.error.file = str(self.path.with_name(self.names[self._failed]))
            self.last_error, self.error = self.error, None

    def _fail(self, error: AeronLogError, found: list[LogRecord]) -> None:
        """Keep an error; add a record of the lines that cannot be read."""
        if str(error) == str(self.error):
            return
        self._add(self._parser.close(), found)
        self.error, self._failed = error, len(self.names) - 1
        if self._last is not None:
            last = self._last
            file, line = (self._failed, error.line) if error.line else (last.file, last.line)
            why = (error.code.value, error.reason, "")
            found.append(UnreadLines(file, line, last.time_ns, error.column, *why))

    def _read_rolled(self) -> list[LogRecord] | None:
        """Read a piece of the rolled files; None if all have been read."""
        piece = next(self._pieces, None)
        if piece is None and self._unordered:
            paths, self._unordered, self._inode = self._unordered, [], 0
            self._inodes.update(path.stat().st_ino for path in paths)
            self._rolled = _in_order(paths)
        if piece is None and self._rolled:
            self._pieces = self._whole(self._rolled.pop(0))
            piece = next(self._pieces)
        return piece

    def _read_current(self, found: list[LogRecord]) -> bool:
        """Read a piece of the file that is being written; say whether its end was reached."""
        if self._file is None and not self._open():
            return True
        assert self._file is not None
        if self._is_bad:
            return not self._leave()
        data = b"" if self._is_rewritten(self._file) else self._file.read(CHUNK_BYTES)
        self.read_bytes += len(data)
        self._head += data[: _HEAD_BYTES - len(self._head)]
        self._add(self._parser.feed(data), found)
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
            self._add(self._parser.feed(rest), found)
            self.close()
            self._find_rolled()
            self._add(self._parser.end_file(), found)
            at_end = False
        return at_end

    def _leave(self) -> bool:
        """Leave a file that cannot be read, if it has been rolled or rewritten; say whether."""
        if not self._has_changed():
            return False
        for copy in self._find_copies():
            self.bad_files.add(copy.stat().st_ino)
            self.names[-1] = copy.name
        self.close()
        self._find_rolled()
        return True

    @property
    def unreadable(self) -> int:
        """How many lines could not be read, in a log that is read."""
        return self._parser.counts.unreadable

    @property
    def fault(self) -> AeronLogError | None:
        """The error for a file that has no line of an event log so far."""
        return self._parser.fault

    def _whole(self, path: Path) -> Iterator[list[LogRecord]]:
        """The records of a rolled file, in pieces of bounded size."""
        source = LogSource(path)
        self._inode = path.stat().st_ino
        self._inodes.add(self._inode)
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
            self._inode = self.path.stat().st_ino
            reason = error.reason
            raise AeronLogError(str(self.path), 0, 0, LogCode.UNREADABLE, reason) from None
        self._inode = os.fstat(self._file.fileno()).st_ino
        self._inodes.add(self._inode)
        self._head, self._is_bad = b"", False
        self._parser.begin_file(str(self.path))
        self.names.append(self.path.name)
        if self.error is not None:  # Files rolled meanwhile are older than the lines of this one.
            self._inodes.update(path.stat().st_ino for path in self._unread())
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
        self._unordered = self._unread()

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
                self.members[member_id] = FollowedLog(current, ended)

    def __enter__(self) -> FollowedLogs:
        return self

    def __exit__(self, *caught: object) -> None:
        for log in self.members.values():
            log.close()

    def read(self) -> tuple[dict[int, list[LogRecord]], bool]:
        """Read the new lines of every member, and say whether there are no more now.

        Raises
        ------
        AeronLogError
            If no log can be read; it names all of them.
        """
        found, at_end = {}, True
        for member_id, log in self.members.items():
            found[member_id], reached = log.read()
            at_end &= reached
        errors = [log.error for log in self.members.values() if log.error is not None]
        if at_end and errors and len(errors) == len(self.members):
            raise joined(errors)
        return found, at_end

    @property
    def bad_files(self) -> frozenset[int]:
        """Inodes of the files that are left out because of their errors."""
        return frozenset(chain.from_iterable(log.bad_files for log in self.members.values()))

    def unread(self) -> dict[int, AeronLogError]:
        """The members whose logs are not read, each with the reason.

        A file without a line of an event log so far counts as not read.
        """
        found = {}
        for name, reason in self.left_out.items():
            parts = parse_log_name(name)
            if parts is not None and parts.member_id not in self.members:
                place = (str(self.folder / name), 0, 0)
                found[parts.member_id] = AeronLogError(*place, LogCode.UNREADABLE, reason)
        for member_id, log in self.members.items():
            if (error := log.error or log.fault) is not None:
                found[member_id] = error
        return dict(sorted(found.items()))


def _in_order(paths: list[Path]) -> list[Path]:
    """Files in the order in which they were written, by their headers: numbers do not show it.

    If a file cannot be read, the given order remains. The error is found again when it is read.
    """
    if len(paths) < 2:
        return paths
    try:
        logs = read_cluster(paths)
    except AeronLogError as error:
        if error.code is LogCode.MIXED_MEMBERS:
            raise
        return paths
    return [path for log in logs.members.values() for path in log.files]

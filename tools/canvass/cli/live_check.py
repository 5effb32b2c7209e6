"""The checks of ``canvass watch``: the logs as they are now, imported and verified.

Each check runs in processes of its own, one at a time, at low priority. Of a log longer than
`MAX_BYTES` only the end is checked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from canvass.cli.output import EXIT_ERROR, EXIT_UNEXPECTED
from canvass.traces.aeron_log.errors import AeronLogError
from canvass.traces.aeron_log.source import is_packed

if TYPE_CHECKING:
    from canvass.conformance.report import Report

MAX_BYTES: Final = 32 << 20
"""The most bytes of one member's log that a check reads: some 150,000 lines."""
LIMIT_S: Final = 600.0
"""Time limit of a check."""
_PACKED: Final = 20
"""Assumed ratio of a log's size to the size of its packed file."""
NICE: Final = 10
"""Nice value of the processes that check: a cluster on the same host comes first."""
_COPIED: Final = 1 << 20
_RUN: Final = "run"
"""The folder of the imported run, in the temporary folder of a check."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of one check.

    Parameters
    ----------
    verdict
        The verdict of ``canvass verify``; empty if the logs could not be checked.
    sentence
        Where the logs diverge, or why they could not be checked; empty otherwise.
    at_s
        The end of the check, by the monotonic clock.
    took_s
        The duration of the check.
    is_whole
        Whether all lines were checked, not only the end of long logs.
    unread
        Members with lines that were not checked, as they cannot be read.
    """

    verdict: str = ""
    sentence: str = ""
    at_s: float = 0.0
    took_s: float = 0.0
    is_whole: bool = True
    unread: frozenset[int] = frozenset()


class LiveCheck:
    """Checks the logs of a cluster as far as they have been written.

    Parameters
    ----------
    folder
        The folder of the logs.
    settings
        Timeouts, as ``PROPERTY=TIME``, for the import.

    Attributes
    ----------
    last
        The result of the last check.
    count
        The number of checks so far.
    revision
        The revision of the spec, if only the end of the logs is checked: it does not name the
        release. Empty: the end decides.
    unread
        Members whose logs cannot be read.
    bad_files
        Inodes of the files that cannot be read: they are left out.
    """

    def __init__(self, folder: Path, settings: Iterable[str] = ()) -> None:
        self.last = Checked()
        self.count = 0
        self.revision = ""
        self.unread: frozenset[int] = frozenset()
        self.bad_files: frozenset[int] = frozenset()
        self._folder = folder
        self._settings = [word for one in settings for word in ("--set", one)]
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = threading.Event()

    def check(self) -> Checked:
        """Import and verify the logs as they are now."""
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="canvass-watch-") as name:
            folder, is_whole, unread = Path(name), True, self.unread
            try:
                files, unread = self._readable(unread)
                paths, is_whole = self._paths(files, folder)
                every = is_whole and not unread
                verdict, sentence = self._verdict(paths, folder, is_whole=every)
                if unread and verdict == "CONFORMS":
                    verdict = "INCOMPLETE"
            except OSError as error:  # A file was rolled meanwhile: the next check reads it.
                verdict, sentence = "", f"{error.filename}: {error.strerror}"
            except AeronLogError as error:
                verdict, sentence = "", str(error)
        # The name of the temporary folder is another one each time, and says nothing to a reader.
        for made in (f"{name}/{_RUN}", name):
            sentence = sentence.replace(made, str(self._folder))
        now = time.monotonic()
        self.last = Checked(verdict, sentence, now, now - begun, is_whole, unread)
        self.count += 1
        return self.last

    def repeat(self, every_s: float) -> None:
        """Check at each interval until `stop`; wait at least as long as the last check took."""
        while not self._stopped.wait(max(every_s, self.last.took_s)):
            self.check()

    def stop(self) -> None:
        """End a check that is under way."""
        self._stopped.set()
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()

    def _readable(self, unread: frozenset[int]) -> tuple[dict[int, list[Path]], frozenset[int]]:
        """Give the files of each member without `bad_files`, and the members that lack lines."""
        from canvass.explanation.followed_logs import find_files

        found, bad = {}, self.bad_files
        for member_id, paths in find_files(self._folder)[0].items():
            kept = [path for path in paths if path.stat().st_ino not in bad]
            unread |= set() if kept == paths else {member_id}
            if kept:
                found[member_id] = kept
        return found, unread

    def _paths(self, files: dict[int, list[Path]], folder: Path) -> tuple[list[Path], bool]:
        """Give the paths to import: the logs, or a folder with copies of their ends."""
        if all(sum(map(_size, paths)) <= MAX_BYTES for paths in files.values()):
            return [path for paths in files.values() for path in paths], True
        for member_id, paths in files.items():
            _copy_end(paths, folder / f"member-{member_id}.log")
        return [folder], False

    def _verdict(self, paths: list[Path], folder: Path, *, is_whole: bool) -> tuple[str, str]:
        if not paths:
            return "", "no log is there"
        from canvass.conformance.report import Report
        from canvass.conformance.verdict import Verdict
        from canvass.traces.alignment.importer import ImportSummary

        run = str(folder / _RUN)
        begun = time.monotonic()
        words = ["import", "aeron", *map(str, paths), "--out", run, *self._settings]
        if self.revision and not is_whole:
            words += ["--revision", self.revision]
        code, out, error = self._canvass(words, LIMIT_S)
        if code == EXIT_ERROR or not (folder / _RUN).is_dir():
            return "", error
        contradiction = None
        if code == EXIT_UNEXPECTED:
            contradiction = msgspec.json.decode(out, type=ImportSummary).contradiction
        left_s = LIMIT_S - (time.monotonic() - begun)
        code, out, error = self._canvass(["verify", run, "--timing", "off"], left_s)
        try:
            found = msgspec.json.decode(out, type=Report)
        except msgspec.DecodeError:
            return "", error
        (one,) = found.runs
        if code == EXIT_ERROR:
            # If the beginning of a log is left out, there may be nothing to check.
            return ("" if is_whole else "INCOMPLETE"), one.reason or error
        if one.verdict is not Verdict.DIVERGES and contradiction is not None:
            # The run ends before the line. It proves nothing if earlier lines are missing.
            where = f"{contradiction.file}:{contradiction.line}: {contradiction.reason}"
            return ("DIVERGES" if is_whole else "INCOMPLETE"), where
        return one.verdict.value, _sentence(found)

    def _canvass(self, words: list[str], limit_s: float) -> tuple[int, bytes, str]:
        """Run a command; give its exit code, its output, and the last line of its errors."""
        program = [sys.executable, "-m", "canvass.cli.main", *words, "--format", "json"]
        self._child = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._child.pid, NICE)
        try:
            out, error = self._child.communicate(timeout=max(limit_s, 0.0))
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.communicate()
            return EXIT_ERROR, b"", f"the check took longer than {LIMIT_S:.0f} s"
        code, rows = self._child.returncode, error.decode(errors="replace").split("\n")
        ended = f"canvass {words[0]} ended with {code}"
        return code, out, next((row for row in reversed(rows) if row), ended)


def _sentence(found: Report) -> str:
    if not found.explanations:
        return found.runs[0].reason
    first, event = found.explanations[0].divergence, found.explanations[0].event
    seconds, nanos = divmod(event.time_ns, 10**9)
    return f"member {first.member} at [{seconds}.{nanos:09d}]: {first.name}: {first.text}"


def _size(path: Path) -> int:
    size = path.stat().st_size
    return size * _PACKED if is_packed(path) else size


def _copy_end(files: list[Path], to: Path) -> None:
    """Copy the last lines of a log that continues from file to file."""
    left, pieces = MAX_BYTES, list[tuple[Path, int]]()
    for path in reversed(files):
        if left <= 0 or is_packed(path):
            break
        size = path.stat().st_size
        pieces.insert(0, (path, max(size - left, 0)))
        left -= size
    with to.open("wb") as target:
        for path, start in pieces:
            with path.open("rb") as source:
                source.seek(start)
                if start:
                    source.readline()
                while data := source.read(_COPIED):
                    target.write(data)

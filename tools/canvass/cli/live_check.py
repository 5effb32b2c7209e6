"""The checker's verdict on logs that are being written: imported and verified again and again.

The import and the check run in processes of their own, one at a time, at low priority. What they
take is bounded: of logs that are longer than `MAX_BYTES` the end is checked.
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
from canvass.explanation.following import FollowedLogs

if TYPE_CHECKING:
    from canvass.conformance.report import Report

MAX_BYTES: Final = 32 << 20
"""Of one member, a log of some 150,000 lines."""
LIMIT_S: Final = 600.0
"""What a check may take."""
_PACKED: Final = 20
"""So many times as long as its file a packed log counts."""
NICE: Final = 10
"""Priority of the processes that check: a cluster on the same host comes first."""
_COPIED: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Checked:
    """What one check said.

    Parameters
    ----------
    verdict
        As of ``canvass verify``; empty if the logs could not be checked.
    sentence
        Where they diverge, or why they could not be checked; empty otherwise.
    at_s
        When, by the monotonic clock.
    took_s
        How long that took.
    is_whole
        Whether all lines were checked, not only the end of long logs.
    """

    verdict: str = ""
    sentence: str = ""
    at_s: float = 0.0
    took_s: float = 0.0
    is_whole: bool = True


class LiveCheck:
    """Checks the logs of a cluster as far as they have been written.

    Parameters
    ----------
    logs
        Which files there are.
    settings
        Timeouts, as ``PROPERTY=TIME``, for the import.

    Attributes
    ----------
    last
        What the last check said.
    count
        How many checks there were.
    """

    def __init__(self, logs: FollowedLogs, settings: Iterable[str] = ()) -> None:
        self.last = Checked()
        self.count = 0
        self._logs = logs
        self._settings = [word for one in settings for word in ("--set", one)]
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = threading.Event()

    def check(self) -> Checked:
        """Import and verify the logs as they are now."""
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="canvass-watch-") as name:
            folder, is_whole = Path(name), True
            try:
                paths, is_whole = self._files(folder)
                verdict, sentence = self._verdict(paths, folder, is_whole=is_whole)
            except OSError as error:  # A file was rolled meanwhile: the next check reads it.
                verdict, sentence = "", f"{error.filename}: {error.strerror}"
        now = time.monotonic()
        self.last = Checked(verdict, sentence, now, now - begun, is_whole)
        self.count += 1
        return self.last

    def repeat(self, every_s: float) -> None:
        """Check again and again until `stop`; no more than half of the time is taken by checks."""
        while not self._stopped.wait(max(every_s, self.last.took_s)):
            self.check()

    def stop(self) -> None:
        """End a check that is under way."""
        self._stopped.set()
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()

    def _files(self, folder: Path) -> tuple[list[Path], bool]:
        """What to import: the folder of the logs, or one with copies of their ends."""
        files = {member_id: log.files() for member_id, log in dict(self._logs.members).items()}
        if all(sum(map(_size, paths)) <= MAX_BYTES for paths in files.values()):
            return [self._logs.folder] if files else [], True
        for member_id, paths in files.items():
            _copy_end(paths, folder / f"member-{member_id}.log")
        return [folder], False

    def _verdict(self, paths: list[Path], folder: Path, *, is_whole: bool) -> tuple[str, str]:
        if not paths:
            return "", "no log is there"
        from canvass.conformance.report import Report
        from canvass.conformance.verdict import Verdict
        from canvass.traces.alignment.importer import ImportSummary

        run = str(folder / "run")
        begun = time.monotonic()
        words = ["import", "aeron", *map(str, paths), "--out", run, *self._settings]
        code, out, error = self._canvass(words, LIMIT_S)
        if code == EXIT_ERROR or not (folder / "run").is_dir():
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
            # Of a log without its beginning there may be nothing to check.
            return ("" if is_whole else "INCOMPLETE"), one.reason or error
        if one.verdict is not Verdict.DIVERGES and contradiction is not None:
            # The run ends before the line. If earlier lines are gone this need not mean anything.
            where = f"{contradiction.file}:{contradiction.line}: {contradiction.reason}"
            return ("DIVERGES" if is_whole else "INCOMPLETE"), where
        return one.verdict.value, _sentence(found)

    def _canvass(self, words: list[str], limit_s: float) -> tuple[int, bytes, str]:
        """Run a command; give its exit code, what it wrote, and the last line of its errors."""
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
        rows = error.decode(errors="replace").split("\n")
        return self._child.returncode, out, next((row for row in reversed(rows) if row), "")


def _sentence(found: Report) -> str:
    if not found.explanations:
        return found.runs[0].reason
    first, event = found.explanations[0].divergence, found.explanations[0].event
    seconds, nanos = divmod(event.time_ns, 10**9)
    return f"member {first.member} at [{seconds}.{nanos:09d}]: {first.name}: {first.text}"


def _size(path: Path) -> int:
    size = path.stat().st_size
    return size * _PACKED if path.suffix in (".gz", ".zst") else size


def _copy_end(files: list[Path], to: Path) -> None:
    """Copy the last lines of a log that continues from file to file."""
    left, pieces = MAX_BYTES, list[tuple[Path, int]]()
    for path in reversed(files):
        if left <= 0 or path.suffix in (".gz", ".zst"):
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

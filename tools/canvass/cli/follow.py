"""``canvass explain --follow``: explain logs again when they have grown, and print what is new."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from canvass.cli.output import EXIT_UNEXPECTED, complain, result_console
from canvass.traces.aeron_log.errors import AeronLogError
from canvass.traces.counts import counted

if TYPE_CHECKING:
    from rich.console import Console

    from canvass.explanation.changes import Changes, NewFinding
    from canvass.explanation.explanation import Explanation
    from canvass.explanation.timeline import Timeline

TICK_S: Final = 1.0
"""The time between two looks at the files."""
_SHARE: Final = 4
"""The least time between two readings, as a multiple of the time that the last one took."""


class ExitOn(str, Enum):
    """Events that end the command with exit code 1."""

    NEVER = "never"
    DIVERGENCE = "divergence"
    """The logs diverge from the spec: they are imported and checked each time."""
    DANGER = "danger"
    """A divergence or a danger."""
    STUCK = "stuck"
    """A divergence, a danger, or a member that is stuck where its log ends."""


def reasons_to_exit(
    changes: list[NewFinding], verdict: tuple[str, str], exit_on: ExitOn
) -> Iterator[str]:
    """Give the reasons to end the command, each as one line."""
    for one in changes:
        is_danger = one.severity == "danger" and exit_on in (ExitOn.DANGER, ExitOn.STUCK)
        is_stuck = one.kind == "stuck" and one.severity == "warning" and exit_on is ExitOn.STUCK
        if is_danger or is_stuck:
            yield str(one)
    if exit_on is not ExitOn.NEVER and verdict[0] == "DIVERGES":
        yield said_of(verdict)


def said_of(verdict: tuple[str, str]) -> str:
    """A verdict with its reason, as one line."""
    return f"verdict: {verdict[0] or 'not checked'}" + (f": {verdict[1]}" if verdict[1] else "")


def verdict_of(source: Path) -> tuple[str, str]:
    """Import logs and check the run.

    Parameters
    ----------
    source
        A run folder, or logs as for `canvass.traces.alignment.importer.import_clusters`.

    Returns
    -------
    tuple
        The verdict, and its reason: where the run diverges, or why the logs were not checked. The
        verdict is empty if the logs cannot be imported.
    """
    from canvass.traces.alignment.alignment import ImportFault
    from canvass.traces.alignment.importer import import_clusters
    from canvass.traces.run import RUN_FILE

    if (source / RUN_FILE).is_file():
        return _checked(source)
    found = []
    with tempfile.TemporaryDirectory(prefix="canvass-follow-") as name:
        try:
            runs = import_clusters([source], Path(name) / "logs")
        except (AeronLogError, ImportFault) as error:
            return "", str(error)
        for run, summary in runs.items():
            verdict, why = _checked(run)
            wrong = summary.contradiction
            if wrong is not None and verdict != "DIVERGES":
                verdict, why = "DIVERGES", f"{wrong.reason} [{wrong.file}:{wrong.line}]"
            found.append((verdict, why))
    return max(found, key=lambda one: ("CONFORMS", "INCOMPLETE", "DIVERGES").index(one[0]))


def _checked(run: Path) -> tuple[str, str]:
    """The verdict of a run, and where it diverges, with the line of the log."""
    from canvass.conformance.report import places_of
    from canvass.conformance.verify import check_units, make_lookup

    [one] = check_units([run], make_lookup([], None)).runs
    if not one.divergences:
        return one.verdict.value, one.reason
    first = one.divergences[0]
    _, *log = places_of(one, first).values()
    where = f" [{log[0]}]" if log else ""
    return one.verdict.value, f"member {first.member}: {first.name}: {first.text}{where}"


@dataclass(slots=True)
class Follower:
    """Reads the logs of a folder again and again.

    Parameters
    ----------
    source
        The folder of the logs, or one log.
    settings
        Timeouts, as for `canvass.explanation.explanation.explain`.
    show
        Prints the first explanation as a whole.
    """

    source: Path
    settings: dict[str, int]
    exit_on: ExitOn
    changes: Changes
    show: Callable[[Console, Explanation], object]
    console: Console = field(default_factory=result_console)
    _fault: str = ""
    _verdict: str = ""
    _has_shown: bool = False
    _earlier: int = 0

    def follow(self) -> int:
        """Explain the logs whenever they have changed, until an event ends the command."""
        seen: object = None
        while True:
            begun, now = time.monotonic(), self._size()
            if now != seen:
                seen = now
                if self.look():
                    return EXIT_UNEXPECTED
            time.sleep(max(TICK_S, _SHARE * (time.monotonic() - begun)))

    def look(self) -> bool:
        """Explain the logs as they are; say whether an event ends the command.

        Raises
        ------
        AeronLogError
            If the logs cannot be read at the first look. At later looks, the command prints the
            fault once instead.
        """
        from canvass.explanation.explanation import explain

        try:
            timeline = self._read()
        except AeronLogError as error:
            if not self._has_shown:
                raise
            if self._fault != str(error):
                self._fault = str(error)
                self.say(f"warning: the logs are not read: {self._fault}")
            return False
        if self._fault:
            self.say("note: the logs are read again")
            self._fault = ""
        if not timeline.members:
            return False
        if timeline.earlier != self._earlier:
            self._earlier, self._has_shown = timeline.earlier, False
            ran = f"{counted(self._earlier, 'cluster')} ran before in this log"
            self.say(f"note: {ran}; without --follow each one is explained")
        found = explain(timeline, self.settings)
        new = list(self.changes.of(found))
        if not self._has_shown:
            self.show(self.console, found)
        for change in new if self._has_shown else ():
            self.say(str(change))
        self._has_shown = True
        verdict = ("", "")
        if self.exit_on is not ExitOn.NEVER:
            verdict = self._check()
        reasons = list(reasons_to_exit(new, verdict, self.exit_on))
        for reason in reasons:
            complain(reason)
        return bool(reasons)

    def say(self, line: str) -> None:
        """Print a line and flush it, so that the reader of a pipe gets it at once."""
        self.console.print(line, soft_wrap=not self.console.is_terminal)
        self.console.file.flush()

    def _read(self) -> Timeline:
        """Read the logs; if that fails, read them once more after a pause.

        A file may be unreadable while it is rolled, copied or packed, so only an error of the
        second reading counts.
        """
        from canvass.explanation.reading import read_last

        with suppress(AeronLogError, OSError):
            return read_last(self.source)
        time.sleep(TICK_S)
        return read_last(self.source)

    def _check(self) -> tuple[str, str]:
        verdict = verdict_of(self.source)
        if self._verdict != (said := verdict[0] or verdict[1]):
            self.say(said_of(verdict))
            self._verdict = said
        return verdict

    def _size(self) -> list[tuple[str, int, int, int]]:
        """Everything that changes when logs are written, rolled, truncated or replaced."""
        found = []
        for path in self.source.iterdir() if self.source.is_dir() else [self.source]:
            with suppress(OSError):  # Removed just now, or a link to nothing.
                status = path.stat()
                found.append((path.name, status.st_size, status.st_mtime_ns, status.st_ino))
        return sorted(found)

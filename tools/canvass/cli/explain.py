"""``canvass explain``: leaders, elections, stuck members and risks of a cluster.

This module prints the answers of `canvass.explanation`. With ``--follow``, it explains logs again
when they have grown, and prints what is new.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.options import Output, Settings, need_run_or_logs, read_settings
from canvass.cli.output import (
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    complain,
    literal,
    names_not_read,
    result_console,
    typed,
    write_json,
)
from canvass.cli.output import show as show_text
from canvass.traces.errors import counted

if TYPE_CHECKING:
    from markupsafe import Markup
    from rich.console import Console

    from canvass.explanation.explanation import Changes, Explanation, NewFinding
    from canvass.explanation.timeline import Evidence, Timeline


class ExitOn(str, Enum):
    """Events that end the command with exit code 1."""

    NEVER = "never"
    DIVERGENCE = "divergence"
    """The logs diverge from the spec: they are imported and checked each time."""
    DANGER = "danger"
    """A divergence or a danger."""
    STUCK = "stuck"
    """A divergence, a danger, or a member that is stuck where its log ends."""


_NO_LINE: Final = (
    "no log has a line of the cluster; Aeron logs them with -Daeron.event.cluster.log=all"
)
_ROWS: Final = 12
"""Most rows of each table and list in the short answer."""
_GAPS: Final = 3
"""Most times without a leader in the short answer."""
_PLACES: Final = 4
"""Most places in logs beside one sentence on a terminal."""
_ASIDE: Final = 20
"""Least width of the column with these places."""
_LEAST: Final = 40
"""Least width of a sentence on a terminal."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("explain")(explain)


def explain(
    source: Annotated[
        Path,
        typer.Argument(metavar="RUN|LOGDIR", help="A run folder, or a folder of event logs."),
    ],
    election: Annotated[
        int | None, typer.Option(min=1, help="Show election N: phases, ballots, votes.")
    ] = None,
    member: Annotated[
        int | None, typer.Option(min=0, help="Show member M: phases, why it is stuck, risks.")
    ] = None,
    setting: Settings = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Explain the logs again when they grow; print what is new."),
    ] = False,
    exit_on: Annotated[
        ExitOn,
        typer.Option(
            metavar="WHAT",
            help="What makes the exit code 1, and ends --follow: divergence; danger: a divergence"
            " or a danger; stuck: any of these, or a stuck member.",
        ),
    ] = ExitOn.NEVER,
    output: Output = Format.HUMAN,
) -> None:
    """Explain what happened in a cluster: leaders, elections, stuck members, risks.

    A log of several clusters, one after the other, is explained cluster by cluster.
    Each sentence names the lines that show it, as FILE:LINE. Times are those of the logs.
    Exit code 0: explained. 1: an event that --exit-on names. 2: the logs or the run cannot be read.

    canvass explain LOGDIR

    canvass explain LOGDIR --election 3 --set aeron.cluster.election.timeout=1s

    canvass explain LOGDIR --follow --exit-on danger
    """
    need_run_or_logs(source)
    settings = read_settings(setting)
    from canvass.explanation.explanation import explain as explain_timeline

    if follow:
        if output is not Format.HUMAN or {election, member} != {None}:
            options = "--format, --election and --member"
            raise CommandError(f"--follow prints what is new, line by line: leave out {options}")
        raise typer.Exit(_follow(source, settings, exit_on))
    found = {
        name: explain_timeline(timeline, settings)
        for name, timeline in _read_timelines(source).items()
    }
    found = _chosen(found, election, member)
    several = list(found.values())
    document = several if len(several) > 1 else several[0]
    if output is Format.JSON:
        write_json(document)
    else:
        _show_all(found, election, member, source)
    if exit_on is not ExitOn.NEVER and _is_reason(source, several, exit_on):
        raise typer.Exit(EXIT_UNEXPECTED)


def _chosen(
    found: dict[str, Explanation], election: int | None, member: int | None
) -> dict[str, Explanation]:
    """Give the clusters that have the member and the election."""
    if member is not None:
        found = {name: one for name, one in found.items() if member in one.members}
        if not found:
            raise CommandError(f"--member {member}: there is no log of that member")
    if election is not None:
        most = max(len(one.elections) for one in found.values())
        if election > most:
            raise CommandError(f"--election {election}: the logs show {counted(most, 'election')}")
        found = {name: one for name, one in found.items() if election <= len(one.elections)}
    return found


def _follow(source: Path, settings: dict[str, int], exit_on: ExitOn) -> int:
    from canvass.explanation.explanation import Changes
    from canvass.traces.run import RUN_FILE

    if (source / RUN_FILE).is_file():
        raise CommandError(f"{source}: a run does not grow; --follow is for event logs")
    return Follower(source, settings, exit_on, Changes()).follow()


def _is_reason(source: Path, found: Iterable[Explanation], exit_on: ExitOn) -> bool:
    """Tell whether ``--exit-on`` names an event of the explanations; print each one to stderr."""
    from canvass.explanation.explanation import Changes

    news = [new for one in found for new in Changes().of(one)]
    return list(map(complain, _reasons_to_exit(news, _verdict_of(source), exit_on))) != []


def _read_timelines(source: Path) -> dict[str, Timeline]:
    """Read logs or a run by `canvass.explanation.reading.read_each`; print which files are ignored.

    Raises
    ------
    CommandError
        If no log has a line.
    """
    from canvass.explanation.reading import read_each

    several = read_each(source)
    if ignored := next(iter(several.values())).ignored:
        complain(names_not_read(ignored))
    if not any(timeline.members for timeline in several.values()):
        raise CommandError(f"{source}: {_NO_LINE}")
    return several


def _show_all(
    found: Mapping[str, Explanation], election: int | None, member: int | None, source: Path
) -> None:
    several = found.items() if len(found) > 1 else [("", one) for one in found.values()]
    for name, one in several:
        show(result_console(), one, heading=name, election=election, member=member)
    if election is None and member is None:
        row = _rows_of(result_console())
        command = f"{typed()} verify {quote(str(source))}"
        show_text("explain_next", row=row, command=command)


def show(
    console: Console,
    found: Explanation,
    *,
    heading: str = "",
    election: int | None = None,
    member: int | None = None,
) -> None:
    """Print the short answer, or all about an election, a member, or a member's part of one."""
    from canvass.explanation.explanation import clocks_apart, time_without_leader, written_by
    from canvass.explanation.timeline import seconds_of, shown_ns

    longest = sorted(found.gaps, key=lambda gap: (gap.from_ns or gap.until_ns) - gap.until_ns)
    kept = longest[:_GAPS]
    show_text(
        "explain" if election is None and member is None else "explain_part",
        console,
        found=found,
        heading=heading,
        one=None if election is None else found.elections[election - 1],
        member=member,
        row=_rows_of(console),
        most=_ROWS,
        wide=console.is_terminal,
        without_leader=time_without_leader(found),
        notes=[*written_by(found), *filter(None, [clocks_apart(found)])],
        apart=clocks_apart(found),
        gaps=[gap.sentence for gap in found.gaps if gap in kept and gap.from_ns is not None],
        seconds_of=seconds_of,
        shown_ns=shown_ns,
    )


def _rows_of(console: Console) -> Callable[..., Markup]:
    """Give a function that writes a sentence and the log lines that show it.

    On a terminal, the lines are in their own column, and rows break between words. Elsewhere, the
    lines are in brackets after the sentence.
    """

    def row(text: str, evidence: Sequence[Evidence] = ()) -> Markup:
        places = list(dict.fromkeys(map(str, evidence)))
        if not console.is_terminal:
            return literal(f"{text} [{', '.join(places)}]" if places else text)
        if len(places) > _PLACES:
            places[_PLACES - 1 :] = [f"and {len(places) - _PLACES + 1} more"]
        aside = max([_ASIDE, *map(len, places)]) + 2 if places else 0
        width = max(console.width - aside, _LEAST)
        indent = " " * (len(text) - len(text.lstrip()))
        texts = wrap(
            text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        rows = [
            f"{text:<{width}}  {place}".rstrip()
            for text, place in zip_longest(texts, places, fillvalue="")
        ]
        return literal(*rows)

    return row


def _reasons_to_exit(
    changes: list[NewFinding], verdict: tuple[str, str], exit_on: ExitOn
) -> Iterator[str]:
    """Give the reasons to end the command, each as one line."""
    for one in changes:
        is_danger = one.severity == "danger" and exit_on in (ExitOn.DANGER, ExitOn.STUCK)
        is_stuck = one.kind == "stuck" and one.severity == "warning" and exit_on is ExitOn.STUCK
        if is_danger or is_stuck:
            yield str(one)
    if exit_on is not ExitOn.NEVER and verdict[0] == "DIVERGES":
        yield _said_of(verdict)


def _said_of(verdict: tuple[str, str]) -> str:
    """A verdict with its reason, as one line."""
    return f"verdict: {verdict[0] or 'not checked'}" + (f": {verdict[1]}" if verdict[1] else "")


def _verdict_of(source: Path) -> tuple[str, str]:
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
    from canvass.traces.aeron_log.source import AeronLogError
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


TICK_S: Final = 1.0
"""The time between two looks at the files."""
_SHARE: Final = 4
"""The least time between two readings, as a multiple of the time that the last one took."""


@dataclass(slots=True)
class Follower:
    """Reads the logs of a folder again and again.

    Parameters
    ----------
    source
        The folder of the logs, or one log.
    settings
        Timeouts, as for `canvass.explanation.explanation.explain`.
    """

    source: Path
    settings: dict[str, int]
    exit_on: ExitOn
    changes: Changes
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
        from canvass.explanation.explanation import explain as explain_timeline
        from canvass.explanation.reading import read_last
        from canvass.traces.aeron_log.source import AeronLogError

        try:
            timeline = read_last(self.source)
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
        found = explain_timeline(timeline, self.settings)
        new = list(self.changes.of(found))
        if not self._has_shown:
            show(self.console, found)
        for change in new if self._has_shown else ():
            self.say(str(change))
        self._has_shown = True
        verdict = ("", "")
        if self.exit_on is not ExitOn.NEVER:
            verdict = self._check()
        reasons = list(_reasons_to_exit(new, verdict, self.exit_on))
        for reason in reasons:
            complain(reason)
        return bool(reasons)

    def say(self, line: str) -> None:
        """Print a line and flush it, so that the reader of a pipe gets it at once."""
        self.console.print(line, soft_wrap=not self.console.is_terminal)
        self.console.file.flush()

    def _check(self) -> tuple[str, str]:
        verdict = _verdict_of(self.source)
        if self._verdict != (said := verdict[0] or verdict[1]):
            self.say(_said_of(verdict))
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

"""``canvass explain``: leaders, elections, stuck members and risks of a cluster.

This module prints the answers of `canvass.explanation`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.follow import ExitOn, Follower, reasons_to_exit, verdict_of
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
from canvass.explanation.evidence import seconds_of, shown_ns
from canvass.traces.counts import counted

if TYPE_CHECKING:
    from markupsafe import Markup
    from rich.console import Console

    from canvass.explanation.evidence import Evidence
    from canvass.explanation.explanation import Explanation
    from canvass.explanation.timeline import Timeline

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
        for name, timeline in read_timelines(source).items()
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
    from canvass.explanation.changes import Changes
    from canvass.traces.run import RUN_FILE

    if (source / RUN_FILE).is_file():
        raise CommandError(f"{source}: a run does not grow; --follow is for event logs")
    return Follower(source, settings, exit_on, Changes(), show).follow()


def _is_reason(source: Path, found: Iterable[Explanation], exit_on: ExitOn) -> bool:
    """Tell whether ``--exit-on`` names an event of the explanations; print each one to stderr."""
    from canvass.explanation.changes import Changes

    news = [new for one in found for new in Changes().of(one)]
    return list(map(complain, reasons_to_exit(news, verdict_of(source), exit_on))) != []


def read_timelines(source: Path) -> dict[str, Timeline]:
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

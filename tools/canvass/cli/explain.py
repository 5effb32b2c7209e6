"""``canvass explain``: prints the answers of `canvass.explanation` about leaders, elections, stuck
members and risks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.follow import ExitOn, Follower, reasons_to_exit, verdict_of
from canvass.cli.options import Output, Page, Settings, need_run_or_logs, read_settings
from canvass.cli.output import (
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    complain,
    emit,
    names_not_read,
    result_console,
    typed,
    write_file,
)
from canvass.explanation.evidence import seconds_of, shown_ns
from canvass.traces.counts import counted

if TYPE_CHECKING:
    from rich.console import Console

    from canvass.explanation.elections import ElectionReport
    from canvass.explanation.evidence import Evidence, Sentence
    from canvass.explanation.explanation import Explanation
    from canvass.explanation.leaderships import Gap
    from canvass.explanation.timeline import Timeline

_NO_LINE: Final = (
    "no log has a line of the cluster; Aeron logs them with -Daeron.event.cluster.log=all"
)
_ROWS: Final = 12
"""Rows of each table and list in the short answer."""
_GAPS: Final = 3
"""Times without a leader in the short answer."""
_PLACES: Final = 4
"""Lines of logs beside one sentence on a terminal."""
_ASIDE: Final = 20
"""Least width of the column with these lines."""
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
    html: Page = None,
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
        if html is not None or output is not Format.HUMAN or {election, member} != {None}:
            options = "--format, --html, --election and --member"
            raise CommandError(f"--follow prints what is new, line by line: leave out {options}")
        raise typer.Exit(_follow(source, settings, exit_on))
    found = {
        name: explain_timeline(timeline, settings)
        for name, timeline in read_timelines(source).items()
    }
    if member is not None:
        found = {name: one for name, one in found.items() if member in one.members}
        if not found:
            raise CommandError(f"--member {member}: there is no log of that member")
    if election is not None:
        most = max(len(one.elections) for one in found.values())
        if election > most:
            raise CommandError(f"--election {election}: the logs show {counted(most, 'election')}")
        found = {name: one for name, one in found.items() if election <= len(one.elections)}
    if html is not None:
        from canvass.explanation.explanation import to_html

        write_file(html, to_html(found, source.absolute().name))
    several = list(found.values())
    document = several if len(several) > 1 else several[0]
    emit(output, document, lambda: _show_all(found, election, member, source))
    if exit_on is not ExitOn.NEVER and _is_reason(source, several, exit_on):
        raise typer.Exit(EXIT_UNEXPECTED)


def _follow(source: Path, settings: dict[str, int], exit_on: ExitOn) -> int:
    from canvass.explanation.changes import Changes
    from canvass.traces.run import RUN_FILE

    if (source / RUN_FILE).is_file():
        raise CommandError(f"{source}: a run does not grow; --follow is for event logs")
    return Follower(source, settings, exit_on, Changes(), show).follow()


def _is_reason(source: Path, found: Iterable[Explanation], exit_on: ExitOn) -> bool:
    """Whether an event of explanations is one that ``--exit-on`` names; stderr has each."""
    from canvass.explanation.changes import Changes

    news = [new for one in found for new in Changes().of(one)]
    return list(map(complain, reasons_to_exit(news, verdict_of([source]), exit_on))) != []


def read_timelines(source: Path) -> dict[str, Timeline]:
    """Read logs or a run as `canvass.explanation.reading.read_each`, and say what is left out.

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
    console = result_console()
    for name, one in found.items():
        if len(found) > 1:
            _title(console, f"Cluster {name}")
        if election is not None:
            show_election(console, one, one.elections[election - 1], member)
        elif member is not None:
            _show_member(console, one, member)
        else:
            show(console, one)
    if election is None and member is None:
        console.print()
        checked = f"{typed()} verify {quote(str(source))}"
        _print(console, f"Whether a committed entry was lost: {checked}")


def show(console: Console, found: Explanation) -> None:
    """Print the short answer."""
    from canvass.explanation.explanation import clocks_apart, time_without_leader, written_by

    span = shown_ns(found.end_ns - found.begin_ns)
    _print(
        console,
        f"{counted(found.member_count, 'member')}, {counted(len(found.members), 'log')}, {span},"
        f" {time_without_leader(found)}",
    )
    for line in filter(None, (*written_by(found), clocks_apart(found))):
        _print(console, line)
    _title(console, "Who led when")
    _leaderships(console, found)
    _more(console, len(found.leaderships) - _ROWS, "earlier leadership", " (--format json)")
    shown = [gap.sentence for gap in _longest(found.gaps)]
    _sentences(console, shown)
    if others := len(found.gaps) - len(shown):
        _print(console, f"  and {counted(others, 'more time')} without a leader (--format json)")
    if found.interruptions:
        _title(console, "Between elections")
        _sentences(console, found.interruptions[-_ROWS:])
        _more(console, len(found.interruptions) - _ROWS, "earlier event", " (--format json)")
    _title(console, "Elections")
    for one in found.elections[-_ROWS:]:
        _sentences(console, [one.sentence])
        _sentences(console, [one.slowest], "      ")
    _more(console, len(found.elections) - _ROWS, "earlier election", "; --election N shows each")
    _show_stuck(console, found, None)
    if found.positions:
        _title(console, "Positions")
        _sentences(console, found.positions)
    _show_risks(console, found, None)
    if found.missing:
        _title(console, "Missing")
        _sentences(console, found.missing[:_ROWS])
        _more(console, len(found.missing) - _ROWS, "further gap", " (--format json)")


def _longest(gaps: Sequence[Gap]) -> list[Gap]:
    """The longest times without a leader, in the order of time."""
    longest = sorted(gaps, key=lambda gap: (gap.from_ns or gap.until_ns) - gap.until_ns)[:_GAPS]
    return [gap for gap in gaps if gap in longest and gap.from_ns is not None]


def _print(console: Console, text: str, evidence: Sequence[Evidence] = ()) -> None:
    """Print a text and the lines that show it: in brackets behind it, and on a terminal in a column
    of their own. A terminal's rows end between words.
    """
    places = list(dict.fromkeys(map(str, evidence)))
    if not console.is_terminal:
        console.print(f"{text} [{', '.join(places)}]" if places else text)
        return
    if len(places) > _PLACES:
        places[_PLACES - 1 :] = [f"and {len(places) - _PLACES + 1} more"]
    aside = max([_ASIDE, *map(len, places)]) + 2 if places else 0
    width = max(console.width - aside, _LEAST)
    indent = " " * (len(text) - len(text.lstrip()))
    for row in wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ):
        place = places.pop(0) if places and len(row) <= width else ""
        console.print(f"{row:<{width}}  {place}".rstrip())
    for place in places:
        console.print(f"{'':<{width}}  {place}")


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(text, style="bold")


def _more(console: Console, left: int, noun: str, where: str) -> None:
    if left > 0:
        _print(console, f"  and {counted(left, noun)}{where}")


def _sentences(console: Console, sentences: Iterable[Sentence], indent: str = "  ") -> None:
    for sentence in sentences:
        _print(console, f"{indent}{sentence.text}", sentence.evidence)


def _leaderships(console: Console, found: Explanation) -> None:
    """Print the table; on a terminal the lines of the logs have rows of their own."""
    widths = "{:>6}  {:>6}  {:>11}  {:>11}  {:>9}  {}"
    lines = "" if console.is_terminal else " [lines]"
    console.print(widths.format("term", "leader", "from", "until", "for", f"ended by{lines}"))
    for row in found.leaderships[-_ROWS:]:
        lasted = "?"
        if row.from_ns is not None and row.until_ns is not None:
            lasted = f"{(row.until_ns - row.from_ns) / 1e9:,.1f} s"
        text = widths.format(
            row.leadership_term_id,
            "?" if row.leader_member_id is None else row.leader_member_id,
            seconds_of(row.from_ns),
            seconds_of(row.until_ns),
            lasted,
            row.reason or row.ended_by,
        )
        _print(console, text, () if console.is_terminal else row.evidence)
        if console.is_terminal:
            _print(console, f"{'':16}{', '.join(map(str, row.evidence))}")


def _show_stuck(console: Console, found: Explanation, member: int | None) -> None:
    stuck = [one for one in found.stuck if member in (None, one.member_id)]
    _title(console, "Stuck")
    if not stuck:
        who = "No member was" if member is None else f"Member {member} was not"
        _print(console, f"  {who} in an election for longer than its timeouts.")
    for one in stuck[-_ROWS:] if member is None else stuck:
        shown = one.said if member is not None else one.said[:4]
        _sentences(console, shown[:1])
        _sentences(console, shown[1:], "      ")
    if member is None:
        _more(console, len(stuck) - _ROWS, "earlier case", "; --member M shows each")


def _show_risks(console: Console, found: Explanation, member: int | None) -> None:
    risks = [one for one in found.risks if member in (None, one.member_id)]
    shown = [one for one in risks if member is not None or one.severity != "note"]
    shown.sort(key=lambda one: one.severity == "danger")  # On a terminal the last rows stay.
    _title(console, "At risk")
    if not shown:
        by = "" if member is None else f" by member {member}"
        _print(console, f"  No line shows a committed entry put at risk{by}.")
    for one in shown[-_ROWS:] if member is None else shown:
        _print(console, f"  {one.severity}: {one.title}")
        _sentences(console, one.sentences, "      ")
    if member is None:
        _more(console, len(shown) - _ROWS, "earlier risk", " (--format json)")
        notes = len(risks) - len(shown)
        if notes:
            _print(
                console,
                f"  and {counted(notes, 'note')}, such as uncommitted entries truncated"
                " (--member M)",
            )


def show_election(
    console: Console, found: Explanation, one: ElectionReport, member: int | None
) -> None:
    """Print everything about one election, or one member's part of it."""
    from canvass.explanation.explanation import clocks_apart

    _sentences(console, (one.sentence, one.slowest), "")
    if apart := clocks_apart(found):
        _print(console, apart)
    _sentences(console, one.causes)
    _title(console, "Ballots")
    voters = [(ballot, {vote.voter_member_id for vote in ballot.votes}) for ballot in one.ballots]
    ballots = [
        ballot
        for ballot, asked in voters
        if member is None or member in {ballot.candidate_member_id, *asked}
    ]
    if not ballots:
        _print(console, f"  No line shows a ballot{_of(member)}.")
    for ballot in ballots:
        _sentences(console, [ballot.sentence])
        _sentences(console, (vote.sentence for vote in ballot.votes), "      ")
    _title(console, "Phases")
    phases = [phase for phase in one.phases if member in (None, phase.member_id)]
    if not phases:
        _print(console, f"  No line shows a phase{_of(member)}.")
    for phase in phases:
        setting = f" ({phase.setting})" if phase.setting else ""
        text = f"  {seconds_of(phase.from_ns)} {phase.sentence.text}{setting}"
        _print(console, text, phase.sentence.evidence)
    if one.left_out:
        _print(console, f"  and {one.left_out} more phases of members that loop")


def _of(member: int | None) -> str:
    return "" if member is None else f" of member {member}"


def _show_member(console: Console, found: Explanation, member: int) -> None:
    console.print(f"Member {member}")
    _show_stuck(console, found, member)
    _show_risks(console, found, member)
    for one in found.elections:
        phases = [phase for phase in one.phases if phase.member_id == member]
        if phases:
            _title(console, f"Election {one.number}")
            for phase in phases:
                text = f"  {seconds_of(phase.from_ns)} {phase.sentence.text}"
                _print(console, text, phase.sentence.evidence)

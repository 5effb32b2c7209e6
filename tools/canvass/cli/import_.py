"""``canvass import aeron``: make a run of the event logs of a real cluster.

Only the shape of the command and of what it prints; the work is in `canvass.traces.alignment`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.options import NotedSettings, Output, need_logs, read_settings
from canvass.cli.output import (
    EXIT_OK,
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    emit,
    names_not_read,
    result_console,
)
from canvass.cluster.member import MAX_MEMBERS
from canvass.cluster.rules import REVISIONS

if TYPE_CHECKING:
    from canvass.traces.alignment.importer import ImportSummary

EXIT_INCOMPLETE = 3
"""The run is written, and something is missing from it."""


KIND: Final = "aeron"


def _kind(name: str) -> str:
    """Refuse another kind of logs than `KIND`, with the whole command if a path stands there."""
    if name != KIND:
        hint = (
            f": `canvass import {KIND} {quote(name)} --out my-run`" if Path(name).exists() else ""
        )
        raise CommandError(f"{name} is no kind of logs; name the kind {KIND}{hint}")
    return name


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("import")(import_)


Events = Annotated[
    str,
    typer.Option(
        "--events",
        metavar="NAMES",
        show_default=False,
        help="The events that the members log: names separated by commas, `all`, or"
        " `production` (the ones that Aeron's basic-auction-cluster script enables). Default:"
        " those in the logs.",
    ),
]
MemberCount = Annotated[
    int,
    typer.Option("--members", min=0, max=MAX_MEMBERS, help="Members of the cluster; 0: by lines."),
]
ChosenRevision = Annotated[
    str,
    typer.Option(
        "--revision",
        show_default=False,
        help=f"Revision of the spec: {', '.join(REVISIONS)}. Default: that of the logs' release.",
    ),
]


def import_(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f"The kind of the logs: {KIND}.", callback=_kind)
    ],
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOGS",
            help="A folder of member-<id>.log[.gz|.zst], the files, or one log of all members.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The run folder to write.")],
    effort: Annotated[
        int, typer.Option("--effort", min=1, max=1000, help="Factor for the limit of the search.")
    ] = 1,
    events: Events = "",
    revision: ChosenRevision = "",
    members: MemberCount = 0,
    setting: NotedSettings = None,
    output: Output = Format.HUMAN,
) -> None:
    """Import the event logs of an Aeron cluster as a run, for `canvass verify` to check.

    The logs show what was received and each state change; the steps in between are inferred.

    Exit code 0: the run accounts for every line. 1: the run ends at a line that no step of the spec
    prints. 2: the logs cannot be read. 3: lines or logs are missing, or the search reached its
    limit.
    """
    assert kind == KIND
    need_logs(logs)
    from canvass.cli.output import Stages
    from canvass.traces.aeron_log.log_vocabulary import events_named
    from canvass.traces.alignment import importer
    from canvass.traces.timeouts import beside, note_timeouts

    try:
        enabled = events_named(events) if events else None
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--events") from None
    if revision not in ("", *REVISIONS):
        reason = f"{revision!a} is none of {', '.join(REVISIONS)}"
        raise typer.BadParameter(reason, param_hint="--revision")
    timeouts = beside(logs[0] if logs[0].is_dir() else logs[0].parent) | read_settings(setting)
    with Stages() as stages:
        found = importer.import_clusters(
            logs,
            out,
            effort=effort,
            events=enabled,
            revision=revision,
            members=members,
            say=stages.stage,
        )
    for run in found if timeouts else ():
        note_timeouts(run / "run.json", timeouts)
    several = list(found.values())
    emit(output, several if len(several) > 1 else several[0], lambda: _print_all(found, effort))
    outcomes = {one.outcome for one in several}
    codes = {importer.CONTRADICTED: EXIT_UNEXPECTED, importer.INCOMPLETE: EXIT_INCOMPLETE}
    raise typer.Exit(next((codes[one] for one in codes if one in outcomes), EXIT_OK))


_SHOWN: Final = 20
"""Sentences about what is missing that a person is shown."""


def _print_all(found: Mapping[Path, ImportSummary], effort: int) -> None:
    for run, summary in found.items():
        _print(summary, run, effort)


def _print(summary: ImportSummary, out: Path, effort: int) -> None:
    from rich.table import Table

    console = result_console()
    table = Table(box=None, pad_edge=False)
    for name in ("member", "lines", "accounted", "steps", "observed", "inferred", "sends"):
        table.add_column(name, justify="right")
    table.add_column("received", justify="right")
    for member in summary.members:
        table.add_row(
            *(f"{number:,}" for number in (member.member_id, member.lines, member.accounted)),
            *(f"{number:,}" for number in (member.steps, member.observed, member.inferred)),
            *(f"{number:,}" for number in (member.sends, member.received_sends)),
        )
    console.print(table)
    for line in summary.releases.lines():
        console.print(line)
    for what, counts in (
        ("unknown event", summary.unknown_events),
        ("unknown field", summary.unknown_fields),
    ):
        for name, count in counts.items():
            console.print(f"{what} {name}: {count}")
    if summary.ignored:
        console.print(names_not_read(summary.ignored))
    if summary.foreign_lines:
        console.print(f"lines that are not the log's: {summary.foreign_lines}")
    replaced = map(str, summary.disk_replaced)
    sentences = [f"remark: {one}" for one in replaced if one not in summary.missing]
    sentences += [f"missing: {one}" for one in summary.missing]
    for sentence in sentences[:_SHOWN]:
        console.print(sentence)
    if len(sentences) > _SHOWN:
        console.print(f"missing: {len(sentences) - _SHOWN} more (--format json has all)")
    if summary.contradiction is not None:
        console.print(f"not explained: {summary.contradiction}")
    if summary.stopped is not None:
        console.print(f"--effort {effort * 10} searches longer for an explanation")
    console.print(f"observed: {_shares(summary)}")
    lines = sum(member.lines for member in summary.members)
    console.print(
        f"{summary.outcome}: {lines:,} lines in {summary.seconds:.2f} s"
        f" ({summary.lines_per_second:,} lines/s), written to {out}"
    )


def _shares(summary: ImportSummary) -> str:
    """How much of the run lines show. No share is rounded up to all of it."""
    return ", ".join(
        f"{100 * one.observed // one.total} % of {one.total:,} {name}"
        if one.total
        else f"no {name}"
        for name, one in summary.observed.items()
    )

"""``canvass import aeron``: make a run of the event logs of a real cluster.

This module has the command line and the printed result; `canvass.traces.alignment` does the work.
"""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Final

import typer

from canvass.cli.options import NotedSettings, Output, need_logs, read_settings
from canvass.cli.output import (
    EXIT_OK,
    EXIT_UNEXPECTED,
    CommandError,
    Format,
    Stages,
    emit,
    names_not_read,
)
from canvass.cluster.member import MAX_MEMBERS
from canvass.cluster.rules import REVISIONS

EXIT_INCOMPLETE = 3
"""The exit code if the run is written, no line contradicts it, and something is missing: lines, a
log, the disk with which a member starts, or the rest after the search has stopped.
"""


KIND: Final = "aeron"


def _kind(name: str) -> str:
    """Refuse a kind of logs other than `KIND`; if the word is a path, suggest the whole command."""
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
    from canvass.traces.aeron_log.releases import events_named
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
    document = several if len(several) > 1 else several[0]
    emit(output, document, "import", runs=found, effort=effort, not_read=names_not_read)
    outcomes = {one.outcome for one in several}
    codes = {importer.CONTRADICTED: EXIT_UNEXPECTED, importer.INCOMPLETE: EXIT_INCOMPLETE}
    raise typer.Exit(next((codes[one] for one in codes if one in outcomes), EXIT_OK))

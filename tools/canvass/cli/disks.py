"""``canvass disks``: what the members' directories say when there are no event logs.

The command line only; the verdict is made in `canvass.disks.verdict`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from canvass.cli.options import Output
from canvass.cli.output import CommandError, Format, emit, result_console

REVISIONS = ("1.49", "1.50")


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("disks")(disks)


def disks(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="The folder of a member, with its archive and cluster folders; or of all members.",
        ),
    ],
    lost: Annotated[
        list[int] | None,
        typer.Option("--assume-lost", min=0, help="Assume that this member's disk is lost."),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option("--members", min=1, max=99, help="Members of the cluster. Default: as found."),
    ] = None,
    client: Annotated[
        Path | None,
        typer.Option("--client", help="JSON lines of the answers to clients (see the guide)."),
    ] = None,
    revision: Annotated[
        str | None,
        typer.Option("--revision", help="Protocol 1.49 or 1.50. Default: of the log's release."),
    ] = None,
    output: Output = Format.HUMAN,
) -> None:
    """Assess the disks of a cluster: are they sound, is anything lost, who can lead?

    Reads the files of Aeron 1.44 to 1.53, without Aeron. Writes nothing to the disks.
    Stop the members first, or give copies; the files may be gzipped.

    Exit code 0: sound. 1: something is lost, diverged or damaged.
    2: a file cannot be read. 3: a file is missing, the rest is sound.

    canvass disks /data/member-0 /data/member-1 /data/member-2
    """
    from canvass.disks.text import lines
    from canvass.disks.verdict import assess

    if revision is not None and revision not in REVISIONS:
        raise CommandError(f"--revision {revision} is none of {', '.join(REVISIONS)}")
    verdict = assess(
        folders,
        lost=lost or (),
        member_count=members,
        client=client,
        revision=revision,
        now_ms=time.time_ns() // 1_000_000,
    )
    emit(output, verdict, lambda: result_console().print("\n".join(lines(verdict))))
    raise typer.Exit(verdict.exit_code)

"""``canvass disks``: assess the disks of a cluster without event logs.

This module has the command line; `canvass.disks.verdict` makes the verdict.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.options import Output, existing, need_disks
from canvass.cli.output import Format, emit
from canvass.cluster.messages import NULL_VALUE
from canvass.disks.findings import ALL_MEMBERS, Kind, verdict_of

if TYPE_CHECKING:
    from canvass.disks.verdict import DisksVerdict


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("disks")(disks)


def disks(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="Folder of one member, with its archive and cluster folders; or of all members.",
            callback=existing,
        ),
    ],
    lost: Annotated[
        list[int] | None,
        typer.Option(
            "--assume-lost",
            metavar="MEMBER",
            min=0,
            help="Assume that this member's disk is lost; repeatable.",
        ),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option("--members", min=1, max=99, help="Number of members. Default: as found."),
    ] = None,
    client: Annotated[
        Path | None,
        typer.Option(
            "--client", help="File of the answers to clients, as JSON lines (see the guide)."
        ),
    ] = None,
    output: Output = Format.HUMAN,
) -> None:
    """Assess the disks of a cluster: are they sound, is anything lost, who can lead?

    Reads the files of Aeron 1.44 to 1.53, without Aeron. Writes nothing to the disks.
    Stop the members first, or give copies; the files may be gzipped.

    Exit code 0: sound. 1: something is lost, diverged or damaged.
    2: a file cannot be read, or is of an unknown release.
    3: a file is missing, the rest is sound.

    canvass disks /data/member-0 /data/member-1 /data/member-2
    """
    need_disks(folders)
    from canvass.disks.verdict import assess

    verdict = assess(
        folders,
        lost=lost or (),
        member_count=members,
        client=client,
        now_ms=time.time_ns() // 1_000_000,
    )
    emit(output, verdict, "disks", **values(verdict))
    raise typer.Exit(verdict.exit_code)


def values(verdict: DisksVerdict) -> dict[str, object]:
    """Give the values that the template uses besides the verdict."""
    order = list(Kind)
    releases = {log.schema_version for log in verdict.logs} - {NULL_VALUE}
    return {
        "ranked": sorted(verdict.findings, key=lambda one: order.index(one.kind)),
        "verdict_of": verdict_of,
        "several": len(releases) > 1,
        "nothing": NULL_VALUE,
        "all_members": ALL_MEMBERS,
        "kinds": [kind for kind in Kind if kind is not Kind.NOTE],
    }

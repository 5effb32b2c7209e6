"""``canvass repair``: put back the damaged entries of a member's recording of the log.

This module has the command line only; `canvass.archive.repair` repairs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from canvass.cli.output import CommandError, result_console
from canvass.traces.counts import counted

_AERON: Final = ("archive.catalog", "cluster-mark.dat")
"""Files that only Aeron writes; copies may be gzipped."""


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("repair")(repair)


def repair(
    damaged: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Data folder of a stopped member of `canvass run`."),
    ],
    source: Annotated[
        Path,
        typer.Option(
            "--source",
            metavar="DATA",
            help="Data folder of another member. It is only read.",
        ),
    ],
) -> None:
    """Repair a member's log recording with the recording of another member.

    A member of a cluster of canvass run that finds damage does not start, and names the file.
    An entry is put back if the checksum of the next sound entry proves it. Other damage
    remains. The other member may be running.

    Exit code 0: the recording is repaired. 2: damage remains, or there was none.

    canvass repair CLUSTER/data/member-0 --source CLUSTER/data/member-1
    """
    from canvass.archive import repair as repairing
    from canvass.archive.files import FileStorage
    from canvass.archive.storage import ArchiveError

    for folder in (damaged, source):
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder")
        if any(path.name.startswith(_AERON) for path in folder.iterdir()):
            raise CommandError(f"{folder} has files of Aeron; only `canvass run`'s are repaired")
    if damaged.resolve() == source.resolve():
        raise CommandError(f"{source} is the damaged member's own folder")
    storage = FileStorage(damaged)
    other = FileStorage(source, lock=False)
    try:
        count = repairing.repair(storage, other)
        remaining = repairing.find_damage(storage)
    except ArchiveError as error:
        raise CommandError(f"{damaged}: {error}") from None
    finally:
        storage.close()
        other.close()
    entries = counted(count, "entry was", "entries were")
    result_console().print(f"{damaged}: {entries} put back", markup=False, soft_wrap=True)
    if remaining is not None:
        raise CommandError(f"{damaged}: {remaining}; {source} cannot repair this")

"""``canvass repair``: put back what has rotted in a member's recording of the log.

The command line only; what is put back, and what proves it, is in `canvass.archive.repair`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from canvass.cli.output import CommandError, result_console
from canvass.traces.counts import counted


def register(app: typer.Typer) -> None:
    """Add the sub-command."""

    @app.command("repair")
    def repair(
        damaged: Annotated[
            Path, typer.Argument(metavar="DATA", help="The data folder of a member that is down.")
        ],
        source: Annotated[
            Path,
            typer.Option(
                "--source",
                metavar="DATA",
                help="The data folder of another member; it is only read.",
            ),
        ],
    ) -> None:
        """Repair a member's log recording with the recording of another member.

        A member that finds damage does not start, and names the file. An entry is put back if the
        checksum of the next sound entry proves it; other damage stays as it is. The other member
        may be running.

        Exit code 0: entries were put back. 2: none could be.

        canvass repair CLUSTER/data/member-0 --source CLUSTER/data/member-1
        """
        from canvass.archive import repair as repairing
        from canvass.archive.files import FileStorage

        for folder in (damaged, source):
            if not folder.is_dir():
                raise CommandError(f"{folder} is not a folder")
        if damaged.resolve() == source.resolve():
            raise CommandError(f"{source} is the damaged member's own folder")
        storage = FileStorage(damaged)
        other = FileStorage(source, lock=False)
        try:
            count = repairing.repair(storage, other)
        finally:
            storage.close()
            other.close()
        entries = counted(count, "entry was", "entries were")
        result_console().print(f"{damaged}: {entries} put back", markup=False, soft_wrap=True)

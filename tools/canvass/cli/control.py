"""``canvass control``: a command to a cluster that runs, from another terminal.

As Aeron's ClusterTool this finds the cluster by its folder. Both sides of the socket are in
`canvass.runner.control_socket`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from canvass.cli.output import EXIT_OK


def register(app: typer.Typer) -> None:
    """Add the sub-command."""

    @app.command("control")
    def control(
        cluster: Annotated[
            Path, typer.Argument(help="The folder of a cluster that `canvass run` runs.")
        ],
        command: Annotated[
            list[str], typer.Argument(help="What could be typed there: toggle snapshot, kill 1.")
        ],
        timeout: Annotated[
            float, typer.Option(min=0.1, help="Seconds to wait until it is done.")
        ] = 60,
    ) -> None:
        """Let a running cluster do something: what could be typed at `canvass run`.

        Exit code 0: it was done; the output says how. 2: it was not done.

        canvass control CLUSTER toggle snapshot

        canvass control CLUSTER node all replicate-standby-snapshot

        canvass control CLUSTER kill leader
        """
        from canvass.runner.control_socket import send_command

        print(send_command(cluster, " ".join(command), timeout))
        raise typer.Exit(EXIT_OK)

"""``canvass control``: a command to a cluster that runs, from another terminal.

As Aeron's ClusterTool this finds the cluster by its folder. The other side, in the process of
`canvass run`, is `canvass.cli.run_commands`.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Annotated

import typer

from canvass.cli.output import EXIT_OK, CommandError


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
        from canvass.cli.run_commands import DONE

        answer = _ask(cluster, " ".join(command), timeout)
        begin, _, done = answer.partition(" ")
        if begin != DONE:
            raise CommandError(answer or "the run has ended before it was done")
        print(done)
        raise typer.Exit(EXIT_OK)


def _ask(cluster: Path, line: str, timeout_s: float) -> str:
    from canvass.cli.run_commands import socket_path

    if not cluster.is_dir():
        raise CommandError(f"{cluster} is no folder")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            with socket_path(cluster) as path:
                connection.connect(path)
            connection.sendall(line.replace("\n", " ").encode() + b"\n")
            with connection.makefile(encoding="utf-8") as lines:
                return lines.readline().strip()
        except TimeoutError:
            raise CommandError(f"it was not done within {timeout_s:g} s") from None
        except OSError:
            raise CommandError(f"no `canvass run` runs a cluster in {cluster}") from None

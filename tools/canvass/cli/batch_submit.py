"""``canvass batch pack`` and ``canvass batch submit-command``: to run on somebody's cluster.

The command line is here; what is packed and which words a line has is in `canvass.corpus`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from canvass.cli.output import CommandError


def register(batch: typer.Typer) -> None:
    """Add the sub-commands to ``canvass batch``."""

    @batch.command("pack")
    def pack(
        out: Annotated[
            Path, typer.Option("--out", help="A new file; its name ends in .tar.gz.")
        ] = Path("environment.tar.gz"),
        python: Annotated[
            Path | None,
            typer.Option(help="Path of Python on the executors. Default: this one."),
        ] = None,
    ) -> None:
        """Pack canvass and what it needs for executors that have no canvass.

        Executors need the same minor version of Python, at the path --python.

        canvass batch pack --out environment.tar.gz
        """
        from canvass.corpus.pack import pack_environment

        count, size = pack_environment(out, python)
        print(f"{out}: {count} packages, {size / 1e6:,.0f} MB")

    @batch.command(
        "submit-command",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )
    def submit(
        context: typer.Context,
        master: Annotated[str, typer.Option(help="spark://..., yarn, k8s://... or local[N].")],
        deploy_mode: Annotated[str, typer.Option(help="client or cluster.")] = "client",
        archive: Annotated[
            Path | None,
            typer.Option(help="A packed environment (venv-pack, conda-pack) for the executors."),
        ] = None,
        image: Annotated[str | None, typer.Option(help="Container image, for Kubernetes.")] = None,
        executors: Annotated[int | None, typer.Option(min=1, help="Number of executors.")] = None,
        executor_memory: Annotated[str, typer.Option(help="Memory of each executor.")] = "2g",
        script: Annotated[
            str | None,
            typer.Option(help="Path of canvass/cli/main.py for the driver. Default: this one."),
        ] = None,
    ) -> None:
        """Print the spark-submit line of a batch verification; run nothing.

        canvass batch submit-command --master yarn --archive env.tar.gz -- CORPUS --out REPORT
        """
        from shlex import join

        import canvass.cli.main
        from canvass.corpus.submit import Submission, submit_command

        if not context.args:
            raise CommandError("give the arguments of canvass batch verify after --")
        submission = Submission(
            master=master,
            deploy_mode=deploy_mode,
            archive=archive,
            image=image,
            executors=executors,
            executor_memory=executor_memory,
            driver_python=sys.executable,
        )
        main = canvass.cli.main.__file__ if script is None else script
        print(join(submit_command(submission, main, context.args)))

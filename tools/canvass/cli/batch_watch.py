"""``canvass batch watch``: verify what comes into a directory, for as long as it runs.

The command line and what it prints are here; the stream is in `canvass.corpus.watch`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.output import CommandError, Format, complain, result_console

if TYPE_CHECKING:
    from canvass.corpus.summary import Summary
    from canvass.corpus.watch import Watch


def register(batch: typer.Typer) -> None:
    """Add the sub-command to ``canvass batch``."""

    @batch.command("watch")
    def watch(
        corpus: Annotated[
            Path,
            typer.Argument(metavar="DIRECTORY", help="Where runs or files of a data set arrive."),
        ],
        out: Annotated[
            Path,
            typer.Option("--out", help="Folder of the tables and the checkpoint; go on from it."),
        ],
        master: Annotated[
            str | None, typer.Option(help="As for canvass batch verify; else local[2].")
        ] = None,
        once: Annotated[
            bool, typer.Option("--once", help="Verify what is there and new, then end.")
        ] = False,
        every: Annotated[
            float, typer.Option(min=0.1, help="Seconds between two looks at the directory.")
        ] = 10.0,
        settle: Annotated[
            float,
            typer.Option(min=0, help="Seconds without change until a whole run is verified."),
        ] = 5.0,
        patience: Annotated[
            float, typer.Option(min=0, help="The same for a run of which streams are missing.")
        ] = 600.0,
        graph: Annotated[Path | None, typer.Option(help="A graph artifact.")] = None,
        cache: Annotated[
            Path | None, typer.Option(help="Folder that keeps the oracle's answers.")
        ] = None,
        output: Annotated[
            Format, typer.Option("--format", help="For a person, or one JSON line a batch.")
        ] = Format.HUMAN,
    ) -> None:
        """Verify runs as they arrive in a directory; started again, go on from the checkpoint.

        Each run has one verdict, and another one only if more of its files come later. The tables
        are those of canvass batch verify with one more column, batch.

        With --once the exit code is that of canvass batch verify for what was new: 2 if there was
        nothing. Without, the command runs until it is interrupted: 130.

        canvass batch watch DIRECTORY --out REPORT

        canvass batch watch DIRECTORY --out REPORT --once --settle 0
        """
        from canvass.cli.given import make_lookup
        from canvass.corpus.checker import ConformanceChecker
        from canvass.corpus.watch import Patience, Watch

        if not corpus.is_dir():
            raise CommandError(f"{corpus}: there is no such directory")
        if out.absolute().is_relative_to(corpus.absolute()):
            raise CommandError("the report's folder is in the directory that is watched")
        if graph is not None:
            make_lookup([graph], cache)  # Refuses a graph of another state of the spec.
        raise typer.Exit(
            _watch(
                Watch(
                    corpus=corpus,
                    out=out,
                    checker=ConformanceChecker.of(graph=graph, cache=cache),
                    patience=Patience(round(settle * 1000), round(patience * 1000)),
                    every_ms=round(every * 1000),
                ),
                once,
                master,
                output,
            )
        )


def _watch(watch: Watch, once: bool, master: str | None, output: Format) -> int:
    from canvass.conformance.verdict import EXIT_CODES, Verdict, exit_code
    from canvass.corpus.session import one_line_failures, open_session
    from canvass.corpus.watch import catch_up, start

    found: set[Verdict] = set()

    def tell(batch: int, summary: Summary) -> None:
        found.update(v for v in Verdict if summary.verdicts[v.value])
        _tell(batch, summary, output)

    with open_session(master) as session, one_line_failures():
        complain(f"watching {watch.corpus}; verdicts go to {watch.out / 'verdicts'}")
        if once:
            catch_up(session, watch, tell)
        else:
            query = start(session, watch, tell)
            try:
                query.awaitTermination()
            finally:
                query.stop()
    if not found:
        complain("nothing new: nothing was checked")
        return EXIT_CODES[Verdict.MALFORMED]
    return exit_code(found)


def _tell(batch: int, summary: Summary, output: Format) -> None:
    """Write what a batch found: in JSON one line."""
    if output is Format.JSON:
        import msgspec

        row = msgspec.to_builtins(summary) | {"batch": batch}
        print(msgspec.json.encode(row).decode(), flush=True)
        return
    console = result_console()
    counts = ", ".join(f"{n:,} {name}" for name, n in summary.verdicts.items() if n)
    console.print(f"batch {batch}: {summary.runs:,} runs, {summary.events:,} events: {counts}")
    for row in summary.listed[:20]:
        console.print(f"  {row.verdict} {row.source}: {row.reason}")
    if summary.listed_count > 20:
        console.print(f"  and {summary.listed_count - 20:,} more that do not conform")

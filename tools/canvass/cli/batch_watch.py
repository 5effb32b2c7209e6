"""``canvass batch watch``: verify what comes into a corpus, for as long as it runs.

The command line and what it prints are here. Which units are due is in `canvass.corpus.history`;
they are verified and added to tables as ``canvass batch verify --append`` does it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.batch_verify import Engines, Request, check_request, verify_due
from canvass.cli.options import Output
from canvass.cli.output import CommandError, Format, complain, result_console
from canvass.corpus.engine_choice import EngineName
from canvass.traces.counts import counted

if TYPE_CHECKING:
    from canvass.corpus.history import Arrivals
    from canvass.corpus.storage import Place
    from canvass.corpus.summary import Summary


def register(batch: typer.Typer) -> None:
    """Add the sub-command to ``canvass batch``."""

    @batch.command("watch")
    def watch(
        corpora: Annotated[
            list[str],
            typer.Argument(
                metavar="CORPUS",
                help="Where runs or files of a data set arrive, by path or URL.",
            ),
        ],
        append: Annotated[
            str,
            typer.Option(metavar="TABLES", help="Folder of the tables to add to, by path or URL."),
        ],
        once: Annotated[
            bool, typer.Option("--once", help="Verify the new runs that are there, then end.")
        ] = False,
        every: Annotated[
            float, typer.Option(min=0.1, help="Seconds between two looks at the corpus.")
        ] = 10.0,
        settle: Annotated[
            float,
            typer.Option(min=0, help="Seconds without a change before a complete run is verified."),
        ] = 5.0,
        patience: Annotated[
            float, typer.Option(min=0, help="The same for an incomplete run.")
        ] = 600.0,
        master: Annotated[str | None, typer.Option(help="See canvass batch verify.")] = None,
        engine: Annotated[
            EngineName, typer.Option(help="See canvass batch verify.")
        ] = EngineName.AUTO,
        graph: Annotated[
            str | None, typer.Option(help="A state graph to use as a step cache.")
        ] = None,
        cache: Annotated[
            str | None, typer.Option(help="Folder of the cache of TLC's answers.")
        ] = None,
        oracles: Annotated[
            int, typer.Option(min=1, help="Maximum number of TLC processes at once.")
        ] = 1,
        output: Output = Format.HUMAN,
    ) -> None:
        """Verify runs as they arrive, and add the results to tables.

        The tables are those of canvass batch verify --append. A run is verified once, and again if
        its files change later. Started again, the command goes on from the tables.

        With --once the exit code is that of canvass batch verify --append; units that still change
        do not count. Without --once the command runs until it is interrupted: 130.

        canvass batch watch CORPUS --append TABLES

        canvass batch watch s3://lake/runs --append s3://lake/verdicts --once --settle 0
        """
        from canvass.corpus.history import Arrivals, Patience
        from canvass.corpus.storage import UrlPath, absolute, place_of

        request = Request(
            corpora=tuple(absolute(place_of(corpus)) for corpus in corpora),
            engine=engine,
            master=master,
            partitions=None,
            graph=None if graph is None else place_of(graph),
            cache=None if cache is None else place_of(cache),
            oracles=oracles,
        )
        check_request(request)
        tables = absolute(place_of(append))
        for corpus in request.corpora:
            if isinstance(corpus, Path) and not corpus.is_dir():
                raise CommandError(f"{corpus}: there is no such directory")
            if isinstance(corpus, UrlPath) and not corpus.root.is_dir():
                raise CommandError(f"{corpus}: there is no {corpus.root}")
            if f"{tables}/".startswith(f"{corpus}/"):
                raise CommandError(f"{tables} is in {corpus}, which is watched")
        complain(f"watching {', '.join(map(str, request.corpora))}; results go to {tables}")
        arrivals = Arrivals(request.corpora, Patience(settle, patience))
        raise typer.Exit(_watch(request, tables, arrivals, None if once else every, output))


def _watch(
    request: Request, tables: Place, arrivals: Arrivals, every: float | None, output: Format
) -> int:
    """Look for new units again and again, or once; give the exit code of the last look."""
    from canvass.cli.progress import Stages
    from canvass.corpus.history import History, HistoryInUse
    from canvass.corpus.summary import empty_summary, exit_code

    history = History(tables)
    with Engines(request.master) as engines:
        while True:
            listed = arrivals.listed()
            due = arrivals.due(listed)
            summary = empty_summary("", [])
            if due:
                try:
                    with Stages(each=True) as progress, history.opened():
                        summary, identity = verify_due(request, due, history, engines, progress)
                except HistoryInUse as error:
                    complain(f"{error}; trying again")
                else:
                    arrivals.seen(due)
                    if identity:
                        _show(summary, identity, output)
            if every is None:
                waiting = len(listed) - len(due)
                if waiting:
                    units = counted(
                        waiting, "unit still changes and was", "units still change and were"
                    )
                    complain(f"{units} not verified")
                if not summary.runs:
                    complain("no new unit: nothing was checked")
                return exit_code(summary)
            time.sleep(every)


def _show(summary: Summary, identity: str, output: Format) -> None:
    """Write what a batch found: in JSON one line."""
    if output is Format.JSON:
        import msgspec

        row = msgspec.to_builtins(summary) | {"verificationId": identity}
        print(msgspec.json.encode(row).decode(), flush=True)
        return
    from canvass.corpus.summary import totals

    console = result_console()
    console.print(f"{identity[:8]}: {totals(summary)}")
    for row in summary.listed[:20]:
        console.print(f"  {row.line}")
    if summary.listed_count > 20:
        more = summary.listed_count - 20
        runs = counted(more, "more run does not conform", "more runs do not conform")
        console.print(f"  and {runs}")

"""``canvass batch``: verify corpora in one process or on Spark, once or as they grow.

This module parses the command line and prints the results. `canvass.corpus` does the work.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.batch_verify import (
    Engines,
    Report,
    Request,
    arrived,
    check_request,
    verify_due,
    verify_new,
)
from canvass.cli.batch_verify import verify as verify_all
from canvass.cli.options import Output
from canvass.cli.output import (
    CommandError,
    Format,
    complain,
    emit,
    json_line,
    result_console,
)
from canvass.corpus.engine import EngineName
from canvass.traces.counts import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from canvass.corpus.history import Patience
    from canvass.corpus.storage import Place
    from canvass.corpus.summary import DivergenceClassSummary, Summary


class FailOn(str, Enum):
    """The divergences that make the command fail."""

    ANY = "any"
    NEW = "new"
    """Divergences of classes that the baseline or the tables do not have."""


Master = Annotated[
    str | None,
    typer.Option(help="local[N], spark://..., yarn, k8s://... or sc://... Default: local[2]."),
]
Engine = Annotated[
    EngineName, typer.Option(help="On spark, in one process, or on the faster one (auto).")
]
Graph = Annotated[str | None, typer.Option(help="A state graph whose steps count as known.")]
Cache = Annotated[str | None, typer.Option(help="Folder of the cache of TLC's answers.")]
Oracles = Annotated[int, typer.Option(min=1, help="Maximum number of TLC processes at once.")]


def register(app: typer.Typer) -> None:
    """Add the sub-commands."""
    batch = typer.Typer(help="Verify large corpora on Spark.", no_args_is_help=True)
    app.add_typer(batch, name="batch")
    batch.command("verify")(verify)
    batch.command("watch")(watch)


def verify(
    corpora: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS",
            help="Runs, folders of runs, Parquet data sets or files, by path or URL.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option("--out", help="A new or empty folder for tables and report."),
    ] = None,
    append: Annotated[
        str | None,
        typer.Option(
            metavar="TABLES",
            help="Verify what is new or changed, and add the results to tables in this folder.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="With --append: verify all units again.")
    ] = False,
    master: Master = None,
    engine: Engine = EngineName.AUTO,
    partitions: Annotated[
        int | None, typer.Option(min=1, help="Number of tasks. Default: chosen from the sizes.")
    ] = None,
    graph: Graph = None,
    cache: Cache = None,
    oracles: Oracles = 1,
    examples: Annotated[
        int,
        typer.Option(min=0, help="Number of classes of divergence with an example page."),
    ] = 3,
    fail_on: Annotated[
        FailOn,
        typer.Option(help="Fail on any divergence, or on new ones (--baseline, --append)."),
    ] = FailOn.ANY,
    baseline: Annotated[
        str | None, typer.Option(help="With --fail-on new: folder of an earlier report.")
    ] = None,
    output: Output = Format.HUMAN,
) -> None:
    """Verify corpora and write tables, summary and report; on Spark if that is faster.

    With --append, a unit is verified if it is new, if its files have changed, or if the spec or
    canvass has changed since. A unit is a run folder, a Parquet file or a folder of event logs.
    The exit code counts the latest verdict on each unit of CORPUS.

    Exit code 0: all runs conform. 1: one diverges. 2: a run is malformed and none diverges,
    nothing was checked, or Spark or TLC cannot run. 3: runs are incomplete. 130: interrupted.

    canvass batch verify CORPUS --out REPORT

    canvass batch verify CORPUS --out REPORT --master spark://host:7077

    canvass batch verify LAKE/date=2026-11-20 --append TABLES --fail-on new

    canvass batch verify s3://lake/runs --append s3://lake/verdicts

    canvass batch verify CORPUS --out REPORT --fail-on new --baseline YESTERDAY
    """
    from canvass.corpus.storage import place_of
    from canvass.corpus.summary import exit_code, new_clusters, read_summary

    if out is None and append is None:
        raise CommandError("--out or --append is required: the folder of the results")
    if baseline is not None and fail_on is FailOn.ANY:
        raise CommandError("--baseline requires --fail-on new")
    if fail_on is FailOn.NEW and baseline is None and append is None:
        raise CommandError("--fail-on new requires --baseline or --append")
    if again and append is None:
        raise CommandError("--again requires --append")
    known = (
        None
        if baseline is None
        else {one.identity for one in read_summary(place_of(baseline)).clusters}
    )
    answers = None if cache is None else place_of(cache)
    request = Request(
        corpora=tuple(map(place_of, corpora)),
        engine=engine,
        master=master,
        partitions=partitions,
        graph=None if graph is None else place_of(graph),
        cache=answers,
        oracles=oracles,
    )
    for results in filter(None, (out, append)):
        _need_outside(place_of(results), request.corpora, "verified")
    report = None if out is None else Report(place_of(out), answers, examples, known)
    if append is None:
        assert report is not None
        summary = verify_all(request, report)
    else:
        summary, before = verify_new(request, place_of(append), report, again=again)
        if fail_on is FailOn.NEW:
            known = (known or set()) | before
    new = None if known is None else new_clusters(summary, known)
    emit(output, summary, lambda: _show(summary, new, out))
    raise typer.Exit(exit_code(summary, known))


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
        float,
        typer.Option(min=0, help="Seconds without a change before an incomplete run is verified."),
    ] = 600.0,
    master: Master = None,
    engine: Engine = EngineName.AUTO,
    graph: Graph = None,
    cache: Cache = None,
    oracles: Oracles = 1,
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
    from canvass.corpus.history import Patience
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
    _need_outside(tables, request.corpora, "watched")
    complain(f"watching {', '.join(map(str, request.corpora))}; results go to {tables}")
    waits = Patience(settle, patience)
    raise typer.Exit(_watch(request, tables, waits, None if once else every, output))


def _need_outside(results: Place, corpora: Sequence[Place], use: str) -> None:
    """Refuse a folder of results in a corpus: there the results would be taken for a run."""
    inner = _normal(results)
    for corpus in corpora:
        if f"{inner}/".startswith(f"{_normal(corpus)}/"):
            raise CommandError(f"{inner} is in {_normal(corpus)}, which is {use}")


def _normal(place: Place) -> str:
    """Return a path without links and ``..``; a URL as it is."""
    return str(place.resolve() if isinstance(place, Path) else place)


def _watch(
    request: Request, tables: Place, patience: Patience, every: float | None, output: Format
) -> int:
    """Verify what has arrived and settled, repeatedly or once; return the last exit code."""
    from canvass.cli.output import Stages
    from canvass.conformance.step_lookup import spec_digest
    from canvass.corpus.history import History, checker_version, is_settled
    from canvass.corpus.summary import empty_summary, exit_code

    history = History(tables)
    with Engines(request.master) as engines:
        while True:
            units = arrived(request)
            inputs = history.inputs(units, spec_digest(), checker_version())
            waiting = {unit.path for unit in inputs.due if not is_settled(unit, patience)}
            settled = [unit for unit in units if unit.path not in waiting]
            summary = empty_summary(request.names, inputs.earlier_units())
            if len(inputs.due) > len(waiting):
                with Stages(each=True) as progress:
                    summary, identity = verify_due(request, settled, history, engines, progress)
                _show_new(summary, identity, output)
            if every is None:
                if waiting:
                    units_text = counted(
                        len(waiting), "unit still changes and was", "units still change and were"
                    )
                    complain(f"{units_text} not verified")
                if not summary.runs:
                    complain("no new unit: nothing was checked")
                return exit_code(summary)
            time.sleep(every)


def _show_new(summary: Summary, identity: str, output: Format) -> None:
    """Print the result of a batch; in JSON it is one line."""
    if output is Format.JSON:
        import msgspec

        row = msgspec.to_builtins(summary) | {"verificationId": identity}
        print(json_line(row).decode(), flush=True)
        return
    from canvass.corpus.summary import totals

    console = result_console()
    console.print(f"{identity[:9]}: {totals(summary)}")
    for row in summary.listed[:20]:
        console.print(f"  {row.line}")
    if summary.listed_count > 20:
        more = summary.listed_count - 20
        runs = counted(more, "more run does not conform", "more runs do not conform")
        console.print(f"  and {runs}")


def _show(summary: Summary, new: list[DivergenceClassSummary] | None, out: str | None) -> None:
    """Print the result for a person: verdicts, then the clusters of divergences."""
    from canvass.conformance.findings import step_name
    from canvass.conformance.report import shared_id_remark
    from canvass.corpus.summary import (
        in_part_text,
        name_of,
        revision_texts,
        totals,
    )

    console = result_console()
    if summary.runs or not summary.earlier:
        console.print(totals(summary))
    else:
        console.print("no unit is new or changed: nothing was verified")
    for said in filter(None, (*revision_texts(summary), in_part_text(summary))):
        console.print(said)
    fresh = {cluster.identity for cluster in new or ()}
    for one in summary.clusters[:20]:
        mark = "" if new is None else (" (new)" if one.identity in fresh else " (known)")
        example = name_of(one.example_source, one.example_run_id)
        runs = counted(one.runs, "run")
        step = step_name(one.example_member_id, one.example_step, " ")
        console.print(
            f"  {one.divergence_class} {one.name}: {one.count:,} in {runs}{mark},"
            f" such as {example} {step}: {one.example_reason}"
        )
    if summary.cluster_count > 20:
        more = counted(summary.cluster_count - 20, "more class", "more classes")
        console.print(f"  and {more} of divergences")
    for line in _not_whole(summary):
        console.print(f"  {line}")
    for shared in summary.shared_ids[:5]:
        console.print(f"  {shared_id_remark(shared.run_id, shared.count, shared.sources)}")
    if summary.shared_id_count > 5:
        more = counted(summary.shared_id_count - 5, "more id")
        console.print(f"  and {more} that several runs have")
    for graph in summary.graphs:
        share = f"{graph.covered:,} of the {graph.steps:,} steps of {graph.model}"
        console.print(f"the corpus takes {share}")
    for line in _unchanged(summary):
        console.print(line)
    ends = [f"{summary.events_per_second:,.0f} events/s"] if summary.runs else []
    ends += [] if out is None else [f"report: {out.rstrip('/')}/report.html"]
    if ends:
        console.print("; ".join(ends))


def _unchanged(summary: Summary) -> Iterator[str]:
    """Yield the runs of unchanged units by verdict, and the first units that do not conform."""
    from canvass.corpus.summary import verdict_counts

    if any(summary.earlier.values()):
        yield f"verified before and unchanged: {verdict_counts(summary.earlier)}"
    for unit in summary.earlier_listed[:20]:
        yield f"  {unit.source}: {verdict_counts(unit.verdicts)}"
    if (more := summary.earlier_listed_count - 20) > 0:
        yield f"  and {counted(more, 'more unit')} with runs that do not conform"


def _not_whole(summary: Summary) -> Iterator[str]:
    """Yield a line for each of the first malformed and incomplete runs, and how many follow."""
    for verdict in ("MALFORMED", "INCOMPLETE"):
        lines = [row.line for row in summary.listed if row.verdict == verdict][:20]
        yield from lines
        if (more := summary.verdicts[verdict] - len(lines)) > 0:
            yield f"and {more:,} more {verdict}"

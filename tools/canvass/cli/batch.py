"""``canvass batch``: verify corpora in one process or on Spark, once or as they grow.

This module parses the command line and prints the results. `canvass.corpus` does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.batch_verify import Request
from canvass.cli.batch_verify import verify as verify_due
from canvass.cli.options import Output
from canvass.cli.output import CommandError, Format, write_json, write_text
from canvass.corpus.spark_session import EngineName

if TYPE_CHECKING:
    from canvass.corpus.storage import Place


class FailOn(str, Enum):
    """The divergences that make the command fail."""

    ANY = "any"
    NEW = "new"
    """Divergences of classes that the tables do not have."""


def register(app: typer.Typer) -> None:
    """Add the sub-commands."""
    batch = typer.Typer(help="Verify large corpora on Spark.", no_args_is_help=True)
    app.add_typer(batch, name="batch")
    batch.command("verify")(verify)


Corpora = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS", help="Runs, folders of runs, Parquet data sets or files, by path or URL."
    ),
]
Out = Annotated[
    str | None, typer.Option("--out", help="A new or empty folder for tables and report.")
]
Append = Annotated[
    str | None,
    typer.Option(
        metavar="TABLES",
        help="Verify what is new or changed, and add the results to tables in this folder.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(help="local[N], spark://..., yarn, k8s://... or sc://... Default: local[2]."),
]
Engine = Annotated[
    EngineName, typer.Option(help="On spark, in one process, or on the faster one (auto).")
]
Partitions = Annotated[
    int | None, typer.Option(min=1, help="Number of tasks. Default: chosen from the sizes.")
]
Graph = Annotated[Path | None, typer.Option(help="A state graph whose steps count as known.")]
Cache = Annotated[str | None, typer.Option(help="Folder of the cache of TLC's answers.")]
Oracles = Annotated[int, typer.Option(min=1, help="Maximum number of TLC processes at once.")]
Fails = Annotated[
    FailOn, typer.Option(help="Fail on any divergence, or only on kinds that the tables lack.")
]


def verify(
    corpora: Corpora,
    out: Out = None,
    append: Append = None,
    master: Master = None,
    engine: Engine = EngineName.AUTO,
    partitions: Partitions = None,
    graph: Graph = None,
    cache: Cache = None,
    oracles: Oracles = 1,
    fail_on: Fails = FailOn.ANY,
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
    """
    from canvass.corpus.report import exit_code, new_clusters, to_text
    from canvass.corpus.storage import place_of

    only_new = fail_on is FailOn.NEW
    if out is None and append is None:
        raise CommandError("--out or --append is required: the folder of the results")
    if only_new and append is None:
        raise CommandError("--fail-on new requires --append")
    places = tuple(map(place_of, corpora))
    for text in filter(None, (out, append)):
        _need_outside(place_of(text), places)
    made = (None if text is None else place_of(text) for text in (out, append, cache))
    report, tables, answers = made
    summary, known = verify_due(
        Request(
            places, report, tables, only_new, engine, master, partitions, graph, answers, oracles
        )
    )
    new = None if known is None else new_clusters(summary, known)
    if output is Format.JSON:
        write_json(summary)
    else:
        write_text(to_text(summary, new, out))
    raise typer.Exit(exit_code(summary, known))


def _need_outside(results: Place, corpora: Sequence[Place]) -> None:
    """Refuse a folder of results in a corpus: there the results would be taken for a run."""
    inner = _normal(results)
    for corpus in corpora:
        if f"{inner}/".startswith(f"{_normal(corpus)}/"):
            raise CommandError(f"{inner} is in {_normal(corpus)}, which is verified")


def _normal(place: Place) -> str:
    """Return a path without links and ``..``; a URL as it is."""
    return str(place.resolve() if isinstance(place, Path) else place)

"""``canvass batch``: verify corpora on Spark.

The command line and what it prints are here; plan, job and report are in `canvass.corpus`.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canvass.cli.batch_watch import register as register_watch
from canvass.cli.output import CommandError, Format, result_console, write_json
from canvass.corpus.engine_choice import EngineName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from canvass.cli.stages import Stages
    from canvass.corpus.engine import Engine
    from canvass.corpus.summary import Cluster, Summary


class FailOn(str, Enum):
    """Which divergences make the command fail."""

    ANY = "any"
    NEW = "new"
    """Those whose like the baseline does not have."""


def register(app: typer.Typer) -> None:
    """Add the sub-commands."""
    batch = typer.Typer(help="Verify large corpora on Spark.", no_args_is_help=True)
    app.add_typer(batch, name="batch")

    @batch.callback()
    def common() -> None:
        """Verify large corpora on Spark."""

    @batch.command("verify")
    def verify(
        corpora: Annotated[
            list[Path],
            typer.Argument(
                metavar="CORPUS...", help="Runs, folders of runs, Parquet data sets or files."
            ),
        ],
        out: Annotated[
            Path, typer.Option("--out", help="A new or empty folder for tables and report.")
        ],
        master: Annotated[
            str | None,
            typer.Option(help="local[N], spark://..., yarn, k8s://... or sc://...; else local[2]."),
        ] = None,
        engine: Annotated[
            EngineName,
            typer.Option(help="spark, one process, or the faster one; with --master spark."),
        ] = EngineName.AUTO,
        partitions: Annotated[
            int | None, typer.Option(min=1, help="Number of tasks; else chosen from the sizes.")
        ] = None,
        graph: Annotated[
            Path | None, typer.Option(help="A graph artifact; else all steps go to the oracle.")
        ] = None,
        cache: Annotated[
            Path | None, typer.Option(help="Folder that keeps the oracle's answers.")
        ] = None,
        oracles: Annotated[
            int, typer.Option(min=1, help="How many JVMs of the oracle may run at once.")
        ] = 1,
        examples: Annotated[
            int,
            typer.Option(min=0, help="Kinds of divergences of which a page shows an example."),
        ] = 3,
        fail_on: Annotated[
            FailOn, typer.Option(help="Fail on any divergence, or on those new to --baseline.")
        ] = FailOn.ANY,
        baseline: Annotated[
            Path | None, typer.Option(help="The folder of an earlier report.")
        ] = None,
        output: Annotated[
            Format, typer.Option("--format", help="For a person or a machine.")
        ] = Format.HUMAN,
    ) -> None:
        """Verify corpora and write tables, summary and report; on Spark if that is faster.

        Exit code 0: all runs conform. 1: one diverges. 2: a run is malformed and none diverges,
        nothing was checked, or Spark or TLC cannot run. 3: runs are incomplete. 130: interrupted.

        canvass batch verify CORPUS --out REPORT

        canvass batch verify CORPUS --out REPORT --master spark://host:7077

        canvass batch verify CORPUS --out REPORT --fail-on new --baseline YESTERDAY
        """
        from canvass.corpus.summary import exit_code, new_clusters, read_summary

        if (fail_on is FailOn.NEW) != (baseline is not None):
            raise CommandError("--fail-on new and --baseline go together")
        earlier = None if baseline is None else read_summary(baseline)
        summary = _verify(
            corpora, out, engine=engine, master=master, partitions=partitions, graph=graph,
            cache=cache, oracles=oracles,
        )  # fmt: skip
        new = None if earlier is None else new_clusters(summary, earlier)
        _write(out, summary, new, cache, examples)
        if output is Format.JSON:
            write_json(summary)
        else:
            _show(summary, new, out)
        raise typer.Exit(exit_code(summary, earlier))

    register_watch(batch)

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
        executors: Annotated[int | None, typer.Option(min=1, help="How many executors.")] = None,
        executor_memory: Annotated[str, typer.Option(help="Of each executor.")] = "2g",
        script: Annotated[
            str | None,
            typer.Option(help="canvass/cli/main.py as the driver sees it; else that of here."),
        ] = None,
    ) -> None:
        """Print the spark-submit line of a batch verification; run nothing.

        canvass batch submit-command --master yarn --archive env.tar.gz -- CORPUS --out REPORT
        """
        from shlex import join

        import canvass.cli.main
        from canvass.corpus.submit import Submission, submit_command

        if not context.args:
            raise CommandError("after -- come the arguments of canvass batch verify")
        submission = Submission(
            master=master,
            deploy_mode=deploy_mode,
            archive=archive,
            image=image,
            executors=executors,
            executor_memory=executor_memory,
        )
        main = canvass.cli.main.__file__ if script is None else script
        print(join(submit_command(submission, main, context.args)))


def _verify(
    corpora: list[Path],
    out: Path,
    *,
    engine: EngineName,
    master: str | None,
    partitions: int | None,
    graph: Path | None,
    cache: Path | None,
    oracles: int,
) -> Summary:
    from importlib.metadata import version

    from canvass.cli.batch_progress import progress_text
    from canvass.cli.given import need_runs
    from canvass.cli.lookup_options import make_lookup
    from canvass.cli.stages import Stages
    from canvass.corpus.checker import ConformanceChecker
    from canvass.corpus.engine_choice import choose_engine
    from canvass.corpus.job import CorpusJob
    from canvass.corpus.plan import list_units
    from canvass.corpus.summary import summarise

    need_runs(corpora, "canvass batch verify", logs=True)
    if graph is not None:
        make_lookup([graph], cache)  # Refuses a graph of another state of the spec.
    if engine is EngineName.PROCESS and master is not None:
        raise CommandError("--engine process and --master exclude each other")
    units = list_units(corpora)
    chosen, reason = choose_engine(units, master, engine)
    with Stages(each=True) as progress:
        progress.stage(f"{len(units):,} units listed" + (f"; {reason}" if reason else ""))
        with _open_engine(chosen, master, progress) as running:
            job = CorpusJob(
                running,
                ConformanceChecker.of(graph=graph, cache=cache),
                out,
                partitions=partitions,
                oracles=oracles,
                say=progress.stage,
            )
            started = time.monotonic()
            progress.detail(lambda seconds: progress_text(job.so_far(), seconds))
            job.run(units)
            summary = summarise(
                job,
                version=version("canvass"),
                corpora=[str(corpus) for corpus in corpora],
                tasks=partitions,
                seconds=time.monotonic() - started,
            )
            job.clean()
    return summary


@contextmanager
def _open_engine(chosen: EngineName, master: str | None, progress: Stages) -> Iterator[Engine]:
    """Start what the job runs on, and stop it at the end."""
    from canvass.corpus.engine import ProcessEngine, SparkEngine
    from canvass.corpus.session import one_line_failures, open_session

    if chosen is EngineName.PROCESS:
        yield ProcessEngine()
        return
    progress.stage("starting Spark")
    with open_session(master) as session, one_line_failures():
        yield SparkEngine(session)


def _write(
    out: Path, summary: Summary, new: list[Cluster] | None, cache: Path | None, examples: int
) -> None:
    import msgspec

    from canvass.cli.lookup_options import make_lookup
    from canvass.corpus.examples import write_examples
    from canvass.corpus.report import REPORT_FILE, render
    from canvass.corpus.summary import SUMMARY_FILE

    encoded = msgspec.json.format(msgspec.json.encode(summary), indent=2)
    (out / SUMMARY_FILE).write_bytes(encoded + b"\n")
    pages = write_examples(summary.clusters, out, make_lookup([], cache), examples)
    (out / REPORT_FILE).write_text(render(summary, new, pages), encoding="utf-8")


def _show(summary: Summary, new: list[Cluster] | None, out: Path) -> None:
    """Write the result for a person: verdicts, then the clusters of divergences."""
    from canvass.conformance.report import shared_id_remark

    console = result_console()
    counts = ", ".join(f"{n:,} {name}" for name, n in summary.verdicts.items() if n)
    console.print(f"{summary.runs:,} runs, {summary.events:,} events: {counts or 'none'}")
    fresh = {cluster.identity for cluster in new or ()}
    for one in summary.clusters[:20]:
        mark = "" if new is None else (" (new)" if one.identity in fresh else " (known)")
        console.print(
            f"  {one.divergence_class} {one.name}: {one.count:,} in {one.runs:,} runs{mark},"
            f" such as {_place(one)} member {one.example_member_id}"
            f" step {one.example_step}: {one.example_reason}"
        )
    if summary.cluster_count > 20:
        console.print(f"  and {summary.cluster_count - 20:,} more kinds of divergences")
    for row in summary.listed[:20]:
        if row.verdict in ("MALFORMED", "INCOMPLETE"):
            console.print(f"  {row.verdict} {row.source}: {row.reason}")
    for shared in summary.shared_ids[:5]:
        console.print(f"  {shared_id_remark(shared.run_id, shared.count, shared.sources)}")
    if summary.shared_id_count > 5:
        console.print(f"  and {summary.shared_id_count - 5:,} more ids that several runs have")
    for graph in summary.graphs:
        share = f"{graph.covered:,} of the {graph.steps:,} steps of {graph.model}"
        console.print(f"the corpus takes {share}")
    console.print(f"{summary.events_per_second:,.0f} events/s; report: {out / 'report.html'}")


def _place(cluster: Cluster) -> str:
    """Name the example of a cluster: by its path, and within a data set by its id too."""
    path = Path(cluster.example_source)
    if path.suffix == ".parquet" and not path.is_dir():
        return f"{path} {cluster.example_run_id}"
    return str(path)

"""``canvass trace convert`` and ``schema``: runs in other forms, and what the format is.

The forms themselves are made in `canvass.traces` and `canvass.lanes`. What is written appears whole
or not at all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Annotated, Final

import typer

from canvass.cli.output import CommandError

STDOUT: Final = "-"


class Form(str, Enum):
    """What a run can be converted to."""

    NDJSON = "ndjson"
    PARQUET = "parquet"
    ITF = "itf"
    SHIVIZ = "shiviz"
    MERMAID = "mermaid"


_SUFFIXES: Final = {
    ".itf.json": Form.ITF,
    ".shiviz": Form.SHIVIZ,
    ".log": Form.SHIVIZ,
    ".mmd": Form.MERMAID,
    ".mermaid": Form.MERMAID,
}


class Schema(str, Enum):
    """A part of the format that has a schema."""

    RUN = "run"
    EVENTS = "events"
    ARROW = "arrow"


class Compression(str, Enum):
    """How streams are compressed."""

    NONE = "none"
    GZ = "gz"
    ZST = "zst"


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Runs, or a data set.")],
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="What to write; - for stdout, where it is text.")
    ],
    form: Annotated[
        Form | None,
        typer.Option("--as", help="What to make; without it OUT's name says, or the input."),
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="Which run of several.")
    ] = None,
    compress: Annotated[
        Compression, typer.Option(help="Of the streams of run folders.")
    ] = Compression.NONE,
    start: Annotated[
        str | None, typer.Option("--from", metavar="EVENT", help="Mermaid: the first event.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="EVENT", help="Mermaid: the last event.")
    ] = None,
) -> None:
    """Convert runs to other forms.

    NDJSON folders and Parquet data sets become each other without loss. For other tools there are
    ITF (the sequence of states), ShiViz (a log with vector clocks) and Mermaid.

    canvass trace convert my-corpus my-data-set

    canvass trace convert RUN run.mmd --from 0:10 --to 0:40
    """
    chosen = form or _form_of(out) or _other(source)
    if chosen in (Form.NDJSON, Form.PARQUET):
        if out == STDOUT:
            raise CommandError(f"{chosen.value} is a folder; it cannot go to stdout")
        if run_id is not None:
            raise CommandError("--run goes with itf, shiviz and mermaid; all runs are converted")
        _rewrite(source, Path(out), chosen, compress)
        return
    _write(_pieces(chosen, source, run_id, start, end), out)


def schema(
    part: Annotated[
        Schema, typer.Argument(help="run: run.json; events: a line of a stream; arrow: columns.")
    ] = Schema.EVENTS,
    members: Annotated[
        int, typer.Option(min=1, max=9, help="Of the cluster whose Arrow columns to show.")
    ] = 3,
) -> None:
    """Print the schema of the trace format: JSON Schema, or the Arrow columns of a data set.

    canvass trace schema events > events.schema.json
    """
    from canvass.traces.publish import arrow_columns, published

    if part is Schema.ARROW:
        print(arrow_columns(members), end="")
    else:
        print(published()[f"canvass.{part.value}-1.json"].decode(), end="")


def _form_of(name: str) -> Form | None:
    return next((form for suffix, form in _SUFFIXES.items() if name.endswith(suffix)), None)


def _other(source: Path) -> Form:
    """Choose the container that the input is not in."""
    from canvass.traces.run import Corpus

    return Form.NDJSON if Corpus(source).files else Form.PARQUET


def _rewrite(source: Path, out: Path, form: Form, compress: Compression) -> None:
    from canvass.traces.new_folder import written_aside
    from canvass.traces.rewrite import to_dataset, to_folders
    from canvass.traces.run import Corpus

    corpus = Corpus(source)
    suffix = "" if compress is Compression.NONE else f".{compress.value}"
    if out.exists():
        raise CommandError(f"{out} exists; name a new folder")
    with written_aside(out) as folder:
        if form is Form.PARQUET:
            count = to_dataset(corpus, folder)
        else:
            count = to_folders(corpus, folder, suffix)
    print(f"{count} run{'' if count == 1 else 's'} written to {out}")


def _pieces(
    form: Form, source: Path, run_id: str | None, start: str | None, end: str | None
) -> Iterable[str]:
    from canvass.cli.trace_run import open_run, window
    from canvass.lanes.interchange import shiviz_lines, to_mermaid
    from canvass.lanes.of_run import RunLanes
    from canvass.traces.itf import itf_document

    if form is not Form.MERMAID and (start or end):
        raise CommandError("--from and --to go with mermaid")
    loaded = open_run(source, run_id)
    lanes = RunLanes(loaded.columns)
    columns = loaded.columns
    if form is Form.MERMAID:
        return [to_mermaid(lanes.diagram(window(lanes, start, end)))]
    if form is Form.SHIVIZ:
        return (f"{line}\n" for line in shiviz_lines(lanes))
    events = ((int(columns.member[row]), columns.event(row)) for row in lanes.rows)
    return (piece.decode() for piece in itf_document(loaded.run, events))


def _write(pieces: Iterable[str], out: str) -> None:
    """Write text to stdout or to a file, which appears whole or not at all."""
    if out == STDOUT:
        for piece in pieces:
            sys.stdout.write(piece)
        return
    path = Path(out)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)

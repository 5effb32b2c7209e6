"""Runs in another container: run folders become a data set, and a data set run folders.

Both ways nothing is lost: events, their sources, ``run.json``, and what is missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from canvass.traces.facts import FactKind
from canvass.traces.ndjson import EventWriter
from canvass.traces.parquet import DatasetWriter
from canvass.traces.run import RUN_FILE, Corpus, LoadedRun, write_dataset
from canvass.traces.schema import encode

_CUT: Final = b'{"step":'
"""An incomplete line: it stands for the one that a stream was cut off in."""


def to_dataset(corpus: Corpus, out: Path) -> int:
    """Write the runs of a corpus as a data set; give the number of runs.

    Raises
    ------
    TraceError
        If one is no run.
    FileExistsError
        If there is a data set already.
    """
    with DatasetWriter(out) as writer:
        if corpus.folders:
            write_dataset(corpus, writer)
            return corpus.runs
        count = 0
        for loaded in corpus.load():
            count += 1
            writer.begin(loaded.run)
            for member_id, events in loaded.events.items():
                writer.add(member_id, events)
            writer.end(loaded.facts)
        return count


def to_folders(corpus: Corpus, out: Path, suffix: str = "") -> int:
    """Write the runs of a corpus as run folders; give their number.

    Parameters
    ----------
    corpus
        What to write.
    out
        The run folder of the only run there is, or the folder that gets a run folder for each.
    suffix
        ``""``, ``".gz"`` or ``".zst"``.

    Raises
    ------
    TraceError
        If one is no run.
    FileExistsError
        If a run folder is there already.
    """
    alone = len(corpus.folders) == 1 and not corpus.files
    waiting: LoadedRun | None = None
    count = 0
    for loaded in corpus.load():
        if waiting is not None:
            _write(waiting, out / waiting.run.run_id, suffix)
        waiting, count = loaded, count + 1
    if waiting is not None:
        _write(waiting, out if alone or count == 1 else out / waiting.run.run_id, suffix)
    return count


def _write(loaded: LoadedRun, folder: Path, suffix: str) -> None:
    folder.mkdir(parents=True)
    (folder / RUN_FILE).write_bytes(encode(loaded.run) + b"\n")
    kinds = {(fact.member_id, fact.kind) for fact in loaded.facts}
    empty = {member for member, kind in kinds if kind is FactKind.EMPTY_STREAM}
    cut = {member for member, kind in kinds if kind is FactKind.TRUNCATED}
    for member in sorted({*(m for m, events in loaded.events.items() if events), *empty, *cut}):
        name = f"member-{member}.ndjson{'' if member in cut else suffix}"
        # The events came from a reader, so that they need no check.
        with EventWriter(folder / name, member, check=False) as writer:
            writer.write(loaded.events.get(member, ()))
        if member in cut:
            with (folder / name).open("ab") as file:
                file.write(_CUT)

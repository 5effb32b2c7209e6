"""Conversion between run folders and data sets, and files that appear complete or not at all.

Conversion loses nothing: neither events and their sources, nor ``run.json`` and the facts of what
is missing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from canvass.traces.errors import file_named_in_errors
from canvass.traces.ndjson import EventWriter
from canvass.traces.run import RUN_FILE, Corpus, LoadedRun
from canvass.traces.schema import FactKind, encode


@contextmanager
def written_aside(out: Path) -> Iterator[Path]:
    """Yield the path of a new folder or file, which becomes ``out`` unless the block raises.

    Parameters
    ----------
    out
        The path of the result. If it is an empty folder, it stays and gets the files.

    Raises
    ------
    OSError
        As the file system says; it names ``out`` or a file in it.
    """
    is_there = out.is_dir()
    if not is_there:
        out.parent.mkdir(parents=True, exist_ok=True)
    place = out if is_there else out.parent
    try:
        # With the name of ``out`` the name could be too long.
        made = tempfile.TemporaryDirectory(prefix=".canvass-", dir=place)
    except OSError as error:
        error.filename = str(out)
        raise
    with made as aside:
        folder = Path(aside) / "run"
        try:
            with file_named_in_errors(folder):
                yield folder
        except OSError as error:
            if error.filename is not None:
                error.filename = str(error.filename).replace(str(folder), str(out))
            raise
        if is_there:
            for path in sorted(folder.iterdir()):
                shutil.move(path, out)
        else:
            folder.replace(out)


def to_folders(corpus: Corpus, out: Path, suffix: str = "") -> None:
    """Write the runs of a data set as run folders.

    Parameters
    ----------
    corpus
        The data set.
    out
        The run folder, if there is one run; else the folder of the run folders.
    suffix
        ``""``, ``".gz"`` or ``".zst"``.

    Raises
    ------
    TraceError
        If a run is malformed.
    FileExistsError
        If a run folder exists.
    """
    waiting: LoadedRun | None = None
    for loaded in corpus.load():
        if waiting is not None:
            _write(waiting, out / waiting.run.run_id, suffix)
        waiting = loaded
    if waiting is not None:
        _write(waiting, out if corpus.runs == 1 else out / waiting.run.run_id, suffix)


_CUT: Final = b'{"step":'
"""An incomplete line, for the last line of a truncated stream."""


def _write(loaded: LoadedRun, folder: Path, suffix: str) -> None:
    folder.mkdir(parents=True)
    (folder / RUN_FILE).write_bytes(encode(loaded.run) + b"\n")
    kinds = {(fact.member_id, fact.kind) for fact in loaded.facts}
    empty = {member for member, kind in kinds if kind is FactKind.EMPTY_STREAM}
    absent = {member for member, kind in kinds if kind is FactKind.MISSING_STREAM}
    empty |= set(loaded.run.without_steps) - absent
    cut = {member for member, kind in kinds if kind is FactKind.TRUNCATED}
    for member in sorted({*(m for m, events in loaded.events.items() if events), *empty, *cut}):
        name = f"member-{member}.ndjson{'' if member in cut else suffix}"
        with EventWriter(folder / name, member) as writer:
            writer.write(loaded.events.get(member, ()))
        if member in cut:
            with (folder / name).open("ab") as file:
                file.write(_CUT)

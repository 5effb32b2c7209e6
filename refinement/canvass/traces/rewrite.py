"""Conversion of runs to run folders, to a data set, and to the Informal Trace Format (ITF).

Conversion between folders and data sets loses nothing: neither events and their sources, nor
``run.json`` and the facts of what is missing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, Final

import msgspec

from canvass.cluster.names import wire_name
from canvass.traces.errors import file_named_in_errors
from canvass.traces.ndjson import EventWriter
from canvass.traces.parquet import DatasetWriter
from canvass.traces.run import RUN_FILE, Corpus, LoadedRun, write_dataset
from canvass.traces.schema import Event, FactKind, Run, encode

FORMAT: Final = "ITF"


def itf_document(run: Run, events: Iterable[tuple[int, Event]]) -> Iterator[bytes]:
    """Yield the ITF document of a run in pieces, so that memory does not hold the run twice.

    Parameters
    ----------
    run
        The run.
    events
        Member and event, in causal order.
    """
    head = {
        "#meta": {"format": FORMAT, "description": f"canvass run {run.run_id}, {run.revision}"},
        "vars": ["member", "step"],
    }
    yield msgspec.json.encode(head)[:-1] + b',"states":['
    members: dict[int, Any] = {}
    for index, (member, event) in enumerate(events):
        members[member] = itf_value(event.state)
        state = {
            "#meta": {"index": index},
            "member": {"#map": [[_number(k), members[k]] for k in sorted(members)]},
            "step": {
                "member": _number(member),
                "number": _number(event.step),
                "action": event.action.value,
            },
        }
        yield (b",\n" if index else b"\n") + msgspec.json.encode(state)
    yield b"\n]}\n"


def itf_value(value: object) -> Any:
    """Return a value of a state in ITF."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return _number(value)
    if isinstance(value, tuple):
        return [itf_value(one) for one in value]
    assert isinstance(value, msgspec.Struct)
    return {wire_name(name): itf_value(getattr(value, name)) for name in value.__struct_fields__}


def _number(value: int) -> dict[str, str]:
    return {"#bigint": str(value)}


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


_CUT: Final = b'{"step":'
"""An incomplete line, for the last line of a truncated stream."""


def to_dataset(corpus: Corpus, out: Path) -> int:
    """Write the runs of a corpus as a data set; return the number of runs.

    Raises
    ------
    TraceError
        If a run is malformed.
    FileExistsError
        If the folder has a data set.
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
    """Write the runs of a corpus as run folders; return their number.

    Parameters
    ----------
    corpus
        The runs.
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

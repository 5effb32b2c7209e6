"""The folder of a state graph: a manifest, Parquet tables, and what both kinds of graphs share.

==================  ===============================================================================
file                a row is
==================  ===============================================================================
``values.parquet``  a value, each distinct one once, after its parts: ``kind``, ``text``, ``parts``;
                    `canvass.graph.values.ValueTable` says what they hold
``states.parquet``  a state: ``id``, ``expanded``, and for each variable ``of.NAME``, the row of its
                    value. Also ``initial`` (a dump), ``representative`` and ``disabled`` (a member)
``edges.parquet``   an edge of a dump: ``source``, ``target``, ``action``, ``arguments``; or an
                    input tried in a state of a member: ``source``, ``input``, ``target``, ``sent``
``inputs.parquet``  an action of a member and an input of it, in the columns of a trace
``sends.parquet``   one message of a list of sends: ``sends`` (the list's number), and its columns
==================  ===============================================================================

A member's folder has the `KeyTable` of the edges' canonical forms, too. States are in the order of
their ids: equal graphs make equal files.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from canvass.graph import GraphError
from canvass.traces.columns import offsets_of

VALUES_FILE: Final = "values.parquet"
STATES_FILE: Final = "states.parquet"
EDGES_FILE: Final = "edges.parquet"
ID_BYTES: Final = 16
_DIGITS: Final = 2 * ID_BYTES
_PREFIX: Final = re.compile(r"[0-9a-fA-F]{1,32}", re.ASCII)
_VARIABLE: Final = "of."

Offsets = NDArray[np.int64]
Rows = NDArray[np.int32]
"""Rows of states or of edges."""


def find_row(ids: NDArray[np.uint8], prefix: str) -> int | None:
    """Give the row of the state whose id begins with the text; None if there is no such state.

    Parameters
    ----------
    ids
        Ascending, one for each row.
    prefix
        Up to 32 hexadecimal digits.

    Raises
    ------
    GraphError
        If the text is not 1 to 32 hexadecimal digits, or if several ids begin with it.
    """
    if not _PREFIX.fullmatch(prefix):
        raise GraphError(f"not a state id: {ascii(prefix)[:60]}")
    low, high = (bytes.fromhex(prefix.ljust(_DIGITS, digit)) for digit in "0f")
    first = bisect_left(ids, low, key=bytes)
    end = bisect_right(ids, high, key=bytes)
    if end - first > 1:
        raise GraphError(f"{end - first} states have an id that begins with {prefix}")
    return first if end > first else None


def ints(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Give a column of whole numbers."""
    found: NDArray[np.int64] = column.to_numpy().astype(np.int64)
    return found


def lists_of(column: pa.ChunkedArray) -> tuple[Offsets, Rows]:
    """Give a column of lists of numbers as offsets and numbers."""
    if not len(column):
        return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
    whole = pa.concat_arrays(column.chunks)
    flat = whole.flatten().to_numpy(zero_copy_only=False).astype(np.int32)
    return offsets_of(whole.value_lengths().to_numpy(zero_copy_only=False)), flat


def codes_of(column: pa.ChunkedArray, names: Sequence[str]) -> Rows:
    """Give a column of names as indices into ``names``; -1 for null."""
    if not len(column):
        return np.empty(0, dtype=np.int32)
    whole = column.unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    places = np.array([*map(list(names).index, whole.dictionary.to_pylist()), -1], dtype=np.int32)
    found: Rows = places[whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return found


def named(codes: Rows, names: Sequence[str]) -> pa.Array:
    """Give a column of names from their indices in ``names``; -1 makes a null."""
    numbers = pa.array(codes, type=pa.int32(), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(numbers, pa.array(names, type=pa.string()))


def states_table(
    ids: NDArray[np.uint8], nodes: Mapping[str, Rows], **columns: NDArray[Any]
) -> pa.Table:
    """Give the table of states: columns beside the ids, then the variables."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(ids).tobytes())]
    return pa.table(
        {
            "id": pa.FixedSizeBinaryArray.from_buffers(pa.binary(ID_BYTES), len(ids), buffers),
            **{name: pa.array(column) for name, column in columns.items()},
            **{_VARIABLE + name: pa.array(column) for name, column in nodes.items()},
        }
    )


def variables_of(states: pa.Table) -> tuple[str, ...]:
    """Name the variables in a table of states."""
    columns: list[str] = states.column_names
    return tuple(name.removeprefix(_VARIABLE) for name in columns if name.startswith(_VARIABLE))


def edges_table(source: Rows, target: Rows, action: pa.Array, arguments: pa.Array) -> pa.Table:
    """Give the table of the edges of a dump; see `named`."""
    ends = {"source": pa.array(source), "target": pa.array(target)}
    return pa.table({**ends, "action": action, "arguments": arguments})


def ids_and_nodes(
    states: pa.Table, variables: Sequence[str]
) -> tuple[NDArray[np.uint8], dict[str, Rows]]:
    """Give the ids of the states, and for each variable the numbers of its values."""
    nodes = {name: ints(states[_VARIABLE + name]).astype(np.int32) for name in variables}
    return _ids(states["id"]), nodes


def _ids(column: pa.ChunkedArray) -> NDArray[np.uint8]:
    """Give a column of ids as rows of bytes."""
    if not len(column):
        return np.empty((0, ID_BYTES), dtype=np.uint8)
    whole = pa.concat_arrays(column.chunks)
    start, end = whole.offset * ID_BYTES, (whole.offset + len(whole)) * ID_BYTES
    return np.frombuffer(whole.buffers()[1], dtype=np.uint8)[start:end].reshape(-1, ID_BYTES)


MANIFEST_FILE: Final = "manifest.json"


def file_digest(path: Path) -> str:
    """Give the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, manifest: msgspec.Struct) -> None:
    """Write ``manifest.json`` of a folder, indented so that people can read it."""
    encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    (folder / MANIFEST_FILE).write_bytes(encoded + b"\n")


def read_tables(
    folder: Path, digests: Mapping[str, str], names: Collection[str]
) -> dict[str, pa.Table]:
    """Read some tables of a folder, and compare them with the digests of the manifest.

    Raises
    ------
    GraphError
        If a file is absent or differs.
    """
    verify_files(folder, digests, names)
    return {name: pq.read_table(folder / name) for name in names}


def write_tables(folder: Path, tables: Mapping[str, pa.Table]) -> None:
    """Write tables to a folder, by the names of their files."""
    for name, table in tables.items():
        pq.write_table(table, folder / name, compression="zstd")


def decode_manifest(folder: Path, kind: Any) -> Any:
    """Read ``manifest.json`` of a folder.

    Raises
    ------
    GraphError
        If it is absent, or this version cannot read it.
    """
    path = folder / MANIFEST_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, NotADirectoryError):
        reason = f"no state graph here: a graph is a folder with {MANIFEST_FILE}"
        raise GraphError(f"{folder}: {reason}; `canvass graph build` makes one") from None
    except OSError as error:
        raise GraphError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise GraphError(f"{path}: {error}") from None


def verify_files(folder: Path, digests: Mapping[str, str], names: Collection[str]) -> None:
    """Compare some files of a folder with the digests of the manifest.

    Raises
    ------
    GraphError
        If a file is absent or differs.
    """
    for name in names:
        path = folder / name
        try:
            found = file_digest(path)
        except OSError as error:
            raise GraphError(f"{path}: {error.strerror}") from None
        if found != digests.get(name):
            raise GraphError(f"{path}: damaged, its SHA-256 is not that of {MANIFEST_FILE}")


def need_place(folder: Path) -> None:
    """Check that the folder of a new graph does not exist.

    Raises
    ------
    GraphError
        If it exists.
    """
    if folder.exists():
        raise GraphError(f"{folder} exists; name a new folder")


def scratch_beside(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """Give a temporary folder on the disk of a folder that will be made.

    Raises
    ------
    GraphError
        If it cannot be made.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent)
    except OSError as error:
        raise GraphError(f"{folder}: cannot be made: {error.strerror}") from None


@contextmanager
def made_aside(folder: Path) -> Iterator[Path]:
    """Give an empty folder that is renamed to ``folder`` at the end if there was no error.

    Raises
    ------
    GraphError
        If it cannot be made or written.
    """
    scratch = scratch_beside(folder)
    try:
        with scratch as place:
            aside = Path(place) / "graph"
            aside.mkdir()
            yield aside
            aside.replace(folder)
    except OSError as error:
        raise GraphError(f"{folder}: cannot be written: {error.strerror}") from None


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock a folder: one process at a time looks for it and makes it, the others wait.

    The lock is a file beside the folder. The file is never removed: otherwise two processes could
    hold the lock at once.

    Raises
    ------
    GraphError
        If the lock cannot be made.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = (folder.parent / f".{folder.name}.lock").open("w")
    except OSError as error:
        raise GraphError(f"{folder}: cannot be made: {error.strerror}") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

"""The folder of a member's graph: the columns of its tables, and arrays to and from Arrow.

The functions for manifests and for writing a folder as a whole serve graphs of both kinds.

==================  ===============================================================================
file                a row is
==================  ===============================================================================
``states.parquet``  a state: ``id``, ``expanded``, ``representative``, ``disabled``, then its fields
                    in the order of ``STATE_COLUMNS``, ``members`` and ``recording_log``
``inputs.parquet``  an action and an input of it: ``action``, ``INPUT_COLUMNS``, ``message_*``
``sends.parquet``   one message of a list of sends: ``sends`` (the list's number), ``message_*``;
                    ``message_peer`` is the receiver. The list 0 is empty
``edges.parquet``   an input tried in a state: ``source``, ``input``, ``target``, ``sent``; no
                    target if the action is not enabled
==================  ===============================================================================

Enums, actions and message types are dictionary-encoded strings, flags are booleans, the rest is
int32, as TLC's integers are.
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
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from canvass.graph import GraphError
from canvass.steps.distinct import offsets_of
from canvass.traces.columns import Ints
from canvass.traces.layout import (
    ACTION_NAMES,
    FLAG_COLUMNS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_TYPE_NAMES,
    NONE,
    STATE_COLUMNS,
    STATE_ENUMS,
)

ID_BYTES: Final = 16
_DIGITS: Final = 2 * ID_BYTES
_PREFIX: Final = re.compile(r"[0-9a-fA-F]{1,32}", re.ASCII)


def find_row(ids: NDArray[np.uint8], prefix: str) -> int | None:
    """Give the row of the state with a hexadecimal id, or with an id that begins so.

    Parameters
    ----------
    ids
        Ascending, one for each row.
    prefix
        Up to 32 hexadecimal digits.

    Raises
    ------
    GraphError
        If the text is no beginning of an id, or several states have it.
    """
    if not _PREFIX.fullmatch(prefix):
        raise GraphError(f"not a state id: {ascii(prefix)[:60]}")
    low, high = (bytes.fromhex(prefix.ljust(_DIGITS, digit)) for digit in "0f")
    first = bisect_left(ids, low, key=bytes)
    end = bisect_right(ids, high, key=bytes)
    if end - first > 1:
        raise GraphError(f"{end - first} states have an id that begins with {prefix}")
    return first if end > first else None


Offsets = NDArray[np.int64]
Rows = NDArray[np.int32]
"""Rows of states or of edges."""

STATES_FILE: Final = "states.parquet"
INPUTS_FILE: Final = "inputs.parquet"
SENDS_FILE: Final = "sends.parquet"
EDGES_FILE: Final = "edges.parquet"
FILES: Final = (STATES_FILE, INPUTS_FILE, SENDS_FILE, EDGES_FILE)
MISSHAPEN: Final = (KeyError, ValueError, IndexError, TypeError, AttributeError, pa.ArrowException)
"""The errors of reading a table with wrong columns, or with columns of wrong types."""


_ENUM_NAMES: Final = {
    name: tuple(value.value for value in values) for name, values in STATE_ENUMS.items()
}
_KEPT_MESSAGE_COLUMNS: Final = tuple(name for name in MESSAGE_COLUMNS if name != "id")


def _column(name: str, cells: Ints, names: Sequence[str] | None = None) -> pa.Array:
    if names is not None:
        codes = pa.array(cells, type=pa.int32(), mask=cells == NONE)
        return pa.DictionaryArray.from_arrays(codes, pa.array(names))
    if name in FLAG_COLUMNS:
        return pa.array(cells != 0)
    return pa.array(cells, type=pa.int32())


def _cells(column: pa.ChunkedArray, names: Sequence[str] | None = None) -> Ints:
    """Give the integers of a column; of names their codes."""
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if names is not None:
        found = values.dictionary.to_pylist()
        codes = np.array([names.index(name) for name in found] or [NONE], dtype=np.int64)
        places = values.indices.fill_null(NONE).to_numpy(zero_copy_only=False).astype(np.int64)
        return np.where(places == NONE, NONE, codes[places])
    if values.null_count:
        values = values.fill_null(NONE)
    cells: Ints = values.to_numpy(zero_copy_only=False).astype(np.int64)
    return cells


def _structs(columns: Sequence[str], cells: Ints) -> pa.StructArray:
    return pa.StructArray.from_arrays(
        [_column(name, np.ascontiguousarray(cells[:, k])) for k, name in enumerate(columns)],
        names=list(columns),
    )


def _struct_cells(values: pa.StructArray, columns: Sequence[str]) -> Ints:
    out = np.empty((len(values), len(columns)), dtype=np.int64)
    for place, name in enumerate(columns):
        out[:, place] = _cells(pa.chunked_array([values.field(name)]))
    return out


def _message_columns(cells: Ints) -> dict[str, pa.Array]:
    return {
        f"message_{name}": _column(
            name,
            np.ascontiguousarray(cells[:, MESSAGE_COLUMNS.index(name)]),
            MESSAGE_TYPE_NAMES if name == "type" else None,
        )
        for name in _KEPT_MESSAGE_COLUMNS
    }


def _message_cells(table: pa.Table) -> Ints:
    out = np.full((table.num_rows, len(MESSAGE_COLUMNS)), NONE, dtype=np.int64)
    for name in _KEPT_MESSAGE_COLUMNS:
        names = MESSAGE_TYPE_NAMES if name == "type" else None
        out[:, MESSAGE_COLUMNS.index(name)] = _cells(table[f"message_{name}"], names)
    return out


def to_tables(arrays: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Give the tables of a graph.

    Parameters
    ----------
    arrays
        The arrays of `canvass.graph.artifact.Graph` by their names.

    Returns
    -------
    dict
        By the name of the file.
    """
    state, members = arrays["state"], arrays["members"]
    count, member_count = members.shape[:2]
    member_offsets = pa.array(np.arange(count + 1) * member_count, type=pa.int32())
    records = _structs(MEMBER_COLUMNS, members.reshape(count * member_count, -1))
    log_offsets = pa.array(arrays["log_offsets"], type=pa.int32())
    states = {
        "id": pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(ID_BYTES), count, [None, pa.py_buffer(arrays["ids"].tobytes())]
        ),
        "expanded": pa.array(arrays["expanded"]),
        "representative": pa.array(arrays["representative"], type=pa.int32()),
        "disabled": pa.array(arrays["disabled"], type=pa.int64()),
        **{
            name: _column(name, np.ascontiguousarray(state[:, k]), _ENUM_NAMES.get(name))
            for k, name in enumerate(STATE_COLUMNS)
        },
        "members": pa.ListArray.from_arrays(member_offsets, records),
        "recording_log": pa.ListArray.from_arrays(
            log_offsets, _structs(LOG_COLUMNS, arrays["log"])
        ),
    }
    inputs = {
        "action": _column("action", arrays["input_action"], ACTION_NAMES),
        **{
            name: _column(name, np.ascontiguousarray(arrays["inputs"][:, k]))
            for k, name in enumerate(INPUT_COLUMNS)
        },
        **_message_columns(arrays["message"]),
    }
    lists = np.repeat(np.arange(len(arrays["send_offsets"]) - 1), np.diff(arrays["send_offsets"]))
    sends = {"sends": pa.array(lists, type=pa.int32()), **_message_columns(arrays["sends"])}
    target = arrays["target"]
    edges = {
        "source": pa.array(arrays["source"], type=pa.int32()),
        "input": pa.array(arrays["input"], type=pa.int32()),
        "target": pa.array(target, type=pa.int32(), mask=target == NONE),
        "sent": pa.array(arrays["sent"], type=pa.int32()),
    }
    return {
        STATES_FILE: pa.table(states),
        INPUTS_FILE: pa.table(inputs),
        SENDS_FILE: pa.table(sends),
        EDGES_FILE: pa.table(edges),
    }


def to_arrays(tables: Mapping[str, pa.Table], member_count: int) -> dict[str, Any]:
    """Give the arrays that `to_tables` made tables of."""
    states, inputs = tables[STATES_FILE], tables[INPUTS_FILE]
    sends, edges = tables[SENDS_FILE], tables[EDGES_FILE]
    count = states.num_rows
    records = pa.concat_arrays(states["members"].chunks).flatten() if count else None
    logs = pa.concat_arrays(states["recording_log"].chunks) if count else None
    width = len(MEMBER_COLUMNS)
    members = np.empty((0, width)) if records is None else _struct_cells(records, MEMBER_COLUMNS)
    send_lists = _cells(sends["sends"])
    list_count = int(max(send_lists.max(initial=0), _cells(edges["sent"]).max(initial=0))) + 1
    return {
        "ids": fixed_bytes(states["id"], ID_BYTES),
        "expanded": states["expanded"].to_numpy().astype(np.bool_),
        "representative": _cells(states["representative"]),
        "disabled": _cells(states["disabled"]),
        "state": _matrix(
            [_cells(states[name], _ENUM_NAMES.get(name)) for name in STATE_COLUMNS], count
        ),
        "members": members.astype(np.int64).reshape(count, member_count, width),
        "log_offsets": np.zeros(1, dtype=np.int64) if logs is None else _offsets(logs),
        "log": np.empty((0, len(LOG_COLUMNS)), dtype=np.int64)
        if logs is None
        else _struct_cells(logs.flatten(), LOG_COLUMNS),
        "input_action": _cells(inputs["action"], ACTION_NAMES),
        "inputs": _matrix([_cells(inputs[name]) for name in INPUT_COLUMNS], inputs.num_rows),
        "message": _message_cells(inputs),
        "send_offsets": np.searchsorted(send_lists, np.arange(list_count + 1)).astype(np.int64),
        "sends": _message_cells(sends),
        "source": _cells(edges["source"]),
        "input": _cells(edges["input"]),
        "target": _cells(edges["target"]),
        "sent": _cells(edges["sent"]),
    }


def fixed_bytes(column: pa.ChunkedArray, width: int) -> NDArray[np.uint8]:
    """Give a column of binary values of one width as rows of bytes."""
    out = np.empty((len(column), width), dtype=np.uint8)
    at = 0
    for chunk in column.chunks:
        start, end = chunk.offset * width, (chunk.offset + len(chunk)) * width
        flat = np.frombuffer(chunk.buffers()[1] or b"", dtype=np.uint8)[start:end]
        out[at : at + len(chunk)] = flat.reshape(len(chunk), width)
        at += len(chunk)
    return out


def _matrix(columns: Sequence[Ints], count: int) -> Ints:
    return np.ascontiguousarray(np.array(columns, dtype=np.int64).reshape(len(columns), count).T)


def _offsets(lists: pa.ListArray) -> Ints:
    return offsets_of(lists.value_lengths().to_numpy(zero_copy_only=False))


MANIFEST_FILE: Final = "manifest.json"


class AnyManifest(msgspec.Struct):
    """The part of all manifests that names their schema."""

    schema: Any = None


_Manifest = TypeVar("_Manifest", bound=msgspec.Struct)


def file_digest(path: Path) -> str:
    """Give the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, manifest: msgspec.Struct) -> None:
    """Write ``manifest.json`` of a folder, for people too."""
    encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    (folder / MANIFEST_FILE).write_bytes(encoded + b"\n")


def decode_manifest(folder: Path, kind: type[_Manifest]) -> _Manifest:
    """Read ``manifest.json`` of a folder.

    Raises
    ------
    GraphError
        If it is absent or not what this version reads.
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


def verify_files(
    folder: Path, digests: Mapping[str, str], known: Collection[str], needed: Collection[str]
) -> None:
    """Compare the files of a folder with the digests of the manifest.

    Parameters
    ----------
    folder
        The folder.
    digests
        SHA-256 of each file, by name.
    known
        The allowed names of files; no other file is opened.
    needed
        The names of files that must be there.

    Raises
    ------
    GraphError
        If a file is absent, differs or has another name, or the manifest lacks a needed one.
    """
    for name, digest in digests.items():
        path = folder / name
        if name not in known:
            raise GraphError(f"{folder / MANIFEST_FILE}: no file is called {ascii(name)[:60]}")
        try:
            found = file_digest(path)
        except OSError as error:
            raise GraphError(f"{path}: {error.strerror}") from None
        if found != digest:
            raise GraphError(f"{path}: damaged, its SHA-256 is not that of {MANIFEST_FILE}")
    for name in needed:
        if name not in digests:
            raise GraphError(f"{folder / MANIFEST_FILE}: no SHA-256 of {name}")


def need_place(folder: Path) -> None:
    """Check that the folder of a new graph does not exist.

    Raises
    ------
    GraphError
        If it exists.
    """
    if folder.exists():
        raise GraphError(f"{folder} exists; name a new folder")


@contextmanager
def made_aside(folder: Path) -> Iterator[Path]:
    """Give an empty folder that is renamed to ``folder`` at the end if there was no error.

    Raises
    ------
    GraphError
        If it cannot be made or written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent)
    except OSError as error:
        raise GraphError(f"{folder}: cannot be made: {error.strerror}") from None
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

    The lock is a file beside the folder. It is never removed: two processes could then hold it.

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

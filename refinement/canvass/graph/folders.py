"""The folder of a graph: written aside as a whole, and put in its place when it is complete."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from canvass.graph import GraphError

MANIFEST_FILE: Final = "manifest.json"


class AnyManifest(msgspec.Struct):
    """What all manifests have: a word for what they are."""

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
    except OSError as error:
        raise GraphError(f"{path}: {error.strerror}: no state graph here") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise GraphError(f"{path}: {error}") from None


def verify_files(
    folder: Path, digests: Mapping[str, str], known: Collection[str], needed: Collection[str]
) -> None:
    """Compare the files of a folder with what the manifest says of them.

    Parameters
    ----------
    folder
        The folder.
    digests
        SHA-256 of each file, by name.
    known
        The names that a file may have: no other is opened, wherever a name leads.
    needed
        Those of the files that are read at once.

    Raises
    ------
    GraphError
        If one is absent, differs, is not known, or is needed and not named in the manifest.
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
    """See that a graph may go to a folder: nothing is there, or a graph.

    Raises
    ------
    GraphError
        If something else is there.
    """
    if folder.exists() and not is_graph(folder):
        raise GraphError(f"{folder}: exists, and is no state graph")


def is_graph(folder: Path) -> bool:
    """Say whether a folder holds a graph, of whatever version: others have manifests, too."""
    try:
        schema = decode_manifest(folder, AnyManifest).schema
    except GraphError:
        return False
    return isinstance(schema, str) and schema.startswith("canvass.graph")


@contextmanager
def made_aside(folder: Path) -> Iterator[Path]:
    """Give an empty folder that takes the place of ``folder`` at the end, if all went well.

    Raises
    ------
    GraphError
        If there is no room for it.
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
            if folder.exists():
                shutil.rmtree(folder)
            aside.replace(folder)
    except OSError as error:
        raise GraphError(f"{folder}: cannot be written: {error.strerror}") from None


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one process at a time look for a folder and make it; the others wait, and then find it.

    The lock is a file beside the folder, which stays: removing it would let two in.

    Raises
    ------
    GraphError
        If there is no room for it.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = (folder.parent / f".{folder.name}.lock").open("w")
    except OSError as error:
        raise GraphError(f"{folder}: cannot be made: {error.strerror}") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

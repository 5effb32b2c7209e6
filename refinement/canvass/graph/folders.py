"""The folder of a graph: written aside as a whole, and put in its place when it is complete."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from canvass.graph.errors import GraphError
from canvass.graph.manifests import AnyManifest, decode_manifest


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
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise GraphError(f"{folder}: cannot be made: {error.strerror}") from None
    try:
        yield aside
        aside.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        aside.replace(folder)
    except OSError as error:
        raise GraphError(f"{folder}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


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

"""``manifest.json`` of a graph's folder: what it says of the other files is held against them.

What a manifest says beside that is the business of `canvass.graph.artifact` and
`canvass.graph.dump_folder`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from canvass.graph.errors import GraphError

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

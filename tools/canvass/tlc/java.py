"""Find a Java that is new enough, and the environment in which it runs. Nothing here runs TLC."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from canvass.tlc.errors import JavaError

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
    """A Java launcher that was asked for its version.

    Attributes
    ----------
    path : Path
        Absolute path of the launcher.
    version : int
        Feature release, for example 17.
    """

    path: Path
    version: int


def find_java(path: str | os.PathLike[str] | None = None) -> Java:
    """Find Java: the argument (launcher or home folder), else ``JAVA_HOME``, else ``PATH``.

    The first that is given counts; a broken one is an error and never skipped.

    Raises
    ------
    JavaError
        When there is none, when it cannot be run, or when it is older than ``MINIMUM_VERSION``. The
        message says what to install.
    """
    home = os.environ.get("JAVA_HOME")
    if path is not None:
        given = Path(path).absolute()
        launcher = given / "bin" / "java" if given.is_dir() else given
        source = "argument"
    elif home:
        launcher, source = Path(home).absolute() / "bin" / "java", "JAVA_HOME"
    else:
        found = shutil.which("java")
        if found is None:
            raise JavaError(f"no Java: {_FIX}")
        launcher, source = Path(found).absolute(), "PATH"
    try:
        modified_ns = launcher.stat().st_mtime_ns
    except OSError as error:
        raise JavaError(f"no Java at {launcher} ({source}): {error.strerror}: {_FIX}") from None
    version = _version(launcher, modified_ns, source)
    if version < MINIMUM_VERSION:
        raise JavaError(f"Java {version} at {launcher} ({source}) is too old: {_FIX}")
    return Java(launcher, version)


@lru_cache(maxsize=16)
def _version(launcher: Path, _modified_ns: int, source: str) -> int:
    """Ask the launcher; remembered until the file changes, for it costs a tenth of a second."""
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
        raise JavaError(f"{launcher} ({source}) cannot run: {error.strerror}: {_FIX}") from None
    except subprocess.TimeoutExpired:
        raise JavaError(f"{launcher} ({source}) does not answer: {_FIX}") from None
    text = (answer.stderr + answer.stdout).decode(errors="replace")
    match = _VERSION.search(text)
    if answer.returncode != 0 or not match:
        shown = ascii(text.strip().partition("\n")[0][:80])
        raise JavaError(f"{launcher} ({source}) is not a working Java: {shown}: {_FIX}")
    first, second = int(match[1]), int(match[2] or 0)
    # Java 8 calls itself 1.8.
    return second if first == 1 else first


def clean_environment() -> dict[str, str]:
    """Return the environment for Java, made from a short list.

    Left out on purpose are the variables that change what Java runs: ``JAVA_TOOL_OPTIONS``,
    ``_JAVA_OPTIONS``, ``JDK_JAVA_OPTIONS`` and ``CLASSPATH``. The locale is fixed, so that numbers
    and file names are written in one way.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}

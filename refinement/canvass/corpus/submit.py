"""The ``spark-submit`` line of a batch verification, and an archive with canvass for executors.

Nothing is run here. The guide says what each line requires of its cluster manager.

Spark unpacks the archive beside each executor (``--archives``) and runs the Python in it. The
archive is a virtual environment: a link to the interpreter, and packages. So executors need the
same Python at the same path. The archive has neither pyspark, which executors have, nor the
packages that only developers need.
"""

from __future__ import annotations

import re
import sys
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct

import canvass.spec.files
from canvass.spec.files import spec_root
from canvass.version import DISTRIBUTION, install_command

ENVIRONMENT: Final = "environment"
"""The name under which executors unpack the archive."""


CONTAINER_MEMORY: Final = "2g"
"""The default memory of a container, which also has the executor's Python and TLC."""


class BadSubmission(Exception):
    """No spark-submit line can do this; the message is one line."""


class Submission(Struct, frozen=True):
    """The options of a spark-submit line."""

    master: str
    deploy_mode: str = "client"
    archive: Path | None = None
    """A packed environment with canvass, for executors without canvass."""
    image: str | None = None
    """The container image, for Kubernetes."""
    executors: int | None = None
    executor_memory: str | None = None
    """The memory of each executor. Default: `CONTAINER_MEMORY` on YARN and Kubernetes; elsewhere
    that of Spark.
    """
    driver_python: str = "python3"
    """The driver's Python in deploy mode client: it needs canvass."""


def submit_command(submission: Submission, script: str, arguments: Sequence[str]) -> list[str]:
    """Return the words of the spark-submit line.

    Parameters
    ----------
    submission
        The options.
    script
        Path of ``canvass/cli/main.py`` for the driver.
    arguments
        The words of ``canvass batch verify`` after ``verify``, without ``--master``.

    Raises
    ------
    BadSubmission
        If ``spark-submit`` does not take the master, or an option is missing for it.
    """
    master = submission.master
    kubernetes = master.startswith("k8s://")
    if master.startswith("sc://"):
        reason = "Spark Connect takes no spark-submit: run canvass batch verify --master"
        raise BadSubmission(f"{reason} {master}")
    if master != "yarn" and not kubernetes and not master.startswith(("spark://", "local")):
        raise BadSubmission(f"{master!r} is no master: local[N], spark://, yarn or k8s://")
    if kubernetes and not submission.image:
        raise BadSubmission("Kubernetes needs --image, with canvass and Java in it")
    if submission.deploy_mode not in ("client", "cluster"):
        raise BadSubmission(f"{submission.deploy_mode!r} is neither client nor cluster")
    if submission.deploy_mode == "cluster" and master.startswith(("spark://", "local")):
        raise BadSubmission("Python jobs have no deploy mode cluster there")
    words = ["spark-submit", "--master", master, "--deploy-mode", submission.deploy_mode]
    if submission.executors is not None:
        words += ["--num-executors", str(submission.executors)]
    contained = master == "yarn" or kubernetes
    memory = submission.executor_memory or (CONTAINER_MEMORY if contained else None)
    if memory is not None:
        words += ["--executor-memory", memory]
    settings = {}
    if kubernetes:
        settings["spark.kubernetes.container.image"] = str(submission.image)
    if submission.archive is not None:
        # --py-files cannot have wheels with machine code; a packed environment can.
        words += ["--archives", f"{submission.archive}#{ENVIRONMENT}"]
        settings["spark.pyspark.python"] = f"./{ENVIRONMENT}/bin/python"
        if submission.deploy_mode == "client":  # Spark does not unpack it for the driver.
            settings["spark.pyspark.driver.python"] = submission.driver_python
    for name, value in settings.items():
        words += ["--conf", f"{name}={value}"]
    return [*words, script, "batch", "verify", *arguments]


EXTRA: Final = "spark"
"""The extra of canvass that executors need."""
LEFT_OUT: Final = frozenset({"pyspark", "py4j"})
"""Executors have them already, with 400 MB of jars."""
_CHECKOUT: Final = "checkout"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA: Final = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_SOURCES: Final = ("impl", "refinement", "tools")


class CannotPack(Exception):
    """The environment cannot be packed; the message is one line."""


def pack_environment(out: Path, interpreter: Path | None = None) -> tuple[int, int]:
    """Write the archive.

    Parameters
    ----------
    out
        A new file; its name ends in ``.tar.gz``.
    interpreter
        Path of Python on the executors. Default: the Python that this environment was made from.

    Returns
    -------
    tuple
        The number of packages, and the size in bytes.

    Raises
    ------
    CannotPack
        If the file exists or has another suffix, or a package is not installed.
    """
    if not out.name.endswith(".tar.gz"):
        raise CannotPack(f"{out}: the name of an archive ends in .tar.gz")
    if out.exists():
        raise CannotPack(f"{out} is there already; name a new file")
    python = interpreter or Path(getattr(sys, "_base_executable", sys.executable))
    packages = closure(DISTRIBUTION, EXTRA)
    aside = out.with_name(f".{out.name}")
    try:
        with tarfile.open(aside, "w:gz", compresslevel=1) as archive:
            _add_interpreter(archive, python)
            for package in packages:
                _add_files(archive, _files_of(package))
        aside.replace(out)
    finally:
        aside.unlink(missing_ok=True)
    return len(packages), out.stat().st_size


def closure(name: str, extra: str) -> list[Distribution]:
    """Return a package with an extra, and all its requirements, without those that executors have.

    Raises
    ------
    CannotPack
        If the package, or a requirement of the extra, is not installed.
    """
    found: dict[str, Distribution] = {}
    due = [(name, extra, True)]
    while due:
        name, extra, needed = due.pop()
        key = re.sub("[-_.]+", "-", name).lower()
        if key in found or key in LEFT_OUT:
            continue
        try:
            found[key] = distribution(name)
        except PackageNotFoundError:
            if needed:  # Requirements of other platforms are not installed.
                reason = f"{name} is not installed: {install_command(EXTRA)}"
                raise CannotPack(reason) from None
            continue
        for requirement in found[key].requires or ():
            extras = _EXTRA.findall(requirement)
            if not extras or extra in extras:
                found_name = _NAME.match(requirement)
                assert found_name is not None
                due.append((found_name[0], "", bool(extras) or ";" not in requirement))
    return [found[key] for key in sorted(found)]


def _files_of(package: Distribution) -> Iterator[tuple[Path, str]]:
    """Yield the files of a package, each with its path in the archive."""
    packages = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    in_place = Path(canvass.spec.files.__file__).resolve().parents[3]
    links = [str(file) for file in package.files or () if str(file).endswith(".pth")]
    if package.name == "canvass" and links:  # Installed in place, from a checkout.
        yield from _sources(in_place)
    for file in package.files or ():
        place = PurePosixPath(str(file))
        if place.parts[0] == ".." or "__pycache__" in place.parts:
            continue  # Scripts have the path of this environment's interpreter.
        if str(file) not in links:
            yield Path(str(file.locate())), f"{packages}/{place}"


def _sources(checkout: Path) -> Iterator[tuple[Path, str]]:
    for name in (*_SOURCES, "spec"):
        root = spec_root() if name == "spec" else checkout / name / "canvass"
        for path in sorted(root.rglob("*")):
            parts = path.relative_to(root).parts
            if path.is_file() and not {"__pycache__", "ui", "states"} & set(parts):
                base = "spec" if name == "spec" else f"{name}/canvass"
                yield path, f"{_CHECKOUT}/{base}/{'/'.join(parts)}"


def _add_interpreter(archive: tarfile.TarFile, python: Path) -> None:
    for name in ("python", "python3"):
        link = tarfile.TarInfo(f"bin/{name}")
        link.type, link.linkname, link.mode = tarfile.SYMTYPE, str(python), 0o777
        archive.addfile(link)
    shut = "include-system-site-packages = false"
    _add_text(archive, "pyvenv.cfg", [f"home = {python.parent}", shut])
    packages = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    # Paths are relative to the folder of the file; Python ignores missing ones.
    sources = [f"../../../{_CHECKOUT}/{name}" for name in _SOURCES]
    _add_text(archive, f"{packages}/_canvass.pth", sources)


def _add_text(archive: tarfile.TarFile, name: str, lines: Iterable[str]) -> None:
    data = "".join(f"{line}\n" for line in lines).encode()
    about = tarfile.TarInfo(name)
    about.size, about.mode = len(data), 0o644
    archive.addfile(about, BytesIO(data))


def _add_files(archive: tarfile.TarFile, files: Iterable[tuple[Path, str]]) -> None:
    for path, place in files:
        if path.is_file():
            archive.add(path, place, recursive=False)

"""Options, folder and command line of a run of TLC. This module starts no process.

TLC's metadata, its unpacked standard modules and its working directory are all in the folder of the
run. So the specification's own folder may be read-only, and parallel runs of one specification are
independent. Invariant: :meth:`Workspace.close` removes all files of the run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canvass.tlc.config import TlcConfig, parse_config
from canvass.tlc.errors import ConfigError, OptionError, RunError
from canvass.tlc.programs import Jar, Java
from canvass.tlc.values import IDENTIFIER

MIN_HEAP_MIB: Final = 64
"""The smallest heap with which TLC is run."""

LIBRARIES: Final = "CANVASS_TLA_LIBRARY"
"""The environment variable that names further folders and jars of modules, such as the community
modules. Its items are separated as those of ``PATH``. A jar may contain Java code for its
operators.
"""

SHORT_RUN: Final = ("-XX:TieredStopAtLevel=1",)
"""Arguments for Java in a run of some seconds.

In such a run, Java's optimising compiler would take more processor time than it saves.
"""


@dataclass(frozen=True, kw_only=True)
class TlcOptions:
    """The options of a run, besides the specification and its configuration.

    Parameters
    ----------
    workers
        Number of search threads, from 1. TLC's ``auto`` is not offered: 2.15 rejects it.
    heap_mib
        Limit of the Java heap in MiB, from 64.
    stack_mib
        Stack of each thread in MiB; ``None`` is Java's default. Literals of some thousand elements
        need 512.
    timeout_s
        Seconds after which the run is killed; they include the start of Java. ``None`` is no limit.
    check_deadlock
        Whether a state without a successor is an error. ``CHECK_DEADLOCK`` in the configuration
        takes precedence.
    simulate
        Whether random behaviours replace the exhaustive search.
    traces
        In simulation: number of behaviours; ``None`` runs until the time limit.
    depth
        In simulation: maximum length of a behaviour; ``None`` is TLC's default, 100.
    seed
        Seed of TLC's random choices (simulation, ``RandomElement``); ``None`` lets TLC draw one.
    dump
        File for the state graph in dot, named ``*.dot``; the edge labels are the actions.
    library
        Folders that are searched for modules after the specification's own folder, and before
        what `LIBRARIES` names.
    extra_args
        Further arguments for TLC, before the specification's name. With ``-continue`` TLC's exit
        code does not show violations; the result is made from the reported ones.
    jvm_args
        Further arguments for Java.
    """

    workers: int = 1
    heap_mib: int = 1024
    stack_mib: int | None = None
    timeout_s: float | None = None
    check_deadlock: bool = True
    simulate: bool = False
    traces: int | None = None
    depth: int | None = None
    seed: int | None = None
    dump: str | os.PathLike[str] | None = None
    library: tuple[str | os.PathLike[str], ...] = ()
    extra_args: tuple[str, ...] = ()
    jvm_args: tuple[str, ...] = ()

    def tlc_args(self) -> list[str]:
        """Return TLC's arguments for the options, without the files of the run."""
        args = ["-tool", "-workers", str(self.workers)]
        if self.simulate:
            args += ["-simulate"] if self.traces is None else ["-simulate", f"num={self.traces}"]
            args += [] if self.depth is None else ["-depth", str(self.depth)]
        else:
            # With one fingerprint polynomial the state ids in dumps are equal in every run. No
            # checkpoint is needed, because the metadir is removed after the run.
            args += ["-fp", "0", "-checkpoint", "0"]
        if self.seed is not None:
            args += ["-seed", str(self.seed)]
        if self.dump is not None:
            args += ["-dump", "dot,actionlabels", str(Path(self.dump).absolute())]
        return args + list(self.extra_args)

    def java_args(self) -> list[str]:
        """Return Java's arguments for the options."""
        stack = [] if self.stack_mib is None else [f"-Xss{self.stack_mib}m"]
        return [
            "-XX:+UseParallelGC",
            "-XX:-UsePerfData",
            # By default Java writes its own warnings to stdout, between the lines of TLC.
            "-XX:+DisplayVMOutputToStderr",
            "-Xlog:disable",
            "-Xlog:all=warning:stderr",
            f"-Xmx{self.heap_mib}m",
            *stack,
            "-Dfile.encoding=UTF-8",
            "-Dstdout.encoding=UTF-8",
            "-Dstderr.encoding=UTF-8",
            "-Duser.language=en",
            "-Duser.country=US",
            *self.jvm_args,
        ]


@dataclass(frozen=True, slots=True)
class Workspace:
    """A prepared run.

    Attributes
    ----------
    root
        The folder of the run.
    argv
        The command, launcher first.
    config
        The configuration that TLC reads.
    """

    root: Path
    argv: tuple[str, ...]
    config: TlcConfig

    @property
    def folder(self) -> Path:
        """Working directory of the command."""
        return self.root / "work"

    def close(self) -> None:
        """Remove the folder and everything in it."""
        shutil.rmtree(self.root, ignore_errors=True)


def prepare(
    spec_file: str | os.PathLike[str],
    config: str | os.PathLike[str] | TlcConfig | None,
    options: TlcOptions,
    jar: Jar,
    java: Java,
) -> Workspace:
    """Make the folder and the command of a run.

    Parameters
    ----------
    spec_file
        The root module, ``Name.tla``.
    config
        Configuration file or contents; ``None`` is the file ``Name.cfg`` beside the module.
    options, jar, java
        The options, the jar and the Java of the run.

    Raises
    ------
    OptionError
        When a file name begins with ``-``, is not ``Name.tla``, or does not exist; or when a folder
        of `TlcOptions.library` has ``:`` in its path, which TLC takes for a separator.
    ConfigError
        When the configuration cannot be read.
    RunError
        When the folder cannot be made.
    """
    spec = _existing(spec_file, "specification")
    if spec.suffix != ".tla" or not IDENTIFIER.match(spec.stem):
        raise OptionError(f"a specification is named Name.tla, not {spec.name!a}")
    if not isinstance(config, TlcConfig):
        config = read_config(spec.with_suffix(".cfg") if config is None else config)
    config = _supported(config, spec, jar)
    class_path = os.pathsep.join([str(jar.path), *_named_libraries()])
    library = os.pathsep.join([str(spec.parent), *_unsplit(options.library)])
    own = config.check_deadlock
    check_deadlock = options.check_deadlock if own is None else own
    try:
        root = Path(tempfile.mkdtemp(prefix="canvass-tlc-"))
    except OSError as error:
        raise RunError(f"no temporary folder for the run: {error.strerror}") from None
    argv = (
        str(java.path),
        *options.java_args(),
        f"-Djava.io.tmpdir={root / 'tmp'}",
        f"-Duser.home={root / 'tmp'}",
        f"-DTLA-Library={library}",
        "-cp",
        class_path,
        "tlc2.TLC",
        *options.tlc_args(),
        *([] if check_deadlock else ["-deadlock"]),
        "-metadir",
        str(root / "meta"),
        "-config",
        "model.cfg",
        f"{spec.stem}.tla",
    )
    workspace = Workspace(root, argv, config)
    try:
        for name in ("work", "meta", "tmp"):
            (root / name).mkdir()
        shutil.copyfile(spec, workspace.folder / spec.name)
        (workspace.folder / "model.cfg").write_text(config.text(), encoding="utf-8")
    except OSError as error:
        workspace.close()
        raise RunError(f"the run's folder cannot be filled: {error}") from None
    return workspace


def _supported(config: TlcConfig, spec: Path, jar: Jar) -> TlcConfig:
    """Return the configuration; refuse keywords that the jar's TLC does not know."""
    newer = {"ALIAS": config.alias, "POSTCONDITION": config.postcondition}
    for keyword, given in newer.items():
        if given is not None and jar.known == "2.15":
            raise ConfigError(
                f"{spec.name}: the configuration has {keyword} {given}, which needs a newer TLC"
                " than 2.15: name its tla2tools.jar with CANVASS_TLA2TOOLS"
            )
    return config


def _existing(path: str | os.PathLike[str], kind: str) -> Path:
    name = Path(path).name
    if name.startswith("-"):
        raise OptionError(f"the name of a {kind} must not begin with '-': {name!a}")
    absolute = Path(path).absolute()
    if not absolute.is_file():
        raise OptionError(f"{kind} does not exist: {str(absolute)!a}")
    return absolute


def read_config(path: str | os.PathLike[str]) -> TlcConfig:
    """Read a configuration file.

    Raises
    ------
    OptionError
        When there is no such file.
    ConfigError
        When it cannot be read.
    """
    file = _existing(path, "configuration")
    try:
        return parse_config(file.read_text(encoding="utf-8"), file.name)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from None


def _unsplit(folders: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Give the folders of modules; refuse a folder whose path TLC would split."""
    found = [str(Path(one).absolute()) for one in folders]
    if split := [one for one in found if os.pathsep in one]:
        raise OptionError(f"TLC finds no module in a folder with {os.pathsep!r}: {split[0]!a}")
    return found


def _named_libraries() -> list[str]:
    """The folders and jars of `LIBRARIES`: TLC also finds modules on the class path.

    Raises
    ------
    OptionError
        If one of them does not exist, or is a file but not a jar.
    """
    found = [Path(one) for one in os.environ.get(LIBRARIES, "").split(os.pathsep) if one]
    for one in found:
        if not (one.is_dir() or zipfile.is_zipfile(one)):
            raise OptionError(f"{LIBRARIES}: {str(one)!a} is neither a folder nor a jar")
    return [str(one.absolute()) for one in found]

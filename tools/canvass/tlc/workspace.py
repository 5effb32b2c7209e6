"""The private folder of one run: what TLC is given, and where it may write.

The specification's own folder is only read, so it may be read-only, and two runs of one
specification never meet: TLC's metadata, its unpacked standard modules and its working directory
are all in here. Invariant: after :meth:`Workspace.close` nothing is left.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canvass.tlc.atoms import IDENTIFIER
from canvass.tlc.config import TlcConfig, bind_constants, parse_config
from canvass.tlc.errors import ConfigError, OptionError, RunError
from canvass.tlc.jar import Jar
from canvass.tlc.java import Java
from canvass.tlc.options import TlcOptions


@dataclass(slots=True)
class Workspace:
    """A prepared run.

    Attributes
    ----------
    argv : list of str
        The command, launcher first.
    folder : Path
        Working directory of the command.
    config : TlcConfig
        As TLC will get it.
    """

    root: Path
    folder: Path = field(init=False)
    argv: list[str] = field(init=False)
    config: TlcConfig = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.root / "work"

    def close(self) -> None:
        """Remove the folder and everything in it."""
        shutil.rmtree(self.root, ignore_errors=True)


def prepare(
    spec_file: str | os.PathLike[str],
    config: str | os.PathLike[str] | TlcConfig | None,
    constants: Mapping[str, Any],
    options: TlcOptions,
    jar: Jar,
    java: Java,
) -> Workspace:
    """Make the folder of a run and the command that runs it.

    Parameters
    ----------
    spec_file
        The root module, ``Name.tla``.
    config
        Configuration file or contents; ``None`` is the file ``Name.cfg`` beside the module.
    constants
        Values in place of those in the configuration.
    options, jar, java
        How to run.

    Raises
    ------
    OptionError
        When a file name begins with ``-``, is not ``Name.tla``, or does not exist; when a constant
        cannot be expressed.
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
    bound = bind_constants(config, spec.stem, constants)
    try:
        workspace = Workspace(Path(tempfile.mkdtemp(prefix="canvass-tlc-")))
    except OSError as error:
        raise RunError(f"no temporary folder for the run: {error.strerror}") from None
    try:
        for name in ("work", "meta", "tmp"):
            (workspace.root / name).mkdir()
        shutil.copyfile(spec, workspace.folder / spec.name)
        (workspace.folder / "model.cfg").write_text(bound.config.text(), encoding="utf-8")
        root_module = spec.stem
        if bound.module is not None:
            root_module = bound.module
            (workspace.folder / f"{root_module}.tla").write_text(bound.module_text, "utf-8")
        library = _library([spec.parent, *map(Path, options.library)], workspace.root)
    except OSError as error:
        workspace.close()
        raise RunError(f"the run's folder cannot be filled: {error}") from None
    check_deadlock = options.check_deadlock
    if bound.config.check_deadlock is not None:
        check_deadlock = bound.config.check_deadlock
    workspace.config = bound.config
    workspace.argv = [
        str(java.path),
        *options.java_args(),
        f"-Djava.io.tmpdir={workspace.root / 'tmp'}",
        f"-Duser.home={workspace.root / 'tmp'}",
        f"-DTLA-Library={library}",
        "-cp",
        str(jar.path),
        "tlc2.TLC",
        *options.tlc_args(),
        *([] if check_deadlock else ["-deadlock"]),
        "-metadir",
        str(workspace.root / "meta"),
        "-config",
        "model.cfg",
        f"{root_module}.tla",
    ]
    return workspace


def _existing(path: str | os.PathLike[str], what: str) -> Path:
    name = Path(path).name
    if name.startswith("-"):
        raise OptionError(f"a {what} whose name begins with '-' is refused: {name!a}")
    absolute = Path(path).absolute()
    if not absolute.is_file():
        raise OptionError(f"{what} does not exist: {str(absolute)!a}")
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


def _library(folders: list[Path], root: Path) -> str:
    """Return the search path; a folder that a search path cannot name goes by a link."""
    named = []
    for index, folder in enumerate(folders):
        absolute = folder.absolute()
        if os.pathsep in str(absolute):
            link = root / f"library{index}"
            link.symlink_to(absolute, target_is_directory=True)
            absolute = link
        named.append(str(absolute))
    return os.pathsep.join(named)

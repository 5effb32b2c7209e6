"""Options and kinds of paths that several commands share.

An option has one type, one help text and one parser. The kind of a path follows from file names; no
file is opened. A command that cannot use a path names the command that can.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from enum import Enum
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Final

import typer

from canvass.cli.output import CommandError, Format

Output = Annotated[Format, typer.Option("--format", help="Output format.")]
Graphs = Annotated[
    list[Path] | None,
    typer.Option(
        "--graph", metavar="GRAPH", help="A state graph whose steps count as known; repeatable."
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        file_okay=False,
        help="Cache of TLC's answers. Default: ~/.cache/canvass.",
    ),
]
Page = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write an HTML report.")
]
RunId = Annotated[
    str | None, typer.Option("--run", metavar="ID", help="Id of the run, if there are several.")
]


def _setting(text: str) -> Any:
    """The option ``--set`` with a help text."""
    return typer.Option("--set", metavar="PROPERTY=TIME", help=text)


Settings = Annotated[
    list[str] | None,
    _setting(
        "Timeout of the cluster, by the name of Aeron's property; repeatable. Default:"
        " run.json or config.json, else measured in the logs, else Aeron's default."
    ),
]
NotedSettings = Annotated[
    list[str] | None,
    _setting(
        "Timeout to note in run.json, by the name of Aeron's property; repeatable."
        " Default: config.json beside the logs, else none."
    ),
]

_EVENT: Final = re.compile(r"(\d{1,2}):(\d{1,18})", re.ASCII)


def named_step(text: str) -> tuple[int, int] | None:
    """Parse the name of an event, ``MEMBER:STEP``, into member and step; None for another text."""
    match = _EVENT.fullmatch(text)
    return None if match is None else (int(match[1]), int(match[2]))


_HEAP: Final = re.compile(r"(\d+)([kmg]?)", re.IGNORECASE)


def heap_mib(text: str) -> int:
    """Read a size of Java's heap: ``4g``, ``512m``, or a number of MiB.

    Raises
    ------
    CommandError
        If it is not a size, or less than TLC takes.
    """
    from canvass.tlc.runner import MIN_HEAP_MIB

    found = _HEAP.fullmatch(text.strip())
    number, unit = (int(found[1]), found[2].lower()) if found else (0, "")
    size = {"k": number // 1024, "g": number * 1024}.get(unit, number)
    if not size:
        raise CommandError(f"--heap {text!r} is not a size; write 4g, 512m or a number of MiB")
    if size < MIN_HEAP_MIB:
        raise CommandError(f"--heap {text!r} is less than {MIN_HEAP_MIB}m, the least that is taken")
    return size


class Revision(str, Enum):
    """Protocol revision of a simulated or local cluster."""

    R149 = "1.49"
    R150 = "1.50"
    HARDENED = "hardened"


def read_settings(texts: Iterable[str] | None) -> dict[str, int]:
    """Parse the values of ``--set``: nanoseconds, by the name of the property.

    Raises
    ------
    CommandError
        If a text is not ``PROPERTY=TIME``.
    """
    from canvass.traces.timeouts import SettingFault, parse_setting

    try:
        return dict(map(parse_setting, texts or ()))
    except SettingFault as fault:
        raise CommandError(f"--set: {fault}") from None


_IMPORT: Final = (
    "event logs of Aeron, not a run: `canvass import aeron {} --out my-run` makes one,"
    " then `canvass verify my-run` checks it"
)


_ONE_OF: Final = "folders of event logs of Aeron: name one of them, such as `{command} {first}`"


class PathKind(Enum):
    """The kind of a path; its value is the reason for a refusal, with the right command."""

    ABSENT = "there is no such file or folder"
    BROKEN_LINK = "a link to {link}, which cannot be opened"
    SPECIAL = "neither a file nor a folder, but a named pipe, a socket or a device"
    RUN = "a recorded run: `canvass verify {path}` checks it"
    RUN_FILE = "a file of a run: name its folder, `{command} {folder}`"
    LOGS = _IMPORT.format("{path}")
    """A folder with the event logs of one cluster."""
    LOG_FILE = _IMPORT.format("{folder}")
    LOG_FOLDERS = (
        "folders of event logs of Aeron: `canvass batch verify {path} --out my-report` imports and"
        " checks all of them, `canvass import aeron {first} --out my-run` imports one"
    )
    """A folder whose subfolders all have event logs."""
    DATA_SET = "a Parquet file of runs: `canvass verify {path}` checks it"
    REPORT = "a report of `canvass batch verify`, not a run: `canvass browse {path}` shows it"
    GRAPH = (
        "a state graph, not a run: `canvass verify RUN --graph {path}` uses it,"
        " `canvass graph stats {path}` describes it"
    )
    RUN_FOLDERS = "a folder of runs: name one of them, such as `{command} {first}`"
    """A folder whose subfolders are all runs."""
    FOLDER = "a folder"
    FILE = (
        "a file, not a run: name a run folder (it has a run.json), a folder of run folders,"
        " or a Parquet file"
    )


_LOG_FILE: Final = re.compile(r".+\.log(\.gz|\.zst)?", re.DOTALL)
"""The name of a log file, whether or not it is named after a member."""
_FILE_OF: Final = {
    "run.json": PathKind.RUN,
    "manifest.json": PathKind.GRAPH,
    "summary.json": PathKind.REPORT,
}
"""The file that identifies a folder of each kind."""
_FOLDERS: Final = {PathKind.LOG_FOLDERS, PathKind.RUN_FOLDERS}
_NOT_THERE: Final = {PathKind.ABSENT, PathKind.BROKEN_LINK, PathKind.SPECIAL}
_OTHERS: Final = {PathKind.REPORT, PathKind.GRAPH, PathKind.LOG_FOLDERS, PathKind.RUN_FILE}
_NEITHER: Final = _NOT_THERE | _OTHERS
_NO_RUN: Final = _NEITHER | {PathKind.LOGS, PathKind.LOG_FILE, PathKind.FILE}
_NO_LOG: Final = _NEITHER | {PathKind.RUN, PathKind.DATA_SET}


def kind_of(path: Path) -> PathKind:
    """Give the kind of a path."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        with suppress(OSError):  # A name may be too long.
            if path.is_symlink():
                return PathKind.BROKEN_LINK
        return PathKind.ABSENT
    if stat.S_ISDIR(mode):
        return _folder_kind(path)
    if not stat.S_ISREG(mode):
        return PathKind.SPECIAL
    if _is_log(path) or _LOG_FILE.fullmatch(path.name):
        return PathKind.LOG_FILE
    if path.name == "run.json" or (path.name.startswith("member-") and ".ndjson" in path.name):
        return PathKind.RUN_FILE
    return PathKind.DATA_SET if path.suffix == ".parquet" else PathKind.FILE


def _folder_kind(path: Path) -> PathKind:
    names = _names(path)
    known = next((kind for name, kind in _FILE_OF.items() if name in names), None)
    if known is not None:
        return known
    if any(map(_is_log, names)):
        return PathKind.LOGS
    folders = _folders(path)
    if folders and all(any(map(_is_log, _names(folder))) for folder in folders):
        return PathKind.LOG_FOLDERS
    if folders and all("run.json" in _names(folder) for folder in folders):
        return PathKind.RUN_FOLDERS
    return PathKind.FOLDER


def _is_log(path: str | Path) -> bool:
    from canvass.traces.aeron_log.source import is_log_name

    return is_log_name(Path(path).name)


def _names(folder: Path) -> set[str]:
    try:
        return {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    except OSError:
        return set()  # Its reader reports the error.


def _folders(path: Path) -> list[Path]:
    try:
        return [path / name for name in sorted(_names(path)) if (path / name).is_dir()]
    except OSError:
        return []


def need_runs(paths: Iterable[Path], command: str, *, logs: bool = False) -> None:
    """Check that paths can hold runs.

    Parameters
    ----------
    paths
        Paths of the command line.
    command
        The command of that line, such as ``canvass verify``.
    logs
        Whether the command also accepts event logs of Aeron.

    Raises
    ------
    CommandError
        For the first path that cannot hold runs, with the right command for that path.
    """
    _refuse(paths, _NO_RUN - ({PathKind.LOGS, PathKind.LOG_FOLDERS} if logs else set()), command)


def need_logs(paths: Iterable[Path]) -> None:
    """Check that paths can be event logs of Aeron.

    Raises
    ------
    CommandError
        For the first path that cannot, with the right command for that path.
    """
    _refuse(paths, _NO_LOG, "canvass verify")


def need_run_or_logs(path: Path) -> None:
    """Check that a path can be one run, or the event logs of one cluster.

    Raises
    ------
    CommandError
        If it cannot, with the right command for that path.
    """
    _refuse(
        [path],
        _NEITHER | {PathKind.RUN_FOLDERS, PathKind.DATA_SET},
        "canvass explain",
        LOG_FOLDERS=_ONE_OF,
    )


def existing(paths: Any) -> Any:
    """Refuse a path that does not exist; the callback of arguments.

    It runs before the packages that read the path are imported.

    Raises
    ------
    CommandError
        For the first such path.
    """
    _refuse([paths] if isinstance(paths, Path) else paths or (), _NOT_THERE, "canvass")
    return paths


def need_disks(paths: Iterable[Path]) -> None:
    """Check that paths can be folders of members' disks.

    Raises
    ------
    CommandError
        For the first path that cannot, with the right command for that path.
    """
    _refuse(
        paths,
        {PathKind.RUN, PathKind.RUN_FILE, PathKind.LOG_FILE, PathKind.REPORT, PathKind.FILE},
        "canvass verify",
        LOG_FILE="an event log of Aeron, not a disk: `canvass explain {folder}` explains it",
        FILE="a file: name the folder of a member's disk, or the folder of all members' disks",
    )


def _refuse(
    paths: Iterable[Path], kinds: Collection[PathKind], command: str, **reasons: str
) -> None:
    """Refuse paths of some kinds; ``reasons`` replace the values of kinds, by their names."""
    for path in paths:
        kind = kind_of(path)
        if kind in kinds:
            reason = reasons.get(kind.name, kind.value).format(
                path=quote(str(path)),
                folder=quote(str(path.parent)),
                first=quote(str(_folders(path)[0])) if kind in _FOLDERS else "",
                link=path.readlink() if path.is_symlink() else path,
                command=command,
            )
            raise CommandError(f"{path}: {reason}")

"""What a path on a command line is, by names alone, and which command is meant for it.

No file is opened here. A path that a command cannot take is refused with the command that can.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final

from canvass.cli.output import CommandError
from canvass.traces.aeron_log.source import is_log_name

if TYPE_CHECKING:
    from canvass.conformance.step_lookup import StepLookup


def make_lookup(graphs: Sequence[Path], cache: Path | None, *, keep: bool = True) -> StepLookup:
    """See `canvass.conformance.lookup_sources`."""
    from canvass.conformance import lookup_sources

    return lookup_sources.make_lookup(graphs, cache, keep=keep)


class Kind(Enum):
    """What is at a path."""

    ABSENT = auto()
    BROKEN_LINK = auto()
    SPECIAL = auto()
    """A named pipe, a socket or a device."""
    RUN = auto()
    RUN_FILE = auto()
    """A file of a run folder."""
    LOGS = auto()
    """A folder of event logs of one cluster."""
    LOG_FILE = auto()
    LOG_FOLDERS = auto()
    """A folder of which each subfolder has event logs."""
    DATA_SET = auto()
    REPORT = auto()
    GRAPH = auto()
    FOLDER = auto()
    FILE = auto()


_RUN_FILE: Final = "run.json"
_REPORT_FILE: Final = "summary.json"
_GRAPH_FILE: Final = "manifest.json"


def kind_of(path: Path) -> Kind:
    """Tell what is at a path."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return Kind.BROKEN_LINK if path.is_symlink() else Kind.ABSENT
    if stat.S_ISDIR(mode):
        return _folder_kind(path)
    if not stat.S_ISREG(mode):
        return Kind.SPECIAL
    if is_log_name(path.name):
        return Kind.LOG_FILE
    if path.name == _RUN_FILE or (path.name.startswith("member-") and ".ndjson" in path.name):
        return Kind.RUN_FILE
    return Kind.DATA_SET if path.suffix == ".parquet" else Kind.FILE


def _folder_kind(path: Path) -> Kind:
    names = _names(path)
    for name, kind in (
        (_RUN_FILE, Kind.RUN),
        (_GRAPH_FILE, Kind.GRAPH),
        (_REPORT_FILE, Kind.REPORT),
    ):
        if name in names:
            return kind
    if any(map(is_log_name, names)):
        return Kind.LOGS
    folders = [path / name for name in sorted(names) if (path / name).is_dir()]
    if folders and all(any(map(is_log_name, _names(folder))) for folder in folders):
        return Kind.LOG_FOLDERS
    return Kind.FOLDER


def _names(folder: Path) -> set[str]:
    try:
        return {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    except OSError:
        return set()  # Its reader says what is wrong with it.


def need_runs(paths: Iterable[Path], command: str, *, logs: bool = False) -> None:
    """Check that paths can hold runs.

    Parameters
    ----------
    paths
        As the command line names them.
    command
        The command that they were given to, such as ``canvass verify``.
    logs
        Whether it takes event logs of Aeron, too.

    Raises
    ------
    CommandError
        For the first path that cannot hold runs, with the command that is meant for it.
    """
    for path in paths:
        kind = kind_of(path)
        if logs and kind in (Kind.LOGS, Kind.LOG_FOLDERS):
            continue
        hint = _NO_RUN.get(kind)
        if hint is not None:
            raise CommandError(f"{path}: {hint(path, command)}")


def need_logs(paths: Iterable[Path]) -> None:
    """Check that paths can be event logs of Aeron.

    Raises
    ------
    CommandError
        For the first path that cannot, with the command that is meant for it.
    """
    for path in paths:
        hint = _NO_LOG.get(kind_of(path))
        if hint is not None:
            raise CommandError(f"{path}: {hint(path, 'canvass import aeron')}")


_Hint = Callable[[Path, str], str]


def _absent(_: Path, __: str) -> str:
    return "there is no such file or folder"


def _broken_link(path: Path, _: str) -> str:
    return f"a link to {path.readlink()}, which cannot be opened"


def _special(_: Path, __: str) -> str:
    return "neither a file nor a folder, but a named pipe, a socket or a device"


def _run(path: Path, _: str) -> str:
    return f"a run, not event logs: `canvass verify {quote(str(path))}` checks it"


def _run_file(path: Path, command: str) -> str:
    return f"a file of a run: name its folder, `{command} {quote(str(path.parent))}`"


def _run_file_of_verify(path: Path, _: str) -> str:
    return _run_file(path, "canvass verify")


def _logs(path: Path, _: str) -> str:
    given = quote(str(path))
    return (
        f"event logs of Aeron, not a run: `canvass import aeron {given} --out my-run` makes one,"
        " then `canvass verify my-run` checks it"
    )


def _log_file(path: Path, command: str) -> str:
    return _logs(path.parent, command)


def _log_folders(path: Path, _: str) -> str:
    first = next(name for name in sorted(_names(path)) if (path / name).is_dir())
    return (
        f"folders of event logs of Aeron: `canvass batch verify {quote(str(path))} --out my-report`"
        f" imports and checks all of them, `canvass import aeron {quote(str(path / first))}"
        " --out my-run` imports one"
    )


def _data_set(path: Path, _: str) -> str:
    return f"a Parquet file of runs: `canvass verify {quote(str(path))}` checks it"


def _report(path: Path, _: str) -> str:
    return (
        f"a report of `canvass batch verify`, not a run: `canvass browse {quote(str(path))}`"
        " shows it"
    )


def _graph(path: Path, _: str) -> str:
    given = quote(str(path))
    return (
        f"a state graph, not a run: `canvass verify RUN --graph {given}` uses it,"
        f" `canvass graph stats {given}` describes it"
    )


def _file(_: Path, __: str) -> str:
    return "a file that is no Parquet data set: name a run folder, a folder of run folders, or one"


_MISSING: Final[dict[Kind, _Hint]] = {
    Kind.ABSENT: _absent,
    Kind.BROKEN_LINK: _broken_link,
    Kind.SPECIAL: _special,
    Kind.REPORT: _report,
    Kind.GRAPH: _graph,
    Kind.LOG_FOLDERS: _log_folders,
}
_NO_RUN: Final[dict[Kind, _Hint]] = {
    **_MISSING,
    Kind.RUN_FILE: _run_file,
    Kind.LOGS: _logs,
    Kind.LOG_FILE: _log_file,
    Kind.FILE: _file,
}
_NO_LOG: Final[dict[Kind, _Hint]] = {
    **_MISSING,
    Kind.RUN: _run,
    Kind.RUN_FILE: _run_file_of_verify,
    Kind.DATA_SET: _data_set,
}

"""What the commands of ``canvass trace`` take: a run of a folder or a data set, events by name.

Nothing here checks or draws anything.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from canvass.cli.output import CommandError

if TYPE_CHECKING:
    from canvass.conformance.diagnose import LoadedRun
    from canvass.lanes.of_run import RunLanes

_EVENT: Final = re.compile(r"(\d{1,2}):(\d{1,18})", re.ASCII)


def open_run(path: Path, run_id: str | None) -> LoadedRun:
    """Read one run whole.

    Parameters
    ----------
    path
        A run folder, a folder of one, a data set or a file of it.
    run_id
        Which run, if there are several.

    Raises
    ------
    CommandError
        If there are several runs and none is named, or none of that name, or it has no events.
    TraceError
        If it is no trace.
    """
    from canvass.conformance.diagnose import load

    place, name = single(path, runs_of(path), run_id)
    try:
        return load(place, name)
    except KeyError:
        raise CommandError(f"{place}: the run has no events") from None


def single(path: Path, found: list[tuple[Path, str]], run_id: str | None) -> tuple[Path, str]:
    """Choose the one run that is meant.

    Raises
    ------
    CommandError
        If there are several and none is named, or none of that name.
    """
    if run_id is not None:
        found = [entry for entry in found if entry[1] == run_id]
        if not found:
            raise CommandError(f"{path}: there is no run {run_id}")
    if len(found) > 1:
        names = ", ".join(name for _, name in found[:3])
        raise CommandError(
            f"{path}: {len(found)} runs ({names}, ...); name one with --run, or give its folder"
        )
    if not found:
        raise CommandError(f"{path}: there is no run in it")
    return found[0]


def runs_of(path: Path, command: str = "canvass trace show") -> list[tuple[Path, str]]:
    """Give the runs of a corpus: where each is, and its id.

    Raises
    ------
    CommandError
        If the path can hold no runs; it names the command that is meant.
    TraceError
        If a run is no trace.
    """
    from canvass.cli.given import need_runs
    from canvass.traces.parquet import DatasetFile
    from canvass.traces.run import Corpus, RunFolder

    need_runs([path], command)
    corpus = Corpus(path)
    found = [(folder, RunFolder(folder).run.run_id) for folder in corpus.folders]
    for file in corpus.files:
        with DatasetFile(file) as opened:
            found += [(file, run_id) for run_id in opened.runs]
    return found


def row_named(lanes: RunLanes, name: str, option: str) -> int:
    """Give the row of an event that a command line names.

    Raises
    ------
    CommandError
        If it is no name of an event, or there is no such event.
    """
    match = _EVENT.fullmatch(name)
    if match is None:
        raise CommandError(f"{option} {name}: an event is named MEMBER:STEP, such as 1:42")
    row = lanes.row_of(int(match[1]), int(match[2]))
    if row is None:
        raise CommandError(f"{option} {name}: the run has no step {match[2]} of member {match[1]}")
    return row


def window(lanes: RunLanes, start: str | None, end: str | None) -> list[int]:
    """Give the rows from one event to another, in the order of causes.

    Raises
    ------
    CommandError
        If an event is not there, or the first comes after the last.
    """
    first, last = 0, len(lanes.rows) - 1
    if start:
        first = lanes.place[row_named(lanes, start, "--from")]
    if end:
        last = lanes.place[row_named(lanes, end, "--to")]
    if first > last:
        raise CommandError(f"--from {start} comes after --to {end}")
    return lanes.rows[first : last + 1]

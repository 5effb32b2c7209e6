"""Runs and corpora on disk: their files, their events in order, and what is missing.

A run is a folder. A corpus is a folder of runs, or a Parquet data set. File names come from the
listing of a folder, never from the contents of files. Links are not followed. Facts report what is
missing; a malformed file raises `TraceError`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canvass.traces.columns import EventColumns, in_columns
from canvass.traces.errors import Code, TraceError
from canvass.traces.ndjson import EventReader, decode_run
from canvass.traces.schema import Event, Fact, FactKind, Run, encode
from canvass.traces.streams import StreamFile, read_whole

RUN_FILE: Final = "run.json"
_STREAM: Final = re.compile(r"member-(0|[1-9][0-9]?)\.ndjson(?:\.gz|\.zst)?")
EMPTY: Final = f"the folder has neither runs nor a data set; a run folder has a {RUN_FILE}"
MIXED: Final = "run folders and Parquet files in one folder: name each of them instead"
_DATASET_FILE: Final = re.compile(r".*\.parquet(\.(gz|zst|bz2|xz|zip))?", re.IGNORECASE | re.DOTALL)
RUN_FOLDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.~-]{0,127}")
NO_RUN_FOLDER: Final = (
    "no name for a run folder: rename it; a name has at most 128 of the characters"
    " A-Z a-z 0-9 _ . ~ - and begins with a letter or digit"
)


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A whole run in memory."""

    run: Run
    events: Mapping[int, tuple[Event, ...]]
    """The events of each member with a stream."""
    facts: tuple[Fact, ...]
    """The facts of what is missing."""


class RunFolder:
    """A run folder whose ``run.json`` is read and whose streams are listed, but not opened.

    Parameters
    ----------
    path
        The folder. It may be a link, but links in it are refused.

    Attributes
    ----------
    run
        The contents of ``run.json``.
    streams
        The file of each member's stream, for the members that have one.
    facts
        What is missing from the run, as far as its streams have been read.

    Raises
    ------
    TraceError
        If the path is no run folder, or has a file with a wrong name of a stream.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        name = str(path / RUN_FILE)
        entries = sorted(_entries(path), key=lambda entry: entry.name)
        if all(entry.name != RUN_FILE for entry in entries):
            raise TraceError(Code.NOT_FOUND, name, 0, 0, _lacking(entries))
        self.run = decode_run(read_whole(path / RUN_FILE, name), name)
        nested = next((entry.name for entry in entries if _holds_run(entry)), None)
        if nested is not None:
            raise TraceError(Code.AMBIGUOUS, str(path), 0, 0, f"a run, and another one in {nested}")
        self.streams: dict[int, Path] = {}
        for entry in entries:
            if entry.name.startswith("member-"):
                self._add(entry.name)
        absent = [k for k in range(self.run.member_count) if k not in self.streams]
        self.facts = [Fact(FactKind.MISSING_STREAM, self.run.run_id, k) for k in absent]

    def _add(self, name: str) -> None:
        match = _STREAM.fullmatch(name)
        path = self.path / name
        if match is None:
            raise TraceError(Code.BAD_NAME, str(path), 0, 0, "not the name of a member's stream")
        member_id = int(match[1])
        if member_id >= self.run.member_count:
            reason = f"the run has {self.run.member_count} members"
            raise TraceError(Code.BAD_NAME, str(path), 0, 0, reason)
        if member_id in self.streams:
            other = self.streams[member_id].name
            raise TraceError(Code.AMBIGUOUS, str(path), 0, 0, f"the same stream as {other}")
        self.streams[member_id] = path

    def batches(self, member_id: int) -> Iterator[list[Event]]:
        """Yield the events of a member's stream in batches, and add to `facts` what is missing.

        Raises
        ------
        TraceError
            At the first line that is not an event. At the end, if the stream has steps, and
            ``run.json`` says that the member took none.
        KeyError
            If the member has no stream.
        """
        run, path = self.run, self.streams[member_id]
        with StreamFile(path) as source:
            reader = EventReader(source, str(path), member_id, run.member_count, run.run_id)
            yield from reader.batches()
        self.facts += reader.facts
        if problem := run.steps_problem(member_id, reader.lines):
            raise TraceError(Code.BAD_EVENT, str(path), 1, 1, problem)
        if not reader.lines and member_id not in run.without_steps:
            self.facts.append(Fact(FactKind.EMPTY_STREAM, run.run_id, member_id))

    def columns(self) -> Iterator[EventColumns]:
        """Yield the events in columns, member by member; see `batches`."""
        for member_id in self.streams:
            yield from in_columns(self.run.run_id, member_id, self.batches(member_id))

    def load(self) -> LoadedRun:
        """Read the whole run."""
        events = {
            member_id: tuple(event for batch in self.batches(member_id) for event in batch)
            for member_id in self.streams
        }
        return LoadedRun(self.run, events, tuple(self.facts))


def write_run(run: Run, events: Mapping[int, Iterable[Event | bytes]], folder: Path) -> None:
    """Write a new run folder of plain streams.

    Parameters
    ----------
    run
        The contents of ``run.json``.
    events
        The events of each member with a stream. They are not checked. An item of bytes is written
        as a line, without any change.
    folder
        The folder, which must not exist.
    """
    folder.mkdir(parents=True)
    (folder / RUN_FILE).write_bytes(encode(run) + b"\n")
    for member, stream in events.items():
        lines = (each if isinstance(each, bytes) else encode(each) for each in stream)
        (folder / f"member-{member}.ndjson").write_bytes(b"".join(line + b"\n" for line in lines))


def _holds_run(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry of a folder is a run folder. A folder that cannot be opened is none."""
    try:
        return entry.is_dir(follow_symlinks=False) and (Path(entry.path) / RUN_FILE).exists()
    except OSError:
        return False


def is_stream_name(name: str) -> bool:
    """Tell whether a file has the name of a member's stream."""
    return _STREAM.fullmatch(name) is not None


def stray_reason(name: str) -> str:
    """Say why a file in a folder of runs or in a data set is refused; empty if it may be there.

    A file whose name resembles that of a stream or run must not be ignored: its user expects it to
    be checked.
    """
    if is_stream_name(name):
        return f"a member's stream without {RUN_FILE}"
    if _DATASET_FILE.fullmatch(name) and not name.endswith(".parquet"):
        return "the name of a file of a data set ends in .parquet"
    return ""


def _lacking(entries: Sequence[os.DirEntry[str]]) -> str:
    """Describe a folder without ``run.json`` for an error."""
    from canvass.traces.aeron_log.source import is_log_name

    if any(is_log_name(entry.name) for entry in entries):
        return "event logs of Aeron, not a run: `canvass import aeron` makes a run of them"
    if any(entry.name.endswith(".parquet") for entry in entries):
        return "a Parquet data set, not a run: give it by itself"
    return "there is no such file, so that the folder is no run"


def _entries(path: Path) -> list[os.DirEntry[str]]:
    """List a folder without hidden names.

    Raises
    ------
    TraceError
        If the folder cannot be listed.
    """
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except FileNotFoundError:
        raise TraceError(
            Code.NOT_FOUND, str(path), 0, 0, "there is no such file or folder"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TraceError(Code.UNREADABLE, str(path), 0, 0, reason) from None


def _is_file(path: Path) -> bool:
    """Tell whether a path is a file of a data set, not a run folder."""
    return path.suffix == ".parquet" and not path.is_dir()


def _unit(parent: Path, entry: os.DirEntry[str]) -> Path | TraceError | None:
    """Return the unit that an entry of a folder of runs is; None for files that are no streams."""
    path = parent / entry.name
    if entry.is_symlink():
        return TraceError(Code.BAD_NAME, str(path), 0, 0, "a symbolic link")
    if not entry.is_dir(follow_symlinks=False):
        if reason := stray_reason(entry.name):
            return TraceError(Code.BAD_NAME, str(path), 0, 0, reason)
        return path if entry.name.endswith(".parquet") else None
    if RUN_FOLDER.fullmatch(entry.name):
        return path
    return TraceError(Code.BAD_NAME, str(path), 0, 0, NO_RUN_FOLDER)


class Corpus:
    """Runs to be checked: one run folder, a folder of them, a data set, or one of its files.

    Parameters
    ----------
    path
        The run folder, folder of run folders, data set or file.

    Attributes
    ----------
    units
        The paths of run folders and Parquet files, in the order of their names. An entry that
        cannot be a run has a `TraceError` instead. Hidden names are ignored. In a folder of run
        folders, files that are no streams are ignored, too.

    Raises
    ------
    TraceError
        If the corpus has no units, or has both run folders and Parquet files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.units: list[Path | TraceError] = []
        if _is_file(path):
            self.units.append(path)
            return
        entries = sorted(_entries(path), key=lambda entry: entry.name)
        if any(entry.name == RUN_FILE for entry in entries):
            self.units.append(path)
            return
        self.units += [unit for entry in entries if (unit := _unit(path, entry)) is not None]
        if self.folders and self.files:
            raise TraceError(Code.AMBIGUOUS, str(path), 0, 0, MIXED)
        if not self.folders and not self.files and any(is_stream_name(e.name) for e in entries):
            raise TraceError(Code.NOT_FOUND, str(path), 0, 0, f"no {RUN_FILE} beside the streams")
        if not self.units:
            raise TraceError(Code.NOT_FOUND, str(path), 0, 0, EMPTY)

    @property
    def folders(self) -> list[Path]:
        """Paths of the run folders, in order of their names."""
        return [unit for unit in self._paths() if not _is_file(unit)]

    @property
    def files(self) -> list[Path]:
        """Paths of the Parquet files, in order of their names."""
        return [unit for unit in self._paths() if _is_file(unit)]

    def _paths(self) -> Iterator[Path]:
        return (unit for unit in self.units if isinstance(unit, Path))

    def need_paths(self) -> None:
        """Check that each unit is a path.

        Raises
        ------
        TraceError
            The first entry that cannot be a run.
        """
        for unit in self.units:
            if isinstance(unit, TraceError):
                raise unit

    def run_folders(self) -> Iterator[RunFolder]:
        """Open one run folder after the other.

        Raises
        ------
        TraceError
            If the corpus has an entry that cannot be a run, or a malformed run.
        """
        self.need_paths()
        ids = set[str]()
        for path in self.folders:
            folder = RunFolder(path)
            run_id = folder.run.run_id
            if run_id in ids:
                raise TraceError(Code.AMBIGUOUS, str(path), 0, 0, f"a second run {run_id}")
            ids.add(run_id)
            yield folder

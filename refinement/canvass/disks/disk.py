"""One member's disk: the content of its files, and the state with which the member starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from msgspec.structs import replace

from canvass.cluster.messages import NULL_VALUE
from canvass.disks.files import (
    CATALOG,
    MARK_FILE,
    NODE_STATE,
    RECORDING_LOG,
    Bytes,
    MemberFiles,
    read_bytes,
)
from canvass.disks.findings import DiskError, Finding, Kind
from canvass.disks.layouts import CONSENSUS_MODULE, RECORDING_LOG_ALIGNMENT, RECORDING_LOG_ENTRY
from canvass.disks.log import RecordedLog, read_log
from canvass.disks.small_files import (
    Catalog,
    LogEntry,
    MarkFile,
    Recording,
    read_catalog,
    read_mark_file,
    read_node_state,
    read_recording_log,
)

T = TypeVar("T")

_LOG_STREAM_ID: Final = 100
"""The default of ``aeron.cluster.log.stream.id``."""
CONSENSUS_MODULE_SERVICE_ID: Final = -1

NO_START: Final = "the member does not start on it"
"""The consequence of a file that cannot be read."""

_WITHOUT: Final = {
    RECORDING_LOG: "the member starts with an empty recording log: without terms and without "
    "snapshots",
    NODE_STATE: "the member may vote again in a term in which it has voted",
    MARK_FILE: "the member id is taken from the folder's name",
    CATALOG: "the archive starts empty: the member has neither log nor snapshots",
}


@dataclass
class MemberDisk:
    """The content of one member's files.

    A file that is missing or cannot be read is None, and ``findings`` has the reason.
    """

    member_id: int
    files: MemberFiles
    recording_log: tuple[LogEntry, ...] | None = None
    candidate_term_id: int = NULL_VALUE
    mark: MarkFile | None = None
    catalog: Catalog | None = None
    log: RecordedLog | None = None
    recording_log_length: int = 0
    findings: list[Finding] = field(default_factory=list)

    def path(self, name: str) -> str:
        """The path of a file in findings, also if the file is missing."""
        return str(self.files.files.get(name, self.files.folder / name))

    def finding(
        self, kind: Kind, name: str, offset: int, text: str, consequence: str = ""
    ) -> Finding:
        """A finding in one of the files of `canvass.disks.files.NAMES`."""
        return Finding(kind, self.member_id, self.path(name), offset, text, consequence)

    # The state with which a member starts on this disk (RecordingLog.createRecoveryPlan).

    @property
    def recording_log_rest(self) -> int:
        """The number of bytes at the end of the recording log that Aeron does not read."""
        rest = self.recording_log_length % RECORDING_LOG_ALIGNMENT
        return rest if rest <= RECORDING_LOG_ENTRY.length else 0

    @property
    def entries(self) -> list[LogEntry]:
        """The valid entries of the recording log, in the order in which Aeron sorts them."""
        found = [entry for entry in self.recording_log or () if entry.is_valid]
        return sorted(found, key=lambda entry: entry.sort_key)

    @property
    def terms(self) -> list[LogEntry]:
        """The valid TERM entries, by term."""
        return [entry for entry in self.entries if entry.type == "TERM"]

    @property
    def last_term(self) -> LogEntry | None:
        """The TERM entry of the last term."""
        return self.terms[-1] if self.terms else None

    @property
    def snapshots(self) -> list[LogEntry]:
        """The valid snapshots of the consensus module; the member loads the last one."""
        return [
            entry
            for entry in self.entries
            if entry.type == "SNAPSHOT" and entry.service_id == CONSENSUS_MODULE_SERVICE_ID
        ]

    @property
    def snapshot(self) -> LogEntry | None:
        """The snapshot that the member loads."""
        return self.snapshots[-1] if self.snapshots else None

    @property
    def snapshot_position(self) -> int:
        """The position at which a replay begins: the position of the snapshot, or 0."""
        return 0 if self.snapshot is None else self.snapshot.log_position

    @property
    def end(self) -> int:
        """The append position that the member reports when it starts."""
        if self.last_term is not None and self.log is not None:
            return self.log.end
        return self.snapshot_position

    @property
    def log_term(self) -> int:
        """The term of the log that the member reports when it starts."""
        if self.last_term is not None:
            return self.last_term.leadership_term_id
        return NULL_VALUE if self.snapshot is None else self.snapshot.leadership_term_id


def _log_recording_id(disk: MemberDisk) -> int:
    """The recording id of the log, or -1.

    The TERM entries name it. Without them, the alias of the channel or the stream id does.
    """
    ids = {entry.recording_id for entry in disk.terms}
    if ids:
        return min(ids)
    known: Sequence[Recording] = disk.catalog.recordings if disk.catalog else ()
    alias = [one for one in known if re.search(r"alias=log(\W|$|-)", one.channel)]
    stream = [one for one in known if one.stream_id == _LOG_STREAM_ID]
    found = [one for one in alias or stream if one.state == "VALID"]
    return found[0].recording_id if found else NULL_VALUE


def load(files: MemberFiles, position: int) -> MemberDisk:
    """Read all files of a member.

    Parameters
    ----------
    files
        The paths of the files.
    position
        The member id to use if neither the mark file nor the name of the folder has one.
    """
    disk = MemberDisk(position, files)

    def read(name: str, reader: Callable[[str, Bytes], T]) -> T | None:
        path = files.files.get(name)
        if path is None:
            kind = Kind.NOTE if name == MARK_FILE else Kind.MISSING
            text = f"{name} is missing"
            disk.findings.append(disk.finding(kind, name, -1, text, _WITHOUT[name]))
            return None
        try:
            data = read_bytes(path)
            if name == RECORDING_LOG:
                disk.recording_log_length = len(data)
            return reader(str(path), data)
        except DiskError as error:
            disk.findings.append(_unreadable(error))
            return None

    if files.is_empty:
        disk.member_id = _member_id(disk, position)
        text = "no file of a member is there"
        consequence = "it counts as an empty disk: the member starts with neither log nor votes"
        place = disk.member_id, str(files.folder), -1
        disk.findings.append(Finding(Kind.MISSING, *place, text, consequence))
        return disk
    disk.mark = read(MARK_FILE, read_mark_file)
    disk.recording_log = read(RECORDING_LOG, read_recording_log)
    term = read(NODE_STATE, read_node_state)
    disk.candidate_term_id = NULL_VALUE if term is None else term
    disk.catalog = read(CATALOG, read_catalog)
    _load_log(disk)
    disk.member_id = _member_id(disk, position)
    disk.findings = [replace(finding, member_id=disk.member_id) for finding in disk.findings]
    return disk


def _unreadable(error: DiskError) -> Finding:
    return Finding(Kind.UNREADABLE, -1, error.file, error.offset, error.reason, NO_START)


def _load_log(disk: MemberDisk) -> None:
    recording_id = _log_recording_id(disk)
    found = disk.catalog.find(recording_id) if disk.catalog else None
    if found is None:
        return
    try:
        disk.log = read_log(found, disk.files.segments.get(recording_id, {}))
    except DiskError as error:
        at = found.offset if error.file == f"recording {recording_id}" else error.offset
        file = disk.path(CATALOG) if error.file == f"recording {recording_id}" else error.file
        disk.findings.append(_unreadable(DiskError(file, at, error.reason)))


def _member_id(disk: MemberDisk, position: int) -> int:
    mark = disk.mark
    if mark is not None and mark.component_type == CONSENSUS_MODULE and mark.member_id >= 0:
        return mark.member_id
    folder = disk.files.folder.resolve()
    for name in (folder.name, folder.parent.name):
        number = re.search(r"(\d{1,4})$", name)
        if number:
            return int(number[1])
    return position

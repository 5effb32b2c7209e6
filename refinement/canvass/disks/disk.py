"""One member's disk: all of its files read, and what a member that starts on it would believe."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from msgspec.structs import replace

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
from canvass.disks.layouts import CONSENSUS_MODULE, NULL_VALUE, RECORDING_LOG_ALIGNMENT
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

LOG_STREAM_ID: Final = 100
"""The default of ``aeron.cluster.log.stream.id``."""
CONSENSUS_MODULE_SERVICE_ID: Final = -1

_WITHOUT: Final = {
    RECORDING_LOG: "the member starts with an empty recording log: it takes its log for one of no "
    "term, and its snapshots for none",
    NODE_STATE: "the member may vote again in a term in which it has voted",
    MARK_FILE: "nothing; which member this is, is taken from the folder",
    CATALOG: "the archive starts empty: the member has neither log nor snapshots",
}


@dataclass
class MemberDisk:
    """The files of one member, each read, or None if it is missing or cannot be read.

    ``findings`` says of each that is not there why.
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
        """How a file is named in a finding, whether it is there or not."""
        return str(self.files.files.get(name, self.files.folder / name))

    def finding(
        self, kind: Kind, name: str, offset: int, text: str, consequence: str = ""
    ) -> Finding:
        """A finding in one of the files of `canvass.disks.files.NAMES`."""
        return Finding(kind, self.member_id, self.path(name), offset, text, consequence)

    # What a member that starts on this disk believes (RecordingLog.createRecoveryPlan).

    @property
    def recording_log_end(self) -> int:
        """Where the last whole entry of the recording log ends."""
        alignment = RECORDING_LOG_ALIGNMENT
        return self.recording_log_length - self.recording_log_length % alignment

    @property
    def recording_log_rest(self) -> int:
        """Bytes at the end of the recording log that are no whole entry, and not zero."""
        return self.recording_log_length % RECORDING_LOG_ALIGNMENT

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
        """The TERM entry that the member takes for that of its last term."""
        return self.terms[-1] if self.terms else None

    @property
    def snapshots(self) -> list[LogEntry]:
        """The valid snapshots of the consensus module, the one that is loaded last."""
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
        """Where replay begins: the position of the snapshot, or 0."""
        return 0 if self.snapshot is None else self.snapshot.log_position

    @property
    def end(self) -> int:
        """What the member reports as its append position when it starts."""
        if self.last_term is not None and self.log is not None:
            return self.log.end
        return self.snapshot_position

    @property
    def log_term(self) -> int:
        """What the member reports as the term of its log when it starts."""
        if self.last_term is not None:
            return self.last_term.leadership_term_id
        return NULL_VALUE if self.snapshot is None else self.snapshot.leadership_term_id


def log_recording_id(disk: MemberDisk) -> int:
    """The recording of the log: that of the TERM entries, else the likely one, or -1."""
    ids = {entry.recording_id for entry in disk.terms}
    if ids:
        return min(ids)
    known: Sequence[Recording] = disk.catalog.recordings if disk.catalog else ()
    alias = [one for one in known if re.search(r"alias=log(\W|$|-)", one.channel)]
    stream = [one for one in known if one.stream_id == LOG_STREAM_ID]
    found = [one for one in alias or stream if one.state == "VALID"]
    return found[0].recording_id if found else NULL_VALUE


def load(files: MemberFiles, position: int) -> MemberDisk:
    """Read all files of a member.

    Parameters
    ----------
    files
        Where they are.
    position
        Which of the given members this is; its id if no file and no folder name says another.
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
    consequence = "the member does not start on it"
    return Finding(Kind.UNREADABLE, -1, error.file, error.offset, error.reason, consequence)


def _load_log(disk: MemberDisk) -> None:
    recording_id = log_recording_id(disk)
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

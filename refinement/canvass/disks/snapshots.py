"""The recordings of snapshots: whether the one that a member loads is there, and what it says.

Only the frames and the marker at the beginning are looked at; a service's own data are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from canvass.disks import layouts
from canvass.disks.catalog import Catalog, Recording
from canvass.disks.disk import CONSENSUS_MODULE_SERVICE_ID, MemberDisk
from canvass.disks.errors import DiskError
from canvass.disks.files import CATALOG, RECORDING_LOG
from canvass.disks.findings import Finding, Kind
from canvass.disks.log import RecordedLog, read_log
from canvass.disks.small_files import LogEntry

_NO_RECORDING: Final = 'the member does not start: "unknown recording id"'
_CONSEQUENCE: Final = "the member cannot load its snapshot, and does not start"


def check_snapshot(
    disk: MemberDisk, catalog: Catalog, entries: Sequence[LogEntry]
) -> Iterator[Finding]:
    """Look at the recordings of the snapshot that the member loads when it starts."""
    absent: list[tuple[LogEntry, Recording]] = []
    for entry in entries:
        recording = catalog.find(entry.recording_id)
        whose = "consensus module" if entry.service_id < 0 else f"service {entry.service_id}"
        what = f"the snapshot of the {whose} at {entry.log_position:,}"
        if recording is None:
            text = f"{what} is recording {entry.recording_id}, which the archive does not have"
            path = disk.path(RECORDING_LOG)
            yield Finding(Kind.DAMAGED, disk.member_id, path, entry.offset, text, _NO_RECORDING)
        elif recording.stop_position == recording.start_position:
            text = f"{what} (recording {recording.recording_id}) is empty"
            where = disk.path(CATALOG), recording.offset
            yield Finding(Kind.DAMAGED, disk.member_id, *where, text, _CONSEQUENCE)
        elif not disk.files.segments.get(recording.recording_id):
            absent.append((entry, recording))
        else:
            yield from _content(disk, entry, recording, what)
    if absent:
        ids = ", ".join(str(recording.recording_id) for _, recording in absent)
        entry, recording = absent[0]
        text = (
            f"no segment of recording {ids} is there: the snapshot at {entry.log_position:,} could "
            "not be read"
        )
        consequence = "if the disk lacks it, too, and not only this copy: " + _CONSEQUENCE
        where = disk.path(CATALOG), recording.offset
        yield Finding(Kind.MISSING, disk.member_id, *where, text, consequence)


def _content(
    disk: MemberDisk, entry: LogEntry, recording: Recording, what: str
) -> Iterator[Finding]:
    try:
        log = read_log(recording, disk.files.segments[recording.recording_id], is_log=False)
    except DiskError as error:
        text = f"{what}: {error.reason}"
        yield Finding(Kind.UNREADABLE, disk.member_id, error.file, error.offset, text, _CONSEQUENCE)
        return
    for problem in log.problems[:1]:
        text = f"{what}: {problem.reason}"
        yield Finding(
            Kind.DAMAGED, disk.member_id, problem.file, problem.offset, text, _CONSEQUENCE
        )
    if not log.problems and entry.service_id == CONSENSUS_MODULE_SERVICE_ID:
        yield from _marker(disk, entry, log, what)


def _marker(disk: MemberDisk, entry: LogEntry, log: RecordedLog, what: str) -> Iterator[Finding]:
    """The marker with which a snapshot begins: it repeats position and term."""
    for segment, offset, _ in log.parts(log.start, log.end):
        buffer, file = segment.data.data, str(segment.path)
        at = offset + layouts.DATA_HEADER.length
        head = layouts.SBE_HEADER.read(file, buffer, at)
        marker = layouts.SNAPSHOT_MARKER.read(file, buffer, at + layouts.SBE_HEADER.length)
        if head["templateId"] != layouts.SNAPSHOT_MARKER_TEMPLATE or marker["mark"] != 0:
            text = f"{what} does not begin with a snapshot marker"
            yield Finding(Kind.DAMAGED, disk.member_id, file, at, text, _CONSEQUENCE)
        elif (marker["logPosition"], marker["leadershipTermId"]) != (
            entry.log_position,
            entry.leadership_term_id,
        ):
            text = (
                f"{what} says that it is at {marker['logPosition']:,} of term "
                f"{marker['leadershipTermId']}, the recording log {entry.log_position:,} of term "
                f"{entry.leadership_term_id}"
            )
            yield Finding(Kind.DAMAGED, disk.member_id, file, at, text, _CONSEQUENCE)
        return

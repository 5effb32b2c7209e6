"""The recordings of snapshots: whether the one that a member loads is there, and what it says.

Only the frames and the marker at the beginning are looked at; what a service has written is its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from canvass.disks import layouts
from canvass.disks.catalog import Recording
from canvass.disks.disk import CONSENSUS_MODULE_SERVICE_ID, MemberDisk
from canvass.disks.errors import DiskError
from canvass.disks.files import CATALOG
from canvass.disks.findings import Finding, Kind
from canvass.disks.log import RecordedLog, read_log
from canvass.disks.small_files import LogEntry

_CONSEQUENCE = "the member cannot load its snapshot, and does not start"


def check_snapshot(
    disk: MemberDisk, entry: LogEntry, recording: Recording, what: str
) -> Iterator[Finding]:
    """Look at the recording of a snapshot that the member loads when it starts."""
    paths = disk.files.segments.get(recording.recording_id, {})
    where = disk.path(CATALOG), recording.offset
    if recording.stop_position == recording.start_position:
        text = f"{what} (recording {recording.recording_id}) is empty"
        yield Finding(Kind.DAMAGED, disk.member_id, *where, text, _CONSEQUENCE)
        return
    if not paths:
        text = f"no segment of recording {recording.recording_id} is there: {what}"
        consequence = "its content could not be checked; if the disk lacks it, too: " + _CONSEQUENCE
        yield Finding(Kind.MISSING, disk.member_id, *where, text, consequence)
        return
    try:
        log = read_log(recording, paths, is_log=False)
    except DiskError as error:
        text = f"{what}: {error.reason}"
        yield Finding(
            Kind.UNREADABLE, disk.member_id, error.file, error.offset, text, _CONSEQUENCE
        )
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
        buffer, file = memoryview(segment.data), str(segment.path)
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

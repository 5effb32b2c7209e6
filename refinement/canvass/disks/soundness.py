"""Checks of one disk: each file by itself, and the files against each other.

Every finding names the file, the offset and the consequence. `canvass.disks.comparison` compares
the disks of several members. In a snapshot only the frames and the first marker are checked, not
the data of the services.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from canvass.cluster.messages import NULL_VALUE
from canvass.disks import layouts
from canvass.disks.disk import CONSENSUS_MODULE_SERVICE_ID, NO_START, MemberDisk
from canvass.disks.files import CATALOG, MARK_FILE, NODE_STATE, RECORDING_LOG
from canvass.disks.findings import DiskError, Finding, Kind
from canvass.disks.layouts import RELEASES
from canvass.disks.log import RecordedLog, read_log
from canvass.disks.small_files import Catalog, LogEntry, Recording

_NO_RECORDING: Final = 'the member does not start: "unknown recording id"'
_NOT_LOADED: Final = "the member cannot load its snapshot, and does not start"
_NO_PART: Final = 'the member does not start: "snapshot missing for service"'
_SEVERAL_RECORDINGS: Final = "the member does not start: all terms must have one recording id"
_REFUSES: Final = "the archive refuses to start"
_NEXT_ID: Final = f'{_REFUSES}: "invalid nextRecordingId"'
_FATAL: Final = (NO_START, _NO_RECORDING, _NOT_LOADED, _NO_PART, _SEVERAL_RECORDINGS, _REFUSES)
"""The beginnings of the consequences that keep a member from starting."""

ACTIVE_MS: Final = 10_000
"""A mark file that was updated within this time counts as active, as in Aeron itself."""


def check(disk: MemberDisk, now_ms: int = NULL_VALUE) -> list[Finding]:
    """The findings of one disk, in the order of its files.

    Parameters
    ----------
    disk
        The disk.
    now_ms
        The current time in milliseconds, to notice a running member; -1 omits this check.
    """
    return [
        *disk.findings,
        *_recording_log(disk),
        *_node_state(disk),
        *_terms(disk),
        *_snapshots(disk),
        *_catalog(disk),
        *_log(disk),
        *_terms_against_log(disk),
        *_mark_file(disk, now_ms),
    ]


def reason_not_to_start(disk: MemberDisk, findings: Sequence[Finding]) -> str:
    """The reason why a member does not start on a disk with these findings, or empty."""
    fatal = (one for one in findings if one.consequence.startswith(_FATAL))
    if (first := next(fatal, None)) is not None:
        return f"{first.place}: {first.text}"
    without_log = disk.last_term if disk.log is None else None
    return f"unknown recording id: {without_log.recording_id}" if without_log else ""


def _at(disk: MemberDisk, kind: Kind, entry: LogEntry, text: str, consequence: str) -> Finding:
    return disk.finding(kind, RECORDING_LOG, entry.offset, text, consequence)


def _recording_log(disk: MemberDisk) -> Iterator[Finding]:
    entries = disk.recording_log
    if entries is None:
        return
    if not entries:
        consequence = "the member has never joined an election, or its entries were removed"
        text = "the recording log is empty"
        yield disk.finding(Kind.NOTE, RECORDING_LOG, -1, text, consequence)
    rest = disk.recording_log_rest
    if rest:
        text = f"the last {rest} bytes are not a whole entry"
        consequence = "the member does not read them: their entry is lost"
        offset = disk.recording_log_length - rest
        yield disk.finding(Kind.DAMAGED, RECORDING_LOG, offset, text, consequence)
    for entry in entries:
        if entry.type == "TERM" and not entry.is_valid:
            text = f"the entry of term {entry.leadership_term_id} is marked invalid"
            consequence = (
                "no release marks TERM entries: the member assumes that its log ends in an older "
                "term, and cannot append a snapshot of that term"
            )
            yield _at(disk, Kind.DAMAGED, entry, text, consequence)
    ids = {entry.recording_id for entry in disk.terms}
    for entry in disk.terms:
        if entry.recording_id < 0 or entry.recording_id != min(ids):
            text = f"term {entry.leadership_term_id} has recording id {entry.recording_id}"
            yield _at(disk, Kind.DAMAGED, entry, text, _SEVERAL_RECORDINGS)


def _node_state(disk: MemberDisk) -> Iterator[Finding]:
    """Check the candidate term: a leader has stored it before it opens the term."""
    if disk.log is None or any(one.file == disk.path(NODE_STATE) for one in disk.findings):
        return
    led = [run.term for run in disk.log.terms if run.leader == disk.member_id]
    if led and led[-1] > disk.candidate_term_id:
        own = disk.candidate_term_id
        text = f"the candidate term is {own}, and this member has led term {led[-1]}"
        consequence = f"the member may vote again in terms up to {led[-1]}"
        yield disk.finding(Kind.DAMAGED, NODE_STATE, -1, text, consequence)


def _terms(disk: MemberDisk) -> Iterator[Finding]:
    """Check that the TERM entries rise without a gap, and each begins where the last one ends."""
    for entry in disk.terms:
        base, end = entry.term_base_log_position, entry.log_position
        if base < 0 or entry.leadership_term_id < 0 or NULL_VALUE != end < base:
            text = f"term {entry.leadership_term_id} is from {base} to {end}"
            yield _at(disk, Kind.DAMAGED, entry, text, "its leader announces impossible positions")
    for entry, following in pairwise(disk.terms):
        term, next_term = entry.leadership_term_id, following.leadership_term_id
        base, end = following.term_base_log_position, entry.log_position
        if next_term == term:
            text = f"term {term} has two entries, at offsets {entry.offset} and {following.offset}"
            yield _at(disk, Kind.DAMAGED, following, text, "either of them may be used")
        elif next_term > term + 1:
            text = f"terms {term + 1} to {next_term - 1} have no entry"
            consequence = (
                "as leader, this member does not answer members whose logs end in these terms"
            )
            yield _at(disk, Kind.DAMAGED, following, text, consequence)
        elif end == NULL_VALUE:
            text = f"term {term} is open, though term {next_term} follows"
            consequence = "as leader, this member does not announce where that term ends"
            yield _at(disk, Kind.DAMAGED, entry, text, consequence)
        elif end != base:
            text = f"term {term} ends at {end} and term {next_term} begins at {base}"
            consequence = (
                "members that copy the log of this member truncate it or stop at a wrong position"
            )
            yield _at(disk, Kind.DAMAGED, following, text, consequence)


def _snapshots(disk: MemberDisk) -> Iterator[Finding]:
    """Check the snapshots against the terms, the log and the archive."""
    taken = [entry for entry in disk.entries if entry.type == "SNAPSHOT"]
    for entry in taken:
        if entry.recording_id < 0:
            text = (
                f"the snapshot of {_whose(entry)} at {entry.log_position} has recording id "
                f"{entry.recording_id}"
            )
            is_last = disk.snapshot is not None and entry.log_position == disk.snapshot.log_position
            consequence = _NO_RECORDING if is_last else "the member cannot load this snapshot"
            yield _at(disk, Kind.DAMAGED, entry, text, consequence)
    for entry in disk.snapshots:
        yield from _snapshot_against_terms(disk, entry)
    last = disk.snapshot
    if last is None:
        return
    loaded = [entry for entry in taken if entry.log_position == last.log_position]
    services = {entry.service_id for entry in taken}
    missing = sorted(services - {entry.service_id for entry in loaded})
    if missing:
        text = f"the snapshot at {last.log_position} has no part of service {missing[0]}"
        yield _at(disk, Kind.DAMAGED, last, text, _NO_PART)
    if disk.catalog is not None:
        known = [entry for entry in loaded if entry.recording_id >= 0]
        yield from _snapshot_recordings(disk, disk.catalog, known)


def _whose(entry: LogEntry) -> str:
    if entry.service_id == CONSENSUS_MODULE_SERVICE_ID:
        return "the consensus module"
    return f"service {entry.service_id}"


def _snapshot_against_terms(disk: MemberDisk, entry: LogEntry) -> Iterator[Finding]:
    """Check that a snapshot lies within its term and within the log."""
    of_term = [one for one in disk.terms if one.leadership_term_id == entry.leadership_term_id]
    what = f"the snapshot at {entry.log_position} of term {entry.leadership_term_id}"
    for term in of_term[:1]:
        if NULL_VALUE != term.log_position < entry.log_position:
            path = disk.path(RECORDING_LOG)
            text = f"{what}: the term ends at {term.log_position} ({path}:{term.offset})"
            consequence = (
                "entries that the services had processed have been truncated; the member cannot "
                "join a shorter log, and in a longer log its services have processed other entries"
            )
            yield _at(disk, Kind.LOST, entry, text, consequence)
            return
        if term.term_base_log_position != entry.term_base_log_position:
            text = (
                f"{what} has term base {entry.term_base_log_position}, the term's entry "
                f"{term.term_base_log_position}"
            )
            yield _at(disk, Kind.DAMAGED, entry, text, "the member announces a wrong term base")
    if disk.log is not None and disk.terms and entry.log_position > disk.log.end:
        text = f"{what} is beyond the end of the log, {disk.log.end}"
        consequence = (
            "the member starts there, and cannot join before the log reaches that position"
        )
        yield _at(disk, Kind.DAMAGED, entry, text, consequence)


def _snapshot_recordings(
    disk: MemberDisk, catalog: Catalog, entries: Sequence[LogEntry]
) -> Iterator[Finding]:
    """Check the recordings of the snapshot that the member loads when it starts."""
    absent: list[tuple[LogEntry, Recording]] = []
    for entry in entries:
        recording = catalog.find(entry.recording_id)
        what = f"the snapshot of {_whose(entry)} at {entry.log_position}"
        if recording is None:
            text = f"{what} is recording {entry.recording_id}, which the archive does not have"
            yield _at(disk, Kind.DAMAGED, entry, text, _NO_RECORDING)
        elif recording.stop_position == recording.start_position:
            text = f"{what} (recording {recording.recording_id}) is empty"
            yield disk.finding(Kind.DAMAGED, CATALOG, recording.offset, text, _NOT_LOADED)
        elif not disk.files.segments.get(recording.recording_id):
            absent.append((entry, recording))
        else:
            yield from _snapshot_content(disk, entry, recording, what)
    if absent:
        ids = ", ".join(str(recording.recording_id) for _, recording in absent)
        entry, recording = absent[0]
        text = (
            f"no segment of recording {ids} is there: the snapshot at {entry.log_position} could "
            "not be read"
        )
        consequence = "if the disk itself lacks these segments: " + _NOT_LOADED
        yield disk.finding(Kind.MISSING, CATALOG, recording.offset, text, consequence)


def _snapshot_content(
    disk: MemberDisk, entry: LogEntry, recording: Recording, what: str
) -> Iterator[Finding]:
    try:
        log = read_log(recording, disk.files.segments[recording.recording_id], is_log=False)
    except DiskError as error:
        text = f"{what}: {error.reason}"
        yield Finding(Kind.UNREADABLE, disk.member_id, error.file, error.offset, text, _NOT_LOADED)
        return
    for problem in log.problems[:1]:
        text = f"{what}: {problem.reason}"
        yield Finding(Kind.DAMAGED, disk.member_id, problem.file, problem.offset, text, _NOT_LOADED)
    if not log.problems and entry.service_id == CONSENSUS_MODULE_SERVICE_ID:
        yield from _snapshot_marker(disk, entry, log, what)


def _snapshot_marker(
    disk: MemberDisk, entry: LogEntry, log: RecordedLog, what: str
) -> Iterator[Finding]:
    """Check the first marker of a snapshot: it repeats the snapshot's position and term."""
    for segment, offset, _ in log.parts(log.start, log.end):
        buffer, file = segment.data.data, str(segment.path)
        at = offset + layouts.DATA_HEADER_LENGTH
        head = layouts.SBE_HEADER.read(file, buffer, at)
        marker = layouts.SNAPSHOT_MARKER.read(file, buffer, at + layouts.SBE_HEADER.length)
        if head["templateId"] != layouts.SNAPSHOT_MARKER_TEMPLATE or marker["mark"] != 0:
            text = f"{what} does not begin with a snapshot marker"
            yield Finding(Kind.DAMAGED, disk.member_id, file, at, text, _NOT_LOADED)
        elif (marker["logPosition"], marker["leadershipTermId"]) != (
            entry.log_position,
            entry.leadership_term_id,
        ):
            text = (
                f"{what} of term {entry.leadership_term_id} has a marker of position "
                f"{marker['logPosition']} of term {marker['leadershipTermId']}"
            )
            yield Finding(Kind.DAMAGED, disk.member_id, file, at, text, _NOT_LOADED)
        return


def _catalog(disk: MemberDisk) -> Iterator[Finding]:
    if disk.catalog is None:
        return
    seen = set[int]()
    for one in disk.catalog.recordings:
        if not one.checksum_matches:
            text = f"the checksum of recording {one.recording_id} is wrong"
            consequence = "its positions cannot be trusted; an archive that checks refuses to start"
            yield disk.finding(Kind.DAMAGED, CATALOG, one.offset, text, consequence)
        if one.recording_id in seen:
            text = f"recording {one.recording_id} is there twice"
            consequence = "the archive uses the last one"
            yield disk.finding(Kind.DAMAGED, CATALOG, one.offset, text, consequence)
        seen.add(one.recording_id)
    if seen and 0 != disk.catalog.next_recording_id <= max(seen):
        text = (
            f"the next recording id is {disk.catalog.next_recording_id}, and {max(seen)} is in use"
        )
        yield disk.finding(Kind.DAMAGED, CATALOG, 8, text, _NEXT_ID)
    for entry in disk.terms[-1:]:
        if disk.catalog.find(entry.recording_id) is None:
            text = f"the log is recording {entry.recording_id}, which the archive does not have"
            yield _at(disk, Kind.DAMAGED, entry, text, _NO_RECORDING)


def _log(disk: MemberDisk) -> Iterator[Finding]:
    log = disk.log
    if log is None:
        return
    if log.refuses:
        last = log.last_frame
        text = (
            f"the last frame, at {last}, crosses a page of the file, and only zeros follow that "
            "page"
        )
        consequence = f"{_REFUSES} until `ArchiveTool verify` truncates the log at {last}"
        offset = log.place(last)[1]
        yield Finding(Kind.DAMAGED, disk.member_id, log.refuses, offset, text, consequence)
    yield from _segments(disk, log)
    if not log.segments:
        return
    version = log.schema_version
    if version != NULL_VALUE and version not in RELEASES:
        text = (
            f"the log has entries of schema version {version}; canvass knows {min(RELEASES)} to "
            f"{max(RELEASES)}"
        )
        consequence = "they may mean something else than canvass assumes; update canvass"
        file = log.place(log.end - 1)[0]
        yield Finding(Kind.UNREADABLE, disk.member_id, file, -1, text, consequence)
    if log.has_frame_behind_end:
        text = f"the catalog says that the log ends at {log.end}, and a frame follows there"
        consequence = "the archive does not replay the frame, and overwrites it"
        yield Finding(Kind.DAMAGED, disk.member_id, *log.place(log.end), text, consequence)
    for problem in log.problems:
        missing = problem.reason == "the segment is missing"
        text = f"{problem.reason}: positions {problem.position} to {problem.until}"
        consequence = _damage(disk, log, problem.position)
        kind = Kind.MISSING if missing else Kind.DAMAGED
        yield Finding(kind, disk.member_id, problem.file, problem.offset, text, consequence)
    yield from _purged(disk, log.recording)


def _segments(disk: MemberDisk, log: RecordedLog) -> Iterator[Finding]:
    """Find segments that are missing at the end of the log, or that have an impossible name."""
    one = log.recording
    for position, path in sorted(disk.files.segments.get(one.recording_id, {}).items()):
        if (position - one.first_segment) % one.segment_file_length:
            text = (
                f"no segment of recording {one.recording_id} begins at {position}: the file was "
                "not read"
            )
            yield Finding(Kind.DAMAGED, disk.member_id, str(path), -1, text)
    unchecked = "what the log holds there could not be checked"
    if log.missing_segment:
        text = f"the segment before this one is full: the log continues at {log.end}"
        yield Finding(Kind.MISSING, disk.member_id, log.missing_segment, 0, text, unchecked)
    if not log.segments and one.stop_position != one.start_position:
        text = f"no segment of the log (recording {one.recording_id}) is there"
        yield disk.finding(Kind.MISSING, CATALOG, one.offset, text, unchecked)


def _damage(disk: MemberDisk, log: RecordedLog, position: int) -> str:
    if position < disk.snapshot_position:
        return (
            f"the member itself starts at its snapshot, {disk.snapshot_position}; "
            "a member that needs these bytes from this disk cannot join"
        )
    return f"the member votes with a log up to {log.end}, and fails when it replays this place"


def _purged(disk: MemberDisk, recording: Recording) -> Iterator[Finding]:
    """Check that a replay can begin at the last snapshot."""
    if recording.start_position > disk.snapshot_position:
        text = (
            f"the log starts at {recording.start_position}, and the last snapshot is "
            f"{'missing' if disk.snapshot is None else f'at {disk.snapshot_position}'}"
        )
        consequence = (
            'the member cannot replay: "requested replay start position is less than recording '
            'start position"'
        )
        yield disk.finding(Kind.DAMAGED, CATALOG, recording.offset, text, consequence)


def _terms_against_log(disk: MemberDisk) -> Iterator[Finding]:
    """Check the recording log against the bytes that the archive has recorded."""
    log = disk.log
    if log is None or not log.segments:
        return
    runs = {run.term: run for run in log.terms if run.base != NULL_VALUE}
    for entry in disk.terms:
        term, base = entry.leadership_term_id, entry.term_base_log_position
        run = runs.get(term)
        if run is not None and run.base != base:
            file, offset = log.place(run.start)
            text = f"term {term} begins at {base}, in the log at {run.base} ({file}:{offset})"
            consequence = "members that replicate from this leader truncate at the wrong place"
            yield _at(disk, Kind.DAMAGED, entry, text, consequence)
        if NULL_VALUE != entry.log_position > log.end:
            text = (
                f"term {term} ends at {entry.log_position}, and the log at {log.end} "
                f"({log.place(log.end)[0]}:{log.place(log.end)[1]})"
            )
            consequence = f"{entry.log_position - log.end:,} recorded bytes are gone from this disk"
            yield _at(disk, Kind.DAMAGED, entry, text, consequence)
        elif base > log.end:
            text = f"term {term} begins at {base}, beyond the end of the log, {log.end}"
            consequence = f"{base - log.end:,} recorded bytes are gone from this disk"
            yield _at(disk, Kind.DAMAGED, entry, text, consequence)
    yield from _terms_beyond(disk, log)


def _terms_beyond(disk: MemberDisk, log: RecordedLog) -> Iterator[Finding]:
    """Find terms that are in the log, but not in the recording log.

    Notes
    -----
    A follower writes the entry of a term when it has replicated the term. If it is stopped before
    that, one entry is missing. A leader writes the entry before it opens its term.
    """
    if disk.recording_log is None:
        return
    last = disk.last_term
    ends_with = "has no term" if last is None else f"ends with term {last.leadership_term_id}"
    known = NULL_VALUE if last is None else last.leadership_term_id
    beyond = [run for run in log.terms if run.base != NULL_VALUE and run.term > known]
    if not beyond:
        return
    file, offset = log.place(beyond[0].start)
    terms = f"term {beyond[0].term}"
    if len(beyond) > 1:
        terms = f"terms {beyond[0].term} to {beyond[-1].term}"
    text = f"the log holds {terms}, the recording log {ends_with}"
    if len(beyond) > 1 or beyond[0].leader == disk.member_id:
        kind = Kind.DAMAGED
        consequence = "entries of the recording log are gone: the member canvasses with an old term"
    else:
        kind = Kind.NOTE
        consequence = (
            "if the member was stopped while it replicated, nothing is wrong: it canvasses with "
            "the older term though its log is newer (hazard HZ2)"
        )
    yield Finding(kind, disk.member_id, file, offset, text, consequence)


def _mark_file(disk: MemberDisk, now_ms: int) -> Iterator[Finding]:
    mark = disk.mark
    if mark is None:
        return
    if mark.activity_timestamp > 0 and 0 <= now_ms - mark.activity_timestamp < ACTIVE_MS:
        text = "the mark file was updated within the last 10 s: the member seems to run"
        consequence = "the files may be of different moments; stop the member first"
        yield disk.finding(Kind.NOTE, MARK_FILE, 0, text, consequence)

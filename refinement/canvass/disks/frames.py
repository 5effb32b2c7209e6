"""The frames of a segment as arrays: each rule of the format is one comparison of whole columns.

Offsets are bytes in the segment. This module opens no file and writes no finding. The bytes may be
damaged in any way: no function reads beyond its limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from canvass.cluster.messages import NULL_VALUE
from canvass.disks.files import Bytes
from canvass.disks.layouts import CLUSTER_SCHEMA_ID, DATA_HEADER_LENGTH, FRAME_ALIGNMENT, align
from canvass.disks.loops import Checksum, Ints, follow
from canvass.disks.small_files import Recording

Mask = NDArray[np.bool_]

_SMALL, _LARGE = 1 << 12, 1 << 19
"""The bytes that are checked together. After damage they are few, as damage may be everywhere."""

_PADDING, _DATA = range(2)
_BEGIN, _END = 0x80, 0x40
_SESSION_MESSAGE, _TIMER, _NEW_TERM = 1, 20, 24
_LOG_TEMPLATES: Final = (_SESSION_MESSAGE, *range(_TIMER, 26))
_TERM_FIELDS: Final = 24
"""The shortest block of a message in the log, in bytes: term, another id, timestamp."""
_HEADED: Final = DATA_HEADER_LENGTH + 8
"""The bytes of a frame with the header of a message."""

# The reasons why a frame is damaged. In the first group the length of the damaged frame does not
# lead to the next frame.
NO_FRAME: Final = "zeros stand where a frame should begin"
BAD_LENGTH: Final = "the frame length is impossible"
BEYOND: Final = "the frame reaches beyond its term or the end of the recording"
BAD_TYPE: Final = "the version or the type of the frame is unknown"
BAD_TERM_OFFSET: Final = "the frame has the term offset of another position"
BAD_TERM_ID: Final = "the frame has the term id of another position"

BAD_CHECKSUM: Final = "the frame's checksum is wrong"
BAD_FRAGMENT: Final = "the fragments of a message are not complete"
BAD_MESSAGE: Final = "the frame holds no message of a cluster's log"
OTHER_TERM: Final = "the entry has another leadership term than the entries before it"
CHAIN_IS_INTACT: Final = (BAD_CHECKSUM, BAD_FRAGMENT, BAD_MESSAGE, OTHER_TERM)


@dataclass(slots=True)
class Segment:
    """One segment in memory, as bytes and as words of 8 and 4 bytes that share their memory.

    ``frames`` has the offsets of the frames that a scan has found sound.
    """

    path: Path
    position: int
    data: Bytes
    frames: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def words(self) -> Ints:
        """The segment as words of 8 bytes."""
        return self.data.view("<i8")

    @property
    def halves(self) -> NDArray[np.int32]:
        """The segment as words of 4 bytes."""
        return self.data.view("<i4")

    def sound_frames(self, offset: int, limit: int) -> Ints:
        """The offsets of the sound frames that begin between two offsets."""
        first, last = np.searchsorted(self.frames, [offset, limit])
        return self.frames[first:last]


def walk(segment: Segment, offset: int, limit: int) -> tuple[Ints, int]:
    """Go from frame to frame by their lengths alone, as an archive does after a crash.

    Returns
    -------
    tuple
        The offsets of the frames that begin before ``limit``, and the end of the last one.
    """
    found = np.empty((limit - offset) // FRAME_ALIGNMENT + 1, np.int64)
    count, end = follow(segment.halves, offset, limit, found)
    return found[:count].copy(), end


def _windows(offset: int, limit: int) -> Iterator[tuple[int, int]]:
    """Windows between two offsets, each twice as long as the one before."""
    size = _SMALL
    while offset < limit:
        yield offset, min(offset + size, limit)
        offset, size = offset + size, min(2 * size, _LARGE)


def _headers(segment: Segment, frames: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The lengths, the aligned lengths, the types and the flags of frames."""
    half = frames >> 2
    lengths = segment.halves[half].astype(np.int64)
    second = segment.halves[half + 1].astype(np.int64)
    return lengths, (lengths + 31) & ~31, second >> 16 & 0xFFFF, second >> 8 & 0xFF


def replay_end(segment: Segment, offset: int, limit: int, term_length: int) -> int:
    """Go from frame to frame as a replay does: by their lengths, as long as the types are known.

    Returns
    -------
    int
        ``limit``, or the offset at which the replay ends.

    Notes
    -----
    Source: ``ReplaySession.replay``.
    """
    size = _SMALL
    while offset < limit:
        until = min(offset + size, limit)
        frames, end = walk(segment, offset, until)
        _, aligned, kinds, _ = _headers(segment, frames)
        left = term_length - (segment.position + frames & (term_length - 1))
        stops = frames[(kinds > _DATA) | (aligned > left) | (frames + aligned > limit)]
        if len(stops) or end < until:
            return int(stops[0]) if len(stops) else end
        offset, size = end, min(2 * size, _LARGE)
    return offset


def checksums_match(
    segment: Segment, checksum: Checksum, offset: int, limit: int, count: int
) -> bool:
    """Whether the first data frames have checksums in place of the session id.

    Notes
    -----
    Source: ``RecordingWriter.computeChecksum``.
    """
    seen = 0
    while offset + DATA_HEADER_LENGTH <= limit and seen < count:
        length = int(segment.halves[offset >> 2])
        if length < DATA_HEADER_LENGTH or offset + length > limit:
            break
        end = min(offset + align(length, FRAME_ALIGNMENT), limit)
        kind = int(segment.halves[(offset >> 2) + 1]) >> 16 & 0xFFFF
        if kind == _DATA and length > DATA_HEADER_LENGTH:
            if not _matches(segment, checksum, offset, end):
                return False
            seen += 1
        offset = end
    return seen > 0


def _matches(segment: Segment, checksum: Checksum, offset: int, end: int) -> bool:
    expected = int(segment.halves[(offset >> 2) + 3]) & 0xFFFFFFFF
    return checksum(segment.data[offset + DATA_HEADER_LENGTH : end].data) == expected


def next_frame(segment: Segment, recording: Recording, offset: int, limit: int) -> int:
    """The next offset at which a frame of this recording may begin, or the limit.

    Notes
    -----
    The header of a frame has the frame's position, so a payload is hardly mistaken for a frame.
    """
    for begin, until in _windows(offset, limit):
        slots = np.arange(begin, until - DATA_HEADER_LENGTH + 1, FRAME_ALIGNMENT)
        fits = slots[~np.logical_or.reduce(list(_misplaced(segment, recording, slots).values()))]
        if len(fits):
            return int(fits[0])
    return limit


def _misplaced(segment: Segment, recording: Recording, frames: Ints) -> dict[str, Mask]:
    """For each reason, the frames whose header is impossible at their position."""
    lengths, _, kinds, _ = _headers(segment, frames)
    half, term_length = frames >> 2, recording.term_buffer_length
    positions = segment.position + frames
    in_term = positions & (term_length - 1)
    term_ids = segment.halves[half + 5].astype(np.int64)
    return {
        BAD_LENGTH: lengths < DATA_HEADER_LENGTH,
        BEYOND: in_term + lengths > term_length,
        BAD_TYPE: (kinds > _DATA) | (segment.halves[half + 1] & 0xFF != 0),
        BAD_TERM_OFFSET: segment.halves[half + 2] != in_term,
        BAD_TERM_ID: (term_ids - recording.initial_term_id - positions // term_length) & 0xFFFFFFFF
        != 0,
    }


class TermRun(
    msgspec.Struct, frozen=True, rename={"term": "leadershipTermId", "leader": "leaderMemberId"}
):
    """The part of a log that the leader of one term appended.

    ``base`` and ``leader`` are -1 if the log begins after the term's NewLeadershipTermEvent.
    """

    term: int
    start: int
    end: int
    base: int = NULL_VALUE
    leader: int = NULL_VALUE


@dataclass
class Scan:
    """The state of a scan, which goes on from window to window, and from segment to segment.

    ``term`` is the leadership term of the last entry, and ``entry_start`` the position of the
    incomplete entry; each is -1 if there is none. ``version`` is the last schema version.
    ``is_sound`` tells whether no frame has been damaged so far. ``openings`` has the terms that
    begin; their ends are not known yet.
    """

    recording: Recording
    checksum: Checksum | None
    is_log: bool
    term: int = NULL_VALUE
    entry_start: int = NULL_VALUE
    first_term: int = NULL_VALUE
    version: int = NULL_VALUE
    is_sound: bool = True
    openings: list[TermRun] = field(default_factory=list)

    def run(self, segment: Segment, offset: int, limit: int) -> tuple[str, int]:
        """Check each frame from an offset up to a limit.

        Returns
        -------
        tuple
            The reason why a frame is damaged and its offset; an empty reason at the limit.
        """
        sound, size, reason = [segment.frames], _SMALL, ""
        while offset < limit and not reason:
            until = min(offset + size, limit)
            frames, end = walk(segment, offset, until)
            if end < until:
                frames = np.append(frames, end)
            reason, offset = self._placed(segment, frames, limit, end)
            frames = frames[frames < offset]
            data = frames[_data_frames(segment, frames)]
            wrong, at = self._content(segment, data)
            if wrong:
                reason, offset = wrong, at
                frames = frames[frames < at]
            sound.append(frames)
            size = min(2 * size, _LARGE)
        if self.is_sound:
            segment.frames = np.concatenate(sound)
        self.is_sound &= not reason
        return reason, offset

    def _placed(self, segment: Segment, frames: Ints, limit: int, end: int) -> tuple[str, int]:
        """The reason and the offset of the first impossible header; else the end of the frames."""
        lengths, aligned, _, _ = _headers(segment, frames)
        rules = {NO_FRAME: lengths == 0, **_misplaced(segment, self.recording, frames)}
        in_term = segment.position + frames & (self.recording.term_buffer_length - 1)
        rules[BEYOND] = (in_term + aligned > self.recording.term_buffer_length) | (
            frames + aligned > limit
        )
        return _first(rules, frames) or ("", end)

    def _content(self, segment: Segment, frames: Ints) -> tuple[str, int]:
        """The reason and the offset of the first data frame with an impossible content, if any.

        The terms, the last entry and the version of the frames before it are noted.
        """
        if not len(frames):
            return "", 0
        lengths, aligned, _, flags = _headers(segment, frames)
        nothing = np.zeros(len(frames), np.bool_)
        rules = {BAD_CHECKSUM: nothing}
        if self.checksum is not None:
            rules[BAD_CHECKSUM] = np.array(
                [
                    not _matches(segment, self.checksum, at, end)
                    for at, end in zip(frames.tolist(), (frames + aligned).tolist(), strict=True)
                ]
            )
        if not self.is_log:
            return _first(rules, frames) or ("", 0)
        begins, ends = flags & _BEGIN != 0, flags & _END != 0
        rules[BAD_FRAGMENT] = begins != np.append(self.entry_start < 0, ends[:-1])
        heads = segment.halves[np.stack([(frames >> 2) + 8, (frames >> 2) + 9])].astype(np.int64)
        template, schema = heads[0] >> 16 & 0xFFFF, heads[1] & 0xFFFF
        # Entries of a consensus module extension have a schema of their own.
        own = begins & (schema == CLUSTER_SCHEMA_ID)
        rules[BAD_MESSAGE] = (begins & ~own & ((lengths < _HEADED) | (schema == 0))) | (
            own
            & (
                (lengths < _HEADED + _TERM_FIELDS)
                | (heads[0] & 0xFFFF < _TERM_FIELDS)
                | ~np.isin(template, _LOG_TEMPLATES)
            )
        )
        rules[OTHER_TERM] = nothing.copy()
        at = np.flatnonzero(own)
        terms = segment.words[(frames[at] >> 3) + 5]
        before = np.append(self.term, terms[:-1])[: len(terms)]
        rules[OTHER_TERM][at] = np.where(
            template[at] == _NEW_TERM,
            (terms <= before) | (lengths[at] < _HEADED + 40),
            (before >= 0) & (terms != before),
        )
        found = _first(rules, frames) or ("", 0)
        sound = int(np.searchsorted(frames, found[1])) if found[0] else len(frames)
        self._take(segment, frames[:sound], begins, ends)
        at = at[at < sound]
        self._note_terms(segment, frames[at], template[at], terms[: len(at)])
        if len(at):
            self.version = int(heads[1][at[-1]] >> 16 & 0xFFFF)
        return found

    def _take(self, segment: Segment, frames: Ints, begins: Mask, ends: Mask) -> None:
        """Note the begin of the last entry, if it is not complete at the end of these frames."""
        if len(frames):
            started = frames[begins[: len(frames)]]
            if len(started):
                self.entry_start = segment.position + int(started[-1])
            if ends[len(frames) - 1]:
                self.entry_start = NULL_VALUE

    def _note_terms(self, segment: Segment, frames: Ints, template: Ints, terms: Ints) -> None:
        """Note where terms begin in sound entries of a log."""
        if not len(frames):
            return
        for index in np.flatnonzero(template == _NEW_TERM).tolist():
            word = (int(frames[index]) >> 3) + 5
            self.openings.append(
                TermRun(
                    term=int(terms[index]),
                    start=segment.position + int(frames[index]),
                    end=NULL_VALUE,
                    base=int(segment.words[word + 3]),
                    leader=int(segment.halves[2 * word + 8]),
                )
            )
        if self.first_term < 0 and self.is_sound:
            self.first_term = int(terms[0])
        self.term = int(terms[-1])


def _first(rules: dict[str, Mask], frames: Ints) -> tuple[str, int] | None:
    """The first rule that the first damaged frame breaks, and the offset of the frame."""
    broken = np.flatnonzero(np.logical_or.reduce(list(rules.values())))
    if not len(broken):
        return None
    return next(reason for reason, mask in rules.items() if mask[broken[0]]), int(frames[broken[0]])


def _data_frames(segment: Segment, frames: Ints) -> Mask:
    lengths, _, kinds, _ = _headers(segment, frames)
    found: Mask = (kinds == _DATA) & (lengths > DATA_HEADER_LENGTH)
    return found


def agree(
    mine: Segment, offset: int, limit: int, other: Segment, other_offset: int, other_limit: int
) -> int:
    """Compare two segments frame by frame. Return the number of equal bytes of whole frames.

    Notes
    -----
    Session and stream ids are not compared, because a replicated frame has the ids of its replay.
    An archive records only the header of a padding frame; only the header is compared.
    """
    length = min(limit - offset, other_limit - other_offset)
    frames = mine.sound_frames(offset, offset + length)
    if not len(frames) or frames[0] != offset:
        return 0
    _, aligned, kinds, _ = _headers(mine, frames)
    ends = frames + aligned
    whole = int(np.searchsorted(ends, offset + length, "right"))
    for group in range(0, whole, _SMALL):
        part = slice(group, min(group + _SMALL, whole))
        begin, end = int(frames[part][0]), int(ends[part][-1])
        shift = other_offset - offset
        differs = (
            mine.words[begin >> 3 : end >> 3] ^ other.words[begin + shift >> 3 : end + shift >> 3]
        )
        heads = frames[part] - begin >> 3
        differs[heads + 1] &= 0xFFFFFFFF
        differs[heads + 2] &= -1 << 32
        differs[heads + 3] = 0
        for index in np.flatnonzero(kinds[part] == _PADDING).tolist():
            differs[heads[index] + 4 : int(ends[part][index]) - begin >> 3] = 0
        unlike = np.flatnonzero(differs)
        if len(unlike):
            index = int(np.searchsorted(heads, unlike[0], "right")) - 1
            return int(frames[part][index]) - offset
    return int(ends[whole - 1]) - offset if whole else 0


def session_messages(segment: Segment, offset: int, limit: int) -> Ints:
    """List the session messages of sound frames.

    Returns
    -------
    numpy.ndarray
        For each message, the offset at which the entry begins, the session, the timestamp, the
        term, and the first eight bytes of the payload, with zeros after a shorter payload.
    """
    frames = segment.sound_frames(offset, limit)
    lengths, _, kinds, flags = _headers(segment, frames)
    frames = frames[(kinds == _DATA) & (flags & _BEGIN != 0) & (lengths >= _HEADED + _TERM_FIELDS)]
    half = frames >> 2
    schema = segment.halves[half + 9] & 0xFFFF
    template = segment.halves[half + 8] >> 16 & 0xFFFF
    frames = frames[(schema == CLUSTER_SCHEMA_ID) & (template == _SESSION_MESSAGE)]
    word, words = (frames >> 3) + 5, segment.words
    size = segment.halves[frames >> 2].astype(np.int64) - (_HEADED + _TERM_FIELDS)
    kept = np.where(size < 8, (np.int64(1) << 8 * np.minimum(size, 7)) - 1, -1)
    payload = words[np.minimum(word + 3, len(words) - 1)] & kept
    return np.column_stack(
        [segment.position + frames, words[word + 1], words[word + 2], words[word], payload]
    )

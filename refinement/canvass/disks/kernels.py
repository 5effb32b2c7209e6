"""Compiled loops over the frames of a log, fast enough for gigabytes.

A segment is an array of 8-byte words and an array of 4-byte words, which share their memory.
Offsets are bytes in the segment. This module opens no file and writes no finding.

The mapped files may be damaged in any way. A loop never reads beyond its limit, and it ends,
because each frame is at least 32 bytes long.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

_F = TypeVar("_F", bound=Callable[..., object])

Words = NDArray[np.int64]
Halves = NDArray[np.int32]
Ints = NDArray[np.int64]
Table = NDArray[np.uint32]

# Why a scan stopped.
LIMIT: Final = 0
"""The limit is reached."""
NO_FRAME: Final = 1
"""Zeros stand where a frame should begin."""
BAD_LENGTH: Final = 2
BAD_TYPE: Final = 3
BAD_TERM_OFFSET: Final = 4
BAD_TERM_ID: Final = 5
BEYOND: Final = 6
"""A frame reaches beyond its term buffer or beyond the limit."""
BAD_FRAGMENT: Final = 7
"""A message begins within another message, or continues without a beginning."""
BAD_MESSAGE: Final = 8
"""A message of an unknown kind, or of an impossible length."""
OTHER_TERM: Final = 9
"""An entry of another leadership term than the one that was opened last."""
BAD_CHECKSUM: Final = 10
FULL: Final = 11
"""The array ``openings`` is full: enlarge it and continue."""

OPENING_COLUMNS: Final = 6
O_START, O_TERM, O_BASE, O_LEADER, O_MESSAGES, O_TIMERS = range(OPENING_COLUMNS)
"""The first entry of a term: its position, its fields, and the counts of entries before it."""

# The state that a scan carries from segment to segment.
STATE_COLUMNS: Final = 6
S_TERM, S_ENTRY_START, S_OPENINGS, S_MESSAGES, S_TIMERS, S_VERSION = range(STATE_COLUMNS)
"""The leadership term; the position of the incomplete entry, or -1; the number of terms opened;
counts of messages and timers; the last schema version."""

_TERM_FIELDS: Final = 24
"""The shortest block of a message in the log, in bytes: term, another id, timestamp."""


def compiled(function: _F) -> _F:
    """Compile a function of numbers and arrays at its first call; without numba, leave it."""
    numba = import_module("numba") if find_spec("numba") else None
    return cast(_F, numba.njit(cache=True, nogil=True)(function)) if numba else function


def _crc_table(polynomial: int) -> Table:
    table = np.zeros(256, np.uint32)
    for index in range(256):
        value = index
        for _ in range(8):
            value = value >> 1 ^ (polynomial if value & 1 else 0)
        table[index] = value
    return table


CRC32_TABLE: Final = _crc_table(0xEDB88320)
CRC32C_TABLE: Final = _crc_table(0x82F63B78)
NO_TABLE: Final = np.zeros(0, np.uint32)
"""The table for frames without checksums."""


@compiled
def _crc(table: Table, data: NDArray[np.uint8], start: int, end: int) -> int:
    value = np.uint32(0xFFFFFFFF)
    for at in range(start, end):
        value = table[(value ^ data[at]) & np.uint32(0xFF)] ^ (value >> np.uint32(8))
    return int(value ^ np.uint32(0xFFFFFFFF))


def crc32c(data: bytes) -> int:
    """The CRC-32C of some bytes."""
    return int(_crc(CRC32C_TABLE, np.frombuffer(data, np.uint8), 0, len(data)))


@compiled
def frame_end(halves: Halves, offset: int, limit: int) -> tuple[int, int]:
    """Go from frame to frame by their lengths alone, as an archive does after a crash.

    Returns
    -------
    tuple of int
        The end of the last frame, and its beginning (``offset`` if there is no frame).
    """
    last = offset
    while offset < limit:
        length = halves[offset >> 2]
        if length <= 0:
            break
        last = offset
        offset += (int(length) + 31) & ~31
    return offset, last


@compiled
def replay_end(halves: Halves, offset: int, limit: int, position: int, term_length: int) -> int:
    """Go from frame to frame as a replay does: by their lengths, as long as the types are known.

    Returns
    -------
    int
        ``limit``, or the offset at which the replay ends.

    Notes
    -----
    Source: ``ReplaySession.replay``.
    """
    while offset < limit:
        length = halves[offset >> 2]
        if length <= 0 or (halves[(offset >> 2) + 1] >> 16) & 0xFFFF > 1:
            break
        aligned = (int(length) + 31) & ~31
        left = term_length - ((position + offset) & (term_length - 1))
        if aligned > left or offset + aligned > limit:
            break
        offset += aligned
    return offset


@compiled
def checksums_match(
    halves: Halves, data: NDArray[np.uint8], table: Table, offset: int, limit: int, count: int
) -> bool:
    """Whether the first data frames have checksums in place of the session id.

    Notes
    -----
    Source: ``RecordingWriter.computeChecksum``.
    """
    seen = 0
    while offset + 32 <= limit and seen < count:
        length = int(halves[offset >> 2])
        if length < 32 or offset + length > limit:
            break
        aligned = (length + 31) & ~31
        end = min(offset + aligned, limit)
        if (halves[(offset >> 2) + 1] >> 16) & 0xFFFF == 1 and length > 32:
            found = int(np.uint32(halves[(offset >> 2) + 3]))
            if found != _crc(table, data, offset + 32, end):
                return False
            seen += 1
        offset += aligned
    return seen > 0


@compiled
def scan(  # noqa: C901 - one pass over gigabytes; each branch is one rule of the format
    words: Words,
    halves: Halves,
    data: NDArray[np.uint8],
    offset: int,
    limit: int,
    position: int,
    initial_term_id: int,
    term_length: int,
    table: Table,
    is_log: bool,
    state: Ints,
    openings: Ints,
) -> tuple[int, int]:
    """Check each frame of a segment from an offset up to a limit.

    Parameters
    ----------
    words, halves, data
        The segment as words of 8, 4 and 1 bytes.
    offset, limit
        The bytes of the segment to check.
    position
        The log position of the segment's first byte.
    initial_term_id, term_length
        The values of the recording. They decide the term id and the term offset of each frame.
    table
        The table of the frames' checksum, or empty.
    is_log
        Whether entries of a cluster's log are expected in the frames.
    state, openings
        Kept from call to call. A row of ``openings`` is filled for each first entry of a term.

    Returns
    -------
    tuple of int
        The reason why the scan stopped, and the offset of the frame at which it stopped.
    """
    while offset < limit:
        half = offset >> 2
        length = int(halves[half])
        if length == 0:
            return NO_FRAME, offset
        if length < 32:
            return BAD_LENGTH, offset
        aligned = (length + 31) & ~31
        at = position + offset
        if (at & (term_length - 1)) + aligned > term_length or offset + aligned > limit:
            return BEYOND, offset
        kind = (halves[half + 1] >> 16) & 0xFFFF
        if kind > 1 or (halves[half + 1] & 0xFF) != 0:
            return BAD_TYPE, offset
        if halves[half + 2] != at & (term_length - 1):
            return BAD_TERM_OFFSET, offset
        expected = (initial_term_id + at // term_length) & 0xFFFFFFFF
        if int(np.uint32(halves[half + 5])) != expected:
            return BAD_TERM_ID, offset
        if kind == 0 or length == 32:
            offset += aligned
            continue
        if table.size > 0:
            found = int(np.uint32(halves[half + 3]))
            if found != _crc(table, data, offset + 32, offset + aligned):
                return BAD_CHECKSUM, offset
        if is_log:
            flags = (halves[half + 1] >> 8) & 0xFF
            if (flags & 0x80 != 0) != (state[S_ENTRY_START] < 0):
                return BAD_FRAGMENT, offset
            if flags & 0x80:
                template = (halves[half + 8] >> 16) & 0xFFFF
                schema = halves[half + 9] & 0xFFFF
                if schema != 111:
                    # Entries of a consensus module extension are in a schema of its own.
                    if length < 40 or schema == 0:
                        return BAD_MESSAGE, offset
                else:
                    if length < 40 + _TERM_FIELDS or (halves[half + 8] & 0xFFFF) < _TERM_FIELDS:
                        return BAD_MESSAGE, offset
                    if template != 1 and (template < 20 or template > 25):
                        return BAD_MESSAGE, offset
                    term = words[(offset >> 3) + 5]
                    if template == 24:
                        if term <= state[S_TERM] or length < 32 + 8 + 40:
                            return OTHER_TERM, offset
                    elif state[S_TERM] >= 0 and term != state[S_TERM]:
                        return OTHER_TERM, offset
                    if template == 1 or template == 20:
                        if state[S_TERM] < 0:
                            state[S_TERM] = term
                        if template == 1:
                            state[S_MESSAGES] += 1
                        else:
                            state[S_TIMERS] += 1
                    elif template == 24:
                        row = state[S_OPENINGS]
                        if row >= openings.shape[0]:
                            return FULL, offset
                        word = (offset >> 3) + 5
                        openings[row, 0] = at
                        openings[row, 1] = term
                        openings[row, 2] = words[word + 3]
                        openings[row, 3] = halves[2 * word + 8]
                        openings[row, 4] = state[S_MESSAGES]
                        openings[row, 5] = state[S_TIMERS]
                        state[S_OPENINGS] = row + 1
                        state[S_TERM] = term
                    else:
                        state[S_TERM] = term
                    state[S_VERSION] = (halves[half + 9] >> 16) & 0xFFFF
                state[S_ENTRY_START] = at
            if flags & 0x40:
                state[S_ENTRY_START] = -1
        offset += aligned
    return LIMIT, offset


@compiled
def agree(
    words: Words,
    halves: Halves,
    offset: int,
    limit: int,
    other_words: Words,
    other_offset: int,
    other_limit: int,
) -> tuple[int, bool]:
    """Go along two segments as long as their frames are the same.

    Returns
    -------
    tuple
        The number of equal bytes, and whether the next frames differ. If they do not, a limit is
        reached.

    Notes
    -----
    Session and stream ids are not compared, because a replicated frame has the ids of its replay.
    An archive records only the header of a padding frame; only the header is compared.
    """
    start = offset
    high = np.int64(-1) << 32
    low = np.int64(0xFFFFFFFF)
    while offset < limit and other_offset < other_limit:
        length = int(halves[offset >> 2])
        if length < 32:
            return offset - start, True
        aligned = (length + 31) & ~31
        if offset + aligned > limit or other_offset + aligned > other_limit:
            return offset - start, True
        a, b = offset >> 3, other_offset >> 3
        if (
            words[a] != other_words[b]
            or (words[a + 1] ^ other_words[b + 1]) & low != 0
            or (words[a + 2] ^ other_words[b + 2]) & high != 0
        ):
            return offset - start, True
        if (halves[(offset >> 2) + 1] >> 16) & 0xFFFF != 0:
            for k in range(4, aligned >> 3):
                if words[a + k] != other_words[b + k]:
                    return offset - start, True
        offset += aligned
        other_offset += aligned
    return offset - start, False


@compiled
def session_messages(
    words: Words, halves: Halves, offset: int, limit: int, position: int, rows: Ints, count: int
) -> int:
    """List the session messages of frames that a scan has found sound.

    Parameters
    ----------
    rows
        Filled from row ``count`` on: where the entry begins, session, timestamp, term, and the
        first eight bytes of the payload, with zeros after a shorter payload.

    Returns
    -------
    int
        The number of filled rows.
    """
    while offset < limit and count < rows.shape[0]:
        half = offset >> 2
        length = int(halves[half])
        if length < 32:
            break
        flags = (halves[half + 1] >> 8) & 0xFF
        kind = (halves[half + 1] >> 16) & 0xFFFF
        begins = kind == 1 and flags & 0x80 and length >= 64
        if begins and halves[half + 9] & 0xFFFF == 111 and (halves[half + 8] >> 16) & 0xFFFF == 1:
            word = (offset >> 3) + 5
            rows[count, 0] = position + offset
            rows[count, 1] = words[word + 1]
            rows[count, 2] = words[word + 2]
            rows[count, 3] = words[word]
            payload = words[word + 3] if length > 64 else 0
            if 64 < length < 72:
                payload &= (np.int64(1) << np.int64(8 * (length - 64))) - np.int64(1)
            rows[count, 4] = payload
            count += 1
        offset += (length + 31) & ~31
    return count


@compiled
def next_frame(
    halves: Halves, offset: int, limit: int, position: int, initial_term_id: int, term_length: int
) -> int:
    """The next offset at which a frame of this recording may begin, or the limit.

    Notes
    -----
    The header of a frame has the frame's position. A payload is hardly mistaken for a frame.
    """
    while offset + 32 <= limit:
        half = offset >> 2
        at = position + offset
        if (
            halves[half] >= 32
            and halves[half + 1] & 0xFF == 0
            and (halves[half + 1] >> 16) & 0xFFFF <= 1
            and halves[half + 2] == at & (term_length - 1)
            and int(np.uint32(halves[half + 5]))
            == (initial_term_id + at // term_length) & 0xFFFFFFFF
            and (at & (term_length - 1)) + halves[half] <= term_length
        ):
            return offset
        offset += 32
    return limit

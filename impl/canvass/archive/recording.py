"""The recording of the log: frames in segment files, appended, truncated, replayed and copied.

A position is the offset from the start of the log. The name of a segment contains the position at
which the segment begins. Each frame lies in one segment. All segments but the last one are synced.
"""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final
from zlib import crc32

from canvass.archive.storage import ArchiveError, DamageError, Storage
from canvass.log.entries import FRAME_ALIGNMENT, FRAME_HEADER_LENGTH, aligned_length

HEADER: Final = struct.Struct("<iIqQII")
"""Length, CRC, position, checksum, unsynced bytes before the frame, recording id (0: the log's)."""
_CRC_FROM: Final = 8
_CHAINED: Final = struct.Struct("<Qq")
MAX_FRAME_LENGTH: Final = 16 << 20
"""The longest message of Aeron has 16 MiB too."""

assert HEADER.size == FRAME_HEADER_LENGTH


@dataclass(frozen=True, slots=True)
class Frame:
    """One entry of a recording."""

    position: int
    """The position at which the entry begins."""
    end: int
    """The position at which the entry ends, with padding."""
    payload: bytes
    checksum: int
    """The checksum of the recording up to ``end``."""
    unsynced: int = 0
    """The number of bytes before the entry that were not synced when it was written."""


def chained(checksum: int, position: int, payload: bytes) -> int:
    """The checksum of a recording that is continued with an entry at a position."""
    mixed = blake2b(_CHAINED.pack(checksum, position), digest_size=8)
    mixed.update(payload)
    return int.from_bytes(mixed.digest(), "little")


def encode_frame(frame: Frame) -> bytes:
    """Write a frame, with its padding.

    Raises
    ------
    ValueError
        If the entry is too long.
    """
    length = FRAME_HEADER_LENGTH + len(frame.payload)
    if length > MAX_FRAME_LENGTH:
        raise ValueError(f"an entry of {len(frame.payload)} bytes is too long")
    header = HEADER.pack(length, 0, frame.position, frame.checksum, frame.unsynced, 0)
    crc = crc32(frame.payload, crc32(memoryview(header)[_CRC_FROM:]))
    padding = bytes(aligned_length(len(frame.payload)) - length)
    return b"".join((header[:4], crc.to_bytes(4, "little"), header[8:], frame.payload, padding))


def decode_frame(data: bytes | bytearray, offset: int, position: int) -> Frame | None:
    """Read the frame at an offset of ``data``. Return None if there is no whole frame.

    Parameters
    ----------
    data, offset
        The bytes, and the offset of the frame.
    position
        The position that the frame must name as its own.
    """
    if offset + FRAME_HEADER_LENGTH > len(data):
        return None
    length, crc, begins, checksum, unsynced, recording_id = HEADER.unpack_from(data, offset)
    if not FRAME_HEADER_LENGTH <= length <= MAX_FRAME_LENGTH:
        return None
    aligned = aligned_length(length - FRAME_HEADER_LENGTH)
    if begins != position or recording_id or offset + aligned > len(data):
        return None
    checked = memoryview(data)[offset + _CRC_FROM : offset + length]
    if crc32(checked) != crc:
        return None
    payload = bytes(data[offset + FRAME_HEADER_LENGTH : offset + length])
    return Frame(position, position + aligned, payload, checksum, unsynced)


SEGMENT_LENGTH: Final = 16 << 20
"""The number of bytes after which a segment is followed by a new one."""
REPLAY_BYTES: Final = 256 << 10
"""The number of bytes that a replay reads at a time by default."""
_SEGMENT: Final = re.compile(r"0-(\d+)\.rec")


def segment_name(start: int) -> str:
    """The file of the segment that begins at a position."""
    return f"0-{start}.rec"


def segment_starts(storage: Storage) -> list[int]:
    """The positions at which the segments in storage begin, in order."""
    matches = (_SEGMENT.fullmatch(name) for name in storage.names())
    return sorted(int(m[1]) for m in matches if m is not None)


class Recording:
    """The recording of the log, recovered from storage.

    Parameters
    ----------
    storage
        The storage of its segments.
    segment_length
        See `SEGMENT_LENGTH`.

    Attributes
    ----------
    synced_position
        The position up to which a crash loses no data.

    Raises
    ------
    DamageError
        If synced data has changed since it was written.
    """

    def __init__(self, storage: Storage, segment_length: int = SEGMENT_LENGTH) -> None:
        self._storage, self._segment_length = storage, segment_length
        self._starts: list[int] = []
        self._ends = array("q")
        self._checksums = array("Q")
        self._recover()
        self.synced_position = self.end

    @property
    def end(self) -> int:
        """The end of the recording, with unsynced entries."""
        return self._ends[-1] if self._ends else 0

    def checksum(self, position: int) -> int | None:
        """The checksum up to a position, or None if no entry ends there."""
        at = bisect_left(self._ends, position)
        if at == len(self._ends) or self._ends[at] != position:
            return None
        return self._checksums[at]

    def checksums(self, positions: Iterable[int]) -> list[tuple[int, int]]:
        """Each position at which an entry ends, with the checksum up to it."""
        found = ((position, self.checksum(position)) for position in sorted(set(positions)))
        return [(position, checksum) for position, checksum in found if checksum is not None]

    def is_boundary(self, position: int) -> bool:
        """Whether an entry ends at a position, or the log begins there."""
        return position == 0 or self.checksum(position) is not None

    def boundary_from(self, position: int) -> int:
        """The first boundary from a position on, at most the end of the log."""
        found = bisect_left(self._ends, position)
        return self._ends[found] if 0 < position < self.end else min(position, self.end)

    def append(self, payload: bytes) -> Frame:
        """Write an entry at the end. The next `sync` makes it durable."""
        position = self.end
        if not self._starts or position - self._starts[-1] >= self._segment_length:
            self._begin_segment(position)
        checksum = chained(self._checksums[-1] if self._checksums else 0, position, payload)
        unsynced = position - self.synced_position
        end = position + aligned_length(len(payload))
        frame = Frame(position, end, payload, checksum, unsynced)
        self._storage.append(segment_name(self._starts[-1]), encode_frame(frame))
        self._ends.append(end)
        self._checksums.append(checksum)
        return frame

    def extend(self, data: bytes, stop_position: int) -> int:
        """Continue the recording with frames of another one. Return the number of entries.

        Parameters
        ----------
        data
            Frames of the other recording from the end of this one on, see `raw`.
        stop_position
            Entries that end beyond this position are left out.

        Raises
        ------
        ArchiveError
            If ``data`` does not consist of frames from the end of this recording on.
        """
        offset = count = 0
        while offset < len(data):
            frame = decode_frame(data, offset, self.end)
            if frame is None:
                raise ArchiveError(f"the data to record at {self.end} are not a frame")
            if frame.end > stop_position:
                break
            offset += frame.end - frame.position
            self.append(frame.payload)
            count += 1
        return count

    def sync(self) -> bool:
        """Make all entries durable. Return false if they were durable already."""
        if self.synced_position == self.end:
            return False
        self._storage.sync(segment_name(self._starts[-1]))
        self.synced_position = self.end
        return True

    def truncate(self, position: int) -> None:
        """Truncate the recording at a position, durably.

        Raises
        ------
        ArchiveError
            If no entry ends there.
        DamageError
            If the last entries that stay are damaged. Only the removed part would show that they
            were synced.
        """
        if position >= self.end:
            return
        if not self.is_boundary(position):
            raise ArchiveError(f"no entry ends at {position}: the log cannot be truncated there")
        self._check_tail(position)
        end, count = self.end, len(self._starts)
        while self._starts and self._starts[-1] >= position:
            end = self._starts.pop()
            self._storage.remove(segment_name(end))
        if len(self._starts) < count:
            self._storage.sync_folder()
        if self._starts:
            name = segment_name(self._starts[-1])
            if end > position:
                self._storage.truncate(name, position - self._starts[-1])
            self._storage.sync(name)
        keep = bisect_right(self._ends, position)
        del self._ends[keep:], self._checksums[keep:]
        self.synced_position = self.end

    def _check_tail(self, position: int) -> None:
        """Check the last entries that stay: a recovery could take damage there for a torn write."""
        last = bisect_right(self._ends, position) - 1
        if last < 0:
            return
        begin = self._ends[last - 1] if last else 0
        (frame,) = self.replay(begin, position)
        for _ in self.replay(begin - frame.unsynced, begin):
            pass

    def replay(self, position: int, stop_position: int) -> Iterator[Frame]:
        """Read the entries from ``position`` up to ``stop_position``, which may lie in an entry."""
        while position < stop_position:
            data = self.raw(position, stop_position)
            if not data:
                return
            for frame in self._frames(data, position):
                position = frame.end
                yield frame

    def raw(self, position: int, stop_position: int, limit: int = REPLAY_BYTES) -> bytes:
        """Read the bytes of frames from a position on.

        Parameters
        ----------
        position
            The end of an entry, or 0. No bytes are read from any other position.
        stop_position
            The greatest position up to which to read.
        limit
            The most bytes to read. At least one frame is read, however long it is.
        """
        if position >= min(stop_position, self.end) or not self.is_boundary(position):
            return b""
        segment = bisect_right(self._starts, position) - 1
        start = self._starts[segment]
        segment_end = self.end
        if segment + 1 < len(self._starts):
            segment_end = self._starts[segment + 1]
        first = bisect_right(self._ends, position)
        last = bisect_right(self._ends, min(stop_position, position + limit, segment_end)) - 1
        last = max(first, last)
        end = self._ends[last]
        if end > stop_position:
            return b""
        return self._storage.read(segment_name(start), position - start, end - position)

    def sound(self, position: int, stop_position: int) -> bytes:
        """Read frames like `raw`, and check each of them.

        Raises
        ------
        DamageError
            If a frame is damaged.
        """
        data = self.raw(position, stop_position)
        for _ in self._frames(data, position):
            pass
        return data

    def _frames(self, data: bytes, start: int) -> Iterator[Frame]:
        """Decode and check the frames in bytes that were read from a position on."""
        position = start
        while position < start + len(data):
            frame = decode_frame(data, position - start, position)
            if frame is None or frame.checksum != self.checksum(frame.end):
                segment = self._starts[bisect_right(self._starts, position) - 1]
                reason = "the entry has changed since it was written"
                raise DamageError(segment_name(segment), position - segment, reason)
            yield frame
            position = frame.end

    def _begin_segment(self, position: int) -> None:
        self.sync()
        self._storage.create(segment_name(position))
        self._storage.sync_folder()
        self._starts.append(position)

    # Recovery.

    def _recover(self) -> None:
        starts = segment_starts(self._storage)
        for start in starts:
            if start != self.end:
                raise DamageError(segment_name(start), 0, f"the log before it ends at {self.end}")
            self._starts.append(start)
            self._scan(start, is_last=start == starts[-1])
        if starts:
            # A killed process may have written entries without a sync.
            self._storage.sync(segment_name(starts[-1]))

    def _scan(self, start: int, *, is_last: bool) -> None:
        name = segment_name(start)
        data = self._storage.read(name)
        offset = 0
        while offset < len(data):
            frame = decode_frame(data, offset, start + offset)
            if frame is None:
                self._cut_tail(name, data, offset, start, is_last=is_last)
                return
            before = self._checksums[-1] if self._checksums else 0
            if frame.checksum != chained(before, frame.position, frame.payload):
                raise DamageError(name, offset, "the entry does not follow the entry before it")
            self._ends.append(frame.end)
            self._checksums.append(frame.checksum)
            offset = frame.end - start

    def _cut_tail(self, name: str, data: bytes, bad: int, start: int, *, is_last: bool) -> None:
        """Truncate a torn write, unless a later segment or frame shows that it was synced."""
        if not is_last:
            raise DamageError(name, bad, "no whole entry, and the log continues in another file")
        for offset in range(bad + FRAME_ALIGNMENT, len(data), FRAME_ALIGNMENT):
            later = decode_frame(data, offset, start + offset)
            if later is not None and later.position - later.unsynced > start + bad:
                reason = f"no whole entry, but the entry at {offset} shows that it was synced"
                raise DamageError(name, bad, reason)
        self._storage.truncate(name, bad)
        self._storage.sync(name)

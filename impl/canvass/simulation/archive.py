"""A member's archive and the streams that fill it: the own publication, a leader's log stream or
catch-up replay, or a copy of a leader's recording.

What an archive has recorded survives its process. Which stream runs is told by the effects of
steps; how fast one brings entries is told by the simulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from canvass.cluster.messages import NULL_VALUE
from canvass.simulation.entries import Entry, EntryLog, copied, following


class Publication:
    """The log stream of one leader in one term.

    Parameters
    ----------
    term
        Its term.
    start
        Where the stream begins.
    last
        The entry that ends there, or None at the start of the log.
    """

    def __init__(self, term: int, start: int, last: Entry | None) -> None:
        self.term, self.start = term, start
        self.log = EntryLog()
        self._last = last
        self.ended = False
        """Whether it was closed in good order: what it holds can still be had for a while."""
        self.dead = False
        """Whether its process has ended."""

    @property
    def end(self) -> int:
        """Where the stream ends by now."""
        return self.log.end if len(self.log) else self.start

    def write(self, position: int, content: int, *, snapshot: bool = False) -> None:
        """Write an entry so that the stream ends at a position."""
        self._last = following(self._last, position, self.term, content, snapshot=snapshot)
        self.log.append((self._last,))


@dataclass
class Image:
    """A follower's view of a leader's log stream."""

    leader: int
    term: int
    live: bool
    catchup: bool
    opened_ns: int
    publication: Publication | None = None
    joined_position: int = NULL_VALUE
    silent_since_ns: int = NULL_VALUE
    """Since when nothing comes, or -1 if something does."""


@dataclass
class Replication:
    """A copy of a leader's recording that runs."""

    leader: int
    stop_position: int


@dataclass
class Archive:
    """What one member has recorded, and from where it records."""

    log: EntryLog = field(default_factory=EntryLog)
    recording: bool = False
    publication: Publication | None = None
    image: Image | None = None
    replication: Replication | None = None
    catchups: dict[int, int] = field(default_factory=dict)
    """The replays to followers that run, with where they began."""

    def close_publication(self) -> None:
        """End the own log stream in good order."""
        if self.publication is not None:
            self.publication.ended = True
        self.publication = None

    def stop(self, position: int) -> None:
        """Stop recording; what the module has not noted is cut off."""
        self.recording = False
        self.log.cut(position)

    def crash(self, position: int) -> None:
        """End the process."""
        if self.publication is not None:
            self.publication.dead = True
        self.publication = self.image = self.replication = None
        self.catchups.clear()
        self.stop(position)

    def take(self, source: EntryLog, limit: int, stop_position: int | None = None) -> int:
        """Record what follows in another log, so many entries at most; say how many."""
        end = self.log.end
        found: Sequence[Entry] = source.after(end, limit)
        if stop_position is not None:
            found = [entry for entry in found if entry.end <= stop_position]
        if found:
            last = self.log.last
            before = source.at(end)
            if before is None and source is not self.log and last is not None:
                # A publication does not hold what was there before it.
                first = found[0]
                chained = following(last, first.end, first.term, first.content)
                before = last if chained.checksum == first.checksum else None
            self.log.append(copied(last, before, found))
        return len(found)

"""The log streams between members: from a leader's recording to its followers' recordings.

A follower has one open request and sends the next one after the answer. A leader keeps a request
until there is data. Lost messages are requested again, and a leader keeps nothing for a follower
that sends no request. The effects of steps start and stop the streams.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from canvass.archive.recording import Recording
from canvass.cluster.clocks import Timing
from canvass.cluster.messages import NULL_VALUE
from canvass.transport.messages import LogData, LogRequest, StreamFlag, StreamMessage

MAX_POSITION: Final = (1 << 63) - 1


@dataclass
class Publication:
    """The log stream of one leader in one term: its recording from a position on."""

    term: int
    start: int
    end: int


@dataclass
class Image:
    """A follower's view of its leader's log stream."""

    leader: int
    term: int
    live: bool
    catchup: bool
    heard_ns: int
    joined_position: int = NULL_VALUE
    closed: bool = False


@dataclass
class Replication:
    """A running copy of a leader's recording."""

    leader: int
    term: int
    stop_position: int


class LogStreams:
    """The streams of one member.

    Parameters
    ----------
    recording
        The member's recording.
    timing
        The durations of the cluster.
    send
        A function that sends a message of the streams to a member. The message may be lost.
    """

    def __init__(
        self,
        recording: Recording,
        timing: Timing,
        send: Callable[[int, StreamMessage], None],
    ) -> None:
        self._recording, self._timing, self._send = recording, timing, send
        self.now_ns = 0
        self.recording_on = False
        self.publication: Publication | None = None
        self._ended: Publication | None = None
        self.image: Image | None = None
        self.replication: Replication | None = None
        self.catchups: dict[int, int] = {}
        """For each follower that catches up: the position at which its running replay begins."""
        self._unanswered: dict[int, tuple[LogRequest, int]] = {}
        """The unanswered request of each follower, and the time of its arrival."""
        self._request: LogRequest | None = None
        self._request_id = 0
        self._requested_ns = 0

    # Effects of steps.

    def open_publication(self, term: int, position: int) -> None:
        """Begin the log stream of this leader."""
        self.publication = Publication(term, position, position)

    def close_publication(self) -> None:
        """End the log stream of this leader regularly."""
        self._ended, self.publication = self.publication, None

    def stop_recording(self, position: int) -> None:
        """Stop recording, and truncate data beyond the recorded position of the state."""
        self.recording_on = False
        self.truncate(position)

    def truncate(self, position: int) -> None:
        """Truncate the recording."""
        self.forget_ended_stream(position)
        self._recording.truncate(position)

    def forget_ended_stream(self, position: int) -> None:
        """Forget the stream that has ended, if a truncation at a position removes its end."""
        if self._ended is not None and position < self._ended.end:
            self._ended = None  # The stream's end no longer exists.

    # As a follower.

    def join_position(self) -> int:
        """The position at which the log subscription has connected, or -1."""
        return NULL_VALUE if self.image is None else self.image.joined_position

    def log_closed(self) -> bool | None:
        """None while the stream lasts; true if it has ended regularly, false if it was lost."""
        image = self.image
        if image is None or image.joined_position == NULL_VALUE:
            return None
        if image.closed:
            return True
        # Aeron's image liveness timeout, which has the default of the heartbeat timeout.
        silent_ns = self.now_ns - image.heard_ns
        return False if silent_ns >= self._timing.leader_heartbeat_timeout_ns else None

    def _needed_request(self) -> tuple[int, int, int, StreamFlag] | None:
        """The leader, term, bound and kind of the request that is needed now, or None."""
        replication, image = self.replication, self.image
        if replication is not None:
            if self._recording.end >= replication.stop_position:
                return None
            kind = StreamFlag.REPLICATION
            return replication.leader, replication.term, replication.stop_position, kind
        if image is None or image.closed:
            return None
        kind = StreamFlag.LIVE if image.live else StreamFlag(0)
        kind |= StreamFlag.CATCHUP if image.catchup else StreamFlag(0)
        if image.joined_position == NULL_VALUE:
            kind |= StreamFlag.JOIN
        elif not self.recording_on:
            return None
        return image.leader, image.term, MAX_POSITION, kind

    def send_request(self) -> bool:
        """Send the request that is due. Return false if none is."""
        wanted = self._needed_request()
        if wanted is None:
            self._request = None
            return False
        leader, term, stop_position, kind = wanted
        position, now_ns = self._recording.end, self.now_ns
        last = self._request
        if last is not None:
            same = (last.leadership_term_id, last.position, last.stop_position, last.flags) == (
                term,
                position,
                stop_position,
                kind,
            )
            retry_ns = self._requested_ns + 2 * self._timing.leader_heartbeat_interval_ns
            if same and now_ns < retry_ns:
                return False
        self._request_id += 1
        self._request = LogRequest(self._request_id, term, position, stop_position, int(kind))
        self._requested_ns = now_ns
        self._send(leader, self._request)
        return True

    def _on_data(self, sender: int, data: LogData) -> None:
        request = self._request
        if request is None or data.request_id != request.request_id:
            return
        self._request = None
        flags = StreamFlag(request.flags)
        if flags & StreamFlag.REPLICATION:
            if self.replication is not None and self.replication.leader == sender:
                self._record(data, self.replication.stop_position)
            return
        image = self.image
        if image is None or (image.leader, image.term) != (sender, data.leadership_term_id):
            return
        image.heard_ns = self.now_ns
        if flags & StreamFlag.JOIN:
            image.joined_position = data.position
        elif self.recording_on:
            self._record(data, MAX_POSITION)
            image.closed = bool(data.flags & StreamFlag.CLOSED)

    def _record(self, data: LogData, stop_position: int) -> None:
        if data.payload and data.position == self._recording.end:
            self._recording.extend(data.payload, stop_position)

    # As a leader.

    def on_message(self, sender: int, message: StreamMessage) -> None:
        """Receive a message of another member's streams."""
        if isinstance(message, LogRequest):
            self._unanswered[sender] = message, self.now_ns
        else:
            self._on_data(sender, message)

    def answer_requests(self) -> bool:
        """Answer the requests for which there is data. Return false if there are none."""
        answered = [
            follower
            for follower, (request, since_ns) in self._unanswered.items()
            if self._answer(follower, request, since_ns)
        ]
        for follower in answered:
            del self._unanswered[follower]
        return bool(answered)

    def _answer(self, follower: int, request: LogRequest, since_ns: int) -> bool:
        flags = StreamFlag(request.flags)
        if flags & StreamFlag.REPLICATION:
            bound = min(request.stop_position, self._recording.synced_position)
            return self._send_frames(follower, request, bound)
        stream = self.publication or self._ended
        if stream is None or stream.term != request.leadership_term_id:
            return False
        ended = self.publication is None
        serving = self.catchups.get(follower, NULL_VALUE)
        if flags & StreamFlag.JOIN:
            position = stream.end if flags & StreamFlag.LIVE else serving
            if position == NULL_VALUE or ended:
                return False
            self._reply(follower, request, position)
            return True
        if flags & StreamFlag.LIVE and request.position >= stream.start:
            if ended and request.position == stream.end:
                self._reply(follower, request, request.position, StreamFlag.CLOSED)
                return True
            if self._send_frames(follower, request, stream.end):
                return True
        elif flags & StreamFlag.CATCHUP and serving != NULL_VALUE and not ended:
            if self._send_frames(follower, request, self._recording.synced_position):
                return True
        else:
            return False
        if self.now_ns < since_ns + self._timing.leader_heartbeat_interval_ns:
            return False
        self._reply(follower, request, request.position)
        return True

    def _send_frames(self, follower: int, request: LogRequest, bound: int) -> bool:
        data = self._recording.sound(request.position, bound)  # No member sends damaged data.
        if not data:
            return False
        self._reply(follower, request, request.position, payload=data)
        return True

    def _reply(
        self,
        follower: int,
        request: LogRequest,
        position: int,
        flags: StreamFlag = StreamFlag(0),  # noqa: B008 - a constant
        payload: bytes = b"",
    ) -> None:
        term = request.leadership_term_id
        data = LogData(request.request_id, term, position, int(flags), payload)
        self._send(follower, data)

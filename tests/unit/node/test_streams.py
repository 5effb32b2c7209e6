"""The log streams between two members, message by message."""

from __future__ import annotations

from collections import deque

import pytest

from canvass.archive.memory import MemoryStorage
from canvass.archive.recording import Recording
from canvass.cluster.clocks import Timing
from canvass.node.streams import Image, LogStreams, Replication
from canvass.transport.messages import LogData, LogRequest, StreamFlag, StreamMessage

TERM = 3
TIMING = Timing()


class Pair:
    """A leader, which is member 0, and a follower, with what is on its way."""

    def __init__(self) -> None:
        self.on_way: deque[tuple[int, StreamMessage]] = deque()
        self.recordings = [Recording(MemoryStorage()), Recording(MemoryStorage())]
        self.leader, self.follower = (
            LogStreams(recording, TIMING, lambda to, one: self.on_way.append((to, one)))
            for recording in self.recordings
        )
        for number in range(4):
            for recording in self.recordings:
                recording.append(b"older %d" % number)
        for recording in self.recordings:
            recording.sync()
        self.base = self.recordings[0].end

    def lead(self) -> None:
        self.leader.open_publication(TERM, self.base)

    def write(self, count: int) -> None:
        publication = self.leader.publication
        assert publication is not None
        for number in range(count):
            publication.end = self.recordings[0].append(b"entry %d" % number).end

    def join(self, *, live: bool = True, catchup: bool = False) -> Image:
        self.follower.image = Image(0, TERM, live, catchup, self.follower.now_ns)
        self.settle()
        self.follower.recording_on = True
        return self.follower.image

    def settle(self) -> None:
        """Let both work until nothing is on its way."""
        while True:
            worked = self.follower.send_request() | self.leader.answer_requests()
            while self.on_way:
                to, message = self.on_way.popleft()
                (self.leader, self.follower)[to].on_message(1 - to, message)
                worked = True
            if not worked:
                return

    def pass_time(self, ns: int) -> None:
        self.leader.now_ns += ns
        self.follower.now_ns += ns

    def agrees(self) -> bool:
        first, second = self.recordings
        return first.end == second.end and first.checksum(first.end) == second.checksum(second.end)


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_the_live_log_is_joined_at_its_end_and_followed(pair: Pair) -> None:
    pair.lead()
    image = pair.join()
    assert image.joined_position == pair.base
    for count in (1, 5, 40):
        pair.write(count)
        pair.settle()

        assert pair.agrees()


def test_a_follower_cannot_join_before_the_stream_of_the_term_exists(pair: Pair) -> None:
    image = pair.join()
    assert image.joined_position == -1
    pair.leader.open_publication(TERM - 1, pair.base)
    pair.settle()
    assert image.joined_position == -1
    pair.lead()
    pair.settle()

    assert image.joined_position == pair.base


def test_nothing_is_recorded_before_the_recording_is_started(pair: Pair) -> None:
    pair.lead()
    pair.join()
    pair.follower.recording_on = False
    pair.write(3)
    pair.settle()

    assert pair.recordings[1].end == pair.base


def test_a_catch_up_sends_synced_entries_from_the_requested_position(pair: Pair) -> None:
    pair.lead()
    pair.write(30)
    image = pair.join(live=False, catchup=True)
    assert image.joined_position == -1  # The leader has not started the replay.
    pair.leader.catchups[1] = pair.base
    pair.settle()
    assert image.joined_position == pair.base
    pair.settle()
    assert pair.recordings[1].end == pair.base
    pair.recordings[0].sync()
    pair.settle()
    assert pair.agrees()
    pair.write(2)
    pair.settle()
    assert not pair.agrees()
    image.live, image.catchup = True, False
    pair.settle()

    assert pair.agrees()


def test_a_copy_ends_at_its_bound(pair: Pair) -> None:
    pair.recordings[1].truncate(0)
    ends = [frame.end for frame in pair.recordings[0].replay(0, pair.base)]
    pair.follower.replication = Replication(0, TERM, ends[2])
    pair.settle()

    assert pair.recordings[1].end == ends[2]


def test_lost_data_is_requested_again(pair: Pair) -> None:
    pair.lead()
    pair.join()
    pair.write(3)
    pair.follower.send_request()
    pair.on_way.clear()
    pair.settle()
    assert not pair.agrees()
    pair.pass_time(2 * TIMING.leader_heartbeat_interval_ns)
    pair.settle()

    assert pair.agrees()


def test_an_answer_to_an_older_request_is_ignored(pair: Pair) -> None:
    pair.lead()
    pair.join()
    pair.write(1)
    pair.follower.on_message(0, LogData(1, TERM, pair.base, int(StreamFlag.LIVE), b"x" * 64))

    assert pair.recordings[1].end == pair.base


def test_a_silent_stream_has_not_ended_regularly(pair: Pair) -> None:
    pair.lead()
    pair.join()
    assert pair.follower.log_closed() is None
    pair.follower.now_ns += TIMING.leader_heartbeat_timeout_ns

    assert pair.follower.log_closed() is False


def test_a_stream_on_which_nothing_is_written_is_not_silent(pair: Pair) -> None:
    pair.lead()
    pair.join()
    for _ in range(100):
        pair.pass_time(TIMING.leader_heartbeat_interval_ns)
        pair.settle()

    assert pair.follower.log_closed() is None


def test_a_stream_that_was_closed_is_read_to_its_end(pair: Pair) -> None:
    pair.lead()
    pair.join()
    pair.write(4)
    pair.leader.close_publication()
    pair.settle()

    assert pair.agrees()
    assert pair.follower.log_closed() is True


def test_a_stream_whose_end_was_cut_off_cannot_be_read_to_its_end(pair: Pair) -> None:
    pair.lead()
    pair.join()
    pair.write(4)
    pair.leader.close_publication()
    pair.leader.stop_recording(pair.base)
    pair.settle()

    assert pair.follower.log_closed() is None


def test_a_request_waits_until_there_is_data(pair: Pair) -> None:
    pair.leader.on_message(1, LogRequest(1, TERM, pair.base, 1 << 40, int(StreamFlag.LIVE)))
    assert not pair.leader.answer_requests()
    pair.lead()
    assert not pair.leader.answer_requests()
    pair.write(1)

    assert pair.leader.answer_requests()
    assert not pair.leader.answer_requests()

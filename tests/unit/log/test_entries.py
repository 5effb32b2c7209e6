"""Log messages in bytes: written messages read back, and have the sizes of Aeron."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.log import entries
from canvass.log.entries import (
    CloseReason,
    ClusterAction,
    ClusterActionRequest,
    ClusterTimeUnit,
    LayoutError,
    LogMessage,
    NewLeadershipTermEvent,
    SessionCloseEvent,
    SessionMessageHeader,
    SessionOpenEvent,
    TimerEvent,
    aligned_length,
)

LONG = st.integers(-(1 << 63), (1 << 63) - 1)
INT = st.integers(-(1 << 31), (1 << 31) - 1)
MESSAGES: st.SearchStrategy[LogMessage] = st.one_of(
    st.builds(SessionMessageHeader, LONG, LONG, LONG, st.binary(max_size=100)),
    st.builds(TimerEvent, LONG, LONG, LONG),
    st.builds(SessionOpenEvent, LONG, LONG, LONG, LONG, INT, st.text(), st.binary(max_size=50)),
    st.builds(SessionCloseEvent, LONG, LONG, LONG, st.sampled_from(CloseReason)),
    st.builds(ClusterActionRequest, LONG, LONG, LONG, st.sampled_from(ClusterAction), INT),
    st.builds(
        NewLeadershipTermEvent,
        LONG,
        LONG,
        LONG,
        LONG,
        INT,
        INT,
        st.sampled_from(ClusterTimeUnit),
        INT,
    ),
)


@given(MESSAGES)
def test_each_message_reads_back(message: LogMessage) -> None:
    assert entries.decode(entries.encode(message)) == message


@given(MESSAGES, st.data())
def test_damaged_bytes_are_another_message_or_refused(
    message: LogMessage, data: st.DataObject
) -> None:
    encoded = bytearray(entries.encode(message))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(encoded)))
    try:
        found = entries.decode(bytes(encoded[:cut]))
    except LayoutError:
        return

    assert entries.decode(entries.encode(found)) == found


@pytest.mark.parametrize(
    ("message", "length"),
    [
        (NewLeadershipTermEvent(0, 96, 0, 0, 0, 0, ClusterTimeUnit.MILLIS, 1), 96),
        (ClusterActionRequest(0, 96, 0, ClusterAction.SNAPSHOT, 0), 96),
        (SessionCloseEvent(0, 1, 0, CloseReason.TIMEOUT), 96),
        (TimerEvent(0, 1, 0), 64),
        (SessionMessageHeader(0, 1, 0, b""), 64),
        (SessionMessageHeader(0, 1, 0, b"x" * 32), 96),
    ],
)
def test_entries_have_the_lengths_of_aeron(message: LogMessage, length: int) -> None:
    assert aligned_length(len(entries.encode(message))) == length


def test_members_take_a_snapshot_that_is_not_for_standby_members_only() -> None:
    actions = [ClusterActionRequest(0, 96, 0, action, 0) for action in ClusterAction]
    standby = ClusterActionRequest(0, 96, 0, ClusterAction.SNAPSHOT, 1)

    assert [one.is_snapshot for one in (*actions, standby)] == [False, False, True, False]

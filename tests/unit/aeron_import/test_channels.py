"""What is kept of a channel and of a log, so that it need not be looked for at each line, is so."""

from __future__ import annotations

import msgspec

from canvass.cluster.messages import CommitPosition
from canvass.traces.aeron_import.channels import Channel, Delivery
from canvass.traces.aeron_import.evidence import evidence_of
from canvass.traces.aeron_log import records
from support.aeron_runs import captures, imported


def test_the_head_of_a_channel_is_the_next_one_wherever_it_goes() -> None:
    items = [Delivery(0, 1, CommitPosition(0, 64 * k, 0), k, k, 0) for k in range(3)]
    channel = Channel(items)

    def is_consistent() -> bool:
        left = items[channel.at :]
        return list(channel) == left and channel.head is (left[0] if left else None)

    assert is_consistent()
    assert [channel.popleft() for _ in items] == items
    assert len(channel) == 0
    assert is_consistent()
    for at in (2, 1):
        channel.rewind(at)
        assert is_consistent()
    channel.popleft()
    channel.reset()
    assert channel.head is items[0]
    assert is_consistent()


def test_other_records_are_all_but_reports_and_commit_positions() -> None:
    repeated = (records.AppendPosition, records.CommitPosition)
    for log in imported(captures()[0]).logs.members.values():
        evidence = evidence_of(log)
        expected = [
            (index, record)
            for index, record in enumerate(evidence.records)
            if not isinstance(record, repeated)
        ]
        assert 0 < len(expected) < len(evidence.records)
        assert evidence.others == expected


def test_other_records_are_those_that_stand_in_the_log_now() -> None:
    evidence = evidence_of(next(iter(imported(captures()[0]).logs.members.values())))
    index, record = evidence.others[-1]
    later = msgspec.structs.replace(record, time_ns=record.time_ns + 1)
    evidence.records[index] = later

    assert evidence.others[-1] == (index, later)

"""Columns of a stream hold the events that the strict reader gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from canvass.cluster.member import TermEntry
from canvass.cluster.messages import CommitPosition
from canvass.traces import columns
from canvass.traces.actions import Action
from canvass.traces.columns import EventColumns, in_columns
from canvass.traces.errors import TraceError
from canvass.traces.ndjson import EventReader
from canvass.traces.schema import Event, LogChecksum, Send, encode_lines
from support.examples import examples
from support.trace_events import events, plain_event, streams
from support.trace_reading import Pieces

FEW = examples(50)


def reader_of(data: bytes, block: int = 1 << 20) -> EventReader:
    return EventReader(Pieces(data, block), "s", 0, 3)


def columns_of(data: bytes, block: int = 1 << 20) -> list[EventColumns]:
    return list(in_columns("r", 0, reader_of(data, block).batches()))


def outcome(data: bytes, *, laid_out: bool) -> Any:
    """Events without sources, and findings, or the refusal."""
    reader = reader_of(data)
    try:
        if laid_out:
            batches = list(in_columns("r", 0, reader.batches()))
            found = [b.event(row) for b in batches for row in range(len(b))]
        else:
            found = [replace(event, source=None) for event in reader]
    except TraceError as error:
        return error.args
    return found, reader.lines, reader.facts


@FEW
@given(streams(max_size=4))
def test_columns_hold_the_events_of_the_reader(stream: list[Event]) -> None:
    data = encode_lines(stream)

    assert outcome(data, laid_out=True) == outcome(data, laid_out=False)


@given(events(), st.data())
def test_a_changed_line_gives_what_the_reader_gives(event: Event, data: st.DataObject) -> None:
    lines = bytearray(encode_lines([event]))
    place = data.draw(st.integers(0, len(lines) - 1))
    lines[place : place + data.draw(st.integers(0, 3))] = data.draw(
        st.sampled_from((b"", b"0", b"-", b"1", b",", b"]", b"}", b'"', b"\n", b"e", b" ", b"{"))
    )
    changed = bytes(lines)

    assert outcome(changed, laid_out=True) == outcome(changed, laid_out=False)


def test_a_wrong_event_is_refused_with_its_line() -> None:
    good = [plain_event(step) for step in range(5)]
    wrong = plain_event(5, action=Action.ON_VOTE)
    with pytest.raises(TraceError) as caught:
        columns_of(encode_lines([*good, wrong]))

    assert (caught.value.line, caught.value.code.value) == (6, "BAD_EVENT")


def test_a_long_stream_is_read_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "COLUMN_EVENTS", 5)
    state = plain_event(0).state
    logged = replace(state, recording_log=(TermEntry(1, 2, 3), TermEntry(4, 5, 6)))
    stream = [
        plain_event(
            step,
            state=logged if step % 2 else state,
            sends=(Send(1, f"0:{step}", CommitPosition(step, 0, 0)),),
            log_checksums=(LogChecksum(step, "f" * 16),),
        )
        for step in range(40)
    ]
    batches = columns_of(encode_lines(stream), 5_000)

    assert len(batches) > 5
    assert [batch.event(row) for batch in batches for row in range(len(batch))] == stream
    together = columns.join(batches)
    assert together.predecessor.tolist() == list(range(-1, len(stream) - 1))
    assert [together.event(row) for row in range(len(stream))] == stream

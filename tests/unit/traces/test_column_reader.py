"""The fast way into columns takes only what the strict reader takes, with the same result."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from canvass.traces import column_reader
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.column_reader import ColumnReader
from canvass.traces.columns import EventColumns
from canvass.traces.errors import TraceError
from canvass.traces.limits import MAX_INT, MIN_INT
from canvass.traces.ndjson import EventReader
from canvass.traces.schema import Event, Input, LogChecksum, Send, encode_lines
from canvass.traces.wire import CommitPosition, TermEntry
from support.examples import examples
from support.trace_events import events, plain_event, streams
from support.trace_reading import LINE, Pieces

FEW = examples(50)


def outcome(data: bytes, block: int, *, fast: bool) -> Any:
    """Events and findings of the column reader, or its refusal."""
    reader = EventReader(Pieces(data, block), "s", 0, 3)
    columns = ColumnReader(reader, "r", 3)
    if not fast:
        columns._fast = lambda *_: None  # type: ignore[method-assign]
    try:
        batches = list(columns.batches())
    except TraceError as error:
        return error.args
    found = [
        (batch.event(row), int(batch.predecessor[row]) - row)
        for batch in batches
        for row in range(batch.context, len(batch))
    ]
    return found, reader.lines, reader.gaps, reader.truncated


def fast_only(data: bytes) -> EventColumns | None:
    """What the fast way makes of a block."""
    return ColumnReader(EventReader(Pieces(b"", 1), "s", 0, 3), "r", 3)._fast(data, None)


def without_source(stream: list[Event]) -> list[Event]:
    return [Event(*(getattr(e, n) for n in e.__struct_fields__[:-1])) for e in stream]


@FEW
@given(streams(max_size=3))
def test_fast_way_takes_every_canonical_line(stream: list[Event]) -> None:
    bare = without_source(stream)
    columns = fast_only(encode_lines(bare))

    assert columns is not None
    assert [columns.event(row) for row in range(len(columns))] == bare


@FEW
@given(streams(max_size=4), st.sampled_from((1 << 20, 900)))
def test_both_ways_agree_on_streams(stream: list[Event], block: int) -> None:
    data = encode_lines(stream)

    assert outcome(data, block, fast=True) == outcome(data, block, fast=False)


@given(events(), st.data())
def test_both_ways_agree_on_changed_lines(event: Event, data: st.DataObject) -> None:
    lines = bytearray(encode_lines(without_source([event])))
    place = data.draw(st.integers(0, len(lines) - 1))
    lines[place : place + data.draw(st.integers(0, 3))] = data.draw(
        st.sampled_from((b"", b"0", b"-", b"1", b",", b"]", b"}", b'"', b"\n", b"e", b" ", b"{"))
    )
    changed = bytes(lines)

    assert outcome(changed, len(changed), fast=True) == outcome(changed, len(changed), fast=False)


@pytest.mark.parametrize("value", [0, -1, 1, 10, MAX_INT, MIN_INT, 10**18, -(10**18)])
def test_integers_are_read_to_the_last_bit(value: int) -> None:
    columns = fast_only(encode_lines([plain_event(0, time_ns=value)]))

    assert columns is not None
    assert columns.time_ns[0] == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "00", "01", "-0", "+1", "1.0", "1e1", " 1", "1 ", "0x1", "true", "null", '"1"'),
        *(str(MAX_INT + 1), str(MIN_INT - 1), str(1 << 64), "9" * 20, "1" + "0" * 19, "9" * 400),
    ],
)
def test_other_spellings_of_integers_are_left_to_the_strict_reader(text: str) -> None:
    line = LINE.replace('"timeNs":1000', f'"timeNs":{text}')

    assert line != LINE
    assert fast_only(line.encode() + b"\n") is None


@pytest.mark.parametrize(
    "given_input",
    [
        '{"interval":false}',
        '{"timeout":true,"interval":true}',
        '{"active":[]}',
        '{"active":[1,0]}',
        '{"active":[1,1]}',
        '{"active":[9]}',
        '{"active":[1,]}',
        '{"active":[,1]}',
        '{"active":[1}',
        '{"position":-1}',
        '{"position":1,}',
        '{,"position":1}',
        '{"position":1,"position":1}',
        '{"from":-1}',
        '{"message":null}',
        '{"id":"1:1"}',
        '{"interval":true"timeout":true}',
    ],
)
def test_other_inputs_are_left_to_the_strict_reader(given_input: str) -> None:
    line = LINE.replace('"input":{}', f'"input":{given_input}')

    assert fast_only(line.encode() + b"\n") is None


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_is_read(action: Action) -> None:
    line = LINE.replace('"Restart"', f'"{action.value}"')
    columns = fast_only(line.encode() + b"\n")

    consumes = action.value.startswith("On") and "Replay" not in action.value
    assert (columns is None) == consumes


def test_lists_at_their_limits_are_read_and_above_left_to_the_strict_reader() -> None:
    send = Send(1, "0:1", CommitPosition(0, 0, 0))
    witness = LogChecksum(0, "00000000000000ff")
    state = plain_event(0).state
    for over in (0, 1):
        for fault in (
            {"sends": (send,) * (1024 + over)},
            {"log_checksums": (witness,) * (1024 + over)},
            {"state": replace(state, recording_log=(TermEntry(0, 0, 0),) * (4096 + over))},
            {"state": replace(state, members=state.members[:1] * (3 + over))},
        ):
            line = encode_lines([plain_event(0, **fault)])

            assert (fast_only(line) is None) == bool(over)


def test_a_wrong_event_is_refused_with_its_line_though_it_is_canonical() -> None:
    good = [plain_event(step) for step in range(5)]
    wrong = plain_event(5, action=Action.ON_VOTE)
    reader = EventReader(Pieces(encode_lines([*good, wrong]), 1 << 20), "s", 0, 3)
    with pytest.raises(TraceError) as caught:
        list(ColumnReader(reader, "r", 3).batches())

    assert (caught.value.line, caught.value.code.value) == (6, "BAD_EVENT")


def test_blocks_carry_their_predecessor_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_reader, "COLUMN_BLOCK_BYTES", 5_000)
    state = plain_event(0).state
    logged = replace(state, recording_log=(TermEntry(1, 2, 3), TermEntry(4, 5, 6)))
    stream = [
        plain_event(
            step,
            state=logged if step % 2 else state,
            sends=(Send(1, f"0:{step}", CommitPosition(step, 0, 0)),),
        )
        for step in range(40)
    ]
    reader = EventReader(Pieces(encode_lines(stream), 5_000), "s", 0, 3)
    batches = list(ColumnReader(reader, "r", 3).batches())

    assert len(batches) > 5
    for before, batch in pairwise(batches):
        assert batch.context == 1
        assert batch.predecessor[1] == 0
        assert batch.event(0).state == before.event(len(before) - 1).state
        assert batch.event(0).sends == ()
    rows = [batch.event(row) for batch in batches for row in range(batch.context, len(batch))]
    assert rows == stream


def test_input_of_one_member_alone_does_not_leak_into_the_next_row() -> None:
    first = plain_event(0, input=Input(interval=True, position=7, active=(1,)))
    columns = fast_only(encode_lines([first, plain_event(1)]))

    assert columns is not None
    assert columns.event(1) == plain_event(1)

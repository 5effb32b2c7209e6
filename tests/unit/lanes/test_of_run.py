"""Diagrams of recorded runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.cluster.rules import Rules
from canvass.conformance.diagnose import load
from canvass.lanes.diagram import Diagram, Fate, Mark
from canvass.lanes.drawing import RunLanes
from canvass.selftest.runs import record_run
from support import corruptions
from support.corruptions import corrupted


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a run of three members with restarts and lost messages."""
    path = tmp_path_factory.mktemp("lanes") / "run"
    record_run(path, Rules.of("1.50"), 5, 400, faults=0.03, run_id="faulty")
    return path


@pytest.fixture(scope="module")
def lanes(folder: Path) -> RunLanes:
    return RunLanes(load(folder, "faulty").columns)


@pytest.fixture(scope="module")
def whole(lanes: RunLanes) -> Diagram:
    return lanes.diagram(lanes.rows)


def test_every_event_of_the_run_is_in_the_diagram(whole: Diagram, folder: Path) -> None:
    streams = corruptions.read_streams(folder)
    reported = [(event.lane, event.reference, event.title) for event in whole.events]

    for member, lines in streams.items():
        expected = [(member, f"{member}:{line['step']}", line["action"]) for line in lines]
        assert [one for one in reported if one[0] == member] == expected


def test_every_send_is_a_message_that_ends_at_its_receipt(whole: Diagram, folder: Path) -> None:
    streams = corruptions.read_streams(folder)
    received = {
        line["input"]["id"]: f"{member}:{line['step']}"
        for member, lines in streams.items()
        for line in lines
        if "id" in line["input"]
    }
    expected = sorted(
        (f"{member}:{line['step']}", received.get(send["id"], ""), send["message"]["type"])
        for member, lines in streams.items()
        for line in lines
        for send in line["sends"]
    )
    found = []
    for message in whole.messages:
        assert message.sent is not None
        sent = whole.events[message.sent].reference
        got = "" if message.received is None else whole.events[message.received].reference
        assert (message.fate is Fate.LOST) == (not got)
        assert message.received is None or message.sent < message.received
        found.append((sent, got, message.name))

    assert sorted(found) == expected
    assert any(not got for _, got, _ in found)


def test_restarts_except_the_first_are_marked(whole: Diagram) -> None:
    marks = {event.reference: event.mark for event in whole.events if event.title == "Restart"}

    assert len(marks) > 3
    for reference, mark in marks.items():
        assert mark is (None if reference.endswith(":0") else Mark.RESTART)


def test_a_window_counts_the_events_before_and_after_it(lanes: RunLanes) -> None:
    window = lanes.diagram(lanes.rows[50:60])

    assert (window.before, window.after) == (50, len(lanes.rows) - 60)
    assert [event.skipped for event in window.events] == [0] * 10


def test_the_causes_of_an_event_are_drawn_and_events_between_are_counted(
    lanes: RunLanes,
) -> None:
    place, row = next(
        (place, row)
        for place, row in enumerate(lanes.rows)
        if place > 100 and lanes.columns.message[row, 0] >= 0
    )
    rows = lanes.leading_to(row, 10_000)
    few = lanes.leading_to(row, 8)

    diagram = lanes.diagram(rows, marks={row: "here"})

    assert rows[-1] == row
    assert few == rows[-9:]
    assert sum(event.skipped for event in diagram.events) + len(rows) == place + 1
    assert diagram.events[-1].mark is Mark.DIVERGES
    assert all(message.received is None or message.sent is not None for message in diagram.messages)


def test_a_message_without_a_send_is_reported(folder: Path, tmp_path: Path) -> None:
    path = corrupted(folder, tmp_path / "run", corruptions.message_from_nowhere)
    lanes = RunLanes(load(path, "faulty").columns)

    messages = lanes.diagram(lanes.rows).messages

    (unsent,) = (one for one in messages if one.fate is Fate.UNSENT)
    assert unsent.sent is None
    assert unsent.name == "CommitPosition"


def test_a_gap_is_reported_where_it_ends(folder: Path, tmp_path: Path) -> None:
    path = corrupted(folder, tmp_path / "run", corruptions.event_dropped)
    lanes = RunLanes(load(path, "faulty").columns)

    (gap,) = (event for event in lanes.diagram(lanes.rows).events if event.mark is Mark.GAP)

    due = int(gap.reference.split(":")[1]) - 1
    assert gap.remark == f"step {due} is missing"


def test_messages_of_a_missing_stream_are_neither_lost_nor_unsent(
    folder: Path, tmp_path: Path
) -> None:
    path = corrupted(folder, tmp_path / "run", lambda _: None)
    (path / "member-1.ndjson").unlink()
    lanes = RunLanes(load(path, "faulty").columns)

    messages = lanes.diagram(lanes.rows).messages

    beyond = [one for one in messages if 1 in (one.sender, one.receiver)]
    assert beyond
    assert {one.fate for one in beyond} == {Fate.DELIVERED}
    assert Fate.LOST in {one.fate for one in messages}


def test_steps_are_found_by_member_and_number(lanes: RunLanes) -> None:
    row = lanes.row_of(2, 5)

    assert row is not None
    assert (int(lanes.columns.member[row]), int(lanes.columns.step[row])) == (2, 5)
    assert lanes.row_of(2, 10**9) is None
    assert lanes.row_of(3, 0) is None

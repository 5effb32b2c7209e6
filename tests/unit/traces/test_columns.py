"""Columns, Arrow and Parquet hold what the events say, and refuse what is no event."""

from __future__ import annotations

import dataclasses
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.cluster.messages import Vote
from canvass.traces import parquet, schema
from canvass.traces.actions import Action
from canvass.traces.arrow import ColumnError, arrow_schema, from_table, sources_of, to_table
from canvass.traces.columns import EventColumns, from_events, join
from canvass.traces.errors import Code, TraceError
from canvass.traces.parquet import DatasetFile, FactFinder, RunEntry, column_problems, write_dataset
from canvass.traces.run import Corpus, RunFolder, write_run
from canvass.traces.schema import Event, Fact, FactKind, Input, Run, encode
from support.examples import examples
from support.trace_events import plain_event, run_of, streams
from support.trace_reading import load_file

FEW = examples(25)
"""For what writes files, or takes long to draw."""


def bare(event: Event) -> Event:
    return msgspec.structs.replace(event, source=None)


def assert_same(expected: EventColumns, actual: EventColumns) -> None:
    for field in dataclasses.fields(EventColumns):
        left, right = getattr(expected, field.name), getattr(actual, field.name)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype == np.int64
            assert right.flags.c_contiguous, field.name
            np.testing.assert_array_equal(left, right, err_msg=field.name)
        else:
            assert left == right, field.name


@given(streams(max_size=3))
def test_events_survive_columns(stream: list[Event]) -> None:
    columns = from_events("r", 0, stream)

    assert [columns.event(row) for row in range(len(columns))] == [bare(e) for e in stream]
    assert not FactFinder().look(columns)
    assert not column_problems(columns)


@FEW
@given(streams(member_id=1, member_count=2, max_size=3))
def test_columns_and_sources_survive_arrow(stream: list[Event]) -> None:
    columns = from_events("r", 1, stream)
    table = to_table(columns)

    assert table.schema.equals(arrow_schema(2), check_metadata=True)
    table.validate(full=True)
    assert_same(dataclasses.replace(columns, sources=None), from_table(table))
    assert sources_of(table) == [event.source for event in stream]


@FEW
@given(streams(max_size=6), st.integers(1, 5))
def test_a_part_of_a_table_gives_the_same_rows(stream: list[Event], at: int) -> None:
    events = from_events("r", 0, stream)
    table, whole = to_table(events), dataclasses.replace(events, sources=None)
    parts = [from_table(part) for part in (table.slice(0, at), table.slice(at)) if len(part)]

    assert [part.event(row) for part in parts for row in range(len(part))] == [
        bare(event) for event in stream
    ]
    assert_same(whole, join(parts))
    for number, part in enumerate(parts):
        assert_same(part, whole.rows(number * at, number * at + len(part)))


def test_predecessors_are_the_rows_before_within_a_stream_without_gaps() -> None:
    steps = [0, 1, 3, 4]
    columns = from_events("r", 0, [plain_event(step) for step in steps])

    assert columns.predecessor.tolist() == [-1, 0, -1, 2]


def test_cells_are_where_the_layout_says() -> None:
    event = plain_event(
        5,
        action=Action.ON_VOTE,
        input=Input(2, "2:7", Vote(11, 12, 13, 1, 2, vote=True), active=(0, 2)),
    )
    columns = from_events("r", 1, [event])
    message = dict(zip(schema.MESSAGE_COLUMNS, columns.message[0].tolist(), strict=True))
    state = dict(zip(schema.STATE_COLUMNS, columns.state[0].tolist(), strict=True))

    assert message["type"] == schema.MESSAGE_TYPE_NAMES.index("Vote")
    assert (message["peer"], message["id"]) == (2, (2 << 50) | 7)
    assert (message["candidate_term_id"], message["log_position"], message["vote"]) == (11, 13, 1)
    assert message["next_log_position"] == -1
    assert columns.inputs[0, schema.INPUT_INDEX["active"]] == 0b101
    assert state["election_state"] == 0
    assert state["commit_position"] == -1
    assert columns.action[0] == schema.ACTION_NAMES.index("OnVote")
    assert columns.members.shape == (1, 3, len(schema.MEMBER_COLUMNS))


def test_columns_need_events_of_one_cluster() -> None:
    small = plain_event(0)
    small = msgspec.structs.replace(
        small, state=msgspec.structs.replace(small.state, members=small.state.members[:1])
    )
    with pytest.raises(ValueError, match="no events"):
        from_events("r", 0, [])
    with pytest.raises(ValueError, match="number of members"):
        from_events("r", 0, [plain_event(0), small])


def write(root: Path, runs: dict[str, dict[int, list[Event]]], **sizes: int) -> None:
    folders = root.parent / "runs"
    for run_id, members in runs.items():
        write_run(run_of(run_id), members, folders / run_id)
    write_dataset(Corpus(folders), root, **sizes)


@st.composite
def corpora(draw: st.DrawFn) -> dict[str, dict[int, list[Event]]]:
    ids = draw(st.lists(st.sampled_from(("a", "b", "c")), min_size=1, max_size=3, unique=True))
    return {
        run_id: {
            member_id: draw(streams(member_id, 3, max_size=3))
            for member_id in sorted(draw(st.sets(st.integers(0, 2))))
        }
        for run_id in ids
    }


@FEW
@given(corpora(), st.integers(1, 4), st.integers(1, 8))
def test_runs_survive_a_data_set(
    tmp_path_factory: pytest.TempPathFactory,
    runs: dict[str, dict[int, list[Event]]],
    row_group: int,
    per_file: int,
) -> None:
    root = tmp_path_factory.mktemp("data") / "set"
    write(root, runs, events_per_row_group=row_group, events_per_file=per_file)
    found: dict[str, dict[int, list[Event]]] = {}
    rows = 0
    for path in sorted(root.glob("*.parquet")):
        for run in load_file(path):
            found[run.run.run_id] = {i: list(events) for i, events in run.events.items()}
        with DatasetFile(path) as file:
            for columns in file.batches():
                rows += len(columns)
    shutil.rmtree(root)

    assert found == runs
    assert rows == sum(len(events) for members in runs.values() for events in members.values())


def long_stream(count: int, member_id: int = 0) -> list[Event]:
    del member_id
    return [plain_event(step) for step in range(count)]


def test_predecessors_reach_over_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "EVENTS_PER_ROW_GROUP", 10)
    write(
        tmp_path / "d",
        {"a": {0: long_stream(25), 1: long_stream(5)}, "b": {0: long_stream(12)}},
        events_per_row_group=10,
    )
    with DatasetFile(tmp_path / "d" / "events-3-00000.parquet") as file:
        batches = list(file.batches())
        alone = list(file.batches(["b"]))

    starts = [
        (columns.runs[columns.run[row]], int(columns.member[row]), int(columns.step[row]))
        for columns in [join(batches)]
        for row in np.flatnonzero(columns.predecessor == -1).tolist()
    ]
    assert starts == [("a", 0, 0), ("a", 1, 0), ("b", 0, 0)]
    assert len(batches) > 4
    assert {columns.runs for columns in alone} == {("b",)}
    assert sum(map(len, alone)) == 12


def test_facts_of_a_run_are_kept_and_found(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "a"
    events = {0: [plain_event(0), plain_event(2)], 1: [plain_event(4)]}
    write_run(run_of("a"), events, folder)
    with (folder / "member-0.ndjson").open("ab") as stream:
        stream.write(b'{"step":3')
    write_dataset(Corpus(tmp_path / "runs"), tmp_path / "set")
    (loaded,) = load_file(tmp_path / "set" / "events-3-00000.parquet")
    result = Fact(FactKind.TRUNCATED, "a", 0, line=3, detail="the last line is incomplete")
    finder = FactFinder()
    for member, own in events.items():
        finder.look(from_events("a", member, own))

    assert loaded.facts == RunFolder(folder).load().facts
    assert result in loaded.facts
    assert finder.facts_of(RunEntry(run_of("a"), (result,))) == [
        result,
        Fact(FactKind.MISSING_STREAM, "a", 2),
        Fact(FactKind.GAP, "a", 0, 2),
        Fact(FactKind.LATE_START, "a", 1, 4),
    ]


def test_a_data_set_is_not_written_over(tmp_path: Path) -> None:
    write(tmp_path / "d", {"a": {0: [plain_event(0)]}})

    with pytest.raises(FileExistsError):
        write_dataset(Corpus(tmp_path / "runs"), tmp_path / "d")


def changed(table: Any, name: str, change: Callable[[Any], Any]) -> Any:
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(place), change(table.column(name)))


def sample() -> Any:
    vote = Vote(1, 0, 0, 1, 2, vote=True)
    event = plain_event(
        1,
        action=Action.ON_VOTE,
        input=Input(2, "2:7", vote),
    )
    return to_table(from_events("r", 0, [plain_event(0), event]))


def ints(*values: int | None) -> Callable[[Any], Any]:
    return lambda _: pa.array(values, pa.int64())


def texts(*values: str | None) -> Callable[[Any], Any]:
    return lambda _: pa.array(values, pa.string()).dictionary_encode()


FORGED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a null number": ("state_commit_position", ints(1, None)),
    "a null state": ("state_role", texts("LEADER", None)),
    "a null action": ("action", texts("Restart", None)),
    "an unknown action": ("action", texts("Restart", "Resign")),
    "an unknown state": ("state_election_state", texts("INIT", "DONE")),
    "an unknown message": ("message_type", texts(None, "Ping")),
    "an action without its message": ("message_type", texts(None, None)),
    "another message than the action's": ("message_type", texts(None, "RequestVote")),
    "no such member": ("member", ints(3, 3)),
    "a negative member": ("member", ints(-1, -1)),
    "a negative step": ("step", ints(-2, -1)),
    "steps that do not ascend": ("step", ints(1, 1)),
    "a set of nobody": ("input_active", ints(0, 512)),
    "a set with a member of a larger cluster": ("input_active", ints(0, 0b1001)),
    "a negative set": ("input_accepted", ints(-1, 0)),
    "a vote that is neither": ("message_vote", ints(-1, 2)),
    "a field that the message has not": ("message_flags", ints(-1, 0)),
    "a field of no message": ("message_flags", ints(0, -1)),
    "an id of another sender": ("message_id", ints(-1, 7)),
    "an id out of range": ("message_id", ints(-1, (2 << 50) | 10**15)),
    "a sender out of range": ("message_peer", ints(-1, 9)),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_columns_are_refused(name: str) -> None:
    table = changed(sample(), *FORGED[name])
    taken = False
    with suppress(ColumnError):
        columns = from_table(table)
        taken = not FactFinder().look(columns) and not column_problems(columns)

    assert not taken


@pytest.mark.parametrize("forge", ["receiver", "sender"])
def test_forged_sends_are_refused(forge: str) -> None:
    columns = from_events("r", 0, [plain_event(0)])
    cells = [-1] * len(schema.MESSAGE_COLUMNS)
    cells[:3] = schema.MESSAGE_TYPE_NAMES.index("StopCatchup"), 1, 5
    cells[1] = 9 if forge == "receiver" else 1
    if forge == "sender":
        cells[2] = (1 << 50) | 5
    forged = dataclasses.replace(
        columns, sends=np.array([cells]), send_offsets=np.array([0, 1], dtype=np.int64)
    )

    assert column_problems(forged) == [(0, "a send with fields out of range")]


def test_a_table_of_another_format_is_refused() -> None:
    table = sample().replace_schema_metadata({b"canvass.schema": b"canvass.events/2"})

    with pytest.raises(ColumnError) as caught:
        from_table(table)

    assert caught.value.code is Code.BAD_SCHEMA


REWRITTEN: dict[str, Callable[[Any], Any]] = {
    "from before an input was added": lambda table: table.drop_columns(["input_entry_position"]),
    "with lists that lost their type": lambda table: pa.Table.from_pandas(table.to_pandas()),
}


@pytest.mark.parametrize("form", REWRITTEN)
def test_a_table_of_another_form_has_the_same_events(form: str) -> None:
    """An input that is not there was never given; pandas gives empty lists no type."""
    columns, expected = from_table(REWRITTEN[form](sample())), from_table(sample())

    for field in dataclasses.fields(expected):
        found = getattr(columns, field.name)
        assert np.array_equal(found, getattr(expected, field.name)), field.name
    assert (columns.inputs[:, schema.INPUT_INDEX["entry_position"]] == -1).all()


def test_a_file_that_is_no_data_set_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(TraceError, match="run, member, step"):
        DatasetFile(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(TraceError):
        DatasetFile(path)
    with pytest.raises(TraceError) as caught:
        DatasetFile(tmp_path / "none.parquet")
    assert caught.value.code is Code.NOT_FOUND


def test_a_file_without_metadata_has_the_runs_of_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    rows = sample()
    pq.write_table(rows.replace_schema_metadata(), path)
    with DatasetFile(path) as file:
        (plain,) = file.runs.values()
        (columns,) = file.batches()
    more = rows.append_column("revision", pa.array(["hardened"] * len(rows)))
    more = more.append_column("truncated", pa.array([None] * (len(rows) - 1) + ["cut"]))
    pq.write_table(more.append_column("ingested_at", pa.array(["now"] * len(rows))), path)
    with DatasetFile(path) as file:
        (named,) = file.runs.values()

    assert_same(columns, from_table(rows))
    assert (plain.run.run_id, plain.run.revision, plain.run.initial) == ("r", "1.50", "unknown")
    assert (named.run.member_count, named.run.revision) == (3, "hardened")
    assert named.facts == (Fact(FactKind.TRUNCATED, "r", 0, detail="cut"),)


def test_a_damaged_file_gives_events_or_one_error(tmp_path: Path) -> None:
    write(tmp_path / "d", {"a": {0: long_stream(30)}})
    whole = (tmp_path / "d" / "events-3-00000.parquet").read_bytes()
    path = tmp_path / "x.parquet"
    refused = 0
    for end in range(0, len(whole), 97):
        path.write_bytes(whole[:end])
        with pytest.raises(TraceError):
            DatasetFile(path)
        refused += 1

    assert refused > 100


def test_no_flipped_bit_changes_an_event(tmp_path: Path) -> None:
    write(tmp_path / "d", {"a": {0: long_stream(30)}})
    whole = (tmp_path / "d" / "events-3-00000.parquet").read_bytes()
    path = tmp_path / "x.parquet"
    rng = random.Random(7)
    refused = 0
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            events = [run.events for run in load_file(path)]
        except TraceError:
            refused += 1
        else:
            assert events == [{0: tuple(long_stream(30))}]

    assert refused > 50


@pytest.mark.parametrize(
    ("named", "reason"),
    [(("s",), "run r: it is not in the metadata"), ((), "metadata name no run")],
)
def test_a_run_that_the_metadata_do_not_tell_is_refused(
    tmp_path: Path, named: tuple[str, ...], reason: str
) -> None:
    path = tmp_path / "x.parquet"
    table = sample()
    entries = [RunEntry(Run("canvass.run/1", run_id, "1.50", 3)) for run_id in named]
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({b"canvass.runs": encode(entries)})
    with pytest.raises(TraceError, match=reason), DatasetFile(path) as file:
        list(file.batches())

"""Streams of events: what is written is read, and whatever the bytes, one error at most."""

from __future__ import annotations

import gzip
import json
import pickle
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from canvass.traces.errors import Code, TraceError
from canvass.traces.ndjson import EventReader, decode_run, open_stream
from canvass.traces.schema import Event, Fact, FactKind, Source, encode, encode_lines
from canvass.traces.streams import StreamFile
from support.trace_events import plain_event, run_of, streams
from support.trace_reading import LINE, NEXT, outcome, read, refusal

SUFFIXES = ("", ".gz", ".zst")


@given(streams(max_size=3))
def test_events_survive_writing_and_reading(stream: list[Event]) -> None:
    events, reader = read(encode_lines(stream))

    assert events == stream
    assert not reader.is_truncated


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_events_survive_a_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"member-0.ndjson{suffix}"
    stream = [plain_event(step) for step in range(1_000)]
    with open_stream(path) as file:
        file.write(encode_lines(stream[:300]))
        file.flush()
        file.write(encode_lines(stream[300:]))

    with StreamFile(path) as source:
        reader = EventReader(source, str(path), 0, 3)

        assert list(reader) == stream
        assert (reader.lines, reader.facts) == (1_000, [])


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_what_cannot_be_written_names_the_file(tmp_path: Path, suffix: str) -> None:
    """The system itself names a file only where it is opened."""
    path = tmp_path / f"member-1.ndjson{suffix}"
    path.symlink_to("/dev/full")

    def write() -> None:
        with open_stream(path, "ab") as file:
            file.write(encode_lines([plain_event(0)]))
            file.flush()

    with pytest.raises(OSError, match="No space left") as raised:
        write()

    assert raised.value.filename == str(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_appended_members_of_a_compressed_file_are_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"member-0.ndjson{suffix}"
    for part in range(3):
        with open_stream(path, "ab") as file:
            file.write(encode_lines([plain_event(10 * part + step) for step in range(10)]))

    with StreamFile(path) as source:
        assert [event.step for event in EventReader(source, "s", 0)] == list(range(30))


def test_equal_events_make_equal_files(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        for name in ("a", "b"):
            with open_stream(tmp_path / f"{name}.ndjson{suffix}") as file:
                file.write(encode_lines([plain_event(0)]))
        contents = {path.read_bytes() for path in tmp_path.glob(f"?.ndjson{suffix}")}

        assert len(contents) == 1


SOUND: dict[str, Callable[[Any], str]] = {
    "spaces": lambda event: json.dumps(event),
    "other order": lambda event: json.dumps(event, sort_keys=True, separators=(",", ":")),
    "carriage return": lambda event: json.dumps(event) + "\r",
    "defaults written": lambda event: json.dumps(
        event | {"input": {"interval": False, "active": [], "message": None}, "source": None}
    ),
    "escapes": lambda event: json.dumps(event).replace('"Restart"', '"\\u0052estart"'),
    "minus zero": lambda event: json.dumps(event).replace('"step": 0', '"step": -0'),
}


@pytest.mark.parametrize("name", SOUND)
def test_other_spellings_of_an_event_are_read(name: str) -> None:
    line = SOUND[name](json.loads(LINE))
    events, _ = read(line.encode() + b"\n" + NEXT.encode() + b"\n")

    assert line != LINE
    assert events == [plain_event(0), plain_event(1)]


def test_steps_must_ascend() -> None:
    error = refusal(encode_lines([plain_event(0), plain_event(2), plain_event(2)]))

    assert (error.code, error.line) == (Code.BAD_EVENT, 3)


def test_missing_steps_are_reported() -> None:
    _, reader = read(encode_lines([plain_event(3), plain_event(4), plain_event(7)]))

    assert reader.facts == [
        Fact(FactKind.LATE_START, "", 0, 3, 1),
        Fact(FactKind.GAP, "", 0, 7, 3),
    ]


def test_the_number_of_members_does_not_change() -> None:
    state = plain_event(0).state
    fewer = msgspec.structs.replace(state, members=state.members[:2])

    error = refusal(encode_lines([plain_event(0), plain_event(1, state=fewer)]))

    assert (error.code, error.line) == (Code.BAD_EVENT, 2)


def test_a_line_cut_anywhere_is_truncated_not_malformed() -> None:
    for end in range(1, len(LINE)):
        events, reader = read(f"{NEXT}\n{LINE[:end]}".encode())

        assert [event.step for event in events] == [1]
        (fact,) = (fact for fact in reader.facts if fact.kind is FactKind.TRUNCATED)
        assert (fact.line, fact.detail) == (2, "the last line is incomplete"), end


def test_a_last_line_without_an_end_is_an_event() -> None:
    events, reader = read(f"{LINE}\n{NEXT}".encode())

    assert len(events) == 2
    assert not reader.is_truncated


def test_a_character_cut_in_two_is_truncated() -> None:
    event = plain_event(0, source=Source("\u00e9", (1,), ()))
    data = encode(event)
    _, reader = read(data[: data.index("\u00e9".encode()) + 1])

    assert reader.is_truncated


def test_a_last_line_that_is_wrong_before_its_end_is_malformed() -> None:
    assert refusal(f'{LINE}\n{{"step":1,"stepp":2,"timeNs'.encode()).code is Code.BAD_VALUE


def test_an_empty_stream_has_no_events() -> None:
    events, reader = read(b"")

    assert (events, reader.lines, reader.facts) == ([], 0, [])


@given(st.binary(max_size=300), st.integers(1, 50))
@example(b"\xf0\x9f", 1)
@example(b'{"step":', 3)
def test_any_bytes_give_events_or_one_error(data: bytes, piece: int) -> None:
    assert outcome(data, piece) == outcome(data, len(data) + 1)


@given(streams(max_size=2), st.data())
def test_any_change_gives_events_or_one_error(stream: list[Event], data: st.DataObject) -> None:
    lines = bytearray(encode_lines(stream))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(lines) - 1))
        lines[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from((b"", b'"', b"{", b"}", b"[", b",", b":", b"\\", b"\n", b"9", b"\xff"))
        )

    whole = outcome(bytes(lines), len(lines) + 1)

    assert whole == outcome(bytes(lines), 7)


def unpacked(data: bytes, suffix: str) -> EventReader:
    """A reader of a file with some bytes, after all events that it gives."""
    with NamedTemporaryFile(suffix=suffix) as file:
        file.write(data)
        file.flush()
        with StreamFile(Path(file.name)) as source:
            reader = EventReader(source, "s", 0)
            assert [event.step for event in reader] == list(range(reader.lines))
    return reader


@given(st.binary(max_size=200), st.sampled_from((".gz", ".zst")))
def test_any_bytes_decompress_or_give_one_error(data: bytes, suffix: str) -> None:
    magic = gzip.compress(LINE.encode()) if suffix == ".gz" else zstandard.compress(LINE.encode())
    for given_bytes in (data, magic[:20] + data, magic + data):
        with suppress(TraceError):
            unpacked(given_bytes, suffix)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_compressed_file_cut_anywhere_is_truncated(suffix: str) -> None:
    lines = encode_lines([plain_event(step) for step in range(50)])
    data = gzip.compress(lines) if suffix == ".gz" else zstandard.compress(lines)
    for end in range(1, len(data)):
        assert unpacked(data[:end], suffix).is_truncated, end


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damage_in_a_compressed_file_is_reported(suffix: str) -> None:
    lines = encode_lines([plain_event(step) for step in range(50)])
    data = bytearray(gzip.compress(lines) if suffix == ".gz" else zstandard.compress(lines))
    data[1] ^= 0xFF
    with pytest.raises(TraceError) as caught:
        unpacked(bytes(data), suffix)

    assert caught.value.code is Code.BAD_COMPRESSION


def test_a_compressed_void_is_refused_as_a_line(tmp_path: Path) -> None:
    path = tmp_path / "member-0.ndjson.gz"
    path.write_bytes(gzip.compress(bytes(1 << 26)))
    tracemalloc.start()
    with StreamFile(path) as source, pytest.raises(TraceError) as caught:
        list(EventReader(source, "s", 0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 1 << 24
    assert caught.value.code is Code.LINE_TOO_LONG


def test_an_error_survives_the_way_between_processes() -> None:
    error = refusal(b"[]\n")
    copy = pickle.loads(pickle.dumps(error))

    assert isinstance(copy, TraceError)
    assert str(copy) == str(error) == "s:1: BAD_VALUE: Expected `object`, got `array`"


def test_text_of_the_input_cannot_leave_its_line_in_an_error() -> None:
    error = TraceError(Code.BAD_VALUE, "a\nb\x1b[2J", 1, 2, "x\r\n\x1b[31m\u202e")

    assert str(error) == r"a\nb\x1b[2J:1:2: BAD_VALUE: x\r\n\x1b[31m\u202e"


def test_run_header_is_read_strictly() -> None:
    run = run_of(hardening=("HZ1",), source={"kind": "simulation", "seed": 7, "tree": [[{}]]})

    assert decode_run(json.dumps(json.loads(encode(run)), indent=2).encode(), "run.json") == run
    assert decode_run(encode(run), "run.json") == run


def test_run_header_may_not_nest_without_bound() -> None:
    header = encode(run_of(source={"a": 1})).replace(b"1}", b"[" * 5000 + b"]" * 5000 + b"}")
    with pytest.raises(TraceError) as caught:
        decode_run(header, "run.json")

    assert caught.value.code in (Code.BAD_SYNTAX, Code.BAD_VALUE)

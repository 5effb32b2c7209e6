"""Readers of files: written values read back, and arbitrary bytes give one line of error."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.cluster.messages import NULL_VALUE
from canvass.disks import layouts
from canvass.disks.findings import DiskError
from canvass.disks.layouts import CHECKSUMS, Layout, crc32c
from canvass.disks.log import RecordedLog, read_log, session_messages
from canvass.disks.small_files import (
    Recording,
    read_catalog,
    read_mark_file,
    read_node_state,
    read_recording_log,
)
from support import aeron_disks
from support.aeron_disks import Term

LAYOUTS = [value for value in vars(layouts).values() if isinstance(value, Layout)]
i64 = st.integers(-(1 << 63), (1 << 63) - 1)


def array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda x: x.name)
@given(data=st.data())
def test_each_layout_reads_what_was_written(layout: Layout, data: st.DataObject) -> None:
    bits = {"u16": 16, "i32": 32, "i64": 64}
    values = {}
    for name, kind in layout.fields:
        low = -(1 << bits[kind] - 1) if kind[0] == "i" else 0
        high = (1 << bits[kind] - (kind[0] == "i")) - 1
        values[name] = data.draw(st.integers(low, high))
    strings = {
        name: data.draw(st.text(st.characters(max_codepoint=255), max_size=40))
        for name in layout.strings
    }
    written = aeron_disks.written(layout, values, strings)

    assert layout.read("f", written, 0) == values
    assert layout.read_strings("f", written, layout.length, len(written)) == strings


@given(st.lists(st.tuples(i64, i64, i64, i64, st.integers(-1, 9), st.booleans(), st.booleans())))
def test_recording_logs_are_read_as_written(
    rows: list[tuple[int, int, int, int, int, bool, bool]],
) -> None:
    data = b""
    for recording, term, base, end, service, is_term, is_valid in rows:
        kind = (0 if is_term else 1) | (0 if is_valid else layouts.INVALID_FLAG)
        data += aeron_disks.entry(kind, term, base, end, recording, service)

    found = read_recording_log("f", array(data))

    assert [
        (
            entry.recording_id,
            entry.leadership_term_id,
            entry.term_base_log_position,
            entry.log_position,
            entry.service_id,
            entry.type == "TERM",
            entry.is_valid,
        )
        for entry in found
    ] == rows
    assert [entry.offset for entry in found] == [64 * index for index in range(len(rows))]


def test_a_removed_entry_is_not_read_and_keeps_its_index() -> None:
    data = aeron_disks.entry(-1, 0, 0, 9) + aeron_disks.entry(0, 1, 9, -1)

    (found,) = read_recording_log("f", array(data))

    assert (found.index, found.leadership_term_id) == (1, 1)


def test_the_length_of_a_standby_snapshot_depends_on_its_endpoint() -> None:
    values = {"entryType": layouts.STANDBY_SNAPSHOT, "leadershipTermId": 3}
    endpoint = {"archiveEndpoint": "10.0.0.9:8010"}
    data = aeron_disks.written(layouts.RECORDING_LOG_ENTRY, values, endpoint).ljust(128, b"\0")

    first, second = read_recording_log("f", array(data + aeron_disks.entry(0, 4, 0, -1)))

    assert first.type == "STANDBY_SNAPSHOT"
    assert (second.offset, second.leadership_term_id) == (128, 4)


@given(st.integers(NULL_VALUE, 2**63 - 1))
def test_candidate_terms_are_read_as_written(term: int) -> None:
    found = read_node_state("f", array(aeron_disks.node_state(term, 17)))

    assert found == term


@pytest.mark.parametrize("sbe_header", [False, True])
def test_mark_files_are_read_with_and_without_the_header_of_later_releases(
    sbe_header: bool,
) -> None:
    found = read_mark_file("f", array(aeron_disks.mark_file(4, sbe_header=sbe_header)))

    assert (found.member_id, found.component_type) == (4, layouts.CONSENSUS_MODULE)


@pytest.mark.parametrize("checksum", [zlib.crc32, crc32c])
def test_catalogs_are_read_and_their_checksums_checked(checksum: Callable[[bytes], int]) -> None:
    plain = aeron_disks.descriptor(0, 64, 4096)
    value = checksum(plain[32:])
    signed = value - (1 << 32) if value >= 1 << 31 else value
    sealed = aeron_disks.descriptor(0, 64, 4096, signed)
    rotten = bytearray(sealed)
    rotten[32 + 48] ^= 1

    good = read_catalog("f", array(aeron_disks.catalog([sealed], 1))).recordings[0]
    bad = read_catalog("f", array(aeron_disks.catalog([bytes(rotten)], 1))).recordings[0]

    assert (good.start_position, good.stop_position, good.offset) == (64, 4096, 32)
    assert good.checksum_matches
    assert not bad.checksum_matches


def test_crc32c_is_as_in_the_standard() -> None:
    assert crc32c(b"123456789") == 0xE3069283


READERS: list[tuple[str, Callable[..., object], bytes]] = [
    ("recording log", read_recording_log, aeron_disks.entry(0, 1, 0, -1) * 3),
    ("node state", read_node_state, aeron_disks.node_state(3)),
    ("mark file", read_mark_file, aeron_disks.mark_file(1)),
    ("catalog", read_catalog, aeron_disks.catalog([aeron_disks.descriptor(0, 0, 96)], 1)),
]


def is_read_or_refused_in_one_line(reader: Callable[..., object], data: bytes) -> None:
    try:
        reader("some-file", array(data))
    except DiskError as error:
        text = str(error)
        assert text.startswith("some-file")
        assert "\n" not in text


@pytest.mark.parametrize(("name", "reader", "sound"), READERS, ids=[one[0] for one in READERS])
@given(data=st.data())
def test_any_bytes_are_read_or_refused_in_one_line(
    name: str, reader: Callable[..., object], sound: bytes, data: st.DataObject
) -> None:
    is_read_or_refused_in_one_line(reader, data.draw(st.binary(max_size=600)))
    spoilt = bytearray(sound[: data.draw(st.integers(0, min(len(sound), 9000)))])
    for _ in range(data.draw(st.integers(0, 4))):
        if spoilt:
            spoilt[data.draw(st.integers(0, min(len(spoilt), 600) - 1))] = data.draw(
                st.sampled_from([0, 1, 0x7F, 0x80, 0xFF])
            )
    is_read_or_refused_in_one_line(reader, bytes(spoilt))


def recording(stop: int, start: int = 0) -> Recording:
    descriptor = aeron_disks.descriptor(0, start, stop)
    return read_catalog("f", array(aeron_disks.catalog([descriptor], 1))).recordings[0]


def write_segments(folder: Path, log: bytes) -> dict[int, Path]:
    paths = {}
    for base in range(0, max(len(log), 1), aeron_disks.SEGMENT_LENGTH):
        paths[base] = folder / f"0-{base}.rec"
        paths[base].write_bytes(log[base : base + aeron_disks.SEGMENT_LENGTH])
    return paths


def read_back(folder: Path, log: bytes, stop: int | None = None) -> RecordedLog:
    return read_log(recording(len(log) if stop is None else stop), write_segments(folder, log))


payloads = st.lists(st.binary(max_size=300), max_size=12)


@given(st.lists(payloads, min_size=1, max_size=4))
def test_logs_are_read_as_written(
    tmp_path_factory: pytest.TempPathFactory, terms: list[list[bytes]]
) -> None:
    made = [Term(number, number % 3, tuple(one)) for number, one in enumerate(terms)]
    data = aeron_disks.write_log(made)

    log = read_back(tmp_path_factory.mktemp("log"), data)

    assert log.problems == []
    assert (log.end, log.sound_end) == (len(data), len(data))
    assert [(run.term, run.leader) for run in log.terms] == [(one.term, one.leader) for one in made]
    rows = session_messages(log, 0, log.end)
    assert rows[:, 3].tolist() == [one.term for one in made for _ in one.payloads]


def test_the_end_of_a_log_after_a_kill_is_where_no_frame_begins(tmp_path: Path) -> None:
    data = aeron_disks.write_log([Term(0, 0, (b"x" * 3000,) * 50)])

    log = read_back(tmp_path, data, stop=-1)

    assert (log.end, log.refuses) == (len(data), "")


def test_a_last_frame_that_crosses_into_an_empty_page_is_refused(tmp_path: Path) -> None:
    data = aeron_disks.write_log([Term(0, 0, (b"x" * 3000, b"y" * 800 + bytes(500)))])
    last = data.rindex(b"y" * 800) - 64
    assert last // 4096 != (len(data) - 1) // 4096
    assert not any(data[4096:])

    log = read_back(tmp_path, data, stop=-1)

    assert log.refuses.endswith("0-0.rec")
    assert log.last_frame == last


@pytest.mark.parametrize("name", sorted(CHECKSUMS))
def test_checksums_in_frames_are_recognised_and_checked(tmp_path: Path, name: str) -> None:
    data = bytearray(aeron_disks.write_log([Term(0, 0, (b"a" * 40, b"b" * 40, b"c" * 40))]))
    offset = 0
    while offset < len(data):
        length = int.from_bytes(data[offset : offset + 4], "little")
        body = bytes(data[offset + 32 : offset + (length + 31 & ~31)])
        value = CHECKSUMS[name](body)
        data[offset + 12 : offset + 16] = value.to_bytes(4, "little")
        offset += length + 31 & ~31
    rotten = bytearray(data)
    rotten[-10] ^= 4

    assert read_back(tmp_path, bytes(data)).problems == []
    log = read_back(tmp_path, bytes(rotten))
    assert [problem.reason for problem in log.problems] == ["the frame's checksum is wrong"]
    assert log.problems[0].offset == len(data) - 128


@given(data=st.data())
def test_any_bytes_in_a_segment_are_read_to_the_end(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    log = bytearray(aeron_disks.write_log([Term(0, 0, (b"abc" * 30,) * 9), Term(1, 1, (b"d",))]))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(log) - 1))
        log[at] = data.draw(st.sampled_from([0, 1, 0x20, 0x7F, 0x80, 0xFF]))
    stop = data.draw(st.sampled_from([len(log), -1, 65536, 131072]))

    found = read_back(tmp_path_factory.mktemp("log"), bytes(log), stop=stop)

    assert 0 <= found.sound_end <= found.end
    for problem in found.problems:
        assert 0 <= problem.offset < aeron_disks.SEGMENT_LENGTH
        assert problem.position < problem.until


@given(st.binary(max_size=2000))
def test_any_bytes_for_a_segment_are_read_to_the_end(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    found = read_back(tmp_path_factory.mktemp("log"), content, stop=4096)

    assert found.sound_end <= found.end == 4096


@pytest.mark.night
def test_a_hundred_thousand_damaged_files_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    rng = random.Random(20)
    log = aeron_disks.write_log([Term(0, 0, (b"abc" * 30,) * 9), Term(1, 1, (b"d",))])
    found = recording(len(log))
    path = tmp_path / "0-0.rec"
    for number in range(100_000):
        name, reader, sound = READERS[number % len(READERS)]
        is_log = number % 5 == 4
        data = bytearray((log if is_log else sound)[: rng.randrange(1, 9000)])
        for _ in range(rng.randrange(6)):
            data[rng.randrange(min(len(data), 1000))] = rng.randrange(256)
        if is_log:
            path.write_bytes(data)
            assert read_log(found, {0: path}).sound_end <= len(log), name
        else:
            is_read_or_refused_in_one_line(reader, bytes(data))

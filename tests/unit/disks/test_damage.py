"""Real disks, damaged on purpose: what is broken is found, named with its file, and nothing else
is written to the disks.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canvass.cluster.messages import NULL_VALUE
from canvass.disks.files import NAMES
from canvass.disks.findings import DiskError, Finding, Kind
from canvass.disks.verdict import assess
from support.aeron_disk_captures import COMMITTED
from support.aeron_disks import (
    LOG,
    TIME,
    Snapshot,
    Term,
    catalog,
    descriptor,
    disk_of,
    node_state,
    write_disks,
    write_log,
)

SOUND = COMMITTED / "1.53-tight-242"


def digests(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Path]:
    """The disks of a sound cluster, not compressed. Only the test may change them."""
    for member in sorted(SOUND.glob("raw-*")):
        folder = tmp_path / "disks" / member.name
        folder.mkdir(parents=True)
        for path in member.iterdir():
            (folder / path.name.removesuffix(".gz")).write_bytes(gzip.decompress(path.read_bytes()))
    yield tmp_path / "disks"
    before = digests(tmp_path)
    with suppress(DiskError):
        assess([tmp_path / "disks"])
    assert digests(tmp_path) == before


def grave(folder: Path) -> list[Finding]:
    return [one for one in assess([folder]).findings if one.kind is not Kind.NOTE]


def test_sound_disks_are_sound(disks: Path) -> None:
    assert grave(disks) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name != "cluster-mark.dat"])
def test_a_missing_file_is_named(disks: Path, name: str) -> None:
    (disks / "raw-1" / name).unlink()

    first = grave(disks)[0]

    assert (first.kind, first.member_id) == (Kind.MISSING, 1)
    assert Path(first.file) == disks / "raw-1" / name


def test_without_a_mark_file_the_folder_names_the_member(disks: Path) -> None:
    (disks / "raw-1" / "cluster-mark.dat").unlink()

    verdict = assess([disks])

    assert (verdict.member_ids, verdict.exit_code) == ([0, 1, 2], 0)


def test_a_flipped_bit_in_a_frame_header_is_found_at_its_frame(disks: Path) -> None:
    path = disks / "raw-2" / "0-0.rec"
    data = bytearray(path.read_bytes())
    data[96 + 9] ^= 0x10  # The term offset of the second frame.
    path.write_bytes(data)

    found = grave(disks)

    damaged = [one for one in found if one.kind is Kind.DAMAGED]
    assert [(one.member_id, Path(one.file), one.offset) for one in damaged] == [(2, path, 96)]
    assert "positions 96 to " in damaged[0].text


def test_a_flipped_bit_in_a_payload_is_found_by_comparison(disks: Path) -> None:
    path = disks / "raw-0" / "0-0.rec"
    data = bytearray(path.read_bytes())
    data[600] ^= 1
    path.write_bytes(data)

    diverged = [one for one in grave(disks) if one.kind is Kind.DIVERGED]

    assert [(one.member_id, Path(one.file), one.offset) for one in diverged] == [(0, path, 480)]
    assert diverged[0].text.startswith(
        "member 0 holds another entry of term 1 at 480 than members 1 and 2, which agree"
    )


def test_a_truncated_segment_is_found(disks: Path) -> None:
    path = disks / "raw-0" / "0-0.rec"
    path.write_bytes(path.read_bytes()[:9600])

    found = grave(disks)

    assert found[0].kind is Kind.DAMAGED
    assert (found[0].member_id, Path(found[0].file)) == (0, path)
    assert 9000 < found[0].offset <= 9600


@pytest.mark.parametrize("length", [0, 63, 64, 128, 200])
def test_a_truncated_recording_log_is_found(disks: Path, length: int) -> None:
    path = disks / "raw-1" / "recording.log"
    path.write_bytes(path.read_bytes()[:length])

    verdict = assess([disks])

    assert verdict.exit_code == 1
    assert any(one.kind is Kind.DAMAGED and one.member_id == 1 for one in verdict.findings)


def test_a_member_given_twice_is_refused(disks: Path) -> None:
    shutil.copytree(disks / "raw-1", disks / "raw-9")

    with pytest.raises(DiskError, match="this is member 1, and so is"):
        assess([disks])


def test_a_lost_disk_leaves_the_entries_of_the_others(disks: Path) -> None:
    verdict = assess([disks], lost=[2])

    assert (verdict.exit_code, verdict.member_ids, verdict.without_disk) == (0, [0, 1], [2])
    assert verdict.with_empty is not None
    assert [one.quorums for one in verdict.outlook.leaderships] == [[[0, 1]], [[0, 1]]]


def test_a_lost_member_without_a_folder_extends_the_cluster(disks: Path) -> None:
    assert assess([disks], lost=[3]).member_count == 4
    assert assess([disks], lost=[3, 4]).member_count == 5
    assert assess([disks], lost=[9], member_count=4).without_disk == [9]
    with pytest.raises(DiskError, match="names member 5; give --members 5"):
        assess([disks], lost=[3, 5])


@settings(max_examples=20)
@given(data=st.data())
def test_any_damage_is_assessed_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    source = SOUND / "raw-0"
    for path in source.iterdir():
        content = bytearray(gzip.decompress(path.read_bytes())[: 1 << 16])
        for _ in range(data.draw(st.integers(0, 3), label=path.name)):
            at = data.draw(st.integers(0, min(len(content), 1 << 12) - 1))
            content[at] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
        (folder / path.name.removesuffix(".gz")).write_bytes(content)

    verdict = assess([folder])

    assert verdict.exit_code in (0, 1, 2, 3)
    for one in verdict.findings:
        assert "\n" not in one.place + one.text + one.consequence


# Damage that must not be called sound.


def three_members(tmp_path: Path, **changes: object) -> list[Path]:
    """Three members with the same log of two terms; member 1 led the last one."""
    terms = [Term(0, 0, (b"first", b"second")), Term(1, 1, (b"third", b"fourth"))]
    return write_disks(tmp_path, [disk_of(i, terms, **changes) for i in range(3)])


def findings_of(folders: list[Path], kind: Kind) -> list[tuple[int, str, str]]:
    return [
        (one.member_id, Path(one.file).name, one.text)
        for one in assess(folders).findings
        if one.kind is kind
    ]


@pytest.mark.parametrize("stop", [None, NULL_VALUE], ids=["stopped", "killed"])
def test_a_log_without_a_segment_is_missing(tmp_path: Path, stop: int | None) -> None:
    folders = three_members(tmp_path, stop=stop)
    (folders[2] / "archive" / "0-0.rec").unlink()

    verdict = assess(folders)

    assert verdict.exit_code == 3
    assert findings_of(folders, Kind.MISSING) == [
        (2, "archive.catalog", "no segment of the log (recording 0) is there")
    ]


@pytest.mark.parametrize("stop", [None, NULL_VALUE], ids=["stopped", "killed"])
def test_a_missing_last_segment_is_named_with_its_folder(tmp_path: Path, stop: int | None) -> None:
    terms = [Term(0, 0, tuple(bytes(1000) for _ in range(100)))]
    folders = write_disks(tmp_path, [disk_of(i, terms, stop=stop) for i in range(3)])
    gone = folders[1] / "archive" / "0-65536.rec"
    gone.unlink()

    verdict = assess(folders)

    assert verdict.exit_code == 3
    (found,) = [one for one in verdict.findings if one.kind is Kind.MISSING]
    assert (found.member_id, found.file, found.offset) == (1, str(gone), 0)


def test_a_segment_with_an_impossible_name_is_named(tmp_path: Path) -> None:
    folders = three_members(tmp_path)
    archive = folders[0] / "archive"
    (archive / "0-0.rec").rename(archive / "0-96.rec")

    assert findings_of(folders, Kind.DAMAGED) == [
        (0, "0-96.rec", "no segment of recording 0 begins at 96: the file was not read")
    ]


def test_a_log_that_goes_on_behind_its_end_in_the_catalog_is_damaged(tmp_path: Path) -> None:
    folders = three_members(tmp_path)
    log = write_log([Term(0, 0, (b"first", b"second")), Term(1, 1, (b"third",))])
    catalog_ = folders[0] / "archive" / "archive.catalog"
    catalog_.write_bytes(catalog([descriptor(LOG, 0, len(log))], 1))

    assert findings_of(folders, Kind.DAMAGED) == [
        (
            0,
            "0-0.rec",
            f"the catalog says that the log ends at {len(log)}, and a frame follows there",
        )
    ]


@pytest.mark.parametrize("term", [-1, 0])
def test_a_leader_without_its_own_vote_is_damaged(tmp_path: Path, term: int) -> None:
    folders = three_members(tmp_path)
    (folders[1] / "cluster" / "node-state.dat").write_bytes(node_state(term))

    assert findings_of(folders, Kind.DAMAGED) == [
        (
            1,
            "node-state.dat",
            f"the candidate term is {term}, and this member has led term 1",
        )
    ]


def test_an_impossible_candidate_term_is_unreadable(tmp_path: Path) -> None:
    folders = three_members(tmp_path)
    (folders[2] / "cluster" / "node-state.dat").write_bytes(node_state(-5))

    assert findings_of(folders, Kind.UNREADABLE) == [
        (2, "node-state.dat", "the candidate term is -5")
    ]


def test_a_leader_without_the_entry_of_its_term_is_damaged(tmp_path: Path) -> None:
    folders = three_members(tmp_path)
    for folder in folders[1:]:
        path = folder / "cluster" / "recording.log"
        path.write_bytes(path.read_bytes()[:64])

    assert [one[:2] for one in findings_of(folders, Kind.DAMAGED)] == [(1, "0-0.rec")]
    assert findings_of(folders, Kind.NOTE) == [
        (2, "0-0.rec", "the log holds term 1, the recording log ends with term 0")
    ]


@pytest.mark.parametrize(("length", "unread"), [(64 + 48, 48), (64 + 49, 0), (64 + 63, 0)])
def test_a_last_entry_without_its_padding_is_read(tmp_path: Path, length: int, unread: int) -> None:
    folders = three_members(tmp_path)
    path = folders[2] / "cluster" / "recording.log"
    path.write_bytes(path.read_bytes()[:length])

    assert [one[2] for one in findings_of(folders, Kind.DAMAGED)] == (
        [f"the last {unread} bytes are not a whole entry"] if unread else []
    )
    assert assess(folders).logs[2].log_leadership_term_id == (0 if unread else 1)


@pytest.mark.parametrize("version", [11, 99])
def test_a_log_of_an_unknown_release_is_unreadable(tmp_path: Path, version: int) -> None:
    folders = three_members(tmp_path)
    for folder in folders:
        path = folder / "archive" / "0-0.rec"
        data = bytearray(path.read_bytes())
        offset = 0
        while length := int.from_bytes(data[offset : offset + 4], "little"):
            struct.pack_into("<H", data, offset + 38, version)
            offset += -(-length // 32) * 32
        path.write_bytes(data)

    verdict = assess(folders)

    assert verdict.exit_code == 2
    text = f"the log has entries of schema version {version}; canvass knows 12 to 17"
    assert findings_of(folders, Kind.UNREADABLE) == [(i, "0-0.rec", text) for i in range(3)]


def test_a_damaged_copy_of_committed_entries_is_no_loss(tmp_path: Path) -> None:
    end = len(write_log([Term(0, 0, (b"first", b"second"))]))
    folders = three_members(tmp_path, snapshots=(Snapshot(0, 0, end),))
    path = folders[0] / "archive" / "0-0.rec"
    data = bytearray(path.read_bytes())
    data[data.index(b"first")] ^= 1
    path.write_bytes(data)

    verdict = assess(folders)

    assert verdict.verdict == "DIVERGED"
    assert [one.member_id for one in verdict.findings if one.kind is Kind.DIVERGED] == [0]
    assert findings_of(folders, Kind.LOST) == []


def test_logs_that_differ_below_two_snapshots_are_two_histories(tmp_path: Path) -> None:
    first = Term(0, 0, (b"first",))
    one, two = [first, Term(1, 0, (b"second",))], [first, Term(2, 1, (b"third",))]
    base = len(write_log([first]))
    disks = [disk_of(0, one, snapshots=(Snapshot(1, base, len(write_log(one))),))]
    taken = (Snapshot(2, base, len(write_log(two))),)
    disks += [disk_of(i, two, snapshots=taken) for i in (1, 2)]

    texts = [one[2] for one in findings_of(write_disks(tmp_path, disks), Kind.DIVERGED)]

    text = f"members 0 and 1 differ from {base} on, and both logs were committed beyond"
    assert any(one.startswith(text) for one in texts), texts


def test_a_snapshot_beyond_the_end_that_another_member_has_for_its_term_is_lost(
    tmp_path: Path,
) -> None:
    short, long = Term(0, 0, (b"first",)), Term(0, 0, (b"first", b"second"))
    end, taken = len(write_log([short])), len(write_log([long]))
    disks = [disk_of(i, [short, Term(1, 1)]) for i in (0, 1)]
    disks.append(disk_of(2, [long], snapshots=(Snapshot(0, 0, taken),)))

    texts = [one[2] for one in findings_of(write_disks(tmp_path, disks), Kind.LOST)]

    text = f"a snapshot was taken at {taken} of term 0, which ends at {end} for member 0"
    assert any(one.startswith(text) for one in texts), texts


# Records of clients.


def write_client(tmp_path: Path, *lines: Mapping[str, object]) -> Path:
    path = tmp_path / "client.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def losses(folders: list[Path], client: Path) -> list[tuple[Kind, str]]:
    texts = ("acknowledged", "clients have answers")
    return [
        (one.kind, one.text)
        for one in assess(folders, client=client).findings
        if any(text in one.text for text in texts)
    ]


def test_requests_with_short_payloads_and_without_are_found(tmp_path: Path) -> None:
    """The first message begins after the 96 bytes of the term's first entry."""
    payloads = (b"a", b"1234567", b"12345678", b"123456789")
    folders = write_disks(tmp_path, [disk_of(i, [Term(0, 0, payloads)]) for i in range(3)])
    client = write_client(
        tmp_path,
        *(
            {
                "clusterSessionId": 1,
                "timestamp": TIME + 96 * (number + 1),
                "payload": payload[:8].hex(),
            }
            for number, payload in enumerate(payloads)
        ),
        {"clusterSessionId": 1, "timestamp": TIME + 96},
    )

    assert losses(folders, client) == []


def test_a_lost_request_is_found_although_logs_are_purged(tmp_path: Path) -> None:
    terms = [Term(0, 0, tuple(bytes(1000) for _ in range(100)))]
    log = write_log(terms)
    folders = write_disks(
        tmp_path,
        [disk_of(i, terms, snapshots=(Snapshot(0, 0, 1 << 16),), start=1 << 16) for i in range(3)],
    )
    purged = {"clusterSessionId": 1, "timestamp": TIME + 96}
    lost = {"clusterSessionId": 1, "timestamp": TIME + len(log)}

    assert losses(folders, write_client(tmp_path, purged)) == []
    place = f"the first: session 1, timestamp {TIME + len(log)}"
    assert losses(folders, write_client(tmp_path, purged, lost)) == [
        (Kind.LOST, f"1 acknowledged entry is on no disk ({place})")
    ]


def test_a_request_that_only_a_whole_log_shows_as_purged_is_not_lost(tmp_path: Path) -> None:
    """The clock of a later leader may be behind: only the position shows that it was purged."""
    terms = [Term(0, 0, tuple(bytes(1000) for _ in range(100)))]
    taken = (Snapshot(0, 0, 1 << 16),)
    folders = write_disks(
        tmp_path,
        [disk_of(0, terms, snapshots=taken)]
        + [disk_of(i, terms, snapshots=taken, start=1 << 16) for i in (1, 2)],
    )
    path = folders[0] / "archive" / "0-0.rec"
    data = bytearray(path.read_bytes())
    late = TIME + (1 << 20)
    struct.pack_into("<q", data, 96 + 32 + 8 + 16, late)
    path.write_bytes(data)

    client = write_client(tmp_path, {"clusterSessionId": 1, "timestamp": late})

    assert losses(folders, client) == []


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"clusterSessionId": 1}', "missing required field `timestamp`"),
        (b"{}", "missing required field `clusterSessionId`"),
        (b"no JSON", "JSON is malformed"),
        (b'{"clusterSessionId": 1, "timestamp": 1, "payload": "0"}', "non-hexadecimal number"),
    ],
)
def test_a_wrong_line_of_a_client_is_named(tmp_path: Path, line: bytes, text: str) -> None:
    client = tmp_path / "client.jsonl"
    client.write_bytes(b'{"clusterSessionId": 1, "timestamp": 9}\n' + line + b"\n")

    with pytest.raises(DiskError, match=text) as raised:
        assess(three_members(tmp_path), client=client)
    assert (raised.value.file, raised.value.offset) == (str(client), 2)

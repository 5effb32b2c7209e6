"""Real disks, damaged on purpose: what is broken is found, named with its file, and nothing else
is written to the disks.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canvass.disks.files import NAMES
from canvass.disks.findings import DiskError, Finding, Kind
from canvass.disks.verdict import assess
from support.aeron_disk_captures import COMMITTED

SOUND = COMMITTED / "1.53-tight-242"


def digests(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Path]:
    """The disks of a sound cluster, not compressed; at the end only the test has changed them."""
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


def test_without_a_mark_file_the_folder_says_which_member_it_is(disks: Path) -> None:
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


def test_a_lost_disk_leaves_what_the_others_hold(disks: Path) -> None:
    verdict = assess([disks], lost=[2])

    assert (verdict.exit_code, verdict.member_ids, verdict.without_disk) == (0, [0, 1], [2])
    assert verdict.with_empty is not None
    assert [one.quorums for one in verdict.outlook.leaderships] == [[[0, 1]], [[0, 1]]]


def test_a_lost_member_that_no_folder_names_is_the_next_one_or_counted(disks: Path) -> None:
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

"""``canvass repair``: the entries that it puts back, and its errors."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.archive.files import FileStorage
from canvass.archive.recording import Recording
from canvass.archive.storage import DamageError
from support.aeron_disk_captures import COMMITTED

Command = Callable[..., tuple[int, str, str]]


def record(folder: Path) -> list[bytes]:
    storage = FileStorage(folder)
    recording = Recording(storage)
    payloads = [b"entry %d" % number for number in range(20)]
    for payload in payloads:
        recording.append(payload)
        recording.sync()
    storage.close()
    return payloads


def spoil(folder: Path, offset: int) -> None:
    path = folder / "0-0.rec"
    data = bytearray(path.read_bytes())
    data[offset] ^= 4
    path.write_bytes(data)


def test_a_member_is_repaired_from_a_running_member(command: Command, tmp_path: Path) -> None:
    damaged, sound = tmp_path / "damaged", tmp_path / "sound"
    payloads = record(damaged)
    record(sound)
    spoil(damaged, 290)
    up = FileStorage(sound)  # Holds its folder, as its process does.
    with pytest.raises(DamageError):
        Recording(FileStorage(damaged, lock=False))

    code, out, _ = command("repair", damaged, "--source", sound)
    up.close()

    assert (code, out) == (0, f"{damaged}: 1 entry was put back\n")
    storage = FileStorage(damaged)
    recording = Recording(storage)
    assert [frame.payload for frame in recording.replay(0, recording.end)] == payloads
    storage.close()


def test_damage_that_remains_ends_with_2(command: Command, tmp_path: Path) -> None:
    damaged, shorter = tmp_path / "damaged", tmp_path / "shorter"
    record(damaged)
    record(shorter)
    segment = shorter / "0-0.rec"
    segment.write_bytes(segment.read_bytes()[: 10 * 64])
    spoil(damaged, 290)
    spoil(damaged, 64 * 12 + 34)

    code, out, err = command("repair", damaged, "--source", shorter)

    assert (code, out) == (2, f"{damaged}: 1 entry was put back\n")
    assert f"{damaged}: 0-0.rec is damaged at offset 768: " in err
    assert f"{shorter} cannot repair this" in err


def test_a_running_member_is_not_repaired(command: Command, tmp_path: Path) -> None:
    record(tmp_path / "one")
    record(tmp_path / "other")
    up = FileStorage(tmp_path / "one")
    code, _, err = command("repair", tmp_path / "one", "--source", tmp_path / "other")
    up.close()

    assert code == 2
    assert "is in use by another process" in err


@pytest.mark.parametrize("source", ["missing", "one", "one/../one"])
def test_a_wrong_source_is_refused(command: Command, tmp_path: Path, source: str) -> None:
    record(tmp_path / "one")
    code, _, err = command("repair", tmp_path / "one", "--source", tmp_path / source)

    assert code == 2
    assert "is not a folder" in err or "own folder" in err


def test_a_recording_without_damage_is_an_error(command: Command, tmp_path: Path) -> None:
    record(tmp_path / "one")
    record(tmp_path / "other")
    code, _, err = command("repair", tmp_path / "one", "--source", tmp_path / "other")

    reason = "the recording of the log has no damage; other files are not repaired"
    assert (code, err) == (2, f"canvass: {tmp_path / 'one'}: {reason}\n")


def test_files_of_aeron_are_refused_and_not_written_to(command: Command, tmp_path: Path) -> None:
    record(tmp_path / "one")
    aeron = COMMITTED / "1.53-tight-242" / "raw-0"
    copy = shutil.copytree(aeron, tmp_path / "raw-0")
    before = sorted(copy.iterdir())
    for arguments in ((copy, "--source", tmp_path / "one"), (tmp_path / "one", "--source", copy)):
        code, out, err = command("repair", *arguments)

        assert (code, out) == (2, "")
        assert err == f"canvass: {copy} has files of Aeron; only `canvass run`'s are repaired\n"
    assert sorted(copy.iterdir()) == before

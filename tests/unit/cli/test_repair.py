"""``canvass repair``: what it puts back, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.archive.files import FileStorage
from canvass.archive.recording import Recording
from canvass.archive.storage import DamageError

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


def test_a_member_is_repaired_from_one_that_is_up(command: Command, tmp_path: Path) -> None:
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


def test_a_member_that_is_up_is_not_touched(command: Command, tmp_path: Path) -> None:
    record(tmp_path / "one")
    record(tmp_path / "other")
    up = FileStorage(tmp_path / "one")
    code, _, err = command("repair", tmp_path / "one", "--source", tmp_path / "other")
    up.close()

    assert code == 2
    assert "is in use by another process" in err


@pytest.mark.parametrize("source", ["missing", "one", "one/../one"])
def test_a_source_that_is_none_is_refused(command: Command, tmp_path: Path, source: str) -> None:
    record(tmp_path / "one")
    code, _, err = command("repair", tmp_path / "one", "--source", tmp_path / source)

    assert code == 2
    assert "is not a folder" in err or "own folder" in err


def test_nothing_to_repair_is_said(command: Command, tmp_path: Path) -> None:
    record(tmp_path / "one")
    record(tmp_path / "other")
    code, _, err = command("repair", tmp_path / "one", "--source", tmp_path / "other")

    assert (code, err) == (2, "canvass: the recording of the log has no damage\n")

"""``canvass disks``: its exit codes, its two formats, and its errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support import aeron_disks
from support.aeron_disk_captures import COMMITTED
from support.aeron_disks import Term, disk_of, write_disk, write_disks, write_log

Command = Callable[..., tuple[int, str, str]]


def upgraded(folder: Path, before: int, after: int, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Disks of a cluster whose member 0 missed the term after an upgrade, by schema versions."""
    monkeypatch.setattr(aeron_disks, "SCHEMA_VERSION", before)
    first, second = Term(0, 0, (b"a",)), Term(1, 1, (b"b",))
    old = write_log([first])
    monkeypatch.setattr(aeron_disks, "SCHEMA_VERSION", after)
    log = write_log([second], old)
    late = disk_of(0, [first], log=old)
    disks = [late, *(disk_of(i, [first, second], log=log) for i in (1, 2))]
    return write_disks(folder, disks)


def test_logs_of_several_releases_are_named(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rolling upgrade: the simulated elections follow the rules of the newest release."""
    folders = upgraded(tmp_path, 14, 15, monkeypatch)
    code, out, _ = command("disks", *folders)

    assert code == 0
    assert out.splitlines()[1] == (
        "the logs were written by the newest of several releases, 1.50 (schema version 15);"
        " protocol 1.50, chosen by the newest release"
    )
    _, out, _ = command("disks", *folders, "--format", "json")
    found = json.loads(out)
    assert found["revision"] == "1.50"
    assert [log["schemaVersion"] for log in found["logs"]] == [14, 15, 15]


def test_a_file_of_another_format_ends_with_2(command: Command, tmp_path: Path) -> None:
    folders = write_disks(tmp_path, [disk_of(i, [Term(0, 0, (b"a",))]) for i in range(3)])
    (folders[1] / "cluster" / "recording.log").write_bytes(b"\xff\x01" * 500)

    code, out, _ = command("disks", *folders)

    assert code == 2
    assert "member 1 does not start: " in out
    assert "recording.log:0: entry 0 is of no known type" in out


def test_an_empty_folder_counts_as_an_empty_disk(command: Command, tmp_path: Path) -> None:
    folder = write_disk(tmp_path / "member-0", disk_of(0, [Term(0, 0, (b"a",))]))
    (tmp_path / "member-1").mkdir()

    code, out, _ = command("disks", folder, tmp_path / "member-1", "--members", "3")

    assert code == 3
    assert "no file of a member is there" in out
    assert "with these disks" not in out, "two of three members start"


def test_json_has_the_verdict_of_the_text(command: Command) -> None:
    code, out, _ = command("disks", COMMITTED / "1.52.2-wipe-241", "--format", "json")
    found = json.loads(out)

    assert code == 1
    assert found["verdict"] == "LOST"
    assert found["commonPosition"] == 13_344
    assert next(one["quorums"] for one in found["outlook"]["leaderships"]) == []
    assert {one["kind"] for one in found["findings"]} == {"LOST", "MISSING"}
    assert all(one["file"] for one in found["findings"])


def test_the_file_of_a_client_may_begin_with_a_byte_order_mark(
    command: Command, tmp_path: Path
) -> None:
    client = tmp_path / "client.jsonl"
    ended = {}
    for encoding in ("utf-8", "utf-8-sig"):
        client.write_text('{"clusterSessionId": 1, "timestamp": 9}\n', encoding=encoding)
        ended[encoding] = command("disks", COMMITTED / "1.53-tight-242", "--client", client)

    assert ended["utf-8"][0] != 2
    assert ended["utf-8"] == ended["utf-8-sig"]

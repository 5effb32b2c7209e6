"""``canvass disks`` on logs of several releases; `transcripts` have what it prints of others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support import aeron_disks
from support.aeron_disks import Term, disk_of, write_disks, write_log

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

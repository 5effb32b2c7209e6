"""``canvass run`` with two services in each process: snapshots, replays, control toggles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from canvass.archive.archive import Archive
from canvass.archive.storage import FileStorage
from canvass.log import entries
from canvass.log.entries import ClusterActionRequest
from canvass.runner.cluster_run import compare_services
from support.processes import members_of, run_cluster
from support.trace_reading import load_corpus

Command = Callable[..., tuple[int, str, str]]

SERVICES = ("--services", 2)
SCRIPT = """
0.5 toggle snapshot
1.0 kill leader
1.8 start all
2.2 toggle standby-snapshot
2.6 toggle suspend
2.9 toggle resume
"""


def run(folder: Path, *words: object) -> dict[str, Any]:
    done = run_cluster(folder, "--load", 60, "--format", "json", *words)
    report: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, report["problems"]) == (0, []), done.stderr
    return report


def actions_in_log(archive: Archive) -> list[tuple[str, int]]:
    recording = archive.recording
    messages = [entries.decode(one.payload) for one in recording.replay(0, recording.end)]
    return [
        (one.action.name, one.flags) for one in messages if isinstance(one, ClusterActionRequest)
    ]


def test_two_services_are_equal_after_kills_snapshots_and_toggles(
    command: Command, tmp_path: Path
) -> None:
    folder, script = tmp_path / "cluster", tmp_path / "script"
    script.write_text(SCRIPT)
    first = run(folder, *SERVICES, "--seconds", 4, "--script", script)
    second = run(folder, *SERVICES, "--seconds", 0.3, "--again")
    (recorded,) = load_corpus(folder / "runs")
    restarts = [
        sum(event.action.value == "Restart" for event in events)
        for events in recorded.events.values()
    ]
    other = command("run", "--out", folder, "--again", "--seconds", 1, "--clock", 20)

    assert first["done"] == {"kill": 1, "start": 1, "toggle": 4}
    assert first["requestsAcknowledged"] == first["requestsOffered"] > 0
    assert 0 < first["counter"] < second["counter"]
    assert (first["positionsCompared"], second["positionsCompared"]) == (2, 3)
    assert sum(restarts) == 7
    for i in range(3):
        data = folder / "data" / f"member-{i}"
        mark = json.loads((data / ".cluster-mark.json").read_bytes())["status"]
        assert len(mark["service_positions"]) == 2
        storage = FileStorage(data)
        archive = Archive(storage)
        actions = actions_in_log(archive)
        _, parts = archive.last_snapshot()
        storage.close()
        assert sorted(parts) == [-1, 0, 1]
        assert actions == [
            *(("SNAPSHOT", 0), ("SNAPSHOT", 1), ("SUSPEND", 0), ("RESUME", 0)),
            *(("SNAPSHOT", 0), ("SNAPSHOT", 0)),
        ]
    assert members_of(folder) == []
    assert (other[0], "the cluster has services 2, not 1" in other[2]) == (2, True)


def test_services_that_differ_at_a_position_are_reported(tmp_path: Path) -> None:
    folders = [tmp_path / f"member-{i}" for i in range(3)]
    for i, folder in enumerate(folders):
        folder.mkdir()
        (folder / "snapshot-96-module.dat").write_text(f"its own {i}")
        (folder / "snapshot-96-service-0.dat").write_text("same")
        (folder / "snapshot-96-service-1.dat").write_text("other" if i == 2 else "same")
        (folder / f"snapshot-{160 + i}-service-0.dat").write_text(f"alone {i}")

    assert compare_services(folders[:2]) == (1, [])
    assert compare_services(folders) == (
        1,
        ["service 1 differs at position 96 between member-2 and member-0"],
    )
    assert compare_services([tmp_path / "nothing"]) == (0, [])

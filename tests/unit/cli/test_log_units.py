"""Folders of a build's test logs: which logs are found, under which names, and what is refused."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from canvass.cli.verify import import_units
from canvass.traces.aeron_log.logs import logs_below
from canvass.traces.errors import TraceError
from canvass.traces.run import RunFolder

SYSTEM = Path(__file__).parents[2] / "captures" / "system"
SINGLE = SYSTEM / "SingleNodeTest.shouldReplayLog.log.gz"
BACKUP = SYSTEM / "ClusterBackupTest.shouldBackupClusterAndJoinLive.log.gz"
TWO = SYSTEM / "MultiModuleSharedDriverTest.shouldSupportTwoMultiNodeClusters.log.gz"


def build(folder: Path) -> Path:
    """The logs of a build: those of two tests by name, one in a folder, one of members, another."""
    for name, log in (
        ("ClusterBackupTest.join.log.gz", BACKUP),
        ("TwoTest/two/events.log.gz", TWO),
        ("SingleNodeTest/replay/all.log.gz", SINGLE),
        ("members/member-0.log.gz", SINGLE),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, path)
    (folder / "gradle.log").write_text("BUILD SUCCESSFUL\n")
    driver = gzip.decompress(SINGLE.read_bytes()).decode().splitlines()
    lines = [line for line in driver if "] CLUSTER: " not in line]
    (folder / "DriverTest.log").write_text("\n".join(lines) + "\n")
    return folder


def test_each_log_has_the_name_of_its_test(tmp_path: Path) -> None:
    assert [name for name, _ in logs_below(build(tmp_path))] == [
        "ClusterBackupTest.join",
        "DriverTest",
        "gradle",
        "SingleNodeTest.replay",
        "TwoTest.two",
        "members",
    ]
    assert [name for name, _ in logs_below(SINGLE)] == ["SingleNodeTest.shouldReplayLog"]


def test_each_cluster_is_a_unit_and_logs_without_a_cluster_are_none(tmp_path: Path) -> None:
    folder = build(tmp_path / "build")
    units = list(import_units([folder]))

    runs = [RunFolder(unit).run.run_id for unit in units if isinstance(unit, Path)]
    assert runs == [
        "clusterbackuptest.join~1",
        "clusterbackuptest.join~2",
        "singlenodetest.replay",
        "members",
    ]
    (error,) = (unit for unit in units if isinstance(unit, TraceError))
    assert (error.file, error.line) == (str(folder / "TwoTest/two/events.log.gz"), 135)

"""Import by alignment, from logs to a checked run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.traces.alignment.importer import ImportSummary, import_clusters, import_logs, run_id_of
from canvass.traces.schema import RUN_ID_PATTERN
from support.aeron_runs import SAMPLES, lines_by_member, write_logs
from support.checked_runs import checked

CALM = SAMPLES[0]
CAPTURES = Path(__file__).parents[2] / "captures"
PRODUCTION = (" CANVASS_POSITION ", " APPEND_POSITION ", " COMMIT_POSITION ")

Logs = dict[int, list[str]]


def verdict_of(logs: Logs, folder: Path) -> tuple[ImportSummary, str]:
    """The result of the import, and the verdict on its run."""
    summary = import_logs([write_logs(folder / "logs", logs)], folder / "run")
    return summary, checked(folder / "run").verdict.value


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_events_of_production_are_enough(path: Path, tmp_path: Path) -> None:
    logs = {
        i: [line for line in lines if not any(event in line for event in PRODUCTION)]
        for i, lines in lines_by_member(path).items()
    }
    summary, verdict = verdict_of(logs, tmp_path)

    assert (summary.outcome, verdict) == ("EXPLAINED", "CONFORMS")


def test_commit_positions_that_another_member_received_are_missed(tmp_path: Path) -> None:
    logs = lines_by_member(CALM)
    found = [k for k, line in enumerate(logs[0]) if " COMMIT_POSITION " in line]
    del logs[0][found[20] : found[26]]
    summary, _ = verdict_of(logs, tmp_path)

    assert summary.outcome == "INCOMPLETE"
    assert any("commit positions" in sentence for sentence in summary.missing)


@pytest.mark.parametrize("seed", range(3))
def test_lines_in_disorder_are_given_up_without_a_crash(seed: int, tmp_path: Path) -> None:
    random, logs = Random(seed), lines_by_member(CALM)
    for _ in range(6):
        lines = logs[random.choice(sorted(logs))]
        one, other = random.randrange(len(lines)), random.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
        del lines[random.randrange(len(lines)) : random.randrange(len(lines))]
    summary, _ = verdict_of(logs, tmp_path)

    assert summary.outcome in ("INCOMPLETE", "CONTRADICTED")


LONG = "ClusterUncommittedStateTest.shouldNextCommittedSessionIdReflectOnlyCommittedSessions"


@pytest.mark.parametrize(
    ("name", "run_id"),
    [
        ("b-leader-killed", "b-leader-killed"),
        ("Run 7~2", "run-7~2"),
        ("~", "aeron"),
        (LONG, "clusteruncommittedstatetest.shouldnextcommittedsessioni-619f13b5"),
        (LONG + "~1", "clusteruncommittedstatetest.shouldnextcommittedsessio-619f13b5~1"),
    ],
)
def test_a_run_is_called_as_its_folder(name: str, run_id: str) -> None:
    assert run_id_of(name) == run_id


@given(st.text(max_size=100), st.text(max_size=100))
def test_every_name_gives_an_id_and_long_ones_differ(name: str, other: str) -> None:
    found = run_id_of(name)
    assert re.match(RUN_ID_PATTERN, found)
    prefix = "a" * 80
    assert (run_id_of(prefix + name) == run_id_of(prefix + other)) == (
        run_id_of("a" + name) == run_id_of("a" + other)
    )


@pytest.mark.parametrize(
    ("test", "clusters"),
    [
        ("ClusterTest.shouldAcceptMessagesAfterTwoNodeCleanRestart", ["INCOMPLETE"]),
        (
            "ClusterTest.shouldEnterElectionWhenLosesQuorumUnexpectedlyOnLeaderOfSingleNodeCluster",
            ["CONFORMS"],
        ),
        ("ClusterTest.shouldLoseLeadershipWhenNoActiveQuorumOfFollowers", ["CONFORMS"]),
        ("ClusterTest.shouldStopLeaderAndRestartAsFollower", ["CONFORMS"]),
        ("ClusterUncommittedStateTest.shouldRollbackUncommittedSnapshotToggle", ["CONFORMS"] * 2),
        (
            "ClusterUncommittedStateTest.shouldSnapshotWithNoServicesWithUncommittedData",
            ["CONFORMS"],
        ),
        ("SingleNodeTest.shouldReplayLog", ["CONFORMS"]),
    ],
)
def test_logs_of_system_tests_conform(test: str, clusters: list[str], tmp_path: Path) -> None:
    """In the first, two members lose their disks between two runs; that is no divergence."""
    log = CAPTURES / "system" / f"{test}.log.gz"

    assert [
        checked(run).verdict.value for run in import_clusters([log], tmp_path / "run")
    ] == clusters
    if clusters == ["INCOMPLETE"]:
        (tmp_path / "config.json").write_text('{"expect_disk_replaced": true}')
        (run,) = import_clusters([Path(shutil.copy(log, tmp_path))], tmp_path / "expected")
        assert checked(run).verdict.value == "CONFORMS"

"""How many members a cluster has, and their numbers in a run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from canvass.traces.aeron_log.logs import read_clusters
from canvass.traces.aeron_log.records import ClusterEvent, RequestVote
from canvass.traces.aeron_log.releases import releases_of, releases_of_run
from canvass.traces.aeron_log.source import AeronLogError, LogCode
from canvass.traces.alignment.importer import EXPLAINED, import_clusters, import_logs
from canvass.traces.run import RunFolder
from support.aeron_lines import HEADER, STARTED, text
from support.aeron_runs import read_cluster

SYSTEM = Path(__file__).parents[2] / "captures" / "system"
BACKUP = SYSTEM / "ClusterBackupTest.shouldBackupClusterAndJoinLive.log.gz"
STOPPED = SYSTEM / "ClusterTest.shouldStopLeaderAndRestartAsFollower.log.gz"
VOTE = (
    "[102.000000000] CLUSTER: REQUEST_VOTE [36/36]: memberId=5 logLeadershipTermId=-1 "
    "logPosition=0 candidateTermId=0 candidateId=9 protocolVersion=1.0.0"
)
MEMBER_5 = (STARTED.replace("memberId=0", "memberId=5"), VOTE)


def started(*ids: int) -> bytes:
    return text(HEADER, *(STARTED.replace("memberId=0", f"memberId={i}") for i in ids))


def test_a_single_node_may_have_any_id(tmp_path: Path) -> None:
    """Its first step shows that it is alone: it leads without a canvass."""
    logs = read_clusters([BACKUP])[1]

    assert (logs.member_count, logs.real_ids, list(logs.members)) == (1, {0: 3}, [0])
    events = [r for r in logs.members[0].records if isinstance(r, ClusterEvent)]
    assert {r.member_id for r in events} == {0}
    assert "member 0 has id 3 in the logs" in releases_of(logs).lines()

    import_clusters([BACKUP], tmp_path / "run")
    said = releases_of_run(RunFolder(tmp_path / "run" / "run~2").run)
    assert said is not None
    assert said.real_ids == {0: 3}


@pytest.mark.parametrize("kept", [100, 1])
def test_other_ids_are_numbered_in_their_order(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "all.log"
    path.write_bytes(text(HEADER, *MEMBER_5))
    logs = read_cluster([path], count=2, kept=kept)

    assert (logs.real_ids, list(logs.members), logs.missing) == ({0: 5, 1: 9}, [0], (1,))
    log = logs.members[0]
    (vote,) = (r for r in log.every_record() if isinstance(r, RequestVote))
    assert (vote.member_id, vote.candidate_member_id, log.named) == (0, 1, {1})


def test_ids_below_the_number_of_members_stay(tmp_path: Path) -> None:
    path = tmp_path / "all.log"
    path.write_bytes(started(1, 2))
    logs = read_cluster([path], count=3)

    assert (logs.member_count, logs.real_ids) == (3, {})
    assert [len(logs.members[i].records) for i in range(3)] == [0, 2, 2]


def test_members_without_a_log_are_missing_unless_one_log_is_for_all(tmp_path: Path) -> None:
    for i in (0, 1):
        (tmp_path / f"member-{i}.log").write_bytes(started(i))

    assert read_cluster([tmp_path], count=3).missing == (2,)
    (tmp_path / "member-2.log").touch()
    assert read_cluster([tmp_path], count=3).missing == ()


@pytest.mark.parametrize(
    ("config", "count"),
    [('{"members": 5}', 5), ('{"members": "five"}', 0), ("{", 0), ('{"members": 99}', 0)],
)
def test_config_json_beside_the_logs_says_the_number(
    config: str, count: int, tmp_path: Path
) -> None:
    (tmp_path / "all.log").write_bytes(started(0, 1, 2))
    (tmp_path / "config.json").write_text(config)

    assert read_cluster([tmp_path / "all.log"]).member_count == count
    assert read_cluster([tmp_path / "all.log"], count=4).member_count == 4


def test_more_ids_than_members_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "all.log"
    path.write_bytes(started(0, 1, 7))
    with pytest.raises(AeronLogError, match="0, 1, 7") as caught:
        read_cluster([path], count=2)

    assert caught.value.code is LogCode.TOO_MANY_MEMBERS


def test_a_cluster_of_which_a_member_never_started(tmp_path: Path) -> None:
    """Three members form a quorum of five, and not of four alone."""
    summary = import_logs([STOPPED], tmp_path / "run", members=4)

    assert summary.member_count == 4
    run = msgspec.json.decode((tmp_path / "run" / "run.json").read_bytes())
    assert run["withoutSteps"] == [3]
    assert import_logs([STOPPED], tmp_path / "whole").outcome == EXPLAINED

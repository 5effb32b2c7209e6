"""Logs with the lines of several members: whose lines they are, and where processes start."""

from __future__ import annotations

import gzip
from itertools import chain
from pathlib import Path

import pytest

from canvass.traces.aeron_log.incarnations import MemberLog
from canvass.traces.aeron_log.line import stamp_of
from canvass.traces.aeron_log.logs import read_clusters
from canvass.traces.aeron_log.records import ClusterEvent, ProcessStart, Start
from canvass.traces.aeron_log.releases import releases_of
from canvass.traces.aeron_log.source import AeronLogError, LogCode
from support.aeron_lines import HEADER, STARTED, commit, text
from support.aeron_runs import read_cluster

CAPTURES = Path(__file__).parents[2] / "captures"
SYSTEM = CAPTURES / "system"
CLUSTERS = [CAPTURES / "releases" / name for name in ("1.44.7-kills", "1.52.2-kills-production")]
CLUSTERS += [CAPTURES / "releases" / "1.53-kills", CAPTURES / "releases" / "1.49.0-chaos"]
CLOSED = (
    '[103.000000000] CLUSTER: STATE_CHANGE [34/34]: memberId=0 ACTIVE -> CLOSED reason="closed"'
)
AGAIN = STARTED.replace("[101.", "[110.")
ACK = (
    "[109.000000000] CLUSTER: SERVICE_ACK [56/56]: memberId=0 logPosition=0 timestamp=0 "
    "timeUnit=MILLISECONDS ackId=0 relevantId=38 serviceId=0"
)


def shape(log: MemberLog) -> list[tuple[int, str]]:
    """The stamps of a log's headers (0) and events. A line ``START`` does not name its member."""
    return [
        (0 if isinstance(r, ProcessStart) else r.time_ns, type(r).__name__)
        for r in log.records
        if isinstance(r, ClusterEvent | ProcessStart) and not isinstance(r, Start)
    ]


def lines_of(folder: Path) -> list[str]:
    """The lines of all members, in the order of their stamps; headers before all others."""
    found = []
    for path in sorted(folder.glob("member-*.log.gz")):
        latest = 0
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            stamp = stamp_of(line)
            latest = stamp[0] if stamp else latest
            found.append((latest, line))
    return [line for _, line in sorted(found, key=lambda pair: pair[0])]


def starts(log: MemberLog) -> list[int]:
    return [r.line for r in log.records if isinstance(r, ProcessStart)]


@pytest.mark.parametrize("folder", CLUSTERS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("headers", [True, False], ids=["headers", "one-header"])
def test_one_log_of_all_members_has_the_records_of_their_logs(
    folder: Path, headers: bool, tmp_path: Path
) -> None:
    lines = lines_of(folder)
    if not headers:
        later = (line for line in lines[1:] if "] log started " not in line)
        lines = [lines[0], *later]
    path = tmp_path / "all.log"
    path.write_text("\n".join(lines) + "\n")
    apart, together = read_cluster([folder]), read_cluster([path])
    releases = [releases_of(logs).members for logs in (apart, together)]

    assert releases[0] == releases[1]

    assert {i: shape(log) for i, log in together.members.items()} == {
        i: shape(log) for i, log in apart.members.items()
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ClusterTest.shouldStopLeaderAndRestartAsFollower", [{0: [1], 1: [1], 2: [1, 282]}]),
        ("SingleNodeTest.shouldReplayLog", [{0: [1, 70]}]),
        ("ClusterBackupTest.shouldBackupClusterAndJoinLive", [{0: [1], 1: [1], 2: [1]}, {0: [1]}]),
        ("events-of-a-failed-test", [{0: [1], 1: [1, 1082], 2: [1]}]),
    ],
)
def test_the_log_of_a_system_test_is_divided(
    name: str, expected: list[dict[int, list[int]]]
) -> None:
    found = read_clusters([SYSTEM / f"{name}.log.gz"])

    assert [{i: starts(log) for i, log in one.members.items()} for one in found] == expected
    counts = [log.counts for one in found for log in one.members.values()]
    assert not any(one.unreadable for one in counts)


def test_each_line_of_a_shared_log_counts_once() -> None:
    path = SYSTEM / "ClusterTest.shouldStopLeaderAndRestartAsFollower.log.gz"
    lines = gzip.decompress(path.read_bytes()).count(b"\n")
    counts = [log.counts for log in read_cluster([path]).members.values()]

    assert sum(one.lines - one.other_members for one in counts) == lines
    assert [one.headers for one in counts] == [1, 0, 0]


def test_two_clusters_at_once_are_refused() -> None:
    path = SYSTEM / "MultiModuleSharedDriverTest.shouldSupportTwoMultiNodeClusters.log.gz"
    with pytest.raises(AeronLogError) as caught:
        read_clusters([path])

    assert (caught.value.code, caught.value.line) == (LogCode.OVERLAPPING_CLUSTERS, 135)


def test_a_cluster_that_is_read_twice_is_divided_the_same(tmp_path: Path) -> None:
    path = SYSTEM / "ClusterBackupTest.shouldBackupClusterAndJoinLive.log.gz"
    for whole, parts in zip(read_clusters([path]), read_clusters([path], kept=20), strict=True):
        assert all(log.reread is not None for log in parts.members.values() if len(shape(log)) > 20)
        for i, log in whole.members.items():
            other = parts.members[i]
            assert list(other.every_record()) == log.records
            assert (other.counts.events, other.named) == (log.counts.events, log.named)


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ((CLOSED, ACK, AGAIN), 2),
        ((CLOSED, ACK), 2),
        ((ACK, AGAIN), 2),
        ((AGAIN,), 2),
        ((ACK,), 1),
        ((CLOSED, commit(64, 105)), 1),
        ((commit(64, 105), STARTED), 1),
    ],
    ids=lambda value: str(len(value)) if isinstance(value, tuple) else str(value),
)
def test_a_start_without_a_header_begins_a_process(
    lines: tuple[str, ...], count: int, tmp_path: Path
) -> None:
    path = tmp_path / "member-0.log"
    path.write_bytes(text(HEADER, STARTED, *lines))
    (log,) = read_cluster([path]).members.values()

    assert len(starts(log)) == count
    if count > 1:
        first, second = (r for r in log.records if isinstance(r, ProcessStart))
        assert second.line == 4 if lines[0] == CLOSED else 3
        passed = second.time_ns - first.time_ns
        assert passed == (second.wall_time_ms - first.wall_time_ms) * 1_000_000
        assert second.loggers == first.loggers


@pytest.mark.parametrize("second", [3, 4])
def test_a_new_cluster_begins_where_all_members_start_with_empty_disks(
    second: int, tmp_path: Path
) -> None:
    """A member that starts with a log goes on with the cluster before it."""
    rounds = [(CLOSED, AGAIN), (CLOSED, AGAIN.replace("appendPosition=0", "appendPosition=64"))]
    for lines, clusters in zip(rounds, (2, 1), strict=True):
        several = (
            line.replace("memberId=0", f"memberId={i}")
            for line in (STARTED, *lines)
            for i in range(second)
        )
        path = tmp_path / "all.log"
        path.write_bytes(text(HEADER, *several))
        found = read_clusters([path])

        assert [sorted(one.members) for one in found] == [list(range(second))] * clusters
        events = [log.counts.events for one in found for log in one.members.values()]
        assert sum(chain.from_iterable(e.values() for e in events)) == 3 * second

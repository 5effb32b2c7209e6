"""Clusters of spoilt logs: each has an outcome, which is what the checker says of the run that was
written, or an error of one line that names the file.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from canvass.conformance.findings import DivergenceClass, RunVerdict, Verdict
from canvass.traces.aeron_log.source import AeronLogError
from canvass.traces.alignment import importer, segment_search
from canvass.traces.alignment.alignment import ImportFault
from canvass.traces.alignment.importer import (
    CONTRADICTED,
    EXPLAINED,
    INCOMPLETE,
    ImportSummary,
    import_logs,
)
from support.aeron_hostile_clusters import hostile_cluster, hostile_clusters, write_files
from support.aeron_runs import SAMPLES, lines_by_member, write_logs
from support.checked_runs import checked

CALM, KILLED = SAMPLES
SESSION = (
    "[1000.000000000] CLUSTER: CLUSTER_SESSION_STATE_CHANGE [50/50]: memberId=0 sessionId=1 "
    'INIT -> CONNECTED reason=""'
)


def outcome_of(files: dict[str, bytes], folder: Path) -> str:
    """The result for the files of a folder; an error is one line that names one of them."""
    logs = write_files(folder / "logs", files)
    try:
        summary = import_logs([logs], folder / "run")
    except (AeronLogError, ImportFault) as error:
        named = str(error).startswith(str(logs)) and str(error).isprintable()
        return "refused" if named else str(error)
    assert_agreed(summary, checked(folder / "run"))
    return summary.outcome


def assert_agreed(summary: ImportSummary, found: RunVerdict) -> None:
    """The checker says the same; a true log may show that its cluster broke a property."""
    broken = all(one.kind is DivergenceClass.SAFETY_PROPERTY for one in found.divergences)
    if summary.outcome == CONTRADICTED:
        assert found.verdict is Verdict.DIVERGES
    elif summary.outcome == EXPLAINED:
        assert broken, found
    else:
        # What is left may conform. If not even the first line is possible, nothing was checked.
        assert broken or summary.stopped, (summary, found)
    assert (summary.outcome == INCOMPLETE) == bool(summary.missing and not summary.contradiction)


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        (1, 60),
        # A cluster takes 0.07 s of processor time, so each of these cases takes some two minutes.
        *(pytest.param(seed, 2_000, marks=pytest.mark.night) for seed in range(100, 110)),
    ],
)
def test_a_spoilt_cluster_has_an_outcome(seed: int, count: int, tmp_path: Path) -> None:
    found = {
        outcome_of(files, tmp_path / str(number))
        for number, files in enumerate(hostile_clusters(seed, count))
    }

    assert found == {EXPLAINED, INCOMPLETE, CONTRADICTED, "refused"}


@pytest.mark.parametrize(
    ("outcome", "seed"),
    [
        pytest.param(INCOMPLETE, "2311 1395", id="a member has lines of services alone"),
        pytest.param(INCOMPLETE, "2311 4996", id="the stamps of a log fall"),
        pytest.param(INCOMPLETE, "104 109", id="a log ends before the election of its member"),
        pytest.param(INCOMPLETE, "100 868", id="the same, and only that log names the wall time"),
        pytest.param(INCOMPLETE, "102 1938", id="a gap shows after a message was taken for false"),
        pytest.param(INCOMPLETE, "105 604", id="flags that are no byte"),
        pytest.param(CONTRADICTED, "103 1278", id="the sender of a message has sent none"),
        pytest.param(CONTRADICTED, "103 286", id="the sender of a message is its receiver"),
        pytest.param(CONTRADICTED, "105 1637", id="lines are missing before a false one"),
        pytest.param(CONTRADICTED, "100 1509", id="a position is none, and its sender has gaps"),
    ],
)
def test_missing_lines_differ_from_false_ones(outcome: str, seed: str, tmp_path: Path) -> None:
    # The first cluster has no log of member 0, and no line names it.
    assert outcome_of({"member-0.log": b"", **hostile_cluster(seed)}, tmp_path) == outcome


def test_a_log_may_end_between_the_lines_of_one_step(tmp_path: Path) -> None:
    """The first line of a step is there, and no more."""
    logs = lines_by_member(CALM)
    leader = next(i for i in range(3) if any("ROLE_CHANGE" in line for line in logs[i]))
    place = next(k for k, line in enumerate(logs[leader]) if "ROLE_CHANGE" in line)
    logs[leader] = logs[leader][: place + 1]

    summary = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")
    assert summary.outcome == INCOMPLETE


def test_a_log_without_a_line_of_the_protocol_accuses_nobody(tmp_path: Path) -> None:
    logs = lines_by_member(CALM)
    logs[0] = [SESSION]

    summary = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")
    assert summary.outcome == INCOMPLETE


def test_a_search_that_meets_its_bound_accuses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_search, "SEARCH", 0)
    dropped = (" CANVASS_POSITION ", " APPEND_POSITION ", " COMMIT_POSITION ")
    logs = {
        i: [line for line in lines if not any(one in line for one in dropped)]
        for i, lines in lines_by_member(KILLED).items()
    }

    summary = import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")
    assert summary.outcome in (EXPLAINED, INCOMPLETE)


@pytest.mark.parametrize("kept", [importer.KEPT_LINES, 50], ids=["in memory", "read twice"])
@pytest.mark.parametrize("member_id", [8, 96])
def test_an_id_that_no_member_has_is_refused_where_it_is_named(
    member_id: int, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "KEPT_LINES", kept)
    logs = lines_by_member(CALM)
    leader = next(i for i in range(3) if any(" APPEND_POSITION " in line for line in logs[i]))
    found = [k for k, line in enumerate(logs[leader]) if " APPEND_POSITION " in line]
    line = logs[leader][found[-1]]
    logs[leader][found[-1]] = re.sub(r"followerMemberId=\d", f"followerMemberId={member_id}", line)

    with pytest.raises(ImportFault, match=rf":{found[-1] + 1}: member {member_id} is named"):
        import_logs([write_logs(tmp_path / "logs", logs)], tmp_path / "run")


def test_a_cluster_whose_ids_begin_with_1_is_refused(tmp_path: Path) -> None:
    """Read as a cluster of four, one of whose members never ran, it would need another quorum."""
    ids = re.compile(r"([mM]emberId|leaderId|candidateId|voterId)=(\d)")
    logs = {
        i + 1: [ids.sub(lambda m: f"{m[1]}={int(m[2]) + 1}", line) for line in lines]
        for i, lines in lines_by_member(CALM).items()
    }
    folder = write_logs(tmp_path / "logs", logs)

    with pytest.raises(ImportFault, match=r"member 1 is named, and no line names member 0: "):
        import_logs([folder], tmp_path / "run")
    (folder / "member-0.log").touch()
    assert import_logs([folder], tmp_path / "run").member_count == 4


def test_an_empty_log_beyond_a_gap_is_named(tmp_path: Path) -> None:
    folder = write_logs(tmp_path / "logs", lines_by_member(CALM))
    (folder / "member-5.log").touch()

    with pytest.raises(ImportFault, match=r"member-5\.log: member 5 is named, and no line names"):
        import_logs([folder], tmp_path / "run")

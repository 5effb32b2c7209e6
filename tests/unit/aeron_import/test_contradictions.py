"""A line that no behaviour of the spec explains is named, and the run ends with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from canvass.cli.main import run
from canvass.cluster.core import step as core_step
from canvass.conformance.check import check_run
from canvass.conformance.verdict import Verdict
from canvass.traces.aeron_import import search
from canvass.traces.aeron_import.events import events_of
from canvass.traces.aeron_import.importer import import_logs
from canvass.traces.aeron_import.proposing import Imported, propose
from canvass.traces.aeron_import.summary import CONTRADICTED, EXPLAINED, INCOMPLETE
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.facts import FactKind
from canvass.traces.run import RunFolder
from support.aeron_hostile import HostileCluster
from support.aeron_runs import SAMPLES, captures, lines_of, write_logs
from support.aeron_text import texts_of
from support.judging import core_judge

CAPTURES = captures()
CUT = [
    p for p in CAPTURES if any("TRUNCATE_LOG_ENTRY" in x for m in range(3) for x in lines_of(p, m))
]


@pytest.fixture(
    params=[
        pytest.param(path, marks=() if path in SAMPLES else pytest.mark.night) for path in CAPTURES
    ],
    ids=lambda path: path.name,
)
def capture(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def logs_of(path: Path) -> dict[int, list[str]]:
    return {member_id: list(lines_of(path, member_id)) for member_id in range(3)}


def place(lines: list[str], pattern: str, number: int = 0) -> int:
    return [k for k, line in enumerate(lines) if re.search(pattern, line)][number]


def stamp(line: str) -> float:
    match = re.match(r"\[([\d.]+)\]", line)
    return float(match[1]) if match else 0.0


def imported(tmp_path: Path, logs: dict[int, list[str]]) -> Imported:
    return propose(read_cluster([write_logs(tmp_path / "logs", logs)]))


def failed_at(found: Imported) -> tuple[int, int]:
    """Member and line, counted from 1, of what is not explained."""
    assert found.failure is not None
    member_id = found.failure.member_id
    evidence = found.proposals[member_id].evidence
    return member_id, evidence.records[found.failure.index].line


def divergence_of(found: Imported) -> str:
    """Why the checker cannot but refuse the last event of the failed member."""
    assert found.failure is not None
    proposal = found.proposals[found.failure.member_id]
    last = proposal.steps[-1]
    assert found.failure.index in last.lines
    if last.delivery is not None and last.delivery.number < 0:
        return "a message that nobody sent"
    before = proposal.steps[-2].state
    outcome = core_step(found.rules, proposal.member_id, before, last.action, last.given)
    assert outcome is None or outcome.next != last.state
    return "a step that the spec does not allow"


def test_a_vote_granted_to_a_second_candidate_in_one_term(capture: Path, tmp_path: Path) -> None:
    logs = logs_of(capture)
    granted = "CLUSTER: VOTE.*vote=true"
    candidate = next(m for m in logs if any(re.search(granted, line) for line in logs[m]))
    vote = logs[candidate][place(logs[candidate], granted, -1)]
    voter = int(re.search(r"voterId=(\d)", vote)[1])  # type: ignore[index]
    other = ({0, 1, 2} - {candidate, voter}).pop()
    forged = re.sub(r"memberId=\d", f"memberId={other}", vote, count=1)
    forged = re.sub(r"candidateId=\d", f"candidateId={other}", forged)
    at = [k for k, line in enumerate(logs[other]) if 0 < stamp(line) <= stamp(vote)][-1] + 1
    logs[other].insert(at, forged)
    found = imported(tmp_path, logs)

    assert (other, at + 1) == failed_at(found)
    assert divergence_of(found) == "a message that nobody sent"


def test_a_commit_position_beyond_every_append_position(capture: Path, tmp_path: Path) -> None:
    logs = logs_of(capture)
    at = place(logs[0], "CLUSTER: COMMIT_POSITION", 40)
    logs[0][at] = re.sub(r"logPosition=\d+", "logPosition=99999968", logs[0][at])
    found = imported(tmp_path, logs)

    assert (0, at + 1) == failed_at(found)
    assert divergence_of(found) == "a message that nobody sent"


def test_a_leader_in_a_term_that_nobody_voted_for(capture: Path, tmp_path: Path) -> None:
    logs = logs_of(capture)
    won = "CANDIDATE_BALLOT -> LEADER_LOG_REPLICATION"
    leader = next(m for m in logs if any(won in line for line in logs[m]))
    at = place(logs[leader], won)
    begun = max(k for k in range(at) if "NOMINATE -> CANDIDATE_BALLOT" in logs[leader][k])
    logs[leader] = [
        line
        for k, line in enumerate(logs[leader])
        if not ("CLUSTER: VOTE" in line and begun < k < at)
    ]
    found = imported(tmp_path, logs)

    assert (leader, place(logs[leader], won) + 1) == failed_at(found)
    assert divergence_of(found) == "a step that the spec does not allow"


def test_a_swapped_pair_of_state_changes(capture: Path, tmp_path: Path) -> None:
    logs = logs_of(capture)
    changes = [k for k, line in enumerate(logs[1]) if "ELECTION_STATE_CHANGE" in line][1:3]
    stamps = [logs[1][k].split("]", 1)[0] for k in changes]
    texts = [logs[1][k].split("]", 1)[1] for k in changes]
    for k, begin, text in zip(changes, stamps, reversed(texts), strict=True):
        logs[1][k] = f"{begin}]{text}"
    found = imported(tmp_path, logs)

    assert (1, changes[0] + 1) == failed_at(found)
    assert divergence_of(found) == "a step that the spec does not allow"


def test_a_new_leadership_term_from_a_member_that_never_won(capture: Path, tmp_path: Path) -> None:
    logs = logs_of(capture)
    at = place(logs[2], "CLUSTER: NEW_LEADERSHIP_TERM", -1)
    leader = int(re.search(r"leaderId=(\d)", logs[2][at])[1])  # type: ignore[index]
    other = min({0, 1} - {leader})
    logs[2][at] = re.sub(r"leaderId=\d", f"leaderId={other}", logs[2][at])
    found = imported(tmp_path, logs)

    assert (2, at + 1) == failed_at(found)
    assert divergence_of(found) == "a message that nobody sent"


@pytest.mark.parametrize("path", CUT, ids=lambda path: path.name)
def test_a_truncation_below_what_is_committed(path: Path, tmp_path: Path) -> None:
    logs = logs_of(path)
    member_id = next(m for m in logs if any("TRUNCATE_LOG_ENTRY" in line for line in logs[m]))
    at = place(logs[member_id], "TRUNCATE_LOG_ENTRY")
    logs[member_id][at] = re.sub(r"newPosition=\d+", "newPosition=32", logs[member_id][at])
    found = imported(tmp_path, logs)

    assert (member_id, at + 1) == failed_at(found)
    assert divergence_of(found) == "a step that the spec does not allow"


def test_the_command_names_file_and_line(tmp_path: Path) -> None:
    logs = logs_of(CAPTURES[0])
    at = place(logs[0], "CLUSTER: COMMIT_POSITION", 40)
    logs[0][at] = re.sub(r"logPosition=\d+", "logPosition=99999968", logs[0][at])
    folder = write_logs(tmp_path / "logs", logs)
    summary = import_logs([folder], tmp_path / "run")

    assert summary.outcome == CONTRADICTED
    assert summary.contradiction is not None
    assert ("member-0.log", at + 1) == (summary.contradiction.file, summary.contradiction.line)
    assert (tmp_path / "run" / "run.json").exists()


def test_the_log_of_a_member_that_is_missing_makes_the_run_incomplete(
    capture: Path, tmp_path: Path
) -> None:
    for absent in range(3):
        logs = logs_of(capture)
        del logs[absent]
        folder = write_logs(tmp_path / f"logs-{absent}", logs)
        summary = import_logs([folder], tmp_path / f"run-{absent}")
        facts = RunFolder(tmp_path / f"run-{absent}").load().facts

        assert summary.outcome == INCOMPLETE, summary.contradiction
        assert [(FactKind.MISSING_STREAM, absent)] == [(f.kind, f.member_id) for f in facts]


def test_a_line_that_cannot_be_read_leaves_a_gap(capture: Path, tmp_path: Path) -> None:
    logs = logs_of(capture)
    at = place(logs[0], "CLUSTER: COMMIT_POSITION", 30)
    logs[0][at] = logs[0][at][:60]
    folder = write_logs(tmp_path / "logs", logs)
    summary = import_logs([folder], tmp_path / "run")
    facts = RunFolder(tmp_path / "run").load().facts

    assert summary.outcome == INCOMPLETE, summary.contradiction
    assert [(fact.kind, fact.member_id) for fact in facts] == [(FactKind.GAP, 0)]


def test_a_run_that_failed_still_has_only_known_events(tmp_path: Path) -> None:
    logs = logs_of(CAPTURES[0])
    before, at = (place(logs[1], "ELECTION_STATE_CHANGE", number) for number in (1, 2))
    logs[1][at] = logs[1][before]
    found = imported(tmp_path, logs)

    assert found.failure is not None
    assert all(events_of(proposal) for proposal in found.proposals.values())


def test_a_log_without_its_end_makes_the_run_incomplete(capture: Path, tmp_path: Path) -> None:
    for member_id in range(3):
        logs = logs_of(capture)
        del logs[member_id][len(logs[member_id]) * 2 // 3 :]
        folder = write_logs(tmp_path / f"logs-{member_id}", logs)
        summary = import_logs([folder], tmp_path / f"run-{member_id}")
        facts = RunFolder(tmp_path / f"run-{member_id}").load().facts

        heard = bool(summary.missing)

        # Where nobody has heard more of the member the log is as good as a whole one.
        assert summary.outcome == (INCOMPLETE if heard else EXPLAINED), summary.contradiction
        assert [fact.member_id for fact in facts] == ([member_id] if heard else [])


def test_a_log_without_its_beginning_makes_the_run_incomplete(
    capture: Path, tmp_path: Path
) -> None:
    for member_id in range(3):
        logs = logs_of(capture)
        logs[member_id] = logs[member_id][len(logs[member_id]) // 3 :]
        folder = write_logs(tmp_path / f"logs-{member_id}", logs)
        summary = import_logs([folder], tmp_path / f"run-{member_id}")
        facts = RunFolder(tmp_path / f"run-{member_id}").load().facts

        assert summary.outcome == INCOMPLETE, summary.contradiction
        assert {member_id} == {fact.member_id for fact in facts}


def test_a_search_that_met_its_bound_says_nothing_of_the_line_it_stopped_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """These logs are true; to explain them messages have to be moved, which is forbidden here."""
    cluster = HostileCluster(188, 3, "pauses")
    cluster.run(15_000)
    texts = texts_of({i: node.lines for i, node in enumerate(cluster.nodes)})
    folder = write_logs(tmp_path / "logs", texts)
    monkeypatch.setattr(search, "TRIES", 0)
    code = run(["import", "aeron", str(folder), "--out", str(tmp_path / "run")])
    printed = " ".join(capsys.readouterr().out.split())
    verdict = check_run(tmp_path / "run", core_judge())

    assert code == 3
    assert re.search(r"missing: an explanation of member-\d\.log:\d+: ", printed)
    assert "did not send this NewLeadershipTerm, as far as is known" in printed
    assert "the search met its bound, and the run ends before the line" in printed
    assert "--effort 10 searches longer" in printed
    assert verdict.verdict is Verdict.INCOMPLETE
    assert verdict.events > 100

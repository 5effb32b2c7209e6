"""The members that a leader counts: those it has heard of, and their reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from canvass.cluster.member import ElectionState, Member, Role
from canvass.cluster.messages import CommitPosition
from canvass.traces.alignment.driven_member import DrivenMember, RunStep
from canvass.traces.alignment.possible_steps import TICKS
from canvass.traces.alignment.replay import is_reported_by_quorum, reporters_to
from support.aeron_runs import FINDING, SAMPLES, aligned, lines_by_member, write_logs

LOGS = pytest.mark.parametrize("path", [FINDING, *SAMPLES], ids=lambda path: path.name)


def steps_of(path: Path) -> Iterator[tuple[DrivenMember, Member, RunStep]]:
    """Each step with the state before it."""
    for live in aligned(path).members.values():
        before = live.windows.trajectory.before
        for step in live.emitted:
            yield live, before, step
            before = step.state


@LOGS
def test_a_leader_commits_what_a_quorum_has_reported_in_its_term(path: Path) -> None:
    """In the sample with HZ6 a silent member has more of an older term, and would count too."""
    commits = [
        (live.member_id, before, step.state.commit_position)
        for live, before, step in steps_of(path)
        if step.action == "UpdateLeaderPosition"
        and step.state.commit_position > before.commit_position
    ]

    assert len(commits) > 10
    assert all(is_reported_by_quorum(*commit) for commit in commits)


def test_a_commit_position_that_came_before_the_report_counts_an_older_term(tmp_path: Path) -> None:
    """As in HZ1: the first report of term 4 is written after member 2 has received the commit."""
    logs = lines_by_member(FINDING)
    reported, later = "[5134.157130985] CLUSTER: APPEND_POSITION", "[5134.158998528]"
    place = next(at for at, line in enumerate(logs[0]) if line.startswith(reported))
    logs[0][place] = later + logs[0][place][len(later) :]
    commits = [
        (is_reported_by_quorum(live.member_id, before, 56_928), before.members[1].log_position)
        for live, before, step in steps_of(write_logs(tmp_path / "logs", logs))
        if before.commit_position < 56_928 == step.state.commit_position
        if step.action == "UpdateLeaderPosition"
    ]

    assert commits == [(False, 60_480)]


@LOGS
def test_an_announcement_counts_nobody_that_is_not_heard_of(path: Path) -> None:
    announcements = [
        (step.given.active, reporters_to(live.member_id, before))
        for live, before, step in steps_of(path)
        if step.outcome.sends
        and before.role is Role.LEADER
        and before.election_state is not ElectionState.CLOSED
        and step.action in TICKS.values()
        and step.action != "LeaderInit"
    ]

    assert announcements
    assert all(active <= heard for active, heard in announcements)


def test_a_commit_position_of_an_election_is_sent_to_a_member_that_runs() -> None:
    """Member 2 starts long after member 0 has become leader of term 4, and receives it thrice."""
    sent = [
        step.action
        for live, _, step in steps_of(FINDING)
        if live.member_id == 0 and step.state.leadership_term_id == 4
        for send in step.outcome.sends
        if send.to == 2 and isinstance(send.message, CommitPosition)
        if send.message.log_position == 0
    ]

    assert sent == ["LeaderReady"] * 3


def test_the_reason_of_an_election_says_whether_the_leader_closed_in_good_order(
    tmp_path: Path,
) -> None:
    path = SAMPLES[1]
    logs = lines_by_member(path)
    for lines in logs.values():
        lines[:] = [
            line.replace("leader heartbeat timeout", "log recording stopped: eos=true")
            for line in lines
        ]
    for folder, closed in ((path, False), (write_logs(tmp_path / "logs", logs), True)):
        left = [
            (before.leader_member_id, step.given.graceful_closed_leader_id)
            for _, before, step in steps_of(folder)
            if step.action == "EnterElection"
        ]

        assert left
        assert all((noted == leader) is closed for leader, noted in left)

"""Rules in which core and spec once differed from Aeron's own Java, each as one step.

Executing the member graph on the classes of a release showed them (`docs/theory`). The revision is
that of the release that has the rule. A rule that a mutant of the core breaks is not here: an edge
of a state graph finds each mutant.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.effects import Outcome, Send
from canvass.cluster.member import (
    NO_INPUT,
    NULL_RECORD,
    ElectionState,
    Input,
    Member,
    MemberRecord,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import AppendPosition, CommitPosition, Message, NewLeadershipTerm
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member

OPEN = (TermEntry(0, 0, -1),)
BOTH = pytest.mark.parametrize("revision", ["1.49", "1.50"])


def member(**fields: Any) -> Member:
    records = fields.pop("records", (NULL_RECORD,) * 3)
    found = persistent_member(Rules.of("1.50", len(records)))
    return replace(found, module_state=ModuleState.ACTIVE, members=records, **fields)


def closed(role: Role, **fields: Any) -> Member:
    given = {
        "leader_member_id": 0 if role is Role.LEADER else 1,
        "module_leadership_term_id": 0,
        "recording_log": OPEN,
    }
    return member(role=role, log_subscription=role is Role.FOLLOWER, **{**given, **fields})


def electing(state: ElectionState, **fields: Any) -> Member:
    given = {"leadership_term_id": 0, "candidate_term_id": 0, "append_position": 0}
    return member(
        election_state=state,
        **{**given, "notified_commit_position": 0, **fields},
    )


def ready(*records: MemberRecord, commit: int = 0) -> Member:
    """A leader that is ready, with all of its log appended and published."""
    return electing(
        ElectionState.LEADER_READY,
        role=Role.LEADER,
        leader_member_id=0,
        append_position=96,
        commit_position=commit,
        publication_position=96,
        module_leadership_term_id=0,
        log_leadership_term_id=0,
        recording_log=OPEN,
        records=(heard(0, 96), *records, NULL_RECORD),
    )


def heard(term: int, position: int) -> MemberRecord:
    return replace(NULL_RECORD, leadership_term_id=term, log_position=position)


def taken(revision: str, s: Member, action: str, x: Input = NO_INPUT) -> Outcome:
    outcome = core.step(Rules.of(revision, len(s.members)), 0, s, action, x)
    assert outcome is not None
    return outcome


def received(
    revision: str, s: Member, message: Message, active: frozenset[int] = frozenset()
) -> Outcome:
    return taken(revision, s, f"On{type(message).__name__}", Input(message=message, active=active))


def announced(term: int, position: int, commit: int) -> NewLeadershipTerm:
    return NewLeadershipTerm(term, -1, -1, -1, term, 0, position, commit, 1)


# --- who is counted, with which position


@pytest.mark.parametrize(("revision", "commit"), [("1.49", 0), ("1.50", 96)])
def test_a_leader_that_is_ready_may_lower_its_commit_position(revision: str, commit: int) -> None:
    """Source: ConsensusModuleAgent.updateLeaderPosition of 1.49: ``commitPosition.setRelease``."""
    s = ready(replace(NULL_RECORD, vote=1), commit=96)

    outcome = taken(revision, s, "LeaderReady", Input(active=frozenset({0}), commit_interval=True))

    assert outcome.next.commit_position == commit
    assert outcome.sends[0] == Send(1, CommitPosition(0, 0, 0))


def test_a_leader_that_is_ready_publishes_what_it_commits() -> None:
    """Source: ConsensusModuleAgent.updateLeaderPosition: it publishes whenever it commits."""
    s = ready(heard(-1, 96))

    outcome = taken("1.50", s, "LeaderReady", Input(active=frozenset({0, 1})))

    assert outcome.next.commit_position == 96
    assert outcome.sends == tuple(Send(j, CommitPosition(0, 96, 0)) for j in (1, 2))


# --- commit positions in 1.49


@pytest.mark.parametrize(("revision", "term"), [("1.49", -1), ("1.50", 0)])
def test_a_leader_of_149_publishes_in_the_term_of_its_module(revision: str, term: int) -> None:
    """Source: ConsensusModuleAgent.publishCommitPosition of 1.49."""
    s = electing(
        ElectionState.LEADER_LOG_REPLICATION,
        role=Role.LEADER,
        leader_member_id=0,
        publication_position=0,
    )
    x = Input(active=frozenset({0}), commit_interval=True)

    assert taken(revision, s, "LeaderLogReplication", x).sends[0].message == CommitPosition(
        term, 0, 0
    )


@pytest.mark.parametrize(("revision", "notified"), [("1.49", 288), ("1.50", 192)])
def test_a_follower_of_149_takes_the_end_of_its_leaders_log_for_committed(
    revision: str, notified: int
) -> None:
    """Source: ConsensusModuleAgent.onNewLeadershipTerm of 1.49."""
    s = closed(Role.FOLLOWER, module_notified_commit_position=96)
    commit = -1 if revision == "1.49" else 192

    outcome = received(revision, s, announced(0, 288, commit))

    assert outcome.next.module_notified_commit_position == notified


@pytest.mark.parametrize(("revision", "notified"), [("1.49", 96), ("1.50", 192)])
def test_what_a_follower_of_149_is_notified_of_can_fall(revision: str, notified: int) -> None:
    """Source: ConsensusModuleAgent.onCommitPosition of 1.49, which assigns."""
    s = closed(Role.FOLLOWER, module_notified_commit_position=192)

    outcome = received(revision, s, CommitPosition(0, 96, 1))

    assert outcome.next.module_notified_commit_position == notified


@pytest.mark.parametrize(
    ("state", "term", "noted"),
    [
        (ElectionState.FOLLOWER_LOG_REPLICATION, -1, True),
        (ElectionState.FOLLOWER_CATCHUP, 0, True),
        (ElectionState.FOLLOWER_CATCHUP, -1, False),
        (ElectionState.FOLLOWER_REPLAY, 0, False),
        (ElectionState.FOLLOWER_CATCHUP_AWAIT, 0, False),
        (ElectionState.FOLLOWER_READY, 0, False),
    ],
)
def test_a_follower_of_149_notes_commit_positions_in_two_states_of_an_election(
    state: ElectionState, term: int, noted: bool
) -> None:
    """Source: Election.onCommitPosition of 1.49; 1.50 notes them in each but INIT."""
    s = electing(state, leader_member_id=1, catchup_join_position=96)
    message = CommitPosition(term, 96, 1)

    assert received("1.49", s, message).next.notified_commit_position == (96 if noted else 0)
    assert received("1.50", s, message).next.notified_commit_position == 96


@pytest.mark.parametrize(("revision", "notified"), [("1.49", 96), ("1.50", 192)])
def test_an_election_of_149_ends_with_what_is_processed_notified(
    revision: str, notified: int
) -> None:
    """Source: ConsensusModuleAgent.electionComplete of 1.49, which assigns."""
    s = electing(
        ElectionState.FOLLOWER_READY,
        leader_member_id=1,
        commit_position=96,
        module_notified_commit_position=192,
    )

    assert taken(revision, s, "FollowerReady").next.module_notified_commit_position == notified


def test_a_leader_of_149_commits_its_own_log_when_its_election_ends() -> None:
    """Source: ConsensusModuleAgent.electionComplete: the counter is set to the log position."""
    s = ready(heard(0, 96))

    outcome = taken("1.49", s, "LeaderReady", Input(active=frozenset({0}), position=192))

    assert outcome.next.election_state is ElectionState.CLOSED
    assert outcome.next.commit_position == 96


@pytest.mark.parametrize(("revision", "noted"), [("1.49", -1), ("1.50", 0)])
def test_a_closed_leader_of_149_notes_no_reported_term(revision: str, noted: int) -> None:
    """Source: ConsensusModuleAgent.onAppendPosition of 1.49."""
    s = closed(Role.LEADER, publication_position=192)

    outcome = received(revision, s, AppendPosition(0, 96, 1, 0))

    assert outcome.next.members[1] == heard(noted, 96)


def test_a_single_member_of_149_leads_the_same_term_again_after_an_error() -> None:
    """Source: Election's constructor and init of 1.49."""
    rules = Rules.of("1.49", 1)
    leads = core.step(rules, 0, persistent_member(rules), "Restart", NO_INPUT)
    assert leads is not None
    failed = core.step(rules, 0, leads.next, "ElectionError", NO_INPUT)
    assert failed is not None
    again = core.step(rules, 0, failed.next, "ElectionInit", NO_INPUT)

    assert again is not None
    assert again.next.leadership_term_id == leads.next.leadership_term_id == 0


# --- terminations


@BOTH
@pytest.mark.parametrize(("end", "goes_on"), [(96, False), (192, True)])
def test_a_follower_processes_nothing_beyond_its_termination(
    revision: str, end: int, goes_on: bool
) -> None:
    """Source: ConsensusModuleAgent.consensusWork."""
    s = closed(
        Role.FOLLOWER,
        commit_position=96,
        recorded_position=288,
        module_notified_commit_position=288,
        termination_position=end,
        termination_leadership_term_id=0,
    )

    outcome = core.step(Rules.of(revision), 0, s, "ConsumeLog", Input(position=288))

    assert (outcome is not None) == goes_on


@BOTH
@pytest.mark.parametrize(
    ("begins", "end", "takes"),
    [
        (-1, 288, False),
        (96, 288, True),
        (224, 288, True),
        (240, 288, False),  # It begins at the bound.
        (64, 288, False),  # It has been processed.
        (224, 320, False),  # It has not been recorded.
        (224, 240, True),  # The bound is its end.
    ],
)
@pytest.mark.parametrize("action", ["ConsumeLog", "OnReplayNewLeadershipTermEvent"])
def test_an_entry_that_begins_before_the_bound_is_processed_whole(
    revision: str, action: str, begins: int, end: int, takes: bool
) -> None:
    """Source: Image.boundedControlledPoll."""
    s = closed(
        Role.FOLLOWER,
        commit_position=96,
        recorded_position=288,
        module_notified_commit_position=240,
    )
    x = Input(position=end, entry_position=begins)
    if action == "OnReplayNewLeadershipTermEvent":
        x = replace(x, leadership_term_id=1, term_base_log_position=96)

    outcome = core.step(Rules.of(revision), 0, s, action, x)

    assert (outcome is not None) == takes
    assert outcome is None or outcome.next.commit_position == end


@BOTH
def test_a_leader_obeys_its_own_request_to_terminate_alone(revision: str) -> None:
    """Source: ConsensusModuleAgent.slowTickWork, checkClusterControlToggle."""
    rules = Rules.of(revision)
    s = closed(
        Role.LEADER,
        module_leadership_term_id=1,
        commit_position=192,
        publication_position=192,
        recording_log=(TermEntry(0, 0, 96), TermEntry(1, 96, -1)),
        termination_position=96,
        termination_leadership_term_id=0,
    )

    assert core.step(rules, 0, s, "Terminate", NO_INPUT) is None
    asked = core.step(rules, 0, s, "InitiateTermination", NO_INPUT)
    assert asked is not None
    assert asked.next.termination_position == 192
    assert core.step(rules, 0, asked.next, "InitiateTermination", NO_INPUT) is None
    assert core.step(rules, 0, asked.next, "Terminate", NO_INPUT) is not None


def copying(recorded: int, **fields: Any) -> Member:
    given = {
        "leader_member_id": 1,
        "leadership_term_id": 1,
        "candidate_term_id": 1,
        "recorded_position": recorded,
        "notified_commit_position": 2,
        "replication_leadership_term_id": 0,
        "replication_stop_position": 2,
        "replication_term_base_log_position": 0,
        "log_replication": True,
    }
    return electing(ElectionState.FOLLOWER_LOG_REPLICATION, **{**given, **fields})


@BOTH
def test_a_copy_ends_nowhere_but_where_its_recording_ends(revision: str) -> None:
    for position in (0, 2, 3):
        x = Input(position=position)

        assert core.step(Rules.of(revision, 3), 0, copying(1), "FollowerLogReplication", x) is None


@pytest.mark.parametrize(
    "state", [ElectionState.FOLLOWER_LOG_AWAIT, ElectionState.FOLLOWER_CATCHUP_AWAIT]
)
@BOTH
def test_a_recording_grows_before_the_term_is_on_disk(revision: str, state: ElectionState) -> None:
    awaits = electing(state, recorded_position=1, append_position=1, recording_log=OPEN)

    after = taken(revision, awaits, "RecordLog", Input(position=2)).next

    assert (after.recorded_position, after.append_position) == (2, 1)
    assert after.recording_log == OPEN


@pytest.mark.parametrize(
    ("revision", "log"), [("1.50", ()), ("hardened", OPEN)], ids=["no recording", "hardened"]
)
def test_nothing_is_recorded_before_the_log_is_joined(
    revision: str, log: tuple[TermEntry, ...]
) -> None:
    awaits = electing(ElectionState.FOLLOWER_LOG_AWAIT, recording_log=log)

    assert core.step(Rules.of(revision, 3), 0, awaits, "RecordLog", Input(position=2)) is None

"""Rules in which core and spec once differed from Aeron's own Java, each as one step.

Executing the member graph on the classes of a release showed them (`docs/theory`). The revision is
that of the release that has the rule. A rule is not here if an edge of a state graph of a push
shows a core without it.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.effects import Outcome
from canvass.cluster.member import (
    NO_INPUT,
    NULL_RECORD,
    ElectionState,
    Input,
    Member,
    ModuleState,
    Role,
    TermEntry,
)
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


def taken(revision: str, s: Member, action: str, x: Input = NO_INPUT) -> Outcome:
    outcome = core.step(Rules.of(revision, len(s.members)), 0, s, action, x)
    assert outcome is not None
    return outcome


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
    heard = replace(NULL_RECORD, leadership_term_id=0, log_position=96)
    s = electing(
        ElectionState.LEADER_READY,
        role=Role.LEADER,
        leader_member_id=0,
        append_position=96,
        publication_position=96,
        module_leadership_term_id=0,
        log_leadership_term_id=0,
        recording_log=OPEN,
        records=(heard, heard, NULL_RECORD),
    )

    outcome = taken("1.49", s, "LeaderReady", Input(active=frozenset({0}), position=192))

    assert outcome.next.election_state is ElectionState.CLOSED
    assert outcome.next.commit_position == 96


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

"""What is inferred from a few lines, asked of the functions that infer it: answers, what a leader
has written, and what a kill took with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from canvass.cluster.member import (
    NO_INPUT,
    ElectionState,
    Member,
    MemberRecord,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import CATCHUP_FLAG, NULL_VALUE, StopCatchup
from canvass.cluster.messages import RequestVote as Request
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_import.agreement import is_circular
from canvass.traces.aeron_import.channels import Channel, Delivery
from canvass.traces.aeron_import.deliveries import Plan, make_plan, replan
from canvass.traces.aeron_import.driver import begin
from canvass.traces.aeron_import.evidence import MemberEvidence, set_segments, set_times
from canvass.traces.aeron_import.lost_lines import LostLines
from canvass.traces.aeron_import.meeting import meet
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_import.step import Step
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import Line

RULES = Rules(3, "1.50")
MS = 1_000_000


def evidence(member_id: int, *lines: Line) -> MemberEvidence:
    found = MemberEvidence(member_id, (f"member-{member_id}.log",), list(lines))
    set_times(found, 0)
    set_segments(found)
    return found


def by_id(*found: MemberEvidence) -> dict[int, MemberEvidence]:
    return {one.member_id: one for one in found}


def proposals_of(members: Mapping[int, MemberEvidence], plan: Plan) -> dict[int, Proposal]:
    return {member_id: begin(RULES, plan, one) for member_id, one in members.items()}


def change(
    ms: int, member_id: int, old: str, new: str, leader: int = 0, term: int = 0
) -> records.ElectionStateChange:
    where = (0, ms + 1, ms * MS, member_id)
    return records.ElectionStateChange(*where, old, new, leader, term, term, 0, 0, 160, -1, "")


def canvass(ms: int, member_id: int, follower: int) -> records.CanvassPosition:
    return records.CanvassPosition(0, ms + 1, ms * MS, member_id, 0, 160, 0, follower, 0)


def term(ms: int, member_id: int, position: int) -> records.NewLeadershipTerm:
    """A closed leader's answer to one whose log ends in the same term."""
    where = (0, ms + 1, ms * MS, member_id)
    ended = (NULL_VALUE, NULL_VALUE, NULL_VALUE)
    return records.NewLeadershipTerm(*where, 0, *ended, 0, 0, position, 0, 0, 0, 0, 0, 0, False)


def append(ms: int, member_id: int, position: int, follower: int) -> records.AppendPosition:
    where = (0, ms + 1, ms * MS, member_id)
    return records.AppendPosition(*where, 0, position, follower, CATCHUP_FLAG)


def commit(ms: int, member_id: int, position: int) -> records.CommitPosition:
    return records.CommitPosition(0, ms + 1, ms * MS, member_id, 0, position, 0)


def life(ms: int) -> records.LifeStart:
    return records.LifeStart(0, ms + 1, ms * MS, 0, 0, ())


def started(ms: int, member_id: int, position: int) -> records.NewElection:
    where = (0, ms + 1, ms * MS, member_id)
    return records.NewElection(*where, 0, 0, position, "node started")


# Answers.


def answers(asked: int) -> tuple[Plan, MemberEvidence, Channel]:
    """A leader was asked so often, and the last two times there came an answer."""
    asks = [canvass(number, 0, 1) for number in range(1, asked + 1)]
    leader = evidence(0, change(0, 0, "LEADER_READY", "CLOSED"), *asks)
    asker = evidence(1, change(0, 1, "INIT", "CANVASS", -1), term(50, 1, 160), term(51, 1, 160))
    plan = make_plan(by_id(leader, asker))
    return plan, leader, Channel(plan.queues[0, 1])


def test_an_answer_that_is_moved_moves_the_one_that_was_to_that_receipt() -> None:
    plan, leader, channel = answers(asked=3)
    first, second = channel.items
    assert (first.planned, second.planned) == (2, 3)

    changed = replan(plan, leader, channel, second, 3)

    assert changed is not None
    assert [one for one, _, _ in changed] == [second, first]
    assert (first.planned, second.planned) == (1, 2)


def test_an_answer_is_not_moved_if_that_leaves_another_without_a_receipt() -> None:
    plan, leader, channel = answers(asked=2)

    assert replan(plan, leader, channel, channel.items[1], 2) is None
    assert [one.planned for one in channel.items] == [1, 2]


# What a leader has written.


def leading(position: int) -> Member:
    """A closed leader that has recorded all it wrote, and replays its log to member 1."""
    return replace(
        persistent_member(RULES, 0, (TermEntry(0, 0, NULL_VALUE),), position),
        module_state=ModuleState.ACTIVE,
        role=Role.LEADER,
        module_leadership_term_id=0,
        publication_position=position,
        log_subscription=True,
        leader_member_id=0,
        members=(MemberRecord(), MemberRecord(catchup_replay=True), MemberRecord()),
        election_state=ElectionState.CLOSED,
    )


def test_a_leader_writes_on_before_a_report_that_would_end_a_catch_up_too_early() -> None:
    """Member 1 reports the end of what is known to be written, and is told to stop only later."""
    reports = [append(2, 0, 160, 1), append(4, 0, 288, 1)]
    leader = evidence(0, change(0, 0, "LEADER_READY", "CLOSED"), *reports)
    stop = records.StopCatchup(0, 6, 5 * MS, 1, 0, 1)
    follower = evidence(1, change(1, 1, "FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_CATCHUP"), stop)
    proposal = begin(RULES, make_plan(by_id(leader, follower)), leader)
    proposal.state = leading(160)

    for index in (1, 2):
        proposal.index, proposal.time = index, leader.times[index]
        meet(proposal, index)

    stops = [
        step.index for step in proposal.steps for _, sent in step.sends if type(sent) is StopCatchup
    ]
    assert stops == [2]
    assert proposal.plan.by_record[1, 1].number > 0


# What clocks that are known but roughly lead to.


@pytest.mark.parametrize("sent_first", [True, False])
def test_what_is_consumed_before_it_can_have_been_sent_is_circular(sent_first: bool) -> None:
    """Two members answer each other, each before it sends what the other answers."""
    members = by_id(evidence(0, commit(1, 0, 0)), evidence(1, commit(1, 1, 0)))
    plan = make_plan(members)
    proposals = proposals_of(members, plan)
    for member_id, proposal in proposals.items():
        other = 1 - member_id
        message = Request(0, 0, 1, member_id)
        cause = Delivery(other, member_id, message, 0, 0, 0, number=1)
        send = Step("A", NO_INPUT, proposal.state, 0, None, ((other, message),), 1)
        receive = Step("B", NO_INPUT, proposal.state, 0, cause, (), 2)
        first = sent_first and member_id == 0
        if not first:
            receive.first, send.first = 1, 1
        proposal.steps = [send, receive] if first else [receive, send]

    assert is_circular(proposals) is not sent_first


# What a kill took with it.


def test_what_is_supposed_to_be_received_last_is_known_as_such() -> None:
    """A vote came after the voter's last line: it had been asked. That nobody can have asked it is
    then no contradiction: there is no line that says so.
    """
    ballot = change(1, 0, "NOMINATE", "CANDIDATE_BALLOT", -1, 7)
    vote = records.Vote(0, 4, 3 * MS, 0, 0, 160, 7, 0, 1, True)
    candidate = evidence(0, ballot, vote)
    voter = evidence(1, change(0, 1, "INIT", "CANVASS", -1), life(9), started(10, 1, 160))
    members = by_id(candidate, voter)
    plan = make_plan(members)
    proposals = proposals_of(members, plan)
    lost = LostLines(members, plan)
    unsent = plan.by_record[0, 1]
    proposals[1].unsent.append(unsent)

    assert lost.suppose(proposals) == {0, 1}
    (request,) = unsent.supposed
    assert isinstance(request.message, Request)
    assert request.is_supposed

    proposals[1].unsent.clear()
    proposals[0].unsent.append(request)

    assert lost.suppose(proposals) == {1}
    assert request.excused


@pytest.mark.parametrize(
    ("received_ms", "later", "excused"),
    [
        (12, (), True),
        # What a kill takes is of some milliseconds.
        (80, (), False),
        # Neither of the others had recorded so much: their next lives show it.
        (12, (life(200), started(201, 2, 160)), False),
    ],
)
def test_a_commit_heard_after_a_leaders_last_line_may_rest_on_lines_that_are_lost(
    received_ms: int, later: tuple[Line, ...], excused: bool
) -> None:
    """All were killed, and nobody tells how far the followers had recorded."""
    leader = evidence(0, change(0, 0, "LEADER_READY", "CLOSED"), append(10, 0, 160, 1))
    hearer = evidence(1, change(0, 1, "FOLLOWER_READY", "CLOSED"), commit(received_ms, 1, 320))
    if later:
        again = [life(200), started(201, 1, 160)]
        hearer = evidence(1, *hearer.records, *again)
    other = evidence(2, change(0, 2, "FOLLOWER_READY", "CLOSED"), *later)
    members = by_id(leader, hearer, other)
    plan = make_plan(members)
    proposals = proposals_of(members, plan)
    lost = LostLines(members, plan, excuse=True)
    heard = plan.by_record[1, 1]
    proposals[0].unsent.append(heard)
    lost.suppose(proposals)

    assert heard.excused is excused
    assert lost.ends == ({0: {2}} if excused else {})

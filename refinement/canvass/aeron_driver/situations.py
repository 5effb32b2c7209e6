"""Situations beyond the state graphs, in which Aeron's outcome decides a question about a hazard.

A situation is a state and an input without an edge in any graph. The reference
core gives the spec's outcome: it takes exactly the spec's steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from canvass.aeron_driver.comparison import SENDS, fields_of, sends_of
from canvass.aeron_driver.compilation import Driver
from canvass.aeron_driver.drivable import HIDDEN, DrivableSteps
from canvass.aeron_driver.driving import edge_steps, outcomes_of
from canvass.aeron_driver.report import FieldDifference, Situation
from canvass.aeron_driver.run_steps import DistinctSteps, table_of
from canvass.aeron_driver.stream import Cells, StreamLayout
from canvass.cluster.core import ACTIONS as HANDLERS
from canvass.cluster.member import (
    ElectionState,
    Input,
    Member,
    MemberRecord,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import CommitPosition, NewLeadershipTerm
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.steps.step import Step
from canvass.traces.actions import Action

_MEMBERS: Final = 3
_NO_SENDS: Final = "none"


@dataclass(frozen=True, slots=True)
class Given:
    """A situation to drive.

    Parameters
    ----------
    name
        Name in the report.
    question
        The question that the outcome answers.
    action, state, given
        The step.
    hidden
        The departure of Aeron's hidden state; empty for none.
    """

    name: str
    question: str
    action: Action
    state: Member
    given: Input
    hidden: str = ""


def situations(revision: str) -> list[Given]:
    """Give the situations of a revision."""
    return [*_leaders(revision), *_forgotten(revision), *_terminations(revision)]


def _member(revision: str, **fields: object) -> Member:
    base = persistent_member(Rules.of(revision, _MEMBERS))
    return replace(base, module_state=ModuleState.ACTIVE, **fields)


def _leaders(revision: str) -> Iterator[Given]:
    record = MemberRecord(1, 2, 1, 1, ballot_sent=True, catchup_replay=False)
    behind = replace(record, log_position=1)
    leader = _member(
        revision,
        persisted_candidate_term_id=1,
        recorded_position=2,
        role=Role.LEADER,
        module_leadership_term_id=0,
        module_notified_commit_position=1,
        commit_position=1,
        publication_position=2,
        leader_member_id=0,
        election_state=ElectionState.LEADER_LOG_REPLICATION,
        log_leadership_term_id=0,
        leadership_term_id=1,
        candidate_term_id=1,
        append_position=2,
        notified_commit_position=0,
        recording_log=(TermEntry(0, 0, -1),),
        members=(record, record, behind),
    )
    states = {
        Action.LEADER_LOG_REPLICATION: leader,
        Action.LEADER_REPLAY: replace(
            leader, election_state=ElectionState.LEADER_REPLAY, replay_stop_position=2
        ),
        Action.LEADER_READY: replace(
            leader,
            election_state=ElectionState.LEADER_READY,
            commit_position=2,
            log_leadership_term_id=1,
            module_leadership_term_id=1,
            recording_log=(TermEntry(0, 0, 2), TermEntry(1, 2, -1)),
        ),
    }
    for action, state in states.items():
        for active in (frozenset({1, 2}), frozenset({1})):
            yield Given(
                f"{action.value} of a leader without a position of itself, active {set(active)}",
                "Does the leader count itself, at its present position?",
                action,
                state,
                Input(active=active, interval=True, commit_interval=True),
            )


def _forgotten(revision: str) -> Iterator[Given]:
    catching_up = _member(
        revision,
        recorded_position=2,
        leader_member_id=2,
        leadership_term_id=0,
        candidate_term_id=0,
        append_position=0,
        notified_commit_position=2,
        catchup_join_position=2,
        election_state=ElectionState.FOLLOWER_CATCHUP,
        log_subscription=True,
    )
    yield Given(
        "restart in a catch-up before the first entry",
        "Is a recording found again that was made before the recording log had an entry?",
        Action.RESTART,
        catching_up,
        Input(),
    )
    yield Given(
        "joining the log with a recording that the recording log does not name",
        "Is the recording extended, or is a new one started?",
        Action.FOLLOWER_LOG_AWAIT,
        replace(
            catching_up,
            commit_position=1,
            append_position=1,
            catchup_join_position=-1,
            election_state=ElectionState.FOLLOWER_LOG_AWAIT,
        ),
        Input(),
    )
    yield Given(
        "joining the log while the archive is slow",
        "Is the stream recorded before the term is in the recording log?",
        Action.FOLLOWER_LOG_AWAIT,
        replace(
            catching_up,
            recorded_position=1,
            commit_position=1,
            append_position=1,
            leadership_term_id=1,
            candidate_term_id=1,
            log_leadership_term_id=0,
            catchup_join_position=-1,
            election_state=ElectionState.FOLLOWER_LOG_AWAIT,
            recording_log=(TermEntry(0, 0, -1),),
        ),
        Input(),
        "the archive is slow to record",
    )
    yield Given(
        "joining the log at another position than the end of the member's log",
        "Is the log joined at the position of its image?",
        Action.FOLLOWER_LOG_AWAIT,
        _member(
            revision,
            recorded_position=1,
            commit_position=1,
            append_position=1,
            leadership_term_id=1,
            candidate_term_id=1,
            log_leadership_term_id=0,
            leader_member_id=2,
            election_state=ElectionState.FOLLOWER_LOG_AWAIT,
            log_subscription=True,
            recording_log=(TermEntry(0, 0, -1),),
        ),
        Input(),
        "the log joins elsewhere than the own log ends",
    )
    closed = _member(
        revision,
        recorded_position=1,
        module_leadership_term_id=0,
        module_notified_commit_position=1,
        log_subscription=True,
        leader_member_id=1,
        recording_log=(TermEntry(0, 0, -1),),
    )
    commit = -1 if revision == "1.49" else 1
    yield Given(
        "announcement to a closed follower",
        "Does the follower take the end of the leader's log as the commit position?",
        Action.ON_NEW_LEADERSHIP_TERM,
        closed,
        Input(message=NewLeadershipTerm(0, -1, -1, -1, 0, 0, 3, commit, 1)),
    )
    yield Given(
        "commit position below the previous one",
        "Does the notified commit position of a closed follower fall?",
        Action.ON_COMMIT_POSITION,
        replace(closed, module_notified_commit_position=3),
        Input(message=CommitPosition(0, 2, 1)),
    )


def _terminations(revision: str) -> Iterator[Given]:
    record = MemberRecord(1, 2, -1, -1, ballot_sent=False, catchup_replay=False)
    leader = _member(
        revision,
        persisted_candidate_term_id=1,
        recorded_position=3,
        role=Role.LEADER,
        module_leadership_term_id=1,
        module_notified_commit_position=2,
        commit_position=3,
        publication_position=3,
        leader_member_id=0,
        termination_position=1,
        termination_leadership_term_id=0,
        recording_log=(TermEntry(0, 0, 2), TermEntry(1, 2, -1)),
        members=(record, record, record),
    )
    yield Given(
        "a leader that requested a termination in an older term, at its deadline",
        "Does the leader end in the new term, and at which position is that term closed?",
        Action.TERMINATE,
        leader,
        Input(),
    )
    yield Given(
        "a leader that received a termination request in an older term, as a follower",
        "Does the leader end?",
        Action.TERMINATE,
        leader,
        Input(active=frozenset({0, 1, 2})),
        "the termination was asked for by another member",
    )
    yield Given(
        "an entry of a suspended leader",
        "Does the leader append?",
        Action.APPEND_ENTRY,
        replace(leader, termination_position=-1, termination_leadership_term_id=-1),
        Input(position=4),
        "the module is suspended",
    )


def drive_situations(driver: Driver, revision: str) -> list[Situation]:
    """Drive all situations of a revision, and give the outcomes of the spec and of Java.

    Raises
    ------
    DriverError
        If the driver's process ends.
    """
    rules, given = Rules.of(revision, _MEMBERS), situations(revision)
    spec = [HANDLERS[one.action.value](rules, 0, one.state, one.given) for one in given]
    taken = []
    for one, outcome in zip(given, spec, strict=True):
        after = one.state if outcome is None else outcome.next
        sends = () if outcome is None else tuple((each.to, each.message) for each in outcome.sends)
        taken.append(Step(0, one.state, one.action, one.given, after, sends))
    steps = DrivableSteps(table_of(DistinctSteps(rules, taken)))
    masks = [1 << HIDDEN.index(one.hidden) if one.hidden else 0 for one in given]
    chosen = edge_steps(steps, np.array(masks, dtype=np.int32))
    (outcomes,) = outcomes_of(driver, steps, chosen)
    found = []
    for row, (one, outcome) in enumerate(zip(given, spec, strict=True)):
        expected = _shown(steps.layout, outcomes.expected[row], outcomes.expected_sends[row])
        java = _shown(steps.layout, outcomes.java[row], outcomes.java_sends[row])
        differing = [
            FieldDifference(name, expected[name], java[name])
            for name in expected
            if expected[name] != java[name] or (name == SENDS and java[name] != _NO_SENDS)
        ]
        note = outcomes.answers.notes.get(row, "")
        found.append(
            Situation(
                one.name, one.question, one.action.value, outcome is not None, differing, note
            )
        )
    return found


def _shown(layout: StreamLayout, state: Cells, sends: Cells) -> dict[str, str]:
    shown = fields_of(layout, state.tolist())
    shown[SENDS] = "; ".join(sends_of(layout, sends.tolist())) or _NO_SENDS
    return shown

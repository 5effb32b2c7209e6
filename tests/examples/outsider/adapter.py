"""The adapter of `ledger` for canvass: its deeds as steps, its clerks as member states.

One table says which step each deed is, one function which message each letter, one which state each
clerk is in. This is all that has to be written for an implementation to be checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from canvass.cluster import messages
from canvass.cluster.member import (
    NO_INPUT,
    ElectionState,
    Input,
    Member,
    MemberRecord,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import NULL_VALUE
from canvass.traces.recorder import Recorder
from examples.outsider.ledger import Clerk, Letter

NONE: Final = NULL_VALUE
EVERYBODY: Final = frozenset(range(3))
S = ElectionState

DEEDS: Final = {
    "arrive": "Restart",
    "ask": "Canvass",
    "stand": "Nominate",
    "poll": "CandidateBallot",
    "win": "CandidateBallot",
    "proclaim": "LeaderLogReplication",
    "read": "LeaderReplay",
    "enter": "LeaderInit",
    "open": "LeaderReady",
    "join": "FollowerReplay",
    "subscribe": "FollowerLogInit",
    "hear": "FollowerLogAwait",
    "begin": "FollowerReady",
    "answer": "OnCanvassPosition",
    "pledge": "OnRequestVote",
    "count": "OnVote",
    "accept": "OnNewLeadershipTerm",
    "file": "OnAppendPosition",
    "note": "OnCommitPosition",
    "write": "AppendEntry",
    "copy": "RecordLog",
    "tell": "UpdateFollowerPosition",
    "settle": "UpdateLeaderPosition",
    "head": "OnReplayNewLeadershipTermEvent",
    "turn": "ConsumeLog",
}
"""For each deed the step of the protocol that it is."""

MOODS: Final = {
    "asking": S.CANVASS,
    "standing": S.NOMINATE,
    "polling": S.CANDIDATE_BALLOT,
    "pledged": S.FOLLOWER_BALLOT,
    "elected": S.LEADER_LOG_REPLICATION,
    "reading": S.LEADER_REPLAY,
    "entering": S.LEADER_INIT,
    "opening": S.LEADER_READY,
    "joining": S.FOLLOWER_REPLAY,
    "subscribing": S.FOLLOWER_LOG_INIT,
    "subscribed": S.FOLLOWER_LOG_AWAIT,
    "reporting": S.FOLLOWER_READY,
    "working": S.CLOSED,
}

INPUTS: Final[dict[str, Callable[[dict[str, Any]], Input]]] = {
    "ask": lambda _: Input(interval=True),
    "stand": lambda _: Input(timeout=True),
    "proclaim": lambda _: Input(interval=True, active=EVERYBODY),
    "read": lambda _: Input(active=EVERYBODY),
    "open": lambda facts: Input(active=EVERYBODY, position=facts["end"]),
    "write": lambda facts: Input(position=facts["end"]),
    "copy": lambda facts: Input(position=facts["end"]),
    "head": lambda facts: Input(
        position=facts["end"], leadership_term_id=0, term_base_log_position=0
    ),
    "turn": lambda facts: Input(position=facts["end"]),
    "settle": lambda _: Input(active=EVERYBODY),
}
"""For each deed that is more than reading a letter, what it goes by."""


def watcher(member: Callable[[int], Recorder]) -> Callable[..., None]:
    """Give what an office needs to be watched: it records each deed through its clerk's port."""
    clocks = [0, 0, 0]

    def watch(
        clerk: Clerk, deed: str, letter: Letter | None, out: list[Letter], **facts: Any
    ) -> None:
        clocks[clerk.desk] = max(clocks) + 1
        if letter is not None:
            given = Input(message=message_of(letter), active=EVERYBODY)
        elif deed == "poll":
            given = Input(accepted=EVERYBODY - {clerk.desk})
        else:
            given = INPUTS[deed](facts) if deed in INPUTS else NO_INPUT
        first = member(clerk.desk).record(
            clocks[clerk.desk],
            DEEDS[deed],
            state_of(clerk),
            inputs=given,
            sender=NONE if letter is None else letter.author,
            number=NONE if letter is None else letter.stamp,
            sends=[(one.reader, message_of(one)) for one in out],
        )
        for place, one in enumerate(out):
            one.stamp = first + place

    return watch


def message_of(letter: Letter) -> messages.Message:
    """Give the message that a letter is."""
    facts, author = letter.facts, letter.author
    match letter.about:
        case "question":
            return messages.CanvassPosition(NONE, facts["end"], NONE, author)
        case "ballot":
            return messages.RequestVote(NONE, facts["end"], facts["term"], author)
        case "pledge":
            return messages.Vote(facts["term"], NONE, facts["end"], letter.reader, author, True)
        case "claim":
            end = 0 if facts["entered"] else NONE
            return messages.NewLeadershipTerm(NONE, 0, 0, end, 0, 0, 0, 0, author)
        case "report":
            return messages.AppendPosition(facts["term"], facts["end"], author, 0)
        case "settled":
            return messages.CommitPosition(0, facts["end"], author)
        case other:
            raise ValueError(other)


def state_of(clerk: Clerk) -> Member:
    """Give the member state that a clerk is in."""
    working = clerk.mood == "working"
    leads = clerk.written >= 0
    in_log = bool(clerk.terms) and not working
    return Member(
        persisted_candidate_term_id=clerk.sealed_term,
        recording_log=tuple(TermEntry(term, 0, NONE) for term in clerk.terms),
        recorded_position=clerk.copied,
        snapshot_leadership_term_id=NONE,
        snapshot_term_base_log_position=0,
        snapshot_log_position=0,
        module_state=ModuleState.ACTIVE,
        role=Role.LEADER if leads else Role.CANDIDATE if clerk.mood == "polling" else Role.FOLLOWER,
        module_leadership_term_id=clerk.office_term,
        module_notified_commit_position=clerk.announced_settled,
        commit_position=clerk.settled,
        publication_position=clerk.written,
        log_subscription=clerk.listens,
        catchup_destination=False,
        termination_position=NONE,
        termination_leadership_term_id=NONE,
        leader_member_id=clerk.follows,
        members=tuple(
            MemberRecord(one.term, one.end, one.ballot, one.pledge, one.asked, False)
            for one in clerk.files
        ),
        election_state=MOODS[clerk.mood],
        log_leadership_term_id=clerk.terms[-1] if in_log else NONE,
        leadership_term_id=clerk.term,
        candidate_term_id=clerk.ballot,
        append_position=NONE if working else clerk.copied,
        notified_commit_position=NONE if working else 0,
        catchup_join_position=NONE,
        replication_leadership_term_id=NONE,
        replication_stop_position=NONE,
        replication_term_base_log_position=NONE,
        log_replication=False,
        replay_stop_position=NONE,
        graceful_closed_leader_id=NONE,
    )

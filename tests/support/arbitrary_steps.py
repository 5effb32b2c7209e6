"""Random steps of the core: any state of the right types, and an input that fits.

No run reaches most of these states. This is intended: the tested properties hold for any state, and
a broken rule shows sooner. Numbers are small, so that they are often equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from msgspec.structs import replace

from canvass.cluster.core import ACTIONS
from canvass.cluster.member import (
    ElectionState,
    Input,
    Member,
    MemberRecord,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import (
    CATCHUP_FLAG,
    MESSAGE_TYPES,
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CatchupPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    RequestVote,
    StopCatchup,
    TerminationAck,
    TerminationPosition,
    Vote,
)
from canvass.cluster.rules import Rules
from canvass.traces.schema import NumberKind, kind

TERMS: Final = (NULL_VALUE, 0, 1, 2, 3)
POSITIONS: Final = (NULL_VALUE, 0, 1, 2, 3, 4)

_STATES_THAT_ENABLE: Final = {
    "ElectionInit": (ElectionState.INIT,),
    "OnVote": (ElectionState.CANDIDATE_BALLOT,),
    "OnNewLeadershipTerm": (
        ElectionState.CANVASS,
        ElectionState.CANVASS,
        ElectionState.FOLLOWER_BALLOT,
        ElectionState.NOMINATE,
        ElectionState.CLOSED,
    ),
    "RecordLog": (
        ElectionState.CLOSED,
        ElectionState.FOLLOWER_LOG_REPLICATION,
        ElectionState.FOLLOWER_CATCHUP,
    ),
    "ConsumeLog": (
        ElectionState.CLOSED,
        ElectionState.FOLLOWER_REPLAY,
        ElectionState.FOLLOWER_CATCHUP,
        ElectionState.LEADER_REPLAY,
    ),
    **dict.fromkeys(
        (
            "EnterElection",
            "AppendEntry",
            "UpdateLeaderPosition",
            "UpdateFollowerPosition",
            "TakeSnapshot",
            "InitiateTermination",
            "Terminate",
        ),
        (ElectionState.CLOSED,),
    ),
}


@dataclass(frozen=True, slots=True)
class Given:
    """A step to take."""

    rules: Rules
    i: int
    state: Member
    action: str
    input: Input


class Draw:
    """Draws steps for some rules."""

    def __init__(self, rng: Random, rules: Rules) -> None:
        self._rng, self._rules = rng, rules

    def _yes(self) -> bool:
        return self._rng.random() < 0.5

    def term(self) -> int:
        return self._rng.choice(TERMS)

    def position(self) -> int:
        return self._rng.choice(POSITIONS)

    def _reached(self) -> int:
        """A position that is not null."""
        return self._rng.choice(POSITIONS[1:])

    def number(self, name: str) -> int:
        """A value of the field of that name."""
        match kind(name):
            case NumberKind.TERM:
                return self.term()
            case NumberKind.POSITION:
                return self.position()
            case NumberKind.MEMBER:
                return self.anybody()
            case _:
                return self._rng.choice((0, 1) if name == "flags" else (NULL_VALUE, 0, 1))

    def anybody(self) -> int:
        return self._rng.randrange(-1, self._rules.member_count)

    def _peer(self, i: int) -> int:
        others = [j for j in range(self._rules.member_count) if j != i]
        return self._rng.choice(others) if others else i

    def recording_log(self) -> tuple[TermEntry, ...]:
        terms = sorted(self._rng.sample(TERMS[1:], self._rng.choice((0, 1, 1, 2, 3))))
        bases = sorted(self._reached() for _ in range(len(terms) + 1))
        entries = [TermEntry(term, bases[k], bases[k + 1]) for k, term in enumerate(terms)]
        if entries and self._yes():
            entries[-1] = replace(entries[-1], log_position=NULL_VALUE)
        return tuple(entries)

    def _record(self) -> MemberRecord:
        return MemberRecord(
            self.term(),
            self.position(),
            self.term(),
            self._rng.choice((NULL_VALUE, 0, 1)),
            self._yes(),
            self._yes(),
        )

    def state(self, i: int, election_state: ElectionState) -> Member:
        """A state of member ``i``; it follows another member, if any."""
        rng = self._rng
        ends = rng.random() < 0.3
        return Member(
            persisted_candidate_term_id=self.term(),
            recording_log=self.recording_log(),
            recorded_position=self._reached(),
            snapshot_leadership_term_id=self.term(),
            snapshot_term_base_log_position=self._reached(),
            snapshot_log_position=self._reached(),
            module_state=ModuleState.CLOSED if rng.random() < 0.03 else ModuleState.ACTIVE,
            role=rng.choice(tuple(Role)),
            module_leadership_term_id=self.term(),
            module_notified_commit_position=self._reached(),
            commit_position=self._reached(),
            publication_position=self.position(),
            log_subscription=self._yes(),
            catchup_destination=self._yes(),
            termination_position=self._reached() if ends else NULL_VALUE,
            termination_leadership_term_id=self.term() if ends else NULL_VALUE,
            leader_member_id=self._peer(i),
            members=tuple(self._record() for _ in range(self._rules.member_count)),
            election_state=election_state,
            log_leadership_term_id=self.term(),
            leadership_term_id=self.term(),
            candidate_term_id=self.term(),
            append_position=self._reached(),
            notified_commit_position=self._reached(),
            catchup_join_position=self.position(),
            replication_leadership_term_id=self.term(),
            replication_stop_position=self.position(),
            replication_term_base_log_position=self.position(),
            log_replication=self._yes(),
            replay_stop_position=self._reached() if self._yes() else NULL_VALUE,
            graceful_closed_leader_id=self.anybody(),
        )

    def message(self, kind: type[Message], i: int) -> Message:
        """A message of that type to member ``i``."""
        rng, j = self._rng, self._peer(i)
        term, position = self.term(), self._reached()
        voted = rng.choice(TERMS[1:])
        made: dict[type[Message], Message] = {
            CanvassPosition: CanvassPosition(term, position, self.term(), j),
            RequestVote: RequestVote(term, position, voted, rng.choice((j, j, j, i))),
            Vote: Vote(voted, term, position, rng.choice((i, i, i, j)), j, self._yes()),
            NewLeadershipTerm: NewLeadershipTerm(
                term,
                self.term(),
                self.position(),
                self.position(),
                voted,
                self._reached(),
                position,
                self.position(),
                rng.choice((j, j, j, i)),
            ),
            AppendPosition: AppendPosition(term, position, j, rng.choice((0, CATCHUP_FLAG))),
            CommitPosition: CommitPosition(term, position, j),
            CatchupPosition: CatchupPosition(term, position, j),
            StopCatchup: StopCatchup(term, rng.choice((i, i, j))),
            TerminationPosition: TerminationPosition(term, position),
            TerminationAck: TerminationAck(term, position, j),
        }
        return made[kind]

    def _input(self, i: int, s: Member, message: Message | None) -> Input:
        rng, count = self._rng, self._rules.member_count
        match message:
            case NewLeadershipTerm() if rng.random() < 0.7:
                message = replace(message, log_leadership_term_id=s.log_leadership_term_id)
            case Vote() if rng.random() < 0.7:
                message = replace(message, candidate_term_id=s.candidate_term_id)
            case _:
                pass
        return Input(
            message=message,
            interval=self._yes(),
            commit_interval=self._yes(),
            timeout=self._yes(),
            active=frozenset(j for j in range(count) if j == i or self._yes()),
            accepted=frozenset(j for j in range(count) if j != i and self._yes()),
            position=self.position(),
            leadership_term_id=rng.choice(TERMS[1:]),
            term_base_log_position=rng.choice((s.commit_position, self._reached())),
            graceful_closed_leader_id=rng.choice((NULL_VALUE, s.leader_member_id)),
        )

    def step(self, action: str) -> Given:
        """A step of that action."""
        i = self._rng.randrange(self._rules.member_count)
        states = _STATES_THAT_ENABLE.get(action, tuple(ElectionState))
        own = [state for state in ElectionState if state.value.replace("_", "") == action.upper()]
        s = self.state(i, self._rng.choice(own or states))
        handled = [kind for kind in MESSAGE_TYPES if action == f"On{kind.__name__}"]
        message = self.message(handled[0], i) if handled else None
        return Given(self._rules, i, s, action, self._input(i, s, message))


def arbitrary_steps(seed: int, rules: Rules, count: int) -> Iterator[Given]:
    """``count`` steps; each action is equally likely."""
    draw, names = Draw(Random(seed), rules), tuple(ACTIONS)
    for k in range(count):
        yield draw.step(names[k % len(names)])

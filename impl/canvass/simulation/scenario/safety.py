"""What the protocol promises, looked at after every step.

Each property bears the name that it has in ``Properties.tla``. The watch tells a violation once, in
words; it stops nothing, because a scenario of a hazard is to show the violation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from canvass.cluster.effects import Send
from canvass.cluster.member import ElectionState, Member, Role
from canvass.cluster.messages import Vote
from canvass.cluster.outcome import Outcome
from canvass.cluster.predicates import is_closed, may_commit_fall
from canvass.cluster.quorum import is_quorum
from canvass.cluster.recording_log import is_coherent, last_term
from canvass.cluster.rules import Rules
from canvass.simulation.scenario.contents import Log, agreement, cut, is_prefix, length

MEMBER_ACTIONS_THAT_END_A_PROCESS: Final = frozenset({"Restart", "Terminate"})


@dataclass
class History:
    """What has to be remembered: who led which term, who voted for whom, what was committed."""

    leaders: dict[int, int] = field(default_factory=dict)
    votes: dict[tuple[int, int], int] = field(default_factory=dict)
    committed: Log = ()


@dataclass(frozen=True, slots=True)
class View:
    """All members and their logs after a step, with the history."""

    members: Sequence[Member]
    logs: Sequence[Log]
    history: History


def _log_matching(view: View) -> Iterator[str]:
    for i, j in combinations(range(len(view.logs)), 2):
        for mine in view.logs[i]:
            for theirs in view.logs[j]:
                end = min(mine.end, theirs.end)
                shared = mine.term == theirs.term and max(mine.start, theirs.start) < end
                if shared and agreement(view.logs[i], view.logs[j]) < end:
                    yield f"{i} and {j} differ before {end} and have the same entry of {mine.term}"


def _leader_completeness(view: View) -> Iterator[str]:
    for i, s in enumerate(view.members):
        if is_closed(s, Role.LEADER):
            for segment in view.history.committed:
                older = cut(view.history.committed, segment.end)
                if segment.term < s.module_leadership_term_id and not is_prefix(
                    older, view.logs[i]
                ):
                    yield f"{i} leads without what term {segment.term} committed"


def _state_machine_safety(view: View) -> Iterator[str]:
    for i, s in enumerate(view.members):
        applied = cut(view.logs[i], s.commit_position)
        if not is_prefix(applied, view.history.committed):
            agreed = agreement(applied, view.history.committed)
            yield f"{i} has applied something else than was committed from {agreed} on"


def _committed_is_durable(view: View) -> Iterator[str]:
    holders = sum(is_prefix(view.history.committed, log) for log in view.logs)
    if not is_quorum(holders, len(view.logs)):
        yield f"{holders} of {len(view.logs)} have all that was ever committed"


def _commit_bounded(view: View) -> Iterator[str]:
    for i, s in enumerate(view.members):
        if s.commit_position > s.recorded_position:
            yield f"{i} has committed {s.commit_position} and recorded {s.recorded_position}"


def _recording_log_coherent(view: View) -> Iterator[str]:
    for i, s in enumerate(view.members):
        if not is_coherent(s.recording_log):
            yield f"the recording log of {i} is not coherent"


def _recorded_term_is_known(view: View) -> Iterator[str]:
    for i, s in enumerate(view.members):
        if view.logs[i] and last_term(s.recording_log) < view.logs[i][-1].term:
            yield f"{i} has recorded term {view.logs[i][-1].term} and not opened it on disk"


PROPERTIES: Final[Mapping[str, Callable[[View], Iterator[str]]]] = {
    "LogMatching": _log_matching,
    "LeaderCompleteness": _leader_completeness,
    "StateMachineSafety": _state_machine_safety,
    "CommittedIsDurable": _committed_is_durable,
    "CommitBounded": _commit_bounded,
    "RecordingLogCoherent": _recording_log_coherent,
    "RecordedTermIsKnown": _recorded_term_is_known,
}
"""The properties of states. RecordedTermIsKnown is looked at only if asked for: as Aeron replicates
and catches up it does not hold while bytes are copied (hazard HZ2).
"""


OF_A_WHOLE_CLUSTER: Final = frozenset(
    {"LogMatching", "LeaderCompleteness", "StateMachineSafety", "CommittedIsDurable"}
)
"""The properties that say nothing if some members exist in messages made by hand only."""


class Watch:
    """Checks every step and reports each violated property once."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.history = History()
        self.watched = set(PROPERTIES) - {"RecordedTermIsKnown"}
        self._reported: set[str] = set()

    def _once(self, name: str, violation: str) -> Iterator[str]:
        if name not in self._reported:
            self._reported.add(name)
            yield f"{name} is violated: {violation}"

    def _step(self, i: int, action: str, before: Member, outcome: Outcome) -> Iterator[str]:
        after = outcome.next
        if after.recorded_position < min(before.recorded_position, before.commit_position):
            yield from self._once(
                "NoTruncationBelowCommit",
                f"{i} truncates its log at {after.recorded_position}, below its "
                f"commit position {before.commit_position}",
            )
        if after.persisted_candidate_term_id < before.persisted_candidate_term_id:
            yield from self._once("CandidateTermMonotonic", f"the candidate term of {i} falls")
        ends = action in MEMBER_ACTIONS_THAT_END_A_PROCESS
        falls = after.commit_position < before.commit_position
        if falls and not ends and not may_commit_fall(self._rules, before):
            yield from self._once("CommitMonotonic", f"the commit position of {i} falls")

    def _votes(self, i: int, before: Member, outcome: Outcome) -> Iterator[str]:
        after = outcome.next
        cast = [
            (effect.message.candidate_term_id, effect.message.candidate_member_id)
            for effect in outcome.effects
            if isinstance(effect, Send) and isinstance(effect.message, Vote) and effect.message.vote
        ]
        nominated = before.election_state is ElectionState.NOMINATE
        if nominated and after.election_state is ElectionState.CANDIDATE_BALLOT:
            cast.append((after.candidate_term_id, i))
        for term, candidate in cast:
            first = self.history.votes.setdefault((i, term), candidate)
            if first != candidate:
                violation = f"{i} votes for {first} and {candidate} in term {term}"
                yield from self._once("OneVotePerTerm", violation)

    def step(
        self,
        i: int,
        action: str,
        before: Member,
        outcome: Outcome,
        members: Sequence[Member],
        logs: Sequence[Log],
    ) -> list[str]:
        """Check a step of member ``i`` after it is taken, and return a line for each violation."""
        violations = [*self._step(i, action, before, outcome), *self._votes(i, before, outcome)]
        after = outcome.next
        if after.election_state is ElectionState.LEADER_LOG_REPLICATION:
            first = self.history.leaders.setdefault(after.leadership_term_id, i)
            if first != i:
                both = f"{first} and {i} lead term {after.leadership_term_id}"
                violations += self._once("ElectionSafety", both)
        applied = cut(logs[i], after.commit_position)
        if length(applied) > length(self.history.committed):
            self.history.committed = applied
        view = View(members, logs, self.history)
        for name in sorted(self.watched):
            for violation in PROPERTIES[name](view):
                violations += self._once(name, violation)
        return violations

"""The safety properties of ``Properties.tla``, checked after every step of a simulated member.

A property is checked when a step changes one of its variables, so the cost does not grow with the
logs. It is reported once, and the run continues. Most properties follow from how far each log
agrees with the committed log.

`canvass.conformance.safety_monitors` has the same properties for whole traces, as columns. The two
are independent on purpose: `canvass verify` checks what the simulator has recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final, Generic, TypeAlias, TypeVar

from canvass.cluster.member import ElectionState, Member, Role
from canvass.cluster.messages import Vote
from canvass.cluster.outcome import Outcome
from canvass.cluster.predicates import is_closed, may_commit_fall
from canvass.cluster.quorum import is_quorum
from canvass.cluster.recording_log import is_coherent
from canvass.cluster.rules import Rules
from canvass.simulation.log_contents import RecordedLog

LogT = TypeVar("LogT", bound=RecordedLog)

Violation: TypeAlias = tuple[str, str]
"""The name of a property, and a sentence about its violation."""

OF_A_WHOLE_CLUSTER: Final = frozenset(
    {"LogMatching", "LeaderCompleteness", "StateMachineSafety", "CommittedIsDurable"}
)
"""The properties that need all members: they mean nothing if a scenario writes messages by hand."""
PROPERTIES: Final = OF_A_WHOLE_CLUSTER | {
    "CandidateTermMonotonic",
    "CommitBounded",
    "CommitMonotonic",
    "ElectionSafety",
    "NoTruncationBelowCommit",
    "OneVotePerTerm",
    "RecordingLogCoherent",
}


_variables: Final = attrgetter(
    "recorded_position",
    "commit_position",
    "election_state",
    "persisted_candidate_term_id",
    "recording_log",
)
"""The variables of the properties. The properties of votes depend on messages instead."""


class SafetyMonitor(Generic[LogT]):
    """Checks each step of each member.

    Parameters
    ----------
    rules
        The rules of the cluster.
    log
        Returns the recorded log of a member at present.
    committed
        An empty log. It becomes the longest log that any member has ever committed.
    members
        The present state of each member, which the caller keeps up to date.

    Attributes
    ----------
    watched
        The properties that are still checked.
    """

    def __init__(
        self,
        rules: Rules,
        log: Callable[[int], LogT],
        committed: LogT,
        members: Sequence[Member],
    ) -> None:
        self._rules, self._log, self._members = rules, log, members
        self.committed = committed
        self.watched = set(PROPERTIES)
        self._leaders: dict[int, int] = {}
        self._votes: dict[tuple[int, int], int] = {}

    def step(self, i: int, action: str, before: Member, outcome: Outcome) -> list[Violation]:
        """Check a step of member ``i`` after its effects on the log.

        Returns
        -------
        list
            Each property that is violated for the first time, with a sentence about it.
        """
        if action != "OnRequestVote" and _variables(before) == _variables(outcome.next):
            return []
        return self._first(self._violations(i, action, before, outcome))

    def restart(self, i: int, last: Member, found: Member) -> list[Violation]:
        """Compare the data that member ``i`` finds on its disk with its last state."""
        return self._first(self._forgotten(i, last, found))

    def restored(self, i: int, found: Member) -> list[Violation]:
        """Check the data on the new disk of member ``i``, whose old disk was lost.

        Its votes for other members are promises that the disk must keep. A vote for itself in a
        later term is none: no other member has heard of that ballot.
        """
        return self._first(self._lost(i, found))

    def _first(self, violations: Iterable[Violation]) -> list[Violation]:
        """The violations of properties that were not violated before."""
        found: list[Violation] = []
        for name, words in violations:
            if name in self.watched:
                self.watched.remove(name)
                found.append((name, words))
        return found

    def _violations(
        self, i: int, action: str, before: Member, outcome: Outcome
    ) -> Iterator[Violation]:
        after = outcome.next
        recorded, commit = after.recorded_position, after.commit_position
        if recorded < min(before.recorded_position, before.commit_position):
            words = f"{i} truncates its log at {recorded}, below its commit position"
            yield "NoTruncationBelowCommit", f"{words} {before.commit_position}"
        if after.persisted_candidate_term_id < before.persisted_candidate_term_id:
            yield "CandidateTermMonotonic", f"the candidate term of {i} falls"
        may_fall = action in ("Restart", "Terminate") or may_commit_fall(self._rules, before)
        if commit < before.commit_position and not may_fall:
            yield "CommitMonotonic", f"the commit position of {i} falls"
        if after.election_state is not before.election_state or action == "OnRequestVote":
            yield from self._election(i, before, outcome)
        if commit > recorded:
            yield "CommitBounded", f"{i} has committed {commit} and recorded {recorded}"
        if after.recording_log is not before.recording_log and not is_coherent(after.recording_log):
            yield "RecordingLogCoherent", f"the recording log of {i} is not coherent"
        yield from self._logs(i, before, after)

    def _logs(self, i: int, before: Member, after: Member) -> Iterator[Violation]:
        log, known = self._log(i), self.committed.end
        applied = min(after.commit_position, log.end)
        if applied > known:
            self.committed.extend(log, applied)
        if self.committed.end > known or after.recorded_position < before.recorded_position:
            yield from self._durable()
        if self.committed.end > known:
            for j, s in enumerate(self._members):
                yield from self._complete(j, s)
        elif after.election_state is not before.election_state:
            yield from self._complete(i, after)
        if after.recorded_position > before.recorded_position:
            yield from self._matching(i, before.recorded_position)
        if applied > min(before.commit_position, before.recorded_position):
            agreed = log.agreement(self.committed)
            if agreed < applied:
                words = f"{i} has applied something else than was committed from {agreed} on"
                yield "StateMachineSafety", words

    def _forgotten(self, i: int, last: Member, found: Member) -> Iterator[Violation]:
        if found.persisted_candidate_term_id < last.persisted_candidate_term_id:
            yield "CandidateTermMonotonic", f"the disk of {i} has lost its candidate term"
        yield from self._durable()

    def _lost(self, i: int, found: Member) -> Iterator[Violation]:
        term = found.persisted_candidate_term_id
        for (voter, voted), candidate in list(self._votes.items()):
            if voter == i and voted > term and candidate == i:
                del self._votes[voter, voted]
            elif voter == i and voted > term:
                words = f"{i} has lost its vote for {candidate} in term {voted}"
                yield "CandidateTermMonotonic", words
        yield from self._durable()

    def _durable(self) -> Iterator[Violation]:
        count, committed = len(self._members), self.committed
        logs = [self._log(j) for j in range(count)]
        holders = sum(log.at(committed.end) == committed.at(committed.end) for log in logs)
        if not is_quorum(holders, count):
            yield "CommittedIsDurable", f"{holders} of {count} have all that was ever committed"

    def _complete(self, i: int, s: Member) -> Iterator[Violation]:
        """Check that a closed leader has all entries that older terms committed."""
        if is_closed(s, Role.LEADER):
            agreed = self._log(i).agreement(self.committed)
            for entry in self.committed.between(agreed, self.committed.end)[:1]:
                if entry.term < s.module_leadership_term_id:
                    words = f"{i} leads without what term {entry.term} committed"
                    yield "LeaderCompleteness", words

    def _matching(self, i: int, start: int) -> Iterator[Violation]:
        """Check that logs with the same entry agree below it, for the new entries of ``i``."""
        mine = self._log(i)
        for j in range(len(self._members)):
            other = self._log(j)
            if other.end <= start:
                continue
            beyond = max(start, mine.agreement(other))
            ends = (*mine.between(beyond, mine.end), *other.between(beyond, mine.end))
            for end in sorted(entry.end for entry in ends):
                one, two = mine.at(end), other.at(end)
                if one is not None and two is not None and one.term == two.term:
                    words = f"{i} and {j} differ before {end} and have the same entry of {one.term}"
                    yield "LogMatching", words

    def _election(self, i: int, before: Member, outcome: Outcome) -> Iterator[Violation]:
        after = outcome.next
        votes = [
            (send.message.candidate_term_id, send.message.candidate_member_id)
            for send in outcome.sends
            if isinstance(send.message, Vote) and send.message.vote
        ]
        nominated = before.election_state is ElectionState.NOMINATE
        if nominated and after.election_state is ElectionState.CANDIDATE_BALLOT:
            votes.append((after.candidate_term_id, i))
        for term, candidate in votes:
            first = self._votes.setdefault((i, term), candidate)
            if first != candidate:
                yield "OneVotePerTerm", f"{i} votes for {first} and {candidate} in term {term}"
        if after.election_state is ElectionState.LEADER_LOG_REPLICATION:
            first = self._leaders.setdefault(after.leadership_term_id, i)
            if first != i:
                yield "ElectionSafety", f"{first} and {i} lead term {after.leadership_term_id}"

"""Safety, checked after every step of a simulated run, at a cost that does not grow with the logs.

Each property bears the name that it has in ``Properties.tla``. Logs are compared by checksums, and
a property is checked when a step changes a variable of it. The monitor of the scenarios checks the
same properties on small logs, all of them after each step. Each violated property is reported once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from canvass.archive.recording import Recording
from canvass.cluster.effects import Send
from canvass.cluster.member import ElectionState, Member, Role
from canvass.cluster.messages import Vote
from canvass.cluster.outcome import Outcome
from canvass.cluster.predicates import is_closed, may_commit_fall
from canvass.cluster.quorum import is_quorum
from canvass.cluster.recording_log import is_coherent
from canvass.cluster.rules import Rules
from canvass.log.messages import leadership_term_of


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: where it ends, the term that wrote it, and the log's checksum there."""

    end: int
    term: int
    checksum: int


class EntryLog:
    """A log that can be continued and cut."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self._entries = list(entries)
        self._ends = [entry.end for entry in entries]

    @property
    def end(self) -> int:
        """The position at which the log ends."""
        return self._ends[-1] if self._ends else 0

    @property
    def last(self) -> Entry | None:
        """The last entry, or None if there is none."""
        return self._entries[-1] if self._entries else None

    def append(self, entries: Sequence[Entry]) -> None:
        """Put entries at the end."""
        self._entries += entries
        self._ends += [entry.end for entry in entries]

    def cut(self, position: int) -> None:
        """Drop what lies beyond a position, an entry that it is in the middle of included."""
        keep = bisect_right(self._ends, position)
        del self._entries[keep:], self._ends[keep:]

    def at(self, position: int) -> Entry | None:
        """The entry that ends at a position, or None."""
        index = bisect_left(self._ends, position)
        if index < len(self._ends) and self._ends[index] == position:
            return self._entries[index]
        return None

    def between(self, start: int, end: int) -> Sequence[Entry]:
        """The entries that end beyond one position and not beyond another."""
        return self._entries[bisect_right(self._ends, start) : bisect_right(self._ends, end)]

    def follow(self, recording: Recording, position: int) -> None:
        """Become what a recording holds up to a position."""
        self.cut(position)
        while self._entries and recording.checksum(self.end) != self._entries[-1].checksum:
            self.cut(self.end - 1)
        if self.end < position:
            self.append(
                [
                    Entry(frame.end, leadership_term_of(frame.payload), frame.checksum)
                    for frame in recording.replay(self.end, position)
                ]
            )

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(frozen=True, slots=True)
class Finding:
    """A violated property."""

    property_name: str
    violation: str
    step: int
    """How many steps the run had taken."""
    time_ns: int


class SafetyMonitor:
    """Looks at each step of each member.

    Parameters
    ----------
    rules
        Of the cluster.
    logs
        The recorded log of each member, as it is now.
    members
        The state of each member, as it is now; the caller keeps it so.
    """

    def __init__(self, rules: Rules, logs: Sequence[EntryLog], members: Sequence[Member]) -> None:
        self._rules = rules
        self._logs, self._members = logs, members
        self._leaders: dict[int, int] = {}
        self._votes: dict[tuple[int, int], int] = {}
        self._committed = EntryLog()
        self._last_of_term: list[Entry] = []
        self._first_of: dict[tuple[int, int], int] = {}
        self.findings: list[Finding] = []
        self._reported: set[str] = set()

    @property
    def committed(self) -> EntryLog:
        """The longest prefix of entries that any member has ever committed."""
        return self._committed

    def recorded(self, i: int, entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
        """Look at entries that have come to the log of member ``i``."""
        for entry in entries:
            first = self._first_of.setdefault((entry.term, entry.end), entry.checksum)
            if first != entry.checksum:
                for j, log in enumerate(self._logs):
                    other = log.at(entry.end)
                    alike = other is not None and other.term == entry.term
                    if j != i and alike and other != entry:
                        violation = (
                            f"{i} and {j} have other entries up to {entry.end} of {entry.term}"
                        )
                        yield "LogMatching", violation

    def step(self, i: int, action: str, before: Member, outcome: Outcome) -> list[tuple[str, str]]:
        """Look at a step of member ``i``, whose effects on its log are done.

        Returns
        -------
        list
            Each property that the step violates, with words about it.
        """
        after = outcome.next
        violations: list[tuple[str, str]] = []
        if after.recorded_position != before.recorded_position:
            violations += self._log_moved(i, before, after)
        if after.commit_position != before.commit_position:
            violations += self._commit_moved(i, action, before, after)
        if after.commit_position > after.recorded_position:
            violations.append(("CommitBounded", f"{i} has committed more than it has recorded"))
        if after.recording_log is not before.recording_log and not is_coherent(after.recording_log):
            violations.append(("RecordingLogCoherent", f"the recording log of {i} is not coherent"))
        if after.persisted_candidate_term_id < before.persisted_candidate_term_id:
            violations.append(("CandidateTermMonotonic", f"the candidate term of {i} falls"))
        if after.election_state is not before.election_state or action == "OnRequestVote":
            violations += self._election_moved(i, before, outcome)
        return violations

    def restart(self, i: int, last: Member, found: Member) -> list[tuple[str, str]]:
        """Look at what member ``i`` finds on its disk, after the state that it had last."""
        violations: list[tuple[str, str]] = []
        if found.persisted_candidate_term_id < last.persisted_candidate_term_id:
            violations.append(
                ("CandidateTermMonotonic", f"the disk of {i} has lost its candidate term")
            )
        return [*violations, *self._durable()]

    def restored(self, i: int, found: Member) -> list[tuple[str, str]]:
        """Look at what member ``i`` finds on a new disk that was filled after the loss of its own.

        Of its own ballots beyond what is found nobody else has heard: they are no promise any more.
        Its votes for others are.
        """
        term = found.persisted_candidate_term_id
        violations: list[tuple[str, str]] = []
        for (voter, voted), candidate in list(self._votes.items()):
            if voter == i and voted > term and candidate == i:
                del self._votes[voter, voted]
            elif voter == i and voted > term:
                words = f"{i} has lost its vote for {candidate} in term {voted}"
                violations.append(("CandidateTermMonotonic", words))
        return [*violations, *self._durable()]

    def report(self, violations: Sequence[tuple[str, str]], step: int, time_ns: int) -> None:
        """Keep each violated property as a finding, once."""
        for name, violation in violations:
            if name not in self._reported:
                self._reported.add(name)
                self.findings.append(Finding(name, violation, step, time_ns))

    def _log_moved(self, i: int, before: Member, after: Member) -> Iterator[tuple[str, str]]:
        if after.recorded_position > before.recorded_position:
            entries = self._logs[i].between(before.recorded_position, after.recorded_position)
            yield from self.recorded(i, entries)
            return
        if after.recorded_position < before.commit_position:
            violation = (
                f"{i} truncates its log at {after.recorded_position}, below what it has committed"
            )
            yield "NoTruncationBelowCommit", violation
        yield from self._durable()

    def _durable(self) -> Iterator[tuple[str, str]]:
        last = self._committed.last
        if last is not None:
            holders = sum(log.at(last.end) == last for log in self._logs)
            if not is_quorum(holders, len(self._logs)):
                violation = f"{holders} of {len(self._logs)} have all that was ever committed"
                yield "CommittedIsDurable", violation

    def _commit_moved(
        self, i: int, action: str, before: Member, after: Member
    ) -> Iterator[tuple[str, str]]:
        if after.commit_position < before.commit_position:
            ends = action in ("Restart", "Terminate")
            if not ends and not may_commit_fall(self._rules, before):
                yield "CommitMonotonic", f"the commit position of {i} falls"
            return
        log, known = self._logs[i], self._committed
        shared = min(known.end, after.commit_position, log.end)
        if shared and log.at(shared) != known.at(shared):
            yield "StateMachineSafety", f"{i} applies something else than was committed to {shared}"
            return
        if after.commit_position > known.end:
            self._commit(log.between(known.end, after.commit_position))
            yield from self._durable()
            for j, s in enumerate(self._members):
                if is_closed(s, Role.LEADER):
                    yield from self._complete(j, s)

    def _commit(self, entries: Sequence[Entry]) -> None:
        self._committed.append(entries)
        for entry in entries:
            if self._last_of_term and self._last_of_term[-1].term == entry.term:
                self._last_of_term[-1] = entry
            else:
                self._last_of_term.append(entry)

    def _complete(self, j: int, s: Member) -> Iterator[tuple[str, str]]:
        """Whether a closed leader has all that older terms committed."""
        ends = reversed(self._last_of_term)
        older = next((entry for entry in ends if entry.term < s.module_leadership_term_id), None)
        if older is not None and self._logs[j].at(older.end) != older:
            yield "LeaderCompleteness", f"{j} leads without what term {older.term} committed"

    def _election_moved(
        self, i: int, before: Member, outcome: Outcome
    ) -> Iterator[tuple[str, str]]:
        after = outcome.next
        for effect in outcome.effects:
            if (
                isinstance(effect, Send)
                and isinstance(effect.message, Vote)
                and effect.message.vote
            ):
                vote = effect.message
                yield from self._vote(i, vote.candidate_term_id, vote.candidate_member_id)
        if after.election_state is ElectionState.CANDIDATE_BALLOT:
            if before.election_state is ElectionState.NOMINATE:
                yield from self._vote(i, after.candidate_term_id, i)
        elif after.election_state is ElectionState.LEADER_LOG_REPLICATION:
            first = self._leaders.setdefault(after.leadership_term_id, i)
            if first != i:
                yield "ElectionSafety", f"{first} and {i} lead term {after.leadership_term_id}"
        elif is_closed(after, Role.LEADER):
            yield from self._complete(i, after)

    def _vote(self, i: int, term: int, candidate: int) -> Iterator[tuple[str, str]]:
        first = self._votes.setdefault((i, term), candidate)
        if first != candidate:
            yield "OneVotePerTerm", f"{i} votes for {first} and {candidate} in term {term}"

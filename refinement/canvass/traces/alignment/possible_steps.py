"""The actions and inputs that a search tries in a state.

The core decides which of them are possible, and computes their outcomes. Numbers in inputs come
from the next lines of the member and from the state itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

from msgspec.structs import replace

from canvass.cluster.core import ELECTION_HANDLERS, action_name, step
from canvass.cluster.effects import Outcome
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import (
    MESSAGE_TYPES,
    NULL_VALUE,
    AppendPosition,
    CanvassPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    StopCatchup,
    TerminationPosition,
    Vote,
)
from canvass.cluster.predicates import is_quorum
from canvass.cluster.replication import consume_bound
from canvass.cluster.rules import Rules
from canvass.traces.aeron_log import records
from canvass.traces.alignment.cluster_facts import TERM_ENTRY_BYTES, ClusterFacts
from canvass.traces.alignment.member_lines import (
    FOREVER,
    PRINTED_STEPS,
    MemberLines,
    asks_to_terminate,
    is_snapshot_end,
    is_start,
    is_termination,
)

TICKS: Final = dict(
    zip(list(ElectionState)[:-1], (action_name(one) for one in ELECTION_HANDLERS), strict=True)
)
"""For each election state, the action of a duty cycle in it."""

ASSUME_COMMIT: Final = "AssumeCommit"
"""Not an action of the core: the leader's commit position is assumed to have risen. The reports for
this rise are found when all members are driven together.
"""

PROCESS_END: Final = "ProcessEnd"
"""Not an action of the core: the process of the member has ended."""

RESUME: Final = "Resume"
"""Not an action of the core: the run goes on from the state at the end of the segment before."""

Move: TypeAlias = tuple[str, Input]

_ALL_MESSAGES: Final = frozenset(kind.__name__ for kind in MESSAGE_TYPES)
_LEADS: Final = frozenset(
    {ElectionState.LEADER_LOG_REPLICATION, ElectionState.LEADER_REPLAY, ElectionState.LEADER_READY}
)
_TIMERS: Final = (NO_INPUT, Input(timeout=True), Input(interval=True))
_CHANGES: Final = tuple(PRINTED_STEPS - {records.RoleChange})
"""The events that show a change, without `RoleChange`, which is printed beside another change."""
_LOG_ENDED: Final = "eos=true"
"""Part of the reason of an election: the leader has closed its log stream."""

_INIT_WITHIN: Final = 3
"""The number of the next changes among which the first change of the next election is searched."""


class Moves:
    """The moves of one member.

    Attributes
    ----------
    core_steps
        The number of steps that the core has computed.
    banned
        The inferred receipts that are not tried again: the index of the next line, and the message.
    sent
        A cache of `Windows`. For a set of silent messages, and for whether lines are trusted, it
        has the messages that the member can send in a situation, with their slots.
    """

    def __init__(self, rules: Rules, lines: MemberLines, facts: ClusterFacts) -> None:
        self.rules, self.lines, self.facts = rules, lines, facts
        self.member_id = lines.member_id
        self.all = frozenset(range(rules.member_count))
        self.core_steps = 0
        self.banned: set[tuple[int, Message | None]] = set()
        self.sent: defaultdict[
            tuple[frozenset[str], bool], dict[tuple[object, ...], dict[tuple[int, Message], int]]
        ] = defaultdict(dict)
        self._numbers: dict[Member, int] = {}
        self._others = [j for j in range(rules.member_count) if j != lines.member_id]
        every = list(enumerate(lines.records))
        self._changes = [k for k, record in every if isinstance(record, _CHANGES)]
        messages = enumerate(lines.messages)
        self._announcements = [k for k, m in messages if isinstance(m, NewLeadershipTerm)]
        self._shows_termination = lines.vocabulary.prints(records.StateChange)
        self._shows_replay = lines.vocabulary.prints(records.ReplayNewLeadershipTerm)
        self._terminates = {k for k, one in every if is_termination(one) or asks_to_terminate(one)}

    def take(self, s: Member, action: str, given: Input) -> Outcome | None:
        """The outcome of one step of the core or of `ASSUME_COMMIT`; None if it is impossible."""
        if action == ASSUME_COMMIT:
            return Outcome(replace(s, commit_position=given.position))
        self.core_steps += 1
        return step(self.rules, self.member_id, s, action, given)

    def number_of(self, s: Member) -> int:
        """The number of a state. Equal states have equal numbers."""
        return self._numbers.setdefault(s, len(self._numbers))

    def silent(self, s: Member, k: int, silent_messages: frozenset[str]) -> Iterator[Move]:
        """Silent steps that may be needed before the line at index ``k``.

        They include receipts of the ``silent_messages``.
        """
        record = self.lines.records[k] if k < len(self.lines.records) else None
        yield from self._ticks(s, k, silent_messages)
        positions, commits = self._wanted(s, k)
        if silent_messages and s.module_state is ModuleState.ACTIVE:
            for action, given in self.receipts(s, k, silent_messages, positions, commits):
                if (k, given.message) not in self.banned:
                    yield action, given
        yield from self._closed(s, k, silent_messages)
        if not self._shows_replay and s.module_state is ModuleState.ACTIVE:
            yield from self._replayed(s)
        if record is not None:
            if is_start(record) or self._is_unlogged_start(k):
                yield "Restart", NO_INPUT
            elif isinstance(record, records.ReplayNewLeadershipTerm):
                yield from self._shown_entries(s, record)
            elif is_snapshot_end(record):
                at = self._snapshot_at(s, k)
                if s.commit_position == at or (at < 0 and s.commit_position > _snapshotted(s)):
                    yield "TakeSnapshot", NO_INPUT
        yield from self._positions(s, positions, commits)

    def _shown_entries(self, s: Member, record: records.ReplayNewLeadershipTerm) -> Iterator[Move]:
        """The steps that can process the first entry of a term where a line shows such an entry.

        One is for the entry in the line, if most lines about its term agree. The others are for the
        terms that begin at the present commit position.
        """
        term = record.leadership_term_id
        own = (record.term_base_log_position, record.log_position)
        found = {term: own} if self.facts.term_entries.get(term) == own else {}
        for known, place in self.facts.term_entries.items():
            if place[0] == s.commit_position:
                found.setdefault(known, place)
        for one, (base, end) in found.items():
            yield from self._first_entry(s, one, base, end)

    def _is_unlogged_start(self, k: int) -> bool:
        """Whether a process starts at line ``k`` of a log that does not print `NewElection`."""
        record = self.lines.records[k]
        return (
            not self.lines.vocabulary.prints(records.NewElection)
            and isinstance(record, records.ElectionStateChange)
            and record.old_state == ElectionState.INIT.value
            and (k == 0 or isinstance(self.lines.records[k - 1], records.ProcessStart))
        )

    def possible(self, s: Member, k: int) -> Iterator[Move]:
        """Steps whose lines may be missing: silent steps, and receipts of all kinds."""
        yield from self.silent(s, k, _ALL_MESSAGES)
        if s.module_state is ModuleState.ACTIVE:
            if self._shows_replay:
                yield from self._replayed(s)
            for m in self._receivable(s):
                if (k, m) not in self.banned:
                    yield receive(m)

    def _receivable(self, s: Member) -> Iterator[Message]:
        """Messages that other members can have sent, according to the lines of the cluster."""
        for announced in self.facts.announcements.values():
            for m in announced:
                if m.leader_member_id != self.member_id:
                    yield m
        for j in self._others:
            for ballot in self.facts.ballots.get(j, ()):
                if ballot.candidate_term_id > s.persisted_candidate_term_id:
                    yield ballot
        term = s.module_leadership_term_id
        yield StopCatchup(term, self.member_id)
        if s.election_state is ElectionState.CLOSED and s.leader_member_id >= 0:
            yield TerminationPosition(term, s.commit_position)

    def _ticks(self, s: Member, k: int, silent_messages: frozenset[str]) -> Iterator[Move]:
        """The duty cycles of an election."""
        at = s.election_state
        if s.module_state is not ModuleState.ACTIVE or at is ElectionState.CLOSED:
            return
        action = TICKS[at]
        # A member that copies a log reports each position, even if no line shows the reports.
        copies = (
            at is ElectionState.FOLLOWER_LOG_REPLICATION and "AppendPosition" in silent_messages
        )
        timers = _TIMERS[2:] if copies else _TIMERS
        if at is ElectionState.CANDIDATE_BALLOT and self._is_elected(k) and self._votes(s, k):
            # The candidate first receives each vote: as a leader it announces a position that
            # depends on them.
            timers = _TIMERS[:1]
        for given in timers:
            if at not in _LEADS:
                yield action, given
                continue
            leading = replace(given, active=self.all)
            yield action, leading
            if at is ElectionState.LEADER_READY:
                end = self.facts.entry_end(s.leadership_term_id, s.publication_position)
                yield action, replace(leading, position=end)
        yield "ElectionError", NO_INPUT
        if at is ElectionState.LEADER_READY:
            for given in timers:
                yield "ElectionError", replace(given, active=self.all, position=end)
        if at is ElectionState.FOLLOWER_READY:
            yield "ElectionError", Input(position=s.commit_position)

    def _closed(self, s: Member, k: int, silent_messages: frozenset[str]) -> Iterator[Move]:
        """The steps of a closed member: it enters an election, or terminates."""
        if s.module_state is not ModuleState.ACTIVE or s.election_state is not ElectionState.CLOSED:
            return
        # The reason of the election shows whether the leader has closed its log stream.
        line = self.lines.records[k] if k < len(self.lines.records) else None
        reason = line.reason if isinstance(line, records.NewElection) else None
        closed = reason is not None and _LOG_ENDED in reason
        if not closed:
            yield "EnterElection", NO_INPUT
        if s.leader_member_id >= 0 and (closed or reason is None):
            yield "EnterElection", Input(graceful_closed_leader_id=s.leader_member_id)
        if k in self._terminates or not self._shows_termination:
            yield "Terminate", NO_INPUT
            asked = self.lines.acknowledged.get(k, -1)
            if asked in (-1, s.publication_position):
                yield "InitiateTermination", NO_INPUT
        if s.termination_position <= s.commit_position:
            return
        end = s.termination_position
        if s.role is Role.LEADER:
            yield ASSUME_COMMIT, Input(position=end)
        elif "CommitPosition" in silent_messages and s.module_notified_commit_position < end:
            term = s.module_leadership_term_id
            yield "OnCommitPosition", Input(message=CommitPosition(term, end, s.leader_member_id))

    def _replayed(self, s: Member) -> Iterator[Move]:
        """The steps that process first entries of terms, if no line shows such steps."""
        for term, base in self._entries(s):
            if base == s.commit_position:
                yield from self._first_entry(s, term, base, self.facts.entry_end(term, base))

    def _first_entry(self, s: Member, term: int, base: int, end: int) -> Iterator[Move]:
        """The step that processes the first entry of a term."""
        x = Input(position=end, leadership_term_id=term, term_base_log_position=base)
        yield "OnReplayNewLeadershipTermEvent", x
        if consume_bound(s) < end and self._may_be_within_entry(s):
            yield "OnReplayNewLeadershipTermEvent", replace(x, entry_position=base)

    def _entries(self, s: Member) -> Iterator[tuple[int, int]]:
        """The terms whose first entry a member has still to process, with their bases.

        They are the terms of its own recording log, and the term that it joins. An older term may
        lack its first entry in a log that was copied: the member opened the term, but recorded
        nothing of it before it followed a newer leader. So an older term counts only if a line
        shows that some member has processed its entry, or if the log does not print such lines.
        """
        joined = max(s.leadership_term_id, s.module_leadership_term_id)
        known = {
            e.leadership_term_id: e.term_base_log_position
            for e in s.recording_log
            if not self._shows_replay
            or e.leadership_term_id >= joined
            or e.leadership_term_id in self.facts.processed
        }
        if joined in self.facts.term_entries:
            known.setdefault(joined, self.facts.term_entries[joined][0])
        # Where two terms begin at one position, the log has the entry of the later one.
        for base, term in {base: term for term, base in sorted(known.items())}.items():
            if base >= s.commit_position:
                yield term, base

    def _wanted(self, s: Member, k: int) -> tuple[set[int], set[int]]:
        """The recorded positions and the commit positions that the next lines from ``k`` show."""
        positions: set[int] = set()
        commits: set[int] = set()
        for record, index in self._following(k):
            kind = type(record)
            if kind is records.StateChange:
                ends = is_snapshot_end(record)
                at = self._snapshot_at(s, index) if ends else self.lines.acknowledged[index]
                if ends and at < 0 and s.commit_position <= _snapshotted(s):
                    at = _snapshotted(s) + records.FRAME_ALIGNMENT
                if at > 0:
                    commits.add(at)
                    positions.add(at)
                continue
            for name in ("append_position", "new_position", "old_position"):
                if hasattr(record, name):
                    positions.add(getattr(record, name))
            if kind in _CHANGES:
                commits.add(record.log_position)  # type: ignore[attr-defined]
                positions.add(record.log_position)  # type: ignore[attr-defined]
            if isinstance(record, records.ReplayNewLeadershipTerm):
                base = record.term_base_log_position
                commits.add(base)
                positions.add(self.facts.entry_end(record.leadership_term_id, base))
        positions.add(s.replication_stop_position)
        if s.election_state is ElectionState.CLOSED:
            positions.add(s.termination_position)
            commits.add(s.termination_position)
        if s.election_state in (ElectionState.FOLLOWER_REPLAY, ElectionState.LEADER_REPLAY):
            commits.add(consume_bound(s))
        return positions, commits

    def _snapshot_at(self, s: Member, k: int) -> int:
        """The position of the snapshot that ends at line ``k``, or -1.

        If no line of the member shows it, it is the next position at which another member took a
        snapshot, provided that this member knows that position to be committed.
        """
        at = self.lines.acknowledged.get(k, NULL_VALUE)
        if at >= 0:
            return at
        least, most = max(s.commit_position, _snapshotted(s)), s.module_notified_commit_position
        return next((one for one in self.facts.snapshots if least <= one <= most), NULL_VALUE)

    def _following(self, k: int) -> Iterator[tuple[records.Line, int]]:
        """The lines whose positions the member reaches next, with their indexes.

        They are line ``k``, the next change, and the start of the next election.
        """
        all_lines = self.lines.records
        if k < len(all_lines):
            yield all_lines[k], k
        at = bisect_left(self._changes, k)
        if at < len(self._changes):
            yield all_lines[self._changes[at]], self._changes[at]
        for index in self._changes[at : at + _INIT_WITHIN]:
            record = all_lines[index]
            if isinstance(record, records.ElectionStateChange) and record.old_state == "INIT":
                yield record, index

    def _positions(self, s: Member, positions: set[int], commits: set[int]) -> Iterator[Move]:
        """The steps by which the log is written, recorded and processed up to some positions."""
        closed = s.module_state is ModuleState.ACTIVE and s.election_state is ElectionState.CLOSED
        leads = closed and s.role is Role.LEADER
        for position in sorted(positions):
            if position > s.recorded_position:
                if leads and position > s.publication_position:
                    yield "AppendEntry", Input(position=position)
                yield "RecordLog", Input(position=position)
        entries = () if leads else [base for _, base in self._entries(s)]
        if entries:
            # One step does not process the log beyond the first entry of a term.
            commits = {one for one in commits if one <= min(entries)} | {min(entries)}
        within = not leads and self._may_be_within_entry(s)
        for position in sorted(commits):
            if position > s.commit_position:
                yield "ConsumeLog", Input(position=position)
                if within and position > consume_bound(s):
                    yield "ConsumeLog", Input(position=position, entry_position=s.commit_position)
                if leads and position <= s.recorded_position:
                    yield ASSUME_COMMIT, Input(position=position)

    def _may_be_within_entry(self, s: Member) -> bool:
        """Whether the bound up to which a member processes its log may lie within an entry.

        It may if another member canvassed with a log of another term that ends at the bound.
        """
        bound = consume_bound(s)
        ends = self.facts.log_ends.get(bound)
        if ends is None:
            return False
        terms = [e for e in s.recording_log if e.term_base_log_position < bound]
        own = terms[-1].leadership_term_id if terms else NULL_VALUE
        return bool(ends - {own})

    def receipts(
        self,
        s: Member,
        k: int,
        silent_messages: frozenset[str],
        positions: set[int],
        commits: set[int],
    ) -> Iterator[Move]:
        """The inferred receipts: those of the ``silent_messages``."""
        at = s.election_state
        if "Vote" in silent_messages and at is ElectionState.CANDIDATE_BALLOT:
            for vote in self._votes(s, k):
                yield receive(vote)
        if "AppendPosition" in silent_messages and at in _LEADS:
            term, position = s.leadership_term_id, s.append_position
            followers = self.facts.likely_reporters(self.member_id, term, position)
            for j in followers or self._others:
                known = s.members[j]
                behind = known.log_position < s.append_position
                if behind or known.leadership_term_id != s.leadership_term_id:
                    yield receive(AppendPosition(s.leadership_term_id, s.append_position, j, 0))
        if "CanvassPosition" in silent_messages:
            yield from self._canvasses(s, k)
        if "CommitPosition" in silent_messages and s.leader_member_id not in (self.member_id, -1):
            yield from self._commits(s, k, positions | commits)

    def _votes(self, s: Member, k: int) -> list[Vote]:
        """The inferred votes that a candidate has not received yet.

        If the votes that were granted before line ``k`` are a quorum, later votes are left out.
        """
        if "Vote" not in self.lines.vocabulary.silent_messages:
            return []
        granted = self.facts.votes.get((self.member_id, s.candidate_term_id), {})
        now = self.lines.times[k] if k < len(self.lines.times) else FOREVER
        early = {j: one for j, one in granted.items() if one[0] <= now}
        enough = is_quorum(1 + len(early), self.rules.member_count)
        votes = [(j, vote) for j, (_, vote) in (early if enough else granted).items()]
        return [v for j, v in votes if s.members[j].vote != 1 and (k, v) not in self.banned]

    def _is_elected(self, k: int) -> bool:
        """Whether the next change from line ``k`` on shows that the candidate has won."""
        at = bisect_left(self._changes, k)
        record = self.lines.records[self._changes[at]] if at < len(self._changes) else None
        won = ElectionState.LEADER_LOG_REPLICATION.value
        return isinstance(record, records.ElectionStateChange) and record.new_state == won

    def _commits(self, s: Member, k: int, positions: set[int]) -> Iterator[Move]:
        """The commit positions that a member can receive from its leader.

        In an election, the commit position of the leader's last announcement is tried first: the
        leader sends both messages together.
        """
        at, leader = s.election_state, s.leader_member_id
        if at is ElectionState.CLOSED:
            for position in sorted(positions):
                if position > s.module_notified_commit_position:
                    yield receive(CommitPosition(s.module_leadership_term_id, position, leader))
        elif at.value.startswith("FOLLOWER"):
            term = s.leadership_term_id
            terms = [term]
            if self.rules.is_149 and at is ElectionState.FOLLOWER_LOG_REPLICATION:
                # A commit position has the term of the leader's consensus module. While the leader
                # replays, that is an older term.
                first = self.facts.module_terms.get((leader, term), NULL_VALUE)
                now = self.lines.times[k] if k < len(self.lines.times) else FOREVER
                ready = self.facts.ready.get((leader, term))
                is_ready = ready is not None and ready <= now
                terms = sorted(range(first, term + 1), reverse=is_ready)
            several = sorted(positions | {s.append_position}, reverse=True)
            for position in dict.fromkeys([self._announced(leader, k), *several]):
                if position > s.notified_commit_position:
                    for one in terms:
                        yield receive(CommitPosition(one, position, leader))

    def _announced(self, leader: int, k: int) -> int:
        """The commit position in the last announcement before line ``k``.

        Null if ``leader`` did not send that announcement.
        """
        at = bisect_left(self._announcements, k)
        last = self.lines.messages[self._announcements[at - 1]] if at else None
        if isinstance(last, NewLeadershipTerm) and last.leader_member_id == leader:
            return last.commit_position
        return NULL_VALUE

    def _canvasses(self, s: Member, k: int) -> Iterator[Move]:
        """The receipts of canvass positions, whose contents come from the others' election lines.

        A member in CANVASS also receives reports of members that still follow it.
        """
        at = s.election_state
        if at is ElectionState.CANVASS:
            own = s.members[self.member_id]
            log = (own.leadership_term_id, own.log_position)
            unknown = [j for j in self._others if s.members[j].log_position < 0]
            for m in self._sent_by(unknown, k, s):
                if m.follower_member_id not in unknown or (k, m) in self.banned:
                    continue
                if (
                    isinstance(m, AppendPosition)
                    or (m.log_leadership_term_id, m.log_position) <= log
                ):
                    unknown.remove(m.follower_member_id)
                    yield receive(m, self.all)
        elif at in (ElectionState.LEADER_LOG_REPLICATION, ElectionState.LEADER_READY):
            sent = (m for j in self._others for *_, m in self.facts.canvasses.get(j, ()))
            newer = (m for m in sent if m.log_leadership_term_id > s.leadership_term_id)
            yield from (receive(m, self.all) for m in islice(newer, 1))
            if at is ElectionState.LEADER_LOG_REPLICATION:
                behind = [j for j in self._others if s.members[j].log_position < s.append_position]
                for m in self._sent_by(behind, k):
                    if m.log_position >= s.append_position and (k, m) not in self.banned:
                        yield receive(m, self.all)

    def _sent_by(
        self, members: Sequence[int], k: int, led: Member | None = None
    ) -> list[CanvassPosition | AppendPosition]:
        """The canvass positions of ``members``, and their reports to their former leader.

        ``led`` is the state of that leader. The message that was sent last before line ``k`` comes
        first.
        """
        now = self.lines.times[k] if k < len(self.lines.times) else FOREVER
        sent: list[tuple[int, int, CanvassPosition | AppendPosition]] = [
            one for j in members for one in self.facts.canvasses.get(j, ())
        ]
        if led is not None and "AppendPosition" in self.lines.vocabulary.silent_messages:
            # Reports of older terms count, too: a member that sends one may still copy a log.
            position = min(led.commit_position, led.append_position)
            for leader, term in sorted(self.facts.followers):
                if leader != self.member_id or term > led.leadership_term_id:
                    continue
                for j, (begin, end) in self.facts.follower_times(leader, term).items():
                    if j in members:
                        sent.append((begin, end, AppendPosition(term, position, j, 0)))
        ages = [
            (begin > now, begin - now if begin > now else now - min(end, now), number)
            for number, (begin, end, _) in enumerate(sent)
        ]
        return [sent[number][2] for *_, number in sorted(ages)]


def _snapshotted(s: Member) -> int:
    """A lower bound of the position of a member's next snapshot.

    It is the end of the last term's first entry or the position of the last snapshot, whichever is
    greater.
    """
    log = s.recording_log
    entry = log[-1].term_base_log_position + TERM_ENTRY_BYTES if log else 0
    return max(s.snapshot_log_position, entry)


def receive(message: Message, active: frozenset[int] = frozenset()) -> Move:
    """The step that receives a message."""
    return f"On{type(message).__name__}", Input(message=message, active=active)

"""Facts about the cluster from the lines of all members: the possible contents of messages and of
log entries.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from canvass.cluster.messages import (
    NULL_VALUE,
    CanvassPosition,
    NewLeadershipTerm,
    RequestVote,
    Vote,
)
from canvass.traces.aeron_log import records
from canvass.traces.alignment.member_lines import FOREVER, MemberLines, is_snapshot_end

TERM_ENTRY_BYTES: Final = 96
"""The length of a NewLeadershipTermEvent in the log, with the header of its frame."""


@dataclass(slots=True)
class ClusterFacts:
    """Facts that lines of any member show.

    Parameters
    ----------
    term_entries
        For each term, the base and the end of its first entry. If lines differ, the entry that
        most lines show is taken; in a tie, the one with the usual length. If no line shows the
        entry, the announcements of the term decide.
    processed
        The terms whose first entry was processed by some member, as a line shows.
    canvasses
        For each member, the canvass positions that it can have sent, in order. Each one is preceded
        by the wall times of the first and the last moment at which it can have been sent.
    ballots
        For each member, the requests for votes that it can have sent.
    announcements
        For each term, the announcements of its leader.
    followers
        For each leader and term, and for each follower: the append positions in the follower's
        election lines, in order, each with the wall time of the line.
    votes
        For each candidate and term, and for each voter: the granted vote and its wall time.
    log_ends
        For each position, the terms of the logs that ended there when their members canvassed.
    module_terms
        For each leader and term, the term of the leader's consensus module when it was elected.
    ready
        For each leader and term, the wall time from which on the leader's consensus module had the
        term.
    snapshots
        The positions at which lines show that members took snapshots, in order.
    """

    term_entries: dict[int, tuple[int, int]] = field(default_factory=dict)
    processed: set[int] = field(default_factory=set)
    canvasses: dict[int, list[tuple[int, int, CanvassPosition]]] = field(default_factory=dict)
    ballots: dict[int, list[RequestVote]] = field(default_factory=dict)
    announcements: dict[int, list[NewLeadershipTerm]] = field(default_factory=dict)
    followers: dict[tuple[int, int], dict[int, list[tuple[int, int]]]] = field(default_factory=dict)
    votes: dict[tuple[int, int], dict[int, tuple[int, Vote]]] = field(default_factory=dict)
    log_ends: dict[int, set[int]] = field(default_factory=dict)
    module_terms: dict[tuple[int, int], int] = field(default_factory=dict)
    ready: dict[tuple[int, int], int] = field(default_factory=dict)
    snapshots: list[int] = field(default_factory=list)

    def likely_reporters(self, leader: int, term: int, position: int) -> list[int]:
        """The followers of a leader in a term, the likeliest reporters of a position first.

        A member whose lines show the position earlier is likelier.
        """

        def shown(j: int) -> int:
            lines = self.followers[leader, term][j]
            return next((time_ns for at, time_ns in lines if at >= position), FOREVER)

        return sorted(self.followers.get((leader, term), ()), key=shown)

    def follower_times(self, leader: int, term: int) -> dict[int, tuple[int, int]]:
        """For each follower of a leader, the wall times at which it began and ceased to follow."""
        found = {}
        for j, lines in self.followers.get((leader, term), {}).items():
            begin, last = lines[0][1], lines[-1][1]
            later = (at for at, _, _ in self.canvasses.get(j, ()) if at > last)
            found[j] = begin, next(later, FOREVER)
        return found

    def entry_end(self, term: int, base: int) -> int:
        """The end of a term's first entry. If no line shows it, the entry has its usual length."""
        known = self.term_entries.get(term)
        return known[1] if known is not None and known[0] == base else base + TERM_ENTRY_BYTES


def cluster_facts(members: Mapping[int, MemberLines]) -> ClusterFacts:
    """Collect the facts that the lines of all members show."""
    entries: defaultdict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
    announced: defaultdict[int, dict[NewLeadershipTerm, None]] = defaultdict(dict)
    facts = ClusterFacts()
    for i, lines in members.items():
        candidates: dict[int, int] = {}
        change: records.ElectionStateChange | None = None
        module_term = NULL_VALUE
        facts.canvasses[i], facts.ballots[i] = [], []
        found = zip(lines.records, lines.messages, lines.times, strict=True)
        for record, message, time_ns in found:
            if isinstance(record, records.ProcessStart):
                module_term = NULL_VALUE
                _end_canvass(facts.canvasses[i], time_ns)
            elif isinstance(record, records.ReplayNewLeadershipTerm):
                _note_entry(entries, record)
                module_term = record.leadership_term_id
            elif isinstance(record, records.ElectionStateChange):
                if record.new_state == "CLOSED":
                    module_term = record.leadership_term_id
                elif record.new_state == "LEADER_LOG_REPLICATION":
                    facts.module_terms[i, record.leadership_term_id] = module_term
                _note_change(facts, i, record, time_ns, candidates)
                change = record
            elif isinstance(message, RequestVote):
                candidates[message.candidate_term_id] = message.candidate_member_id
                if change is not None and change.new_state == "FOLLOWER_BALLOT":
                    _note_vote_again(facts, i, change, time_ns, message)
            elif isinstance(message, NewLeadershipTerm):
                announced[message.leadership_term_id][message] = None
    facts.processed = set(entries)
    noted = [(one, *ended) for one in members.values() for ended in one.acknowledged.items()]
    ends = {at for one, k, at in noted if at >= 0 and is_snapshot_end(one.records[k])}
    facts.snapshots = sorted(ends)
    for m in (one for several in announced.values() for one in several):
        base = m.term_base_log_position
        entries.setdefault(m.leadership_term_id, Counter([(base, base + TERM_ENTRY_BYTES)]))
    lengths = Counter(end - base for places in entries.values() for base, end in places.elements())
    lengths[TERM_ENTRY_BYTES] += 1  # The usual length wins a tie.
    facts.term_entries = {
        term: max(((n, lengths[end - base], (base, end)) for (base, end), n in places.items()))[2]
        for term, places in entries.items()
    }
    facts.announcements = {term: list(several) for term, several in announced.items()}
    return facts


def _note_entry(
    entries: Mapping[int, Counter[tuple[int, int]]], record: records.ReplayNewLeadershipTerm
) -> None:
    """Note the begin and the end of a term's first entry.

    A line whose end is not greater than its begin is false, and is not noted.
    """
    place = (record.term_base_log_position, record.log_position)
    if place[0] < place[1]:
        entries[record.leadership_term_id][place] += 1


def _note_change(
    facts: ClusterFacts,
    i: int,
    record: records.ElectionStateChange,
    time_ns: int,
    candidates: Mapping[int, int],
) -> None:
    """Note the leader in a change of the election state, and the messages that the member sends
    after the change.
    """
    if record.new_state == "LEADER_READY":
        facts.ready[i, record.leadership_term_id] = time_ns
    log = (record.log_leadership_term_id, record.append_position)
    _end_canvass(facts.canvasses[i], time_ns)
    if record.new_state == "CANVASS":
        m = CanvassPosition(*log, record.leadership_term_id, i)
        facts.log_ends.setdefault(m.log_position, set()).add(m.log_leadership_term_id)
        facts.canvasses[i].append((time_ns, FOREVER, m))
    elif record.new_state == "CANDIDATE_BALLOT":
        ballot = RequestVote(*log, record.candidate_term_id, i)
        if ballot not in facts.ballots[i]:
            facts.ballots[i].append(ballot)
    elif record.new_state == "FOLLOWER_BALLOT":
        term = record.candidate_term_id
        j = candidates.get(term, NULL_VALUE)
        vote = Vote(term, *log, j, i, True)
        facts.votes.setdefault((j, term), {})[i] = time_ns, vote
    if record.leader_member_id not in (i, NULL_VALUE):
        led = record.leader_member_id, record.leadership_term_id
        followed = facts.followers.setdefault(led, {})
        followed.setdefault(i, []).append((record.append_position, time_ns))


def _end_canvass(sent: list[tuple[int, int, CanvassPosition]], time_ns: int) -> None:
    """Note the wall time at which a member ceased to send its last canvass position."""
    if sent and sent[-1][1] == FOREVER:
        sent[-1] = sent[-1][0], time_ns, sent[-1][2]


def _note_vote_again(
    facts: ClusterFacts,
    i: int,
    record: records.ElectionStateChange,
    time_ns: int,
    request: RequestVote,
) -> None:
    """Note a vote that a member grants in FOLLOWER_BALLOT, for a later term than its first vote.

    The member stays in FOLLOWER_BALLOT, so no line of its own shows this vote.
    """
    term, j = request.candidate_term_id, request.candidate_member_id
    log = (record.log_leadership_term_id, record.append_position)
    asked = (request.log_leadership_term_id, request.log_position)
    if term > record.candidate_term_id and asked >= log:
        vote = Vote(term, *log, j, i, True)
        facts.votes.setdefault((j, term), {}).setdefault(i, (time_ns, vote))

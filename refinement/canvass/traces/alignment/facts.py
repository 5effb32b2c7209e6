"""What the logs of all members together say of the cluster, whoever wrote the line.

These are contents that messages and log entries can have had; who did what is found elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from canvass.cluster.messages import (
    NULL_VALUE,
    CanvassPosition,
    NewLeadershipTerm,
    RequestVote,
    Vote,
)
from canvass.traces.aeron_log import records
from canvass.traces.alignment.member_lines import MemberLines


@dataclass(slots=True)
class ClusterFacts:
    """Contents that lines of any member show.

    Parameters
    ----------
    term_entries
        For each term the base and the end of its first entry, as most lines have it.
    canvasses
        For each member the canvass positions that it can have sent, in order, each with the
        member's candidate term then.
    ballots
        For each member the requests for votes that it can have sent.
    announcements
        For each term the announcements that its leader has sent.
    followers
        For each leader and term the members that followed it.
    votes
        For each candidate and term the votes that members have granted.
    """

    term_entries: dict[int, tuple[int, int]] = field(default_factory=dict)
    canvasses: dict[int, list[tuple[int, CanvassPosition]]] = field(default_factory=dict)
    ballots: dict[int, list[RequestVote]] = field(default_factory=dict)
    announcements: dict[int, list[NewLeadershipTerm]] = field(default_factory=dict)
    followers: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    votes: dict[tuple[int, int], dict[int, Vote]] = field(default_factory=dict)

    def entry_end(self, term: int, base: int) -> int:
        """Where the first entry of a term ends, or -1."""
        known = self.term_entries.get(term)
        return known[1] if known is not None and known[0] == base else -1


def cluster_facts(members: Mapping[int, MemberLines]) -> ClusterFacts:
    """Collect what the lines of all members show."""
    entries: defaultdict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
    canvasses: dict[int, dict[tuple[int, CanvassPosition], None]] = {}
    ballots: dict[int, dict[RequestVote, None]] = {}
    announced: defaultdict[int, dict[NewLeadershipTerm, None]] = defaultdict(dict)
    followers: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    votes: defaultdict[tuple[int, int], dict[int, Vote]] = defaultdict(dict)
    for i, lines in members.items():
        canvasses[i], ballots[i] = {}, {}
        candidates: dict[int, int] = {}
        for record, message in zip(lines.records, lines.messages, strict=True):
            if isinstance(record, records.ReplayNewLeadershipTerm):
                place = (record.term_base_log_position, record.log_position)
                entries[record.leadership_term_id][place] += 1
            elif isinstance(record, records.ElectionStateChange):
                log = (record.log_leadership_term_id, record.append_position)
                if record.new_state == "CANVASS":
                    m = CanvassPosition(*log, record.leadership_term_id, i)
                    canvasses[i][record.candidate_term_id, m] = None
                elif record.new_state == "CANDIDATE_BALLOT":
                    ballots[i][RequestVote(*log, record.candidate_term_id, i)] = None
                elif record.new_state == "FOLLOWER_BALLOT":
                    term = record.candidate_term_id
                    j = candidates.get(term, NULL_VALUE)
                    votes[j, term][i] = Vote(term, *log, j, i, True)
                if record.leader_member_id not in (i, NULL_VALUE):
                    followers[record.leader_member_id, record.leadership_term_id].add(i)
            elif isinstance(message, RequestVote):
                candidates[message.candidate_term_id] = message.candidate_member_id
            elif isinstance(message, NewLeadershipTerm):
                announced[message.leadership_term_id][message] = None
    return ClusterFacts(
        {term: _most_common(places) for term, places in entries.items()},
        {i: list(found) for i, found in canvasses.items()},
        {i: list(found) for i, found in ballots.items()},
        {term: list(found) for term, found in announced.items()},
        dict(followers),
        dict(votes),
    )


def _most_common(places: Counter[tuple[int, int]]) -> tuple[int, int]:
    return max(places.items(), key=lambda item: (item[1], item[0]))[0]

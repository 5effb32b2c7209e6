"""From which places in a sender's log a message can come, by its kind and content.

A message of a duty cycle comes from a segment, a reply from the receipt that it answers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Final

from canvass.cluster.messages import (
    CATCHUP_FLAG,
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
from canvass.traces.aeron_import.evidence import MemberEvidence, Segment
from canvass.traces.aeron_import.known import Known
from canvass.traces.aeron_log import records

UNPLANNED: Final = -1
"""No place."""

_ONLY_REPLIES: Final = (Vote, StopCatchup)

LEADING: Final = ("LEADER_LOG_REPLICATION", "LEADER_REPLAY", "LEADER_READY")
"""The states of an election in which a leader announces itself."""


class Places:
    """Where in a sender's log what kind of message can come from."""

    def __init__(self, evidence: MemberEvidence, known: Known) -> None:
        self.segments = evidence.segments
        self.segment_starts = [segment.start for segment in evidence.segments]
        self.starts: dict[Hashable, list[int]] = defaultdict(list)
        self.ends: dict[Hashable, list[int]] = defaultdict(list)
        self.records: dict[Hashable, list[int]] = defaultdict(list)
        for segment in evidence.segments:
            if _has_nothing_to_replay(evidence, segment):
                continue
            for key in _segment_keys(segment, evidence.member_id):
                self.starts[key].append(segment.start)
                self.ends[key].append(segment.end)
            for index, term in _refused(evidence, segment):
                self.starts["RV", term].append(index)
                self.ends["RV", term].append(segment.end)
        self._entries = [
            (index, record.leadership_term_id)
            for index, record in evidence.others
            if isinstance(record, records.ReplayNewLeadershipTerm)
        ]
        for index, record in evidence.others:
            if isinstance(record, records.RequestVote):
                ballot = ("VOTE", record.candidate_member_id, record.candidate_term_id)
                self.records[ballot].append(index)
        for segment in evidence.segments:
            self._add_answers(evidence, known, segment)

    def _add_answers(self, evidence: MemberEvidence, known: Known, segment: Segment) -> None:
        """Note which receipts are answered: all by a leader, and reports in any election."""
        term, leads = segment.term, segment.leads(evidence.member_id)
        if segment.state == "CLOSED" and not leads:
            return
        for index in range(segment.start, segment.end):
            record = evidence.records[index]
            key: Hashable = None
            if isinstance(record, records.AppendPosition):
                written = known.written(term, evidence.times[index]) if leads else NULL_VALUE
                if record.log_position >= written:
                    kind = "STOP" if record.flags == CATCHUP_FLAG else "STOP?"
                    key = (kind, record.follower_member_id, record.leadership_term_id)
            elif isinstance(record, records.CanvassPosition) and leads:
                key = ("HINT", record.follower_member_id, record.log_leadership_term_id, term)
            elif isinstance(record, records.RequestVote) and leads and segment.state != "CLOSED":
                key = ("HINT", record.candidate_member_id, record.log_leadership_term_id, term)
            if key is not None:
                self.records[key].append(index)

    def latest_segment(self, key: Hashable, before: int) -> int:
        """The latest index, at most ``before``, within a segment that has the key; or -1."""
        starts = self.starts.get(key, [])
        place = bisect_left(starts, before) - 1
        return min(before, self.ends[key][place]) if place >= 0 else UNPLANNED

    def settled(self, due: int, limit: int) -> int:
        """Move a send that only the end of a segment can make there, if it lies in one."""
        segment = self.segments[bisect_left(self.segment_starts, due) - 1]
        if segment.state in ("FOLLOWER_READY", "FOLLOWER_CATCHUP_INIT") and segment.end <= limit:
            return segment.end
        return due

    def before_term(self, due: int, term: int) -> int:
        """Move a report of a catch-up to before the first entry of a later term, if one is
        processed in the segment before it: who catches up reports in the term that it is in.
        """
        segment = self.segments[bisect_left(self.segment_starts, due) - 1]
        first = bisect_left(self._entries, (segment.start,))
        for index, begun in self._entries[first : bisect_left(self._entries, (due,))]:
            if begun > term:
                return index
        return due

    def latest_record(self, key: Hashable, before: int) -> int:
        """The latest record below ``before`` that has the key; or -1."""
        found = self.records.get(key, [])
        place = bisect_left(found, before) - 1
        return found[place] if place >= 0 else UNPLANNED


def _has_nothing_to_replay(evidence: MemberEvidence, segment: Segment) -> bool:
    """Whether a follower goes on at once, and reports nothing."""
    shown = evidence.records[segment.start]
    if segment.state != "FOLLOWER_REPLAY" or not isinstance(shown, records.ElectionStateChange):
        return False
    return shown.log_position >= shown.append_position


def _refused(evidence: MemberEvidence, segment: Segment) -> Iterator[tuple[int, int]]:
    """The ballots of later terms that a candidate refuses, by index and term: it asks for votes in
    such a term then.
    """
    if segment.state == "CANDIDATE_BALLOT":
        term = segment.candidate_term
        for index in range(segment.start + 1, segment.end):
            record = evidence.records[index]
            if isinstance(record, records.RequestVote) and record.candidate_term_id > term:
                term = record.candidate_term_id
                yield index, term


def _segment_keys(segment: Segment, member_id: int) -> list[Hashable]:
    """What can be sent in a segment, as `segment_key` names it."""
    state, term, leader = segment.state, segment.term, segment.leader
    if state in ("CANVASS", "NOMINATE"):
        return [("CAN", segment.log_term, segment.append, term)]
    if state == "CANDIDATE_BALLOT":
        return [("RV", segment.candidate_term)]
    if state in LEADING:
        about = term if state == "LEADER_READY" else segment.log_term
        return [("CP", term), ("NLT", term, about)]
    if state == "CLOSED" and leader == member_id:
        return [("CP", term), ("TP", term)]
    if state in ("FOLLOWER_LOG_REPLICATION", "FOLLOWER_REPLAY", "FOLLOWER_READY"):
        return [("AP", term, leader)]
    if state == "CLOSED":
        return [("AP", term, leader), ("TA", leader)]
    if state == "FOLLOWER_CATCHUP":
        return [("AP+", leader)]
    if state == "FOLLOWER_CATCHUP_INIT":
        return [("CATCHUP", term, leader)]
    return []


def segment_key(message: Message, receiver: int) -> Hashable:
    """What names the segments that a message can come from."""
    match message:
        case CommitPosition():
            return ("CP", message.leadership_term_id)
        case AppendPosition(flags=flags) if flags == CATCHUP_FLAG:
            return ("AP+", receiver)
        case AppendPosition():
            return ("AP", message.leadership_term_id, receiver)
        case CanvassPosition():
            return (
                "CAN",
                message.log_leadership_term_id,
                message.log_position,
                message.leadership_term_id,
            )
        case RequestVote():
            return ("RV", message.candidate_term_id)
        case NewLeadershipTerm():
            return ("NLT", message.leadership_term_id, message.log_leadership_term_id)
        case CatchupPosition():
            return ("CATCHUP", message.leadership_term_id, receiver)
        case TerminationPosition():
            return ("TP", message.leadership_term_id)
        case TerminationAck():
            return ("TA", receiver)
        case _:
            return None


def reply_key(message: Message, receiver: int) -> Hashable:
    """What names the receipts that a message can answer."""
    match message:
        case Vote():
            return ("VOTE", receiver, message.candidate_term_id)
        case NewLeadershipTerm():
            term = message.leadership_term_id
            return ("HINT", receiver, message.log_leadership_term_id, term)
        case StopCatchup():
            return ("STOP", receiver, message.leadership_term_id)
        case _:
            return None


def reply_keys(message: Message, receiver: int) -> list[Hashable]:
    """All that names receipts that a message can answer."""
    key = reply_key(message, receiver)
    if isinstance(message, StopCatchup):
        return [key, ("STOP?", receiver, message.leadership_term_id)]
    return [] if key is None else [key]


def is_reply(places: Places, message: Message, receiver: int) -> bool:
    """Whether a message answers a receipt, by what it says and what its sender was."""
    if isinstance(message, _ONLY_REPLIES):
        return True
    if not isinstance(message, NewLeadershipTerm):
        return False
    if message.log_position > message.term_base_log_position:
        return True  # Of a leader that has opened its term.
    if message.next_log_position != NULL_VALUE:
        return True  # About a term that has ended: a broadcast is about the last one.
    return segment_key(message, receiver) not in places.starts

"""Risks that lines of the logs show: lost or truncated entries, committed entries on fewer disks
than a quorum, two leaders, and near misses of the hazards in the findings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from canvass.cluster.messages import Record
from canvass.explanation.leaderships import Span
from canvass.explanation.phases import BallotReport
from canvass.explanation.timeline import (
    CLOSED,
    Evidence,
    MemberTimeline,
    Sentence,
    Timeline,
    in_findings,
    shown_ns,
)
from canvass.traces.aeron_log import records
from canvass.traces.errors import counted, member_names

LOST: Final = "lost disk"
TRUNCATED: Final = "truncated"
FEW_DISKS: Final = "committed on too few disks"
TWO_LEADERS: Final = "two leaders in one term"
STALE: Final = "two leaders at once"
NEAR_MISS: Final = "near miss"
INCOMPLETE: Final = "incomplete log replay"
"""The reason that Aeron logs if a replay ends early."""
_VETOES: Final = 2
"""If one member refuses so many ballots because of its candidate term, L-E is reported."""


class RiskReport(Record, frozen=True):
    """One risk.

    Parameters
    ----------
    severity
        ``danger`` (committed entries, or a safety property), ``warning`` or ``note``.
    from_ns, until_ns
        The begin and the end, on the common clock; ``until_ns`` is null if the risk is a single
        event, or if no line shows its end.
    page
        The finding that describes the risk; empty if none does.
    """

    kind: str
    severity: str
    member_id: int | None
    from_ns: int
    until_ns: int | None
    page: str
    sentences: tuple[Sentence, ...]

    @property
    def title(self) -> str:
        """The hazard that the lines show, the kind, and the page of the finding."""
        return f"{self.page}{', ' if self.page else ''}{self.kind}{in_findings(self.page)}"


@dataclass(slots=True)
class _Disks:
    """The ends of the members' logs and the commit positions, from the lines that were read so far.

    Parameters
    ----------
    bases
        The position at which each term begins, as far as lines show it.
    ends
        For each member, the end of its log, the highest term that the entry at this end can have,
        and the line that shows the end.
    terms
        For each member, the highest term of its log since the log was last shortened.
    shortened
        The members whose logs were shortened in an election that has not closed. Other members may
        still receive messages that these members sent before, with the old end of the log.
    commits
        For each term, the highest commit position that was announced in it, and the line.
    """

    timeline: Timeline
    bases: Mapping[int, int]
    ends: dict[int, tuple[int, int, Evidence]] = field(default_factory=dict)
    terms: dict[int, int] = field(default_factory=dict)
    shortened: set[int] = field(default_factory=set)
    commits: dict[int, tuple[int, Evidence]] = field(default_factory=dict)
    highest: int = 0

    def see_commit(self, term: int, position: int, line: Evidence) -> None:
        """Note a commit position, unless an earlier line shows an equal or higher one."""
        if position > self.highest:
            self.highest = position
            self.commits[term] = (position, line)

    def see_term(self, member_id: int, term: int) -> None:
        """Note the term with which a member's log ends."""
        self.terms[member_id] = max(term, self.terms.get(member_id, term))

    def see_end(self, member_id: int, term: int, position: int, line: Evidence) -> None:
        """Note the end of a member's log, and the highest term that the entry there can have."""
        if member_id in self.shortened and line.member_id != member_id:
            return
        known = self.ends.get(member_id)
        if position >= 0 and (known is None or position > known[0]):
            self.ends[member_id] = (position, term, line)

    def committed_in(self, term: int) -> tuple[int, int, Evidence] | None:
        """The highest commit position that was announced in terms up to ``term``.

        The result has the term of the last entry before the position, the position, and the line.
        """
        known = [(one, *self.commits[one]) for one in self.commits if one <= term]
        if not known:
            return None
        announced, position, line = max(known, key=lambda row: row[1])
        # A new leader announces what was committed before its own term began.
        within = (one for one, base in self.bases.items() if one <= announced and base < position)
        is_older = self.bases.get(announced, -1) >= position
        return max(within, default=announced) if is_older else announced, position, line

    def holders(self, term: int, position: int) -> dict[int, Evidence]:
        """The members whose logs reach a position of a term, each with the line that shows it."""
        return {
            member_id: line
            for member_id, (end, of, line) in self.ends.items()
            if end >= position and of >= term
        }

    def shorten(self, member_id: int, term: int, position: int, line: Evidence) -> None:
        """Note that a member's log has lost its end."""
        self.ends[member_id] = (position, term, line)
        self.terms[member_id] = term
        self.shortened.add(member_id)


def find_risks(
    timeline: Timeline, spans: list[Span], ballots: list[BallotReport]
) -> list[RiskReport]:
    """List what was at risk, in the order of time."""
    bases = _bases(timeline)
    untermed = {
        member_id: list(_untermed(one, bases)) for member_id, one in timeline.members.items()
    }
    found = [*_disks(timeline, bases, untermed), *_leaders(spans)]
    said = {sentence for risk in found for sentence in risk.sentences}
    for member_id, copies in untermed.items():
        left = (copy for copy in copies if copy.sentence not in said)
        found += (_miss(member_id, copy.at_ns, "HZ2", copy.sentence) for copy in left)
    found += _near_misses(timeline, bases)
    found += _vetoes(timeline, ballots)
    return sorted(found, key=lambda risk: risk.from_ns)


def _miss(member_id: int, at_ns: int, page: str, sentence: Sentence) -> RiskReport:
    return RiskReport(NEAR_MISS, "warning", member_id, at_ns, None, page, (sentence,))


def shown_hazards(found: Iterable[RiskReport]) -> list[RiskReport]:
    """Give one risk for each hazard that lines show, the gravest kinds first."""
    order = {FEW_DISKS: 0, TRUNCATED: 1}
    ranked = sorted((one for one in found if one.page), key=lambda one: order.get(one.kind, 2))
    first: dict[str, RiskReport] = {}
    for risk in ranked:
        first.setdefault(risk.page, risk)
    return list(first.values())


# Logs and disks.


def _see(disks: _Disks, one: MemberTimeline, index: int) -> None:
    """Note the commit position and the ends of logs that a line shows."""
    line, record = one.evidence(index), one.records[index]
    match record:
        case records.CommitPosition(leadership_term_id=term, log_position=position):
            disks.see_commit(term, position, line)
            disks.see_end(record.leader_member_id, term, position, line)
        case records.AppendPosition(leadership_term_id=term, log_position=position):
            disks.see_end(record.follower_member_id, term, position, line)
        case records.CanvassPosition() | records.Vote():
            term, position = record.log_leadership_term_id, record.log_position
            disks.see_end(record.follower_member_id, term, position, line)
            disks.see_term(record.follower_member_id, term)
        case records.RequestVote():
            term, position = record.log_leadership_term_id, record.log_position
            disks.see_end(record.candidate_member_id, term, position, line)
            disks.see_term(record.candidate_member_id, term)
        case records.NewLeadershipTerm() if record.commit_position is not None:
            disks.see_commit(record.leadership_term_id, record.commit_position, line)
        case records.ElectionStateChange():
            term = record.log_leadership_term_id
            if record.new_state == CLOSED:
                disks.shortened.discard(one.member_id)
            disks.see_term(one.member_id, term)
            # In releases up to 1.49, the line after a truncation still has the old end.
            if record.new_state != "INIT":
                disks.see_end(one.member_id, term, record.append_position, line)
            disks.see_commit(disks.terms[one.member_id], record.log_position, line)
        case records.NewElection(leadership_term_id=term):
            disks.see_end(one.member_id, term, record.append_position, line)
            disks.see_commit(term, record.log_position, line)
        case _:
            pass


def _disks(
    timeline: Timeline, bases: Mapping[int, int], untermed: Mapping[int, list[_Untermed]]
) -> Iterator[RiskReport]:
    disks = _Disks(timeline, bases)
    for time_ns, one, index in timeline.merged(records.ClusterEvent):
        if (shrunk := _shrunk(disks, one, index)) is not None:
            copies = [
                c for c in untermed[one.member_id] if c.index < index < c.end and c.to > shrunk[1]
            ]
            yield _after_loss(disks, one, time_ns, index, shrunk, copies)
        _see(disks, one, index)


def _shrunk(disks: _Disks, one: MemberTimeline, index: int) -> tuple[int, int, str] | None:
    """The term and the end of a log, and the kind of loss, if a line shows that a part is lost."""
    record, known = one.records[index], disks.ends.get(one.member_id)
    if isinstance(record, records.TruncateLogEntry):
        return record.log_leadership_term_id, record.new_position, TRUNCATED
    if known is None or not isinstance(record, records.NewElection):
        return None
    if record.reason == "node started" and 0 <= record.append_position < known[0]:
        return record.leadership_term_id, record.append_position, LOST
    return None


def _after_loss(
    disks: _Disks,
    one: MemberTimeline,
    time_ns: int,
    index: int,
    shrunk: tuple[int, int, str],
    copies: list[_Untermed],
) -> RiskReport:
    """Report a log that has lost its end, and whether lost entries were committed.

    Parameters
    ----------
    copies
        The entries of a newer term, copied from a leader's log, to which the lost end belongs.
    """
    term, position, kind = shrunk
    line, record = one.evidence(index), one.records[index]
    old, old_term = disks.ends.get(one.member_id), disks.terms.get(one.member_id, term)
    old_term = max([old_term, *(copy.term for copy in copies)])
    disks.shorten(one.member_id, term, position, line)
    if isinstance(record, records.TruncateLogEntry):
        text = f"Member {one.member_id} truncated its log from {record.append_position} to"
        sentences = [Sentence(f"{text} {position}.", (line,))]
    else:
        assert old is not None
        text = f"Member {one.member_id} held its log up to {old[0]} and started with a log that"
        sentences = [
            Sentence(f"{text} ends at {position}: its disk lost the rest.", (old[2], line))
        ]
    sentences += [copy.sentence for copy in copies[-1:]]
    committed = disks.committed_in(old_term)
    if committed is not None and position < committed[1]:
        until, few, said = _copies(disks, one, index, committed)
        sentences += said
        page = ""
        if kind == TRUNCATED:
            page = "HZ2" if copies else "HZ6" if _replayed_in_part(one, index) else "L-D"
        kind = FEW_DISKS if few and kind == TRUNCATED else kind
        return RiskReport(kind, "danger", one.member_id, time_ns, until, page, tuple(sentences))
    if kind == TRUNCATED:
        text = "No line shows that the truncated entries had been committed"
        if committed is None:
            sentences.append(Sentence(f"{text}.", (line,)))
        else:
            text += f": the highest commit position up to term {old_term} is {committed[1]}."
            sentences.append(Sentence(text, (committed[2],)))
    severity = "warning" if kind == LOST else "note"
    return RiskReport(kind, severity, one.member_id, time_ns, None, "", tuple(sentences))


def _copies(
    disks: _Disks, one: MemberTimeline, index: int, committed: tuple[int, int, Evidence]
) -> tuple[int | None, bool, list[Sentence]]:
    """Say which other members hold the committed entries. If they are no quorum, say until when.

    Returns
    -------
    tuple
        The time, on the common clock, at which a quorum held the entries again, none if no line
        shows that; whether the members are fewer than a quorum; the sentences.
    """
    term, position, by = committed
    sentences = [Sentence(f"The log was committed up to {position} in term {term}.", (by,))]
    holders = disks.holders(term, position)
    quorum = disks.timeline.quorum
    few = len(holders) < quorum
    if not holders:
        text = f"After that no line shows another member that holds the log up to {position}."
    elif few:
        text = f"After that only {member_names(holders)} held the log up to {position}, as far as"
        text += f" lines show. A quorum is {counted(quorum, 'member')}."
    else:
        text = f"After that {member_names(holders)} still held the log up to {position}."
    sentences.append(Sentence(text, tuple(holders.values()) or (by,)))
    if not few:
        return None, False, sentences
    until, again, last = _restored(disks, one, index, term, position)
    if until is None or again is None:
        end = disks.timeline.last_line()
        text = f"No later line shows that a quorum held the log up to {position} again."
        sentences.append(Sentence(text, (end,)))
        text = "No line shows a member that has the entries at the end of the logs. Copy all disks"
        if last:
            disks_to_copy = "its disk" if len(last) == 1 else "their disks"
            text = f"The entries are on {member_names(last)} at the end of the logs. Copy"
            text += f" {disks_to_copy}"
        sentences.append(Sentence(f"{text} before you restart a member.", (end,)))
    else:
        text = f"A quorum held the log up to {position} again after"
        sentences.append(Sentence(f"{text} {shown_ns(until - one.times[index])}.", (again,)))
    return until, True, sentences


def _restored(
    disks: _Disks, one: MemberTimeline, index: int, term: int, position: int
) -> tuple[int | None, Evidence | None, dict[int, Evidence]]:
    """Find the time at which lines show again that a quorum holds the log up to a position.

    Returns
    -------
    tuple
        The time on the common clock and the line, both none if no line shows such a quorum; the
        members that hold the log up to the position at that time, or else at the end of the logs.
    """
    timeline = disks.timeline
    again = _Disks(timeline, disks.bases, dict(disks.ends), dict(disks.terms), set(disks.shortened))
    begin_ns = one.times[index]
    for time_ns, other, place in timeline.merged(records.ClusterEvent):
        if time_ns <= begin_ns:
            continue
        if (shrunk := _shrunk(again, other, place)) is not None:
            again.shorten(other.member_id, shrunk[0], shrunk[1], other.evidence(place))
        _see(again, other, place)
        if len(again.holders(term, position)) >= timeline.quorum:
            return time_ns, other.evidence(place), again.holders(term, position)
    return None, None, again.holders(term, position)


def _replayed_in_part(one: MemberTimeline, index: int) -> bool:
    """Whether a replay of the member ended early before an index, in the same election."""
    for place in range(index, -1, -1):
        record = one.records[place]
        if isinstance(record, records.NewElection):
            return False
        if not isinstance(record, records.ElectionStateChange):
            continue
        if (record.reason or "").startswith(INCOMPLETE):
            return True
    return False


# Leaders.


def _leaders(spans: list[Span]) -> Iterator[RiskReport]:
    by_term: dict[int, dict[int, Span]] = defaultdict(dict)
    for span in spans:
        if span.row.leader_member_id is not None:
            by_term[span.row.leadership_term_id].setdefault(span.row.leader_member_id, span)
    for term, leaders in by_term.items():
        if len(leaders) > 1:
            who = ", ".join(str(k) for k in sorted(leaders))
            lines = tuple(span.row.evidence[0] for span in leaders.values())
            text = f"Members {who} led the same term {term}: ElectionSafety does not hold."
            first = min(leaders.values(), key=lambda span: span.from_ns)
            yield RiskReport(
                TWO_LEADERS, "danger", None, first.from_ns, None, "", (Sentence(text, lines),)
            )
    exact = [span for span in spans if span.row.is_exact]
    for position, span in enumerate(exact):
        old, until = span.row.leadership_term_id, span.until_ns
        for later in exact[position + 1 :]:
            new = later.row.leadership_term_id
            if until is None or until <= later.from_ns or later.one is span.one or new <= old:
                continue
            text = (
                f"Member {span.one.member_id} was still in the role of leader of term {old} for"
                f" {shown_ns(until - later.from_ns)} after member {later.one.member_id} had opened"
                f" term {new}."
            )
            lines = (later.row.evidence[0], span.one.evidence(span.end))
            yield RiskReport(
                STALE, "note", span.one.member_id, later.from_ns, until, "",
                (Sentence(text, lines),),
            )  # fmt: skip
            break


# Near misses of the findings.


@dataclass(frozen=True, slots=True)
class _Untermed:
    """Entries of a newer term at the end of a log, without that term in the recording log.

    Parameters
    ----------
    index, end
        The index of the record with which the member begins to canvass, and that of the end of the
        election.
    at_ns
        The time at which it begins to canvass, on the common clock.
    term
        The term of the leader to whose log the entries belong.
    to
        The end of the log.
    """

    index: int
    end: int
    at_ns: int
    term: int
    to: int
    sentence: Sentence


_RECORDS_LEADERS_LOG: Final = frozenset(
    {"FOLLOWER_LOG_REPLICATION", "FOLLOWER_CATCHUP_INIT", "FOLLOWER_CATCHUP_AWAIT"}
    | {"FOLLOWER_CATCHUP", "FOLLOWER_LOG_INIT", "FOLLOWER_LOG_AWAIT"}
)
"""States in which a follower's log may grow before its recording log has the term (HZ2)."""


def _untermed(one: MemberTimeline, bases: Mapping[int, int]) -> Iterator[_Untermed]:
    """Find the canvasses in which a member reports too old a term for its log.

    While it recorded a leader's log, its log grew beyond the begin of a newer term. But it still
    canvasses with an older term.
    """
    began: tuple[int, records.ElectionStateChange] | None = None
    for index, record in enumerate(one.records):
        if not isinstance(record, records.ElectionStateChange):
            continue
        if record.new_state in _RECORDS_LEADERS_LOG:
            began = began or (index, record)
        elif record.new_state == "CANVASS" and began is not None:
            place, first = began
            began = None
            log_term, end = record.log_leadership_term_id, record.append_position
            newer = range(log_term + 1, first.leadership_term_id + 1)
            base = min((bases[term] for term in newer if term in bases), default=end)
            if not first.append_position <= base < end:
                continue
            text = (
                f"Member {one.member_id} recorded the log of the leader of term"
                f" {first.leadership_term_id} from {first.append_position} to {end}, and canvasses"
                f" with log term {log_term}: its recording log lacks the term that begins at"
                f" {base}."
            )
            states = [
                getattr(one.records[k], "new_state", "") for k in range(index, len(one.records))
            ]
            until = index + (states.index(CLOSED) if CLOSED in states else len(states))
            sentence = one.say(text, place, index)
            term, at_ns = first.leadership_term_id, one.times[index]
            yield _Untermed(index, until, at_ns, term, end, sentence)
        elif record.new_state != "INIT":
            began = None


def _near_misses(timeline: Timeline, bases: Mapping[int, int]) -> Iterator[RiskReport]:
    for one in timeline.members.values():
        before: int | None = None
        for index, record in enumerate(one.records):
            if isinstance(record, records.ProcessStart):
                before = None
            elif isinstance(record, records.ElectionStateChange):
                if before is not None and (miss := _near_miss(one, before, index)) is not None:
                    yield _miss(one.member_id, one.times[index], *miss)
                before = index
        yield from _foreign_votes(one, bases)


def _near_miss(one: MemberTimeline, earlier: int, index: int) -> tuple[str, Sentence] | None:
    """The finding to which two changes of state in sequence belong, and a sentence about them."""
    before, record = one.records[earlier], one.records[index]
    assert isinstance(before, records.ElectionStateChange)
    assert isinstance(record, records.ElectionStateChange)
    lowered = record.log_leadership_term_id < before.log_leadership_term_id
    if lowered and (record.reason or "").startswith(INCOMPLETE):
        text = (
            f"The replay of member {one.member_id} ended early: the member canvasses with log term"
            f" {record.log_leadership_term_id} although its log reaches {record.append_position}."
        )
        return "HZ6", one.say(text, index)
    follows = record.new_state in ("FOLLOWER_REPLAY", "FOLLOWER_LOG_REPLICATION")
    is_older = record.leadership_term_id < before.leadership_term_id
    if follows and is_older and before.new_state == "CANVASS":
        text = (
            f"Member {one.member_id} knew term {before.leadership_term_id} and then followed the"
            f" leader of the older term {record.leadership_term_id}."
        )
        return "HZ3", one.say(text, earlier, index)
    return None


def _bases(timeline: Timeline) -> dict[int, int]:
    """The position at which each term begins, as far as lines show it; the lowest of several."""
    found: dict[int, int] = {}

    def see(term: int, base: int) -> None:
        if base >= 0:
            found[term] = min(base, found.get(term, base))

    for one in timeline.members.values():
        for record in one.records:
            if isinstance(record, records.NewLeadershipTerm):
                see(record.leadership_term_id, record.term_base_log_position)
                see(record.next_leadership_term_id, record.next_term_base_log_position)
            elif isinstance(record, records.ReplayNewLeadershipTerm):
                see(record.leadership_term_id, record.term_base_log_position)
    return found


def _foreign_votes(one: MemberTimeline, bases: Mapping[int, int]) -> Iterator[RiskReport]:
    """Find the votes that a candidate counts as copies of its log although the logs differ.

    The voter's log ends in an older term, beyond the position at which the candidate's log begins a
    newer term.
    """
    ballot: records.ElectionStateChange | None = None
    for index, record in enumerate(one.records):
        if isinstance(record, records.ElectionStateChange):
            ballot = record if record.new_state == "CANDIDATE_BALLOT" else None
        elif isinstance(record, records.Vote) and record.vote and ballot is not None:
            newer = range(record.log_leadership_term_id + 1, ballot.log_leadership_term_id + 1)
            base = min((bases[term] for term in newer if term in bases), default=None)
            differs = base is not None and base < ballot.append_position
            if differs and record.log_position >= ballot.append_position > 0:
                text = (
                    f"Member {record.follower_member_id} voted with log"
                    f" ({record.log_leadership_term_id}, {record.log_position}). The candidate's"
                    f" log is ({ballot.log_leadership_term_id}, {ballot.append_position}), and the"
                    f" two logs are the same up to {base} only. The candidate counts the voter's"
                    " position as a full copy of its log."
                )
                yield _miss(one.member_id, one.times[index], "HZ1", one.say(text, index))


def _vetoes(timeline: Timeline, ballots: list[BallotReport]) -> Iterator[RiskReport]:
    """Find the members that refused several ballots only because of their candidate terms."""
    # A ballot between two leaderships is listed in both elections.
    lines: dict[int, dict[Evidence, None]] = defaultdict(dict)
    for ballot in ballots:
        for vote in ballot.votes:
            if vote.granted is False and vote.decided_by == "candidate term":
                lines[vote.voter_member_id][vote.sentence.evidence[0]] = None
    for voter, refused in lines.items():
        if len(refused) >= _VETOES:
            text = f"Member {voter} refused {len(refused)} ballots only because its candidate term"
            text += " was not below the candidate's."
            first = next(iter(refused))
            offset = timeline.members[first.member_id].offset_ns
            yield _miss(voter, first.time_ns + offset, "L-E", Sentence(text, tuple(refused)))

"""Each ballot: which votes came, and why it failed: who refused, which comparison decided it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from canvass.explanation.evidence import Evidence, Sentence
from canvass.explanation.timeline import MemberTimeline, Phase, Timeline
from canvass.traces.aeron_log.records import (
    NULL_VALUE,
    ElectionStateChange,
    LifeStart,
    RequestVote,
    Vote,
)


class VoteReport(msgspec.Struct, frozen=True, rename="camel"):
    """What is known of one member's vote.

    Parameters
    ----------
    granted
        Null if no line shows an answer.
    decided_by
        For a refusal: ``log`` (the voter's log is newer) or ``candidate term`` (the voter had
        given its vote of that term); ``unknown`` where no line says which; empty otherwise.
    """

    voter_member_id: int
    granted: bool | None
    decided_by: str
    sentence: Sentence


class BallotReport(msgspec.Struct, frozen=True, rename="camel"):
    """One ballot of one candidate.

    Parameters
    ----------
    outcome
        ``won``, ``failed``, ``gave way`` (it voted for, or followed, another one) or ``unknown``.
    """

    candidate_member_id: int
    candidate_term_id: int
    from_ns: int
    outcome: str
    votes: tuple[VoteReport, ...]
    sentence: Sentence


def report_ballot(timeline: Timeline, phase: Phase) -> BallotReport | None:
    """Take a candidate's ballot apart; none if the line that begins it is not there."""
    one, opened = timeline.members[phase.member_id], phase.entered_by
    if not isinstance(opened, ElectionStateChange):
        return None
    votes = tuple(_votes(timeline, one, phase, opened))
    outcome = _outcome(phase)
    evidence = [one.evidence(phase.begin)]
    if phase.end < len(one.records):
        evidence.append(one.evidence(phase.end))
    log = f"({opened.log_leadership_term_id}, {opened.append_position:,})"
    text = f"Member {phase.member_id} ran for term {opened.candidate_term_id} with log {log}"
    refused = [str(vote.voter_member_id) for vote in votes if vote.granted is False]
    granted = 1 + sum(vote.granted is True for vote in votes)
    if outcome == "won":
        text += " and won."
    elif outcome == "failed":
        why = f"{granted} of {timeline.member_count} votes are known, a quorum is {timeline.quorum}"
        if refused:
            why = f"a refusal is a veto, and member {', '.join(refused)} refused"
        text += f" and failed: {why}."
    elif outcome == "gave way":
        text += " and gave way to another candidate or leader."
    else:
        text += "; no line shows how the ballot ended."
    return BallotReport(
        phase.member_id,
        opened.candidate_term_id,
        opened.time_ns,
        outcome,
        votes,
        Sentence(text, tuple(evidence)),
    )


def _outcome(phase: Phase) -> str:
    by = phase.left_by
    if by is None:
        return "unknown"
    outcomes = {"LEADER_LOG_REPLICATION": "won", "CANVASS": "failed", "INIT": "failed"}
    return outcomes.get(by.new_state, "gave way")


def _votes(
    timeline: Timeline, one: MemberTimeline, phase: Phase, opened: ElectionStateChange
) -> Iterator[VoteReport]:
    received: dict[int, int] = {}
    for index in range(phase.begin, min(phase.end + 1, len(one.records))):
        record = one.records[index]
        if isinstance(record, Vote) and _names(record, phase.member_id, opened.candidate_term_id):
            received[record.follower_member_id] = index
    for voter in timeline.ids:
        if voter == phase.member_id:
            continue
        index = received.get(voter, NULL_VALUE)
        if index == NULL_VALUE:
            yield _unanswered(timeline, one, phase, opened, voter)
            continue
        vote = one.records[index]
        assert isinstance(vote, Vote)
        line = one.evidence(index)
        if vote.vote:
            yield VoteReport(voter, True, "", Sentence(f"Member {voter} voted for it.", (line,)))
            continue
        voters_log = (vote.log_leadership_term_id, vote.log_position)
        decided, why, extra = _why_refused(timeline, opened, phase.member_id, voter, voters_log)
        text = f"Member {voter} refused: {why}."
        yield VoteReport(voter, False, decided, Sentence(text, (line, *extra)))


def _names(record: Vote | RequestVote, candidate: int, term: int) -> bool:
    return record.candidate_member_id == candidate and record.candidate_term_id == term


def _why_refused(
    timeline: Timeline,
    opened: ElectionStateChange,
    candidate: int,
    voter: int,
    voters_log: tuple[int, int] | None,
) -> tuple[str, str, tuple[Evidence, ...]]:
    """Which of the two comparisons of ``OnRequestVote`` refused the candidate."""
    term = opened.candidate_term_id
    candidates_log = (opened.log_leadership_term_id, opened.append_position)
    asked = _request(timeline, candidate, term, voter)
    used = None if asked is None else _vote_used(timeline.members[voter], asked, term)
    if used is not None:
        seen, line = used
        request = timeline.members[voter].evidence(asked) if asked is not None else line
        why = f"its candidateTermId was {seen} already, not below {term} (VoteUsedUp)"
        return "candidate term", why, (request, line)
    if voters_log is not None and voters_log > candidates_log:
        mine, its = _shown(voters_log), _shown(candidates_log)
        return "log", f"its own log {mine} is newer than {its} (compareLog > 0)", ()
    if voters_log is not None:
        mine, its = _shown(voters_log), _shown(candidates_log)
        why = f"its log {mine} is not newer than {its}, so its candidateTermId was {term} or more"
        return "candidate term", why, ()
    return "unknown", "no line shows which comparison decided", ()


def _shown(log: tuple[int, int]) -> str:
    return f"({log[0]}, {log[1]:,})"


def _request(timeline: Timeline, candidate: int, term: int, voter: int) -> int | None:
    """Index of the candidate's request in the voter's log."""
    one = timeline.members.get(voter)
    for index, record in enumerate(one.records if one else ()):
        if isinstance(record, RequestVote) and _names(record, candidate, term):
            return index
    return None


def _vote_used(one: MemberTimeline, asked: int, term: int) -> tuple[int, Evidence] | None:
    """The line that shows the voter's candidate term at or above the request's, before it."""
    for index in range(asked - 1, -1, -1):
        record = one.records[index]
        if isinstance(record, ElectionStateChange):
            if record.candidate_term_id >= term:
                return record.candidate_term_id, one.evidence(index)
            return None
        if isinstance(record, LifeStart):
            return None
    return None


def _unanswered(
    timeline: Timeline, one: MemberTimeline, phase: Phase, opened: ElectionStateChange, voter: int
) -> VoteReport:
    """What the voter's own log says of a request whose answer the candidate's log lacks."""
    line, term = one.evidence(phase.begin), opened.candidate_term_id
    other = timeline.members.get(voter)
    if other is None:
        text = (
            f"No answer of member {voter} is in the candidate's log, and its own log is not here."
        )
        return VoteReport(voter, None, "unknown", Sentence(text, (line,)))
    asked = _request(timeline, phase.member_id, term, voter)
    if asked is None:
        text = f"No answer of member {voter} came, and its log shows no request of term {term}."
        return VoteReport(voter, None, "", Sentence(text, (line,)))
    request = other.evidence(asked)
    after = other.records[asked + 1] if asked + 1 < len(other.records) else None
    granted = (
        isinstance(after, ElectionStateChange)
        and after.new_state == "FOLLOWER_BALLOT"
        and after.candidate_term_id == term
    )
    if granted:
        text = f"Member {voter} voted for it, as its own log shows."
        return VoteReport(voter, True, "", Sentence(text, (request, other.evidence(asked + 1))))
    state = next((a for a in other.attempts if a.begin <= asked < a.end), None)
    current = [p.state for p in state.phases if p.begin <= asked < p.end] if state else []
    where = current[-1] if current else "no election"
    known = next(
        (r for r in reversed(other.records[:asked]) if isinstance(r, ElectionStateChange)), None
    )
    log = (known.log_leadership_term_id, known.append_position) if known and current else None
    decided, why, extra = _why_refused(timeline, opened, phase.member_id, voter, log)
    if not current:
        text = f"Member {voter} received the request outside an election and answered none."
        return VoteReport(voter, None, "", Sentence(text, (request,)))
    if log is None or (decided != "log" and not extra):
        text = f"Member {voter} received the request in {where}; no line shows an answer."
        return VoteReport(voter, None, "unknown", Sentence(text, (request,)))
    text = f"Member {voter} received the request in {where} and did not vote for it: {why}."
    return VoteReport(voter, None, decided, Sentence(text, (request, *extra)))

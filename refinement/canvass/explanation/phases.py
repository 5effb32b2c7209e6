"""The phases of an election and its ballots: the cause that ended or decided each.

By Aeron's rules a message or a timeout ends a phase. A message is named only if its line stands
directly before the change of state, as the rules demand. A ballot is reported with its votes, its
refusals, and the comparison that decided each refusal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from canvass.cluster.messages import NULL_VALUE
from canvass.explanation.evidence import Evidence, Sentence, shown_ns
from canvass.explanation.timeline import (
    POSITIONS,
    Attempt,
    MemberTimeline,
    Phase,
    Timeline,
)
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import (
    ElectionStateChange,
    Line,
    ProcessStart,
    RequestVote,
    Vote,
)
from canvass.traces.counts import member_names
from canvass.traces.timeouts import ELECTION, HEARTBEAT_TIMEOUT, STARTUP_CANVASS

_NEAR_NS: Final = 20_000_000
_AT_ONCE_NS: Final = 50_000_000
"""A shorter phase did not wait for a timeout."""


class PhaseReport(msgspec.Struct, frozen=True, rename="camel"):
    """A member's stay in one election state.

    Parameters
    ----------
    from_ns, until_ns
        By the member's own clock; ``until_ns`` is null if no line ends the phase.
    duration_ms
        Null if no line ends the phase.
    governed_by
        ``message``, ``timeout``, ``work`` (replay, copying, services), ``error`` or ``unknown``.
    setting
        The property that bounds the phase, if one does.
    """

    member_id: int
    state: str
    from_ns: int
    until_ns: int | None
    duration_ms: float | None
    next_state: str | None
    governed_by: str
    setting: str | None
    sentence: Sentence


_REPLAY: Final = "replays its log; more frequent snapshots make the replay shorter"
_WORK: Final = {
    "INIT": "stops recording and clears what the last term left",
    "LEADER_REPLAY": _REPLAY,
    "LEADER_INIT": "starts to record its log, and its services join",
    "FOLLOWER_REPLAY": _REPLAY,
    "FOLLOWER_CATCHUP_INIT": "adds a destination and asks the leader for a replay",
    "FOLLOWER_CATCHUP_AWAIT": "waits for the image of the replay, and for its services",
    "FOLLOWER_CATCHUP": "consumes the log up to the leader's commit position",
    "FOLLOWER_LOG_INIT": "subscribes to the leader's log",
    "FOLLOWER_LOG_AWAIT": "waits for the image of the leader's log, and for its services",
    "FOLLOWER_READY": "reports its position to the leader",
}
"""The work whose end also ends a state, for states that no message and no timeout ends."""


def report_phase(timeline: Timeline, attempt: Attempt, phase: Phase) -> PhaseReport:
    """Report how long a phase took, and what ended it."""
    one = timeline.members[phase.member_id]
    begin = one.evidence(phase.begin)
    # The start of the next process does not show when a killed process ended.
    ended = phase.end < len(one.records) and not isinstance(
        one.records[phase.end], records.ProcessStart
    )
    evidence = [begin]
    if ended:
        evidence.append(one.evidence(phase.end))
    lasted = one.times[phase.end] - one.times[phase.begin] if ended else None
    by, next_state = phase.left_by, _next_state(one, phase)
    if by is None:
        kind, setting, what, message = "unknown", None, _open_end(one, attempt, phase), None
    else:
        kind, setting, what, message = _governed(timeline, one, attempt, phase)
    if message is not None:
        evidence.insert(1, one.evidence(message))
    took = "" if lasted is None else f" for {shown_ns(lasted)}"
    text = f"Member {phase.member_id} was in {phase.state}{took}: {what}."
    return PhaseReport(
        phase.member_id,
        phase.state,
        one.records[phase.begin].time_ns,
        one.records[phase.end].time_ns if ended else None,
        None if lasted is None else round(lasted / 1e6, 3),
        next_state,
        kind,
        setting,
        Sentence(text, tuple(evidence)),
    )


def _next_state(one: MemberTimeline, phase: Phase) -> str | None:
    if phase.left_by is not None:
        return phase.left_by.new_state
    if phase.end < len(one.records) and isinstance(one.records[phase.end], records.NewElection):
        return "INIT"
    return None


def _open_end(one: MemberTimeline, attempt: Attempt, phase: Phase) -> str:
    if _closes(one, phase):
        return "the member closed"
    last = phase is attempt.phases[-1]
    if last and attempt.outcome == "process ended":
        return "its process ended, and no line shows when"
    if phase.end >= len(one.records):
        return "the log ends here"
    return "the line that ends the phase is missing"


def _closes(one: MemberTimeline, phase: Phase) -> bool:
    """Whether the line that ends a phase says that the member closed."""
    return phase.end < len(one.records) and isinstance(one.records[phase.end], records.StateChange)


_Governed = tuple[str, str | None, str, int | None]


def _governed(timeline: Timeline, one: MemberTimeline, attempt: Attempt, phase: Phase) -> _Governed:
    by = phase.left_by
    assert by is not None
    if by.new_state == "INIT" and phase.state != "INIT":
        return _error(one, phase, by)
    if phase.state == "CANVASS":
        return _canvass(timeline, one, attempt, phase)
    if phase.state == "NOMINATE" and by.new_state == "CANDIDATE_BALLOT":
        return "timeout", ELECTION, "a random delay of up to half the election timeout", None
    if phase.state == "CANDIDATE_BALLOT":
        return _ballot(timeline, one, phase)
    if phase.state in ("NOMINATE", "FOLLOWER_BALLOT") or by.new_state == "FOLLOWER_BALLOT":
        return _following(one, phase)
    if phase.state in ("LEADER_LOG_REPLICATION", "LEADER_READY"):
        return _leader_waits(timeline, one, attempt, phase)
    if phase.state == "FOLLOWER_LOG_REPLICATION":
        kinds: tuple[type[Line], ...] = (
            records.ReplicationEnded,
            records.CommitPosition,
            records.NewLeadershipTerm,
        )
        what = "it copied its leader's log and needed a commit position that covers it"
        return _by_message(one, phase, kinds, what)
    if by.new_state == "CANVASS" and phase.state == "FOLLOWER_REPLAY":
        return "work", None, f"the replay ended early ({by.reason or 'no reason logged'})", None
    return "work", None, f"it {_WORK.get(phase.state, 'works')}", None


def _error(one: MemberTimeline, phase: Phase, by: records.ElectionStateChange) -> _Governed:
    cause = one.records[phase.end - 1] if phase.end else by
    if isinstance(cause, records.TruncateLogEntry):
        what = f"its log was truncated from {cause.append_position} to {cause.new_position}"
        return "message", None, what, phase.end - 1
    reason = by.reason or "no reason logged"
    setting = HEARTBEAT_TIMEOUT if "timeout" in reason or "progress" in reason else None
    return "error", setting, f"an error ended it ({reason})", None


def _cause(one: MemberTimeline, phase: Phase, kinds: tuple[type[Line], ...]) -> int | None:
    """The message directly before the change, if it is one that can be its cause."""
    place = one.cause(phase.end)
    if place == NULL_VALUE or place <= phase.begin or not isinstance(one.records[place], kinds):
        return None
    return place


def _by_message(
    one: MemberTimeline, phase: Phase, kinds: tuple[type[Line], ...], what: str
) -> _Governed:
    place = next(
        (k for k in range(phase.end - 1, phase.begin, -1) if isinstance(one.records[k], kinds)),
        None,
    )
    if place is None:
        return "message", None, f"{what}; the message's line is not in the log", None
    return "message", None, f"{what}; the last message was {_named(one.records[place])}", place


def _leader_waits(
    timeline: Timeline, one: MemberTimeline, attempt: Attempt, phase: Phase
) -> _Governed:
    """Find the message with which the others held what the leader needs.

    A member forgets positions when it canvasses; those of later canvass positions and votes count.
    """
    ready = phase.state == "LEADER_READY"
    end = "a position of the new term" if ready else "the end of the leader's log"
    needed, own = timeline.quorum - 1, phase.entered_by
    if not needed:
        return "work", None, "it is a quorum by itself", None
    holders: dict[int, int] = {}
    canvasses = (p.begin for p in attempt.phases if p.state == "CANVASS" and p.begin < phase.begin)
    for index in range(max(canvasses, default=phase.begin), phase.end):
        record = one.records[index]
        if not isinstance(own, ElectionStateChange) or not isinstance(record, POSITIONS):
            continue
        if isinstance(record, Vote) and (
            index > phase.begin or not _names(record, one.member_id, own.candidate_term_id)
        ):
            continue  # A vote counts only in the ballot.
        is_current = not ready or _term_of(record) == own.leadership_term_id
        if is_current and record.log_position >= own.append_position:
            holders.setdefault(record.follower_member_id, index)
        else:
            holders.pop(record.follower_member_id, None)
    who, last = "a quorum", needed
    if ready and timeline.releases is not None and timeline.releases.revision == "1.49":
        who, last = "each voter, or a quorum after the leader heartbeat timeout,", len(holders)
    if len(holders) < needed:
        what = f"{who} had to report {end}; the message's line is not in the log"
        return "message", None, what, None
    place = sorted(holders.values())[last - 1]
    message = _named(one.records[place])
    if place > phase.begin:
        what = f"{who} had to report {end}; the last message was {message}"
    else:
        what = f"{who} had already reported {end}, at last with {message}"
    return "message", None, what, place


def _term_of(record: records.AppendPosition | records.CanvassPosition | Vote) -> int:
    if isinstance(record, records.AppendPosition):
        return record.leadership_term_id
    return record.log_leadership_term_id


def _canvass(timeline: Timeline, one: MemberTimeline, attempt: Attempt, phase: Phase) -> _Governed:
    by = phase.left_by
    assert by is not None
    if by.new_state != "NOMINATE":
        return _following(one, phase)
    first = attempt.is_startup and not any(
        p.state == "CANVASS" for p in attempt.phases if p.begin < phase.begin
    )
    setting = STARTUP_CANVASS if first else HEARTBEAT_TIMEOUT
    answers: dict[int, int] = {}
    for index in range(phase.begin, phase.end):
        record = one.records[index]
        if isinstance(record, records.CanvassPosition | records.AppendPosition):
            # A member may send its position more than once: its first one counts.
            answers.setdefault(record.follower_member_id, index)
    if len(answers) + 1 < timeline.quorum:
        # Only a quorum can end a canvass, by answers or by the timeout.
        what = "its log lacks CANVASS_POSITION lines, so no line shows for whom it waited"
        return "unknown", None, what, None
    last = max(answers.values(), default=phase.begin)
    if answers and one.times[phase.end] - one.times[last] < _NEAR_NS:
        # The timeout bounds how long a quorum waits for the others, not how long a quorum takes.
        bound = setting if len(answers) >= timeline.quorum else None
        return "message", bound, f"it needed {_named(one.records[last])}, which came last", last
    known = member_names(sorted(answers))
    if one.times[phase.end] - one.times[phase.begin] < _AT_ONCE_NS:
        what = f"its canvass deadline had passed before; {known} had answered in this phase"
        return "message", None, what, None
    wait = "startup canvass" if first else "leader heartbeat"
    what = f"it waited for answers of all members until the {wait} timeout; {known} had answered"
    return "timeout", setting, what, None


def _following(one: MemberTimeline, phase: Phase) -> _Governed:
    by = phase.left_by
    assert by is not None
    if by.new_state == "FOLLOWER_BALLOT":
        place = _cause(one, phase, (records.RequestVote,))
        what = f"it voted in term {by.candidate_term_id}"
    elif by.new_state == "CANVASS":
        place = _cause(one, phase, (records.NewLeadershipTerm,))
        if place is None or one.times[phase.end] - one.times[place] > 5_000_000:
            what = "no leader announced its term within the election timeout"
            return "timeout", ELECTION, what, None
        what = "the leader's log does not continue its own"
    else:
        place = _cause(one, phase, (records.NewLeadershipTerm,))
        what = f"it followed member {by.leader_member_id}"
    if place is None:
        return "message", None, f"{what}; the message's line is not in the log", None
    return "message", None, f"{what} after {_named(one.records[place])}", place


def all_voted(timeline: Timeline, phase: Phase) -> bool | None:
    """Whether a candidate won by the votes of all members; else by the election timeout.

    Releases before 1.50 print no reason; then the votes decide. It is None if they are not printed
    either.
    """
    by = phase.left_by
    assert by is not None
    if by.reason:
        return by.reason != "quorum leader"
    cast = [
        record
        for record in timeline.members[phase.member_id].records[phase.begin : phase.end]
        if isinstance(record, Vote) and _names(record, phase.member_id, by.candidate_term_id)
    ]
    voters = {record.follower_member_id for record in cast if record.vote}
    return len(voters) == timeline.member_count - 1 if cast else None


def _ballot(timeline: Timeline, one: MemberTimeline, phase: Phase) -> _Governed:
    """Find what decided a ballot. If nothing does, the election timeout ends it."""
    by = phase.left_by
    assert by is not None
    if by.new_state == "LEADER_LOG_REPLICATION":
        by_all = all_voted(timeline, phase)
        if by_all is None:
            what = "it won; the lines of the votes are not in the log"
            return "unknown", ELECTION, what, None
        if not by_all:
            what = "not all members voted for it, so a majority won only after the election timeout"
            return "timeout", ELECTION, what, None
        place = _cause(one, phase, (records.Vote,))
        return "message", ELECTION, "all members voted for it", place
    if by.new_state == "CANVASS":
        return "timeout", ELECTION, "the ballot did not win within the election timeout", None
    kind, _, what, place = _following(one, phase)
    return kind, ELECTION, what, place


def _named(record: Line) -> str:
    """Name a message, with the values of its line."""
    match record:
        case records.CanvassPosition():
            log = f"({record.log_leadership_term_id}, {record.log_position})"
            return f"the canvass position {log} of member {record.follower_member_id}"
        case records.AppendPosition():
            place = f"{record.log_position} in term {record.leadership_term_id}"
            return f"the append position {place} of member {record.follower_member_id}"
        case records.Vote():
            return f"the vote of member {record.follower_member_id}"
        case records.RequestVote():
            who = f"member {record.candidate_member_id}"
            return f"the vote request of {who} in term {record.candidate_term_id}"
        case records.NewLeadershipTerm():
            who = f"member {record.leader_member_id}"
            return f"the announcement of term {record.leadership_term_id} by {who}"
        case records.CommitPosition():
            return f"the commit position {record.log_position}"
        case records.ReplicationEnded():
            return f"the end of the copy at {record.position}"
        case _:
            return "a message"


class VoteReport(msgspec.Struct, frozen=True, rename="camel"):
    """The vote of one member in a ballot, as far as lines show it.

    Parameters
    ----------
    granted
        Null if no line shows an answer.
    decided_by
        For a refusal: ``log`` (the voter's log is newer), ``candidate term`` (the voter had already
        used its vote of that term) or ``unknown`` (no line shows the reason); empty otherwise.
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
        ``won``, ``failed``, ``gave way`` (the candidate voted for, or followed, another member) or
        ``unknown``.
    """

    candidate_member_id: int
    candidate_term_id: int
    from_ns: int
    outcome: str
    votes: tuple[VoteReport, ...]
    sentence: Sentence


def report_ballot(timeline: Timeline, phase: Phase) -> BallotReport | None:
    """Report a candidate's ballot; none if the line that begins the ballot is missing."""
    one, opened = timeline.members[phase.member_id], phase.entered_by
    if not isinstance(opened, ElectionStateChange):
        return None
    votes = tuple(_votes(timeline, one, phase, opened))
    outcome = _outcome(phase)
    evidence = [one.evidence(phase.begin)]
    if phase.end < len(one.records):
        evidence.append(one.evidence(phase.end))
    log = f"({opened.log_leadership_term_id}, {opened.append_position})"
    text = f"Member {phase.member_id} ran for term {opened.candidate_term_id} with log {log}"
    refused = [vote.voter_member_id for vote in votes if vote.granted is False]
    granted = 1 + sum(vote.granted is True for vote in votes)
    if outcome == "won":
        text += " and won."
    elif outcome == "failed":
        why = f"{granted} of {timeline.member_count} votes are known; a quorum is {timeline.quorum}"
        if refused:
            why = f"one refusal is enough, and {member_names(refused)} refused"
        text += f" and failed: {why}."
    elif outcome == "gave way":
        text += " and gave way to another candidate or leader."
    elif _closes(one, phase):
        text += "; the member closed before the ballot was decided."
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
    """Find which of the two comparisons of ``OnRequestVote`` refused the candidate.

    Returns
    -------
    tuple
        `VoteReport.decided_by`, the reason in words, and lines that show the reason.
    """
    term = opened.candidate_term_id
    candidates_log = (opened.log_leadership_term_id, opened.append_position)
    asked = _request(timeline, candidate, term, voter)
    used = None if asked is None else _vote_used(timeline.members[voter], asked, term)
    if used is not None:
        seen, line = used
        request = timeline.members[voter].evidence(asked) if asked is not None else line
        why = f"its candidateTermId was already {seen}, not below {term} (VoteUsedUp)"
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
    return f"({log[0]}, {log[1]})"


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
        if isinstance(record, ProcessStart):
            return None
    return None


def _unanswered(
    timeline: Timeline, one: MemberTimeline, phase: Phase, opened: ElectionStateChange, voter: int
) -> VoteReport:
    """Report a vote without a line in the candidate's log, from the voter's own log."""
    line, term = one.evidence(phase.begin), opened.candidate_term_id
    other = timeline.members.get(voter)
    if other is None:
        text = (
            f"The candidate's log has no answer of member {voter}, and there is no log of member"
            f" {voter}."
        )
        return VoteReport(voter, None, "unknown", Sentence(text, (line,)))
    asked = _request(timeline, phase.member_id, term, voter)
    if asked is None:
        text = f"Member {voter} did not answer; its log shows no vote request of term {term}."
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
        text = f"Member {voter} received the vote request outside an election and did not answer."
        return VoteReport(voter, None, "", Sentence(text, (request,)))
    if log is None or (decided != "log" and not extra):
        text = f"Member {voter} received the vote request in {where}; no line shows an answer."
        return VoteReport(voter, None, "unknown", Sentence(text, (request,)))
    text = f"Member {voter} received the vote request in {where} and refused: {why}."
    return VoteReport(voter, None, decided, Sentence(text, (request, *extra)))

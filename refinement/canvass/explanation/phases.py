"""The phases of an election and its ballots, each with its cause: what ended or decided it.

By Aeron's rules a message or a timeout ends a phase. A message is named as the cause only if its
line comes directly before the change of state, as the rules demand. A ballot is reported with its
votes, its refusals, and the comparison that decided each refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from canvass.cluster.messages import Record
from canvass.explanation.timeline import (
    POSITIONS,
    Evidence,
    MemberTimeline,
    Phase,
    Sentence,
    shown_ns,
    term_of,
)
from canvass.traces.aeron_log import records
from canvass.traces.errors import member_names
from canvass.traces.timeouts import ELECTION, HEARTBEAT_TIMEOUT, STARTUP_CANVASS

_NEAR_NS: Final = 20_000_000
_AT_ONCE_NS: Final = 50_000_000
"""A phase that is shorter than this did not wait for a timeout."""
_SOON_NS: Final = 5_000_000
"""A message can be the cause of a change only if it came at most this long before the change."""


class PhaseReport(Record, frozen=True):
    """A member's stay in one election state.

    Parameters
    ----------
    from_ns, until_ns
        The begin and the end, by the member's own clock; ``until_ns`` is null if no line ends the
        phase.
    duration_ms
        The duration; null if no line ends the phase.
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


_Governed = tuple[str, str | None, str, int | None]
"""The cause of a phase's end: `PhaseReport.governed_by`, the setting, the cause in words, and the
index of the message."""
_FindCause = Callable[[Phase, records.ElectionStateChange], _Governed]
_NOT_LOGGED: Final = "the message's line is not in the log"


def report_phase(phase: Phase) -> PhaseReport:
    """Report how long a phase took, and what ended it."""
    one, by = phase.one, phase.left_by
    # If a process was killed, the next process's start does not show when.
    last = one.records[phase.end] if phase.end < len(one.records) else None
    ended = last is not None and not isinstance(last, records.ProcessStart)
    next_state = "INIT" if isinstance(last, records.NewElection) else None
    kind, setting, what, message = "unknown", None, _open_end(phase), None
    if by is not None:
        next_state, (kind, setting, what, message) = by.new_state, _governed(phase, by)
    places = (phase.begin, message, phase.end if ended else None)
    took = f" for {shown_ns(phase.lasted_ns)}" if ended else ""
    text = f"Member {one.member_id} was in {phase.state}{took}: {what}."
    return PhaseReport(
        one.member_id, phase.state, one.records[phase.begin].time_ns,
        last.time_ns if ended and last is not None else None,
        round(phase.lasted_ns / 1e6, 3) if ended else None, next_state, kind, setting,
        one.say(text, *(place for place in places if place is not None)),
    )  # fmt: skip


def _open_end(phase: Phase) -> str:
    if _closes(phase):
        return "the member closed"
    attempt = phase.attempt
    if phase is attempt.phases[-1] and attempt.outcome == "process ended":
        return "its process ended, and no line shows when"
    if phase.end >= len(phase.one.records):
        return "the log ends here"
    return "the line that ends the phase is missing"


def _closes(phase: Phase) -> bool:
    """Whether the line that ends a phase shows that the member closed."""
    lines = phase.one.records
    return phase.end < len(lines) and isinstance(lines[phase.end], records.StateChange)


def _governed(phase: Phase, by: records.ElectionStateChange) -> _Governed:
    """Find the row of `_CAUSES` for the states before and after the change."""
    old, new = phase.state, by.new_state
    keys = ((old, new), ("*", new), (old, "*"))
    cause = next((_CAUSES[key] for key in keys if key in _CAUSES), "it works")
    if callable(cause):
        return cause(phase, by)
    if isinstance(cause, tuple):
        return cause
    return "work", None, cause.format(reason=by.reason or "no reason logged"), None


def _after(phase: Phase, kind: type[records.Line], what: str) -> _Governed:
    """The cause: the message directly before the change, if it is of this kind.

    If it is not, the cause says that the line of the message is missing. A candidate's ballot is
    bounded by a timeout, too.
    """
    setting = ELECTION if phase.state == "CANDIDATE_BALLOT" else None
    place, lines = phase.one.cause(phase.end), phase.one.records
    if place <= phase.begin or not isinstance(lines[place], kind):
        return "message", setting, f"{what}; {_NOT_LOGGED}", None
    return "message", setting, f"{what} after {_named(lines[place])}", place


def _error(phase: Phase, by: records.ElectionStateChange) -> _Governed:
    place = phase.end - 1
    cause = phase.one.records[place] if place >= 0 else by
    if isinstance(cause, records.TruncateLogEntry):
        what = f"its log was truncated from {cause.append_position} to {cause.new_position}"
        return "message", None, what, place
    reason = by.reason or "no reason logged"
    setting = HEARTBEAT_TIMEOUT if "timeout" in reason or "progress" in reason else None
    return "error", setting, f"an error ended it ({reason})", None


def _copied(phase: Phase, _: records.ElectionStateChange) -> _Governed:
    """Find the last one of the messages that a copy of the leader's log needs."""
    last = phase.last(records.ReplicationEnded, records.CommitPosition, records.NewLeadershipTerm)
    what = "it copied its leader's log and needed a commit position that covers it"
    if last is None:
        return "message", None, f"{what}; {_NOT_LOGGED}", None
    return "message", None, f"{what}; the last message was {_named(last[1])}", last[0]


def _leader_waits(phase: Phase, _: records.ElectionStateChange) -> _Governed:
    """Find the message that completed the quorum for which a leader waits.

    A member forgets the reported positions when it begins to canvass. So canvass positions and
    votes that come after that count, too.
    """
    one, own = phase.one, phase.own
    ready = phase.state == "LEADER_READY"
    what = "a position of the new term" if ready else "the end of the leader's log"
    needed = one.cluster.quorum - 1
    if not needed:
        return "work", None, "it is a quorum by itself", None
    holders: dict[int, int] = {}
    earlier = (p.begin for p in phase.attempt.phases if p.state == "CANVASS")
    begin = max((place for place in earlier if place < phase.begin), default=phase.begin)
    for index in range(begin, phase.end):
        record = one.records[index]
        if not isinstance(record, POSITIONS):
            continue
        in_ballot = index <= phase.begin
        if isinstance(record, records.Vote) and not (
            in_ballot and _names(record, one.member_id, own.candidate_term_id)
        ):
            continue
        is_current = not ready or term_of(record) == own.leadership_term_id
        if is_current and record.log_position >= own.append_position:
            holders.setdefault(record.follower_member_id, index)
        else:
            holders.pop(record.follower_member_id, None)
    who, last = "a quorum", needed
    releases = one.cluster.releases
    if ready and releases is not None and releases.revision == "1.49":
        who, last = "each voter, or a quorum after the leader heartbeat timeout,", len(holders)
    if len(holders) < needed:
        return "message", None, f"{who} had to report {what}; {_NOT_LOGGED}", None
    place = sorted(holders.values())[last - 1]
    how = "had to report {}; the last message was"
    if place <= phase.begin:
        how = "had already reported {}, at last with"
    return "message", None, f"{who} {how.format(what)} {_named(one.records[place])}", place


def _canvassed(phase: Phase, _: records.ElectionStateChange) -> _Governed:
    """Find whether the last answer or the deadline ended a canvass."""
    one, attempt = phase.one, phase.attempt
    quorum = one.cluster.quorum
    first = attempt.is_startup and not any(
        p.state == "CANVASS" for p in attempt.phases if p.begin < phase.begin
    )
    setting = STARTUP_CANVASS if first else HEARTBEAT_TIMEOUT
    answers: dict[int, int] = {}
    for index, record in phase.lines():
        if isinstance(record, records.CanvassPosition | records.AppendPosition):
            # A member may send its position more than once: the first message counts.
            answers.setdefault(record.follower_member_id, index)
    if len(answers) + 1 < quorum:
        # A canvass ends, by answers or by the timeout, only if a quorum has answered.
        what = "its log lacks CANVASS_POSITION lines, so no line shows for whom it waited"
        return "unknown", None, what, None
    last = max(answers.values(), default=phase.begin)
    if answers and phase.end_ns - one.times[last] < _NEAR_NS:
        # The timeout bounds how long a quorum waits for the others, not how long it takes until
        # there is a quorum.
        bound = setting if len(answers) >= quorum else None
        named = _named(one.records[last])
        return "message", bound, f"it needed {named}, which came last", last
    known = member_names(sorted(answers))
    if phase.lasted_ns < _AT_ONCE_NS:
        what = f"its canvass deadline had passed before; {known} had answered in this phase"
        return "message", None, what, None
    wait = "startup canvass" if first else "leader heartbeat"
    what = f"it waited for answers of all members until the {wait} timeout; {known} had answered"
    return "timeout", setting, what, None


def _voted(phase: Phase, by: records.ElectionStateChange) -> _Governed:
    return _after(phase, records.RequestVote, f"it voted in term {by.candidate_term_id}")


def _followed(phase: Phase, by: records.ElectionStateChange) -> _Governed:
    return _after(phase, records.NewLeadershipTerm, f"it followed member {by.leader_member_id}")


def _returned(phase: Phase, _: records.ElectionStateChange) -> _Governed:
    """Find why a voter canvasses again."""
    found = _after(phase, records.NewLeadershipTerm, "the leader's log does not continue its own")
    place = found[3]
    if place is None or phase.end_ns - phase.one.times[place] > _SOON_NS:
        what = "no leader announced its term within the election timeout"
        return "timeout", ELECTION, what, None
    return found


def _won(phase: Phase, _: records.ElectionStateChange) -> _Governed:
    by_all = all_voted(phase)
    if by_all is None:
        return "unknown", ELECTION, "it won; the lines of the votes are not in the log", None
    if not by_all:
        what = "not all members voted for it, so a majority won only after the election timeout"
        return "timeout", ELECTION, what, None
    return "message", ELECTION, "all members voted for it", _after(phase, records.Vote, "")[3]


_REPLAY: Final = "it replays its log; more frequent snapshots make the replay shorter"
_DELAY: Final = "a random delay of up to half the election timeout"
_LOST: Final = "the ballot did not win within the election timeout"
_CAUSES: Final[dict[tuple[str, str], str | _Governed | _FindCause]] = {
    ("INIT", "*"): "it stops recording and clears what the last term left",
    ("*", "INIT"): _error,
    ("*", "FOLLOWER_BALLOT"): _voted,
    ("CANVASS", "NOMINATE"): _canvassed,
    ("CANVASS", "*"): _followed,
    ("NOMINATE", "CANDIDATE_BALLOT"): ("timeout", ELECTION, _DELAY, None),
    ("NOMINATE", "CANVASS"): _returned,
    ("NOMINATE", "*"): _followed,
    ("CANDIDATE_BALLOT", "LEADER_LOG_REPLICATION"): _won,
    ("CANDIDATE_BALLOT", "CANVASS"): ("timeout", ELECTION, _LOST, None),
    ("CANDIDATE_BALLOT", "*"): _followed,
    ("FOLLOWER_BALLOT", "CANVASS"): _returned,
    ("FOLLOWER_BALLOT", "*"): _followed,
    ("LEADER_LOG_REPLICATION", "*"): _leader_waits,
    ("LEADER_REPLAY", "*"): _REPLAY,
    ("LEADER_INIT", "*"): "it starts to record its log, and its services join",
    ("LEADER_READY", "*"): _leader_waits,
    ("FOLLOWER_LOG_REPLICATION", "*"): _copied,
    ("FOLLOWER_REPLAY", "CANVASS"): "the replay ended early ({reason})",
    ("FOLLOWER_REPLAY", "*"): _REPLAY,
    ("FOLLOWER_CATCHUP_INIT", "*"): "it adds a destination and asks the leader for a replay",
    ("FOLLOWER_CATCHUP_AWAIT", "*"): "it waits for the image of the replay, and for its services",
    ("FOLLOWER_CATCHUP", "*"): "it consumes the log up to the leader's commit position",
    ("FOLLOWER_LOG_INIT", "*"): "it subscribes to the leader's log",
    ("FOLLOWER_LOG_AWAIT", "*"): "it waits for the image of the leader's log, and for its services",
    ("FOLLOWER_READY", "*"): "it reports its position to the leader",
}
"""The cause that ends a phase, by the state of the phase and the next state; ``*`` is any state. A
cause is the work that the member does, a fixed cause, or a function that finds the message or the
timeout.
"""


def all_voted(phase: Phase) -> bool | None:
    """Whether a candidate won by the votes of all members, not by the election timeout.

    Releases before 1.50 print no reason. Then the lines of votes decide; None if there are none.
    """
    by = phase.left_by
    assert by is not None
    if by.reason:
        return by.reason != "quorum leader"
    cast = votes_in(phase, by.candidate_term_id)
    granted = [vote for _, vote in cast.values() if vote.vote]
    return len(granted) == phase.one.cluster.member_count - 1 if cast else None


def votes_in(phase: Phase, term: int) -> dict[int, tuple[int, records.Vote]]:
    """The last vote of each member for the candidate in a term, with the index of its line."""
    return {
        record.follower_member_id: (index, record)
        for index, record in phase.lines()
        if isinstance(record, records.Vote) and _names(record, phase.one.member_id, term)
    }


_NAMED: Final[dict[type[records.Line], str]] = {
    records.CanvassPosition: (
        "the canvass position ({0.log_leadership_term_id}, {0.log_position}) of member"
        " {0.follower_member_id}"
    ),
    records.AppendPosition: (
        "the append position {0.log_position} in term {0.leadership_term_id} of member"
        " {0.follower_member_id}"
    ),
    records.Vote: "the vote of member {0.follower_member_id}",
    records.RequestVote: (
        "the vote request of member {0.candidate_member_id} in term {0.candidate_term_id}"
    ),
    records.NewLeadershipTerm: (
        "the announcement of term {0.leadership_term_id} by member {0.leader_member_id}"
    ),
    records.CommitPosition: "the commit position {0.log_position}",
    records.ReplicationEnded: "the end of the copy at {0.position}",
}


def _named(record: records.Line) -> str:
    """Name a message, with the values of its line."""
    return _NAMED.get(type(record), "a message").format(record)


class VoteReport(Record, frozen=True):
    """The vote of one member in a ballot, as far as lines show it.

    Parameters
    ----------
    granted
        Whether the vote was granted; null if no line shows an answer.
    decided_by
        For a refusal: ``log`` (the voter's log is newer), ``candidate term`` (the voter had already
        used its vote of that term) or ``unknown`` (no line shows the reason). Otherwise empty.
    """

    voter_member_id: int
    granted: bool | None
    decided_by: str
    sentence: Sentence


class BallotReport(Record, frozen=True):
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


_HOW_DECIDED: Final = {
    "won": " and won",
    "failed": " and failed: {}",
    "gave way": " and gave way to another candidate or leader",
    "closed": "; the member closed before the ballot was decided",
    "unknown": "; no line shows how the ballot ended",
}


def report_ballot(phase: Phase) -> BallotReport:
    """Report a candidate's ballot, from the votes in its log and in the voters' logs."""
    one, opened = phase.one, phase.own
    votes = tuple(_votes(phase, opened))
    outcome = _outcome(phase)
    refused = [vote.voter_member_id for vote in votes if vote.granted is False]
    granted = 1 + sum(vote.granted is True for vote in votes)
    cluster = one.cluster
    why = f"{granted} of {cluster.member_count} votes are known; a quorum is {cluster.quorum}"
    if refused:
        why = f"one refusal is enough, and {member_names(refused)} refused"
    log = f"({opened.log_leadership_term_id}, {opened.append_position})"
    text = f"Member {one.member_id} ran for term {opened.candidate_term_id} with log {log}"
    text += _HOW_DECIDED["closed" if _closes(phase) else outcome].format(why)
    ends = [phase.end] if phase.end < len(one.records) else []
    return BallotReport(
        one.member_id, opened.candidate_term_id, opened.time_ns, outcome, votes,
        phase.say(f"{text}.", phase.begin, *ends),
    )  # fmt: skip


def _outcome(phase: Phase) -> str:
    by = phase.left_by
    if by is None:
        return "unknown"
    outcomes = {"LEADER_LOG_REPLICATION": "won", "CANVASS": "failed", "INIT": "failed"}
    return outcomes.get(by.new_state, "gave way")


def _votes(phase: Phase, opened: records.ElectionStateChange) -> Iterator[VoteReport]:
    """The votes of the other members: by the candidate's log, else by the voter's own."""
    received = votes_in(phase, opened.candidate_term_id)
    for voter in phase.one.cluster.ids:
        if voter == phase.one.member_id:
            continue
        if voter not in received:
            yield _unanswered(phase, opened, voter)
            continue
        index, vote = received[voter]
        if vote.vote:
            yield VoteReport(voter, True, "", phase.say(f"Member {voter} voted for it.", index))
            continue
        voters_log = (vote.log_leadership_term_id, vote.log_position)
        decided, why, extra = _why_refused(phase, opened, voter, voters_log)
        line = phase.one.evidence(index)
        text = f"Member {voter} refused: {why}."
        yield VoteReport(voter, False, decided, Sentence(text, (line, *extra)))


def _names(record: records.Vote | records.RequestVote, candidate: int, term: int) -> bool:
    return record.candidate_member_id == candidate and record.candidate_term_id == term


def _why_refused(
    phase: Phase,
    opened: records.ElectionStateChange,
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
    other = phase.one.cluster.members.get(voter)
    asked = None if other is None else _request(other, phase.one.member_id, term)
    if other is not None and asked is not None and (used := _vote_used(other, asked, term)):
        seen, line = used
        why = f"its candidateTermId was already {seen}, not below {term} (VoteUsedUp)"
        return "candidate term", why, (other.evidence(asked), line)
    if voters_log is None:
        return "unknown", "no line shows which comparison decided", ()
    if voters_log > candidates_log:
        why = f"its own log {voters_log} is newer than {candidates_log} (compareLog > 0)"
        return "log", why, ()
    why = f"its log {voters_log} is not newer than {candidates_log}, so its candidateTermId was"
    return "candidate term", f"{why} {term} or more", ()


def _request(one: MemberTimeline, candidate: int, term: int) -> int | None:
    """The index of the candidate's request in the voter's log."""
    for index, record in enumerate(one.records):
        if isinstance(record, records.RequestVote) and _names(record, candidate, term):
            return index
    return None


def _vote_used(one: MemberTimeline, asked: int, term: int) -> tuple[int, Evidence] | None:
    """The voter's candidate term before the request, with its line, if it was at least ``term``."""
    known = _last_change(one, asked)
    if known is None or known[1].candidate_term_id < term:
        return None
    return known[1].candidate_term_id, one.evidence(known[0])


def _last_change(
    one: MemberTimeline, before: int
) -> tuple[int, records.ElectionStateChange] | None:
    """The last change of state of the same process before an index."""
    for index in range(before - 1, -1, -1):
        record = one.records[index]
        if isinstance(record, records.ElectionStateChange):
            return index, record
        if isinstance(record, records.ProcessStart):
            return None
    return None


def _unanswered(phase: Phase, opened: records.ElectionStateChange, voter: int) -> VoteReport:
    """Report, from the voter's own log, a vote that has no line in the candidate's log."""
    term, other = opened.candidate_term_id, phase.one.cluster.members.get(voter)
    if other is None:
        text = f"The candidate's log has no answer of member {voter}, and there is no log of"
        return VoteReport(voter, None, "unknown", phase.say(f"{text} member {voter}."))
    asked = _request(other, phase.one.member_id, term)
    if asked is None:
        text = f"Member {voter} did not answer; its log shows no vote request of term {term}."
        return VoteReport(voter, None, "", phase.say(text))
    after = other.records[asked + 1] if asked + 1 < len(other.records) else None
    if (
        isinstance(after, records.ElectionStateChange)
        and after.new_state == "FOLLOWER_BALLOT"
        and after.candidate_term_id == term
    ):
        said = other.say(f"Member {voter} voted for it, as its own log shows.", asked, asked + 1)
        return VoteReport(voter, True, "", said)
    received = f"Member {voter} received the vote request"
    state = next((p.state for p in other.phases if p.begin <= asked < p.end), None)
    if state is None:
        said = other.say(f"{received} outside an election and did not answer.", asked)
        return VoteReport(voter, None, "", said)
    known = _last_change(other, asked)
    log = (known[1].log_leadership_term_id, known[1].append_position) if known else None
    decided, why, extra = _why_refused(phase, opened, voter, log)
    if log is None or (decided != "log" and not extra):
        said = other.say(f"{received} in {state}; no line shows an answer.", asked)
        return VoteReport(voter, None, "unknown", said)
    request = other.evidence(asked)
    text = f"{received} in {state} and refused: {why}."
    return VoteReport(voter, None, decided, Sentence(text, (request, *extra)))

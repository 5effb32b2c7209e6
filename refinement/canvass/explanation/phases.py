"""The phases of an election and its ballots, each with its cause: what ended or decided it.

By Aeron's rules a message or a timeout ends a phase. A message is named as the cause only if its
line comes directly before the change of state, as the rules demand. A ballot is reported with its
votes, its refusals, and the comparison that decided each refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from canvass.cluster.messages import Record
from canvass.explanation.timeline import (
    POSITIONS,
    Attempt,
    Evidence,
    MemberTimeline,
    Phase,
    Sentence,
    Timeline,
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


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a phase by a change of state."""

    timeline: Timeline
    one: MemberTimeline
    attempt: Attempt
    phase: Phase
    by: records.ElectionStateChange

    @property
    def lasted_ns(self) -> int:
        """The duration of the phase in ns."""
        return self.one.times[self.phase.end] - self.one.times[self.phase.begin]

    def within(self) -> Iterator[tuple[int, records.Line]]:
        """The records of the phase, with their indexes."""
        return enumerate(self.one.records[self.phase.begin : self.phase.end], self.phase.begin)

    def after(self, kind: type[records.Line], what: str, setting: str | None = None) -> _Governed:
        """The cause: the message directly before the change, if it is of this kind.

        If it is not, the cause says that the line of the message is missing.
        """
        place = self.one.cause(self.phase.end)
        if place <= self.phase.begin or not isinstance(self.one.records[place], kind):
            return "message", setting, f"{what}; the message's line is not in the log", None
        return "message", setting, f"{what} after {_named(self.one.records[place])}", place


def report_phase(timeline: Timeline, attempt: Attempt, phase: Phase) -> PhaseReport:
    """Report how long a phase took, and what ended it."""
    one, by = timeline.members[phase.member_id], phase.left_by
    evidence = [one.evidence(phase.begin)]
    # If a process was killed, the next process's start does not show when.
    last = one.records[phase.end] if phase.end < len(one.records) else None
    ended = last is not None and not isinstance(last, records.ProcessStart)
    lasted = one.times[phase.end] - one.times[phase.begin] if ended else None
    next_state = "INIT" if isinstance(last, records.NewElection) else None
    if by is None:
        kind, setting, what, message = "unknown", None, _open_end(one, attempt, phase), None
    else:
        end = _End(timeline, one, attempt, phase, by)
        next_state, (kind, setting, what, message) = by.new_state, _governed(end)
    if message is not None:
        evidence.append(one.evidence(message))
    if ended:
        evidence.append(one.evidence(phase.end))
    took = "" if lasted is None else f" for {shown_ns(lasted)}"
    text = f"Member {phase.member_id} was in {phase.state}{took}: {what}."
    until_ns = last.time_ns if ended and last is not None else None
    return PhaseReport(
        phase.member_id, phase.state, one.records[phase.begin].time_ns, until_ns,
        None if lasted is None else round(lasted / 1e6, 3), next_state, kind, setting,
        Sentence(text, tuple(evidence)),
    )  # fmt: skip


def _open_end(one: MemberTimeline, attempt: Attempt, phase: Phase) -> str:
    if _closes(one, phase):
        return "the member closed"
    if phase is attempt.phases[-1] and attempt.outcome == "process ended":
        return "its process ended, and no line shows when"
    if phase.end >= len(one.records):
        return "the log ends here"
    return "the line that ends the phase is missing"


def _closes(one: MemberTimeline, phase: Phase) -> bool:
    """Whether the line that ends a phase shows that the member closed."""
    return phase.end < len(one.records) and isinstance(one.records[phase.end], records.StateChange)


def _governed(end: _End) -> _Governed:
    """Find the row of `_CAUSES` for the states before and after the change."""
    old, new = end.phase.state, end.by.new_state
    keys = ((old, new), ("*", new), (old, "*"))
    cause = next((_CAUSES[key] for key in keys if key in _CAUSES), "it works")
    if callable(cause):
        return cause(end)
    if isinstance(cause, tuple):
        return cause
    return "work", None, cause.format(reason=end.by.reason or "no reason logged"), None


def _error(end: _End) -> _Governed:
    place = end.phase.end - 1
    cause = end.one.records[place] if place >= 0 else end.by
    if isinstance(cause, records.TruncateLogEntry):
        what = f"its log was truncated from {cause.append_position} to {cause.new_position}"
        return "message", None, what, place
    reason = end.by.reason or "no reason logged"
    setting = HEARTBEAT_TIMEOUT if "timeout" in reason or "progress" in reason else None
    return "error", setting, f"an error ended it ({reason})", None


def _copied(end: _End) -> _Governed:
    """Find the last one of the messages that a copy of the leader's log needs."""
    kinds = (records.ReplicationEnded, records.CommitPosition, records.NewLeadershipTerm)
    what = "it copied its leader's log and needed a commit position that covers it"
    places = [index for index, record in end.within() if isinstance(record, kinds)]
    if not places:
        return "message", None, f"{what}; the message's line is not in the log", None
    last = end.one.records[places[-1]]
    return "message", None, f"{what}; the last message was {_named(last)}", places[-1]


def _leader_waits(end: _End) -> _Governed:
    """Find the message that completed the quorum for which a leader waits.

    A member forgets the reported positions when it begins to canvass. So canvass positions and
    votes that come after that count, too.
    """
    timeline, one, phase = end.timeline, end.one, end.phase
    ready = phase.state == "LEADER_READY"
    what = "a position of the new term" if ready else "the end of the leader's log"
    needed, own = timeline.quorum - 1, phase.entered_by
    if not needed:
        return "work", None, "it is a quorum by itself", None
    holders: dict[int, int] = {}
    earlier = (p.begin for p in end.attempt.phases if p.state == "CANVASS")
    begin = max((place for place in earlier if place < phase.begin), default=phase.begin)
    for index in range(begin, phase.end):
        record = one.records[index]
        if not isinstance(own, records.ElectionStateChange) or not isinstance(record, POSITIONS):
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
    if ready and timeline.releases is not None and timeline.releases.revision == "1.49":
        who, last = "each voter, or a quorum after the leader heartbeat timeout,", len(holders)
    if len(holders) < needed:
        text = f"{who} had to report {what}; the message's line is not in the log"
        return "message", None, text, None
    place = sorted(holders.values())[last - 1]
    how = "had to report {}; the last message was"
    if place <= phase.begin:
        how = "had already reported {}, at last with"
    return "message", None, f"{who} {how.format(what)} {_named(one.records[place])}", place


def _canvassed(end: _End) -> _Governed:
    """Find whether the last answer or the deadline ended a canvass."""
    attempt, phase = end.attempt, end.phase
    first = attempt.is_startup and not any(
        p.state == "CANVASS" for p in attempt.phases if p.begin < phase.begin
    )
    setting = STARTUP_CANVASS if first else HEARTBEAT_TIMEOUT
    answers: dict[int, int] = {}
    for index, record in end.within():
        if isinstance(record, records.CanvassPosition | records.AppendPosition):
            # A member may send its position more than once: the first message counts.
            answers.setdefault(record.follower_member_id, index)
    if len(answers) + 1 < end.timeline.quorum:
        # A canvass ends, by answers or by the timeout, only if a quorum has answered.
        what = "its log lacks CANVASS_POSITION lines, so no line shows for whom it waited"
        return "unknown", None, what, None
    last = max(answers.values(), default=phase.begin)
    if answers and end.one.times[phase.end] - end.one.times[last] < _NEAR_NS:
        # The timeout bounds how long a quorum waits for the others, not how long it takes until
        # there is a quorum.
        bound = setting if len(answers) >= end.timeline.quorum else None
        named = _named(end.one.records[last])
        return "message", bound, f"it needed {named}, which came last", last
    known = member_names(sorted(answers))
    if end.lasted_ns < _AT_ONCE_NS:
        what = f"its canvass deadline had passed before; {known} had answered in this phase"
        return "message", None, what, None
    wait = "startup canvass" if first else "leader heartbeat"
    what = f"it waited for answers of all members until the {wait} timeout; {known} had answered"
    return "timeout", setting, what, None


def _voted(end: _End) -> _Governed:
    bound = ELECTION if end.phase.state == "CANDIDATE_BALLOT" else None
    return end.after(records.RequestVote, f"it voted in term {end.by.candidate_term_id}", bound)


def _followed(end: _End) -> _Governed:
    bound = ELECTION if end.phase.state == "CANDIDATE_BALLOT" else None
    what = f"it followed member {end.by.leader_member_id}"
    return end.after(records.NewLeadershipTerm, what, bound)


def _returned(end: _End) -> _Governed:
    """Find why a voter canvasses again."""
    found = end.after(records.NewLeadershipTerm, "the leader's log does not continue its own")
    place = found[3]
    times = end.one.times
    if place is None or times[end.phase.end] - times[place] > _SOON_NS:
        what = "no leader announced its term within the election timeout"
        return "timeout", ELECTION, what, None
    return found


def _won(end: _End) -> _Governed:
    by_all = all_voted(end.timeline, end.phase)
    if by_all is None:
        return "unknown", ELECTION, "it won; the lines of the votes are not in the log", None
    if not by_all:
        what = "not all members voted for it, so a majority won only after the election timeout"
        return "timeout", ELECTION, what, None
    return "message", ELECTION, "all members voted for it", end.after(records.Vote, "")[3]


_REPLAY: Final = "it replays its log; more frequent snapshots make the replay shorter"
_DELAY: Final = "a random delay of up to half the election timeout"
_LOST: Final = "the ballot did not win within the election timeout"
_CAUSES: Final[dict[tuple[str, str], str | _Governed | Callable[[_End], _Governed]]] = {
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


def all_voted(timeline: Timeline, phase: Phase) -> bool | None:
    """Whether a candidate won by the votes of all members, not by the election timeout.

    Releases before 1.50 print no reason. Then the lines of votes decide; None if there are none.
    """
    by = phase.left_by
    assert by is not None
    if by.reason:
        return by.reason != "quorum leader"
    cast = [
        record
        for record in timeline.members[phase.member_id].records[phase.begin : phase.end]
        if isinstance(record, records.Vote)
        and _names(record, phase.member_id, by.candidate_term_id)
    ]
    voters = {record.follower_member_id for record in cast if record.vote}
    return len(voters) == timeline.member_count - 1 if cast else None


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


def report_ballot(timeline: Timeline, phase: Phase) -> BallotReport | None:
    """Report a candidate's ballot; none if the line that begins the ballot is missing."""
    one, opened = timeline.members[phase.member_id], phase.entered_by
    if not isinstance(opened, records.ElectionStateChange):
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
        phase.member_id, opened.candidate_term_id, opened.time_ns, outcome, votes,
        Sentence(text, tuple(evidence)),
    )  # fmt: skip


def _outcome(phase: Phase) -> str:
    by = phase.left_by
    if by is None:
        return "unknown"
    outcomes = {"LEADER_LOG_REPLICATION": "won", "CANVASS": "failed", "INIT": "failed"}
    return outcomes.get(by.new_state, "gave way")


def _votes(
    timeline: Timeline, one: MemberTimeline, phase: Phase, opened: records.ElectionStateChange
) -> Iterator[VoteReport]:
    received = {
        record.follower_member_id: (index, record)
        for index, record in enumerate(one.records[phase.begin : phase.end + 1], phase.begin)
        if isinstance(record, records.Vote)
        and _names(record, phase.member_id, opened.candidate_term_id)
    }
    for voter in timeline.ids:
        if voter == phase.member_id:
            continue
        if voter not in received:
            yield _unanswered(timeline, one, phase, opened, voter)
            continue
        index, vote = received[voter]
        line = one.evidence(index)
        if vote.vote:
            yield VoteReport(voter, True, "", Sentence(f"Member {voter} voted for it.", (line,)))
            continue
        voters_log = (vote.log_leadership_term_id, vote.log_position)
        decided, why, extra = _why_refused(timeline, opened, phase.member_id, voter, voters_log)
        text = f"Member {voter} refused: {why}."
        yield VoteReport(voter, False, decided, Sentence(text, (line, *extra)))


def _names(record: records.Vote | records.RequestVote, candidate: int, term: int) -> bool:
    return record.candidate_member_id == candidate and record.candidate_term_id == term


def _why_refused(
    timeline: Timeline,
    opened: records.ElectionStateChange,
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
    if voters_log is None:
        return "unknown", "no line shows which comparison decided", ()
    if voters_log > candidates_log:
        why = f"its own log {voters_log} is newer than {candidates_log} (compareLog > 0)"
        return "log", why, ()
    why = f"its log {voters_log} is not newer than {candidates_log}, so its candidateTermId was"
    return "candidate term", f"{why} {term} or more", ()


def _request(timeline: Timeline, candidate: int, term: int, voter: int) -> int | None:
    """The index of the candidate's request in the voter's log."""
    one = timeline.members.get(voter)
    for index, record in enumerate(one.records if one else ()):
        if isinstance(record, records.RequestVote) and _names(record, candidate, term):
            return index
    return None


def _vote_used(one: MemberTimeline, asked: int, term: int) -> tuple[int, Evidence] | None:
    """The voter's candidate term before the request, with its line, if it was at least ``term``."""
    for index in range(asked - 1, -1, -1):
        record = one.records[index]
        if isinstance(record, records.ElectionStateChange):
            if record.candidate_term_id >= term:
                return record.candidate_term_id, one.evidence(index)
            return None
        if isinstance(record, records.ProcessStart):
            return None
    return None


def _unanswered(
    timeline: Timeline,
    one: MemberTimeline,
    phase: Phase,
    opened: records.ElectionStateChange,
    voter: int,
) -> VoteReport:
    """Report, from the voter's own log, a vote that has no line in the candidate's log."""
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
        isinstance(after, records.ElectionStateChange)
        and after.new_state == "FOLLOWER_BALLOT"
        and after.candidate_term_id == term
    )
    if granted:
        text = f"Member {voter} voted for it, as its own log shows."
        return VoteReport(voter, True, "", Sentence(text, (request, other.evidence(asked + 1))))
    phases = (phase for attempt in other.attempts for phase in attempt.phases)
    current = [phase.state for phase in phases if phase.begin <= asked < phase.end]
    known = next(
        (r for r in reversed(other.records[:asked]) if isinstance(r, records.ElectionStateChange)),
        None,
    )
    log = (known.log_leadership_term_id, known.append_position) if known and current else None
    decided, why, extra = _why_refused(timeline, opened, phase.member_id, voter, log)
    if not current:
        text = f"Member {voter} received the vote request outside an election and did not answer."
        return VoteReport(voter, None, "", Sentence(text, (request,)))
    if log is None or (decided != "log" and not extra):
        text = (
            f"Member {voter} received the vote request in {current[-1]}; no line shows an answer."
        )
        return VoteReport(voter, None, "unknown", Sentence(text, (request,)))
    text = f"Member {voter} received the vote request in {current[-1]} and refused: {why}."
    return VoteReport(voter, None, decided, Sentence(text, (request, *extra)))

"""The state of a member whose lines are missing, as a later line shows it: what they said is
not known, and need not be.

Missing are those before a log begins, or before a hole ends; which lines show enough then is said
by `MemberEvidence.known_again`.
"""

from __future__ import annotations

from canvass.cluster.copies import replace
from canvass.cluster.member import ElectionState, Member, MemberRecord, ModuleState, Role, TermEntry
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.recording_log import RecordingLog
from canvass.cluster.transitions import persistent_member
from canvass.traces.aeron_import.proposal import Proposal
from canvass.traces.aeron_log.records import ElectionStateChange, NewElection

_ROLES = {"CANDIDATE_BALLOT": Role.CANDIDATE}


def found_on_disk(proposal: Proposal, index: int, record: NewElection) -> Member:
    """What the first life of a log has found, as far as the log shows it."""
    term, position = record.leadership_term_id, record.append_position
    if term == NULL_VALUE and position == 0:
        return persistent_member(proposal.rules)
    proposal.unknown_past = True
    change = proposal.next_change(index + 1)
    candidate = term if change is None else change.candidate_term_id
    base = record.log_position
    known = proposal.plan.event_bases.get(term, base)
    log = () if term == NULL_VALUE else (TermEntry(term, known, NULL_VALUE),)
    snapshot = record.log_position > 0
    return persistent_member(
        proposal.rules,
        candidate,
        log,
        position,
        term if snapshot else NULL_VALUE,
        known if snapshot else 0,
        record.log_position,
    )


def with_snapshot(s: Member, position: int) -> Member:
    """The state with a snapshot that was taken where lines are missing, if it can have been: of
    what is recorded, and beyond the last.
    """
    begun = [one for one in s.recording_log if one.term_base_log_position < position]
    if not (begun and s.snapshot_log_position < position <= s.recorded_position):
        return s
    return replace(
        s,
        snapshot_leadership_term_id=begun[-1].leadership_term_id,
        snapshot_term_base_log_position=begun[-1].term_base_log_position,
        snapshot_log_position=position,
    )


def before_change(proposal: Proposal, record: ElectionStateChange) -> Member:
    """The state before a change of an election, by what the change printed and was known before.

    Notes
    -----
    What the others were last heard to have is kept, as no line tells what was heard since.
    """
    kept, i = proposal.state, proposal.member_id
    term, log_term = record.leadership_term_id, record.log_leadership_term_id
    stands = record.new_state == "CANDIDATE_BALLOT"
    candidate = record.candidate_term_id - stands
    own = MemberRecord(term, record.append_position)
    members = tuple(own if j == i else kept.members[j] for j in range(proposal.rules.member_count))
    known = persistent_member(
        proposal.rules,
        candidate,
        _recording_log(
            proposal, kept, log_term, min(kept.recorded_position, record.append_position)
        ),
        record.append_position,
        kept.snapshot_leadership_term_id,
        kept.snapshot_term_base_log_position,
        kept.snapshot_log_position,
    )
    in_election = kept.election_state is not ElectionState.CLOSED
    return replace(
        known,
        module_state=ModuleState.ACTIVE,
        role=_ROLES.get(record.old_state, Role.FOLLOWER),
        module_leadership_term_id=kept.module_leadership_term_id if in_election else log_term,
        commit_position=record.log_position,
        members=members,
        election_state=ElectionState(record.old_state),
        log_leadership_term_id=log_term,
        leadership_term_id=term,
        candidate_term_id=candidate,
        append_position=record.append_position,
        notified_commit_position=max(kept.notified_commit_position, 0),
        graceful_closed_leader_id=kept.graceful_closed_leader_id,
    )


def with_term(
    proposal: Proposal, log: RecordingLog, term: int, reached: int
) -> tuple[TermEntry, ...]:
    """The log with a term that a later line shows it to have as its last, however that came there.

    Parameters
    ----------
    proposal
        Knows where terms begin, as far as any log tells.
    log
        What was there before the lines that are missing.
    term
        The term.
    reached
        Where it begins if nothing tells: how far the log went before, as far as it is still there.

    Notes
    -----
    Terms in between, of which nothing is known, are one, as ``RecordingLog.ensureCoherent`` has it.
    """
    entries = [one for one in log if one.leadership_term_id < term]
    ended = entries[-1].log_position if entries else NULL_VALUE
    own = [one.term_base_log_position for one in log if one.leadership_term_id == term]
    guess = own[0] if own else reached if ended == NULL_VALUE else ended
    base = proposal.plan.event_bases.get(term, guess)
    while entries and entries[-1].term_base_log_position > base:
        del entries[-1]
    if entries:
        last = entries.pop()
        end = last.log_position
        between = NULL_VALUE < end < base and last.leadership_term_id < term - 1
        entries.append(replace(last, log_position=end if between else base))
        if between:
            entries.append(TermEntry(term - 1, end, base))
    return (*entries, TermEntry(term, base, NULL_VALUE))


def _recording_log(
    proposal: Proposal, kept: Member, term: int, reached: int
) -> tuple[TermEntry, ...]:
    """The entries that are known, with one of the last term that a log is shown to have."""
    entries = tuple(one for one in kept.recording_log if one.leadership_term_id <= term)
    if term == NULL_VALUE or (entries and entries[-1].leadership_term_id == term):
        return entries
    return with_term(proposal, entries, term, reached if entries else 0)

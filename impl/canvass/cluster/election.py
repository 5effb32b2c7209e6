"""The election of one member up to the ballot: the steps of the states without a leader, and how
elections begin and fail.

A step is a pure function of (rules, own id, state, input). It returns None if it is not enabled.
The leader's states are in `canvass.cluster.election_leader`, the follower's in
`canvass.cluster.election_follower`, and the messages in `canvass.cluster.election_messages`.
"""

from __future__ import annotations

from msgspec.structs import replace

from canvass.cluster.effects import (
    AdvanceCommit,
    CompleteElection,
    Effects,
    Outcome,
    PersistCandidateTerm,
    TruncateLog,
    broadcast,
    send_to_each,
)
from canvass.cluster.election_follower import follower_ready
from canvass.cluster.election_leader import leader_ready
from canvass.cluster.member import ElectionState, Input, Member, MemberRecord, ModuleState, Role
from canvass.cluster.messages import NULL_VALUE, CanvassPosition, RequestVote
from canvass.cluster.predicates import (
    in_election,
    is_at,
    is_quorum_candidate,
    is_quorum_leader,
    is_unanimous_candidate,
    is_unanimous_leader,
)
from canvass.cluster.recording_log import last_term
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import (
    begin_election,
    disk,
    enter_canvass,
    enter_init,
    enter_leader_log_replication,
    new_election,
    prepare_for_new_leadership,
    stop_catchup_replays,
    tear_down,
)


def election_init(rules: Rules, i: int, s: Member, _x: Input) -> Outcome | None:
    """Stop everything that belongs to the old term, then canvass. A single member leads at once.

    Notes
    -----
    Hardened against HZ5, a leader that fails has opened its term already, so the last term is read
    from the recording log again. After an error a single member of 1.49 leads the same term again,
    not the next one. Source: ``Election.init``, and 1.49's constructor.
    """
    # Refuse.
    if not is_at(s, ElectionState.INIT):
        return None

    # Effects.
    stopped = stop_catchup_replays(s)
    cleared = stopped.next
    if rules.is_hardened("HZ5") and s.recording_log:
        cleared = replace(cleared, log_leadership_term_id=last_term(s.recording_log))
    if rules.is_149 and rules.member_count == 1:
        begun = enter_leader_log_replication(rules, i, prepare_for_new_leadership(cleared))
    else:
        begun = begin_election(rules, i, cleared)
    return begun.after(*stopped.effects, *tear_down(stopped.next))


def _canvassed_term(rules: Rules, s: Member) -> int:
    """Give the term in a CanvassPosition: the leadership term, which no receiver reads.

    Hardened against HZ11, it is the candidate term: at least as high as every term in which the
    member has voted.
    """
    return s.candidate_term_id if rules.is_hardened("HZ11") else s.leadership_term_id


def _publish_canvass_position(rules: Rules, i: int, s: Member) -> Effects:
    term = _canvassed_term(rules, s)
    message = CanvassPosition(s.log_leadership_term_id, s.append_position, term, i)
    return broadcast(i, rules.member_count, message)


def canvass(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Publish its own position once an interval. Nominate this member if all others would vote for
    it, or, once the deadline has passed, if a quorum would.

    Notes
    -----
    If there is an appointed leader, no other member nominates itself. Source: ``Election.canvass``.
    """
    # Refuse.
    if not is_at(s, ElectionState.CANVASS):
        return None

    # Decide.
    may_nominate = rules.appointed_leader_id in (NULL_VALUE, i)
    nominates = may_nominate and (
        is_unanimous_candidate(rules, i, s) or (x.timeout and is_quorum_candidate(rules, i, s))
    )

    # Effects.
    after = replace(s, election_state=ElectionState.NOMINATE) if nominates else s
    return Outcome(after, _publish_canvass_position(rules, i, s) if x.interval else ())


def _become_candidate(i: int, s: Member, term: int) -> Outcome:
    """Open a ballot in ``term``: forget all votes, and vote for itself."""
    members = tuple(
        MemberRecord(
            leadership_term_id=record.leadership_term_id,
            log_position=record.log_position,
            candidate_term_id=term if j == i else NULL_VALUE,
            vote=1 if j == i else NULL_VALUE,
            ballot_sent=j == i,
            catchup_replay=record.catchup_replay,
        )
        for j, record in enumerate(s.members)
    )
    after = replace(
        s,
        election_state=ElectionState.CANDIDATE_BALLOT,
        role=Role.CANDIDATE,
        candidate_term_id=term,
        persisted_candidate_term_id=term,
        members=members,
    )
    return Outcome(after, (PersistCandidateTerm(term),))


def nominate(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Wait for the random nomination deadline, then open a ballot in the next candidate term.

    Notes
    -----
    The term is on disk before a message names it. The member does not check again whether others
    would vote for it. It publishes its position while it waits, for members that start late.
    Source: ``Election.nominate``, ``ClusterMember.becomeCandidate``.
    """
    # Refuse.
    if not is_at(s, ElectionState.NOMINATE):
        return None

    # Effects.
    if x.timeout:
        term = max(s.persisted_candidate_term_id, s.candidate_term_id + 1)
        return _become_candidate(i, s, term)
    return Outcome(s, _publish_canvass_position(rules, i, s) if x.interval else ())


def candidate_ballot(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Ask each member once for its vote, and count the votes.

    Notes
    -----
    The candidate wins at once if all members grant their votes. A quorum is enough only once the
    ballot has timed out, and only if no vote was refused. Source: ``Election.candidateBallot``.
    """
    # Refuse.
    if not is_at(s, ElectionState.CANDIDATE_BALLOT):
        return None

    # Decide.
    if is_unanimous_leader(rules, s) or (x.timeout and is_quorum_leader(rules, s)):
        return enter_leader_log_replication(rules, i, s)
    if x.timeout:
        return enter_canvass(i, s)

    # Effects.
    unsent = {j for j in x.accepted if not s.members[j].ballot_sent}
    ballot = RequestVote(s.log_leadership_term_id, s.append_position, s.candidate_term_id, i)
    members = tuple(
        replace(record, ballot_sent=True) if j in unsent else record
        for j, record in enumerate(s.members)
    )
    return Outcome(replace(s, members=members), send_to_each(i, unsent, ballot))


def follower_ballot(_rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Wait for the result of the ballot that this member voted in; canvass again after a timeout.

    Notes
    -----
    Source: ``Election.followerBallot``.
    """
    # Refuse.
    if not is_at(s, ElectionState.FOLLOWER_BALLOT):
        return None

    # Effects.
    return enter_canvass(i, s) if x.timeout else Outcome(s)


def enter_election(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Start an election: a follower has lost its leader, a leader its quorum, or the log stream has
    ended.

    Notes
    -----
    If the stream ended in good order, the leader has closed, and the election does not wait for it
    (``x.graceful_closed_leader_id``). The INIT step runs within this one, so the member is in
    CANVASS afterwards. Source: ``ConsensusModuleAgent.enterElection``.
    """
    # Refuse.
    if s.module_state is not ModuleState.ACTIVE or in_election(s):
        return None
    if x.graceful_closed_leader_id not in (NULL_VALUE, s.leader_member_id):
        return None

    # Effects.
    return new_election(rules, i, s, x.graceful_closed_leader_id)


def _closing_step(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """The outcome of the step that closes the election, or None if the input does not close it."""
    if is_at(s, ElectionState.LEADER_READY):
        return leader_ready(rules, i, s, x)
    if x.position == s.commit_position:
        return follower_ready(rules, i, s, x)
    return None


def _fail_to_close(s: Member, closed: Outcome) -> Outcome:
    """The outcome if the step that closes the election fails at its end.

    The module keeps the term and the positions that the step has set. The election does not end: it
    goes back to INIT, as after any other error.
    """
    taken_over = replace(
        s,
        module_leadership_term_id=closed.next.module_leadership_term_id,
        module_notified_commit_position=closed.next.module_notified_commit_position,
        commit_position=closed.next.commit_position,
        publication_position=closed.next.publication_position,
    )
    done = [e for e in closed.effects if not isinstance(e, CompleteElection)]
    return enter_init(taken_over).after(*done)


def election_error(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Let the election fail: by an error, a stalled replication, or the time-out of a state.

    Notes
    -----
    This is possible in every election state but INIT. It is also possible in the duty cycle that
    should close the election, when the member connects its ingress channel. Then ``x`` is the input
    of that cycle. For a leader, ``x.position`` is the end of the term's first entry, which has been
    written; for a follower, it is the position that the follower has reported. Source:
    ``Election.handleError``, ``ConsensusModuleAgent.electionComplete``, ``connectIngress``.
    """
    # Refuse.
    if not in_election(s) or s.election_state is ElectionState.INIT:
        return None

    # Effects.
    if x.position == NULL_VALUE:
        return enter_init(s)
    closed = _closing_step(rules, i, s, x)
    return None if closed is None else _fail_to_close(s, closed)


def restart(rules: Rules, i: int, s: Member, _x: Input) -> Outcome | None:
    """End the process, in whatever way, and start it again with the data on its disk.

    Notes
    -----
    The commit position is not on disk. It begins at the snapshot, and later entries are replayed
    once a leader says that they are committed. The last term comes from the recording log, and the
    length of the log from the archive. The recording log also names the recording of the log. While
    it has no TERM entry, it names none: recorded data is forgotten, even if it was reported to a
    leader (hazard HZ2). Source: ``ConsensusModuleAgent.onStart``, ``recoverFromSnapshotAndLog``,
    ``startLogRecording``, ``RecordingLog.planRecovery``.
    """
    # Decide.
    found = disk(rules, s)
    term = last_term(found.recording_log)
    truncated: Effects = ()
    if not found.recording_log:
        term = s.snapshot_leadership_term_id
        if s.recorded_position > s.snapshot_log_position:
            found = replace(found, recorded_position=s.snapshot_log_position)
            truncated = (TruncateLog(s.snapshot_log_position),)

    # Effects.
    started = replace(
        found,
        module_state=ModuleState.ACTIVE,
        module_leadership_term_id=s.snapshot_leadership_term_id,
        commit_position=s.snapshot_log_position,
        log_leadership_term_id=term,
        leadership_term_id=term,
    )
    begun = begin_election(rules, i, started)
    return begun.after(*truncated, AdvanceCommit(s.snapshot_log_position))

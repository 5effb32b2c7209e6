"""The transitions of an election: how it begins, how it enters its states, and how it ends.

Each transition resets the variables and stops the copies and replays of the state that it leaves.
The handlers decide when a transition happens.
"""

from __future__ import annotations

from msgspec.structs import replace

from canvass.cluster.effects import (
    AdvanceCommit,
    CloseLogPublication,
    CloseLogSubscription,
    CompleteElection,
    Effects,
    OpenLogPublication,
    Outcome,
    PersistCandidateTerm,
    RemoveCatchupDestination,
    RollBack,
    StopCatchupReplay,
    StopRecording,
    StopReplay,
    StopReplication,
    record_terms,
)
from canvass.cluster.member import (
    NULL_RECORD,
    ElectionState,
    Member,
    MemberRecord,
    Role,
    TermEntry,
    new_member,
)
from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.recording_log import ensure_coherent
from canvass.cluster.rules import Rules


def persistent_member(
    rules: Rules,
    candidate_term_id: int = NULL_VALUE,
    recording_log: tuple[TermEntry, ...] = (),
    recorded_position: int = 0,
    snapshot_leadership_term_id: int = NULL_VALUE,
    snapshot_term_base_log_position: int = 0,
    snapshot_log_position: int = 0,
) -> Member:
    """The state of a process that has just been started, before its election.

    Notes
    -----
    The parameters are the data on disk. By default the disk is empty, as at the very first start.
    Variables that do not survive a restart are null.
    """
    return replace(
        new_member(rules.member_count),
        persisted_candidate_term_id=candidate_term_id,
        recording_log=recording_log,
        recorded_position=recorded_position,
        snapshot_leadership_term_id=snapshot_leadership_term_id,
        snapshot_term_base_log_position=snapshot_term_base_log_position,
        snapshot_log_position=snapshot_log_position,
    )


def disk(rules: Rules, s: Member) -> Member:
    """The state that a restart of member ``s`` finds on its disk."""
    return persistent_member(
        rules,
        s.persisted_candidate_term_id,
        s.recording_log,
        s.recorded_position,
        s.snapshot_leadership_term_id,
        s.snapshot_term_base_log_position,
        s.snapshot_log_position,
    )


def forget_records(members: tuple[MemberRecord, ...]) -> tuple[MemberRecord, ...]:
    """The records of members that have reported nothing; catch-up replays keep running."""
    return tuple(replace(NULL_RECORD, catchup_replay=record.catchup_replay) for record in members)


def with_record(
    members: tuple[MemberRecord, ...], j: int, record: MemberRecord
) -> tuple[MemberRecord, ...]:
    """The records with that of member ``j`` replaced."""
    return (*members[:j], record, *members[j + 1 :])


def update_member_log_position(
    members: tuple[MemberRecord, ...], j: int, term: int, position: int
) -> tuple[MemberRecord, ...]:
    """The records after a report of member ``j``. The reported position may be lower than before.

    Notes
    -----
    Source: ``ClusterMember.logPosition``, ``ClusterMember.leadershipTermId``.
    """
    noted = replace(members[j], leadership_term_id=term, log_position=position)
    return with_record(members, j, noted)


def open_term(s: Member, term: int, base: int) -> tuple[TermEntry, ...]:
    """The recording log with ``term`` opened at ``base``, unless it has that term already.

    Notes
    -----
    Source: ``Election.ensureRecordingLogCoherent``.
    """
    return ensure_coherent(
        s.recording_log,
        s.snapshot_leadership_term_id,
        s.snapshot_term_base_log_position,
        term,
        base,
        NULL_VALUE,
    )


def _end_replication(s: Member) -> Member:
    return replace(
        s,
        log_replication=False,
        replication_leadership_term_id=NULL_VALUE,
        replication_stop_position=NULL_VALUE,
        replication_term_base_log_position=NULL_VALUE,
    )


def _stop_copies(s: Member) -> Effects:
    """Stop the replication and the replay, if they run."""
    effects: Effects = ()
    if s.log_replication:
        effects += (StopReplication(),)
    if s.replay_stop_position != NULL_VALUE:
        effects += (StopReplay(),)
    return effects


def enter_canvass(i: int, s: Member) -> Outcome:
    """Enter CANVASS: forget the reports of other members, and give up the role.

    Notes
    -----
    The member's own record gets the leadership term, but other members report their log terms. So a
    member compares two different things when it decides whether to be a candidate (hazard HZ4).
    Voters compare log terms, so the only damage is a candidacy without a chance. Source:
    ``Election.state``.
    """
    after = replace(
        _end_replication(s),
        election_state=ElectionState.CANVASS,
        role=Role.FOLLOWER,
        leader_member_id=NULL_VALUE,
        catchup_join_position=NULL_VALUE,
        replay_stop_position=NULL_VALUE,
        members=update_member_log_position(
            forget_records(s.members), i, s.leadership_term_id, s.append_position
        ),
    )
    return Outcome(after, _stop_copies(s))


def enter_leader_log_replication(rules: Rules, i: int, s: Member) -> Outcome:
    """Enter LEADER_LOG_REPLICATION, with a log stream that begins at the end of its own log.

    Notes
    -----
    Hardened against HZ5, the leader opens the term in the recording log at once, and notes its
    position in that term in its own record. Source: ``Election.state``,
    ``ConsensusModuleAgent.addLogPublication``.
    """
    term, end = s.candidate_term_id, s.append_position
    after = replace(
        s,
        election_state=ElectionState.LEADER_LOG_REPLICATION,
        role=Role.LEADER,
        leader_member_id=i,
        leadership_term_id=term,
        publication_position=end,
    )
    if rules.is_hardened("HZ5"):
        after = replace(
            after,
            recording_log=open_term(s, term, end),
            members=update_member_log_position(s.members, i, term, end),
        )
    return Outcome(after, (*record_terms(s, after), OpenLogPublication(end)))


def enter_follower_state(s: Member, election_state: ElectionState) -> Outcome:
    """Enter FOLLOWER_LOG_REPLICATION or FOLLOWER_REPLAY in the role of a follower.

    Notes
    -----
    Source: ``Election.state``.
    """
    after = replace(
        s,
        election_state=election_state,
        role=Role.FOLLOWER,
        members=forget_records(s.members),
    )
    return Outcome(after)


def enter_init(s: Member) -> Outcome:
    """Go back to INIT after an error.

    Notes
    -----
    The INIT step runs in the next duty cycle. Messages that arrive before it are lost. The INIT
    step gives up the role. Source: ``ConsensusModuleAgent.doWork``, ``Election.handleError``.
    """
    after = replace(
        _end_replication(s),
        election_state=ElectionState.INIT,
        catchup_join_position=NULL_VALUE,
        replay_stop_position=NULL_VALUE,
        members=forget_records(s.members),
    )
    return Outcome(after, _stop_copies(s))


def tear_down(s: Member) -> Effects:
    """Stop replication, replay, log subscription, log stream and recording of the old term.

    Notes
    -----
    The recording must end at the recorded position of the state. So the module takes a
    ``RecordLog`` before each step that may begin an election, and truncates later data, which no
    member has reported. Source: ``ConsensusModuleAgent.prepareForNewLeadership``.
    """
    effects = _stop_copies(s)
    if s.catchup_destination:
        effects += (RemoveCatchupDestination(),)
    if s.log_subscription:
        effects += (CloseLogSubscription(),)
    if s.publication_position != NULL_VALUE:
        effects += (CloseLogPublication(),)
    return (*effects, StopRecording(), RollBack())


def stop_catchup_replays(s: Member) -> Outcome:
    """Stop every catch-up replay that this member serves.

    Notes
    -----
    Source: ``ConsensusModuleAgent.stopAllCatchups``.
    """
    serving = [j for j, record in enumerate(s.members) if record.catchup_replay]
    after = replace(s, members=tuple(replace(record, catchup_replay=False) for record in s.members))
    return Outcome(after, tuple(StopCatchupReplay(j) for j in serving))


def prepare_for_new_leadership(s: Member) -> Member:
    """The state after `tear_down`, with the append position taken from the archive.

    Notes
    -----
    The append position is that of the archive, whatever was reported before. The candidate term is
    read from disk, where it was written before the member voted in it. A higher term that the
    member knew from a NewLeadershipTerm only is forgotten. Source: ``Election.init``,
    ``ConsensusModuleAgent.prepareForNewLeadership``.
    """
    return replace(
        _end_replication(s),
        role=Role.FOLLOWER,
        publication_position=NULL_VALUE,
        log_subscription=False,
        catchup_destination=False,
        append_position=s.recorded_position,
        notified_commit_position=0,
        catchup_join_position=NULL_VALUE,
        replay_stop_position=NULL_VALUE,
        candidate_term_id=max(s.persisted_candidate_term_id, s.leadership_term_id),
    )


def begin_election(rules: Rules, i: int, s: Member) -> Outcome:
    """Prepare for new leadership, then canvass; a single member leads its next term at once.

    Notes
    -----
    The caller tears down what belongs to the old term. Source: ``Election.init``.
    """
    prepared = prepare_for_new_leadership(s)
    if rules.member_count > 1:
        return enter_canvass(i, prepared)
    term = prepared.candidate_term_id + 1
    candidate = replace(prepared, candidate_term_id=term, persisted_candidate_term_id=term)
    return enter_leader_log_replication(rules, i, candidate).after(PersistCandidateTerm(term))


def _forget_termination(rules: Rules, s: Member) -> Member:
    """The state without a termination position, if the rules are hardened against HZ9."""
    if not rules.is_hardened("HZ9"):
        return s
    return replace(s, termination_position=NULL_VALUE, termination_leadership_term_id=NULL_VALUE)


def new_election(rules: Rules, i: int, s: Member, graceful_closed_leader_id: int) -> Outcome:
    """Start an election. The INIT step runs within this one.

    Notes
    -----
    The termination position outlives the election: hazard HZ9. Source:
    ``ConsensusModuleAgent.enterElection``.
    """
    started = replace(
        _forget_termination(rules, s),
        log_leadership_term_id=s.module_leadership_term_id,
        leadership_term_id=s.module_leadership_term_id,
        graceful_closed_leader_id=graceful_closed_leader_id,
    )
    return begin_election(rules, i, started).after(*tear_down(s))


def election_complete(rules: Rules, s: Member) -> Outcome:
    """Close the election: the module takes over its results, and its variables become null.

    Notes
    -----
    A leader's commit position becomes the end of its log; in 1.49 it may have fallen below that.
    The notified commit position rises to the commit position; 1.49 sets it, even if it falls.
    Source: ``ConsensusModuleAgent.electionComplete``.
    """
    members, commit = s.members, s.commit_position
    if s.role is Role.LEADER:
        commit = max(commit, s.append_position)
        members = tuple(
            replace(record, candidate_term_id=NULL_VALUE, vote=NULL_VALUE, ballot_sent=False)
            for record in members
        )
    after = replace(
        s,
        election_state=ElectionState.CLOSED,
        module_leadership_term_id=s.leadership_term_id,
        commit_position=commit,
        module_notified_commit_position=(
            commit if rules.is_149 else max(s.module_notified_commit_position, commit)
        ),
        members=members,
        log_leadership_term_id=NULL_VALUE,
        leadership_term_id=NULL_VALUE,
        candidate_term_id=NULL_VALUE,
        append_position=NULL_VALUE,
        notified_commit_position=NULL_VALUE,
        catchup_join_position=NULL_VALUE,
        graceful_closed_leader_id=NULL_VALUE,
    )
    completed = CompleteElection(s.leadership_term_id, s.leader_member_id)
    return Outcome(after, (*advance_commit(s.commit_position, commit), completed))


def advance_commit(before: int, after: int) -> Effects:
    """The effect of a commit position that changes from ``before`` to ``after``; none if equal."""
    return () if before == after else (AdvanceCommit(after),)

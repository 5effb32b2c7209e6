"""The steps of the log, in elections and outside: append, record, consume, commit, catch up,
snapshot, terminate.

A leader that is closed computes, publishes and commits the quorum position as `election_leader`
does in LEADER_READY, by the same rules. The
member's state has positions of the log, not its bytes. The archive and the log streams move the
bytes.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from msgspec.structs import replace

from canvass.cluster.effects import (
    AdvanceCommit,
    AppendToLog,
    Effects,
    EndProcess,
    Outcome,
    RemoveCatchupDestination,
    Send,
    StartCatchup,
    WriteSnapshot,
    broadcast,
    received,
    record_terms,
)
from canvass.cluster.member import ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CatchupPosition,
    CommitPosition,
    StopCatchup,
    TerminationAck,
    TerminationPosition,
)
from canvass.cluster.predicates import (
    bounded_quorum_position,
    has_recording,
    in_election,
    is_at,
    is_closed,
    is_publisher,
)
from canvass.cluster.recording_log import NO_TERM_ENTRY, commit_log_position, find_term_entry
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import advance_commit, disk, open_term, with_record


def note_own_position(i: int, s: Member, own: int) -> Member:
    """The state of member ``i`` with position ``own`` in its own record."""
    renewed = replace(s.members[i], log_position=own)
    return replace(s, members=with_record(s.members, i, renewed))


def leader_quorum_position(
    rules: Rules, i: int, s: Member, term: int, own: int, active: Set[int]
) -> int:
    """The quorum position that leader ``i`` publishes and commits.

    Parameters
    ----------
    rules, i, s
        The rules, the leader and its state.
    term
        The term of the leader.
    own
        The position up to which it has recorded.
    active
        The members heard from within the heartbeat timeout, before this step.

    Notes
    -----
    From 1.50 the leader computes the quorum position before it renews its own record. So it counts
    with the position of its previous duty cycle, and only if it is active itself. 1.49 renews its
    record first. Source: ``ConsensusModuleAgent.updateLeaderPosition``.
    """
    if rules.is_149:
        noted = note_own_position(i, s, own)
        return min(bounded_quorum_position(rules, noted, term, own, active), own)
    return bounded_quorum_position(rules, s, term, own, active)


def commit_leader_position(
    rules: Rules, i: int, s: Member, x: Input, own: int, reached: int
) -> tuple[Member, Effects]:
    """Renew the leader's own record, then publish and commit the quorum position if that is due.

    Parameters
    ----------
    rules, i, s, x
        The rules, the leader, its state and its input.
    own
        The position up to which the leader has recorded.
    reached
        The quorum position. It falls if a member is no longer active, and is published even then.

    Returns
    -------
    tuple of Member and Effects
        The next state and the effects. The commit position only rises; in 1.49 it becomes
        ``reached``.

    Notes
    -----
    It is due if ``x.commit_interval``, or if the quorum position is above the commit position.
    Source: ``ConsensusModuleAgent.updateLeaderPosition``.
    """
    after = note_own_position(i, s, own)
    if reached <= s.commit_position and not x.commit_interval:
        return after, ()
    commit = reached if rules.is_149 else max(s.commit_position, reached)
    published = CommitPosition(s.module_leadership_term_id, reached, i)
    sends = broadcast(i, rules.member_count, published)
    return replace(after, commit_position=commit), advance_commit(s.commit_position, commit) + sends


# Every step reads these. To look an enum member up in its class takes longer than to compare it.
_LEADER: Final = Role.LEADER
_FOLLOWER: Final = Role.FOLLOWER
_REPLICATES: Final = ElectionState.FOLLOWER_LOG_REPLICATION

_AWAITS: Final = frozenset({ElectionState.FOLLOWER_CATCHUP_AWAIT, ElectionState.FOLLOWER_LOG_AWAIT})
"""The states in which a follower waits until the leader's log stream connects."""

_MAY_SNAPSHOT: Final = frozenset(
    {
        ElectionState.CLOSED,
        ElectionState.FOLLOWER_CATCHUP,
        ElectionState.FOLLOWER_REPLAY,
        ElectionState.LEADER_REPLAY,
    }
)
"""The states in which a member processes the log, and the requests for snapshots in it."""


def _has_initiated_termination(s: Member) -> bool:
    """Whether this leader has announced, in its term, the position at which all members end."""
    in_term = s.termination_leadership_term_id == s.module_leadership_term_id
    return s.termination_position != NULL_VALUE and in_term


def _is_terminating(s: Member) -> bool:
    """Whether there is a termination position, and the log is processed up to it."""
    asked = s.termination_position != NULL_VALUE
    return asked and s.commit_position >= s.termination_position


def append_entry(_rules: Rules, _i: int, s: Member, x: Input) -> Outcome | None:
    """Write entries to its own log stream, up to ``x.position``.

    Notes
    -----
    Only a closed leader appends. After it has announced a termination position, it appends nothing
    more in its term. ``LeaderReady`` appends the first entry of a term. Source: ``LogPublisher``,
    ``ConsensusModuleAgent.checkClusterControlToggle``.
    """
    # Refuse.
    if not is_closed(s, _LEADER) or x.position <= s.publication_position:
        return None
    if _has_initiated_termination(s):
        return None

    # Effects.
    return Outcome(replace(s, publication_position=x.position), (AppendToLog(x.position),))


def _awaits_recording(rules: Rules, s: Member) -> bool:
    """Whether the archive may record already, although the member has not seen this yet.

    Hardened against HZ2, it may not: the member opens the term first.
    """
    awaits = s.election_state in _AWAITS and s.module_state is ModuleState.ACTIVE
    return awaits and has_recording(s) and not rules.is_hardened("HZ2")


def _records_from_stream(rules: Rules, s: Member) -> bool:
    """Whether the archive records the leader's log stream."""
    return (
        _awaits_recording(rules, s)
        or (is_closed(s, _FOLLOWER) and s.log_subscription)
        or is_at(s, ElectionState.FOLLOWER_CATCHUP)
        or (is_at(s, ElectionState.FOLLOWER_LOG_INIT) and s.log_subscription)
        or is_at(s, ElectionState.FOLLOWER_READY)
    )


def record_log(rules: Rules, _i: int, s: Member, x: Input) -> Outcome | None:
    """Note that the archive has recorded up to ``x.position``.

    Notes
    -----
    The archive records the entries of this leader, the log stream of the member's leader, or a copy
    from the leader's archive. It has its own threads, so it may record between any two steps. The
    log stream of a leader may be longer than its recording in two situations: outside elections,
    and after an election that failed when the first entry of the term was written. A recording that
    is extended may grow before the member has seen that it runs (hazard HZ2). Source:
    ``ArchiveConductor``, ``RecordingSession``, ``ConsensusModuleAgent.tryJoinLogAsFollower``.
    """
    # Decide.
    bound = NULL_VALUE
    if is_at(s, _REPLICATES) and s.log_replication:
        bound = s.replication_stop_position
    elif is_publisher(s):
        bound = s.publication_position
    elif _records_from_stream(rules, s):
        bound = x.position

    # Refuse.
    if x.position <= s.recorded_position or x.position > bound:
        return None

    # Effects.
    return Outcome(replace(s, recorded_position=x.position))


def consume_bound(s: Member) -> int:
    """The position up to which the member may process its log now, or -1 if it may not.

    Notes
    -----
    For a follower this is its recorded position or its notified commit position, whichever is
    lower. For a replay it is the position at which the replay stops. A closed follower that has
    reached the termination position processes no more entries: it terminates. Source:
    ``ConsensusModuleAgent.consensusWork``, ``catchupPoll``, ``replayLogPoll``.
    """
    if is_closed(s, _FOLLOWER) and s.log_subscription:
        if _is_terminating(s):
            return NULL_VALUE
        return min(s.module_notified_commit_position, s.recorded_position)
    if is_at(s, ElectionState.FOLLOWER_CATCHUP):
        return min(s.notified_commit_position, s.recorded_position)
    if is_at(s, ElectionState.FOLLOWER_REPLAY) or is_at(s, ElectionState.LEADER_REPLAY):
        return s.replay_stop_position
    return NULL_VALUE


def is_bound_within_entry(s: Member, x: Input) -> bool:
    """Whether the last entry that a step processes begins before `consume_bound`.

    Notes
    -----
    Aeron processes an entry whole if it begins before the bound. A bound lies within an entry if it
    is a position of another log: hazard HZ1 can commit such a position. Source:
    ``Image.boundedControlledPoll``.
    """
    begins = s.commit_position <= x.entry_position < consume_bound(s)
    return begins and x.position <= s.recorded_position


def consume_log(_rules: Rules, _i: int, s: Member, x: Input) -> Outcome | None:
    """Process the log up to ``x.position``, without a NewLeadershipTermEvent on the way, and let
    the services process it too.

    Notes
    -----
    Source: ``LogAdapter.poll``, ``ConsensusModuleAgent.consensusWork``.
    """
    # Refuse.
    if x.position <= s.commit_position:
        return None
    if x.position > consume_bound(s) and not is_bound_within_entry(s, x):
        return None

    # Effects.
    return Outcome(replace(s, commit_position=x.position), (AdvanceCommit(x.position),))


def on_replay_new_leadership_term_event(
    rules: Rules, _i: int, s: Member, x: Input
) -> Outcome | None:
    """Process the first entry of a term, which ends at ``x.position``.

    Notes
    -----
    A follower that replays or catches up takes the entry's term for the last term of its log, even
    if the log has later terms: hazard HZ6. Source:
    ``ConsensusModuleAgent.onReplayNewLeadershipTermEvent``,
    ``Election.onReplayNewLeadershipTermEvent``.
    """
    # Refuse.
    if x.term_base_log_position != s.commit_position or x.position <= s.commit_position:
        return None
    if x.position > consume_bound(s) and not is_bound_within_entry(s, x):
        return None

    # Decide.
    after = replace(s, commit_position=x.position, module_leadership_term_id=x.leadership_term_id)
    if is_at(s, ElectionState.FOLLOWER_REPLAY) or is_at(s, ElectionState.FOLLOWER_CATCHUP):
        log_term = x.leadership_term_id
        if rules.is_hardened("HZ6"):
            log_term = max(log_term, s.log_leadership_term_id)
        after = replace(
            after,
            recording_log=open_term(s, x.leadership_term_id, x.term_base_log_position),
            log_leadership_term_id=log_term,
        )

    # Effects.
    return Outcome(after, (*record_terms(s, after), AdvanceCommit(x.position)))


def update_leader_position(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Compute the quorum position, publish it, and advance the commit position.

    Notes
    -----
    Source: ``ConsensusModuleAgent.updateLeaderPosition``.
    """
    # Refuse.
    if not is_closed(s, _LEADER):
        return None

    # Effects.
    term, recorded = s.module_leadership_term_id, s.recorded_position
    reached = leader_quorum_position(rules, i, s, term, recorded, x.active)
    return Outcome(*commit_leader_position(rules, i, s, x, recorded, reached))


def update_follower_position(_rules: Rules, i: int, s: Member, _x: Input) -> Outcome | None:
    """Report the recorded position to the leader.

    Notes
    -----
    Source: ``ConsensusModuleAgent.updateFollowerPosition``.
    """
    # Refuse.
    if not is_closed(s, _FOLLOWER) or s.leader_member_id == NULL_VALUE:
        return None

    # Effects.
    report = AppendPosition(s.module_leadership_term_id, s.recorded_position, i, 0)
    return Outcome(s, (Send(s.leader_member_id, report),))


def on_catchup_position(_rules: Rules, _i: int, s: Member, x: Input) -> Outcome | None:
    """Replay its own log to the follower that asks for it.

    Notes
    -----
    The leader checks role and term, not whether an election runs. Source:
    ``ConsensusModuleAgent.onCatchupPosition``.
    """
    m = received(x, CatchupPosition)
    j = m.follower_member_id

    # Refuse.
    if (
        s.module_state is not ModuleState.ACTIVE
        or s.role is not Role.LEADER
        or m.leadership_term_id > s.module_leadership_term_id
        or s.members[j].catchup_replay
    ):
        return Outcome(s)

    # Effects.
    serving = replace(s.members[j], catchup_replay=True)
    after = replace(s, members=with_record(s.members, j, serving))
    return Outcome(after, (StartCatchup(j, m.log_position),))


def on_stop_catchup(_rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Leave the catch-up replay and keep the live log: the leader says that this member has caught
    up.

    Notes
    -----
    Source: ``ConsensusModuleAgent.onStopCatchup``.
    """
    m = received(x, StopCatchup)

    # Refuse.
    if (
        s.module_state is not ModuleState.ACTIVE
        or m.follower_member_id != i
        or m.leadership_term_id != s.module_leadership_term_id
        or not s.catchup_destination
    ):
        return Outcome(s)

    # Effects.
    return Outcome(replace(s, catchup_destination=False), (RemoveCatchupDestination(),))


def take_snapshot(_rules: Rules, _i: int, s: Member, _x: Input) -> Outcome | None:
    """Take a snapshot at the commit position. A restart begins at the snapshot.

    Notes
    -----
    The request for a snapshot is in the log, so all members take it at the same position. A member
    cannot take one if its recording log has no entry of its term. Source:
    ``ConsensusModuleAgent.takeSnapshot``, ``RecordingLog.getTermEntry``.
    """
    # Refuse.
    term, position = s.module_leadership_term_id, s.commit_position
    entry = find_term_entry(s.recording_log, term)
    if (
        s.module_state is not ModuleState.ACTIVE
        or s.election_state not in _MAY_SNAPSHOT
        or s.commit_position <= s.snapshot_log_position
        or entry == NO_TERM_ENTRY
    ):
        return None

    # Effects.
    base = entry.term_base_log_position
    after = replace(
        s,
        snapshot_leadership_term_id=term,
        snapshot_term_base_log_position=base,
        snapshot_log_position=position,
    )
    return Outcome(after, (WriteSnapshot(term, base, position),))


def initiate_termination(rules: Rules, i: int, s: Member, _x: Input) -> Outcome | None:
    """Announce the position at which all members end, on an operator's request.

    Notes
    -----
    A leader does this once in its term. It may still have a position of an older term, in which it
    was a follower and did not terminate; that does not matter. Source:
    ``ConsensusModuleAgent.checkClusterControlToggle``.
    """
    # Refuse.
    if not is_closed(s, Role.LEADER) or _has_initiated_termination(s):
        return None

    # Effects.
    term, position = s.module_leadership_term_id, s.publication_position
    after = replace(s, termination_position=position, termination_leadership_term_id=term)
    return Outcome(after, broadcast(i, rules.member_count, TerminationPosition(term, position)))


def on_termination_position(rules: Rules, _i: int, s: Member, x: Input) -> Outcome | None:
    """Note the position at which to end. An election does not prevent this.

    Notes
    -----
    A position that is noted in an election, or that outlives one, ends the member in its next term.
    The member closes that term at its own position, while the leader continues: hazard HZ9. Source:
    ``ConsensusModuleAgent.onTerminationPosition``.
    """
    m = received(x, TerminationPosition)

    # Refuse.
    if (
        s.module_state is not ModuleState.ACTIVE
        or s.role is not Role.FOLLOWER
        or m.leadership_term_id != s.module_leadership_term_id
        or (rules.is_hardened("HZ9") and in_election(s))
    ):
        return Outcome(s)

    # Effects.
    after = replace(
        s,
        termination_position=m.log_position,
        termination_leadership_term_id=m.leadership_term_id,
    )
    return Outcome(after)


def on_termination_ack(_rules: Rules, _i: int, s: Member, x: Input) -> Outcome | None:
    """Receive a follower's acknowledgement that it has ended. The state does not change.

    Notes
    -----
    Left out: which members have acknowledged. This is sound, because a leader that waits for
    acknowledgements also ends at a deadline. Source: ``ConsensusModuleAgent.onTerminationAck``.
    """
    received(x, TerminationAck)
    return Outcome(s)


def terminate(rules: Rules, i: int, s: Member, _x: Input) -> Outcome | None:
    """End the process of a follower that has processed the log up to the termination position, or
    of a leader that has announced that position in its term.

    Notes
    -----
    A leader closes its term at the termination position, a follower at its own commit position. A
    leader waits for acknowledgements or a deadline, not for its commit position. A follower
    acknowledges the end only if it is still in the term of the request. Only ``Restart`` can
    follow. Source: ``ConsensusModuleAgent.doTermination``, ``closeAndTerminate``,
    ``ClusterTermination``.
    """
    # Refuse.
    follows = s.role is Role.FOLLOWER
    if (
        s.module_state is not ModuleState.ACTIVE
        or in_election(s)
        or not (_has_initiated_termination(s) if s.role is Role.LEADER else _is_terminating(s))
    ):
        return None

    # Effects.
    term = s.module_leadership_term_id
    end = s.commit_position if follows else s.termination_position
    closed = replace(s, recording_log=commit_log_position(s.recording_log, term, end))
    acknowledgement: Effects = ()
    if follows and s.termination_leadership_term_id == term:
        acknowledgement = (Send(s.leader_member_id, TerminationAck(term, end, i)),)
    effects = (*record_terms(s, closed), *acknowledgement, EndProcess())
    return Outcome(disk(rules, closed), effects)

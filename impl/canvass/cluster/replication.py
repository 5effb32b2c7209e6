"""What a member does with its log, in elections and outside: append, record, consume, commit, catch
up, snapshot, terminate.

The bytes of the log are not in the member's state, only how far they go; whose bytes they are is
the business of the modules that move them.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from canvass.cluster.effects import (
    AdvanceCommit,
    AppendToLog,
    Effects,
    EndProcess,
    RemoveCatchupDestination,
    Send,
    StartCatchup,
    WriteSnapshot,
)
from canvass.cluster.leader_position import commit_leader_position, leader_quorum_position
from canvass.cluster.member import ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import (
    NULL_VALUE,
    AppendPosition,
    CatchupPosition,
    StopCatchup,
    TerminationAck,
    TerminationPosition,
)
from canvass.cluster.outcome import Outcome, broadcast, received, record_terms
from canvass.cluster.predicates import (
    has_recording,
    in_election,
    is_at,
    is_closed,
    is_publisher,
)
from canvass.cluster.recording_log import NO_TERM_ENTRY, commit_log_position, find_term_entry
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import (
    disk,
    open_term,
    with_record,
)

# To look an enum's member up by its class takes longer than what is asked of it, in every step.
_LEADER: Final = Role.LEADER
_FOLLOWER: Final = Role.FOLLOWER
_REPLICATES: Final = ElectionState.FOLLOWER_LOG_REPLICATION

_AWAITS: Final = frozenset({ElectionState.FOLLOWER_CATCHUP_AWAIT, ElectionState.FOLLOWER_LOG_AWAIT})
"""The states in which a follower waits for the stream that it is to record."""

_MAY_SNAPSHOT: Final = frozenset(
    {
        ElectionState.CLOSED,
        ElectionState.FOLLOWER_CATCHUP,
        ElectionState.FOLLOWER_REPLAY,
        ElectionState.LEADER_REPLAY,
    }
)
"""The states in which the log is processed, and with it the actions that ask for a snapshot."""


def _has_initiated_termination(s: Member) -> bool:
    """Whether this leader has named, in its term, the position at which all shall terminate."""
    in_term = s.termination_leadership_term_id == s.module_leadership_term_id
    return s.termination_position != NULL_VALUE and in_term


def _is_terminating(s: Member) -> bool:
    """Whether everything up to the termination position has been processed."""
    asked = s.termination_position != NULL_VALUE
    return asked and s.commit_position >= s.termination_position


def append_entry(_rules: Rules, _i: int, s: Member, x: Input) -> Outcome | None:
    """Write entries to the own log stream, up to ``x.position``.

    Notes
    -----
    Only a closed leader does, but for the first entry of a term (``LeaderReady``), and not in a
    term in which it has named the position at which all shall terminate. Source: ``LogPublisher``,
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
    """Whether a recording may have been asked for that the archive does not show yet.

    Hardened against HZ2, the term is opened before that.
    """
    awaits = s.election_state in _AWAITS and s.module_state is ModuleState.ACTIVE
    return awaits and has_recording(s) and not rules.is_hardened("HZ2")


def _records_from_stream(rules: Rules, s: Member) -> bool:
    """Whether the archive records what the leader's log stream brings."""
    return (
        _awaits_recording(rules, s)
        or (is_closed(s, _FOLLOWER) and s.log_subscription)
        or is_at(s, ElectionState.FOLLOWER_CATCHUP)
        or (is_at(s, ElectionState.FOLLOWER_LOG_INIT) and s.log_subscription)
        or is_at(s, ElectionState.FOLLOWER_READY)
    )


def record_log(rules: Rules, _i: int, s: Member, x: Input) -> Outcome | None:
    """Take note that the archive has recorded up to ``x.position``.

    Notes
    -----
    What is recorded is what this leader wrote, what its leader's stream brought, or what is copied
    from the leader's archive. The archive has threads of its own, so this may happen between any
    two steps of the member. A leader's stream has more than is recorded outside elections, and
    after one that failed when its first entry was written. A recording that is extended may grow
    before the member has seen that it runs (hazard HZ2). Source: ``ArchiveConductor``,
    ``RecordingSession``, ``ConsensusModuleAgent.tryJoinLogAsFollower``.
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
    """How far the member may process its log now, or -1 if it may not.

    Notes
    -----
    A follower stays within what it has recorded and what the leader has said is committed; a
    replay within its bounds. A closed follower that has reached the termination position processes
    no more: it terminates. Source: ``ConsensusModuleAgent.consensusWork``, ``catchupPoll``,
    ``replayLogPoll``.
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


def consume_log(_rules: Rules, _i: int, s: Member, x: Input) -> Outcome | None:
    """Process the log up to ``x.position``, which holds no NewLeadershipTermEvent, and let the
    services do so too.

    Notes
    -----
    Source: ``LogAdapter.poll``, ``ConsensusModuleAgent.consensusWork``.
    """
    # Refuse.
    if x.position <= s.commit_position or x.position > consume_bound(s):
        return None

    # Effects.
    return Outcome(replace(s, commit_position=x.position), (AdvanceCommit(x.position),))


def on_replay_new_leadership_term_event(
    rules: Rules, _i: int, s: Member, x: Input
) -> Outcome | None:
    """Process the first entry of a term, which ends at ``x.position``.

    Notes
    -----
    A follower that replays or catches up takes the entry's term for the term that its log ends
    with, even when the log goes on: hazard HZ6. Source:
    ``ConsensusModuleAgent.onReplayNewLeadershipTermEvent``,
    ``Election.onReplayNewLeadershipTermEvent``.
    """
    # Refuse.
    if (
        x.term_base_log_position != s.commit_position
        or x.position <= s.commit_position
        or x.position > consume_bound(s)
    ):
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
    """Compute what a quorum has recorded, tell the followers, and commit.

    Notes
    -----
    The leader ranks the position that it had itself at its last duty cycle. Source:
    ``ConsensusModuleAgent.updateLeaderPosition``.
    """
    # Refuse.
    if not is_closed(s, _LEADER):
        return None

    # Effects.
    term, recorded = s.module_leadership_term_id, s.recorded_position
    reached = leader_quorum_position(rules, i, s, term, recorded, x.active)
    return Outcome(*commit_leader_position(rules, i, s, x, recorded, reached))


def update_follower_position(_rules: Rules, i: int, s: Member, _x: Input) -> Outcome | None:
    """Report what is recorded to the leader.

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
    """Replay the own log to a follower that asks.

    Notes
    -----
    Elections are not consulted, only role and term. Source:
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
    """Listen to the live log alone: the leader says that this member has caught up.

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
    """Snapshot what has been processed. A restart begins there.

    Notes
    -----
    The action that asks for it is in the log, so that every member snapshots at the same position.
    A member whose recording log does not know the term that it is in fails to take one. Source:
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
    """Name the position at which all members shall end, on an operator's request.

    Notes
    -----
    Once in its term. A position that the member has from an older term, in which it followed and
    did not terminate, does not keep it from that. Source:
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
    """Note where to end. Elections are not consulted.

    Notes
    -----
    What is noted in an election, or survives it, ends the member in its next term, which it closes
    at its own position while the leader goes on: hazard HZ9. Source:
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
    """Take note that a follower has ended: the leader waits for these, but not beyond a deadline.

    Notes
    -----
    Left out: which members have acknowledged; sound because ``Terminate`` may follow the deadline
    as well. Source: ``ConsensusModuleAgent.onTerminationAck``.
    """
    received(x, TerminationAck)
    return Outcome(s)


def terminate(rules: Rules, i: int, s: Member, _x: Input) -> Outcome | None:
    """End the process: a follower that has processed everything up to the termination position, a
    leader that has asked for it itself in its term.

    Notes
    -----
    The current term is closed: by a leader at that position, by a follower at its own. A leader
    waits for acknowledgements or a deadline, not for its commit position. A follower acknowledges,
    with where it has closed the term, if the term is still the one in which it was asked. Only
    ``Restart`` can follow. Source: ``ConsensusModuleAgent.doTermination``, ``closeAndTerminate``,
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

"""The election of a member that has found its leader: the steps of the follower's states.

A follower copies the older terms that it lacks, one at a time. It processes its own log as far as
the leader says that it is committed, catches up with the current term, and joins the live log.
"""

from __future__ import annotations

from msgspec.structs import replace

from canvass.cluster.effects import (
    AddCatchupDestination,
    Effects,
    JoinLog,
    OpenLogSubscription,
    Outcome,
    Send,
    StartRecording,
    StartReplay,
    StartReplication,
    StopReplay,
    record_terms,
)
from canvass.cluster.member import ElectionState, Input, Member
from canvass.cluster.messages import CATCHUP_FLAG, NULL_VALUE, AppendPosition, CatchupPosition
from canvass.cluster.predicates import has_recording, is_at
from canvass.cluster.recording_log import ensure_coherent
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import election_complete, enter_canvass, open_term


def _append_position(i: int, s: Member, term: int, position: int, flags: int = 0) -> Effects:
    return (Send(s.leader_member_id, AppendPosition(term, position, i, flags)),)


def _reported_term(rules: Rules, s: Member, term: int) -> int:
    """The term of a report that a member sends before it joins the log: ``term``.

    Hardened against HZ7, it is the last term of its own log, which tells the leader whether the
    member has opened the leader's term.
    """
    return s.log_leadership_term_id if rules.is_hardened("HZ7") else term


def _copy_ended(s: Member, x: Input) -> bool:
    """Whether the archive says that the copy has ended.

    By default the copy has ended if all is recorded. An input with a position says the opposite:
    all is recorded and the copy has not ended, or it has ended short.
    """
    whole = s.recorded_position == s.replication_stop_position
    return whole == (x.position == NULL_VALUE)


def _may_end_at(s: Member, position: int) -> bool:
    """Whether an input may give ``position`` as the end of the recording.

    An input gives it if the copy ended short, if the copy has not ended although all is recorded,
    or if the member has an empty recording.
    """
    if position == NULL_VALUE:
        return True
    if position != s.recorded_position:
        return False
    if s.log_replication:
        return True
    return s.append_position >= s.replication_stop_position and not has_recording(s)


def _finish_replication(rules: Rules, i: int, s: Member, x: Input) -> Outcome:
    """Write the copied term into the recording log, and canvass for the next term.

    A member without a recording keeps an empty term in memory only. 1.49 forgets the notified
    commit position after a copy. Hardened against HZ10, the term ends where its copy ended.
    """
    term, log = s.replication_leadership_term_id, s.recording_log
    end = s.replication_stop_position
    if rules.is_hardened("HZ10") and s.log_replication:
        end = s.recorded_position
    if has_recording(s) or x.position != NULL_VALUE:
        log = ensure_coherent(
            log,
            s.snapshot_leadership_term_id,
            s.snapshot_term_base_log_position,
            term,
            s.replication_term_base_log_position,
            end,
        )
    forgets = rules.is_149 and s.log_replication
    finished = replace(
        s,
        append_position=s.recorded_position,
        notified_commit_position=0 if forgets else s.notified_commit_position,
        recording_log=log,
        log_leadership_term_id=term,
    )
    return enter_canvass(i, finished).also(*record_terms(s, finished))


def _start_replication(rules: Rules, s: Member) -> Outcome:
    term, base = s.replication_leadership_term_id, s.replication_term_base_log_position
    opened, log_term = s.recording_log, s.log_leadership_term_id
    if rules.is_hardened("HZ2") and base != NULL_VALUE:
        opened = open_term(s, term, base)
        log_term = s.log_leadership_term_id if opened == s.recording_log else term
    after = replace(s, log_replication=True, recording_log=opened, log_leadership_term_id=log_term)
    start = StartReplication(s.leader_member_id, s.recorded_position, s.replication_stop_position)
    return Outcome(after, (*record_terms(s, after), start))


def follower_log_replication(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Copy the rest of one term from the leader's archive, wait until the leader's commit position
    covers it, write the term into the recording log, and canvass again.

    Notes
    -----
    ``RecordLog`` takes up the copied bytes. They are reported in the *new* leader's term, before
    their own term is in the recording log: hazards HZ2 and HZ7. If more is recorded than was
    reported, ``x.interval`` is false only if the leader's publication refused the report.

    ``x.position``, the end of the recording, has three meanings. If all is recorded, the archive
    has not signalled yet that the copy has ended. If less is recorded, the copy has ended short,
    and the member takes it for whole: hazard HZ10. If there is nothing to copy, the member has a
    recording, which may be empty. An empty term is written without waiting, and only by a member
    that has a recording.

    Hardened against HZ2, the term is opened before its first byte is copied. Hardened against HZ5,
    the member does not wait for a commit, because the commit may wait for this member. Source:
    ``Election.followerLogReplication``.
    """
    # Refuse.
    if not is_at(s, ElectionState.FOLLOWER_LOG_REPLICATION) or not _may_end_at(s, x.position):
        return None

    # Decide.
    if not s.log_replication:
        if s.append_position < s.replication_stop_position:
            return _start_replication(rules, s)
        return _finish_replication(rules, i, s, x)
    reported = replace(s, append_position=s.recorded_position) if x.interval else s
    done = _copy_ended(s, x) and (
        rules.is_hardened("HZ5") or reported.notified_commit_position >= reported.append_position
    )

    # Effects.
    report: Effects = ()
    if x.interval:
        term = _reported_term(rules, s, s.leadership_term_id)
        report = _append_position(i, s, term, s.recorded_position)
    outcome = _finish_replication(rules, i, reported, x) if done else Outcome(reported)
    return outcome.also(*report)


def _join_log(s: Member) -> Outcome:
    """Leave the replay: catch up if the leader is ahead, else join the live log."""
    behind = s.catchup_join_position != NULL_VALUE
    after = replace(
        s,
        election_state=(
            ElectionState.FOLLOWER_CATCHUP_INIT if behind else ElectionState.FOLLOWER_LOG_INIT
        ),
        replay_stop_position=NULL_VALUE,
    )
    return Outcome(after, (StopReplay(),) if s.replay_stop_position != NULL_VALUE else ())


def _begin_replay(rules: Rules, i: int, s: Member, x: Input) -> Outcome:
    """Replay its own log up to the notified commit position.

    Wait while that position is 0. Canvass again if the log is already processed up to it.
    """
    if s.commit_position >= s.append_position:
        return _join_log(s)
    if not rules.is_149 and s.notified_commit_position == 0:
        if not x.interval:
            return Outcome(s)
        term = _reported_term(rules, s, s.leadership_term_id)
        return Outcome(s, _append_position(i, s, term, s.append_position))
    if not rules.is_149 and s.commit_position >= s.notified_commit_position:
        return enter_canvass(i, s)
    target = s.append_position
    if not rules.is_149:
        target = min(target, s.notified_commit_position)
    return Outcome(
        replace(s, replay_stop_position=target), (StartReplay(s.commit_position, target),)
    )


def follower_replay(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Replay its own log up to the notified commit position, then join the leader's log.

    Notes
    -----
    While the commit position is 0, the member only reports its position: it has no deadline, and it
    answers no ballot (hazard L-B). If the replay ends before the end of the log, the member
    canvasses again. 1.49 replays its whole log, committed or not. Source:
    ``Election.followerReplay``.
    """
    # Refuse.
    if not is_at(s, ElectionState.FOLLOWER_REPLAY):
        return None

    # Decide.
    if s.replay_stop_position == NULL_VALUE:
        return _begin_replay(rules, i, s, x)
    if s.commit_position < s.replay_stop_position:
        return Outcome(s)
    return _join_log(s) if s.commit_position == s.append_position else enter_canvass(i, s)


def follower_catchup_init(_rules: Rules, i: int, s: Member, _x: Input) -> Outcome | None:
    """Subscribe to the log with a destination for catch-up and ask the leader to replay its log.

    Notes
    -----
    Source: ``Election.followerCatchupInit``, ``Election.sendCatchupPosition``.
    """
    # Refuse.
    if not is_at(s, ElectionState.FOLLOWER_CATCHUP_INIT):
        return None

    # Effects.
    after = replace(
        s,
        election_state=ElectionState.FOLLOWER_CATCHUP_AWAIT,
        log_subscription=True,
        catchup_destination=True,
    )
    request = CatchupPosition(s.leadership_term_id, s.commit_position, i)
    return Outcome(
        after,
        (
            OpenLogSubscription(s.leader_member_id, live=False),
            AddCatchupDestination(),
            Send(s.leader_member_id, request),
        ),
    )


def follower_catchup_await(rules: Rules, _i: int, s: Member, _x: Input) -> Outcome | None:
    """Record and join the leader's catch-up replay, which has connected.

    Notes
    -----
    The recording log does not change: hazard HZ2. Hardened against it, the term is opened before
    its first byte is recorded. Aeron starts the recording some cycles earlier (``RecordLog``).
    Source: ``Election.followerCatchupAwait``.
    """
    # Refuse.
    if not is_at(s, ElectionState.FOLLOWER_CATCHUP_AWAIT):
        return None

    # Effects.
    after = replace(s, election_state=ElectionState.FOLLOWER_CATCHUP)
    if rules.is_hardened("HZ2"):
        after = replace(
            after,
            recording_log=open_term(s, s.leadership_term_id, s.commit_position),
            log_leadership_term_id=s.leadership_term_id,
        )
    joined: Effects = (StartRecording(s.recorded_position), JoinLog(s.commit_position))
    return Outcome(after, record_terms(s, after) + joined)


def follower_catchup(rules: Rules, i: int, s: Member, x: Input) -> Outcome | None:
    """Report how much of the catch-up is recorded. End it once the leader has stopped the replay
    and the log is processed up to the join position and the notified commit position.

    Notes
    -----
    The reports have the term of the *module*, which is older than that of the election until the
    first entry of the new term has been processed. Hardened against HZ7, they have the last term of
    the log. Source: ``Election.followerCatchup``, ``ConsensusModuleAgent.catchupPoll``.
    """
    # Refuse.
    if not is_at(s, ElectionState.FOLLOWER_CATCHUP):
        return None

    # Decide.
    done = (
        s.commit_position >= s.catchup_join_position
        and s.commit_position >= s.notified_commit_position
        and not s.catchup_destination
    )
    after = s
    if done:
        after = replace(
            s, election_state=ElectionState.FOLLOWER_LOG_INIT, append_position=s.commit_position
        )

    # Effects.
    if not x.interval:
        return Outcome(after)
    term = _reported_term(rules, s, s.module_leadership_term_id)
    return Outcome(after, _append_position(i, s, term, s.recorded_position, CATCHUP_FLAG))


def follower_log_init(_rules: Rules, _i: int, s: Member, _x: Input) -> Outcome | None:
    """Subscribe to the live log. After a catch-up there is a subscription already.

    Notes
    -----
    Source: ``Election.followerLogInit``.
    """
    # Refuse.
    if not is_at(s, ElectionState.FOLLOWER_LOG_INIT):
        return None

    # Effects.
    if s.log_subscription:
        return Outcome(replace(s, election_state=ElectionState.FOLLOWER_READY))
    after = replace(s, election_state=ElectionState.FOLLOWER_LOG_AWAIT, log_subscription=True)
    return Outcome(after, (OpenLogSubscription(s.leader_member_id, live=True),))


def follower_log_await(rules: Rules, _i: int, s: Member, _x: Input) -> Outcome | None:
    """Record and join the live log, which connects at the member's position, and open the term.

    Notes
    -----
    Aeron starts to record some cycles before it opens the term (``RecordLog``). Here the term is
    opened first, as in `leader_init`. Source: ``Election.followerLogAwait``.
    """
    # Refuse.
    if not is_at(s, ElectionState.FOLLOWER_LOG_AWAIT):
        return None

    # Effects.
    after = replace(
        s,
        election_state=ElectionState.FOLLOWER_READY,
        append_position=s.commit_position if rules.is_149 else s.append_position,
        recording_log=open_term(s, s.leadership_term_id, s.commit_position),
        log_leadership_term_id=s.leadership_term_id,
    )
    joined: Effects = (StartRecording(s.recorded_position), JoinLog(s.commit_position))
    return Outcome(after, record_terms(s, after) + joined)


def follower_ready(rules: Rules, i: int, s: Member, _x: Input) -> Outcome | None:
    """Report its own position to the leader, and close the election.

    Notes
    -----
    Source: ``Election.followerReady``.
    """
    # Refuse.
    if not is_at(s, ElectionState.FOLLOWER_READY):
        return None

    # Effects.
    return election_complete(rules, s).after(
        *_append_position(i, s, s.leadership_term_id, s.commit_position)
    )

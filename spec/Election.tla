------------------------------ MODULE Election ------------------------------
\* The election of one member: one operator for each election state, which is one duty cycle in that
\* state, and one for each consensus message. The states are in the order of Aeron's codes; the
\* messages follow. Replication.tla has the steps of the log, and those outside elections.
EXTENDS MemberState

-----------------------------------------------------------------------------
\* ElectionInit: clean up after an error, then enter CANVASS. A single member needs no ballot and
\* leads its next term at once.
\*
\* Recording has been stopped, so the append position becomes the end of the recording, even if the
\* member has reported another position. The candidate term is read back from disk. A term that was
\* only learnt from a NewLeadershipTerm, above the member's own term, may be forgotten; a term in
\* which the member has voted cannot.
\* Source: Election.init, ConsensusModuleAgent.prepareForNewLeadership.
PrepareForNewLeadership(s) ==
    [EndReplication(s) EXCEPT
        !.role = "FOLLOWER",
        !.publicationPosition = NULL_POSITION,
        !.logSubscription = FALSE,
        !.catchupDestination = FALSE,
        !.appendPosition = s.recordedPosition,
        !.notifiedCommitPosition = 0,
        !.catchupJoinPosition = NULL_POSITION,
        !.replayStopPosition = NULL_POSITION,
        !.candidateTermId = Max(s.persistedCandidateTermId, s.leadershipTermId)]

BeginElection(i, s) ==
    LET p == PrepareForNewLeadership(s)
        t == p.candidateTermId + 1
    IN  IF MemberCount = 1
        THEN EnterLeaderLogReplication(i, [p EXCEPT !.candidateTermId = t,
                                                    !.persistedCandidateTermId = t])
        ELSE EnterCanvass(i, p)

CleanUp(s) == [s EXCEPT !.members = StopCatchupReplays(s.members)]
BeginAgain(i, s) == BeginElection(i, s)

ElectionInit(i, s, x) ==
    IF ~At(s, "INIT") THEN {} ELSE Outcome(BeginAgain(i, CleanUp(s)), <<>>)

\* Canvass: publish the member's position each interval. The member runs for election if all other
\* members would vote for it or, after the deadline, if a quorum would. If a leader is appointed, no
\* other member runs for election by itself. No member reads the leadership term of the message.
\* Source: Election.canvass.
CanvassedTerm(s) == s.leadershipTermId

PublishCanvassPosition(i, s) ==
    Broadcast(i, CanvassPosition(s.logLeadershipTermId, s.appendPosition, CanvassedTerm(s), i))

StandsAtDeadline(i, s, x) == IsQuorumCandidate(i, s)

Canvass(i, s, x) ==
    LET sends     == IF x.interval THEN PublishCanvassPosition(i, s) ELSE <<>>
        mayStand  == AppointedLeaderId \in {NULL_VALUE, i}
        nominates == /\ mayStand
                     /\ IsUnanimousCandidate(i, s) \/ (x.timeout /\ StandsAtDeadline(i, s, x))
    IN  IF ~At(s, "CANVASS") THEN {}
        ELSE Outcome(IF nominates THEN [s EXCEPT !.electionState = "NOMINATE"] ELSE s, sends)

\* Nominate: wait for the random nomination deadline, then open a ballot in the next candidate term
\* and vote for itself. The term is on disk before the member sends it. The member does not check
\* again whether it is a good candidate. While it waits, it continues to canvass, for members that
\* start late.
\* Source: Election.nominate, ClusterMember.becomeCandidate.
BecomeCandidate(i, s, term) ==
    [s EXCEPT
        !.electionState = "CANDIDATE_BALLOT",
        !.role = "CANDIDATE",
        !.candidateTermId = term,
        !.persistedCandidateTermId = term,
        !.members = [j \in Members |->
            [s.members[j] EXCEPT !.candidateTermId = IF j = i THEN term ELSE NULL_VALUE,
                                 !.vote = IF j = i THEN 1 ELSE NULL_VALUE,
                                 !.ballotSent = (j = i)]]]

Nominate(i, s, x) ==
    IF ~At(s, "NOMINATE") THEN {}
    ELSE IF x.timeout
    THEN Outcome(BecomeCandidate(i, s, Max(s.persistedCandidateTermId, s.candidateTermId + 1)), <<>>)
    ELSE Outcome(s, IF x.interval THEN PublishCanvassPosition(i, s) ELSE <<>>)

\* CandidateBallot: request a vote from each member once, and count the votes. A candidate with all
\* votes wins at once. One with a quorum wins only after the ballot has timed out, and only without
\* a refused vote: one refusal is a veto, whatever the number of granted votes.
\* Source: Election.candidateBallot.
CandidateBallot(i, s, x) ==
    LET unsent == {j \in x.accepted : ~s.members[j].ballotSent}
        ballot == RequestVote(s.logLeadershipTermId, s.appendPosition, s.candidateTermId, i)
    IN  IF ~At(s, "CANDIDATE_BALLOT") THEN {}
        ELSE IF IsUnanimousLeader(s) \/ (x.timeout /\ IsQuorumLeader(s))
        THEN Outcome(EnterLeaderLogReplication(i, s), <<>>)
        ELSE IF x.timeout THEN Outcome(EnterCanvass(i, s), <<>>)
        ELSE Outcome([s EXCEPT !.members = [j \in Members |->
                        [s.members[j] EXCEPT !.ballotSent = @ \/ j \in unsent]]],
                     SendToEach(i, unsent, ballot))

\* FollowerBallot: await the result of the ballot in which the member has voted; after the deadline,
\* canvass again.
\* Source: Election.followerBallot.
FollowerBallot(i, s, x) ==
    IF ~At(s, "FOLLOWER_BALLOT") THEN {}
    ELSE Outcome(IF x.timeout THEN EnterCanvass(i, s) ELSE s, <<>>)

\* What a leader publishes in its election: NewLeadershipTerm each interval, and CommitPosition when
\* the input says so. In Aeron a timer and the last published value decide about the latter;
\* receivers keep the greatest position, so the difference has no effect.
\* Source: Election.publishNewLeadershipTermOnInterval, publishCommitPositionOnInterval.
PublishedTerm(s) == s.leadershipTermId

PublishLeadership(i, s, x, announces, q) ==
    (IF announces
     THEN Broadcast(i, ElectionNewLeadershipTerm(i, s, s.logLeadershipTermId, q)) ELSE <<>>)
    \o (IF x.commitInterval THEN Broadcast(i, CommitPosition(PublishedTerm(s), q, i)) ELSE <<>>)

\* LeaderLogReplication: wait until a quorum has recorded the whole log of this leader. There is no
\* deadline (L-A), and the terms of the reports are ignored (HZ1). The leader updates its own record
\* first, so it is active.
\* Source: Election.leaderLogReplication.
IsReplicated(s, active) ==
    BoundedQuorumPosition(s, s.leadershipTermId, s.appendPosition, active) >= s.appendPosition

NoteOwnLog(i, s) == NoteOwnPosition(i, s, s.appendPosition)

LeaderLogReplication(i, s, x) ==
    LET t      == NoteOwnLog(i, s)
        active == x.active \cup {i}
    IN  IF ~At(s, "LEADER_LOG_REPLICATION") THEN {}
        ELSE Outcome(IF IsReplicated(t, active) THEN [t EXCEPT !.electionState = "LEADER_REPLAY"] ELSE t,
                     PublishLeadership(i, t, x, x.interval, ElectionQuorumPosition(t, active)))

\* LeaderReplay: replay to itself its log beyond the commit position; ConsumeLog and
\* OnReplayNewLeadershipTermEvent are the progress. Every replayed entry counts as committed by its
\* position alone, though no member has opened the new term: hazard HZ5. The leader updates its own
\* record when the replay begins, and not while it replays. It always announces itself when it
\* leaves the state, because that resets the timer of the announcement.
\* Source: Election.leaderReplay, state.
RecordsAtReplay(s) == s.members

LeaderReplay(i, s, x) ==
    LET starts  == s.replayStopPosition = NULL_POSITION
        done    == s.commitPosition >= s.appendPosition
        t       == IF ~starts THEN s
                   ELSE [s EXCEPT !.members = UpdateMemberLogPosition(
                                      RecordsAtReplay(s), i, s.leadershipTermId, s.appendPosition)]
        active  == IF starts THEN x.active \cup {i} ELSE x.active
        q       == BoundedQuorumPosition(t, t.leadershipTermId, t.appendPosition, active)
    IN  IF ~At(s, "LEADER_REPLAY") THEN {}
        ELSE Outcome(IF done THEN [t EXCEPT !.electionState = "LEADER_INIT",
                                            !.replayStopPosition = NULL_POSITION]
                     ELSE IF starts THEN [t EXCEPT !.replayStopPosition = s.appendPosition]
                     ELSE t,
                     PublishLeadership(i, t, x, x.interval \/ done, q))

\* LeaderInit: start to record its own log stream, and open the term in the recording log. Here the
\* term becomes durable at its leader.
\* Source: Election.leaderInit.
LeaderInit(i, s, x) ==
    IF ~At(s, "LEADER_INIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "LEADER_READY",
                           !.moduleLeadershipTermId = s.leadershipTermId,
                           !.logLeadershipTermId = s.leadershipTermId,
                           !.recordingLog = OpenTerm(s, s.leadershipTermId, s.commitPosition)], <<>>)

\* The end of an election: the module takes over its results. The commit position becomes the log
\* position of the election: for a leader, the end of its own log.
\* Source: ConsensusModuleAgent.electionComplete.
NotifiedAtClose(s, position) == Max(s.moduleNotifiedCommitPosition, position)

ElectionComplete(s) ==
    LET position == IF s.role = "LEADER" THEN Max(s.commitPosition, s.appendPosition)
                    ELSE s.commitPosition
    IN
    [s EXCEPT
        !.electionState = "CLOSED",
        !.moduleLeadershipTermId = s.leadershipTermId,
        !.commitPosition = position,
        !.moduleNotifiedCommitPosition = NotifiedAtClose(s, position),
        !.members = IF s.role = "LEADER"
                    THEN [j \in Members |-> [s.members[j] EXCEPT !.candidateTermId = NULL_VALUE,
                                                                 !.vote = NULL_VALUE,
                                                                 !.ballotSent = FALSE]]
                    ELSE s.members,
        !.logLeadershipTermId = NULL_VALUE,
        !.leadershipTermId = NULL_VALUE,
        !.candidateTermId = NULL_VALUE,
        !.appendPosition = NULL_POSITION,
        !.notifiedCommitPosition = NULL_POSITION,
        !.catchupJoinPosition = NULL_POSITION,
        !.gracefulClosedLeaderId = NULL_VALUE]

\* LeaderReady: wait until a quorum has reached the leader's position in the new term. Then write
\* the NewLeadershipTermEvent, the first entry of the term, and close the election. x.position is
\* the end of that entry, or null if the log stream did not accept it. A member that still copies
\* older terms also reports in the new term and is counted: hazard HZ7.
\* Source: Election.leaderReady, ConsensusModuleAgent.updateLeaderPosition.
IsReady(i, s, x) ==
    HasQuorumAtPosition(s, s.leadershipTermId, s.appendPosition, x.active \cup {i})

LeaderReady(i, s, x) ==
    LET q      == LeaderQuorumPosition(i, s, s.leadershipTermId, s.appendPosition, x.active)
        u      == [NoteOwnPosition(i, s, s.appendPosition) EXCEPT !.commitPosition = CommitTo(s, x, q)]
        opens  == IsReady(i, u, x) /\ x.position > u.publicationPosition
        sends  == PublishCommitPosition(i, s, x, q)
                  \o (IF x.interval
                      THEN Broadcast(i, ElectionNewLeadershipTerm(i, u, u.logLeadershipTermId, q))
                      ELSE <<>>)
    IN  IF ~At(s, "LEADER_READY") \/ (x.position # NULL_POSITION /\ ~opens)
        THEN {}
        ELSE Outcome(IF opens THEN ElectionComplete([u EXCEPT !.publicationPosition = x.position]) ELSE u,
                     sends)

\* ReportedTerm: the term of the AppendPosition that a follower sends before it has joined the log.
ReportedTerm(s, term) == term

\* FollowerLogReplication: copy the rest of one term from the leader's archive (RecordLog is the
\* progress of the copy), wait until the leader's commit position covers it, write the term to the
\* recording log, and canvass again.
\*
\* The member reports the copied bytes in the NEW leader's term, before their own term is in the
\* recording log: hazards HZ2 and HZ7. An empty term is written without waiting. A member without a
\* recording does not write it at all: it has the term in memory only.
\*
\* A report is due as soon as the recording is longer than the last report. If x.interval is false
\* then, the leader's publication refused the report, and the member may leave with the position of
\* its last report.
\*
\* A copy ends when the member's archive signals its end. This is at the requested end, unless
\* x.position names the end of the recording. In that case the copy either ended there, short,
\* because the leader's archive was lost; or everything is recorded, but the archive has not yet
\* signalled the end, and the member continues to report. Aeron takes a short copy for a complete
\* one, and writes the requested end: hazard HZ10. For an empty term, x.position says that an empty
\* recording exists, which the rest of the state does not show.
\* Source: Election.followerLogReplication.
HasRecording(s) == s.recordingLog # <<>> \/ s.recordedPosition > s.snapshotLogPosition

CopyEnded(s, x) == (s.recordedPosition = s.replicationStopPosition) = (x.position = NULL_POSITION)

MayEndAt(s, position) ==
    \/ position = NULL_POSITION
    \/ /\ position = s.recordedPosition
       /\ s.logReplication \/ (s.appendPosition >= s.replicationStopPosition /\ ~HasRecording(s))

CopyEnd(s) == s.replicationStopPosition
NotifiedAfterCopy(s) == s.notifiedCommitPosition

FinishReplication(i, s, x) ==
    LET log == EnsureCoherent(s.recordingLog, s.snapshotLeadershipTermId, s.snapshotTermBaseLogPosition,
                              s.replicationLeadershipTermId, s.replicationTermBaseLogPosition, CopyEnd(s))
        is  == HasRecording(s) \/ x.position # NULL_POSITION
    IN  EnterCanvass(i, [s EXCEPT !.appendPosition = s.recordedPosition,
                                  !.notifiedCommitPosition = NotifiedAfterCopy(s),
                                  !.recordingLog = IF is THEN log ELSE @,
                                  !.logLeadershipTermId = s.replicationLeadershipTermId])

StartReplication(s) == [s EXCEPT !.logReplication = TRUE]

IsCopyCommitted(s) == s.notifiedCommitPosition >= s.appendPosition

FollowerLogReplication(i, s, x) ==
    LET t     == IF x.interval THEN [s EXCEPT !.appendPosition = s.recordedPosition] ELSE s
        sends == IF x.interval
                 THEN Send(s.leaderMemberId,
                           AppendPosition(ReportedTerm(s, s.leadershipTermId), s.recordedPosition, i, 0))
                 ELSE <<>>
        done  == CopyEnded(s, x) /\ IsCopyCommitted(t)
    IN  IF ~At(s, "FOLLOWER_LOG_REPLICATION") \/ ~MayEndAt(s, x.position) THEN {}
        ELSE IF ~s.logReplication
        THEN IF s.appendPosition < s.replicationStopPosition
             THEN Outcome(StartReplication(s), <<>>)
             ELSE Outcome(FinishReplication(i, s, x), <<>>)
        ELSE Outcome(IF done THEN FinishReplication(i, t, x) ELSE t, sends)

\* FollowerReplay: replay the member's own log up to the commit position of the leader. Then join
\* the log, through a catch-up if the leader's log is longer. Without a commit position the member
\* only reports its position; it has no deadline and ignores ballots (L-B). A replay that ends
\* before the end of the log leads back to CANVASS.
\* Source: Election.followerReplay.
JoinLog(s) ==
    [s EXCEPT !.electionState = IF s.catchupJoinPosition # NULL_POSITION
                                THEN "FOLLOWER_CATCHUP_INIT" ELSE "FOLLOWER_LOG_INIT",
              !.replayStopPosition = NULL_POSITION]

ReplayTarget(s) == Min(s.appendPosition, s.notifiedCommitPosition)
AwaitsCommit(s) == s.notifiedCommitPosition = 0

BeginReplay(i, s, x) ==
    LET replayed == s.commitPosition >= s.appendPosition
        awaits   == ~replayed /\ AwaitsCommit(s)
        lacks    == ~replayed /\ ~awaits /\ s.commitPosition >= ReplayTarget(s)
        report   == AppendPosition(ReportedTerm(s, s.leadershipTermId), s.appendPosition, i, 0)
    IN  CASE replayed -> Outcome(JoinLog(s), <<>>)
          [] awaits   -> Outcome(s, IF x.interval THEN Send(s.leaderMemberId, report) ELSE <<>>)
          [] lacks    -> Outcome(EnterCanvass(i, s), <<>>)
          [] OTHER    -> Outcome([s EXCEPT !.replayStopPosition = ReplayTarget(s)], <<>>)

FollowerReplay(i, s, x) ==
    IF ~At(s, "FOLLOWER_REPLAY") THEN {}
    ELSE IF s.replayStopPosition = NULL_POSITION THEN BeginReplay(i, s, x)
    ELSE IF s.commitPosition < s.replayStopPosition THEN Ignore(s)
    ELSE Outcome(IF s.commitPosition = s.appendPosition THEN JoinLog(s) ELSE EnterCanvass(i, s), <<>>)

\* FollowerCatchupInit: subscribe to the log with a destination for the catch-up, and request that
\* the leader replays its log there.
\* Source: Election.followerCatchupInit, sendCatchupPosition.
FollowerCatchupInit(i, s, x) ==
    IF ~At(s, "FOLLOWER_CATCHUP_INIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "FOLLOWER_CATCHUP_AWAIT",
                           !.logSubscription = TRUE, !.catchupDestination = TRUE],
                 Send(s.leaderMemberId, CatchupPosition(s.leadershipTermId, s.commitPosition, i)))

\* FollowerCatchupAwait: the replay has connected; record it and join it. Recording begins some
\* cycles earlier (RecordLog). The recording log does not change: hazard HZ2.
\* Source: Election.followerCatchupAwait.
JoinReplay(s) == [s EXCEPT !.electionState = "FOLLOWER_CATCHUP"]

FollowerCatchupAwait(i, s, x) ==
    IF ~At(s, "FOLLOWER_CATCHUP_AWAIT") THEN {} ELSE Outcome(JoinReplay(s), <<>>)

\* FollowerCatchup: record and consume the leader's replay, and report the position. The catch-up is
\* complete when the leader has stopped it and the member has processed every entry that it knows to
\* be committed. The reports have the term of the MODULE, which is older than the term of the
\* election until the first entry of the new term is consumed.
\* Source: Election.followerCatchup, ConsensusModuleAgent.catchupPoll.
CatchupTerm(s) == s.moduleLeadershipTermId

FollowerCatchup(i, s, x) ==
    LET done == /\ s.commitPosition >= s.catchupJoinPosition
                /\ s.commitPosition >= s.notifiedCommitPosition
                /\ ~s.catchupDestination
    IN  IF ~At(s, "FOLLOWER_CATCHUP") THEN {}
        ELSE Outcome(IF done THEN [s EXCEPT !.electionState = "FOLLOWER_LOG_INIT",
                                            !.appendPosition = s.commitPosition] ELSE s,
                     IF x.interval
                     THEN Send(s.leaderMemberId,
                               AppendPosition(ReportedTerm(s, CatchupTerm(s)), s.recordedPosition, i,
                                              CATCHUP_FLAG))
                     ELSE <<>>)

\* FollowerLogInit: create a log subscription with a live destination, unless there is one.
\* Source: Election.followerLogInit.
FollowerLogInit(i, s, x) ==
    IF ~At(s, "FOLLOWER_LOG_INIT") THEN {}
    ELSE Outcome(IF s.logSubscription THEN [s EXCEPT !.electionState = "FOLLOWER_READY"]
                 ELSE [s EXCEPT !.electionState = "FOLLOWER_LOG_AWAIT", !.logSubscription = TRUE], <<>>)

\* FollowerLogAwait: the live log has connected at the member's position; record it, join it, and
\* open the term on disk. Recording begins some cycles earlier (RecordLog), so entries may be on
\* disk before their term: hazard HZ2.
\* Source: Election.followerLogAwait.
PositionAtJoin(s) == s.appendPosition

FollowerLogAwait(i, s, x) ==
    IF ~At(s, "FOLLOWER_LOG_AWAIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "FOLLOWER_READY",
                           !.appendPosition = PositionAtJoin(s),
                           !.recordingLog = OpenTerm(s, s.leadershipTermId, s.commitPosition),
                           !.logLeadershipTermId = s.leadershipTermId], <<>>)

\* FollowerReady: report to the leader, and close the election.
\* Source: Election.followerReady.
FollowerReady(i, s, x) ==
    IF ~At(s, "FOLLOWER_READY") THEN {}
    ELSE Outcome(ElectionComplete(s),
                 Send(s.leaderMemberId, AppendPosition(s.leadershipTermId, s.commitPosition, i, 0)))

-----------------------------------------------------------------------------
\* EnterElection: start an election, because the leader or its followers are not active, or because
\* the log stream has ended. If it ended gracefully, the leader is known to have closed, and the
\* member need not wait for it. The step includes the INIT step. A requested termination survives
\* the election: hazard HZ9.
\* Source: ConsensusModuleAgent.enterElection.
LeaveTerm(s) == s

NewElection(i, s, gracefulClosedLeader) ==
    BeginElection(i, [LeaveTerm(s) EXCEPT
        !.logLeadershipTermId = s.moduleLeadershipTermId,
        !.leadershipTermId = s.moduleLeadershipTermId,
        !.gracefulClosedLeaderId = gracefulClosedLeader])

EnterElection(i, s, x) ==
    IF s.moduleState # "ACTIVE" \/ s.electionState # "CLOSED"
       \/ x.gracefulClosedLeaderId \notin {NULL_VALUE, s.leaderMemberId}
    THEN {}
    ELSE Outcome(NewElection(i, s, x.gracefulClosedLeaderId), <<>>)

\* ElectionError: an error, a stalled replication, or the deadline of a state that has one, in any
\* election state.
\*
\* It may also occur in the duty cycle that would close the election, when the member connects its
\* ingress channel. Then x is the input of that cycle: x.position is the end of the first entry of
\* the term, which has been written, or the position that the follower has reported. The module has
\* taken over the term and the commit position; the election returns to INIT with its own variables.
\* In INIT the archive may still record the entry. For any other error x.position is null.
\* Source: Election.handleError, ConsensusModuleAgent.electionComplete, connectIngress.
ClosingStep(i, s, x) ==
    LET ready    == At(s, "LEADER_READY")
        reported == At(s, "FOLLOWER_READY") /\ x.position = s.commitPosition
    IN  CASE ready    -> LeaderReady(i, s, x)
          [] reported -> FollowerReady(i, s, x)
          [] OTHER    -> {}

FailToClose(s, o) ==
    [o EXCEPT !.next = EnterInit(
        [s EXCEPT !.moduleLeadershipTermId = o.next.moduleLeadershipTermId,
                  !.moduleNotifiedCommitPosition = o.next.moduleNotifiedCommitPosition,
                  !.commitPosition = o.next.commitPosition,
                  !.publicationPosition = o.next.publicationPosition])]

ElectionError(i, s, x) ==
    IF ~IsElecting(s) THEN {}
    ELSE IF x.position = NULL_POSITION THEN Raise(s)
    ELSE {FailToClose(s, o) : o \in ClosingStep(i, s, x)}

\* Restart: the process has ended, in any way, and starts again with its disk. The commit position
\* is not on disk. It begins at the snapshot, and later entries are replayed when a leader announces
\* them as committed. The recording log gives the last term of the log; the archive gives its
\* length.
\*
\* The recording log also identifies the recording. If it has no term, the recording is forgotten,
\* though the member may have reported it to a leader (hazard HZ2), and a new one begins.
\* Source: ConsensusModuleAgent.onStart, recoverFromSnapshotAndLog, startLogRecording,
\* RecordingLog.planRecovery.
Recovered(s) ==
    IF s.recordingLog = <<>> THEN [s EXCEPT !.recordedPosition = Min(@, s.snapshotLogPosition)] ELSE s

Restart(i, s, x) ==
    LET d    == Disk(Recovered(s))
        term == IF d.recordingLog # <<>> THEN LastTerm(d.recordingLog) ELSE d.snapshotLeadershipTermId
    IN  Outcome(BeginElection(i, [d EXCEPT !.moduleState = "ACTIVE",
                                           !.moduleLeadershipTermId = d.snapshotLeadershipTermId,
                                           !.commitPosition = d.snapshotLogPosition,
                                           !.logLeadershipTermId = term,
                                           !.leadershipTermId = term]), <<>>)

-----------------------------------------------------------------------------
\* A leader that had closed gracefully, and sends again, is one of "all" members again.
ForgetGracefulClosedLeader(s, j) ==
    IF s.gracefulClosedLeaderId = j THEN [s EXCEPT !.gracefulClosedLeaderId = NULL_VALUE] ELSE s

\* Record: note the log that member j reports. In other states nothing reads the record before
\* CANVASS resets it; it is not noted there, so that no states differ only in it.
Record(s, j, term, position) ==
    IF s.electionState \in RecordsRead
    THEN [s EXCEPT !.members = UpdateMemberLogPosition(s.members, j, term, position)] ELSE s

\* OnCanvassPosition: note the log of the sender; a leader answers with the term that follows in its
\* own log. The sender is active when the leader computes the quorum for the answer.
\*
\* In an election, a log term above the leader's own term means that there has been a newer leader:
\* the leader raises an error. Outside an election the leader does not answer such a canvass (L-C),
\* but notes the sender's position, whatever its term: half of hazard HZ1. The sender follows no
\* leader, and may have voted in a newer term; its position counts for the leader of the old term
\* nevertheless: hazard HZ11.
\* Source: Election.onCanvassPosition, ConsensusModuleAgent.onCanvassPosition,
\* updateMemberLogPosition.
RecordCanvass(s, m) == Record(s, m.followerMemberId, m.logLeadershipTermId, m.logPosition)

OnCanvassPositionInElection(i, s, x) ==
    LET m       == x.message
        j       == m.followerMemberId
        t       == RecordCanvass(ForgetGracefulClosedLeader(s, j), m)
        q       == ElectionQuorumPosition(t, x.active \cup {j})
        answers == s.role = "LEADER" /\ m.logLeadershipTermId < s.leadershipTermId
        gives   == /\ s.electionState \in {"LEADER_LOG_REPLICATION", "LEADER_READY"}
                   /\ m.logLeadershipTermId > s.leadershipTermId
    IN  CASE answers -> Outcome(t, Send(j, ElectionNewLeadershipTerm(i, t, m.logLeadershipTermId, q)))
          [] gives   -> Raise(t)
          [] OTHER   -> Ignore(t)

NoteCanvass(s, m) ==
    [s EXCEPT !.members = UpdateMemberLogPosition(s.members, m.followerMemberId,
                                                  m.logLeadershipTermId, m.logPosition)]

OnCanvassPosition(i, s, x) ==
    LET m       == x.message
        j       == m.followerMemberId
        noted   == NoteCanvass([s EXCEPT !.members[j].catchupReplay = FALSE], m)
        answers == Closed(s, "LEADER") /\ m.logLeadershipTermId <= s.moduleLeadershipTermId
    IN  CASE IsElecting(s) -> OnCanvassPositionInElection(i, s, x)
          [] answers       -> Outcome(noted, Send(j, LeaderNewLeadershipTerm(i, s, m.logLeadershipTermId)))
          [] OTHER         -> Ignore(s)

\* OnRequestVote: answer one ballot request.
\*
\* At most one vote is granted for each term: granting raises the candidate term, on disk before the
\* vote is sent, and a request at or below it is refused. A refusal because of the candidate's older
\* log uses the term up, too. In a state that follows or leads, a refusal is sent, but a request
\* that would be granted is ignored. Outside elections, a request of a newer term starts an election
\* and is itself lost.
\* Source: Election.onRequestVote, ConsensusModuleAgent.onRequestVote.
VoteUsedUp(s, m) == m.candidateTermId <= s.candidateTermId

AnnounceToCandidate(i, s, m, active) ==
    IF s.role # "LEADER" THEN <<>>
    ELSE Send(m.candidateMemberId,
              ElectionNewLeadershipTerm(i, s, m.logLeadershipTermId, ElectionQuorumPosition(s, active)))

OnRequestVoteInElection(i, s, x) ==
    LET m       == x.message
        c       == m.candidateMemberId
        used    == VoteUsedUp(s, m)
        longer  == /\ ~used
                   /\ CompareLog(s.logLeadershipTermId, s.appendPosition,
                                 m.logLeadershipTermId, m.logPosition) > 0
        grants  == ~used /\ ~longer /\ s.electionState \in BallotOpen
        answer(yes) == Send(c, Vote(m.candidateTermId, s.logLeadershipTermId, s.appendPosition, c, i, yes))
        raised  == [s EXCEPT !.candidateTermId = Max(s.persistedCandidateTermId, m.candidateTermId),
                             !.persistedCandidateTermId = Max(@, m.candidateTermId)]
    IN  CASE used   -> Outcome(s, answer(FALSE))
          [] longer -> Outcome(raised, answer(FALSE) \o AnnounceToCandidate(i, raised, m, x.active))
          [] grants -> Outcome([raised EXCEPT !.electionState = "FOLLOWER_BALLOT",
                                              !.members = ForgetRecords(s.members)], answer(TRUE))
          [] OTHER  -> Ignore(s)

AnswerRequestVote(i, s, x) == OnRequestVoteInElection(i, s, x)

OnRequestVote(i, s, x) ==
    LET m     == x.message
        hears == IsElecting(s) /\ m.candidateMemberId # i
    IN  CASE hears           -> AnswerRequestVote(i, s, x)
          [] OutsideElections(s) /\ m.candidateTermId > s.moduleLeadershipTermId ->
                Outcome(NewElection(i, s, NULL_VALUE), <<>>)
          [] OTHER           -> Ignore(s)

\* OnVote: note a vote in the member's own ballot, and the log of the voter.
\* Source: Election.onVote.
OnVote(i, s, x) ==
    LET m == x.message
        j == m.followerMemberId
        t == [s EXCEPT !.members = UpdateMemberLogPosition(s.members, j, m.logLeadershipTermId,
                                                           m.logPosition)]
    IN  IF /\ At(s, "CANDIDATE_BALLOT")
           /\ m.candidateTermId = s.candidateTermId
           /\ m.candidateMemberId = i
        THEN Ignore([t EXCEPT !.members[j].candidateTermId = m.candidateTermId,
                              !.members[j].vote = IF m.vote THEN 1 ELSE 0])
        ELSE Ignore(s)

\* OnNewLeadershipTerm: a leader announces itself.
\*
\* The message is accepted in CANVASS whatever its term (hazard HZ3), and in a ballot if it is of
\* the term in which the member has voted. It must be about the last term of the member's log. Then
\* one of the two logs is a prefix of the other, up to the base of the leader's next term. The
\* member truncates its log beyond that base; this is not compared with its commit position.
\* Otherwise it follows the leader: it replays if it lacks only the current term; else it copies one
\* older term, and returns for the next one.
\* Source: Election.onNewLeadershipTerm, ConsensusModuleAgent.onNewLeadershipTerm.
AppendPositionAfterCut(s, position) == position
TermsAfterCut(s, position) == CommitLogPosition(s.recordingLog, s.logLeadershipTermId, position)

TruncateLog(s, position) ==
    EnterInit([s EXCEPT !.recordedPosition = position,
                        !.appendPosition = AppendPositionAfterCut(s, position),
                        !.recordingLog = TermsAfterCut(s, position)])

FollowLeader(s, m) ==
    [s EXCEPT !.leaderMemberId = m.leaderMemberId,
              !.leadershipTermId = m.leadershipTermId,
              !.candidateTermId = Max(s.candidateTermId, m.leadershipTermId),
              !.catchupJoinPosition = IF s.appendPosition < m.logPosition THEN m.logPosition
                                      ELSE NULL_POSITION,
              !.notifiedCommitPosition = Max(s.notifiedCommitPosition, m.commitPosition)]

Replicate(s, term, base, stop) ==
    EnterFollowerState([s EXCEPT !.replicationLeadershipTermId = term,
                                 !.replicationTermBaseLogPosition = base,
                                 !.replicationStopPosition = stop], "FOLLOWER_LOG_REPLICATION")

JoinTerm(s, m) == s
NotifiedAtReplay(s) == s.notifiedCommitPosition

LogEndsInOtherTerm(s, m) == m.logLeadershipTermId # s.logLeadershipTermId

LogIsTooLong(s, m) ==
    m.nextTermBaseLogPosition # NULL_POSITION /\ m.nextTermBaseLogPosition < s.appendPosition

HasOlderTerms(s, m) == s.appendPosition >= m.termBaseLogPosition

ReplicateOlderTerms(s, m) ==
    LET based    == m.nextLeadershipTermId # NULL_VALUE /\ m.nextTermBaseLogPosition # NULL_POSITION
        finishes == based /\ s.appendPosition < m.nextTermBaseLogPosition
        begins   == based /\ ~finishes /\ m.nextLogPosition # NULL_POSITION
    IN  CASE m.nextLeadershipTermId = NULL_VALUE -> EnterInit(s)
          [] finishes -> Replicate(s, s.logLeadershipTermId, NULL_POSITION, m.nextTermBaseLogPosition)
          [] begins   -> Replicate(s, m.nextLeadershipTermId, m.nextTermBaseLogPosition,
                                   m.nextLogPosition)
          [] OTHER    -> s

AcceptNewLeadershipTerm(i, s, m) ==
    LET t == FollowLeader(s, m)
    IN  IF LogEndsInOtherTerm(s, m)
        THEN IF s.electionState = "CANVASS" THEN s ELSE EnterCanvass(i, s)
        ELSE IF LogIsTooLong(s, m) THEN TruncateLog(s, m.nextTermBaseLogPosition)
        ELSE IF HasOlderTerms(s, m)
        THEN EnterFollowerState([JoinTerm(t, m) EXCEPT !.notifiedCommitPosition = NotifiedAtReplay(t)],
                                "FOLLOWER_REPLAY")
        ELSE ReplicateOlderTerms(t, m)

IsCanvassingFor(s, m) == s.electionState = "CANVASS"

AcceptsNewLeadershipTerm(s, m) ==
    \/ IsCanvassingFor(s, m)
    \/ s.electionState \in {"FOLLOWER_BALLOT", "CANDIDATE_BALLOT"} /\ m.leadershipTermId = s.candidateTermId

IsOwnAnnouncement(i, s, m) == m.leaderMemberId = i /\ m.leadershipTermId = s.leadershipTermId

OnNewLeadershipTermInElection(i, s, m) ==
    LET t == ForgetGracefulClosedLeader(s, m.leaderMemberId)
    IN  IF IsOwnAnnouncement(i, s, m) THEN Ignore(s)
        ELSE Ignore(IF AcceptsNewLeadershipTerm(t, m) THEN AcceptNewLeadershipTerm(i, t, m) ELSE t)

CommitOf(m) == m.commitPosition

OnNewLeadershipTerm(i, s, x) ==
    LET m         == x.message
        committed == CommitOf(m)
    IN  CASE IsElecting(s)          -> OnNewLeadershipTermInElection(i, s, m)
          [] IsFromLeader(s, m)     -> Ignore([s EXCEPT !.moduleNotifiedCommitPosition = Max(@, committed)])
          [] IsFromNewerTerm(s, m)  -> Outcome(NewElection(i, s, NULL_VALUE), <<>>)
          [] OTHER                  -> Ignore(s)

\* OnAppendPosition: a follower reports the end of its recording. The term has only an upper bound,
\* so reports of older terms count (HZ1, HZ2). A follower that is in a catch-up, by the leader's
\* record or by the flag of its report, and has reached the end of the leader's stream gets a
\* StopCatchup.
\* Source: ConsensusModuleAgent.onAppendPosition, trackCatchupCompletion, Election.onAppendPosition.
TrackCatchup(s, m) ==
    LET j      == m.followerMemberId
        caught == /\ s.members[j].catchupReplay \/ m.flags = CATCHUP_FLAG
                  /\ m.logPosition >= s.publicationPosition
    IN  IF caught THEN Outcome([s EXCEPT !.members[j].catchupReplay = FALSE],
                               Send(j, StopCatchup(m.leadershipTermId, j)))
        ELSE Ignore(s)

NoteReport(s, m) ==
    [s EXCEPT !.members[m.followerMemberId].logPosition = m.logPosition,
              !.members[m.followerMemberId].leadershipTermId = m.leadershipTermId]

OnAppendPosition(i, s, x) ==
    LET m     == x.message
        j     == m.followerMemberId
        noted == NoteReport(s, m)
    IN  CASE IsElecting(s) /\ m.leadershipTermId <= s.leadershipTermId ->
                TrackCatchup(Record(s, j, m.leadershipTermId, m.logPosition), m)
          [] Closed(s, "LEADER") /\ m.leadershipTermId <= s.moduleLeadershipTermId ->
                TrackCatchup(noted, m)
          [] OTHER -> Ignore(s)

\* OnCommitPosition: the leader sends its commit position. In an election only the sender is
\* checked, not the term.
\* Source: Election.onCommitPosition, ConsensusModuleAgent.onCommitPosition.
NoteCommit(s, m) == [s EXCEPT !.notifiedCommitPosition = Max(@, m.logPosition)]

OnCommitPositionInElection(s, m) ==
    LET ours  == m.leaderMemberId = s.leaderMemberId
        gives == s.electionState = "LEADER_READY" /\ m.leadershipTermId > s.leadershipTermId
    IN  CASE ours           -> Ignore(NoteCommit(s, m))
          [] ~ours /\ gives -> Raise(s)
          [] OTHER          -> Ignore(s)

NotifiedCommit(s, m) == Max(s.moduleNotifiedCommitPosition, m.logPosition)

OnCommitPosition(i, s, x) ==
    LET m         == x.message
        committed == NotifiedCommit(s, m)
    IN  CASE IsElecting(s)         -> OnCommitPositionInElection(s, m)
          [] IsFromLeader(s, m)    -> Ignore([s EXCEPT !.moduleNotifiedCommitPosition = committed])
          [] IsFromNewerTerm(s, m) -> Outcome(NewElection(i, s, NULL_VALUE), <<>>)
          [] OTHER                 -> Ignore(s)
=============================================================================

------------------------------ MODULE Election ------------------------------
(***************************************************************************)
(* The election of one member: one operator for each election state, which *)
(* is one duty cycle in that state, and one for each consensus message.    *)
(*                                                                         *)
(* The states are in the order of Aeron's codes; the messages follow.      *)
(* Replication.tla has the steps of a member's log, and the steps outside  *)
(* elections.                                                              *)
(***************************************************************************)
EXTENDS MemberState

-----------------------------------------------------------------------------
(***************************************************************************)
(* ElectionInit(i, s, x): clean up after an error, then enter CANVASS. A   *)
(* single member needs no ballot and leads its next term at once.          *)
(*                                                                         *)
(* Recording has been stopped, so the append position becomes the end of   *)
(* the recording, even if the member has reported another position.  The   *)
(* candidate term is read back from disk.  A term that was only learnt     *)
(* from a NewLeadershipTerm, above the member's own term, may be           *)
(* forgotten; a term in which the member has voted cannot.  Hardening HZ5: *)
(* a leader that fails has opened its term already, so the last term of    *)
(* the log is read back, too.                                              *)
(*                                                                         *)
(* A single member of 1.49 leads its next term when an election begins     *)
(* (constructor of Election), and leads the same term again after an       *)
(* error.                                                                  *)
(* Source: Election.init, ConsensusModuleAgent.prepareForNewLeadership.    *)
(***************************************************************************)
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

ElectionInit(i, s, x) ==
    LET opened == Hardened("HZ5") /\ s.recordingLog # <<>>
        t      == [s EXCEPT !.members = StopCatchupReplays(s.members),
                            !.logLeadershipTermId = IF opened THEN LastTerm(s.recordingLog) ELSE @]
    IN  IF ~At(s, "INIT") THEN {}
        ELSE IF Rev149 /\ MemberCount = 1
        THEN Outcome(EnterLeaderLogReplication(i, PrepareForNewLeadership(t)), <<>>)
        ELSE Outcome(BeginElection(i, t), <<>>)

(***************************************************************************)
(* Canvass(i, s, x): publish the member's position each interval.  The     *)
(* member runs for election if all other members would vote for it or,     *)
(* after the deadline, if a quorum would.                                  *)
(*                                                                         *)
(* If a leader is appointed, no other member runs for election by itself.  *)
(* UpstreamFix: a member may hear of a leader of an older term than it has *)
(* voted in.  After a while it runs for election even without a quorum,    *)
(* and its request makes that leader enter an election.  The input says in *)
(* x.leadershipTermId that the member has heard of such a leader.          *)
(*                                                                         *)
(* Hardening HZ11: the message has the candidate term of the sender, which *)
(* is at least every term that it has voted in, in the place of the        *)
(* leadership term, which no member reads.                                 *)
(* Source: Election.canvass.                                               *)
(***************************************************************************)
CanvassedTerm(s) == IF Hardened("HZ11") THEN s.candidateTermId ELSE s.leadershipTermId

PublishCanvassPosition(i, s) ==
    Broadcast(i, CanvassPosition(s.logLeadershipTermId, s.appendPosition, CanvassedTerm(s), i))

HeardOfStaleLeader(s, x) ==
    UpstreamFix /\ x.leadershipTermId # NULL_VALUE /\ x.leadershipTermId < s.candidateTermId

Canvass(i, s, x) ==
    LET sends     == IF x.interval THEN PublishCanvassPosition(i, s) ELSE <<>>
        mayStand  == AppointedLeaderId \in {NULL_VALUE, i}
        nominates == /\ mayStand
                     /\ \/ IsUnanimousCandidate(i, s)
                        \/ x.timeout /\ IsQuorumCandidate(i, s)
                        \/ x.timeout /\ HeardOfStaleLeader(s, x)
    IN  IF ~At(s, "CANVASS") THEN {}
        ELSE Outcome(IF nominates THEN [s EXCEPT !.electionState = "NOMINATE"] ELSE s, sends)

(***************************************************************************)
(* Nominate(i, s, x): wait for the random nomination deadline, then open a *)
(* ballot in the next candidate term and vote for itself.                  *)
(*                                                                         *)
(* The term is on disk before the member sends it.  The member does not    *)
(* check again whether it is still a good candidate.  While it waits, it   *)
(* continues to canvass, for members that start late.                      *)
(* Source: Election.nominate, ClusterMember.becomeCandidate.               *)
(***************************************************************************)
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

(***************************************************************************)
(* CandidateBallot(i, s, x): request a vote from each member once, and     *)
(* count the votes.                                                        *)
(*                                                                         *)
(* A candidate with all votes wins at once.  A candidate with a quorum     *)
(* wins only after the ballot has timed out, and only without a refused    *)
(* vote: one refusal is a veto, whatever the number of granted votes.      *)
(* Source: Election.candidateBallot.                                       *)
(***************************************************************************)
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

(***************************************************************************)
(* FollowerBallot(i, s, x): await the result of the ballot in which the    *)
(* member has voted; after the deadline, canvass again.                    *)
(* Source: Election.followerBallot.                                        *)
(***************************************************************************)
FollowerBallot(i, s, x) ==
    IF ~At(s, "FOLLOWER_BALLOT") THEN {}
    ELSE Outcome(IF x.timeout THEN EnterCanvass(i, s) ELSE s, <<>>)

(***************************************************************************)
(* The messages of a leader in its election:  NewLeadershipTerm each       *)
(* interval, and CommitPosition when it is due.  In Aeron a timer and the  *)
(* last published value decide whether a CommitPosition is due.  Receivers *)
(* keep the greatest position, so the spec leaves this to the input.       *)
(*                                                                         *)
(* 1.49 sends the CommitPosition in the term of the MODULE. This term is   *)
(* older than the term of the election, and may be null.                   *)
(* Source: Election.publishNewLeadershipTermOnInterval,                    *)
(* publishCommitPositionOnInterval.                                        *)
(***************************************************************************)
PublishedTerm(s) == IF Rev149 THEN s.moduleLeadershipTermId ELSE s.leadershipTermId

PublishLeadership(i, s, x, announces, q) ==
    (IF announces
     THEN Broadcast(i, ElectionNewLeadershipTerm(i, s, s.logLeadershipTermId, q)) ELSE <<>>)
    \o (IF x.commitInterval THEN Broadcast(i, CommitPosition(PublishedTerm(s), q, i)) ELSE <<>>)

(***************************************************************************)
(* LeaderLogReplication(i, s, x): wait until a quorum has recorded the     *)
(* whole log of this leader.                                               *)
(*                                                                         *)
(* There is no deadline (L-A), and the terms of the reports are ignored    *)
(* (HZ1).  Hardening HZ5: the quorum must also have opened the new term.   *)
(* The leader updates its own record first, so it is active.  UpstreamFix: *)
(* from here on its record is of the new term.                             *)
(* Source: Election.leaderLogReplication.                                  *)
(***************************************************************************)
IsReplicated(s, active) ==
    IF Hardened("HZ5") THEN HasQuorumAtPosition(s, s.leadershipTermId, s.appendPosition, active)
    ELSE BoundedQuorumPosition(s, s.leadershipTermId, s.appendPosition, active) >= s.appendPosition

LeaderLogReplication(i, s, x) ==
    LET own    == NoteOwnPosition(i, s, s.appendPosition)
        t      == IF UpstreamFix THEN [own EXCEPT !.members[i].leadershipTermId = s.leadershipTermId]
                  ELSE own
        active == x.active \cup {i}
    IN  IF ~At(s, "LEADER_LOG_REPLICATION") THEN {}
        ELSE Outcome(IF IsReplicated(t, active) THEN [t EXCEPT !.electionState = "LEADER_REPLAY"] ELSE t,
                     PublishLeadership(i, t, x, x.interval, ElectionQuorumPosition(t, active)))

(***************************************************************************)
(* LeaderReplay(i, s, x): replay to itself its log beyond the commit       *)
(* position.  ConsumeLog and OnReplayNewLeadershipTermEvent are the        *)
(* progress of the replay.                                                 *)
(*                                                                         *)
(* Every replayed entry counts as committed by its position alone, though  *)
(* no member has opened the new term: hazard HZ5. 1.49 forgets the         *)
(* positions of the followers here.                                        *)
(*                                                                         *)
(* The leader updates its own record when the replay begins, and not while *)
(* it replays.  When it leaves the state, the timer of the announcement    *)
(* has been reset, so it always announces itself then.                     *)
(* Source: Election.leaderReplay, state.                                   *)
(***************************************************************************)
LeaderReplay(i, s, x) ==
    LET starts  == s.replayStopPosition = NULL_POSITION
        done    == s.commitPosition >= s.appendPosition
        records == IF Rev149
                   THEN [j \in Members |-> [s.members[j] EXCEPT !.logPosition = NULL_POSITION]]
                   ELSE s.members
        t       == IF ~starts THEN s
                   ELSE [s EXCEPT !.members = UpdateMemberLogPosition(records, i, s.leadershipTermId,
                                                                      s.appendPosition)]
        active  == IF starts THEN x.active \cup {i} ELSE x.active
        q       == BoundedQuorumPosition(t, t.leadershipTermId, t.appendPosition, active)
    IN  IF ~At(s, "LEADER_REPLAY") THEN {}
        ELSE Outcome(IF done THEN [t EXCEPT !.electionState = "LEADER_INIT",
                                            !.replayStopPosition = NULL_POSITION]
                     ELSE IF starts THEN [t EXCEPT !.replayStopPosition = s.appendPosition]
                     ELSE t,
                     PublishLeadership(i, t, x, x.interval \/ done, q))

(***************************************************************************)
(* LeaderInit(i, s, x): start to record its own log stream, and open the   *)
(* term in the recording log.  Here the term becomes durable at its        *)
(* leader.                                                                 *)
(* Source:  Election.leaderInit.                                           *)
(***************************************************************************)
LeaderInit(i, s, x) ==
    IF ~At(s, "LEADER_INIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "LEADER_READY",
                           !.moduleLeadershipTermId = s.leadershipTermId,
                           !.logLeadershipTermId = s.leadershipTermId,
                           !.recordingLog = OpenTerm(s, s.leadershipTermId, s.commitPosition)], <<>>)

(***************************************************************************)
(* The end of an election: the module takes over its results, and the      *)
(* variables of the election are reset.                                    *)
(*                                                                         *)
(* The commit position becomes the log position of the election.  For a    *)
(* leader that is the end of its own log; in 1.49 the commit position of a *)
(* leader may have fallen below it. 1.49 also sets the notified commit     *)
(* position.                                                               *)
(* Source: ConsensusModuleAgent.electionComplete.                          *)
(***************************************************************************)
ElectionComplete(s) ==
    LET position == IF s.role = "LEADER" THEN Max(s.commitPosition, s.appendPosition)
                    ELSE s.commitPosition
    IN
    [s EXCEPT
        !.electionState = "CLOSED",
        !.moduleLeadershipTermId = s.leadershipTermId,
        !.commitPosition = position,
        !.moduleNotifiedCommitPosition = IF Rev149 THEN position ELSE Max(@, position),
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

(***************************************************************************)
(* LeaderReady(i, s, x): wait until a quorum has reached the leader's      *)
(* position in the new term.  Then write the NewLeadershipTermEvent, the   *)
(* first entry of the term, and close the election.                        *)
(*                                                                         *)
(* x.position is the end of that entry, or null if the log stream did not  *)
(* accept it.  A member that still copies older terms also reports in the  *)
(* new term and is counted: hazard HZ7.                                    *)
(* Source: Election.leaderReady,                                           *)
(* ConsensusModuleAgent.updateLeaderPosition.                              *)
(***************************************************************************)
IsReady(i, s, x) ==
    LET quorum == HasQuorumAtPosition(s, s.leadershipTermId, s.appendPosition, x.active \cup {i})
        voters == HasVotersAtPosition(s, s.leadershipTermId, s.appendPosition)
    IN  IF Rev149 THEN voters \/ (x.timeout /\ quorum) ELSE quorum

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

(***************************************************************************)
(* ReportedTerm(s, term): the term of the AppendPosition that a follower   *)
(* sends before it has joined the log.  Hardening HZ7: the last term of    *)
(* its own log.  Then the leader knows which members have opened its term. *)
(***************************************************************************)
ReportedTerm(s, term) == IF Hardened("HZ7") THEN s.logLeadershipTermId ELSE term

(***************************************************************************)
(* FollowerLogReplication(i, s, x): copy the rest of one term from the     *)
(* leader's archive, wait until the leader's commit position covers it,    *)
(* write the term to the recording log, and canvass again.                 *)
(*                                                                         *)
(* The member reports the copied bytes in the NEW leader's term, before    *)
(* their own term is in the recording log: hazards HZ2 and HZ7.  An empty  *)
(* term is written without waiting.  A member without a recording does not *)
(* write it at all: it has the term in memory only.  RecordLog is the      *)
(* progress of the copy.                                                   *)
(*                                                                         *)
(* A report is due as soon as the recording is longer than the last        *)
(* report.  If x.interval is false then, the leader's publication refused  *)
(* the report, and the member may leave with the position of its last      *)
(* report.                                                                 *)
(*                                                                         *)
(* A copy ends when the member's archive signals its end.  This is at the  *)
(* requested end, unless x.position names the end of the recording.  In    *)
(* that case the copy either ended there, short, because the leader's      *)
(* archive was lost; or everything is recorded, but the archive has not    *)
(* yet signalled the end, and the member continues to report.  Aeron takes *)
(* a short copy for a complete one, and writes the requested end: hazard   *)
(* HZ10.  Its hardening writes the end of the copied bytes.  For an empty  *)
(* term, x.position says that an empty recording exists, which the rest of *)
(* the state does not show.                                                *)
(*                                                                         *)
(* Hardening HZ2: the term is opened before its first byte is copied.      *)
(* Hardening HZ5: nothing is committed before a quorum has opened the new  *)
(* term.  This member may be needed for that quorum, so it does not wait   *)
(* for the commit.                                                         *)
(* Source: Election.followerLogReplication.                                *)
(***************************************************************************)
HasRecording(s) == s.recordingLog # <<>> \/ s.recordedPosition > s.snapshotLogPosition

CopyEnded(s, x) == (s.recordedPosition = s.replicationStopPosition) = (x.position = NULL_POSITION)

MayEndAt(s, position) ==
    \/ position = NULL_POSITION
    \/ /\ position = s.recordedPosition
       /\ s.logReplication \/ (s.appendPosition >= s.replicationStopPosition /\ ~HasRecording(s))

FinishReplication(i, s, x) ==
    LET end == IF Hardened("HZ10") /\ s.logReplication THEN s.recordedPosition
               ELSE s.replicationStopPosition
        log == EnsureCoherent(s.recordingLog, s.snapshotLeadershipTermId, s.snapshotTermBaseLogPosition,
                              s.replicationLeadershipTermId, s.replicationTermBaseLogPosition, end)
        is  == HasRecording(s) \/ x.position # NULL_POSITION
    IN  EnterCanvass(i, [s EXCEPT !.appendPosition = s.recordedPosition,
                                  !.notifiedCommitPosition = IF Rev149 /\ s.logReplication THEN 0 ELSE @,
                                  !.recordingLog = IF is THEN log ELSE @,
                                  !.logLeadershipTermId = s.replicationLeadershipTermId])

StartReplication(s) ==
    LET opened == IF Hardened("HZ2") /\ s.replicationTermBaseLogPosition # NULL_POSITION
                  THEN OpenTerm(s, s.replicationLeadershipTermId, s.replicationTermBaseLogPosition)
                  ELSE s.recordingLog
    IN  [s EXCEPT !.logReplication = TRUE, !.recordingLog = opened,
                  !.logLeadershipTermId = IF opened = s.recordingLog THEN @
                                          ELSE s.replicationLeadershipTermId]

FollowerLogReplication(i, s, x) ==
    LET t     == IF x.interval THEN [s EXCEPT !.appendPosition = s.recordedPosition] ELSE s
        sends == IF x.interval
                 THEN Send(s.leaderMemberId,
                           AppendPosition(ReportedTerm(s, s.leadershipTermId), s.recordedPosition, i, 0))
                 ELSE <<>>
        done  == /\ CopyEnded(s, x)
                 /\ Hardened("HZ5") \/ t.notifiedCommitPosition >= t.appendPosition
    IN  IF ~At(s, "FOLLOWER_LOG_REPLICATION") \/ ~MayEndAt(s, x.position) THEN {}
        ELSE IF ~s.logReplication
        THEN IF s.appendPosition < s.replicationStopPosition
             THEN Outcome(StartReplication(s), <<>>)
             ELSE Outcome(FinishReplication(i, s, x), <<>>)
        ELSE Outcome(IF done THEN FinishReplication(i, t, x) ELSE t, sends)

(***************************************************************************)
(* FollowerReplay(i, s, x): replay the member's own log up to the commit   *)
(* position of the leader.  Then join the log, through a catch-up if the   *)
(* leader's log is longer.                                                 *)
(*                                                                         *)
(* Without a commit position the member only reports its position.  It has *)
(* no deadline and ignores ballots (L-B).  A replay that ends before the   *)
(* end of the log leads back to CANVASS. 1.49 replays everything that it   *)
(* has recorded, committed or not.  UpstreamFix: the member also reports   *)
(* when its replay has reached the known commit position.                  *)
(* Source: Election.followerReplay.                                        *)
(***************************************************************************)
JoinLog(s) ==
    [s EXCEPT !.electionState = IF s.catchupJoinPosition # NULL_POSITION
                                THEN "FOLLOWER_CATCHUP_INIT" ELSE "FOLLOWER_LOG_INIT",
              !.replayStopPosition = NULL_POSITION]

ReplayTarget(s) ==
    IF Rev149 THEN s.appendPosition ELSE Min(s.appendPosition, s.notifiedCommitPosition)

BeginReplay(i, s, x) ==
    LET replayed == s.commitPosition >= s.appendPosition
        awaits   == /\ ~replayed /\ ~Rev149
                    /\ \/ s.notifiedCommitPosition = 0
                       \/ UpstreamFix /\ s.commitPosition >= s.notifiedCommitPosition
        lacks    == ~replayed /\ ~awaits /\ ~Rev149 /\ s.commitPosition >= s.notifiedCommitPosition
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

(***************************************************************************)
(* FollowerCatchupInit(i, s, x): subscribe to the log with a destination   *)
(* for the catch-up, and request that the leader replays its log there.    *)
(* Source: Election.followerCatchupInit, sendCatchupPosition.              *)
(***************************************************************************)
FollowerCatchupInit(i, s, x) ==
    IF ~At(s, "FOLLOWER_CATCHUP_INIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "FOLLOWER_CATCHUP_AWAIT",
                           !.logSubscription = TRUE, !.catchupDestination = TRUE],
                 Send(s.leaderMemberId, CatchupPosition(s.leadershipTermId, s.commitPosition, i)))

(***************************************************************************)
(* FollowerCatchupAwait(i, s, x): the replay has connected; record it and  *)
(* join it.  Recording begins some cycles earlier (RecordLog).  The        *)
(* recording log does not change: hazard HZ2.  Its hardening opens the     *)
(* term here, before recording begins, and so does UpstreamFix.            *)
(* Source: Election.followerCatchupAwait.                                  *)
(***************************************************************************)
FollowerCatchupAwait(i, s, x) ==
    LET opened == OpenTerm(s, s.leadershipTermId, s.commitPosition)
    IN  IF ~At(s, "FOLLOWER_CATCHUP_AWAIT") THEN {}
        ELSE Outcome(IF Hardened("HZ2") \/ UpstreamFix
                     THEN [s EXCEPT !.electionState = "FOLLOWER_CATCHUP", !.recordingLog = opened,
                                    !.logLeadershipTermId = s.leadershipTermId]
                     ELSE [s EXCEPT !.electionState = "FOLLOWER_CATCHUP"], <<>>)

(***************************************************************************)
(* FollowerCatchup(i, s, x): record and consume the leader's replay, and   *)
(* report the position.  The catch-up is complete when the leader has      *)
(* stopped it and the member has processed every entry that it knows to be *)
(* committed.                                                              *)
(*                                                                         *)
(* The reports have the term of the MODULE. It is older than the term of   *)
(* the election until the first entry of the new term is consumed.  With   *)
(* hardening HZ7 they have the last term of the log; with UpstreamFix, the *)
(* term of the election.                                                   *)
(* Source: Election.followerCatchup, ConsensusModuleAgent.catchupPoll.     *)
(***************************************************************************)
FollowerCatchup(i, s, x) ==
    LET done == /\ s.commitPosition >= s.catchupJoinPosition
                /\ s.commitPosition >= s.notifiedCommitPosition
                /\ ~s.catchupDestination
    IN  IF ~At(s, "FOLLOWER_CATCHUP") THEN {}
        ELSE Outcome(IF done THEN [s EXCEPT !.electionState = "FOLLOWER_LOG_INIT",
                                            !.appendPosition = s.commitPosition] ELSE s,
                     IF x.interval
                     THEN Send(s.leaderMemberId,
                               AppendPosition(ReportedTerm(s, IF UpstreamFix THEN s.leadershipTermId
                                                              ELSE s.moduleLeadershipTermId),
                                              s.recordedPosition, i, CATCHUP_FLAG))
                     ELSE <<>>)

(***************************************************************************)
(* FollowerLogInit(i, s, x): create a log subscription with a live         *)
(* destination, unless there is one.                                       *)
(* Source:  Election.followerLogInit.                                      *)
(***************************************************************************)
FollowerLogInit(i, s, x) ==
    IF ~At(s, "FOLLOWER_LOG_INIT") THEN {}
    ELSE Outcome(IF s.logSubscription THEN [s EXCEPT !.electionState = "FOLLOWER_READY"]
                 ELSE [s EXCEPT !.electionState = "FOLLOWER_LOG_AWAIT", !.logSubscription = TRUE], <<>>)

(***************************************************************************)
(* FollowerLogAwait(i, s, x): the live log has connected at the member's   *)
(* position; record it, join it, and open the term on disk.  Recording     *)
(* begins some cycles earlier (RecordLog), so entries may be on disk       *)
(* before their term: hazard HZ2.  Its hardening opens the term first.     *)
(* Source: Election.followerLogAwait.                                      *)
(***************************************************************************)
FollowerLogAwait(i, s, x) ==
    IF ~At(s, "FOLLOWER_LOG_AWAIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "FOLLOWER_READY",
                           !.appendPosition = IF Rev149 THEN s.commitPosition ELSE @,
                           !.recordingLog = OpenTerm(s, s.leadershipTermId, s.commitPosition),
                           !.logLeadershipTermId = s.leadershipTermId], <<>>)

(***************************************************************************)
(* FollowerReady(i, s, x): report to the leader, and close the election.   *)
(* Source: Election.followerReady.                                         *)
(***************************************************************************)
FollowerReady(i, s, x) ==
    IF ~At(s, "FOLLOWER_READY") THEN {}
    ELSE Outcome(ElectionComplete(s),
                 Send(s.leaderMemberId, AppendPosition(s.leadershipTermId, s.commitPosition, i, 0)))

-----------------------------------------------------------------------------
(***************************************************************************)
(* EnterElection(i, s, x): start an election, because the leader or its    *)
(* followers are not active, or because the log stream has ended.          *)
(*                                                                         *)
(* If the log stream ended gracefully, the leader is known to have closed, *)
(* and the member need not wait for it.  The step includes the INIT step,  *)
(* so the member is in CANVASS afterwards.                                 *)
(*                                                                         *)
(* A requested termination survives the election: hazard HZ9.  With its    *)
(* hardening, the termination is forgotten with its term.                  *)
(* Source: ConsensusModuleAgent.enterElection.                             *)
(***************************************************************************)
ForgetTermination(s) ==
    IF Hardened("HZ9")
    THEN [s EXCEPT !.terminationPosition = NULL_POSITION, !.terminationLeadershipTermId = NULL_VALUE]
    ELSE s

NewElection(i, s, gracefulClosedLeader) ==
    BeginElection(i, [ForgetTermination(s) EXCEPT
        !.logLeadershipTermId = s.moduleLeadershipTermId,
        !.leadershipTermId = s.moduleLeadershipTermId,
        !.gracefulClosedLeaderId = gracefulClosedLeader])

EnterElection(i, s, x) ==
    IF s.moduleState # "ACTIVE" \/ s.electionState # "CLOSED"
       \/ x.gracefulClosedLeaderId \notin {NULL_VALUE, s.leaderMemberId}
    THEN {}
    ELSE Outcome(NewElection(i, s, x.gracefulClosedLeaderId), <<>>)

(***************************************************************************)
(* ElectionError(i, s, x): an error, a stalled replication, or the         *)
(* deadline of a state that has one.  It may occur in every election       *)
(* state.                                                                  *)
(*                                                                         *)
(* It may also occur in the duty cycle that would close the election, when *)
(* the member connects its ingress channel.  Then x is the input of that   *)
(* cycle. x.position is the end of the first entry of the term, which has  *)
(* been written, or the position that the follower has reported.  The      *)
(* module has taken over the term and the commit position; the election    *)
(* returns to INIT with its own variables.  In INIT the archive may still  *)
(* record the entry.  Without a position the input has no meaning.         *)
(* Source: Election.handleError, ConsensusModuleAgent.electionComplete,    *)
(* connectIngress.                                                         *)
(***************************************************************************)
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

(***************************************************************************)
(* Restart(i, s, x): the process has ended, in any way, and starts again   *)
(* with its disk.                                                          *)
(*                                                                         *)
(* The commit position is not on disk.  It begins at the snapshot, and all *)
(* later entries are replayed when a leader announces them as committed.   *)
(* The recording log gives the last term of the log; the archive gives its *)
(* length.                                                                 *)
(*                                                                         *)
(* The recording log also identifies the recording of the log.  If it has  *)
(* no term, nothing identifies it: the recording is forgotten, though the  *)
(* member may have reported it to a leader (hazard HZ2), and a new         *)
(* recording begins.  With hardening HZ2 every recording has a term.       *)
(* Source: ConsensusModuleAgent.onStart, recoverFromSnapshotAndLog,        *)
(* startLogRecording, RecordingLog.planRecovery.                           *)
(***************************************************************************)
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
(***************************************************************************)
(* ForgetGracefulClosedLeader(s, j): a leader that had closed gracefully,  *)
(* and sends again, counts for the quorum again.                           *)
(***************************************************************************)
ForgetGracefulClosedLeader(s, j) ==
    IF s.gracefulClosedLeaderId = j THEN [s EXCEPT !.gracefulClosedLeaderId = NULL_VALUE] ELSE s

(***************************************************************************)
(* Record(s, j, term, position): note the log that member j reports.  In   *)
(* the other states of an election nothing reads the record before CANVASS *)
(* resets it.  There the report is not noted, because states that differ   *)
(* only in it would be explored separately.                                *)
(***************************************************************************)
Record(s, j, term, position) ==
    IF s.electionState \in RecordsRead
    THEN [s EXCEPT !.members = UpdateMemberLogPosition(s.members, j, term, position)] ELSE s

(***************************************************************************)
(* OnCanvassPosition(i, s, x): note the log of the sender; a leader        *)
(* answers with the term that follows in its own log.                      *)
(*                                                                         *)
(* In an election, a log term above the leader's own term means that there *)
(* has been a newer leader: the leader raises an error.  Outside an        *)
(* election the leader does not answer such a canvass (L-C).  From 1.50    *)
(* on, a leader also notes the sender's position outside elections,        *)
(* whatever its term: half of hazard HZ1.                                  *)
(*                                                                         *)
(* The sender is active when the leader computes the quorum for the        *)
(* answer.                                                                 *)
(*                                                                         *)
(* The sender follows no leader, and may have voted in a newer term. Its   *)
(* position counts for the leader of the old term nevertheless: hazard     *)
(* HZ11.  Hardened, a leader answers such a member, and does not note its  *)
(* position.  An AppendPosition needs no such rule: by HZ3 a member that   *)
(* follows a leader has voted in no newer term.                            *)
(* Source: Election.onCanvassPosition,                                     *)
(* ConsensusModuleAgent.onCanvassPosition, updateMemberLogPosition.        *)
(***************************************************************************)
HasVotedSince(m, term) == Hardened("HZ11") /\ m.leadershipTermId > term

OnCanvassPositionInElection(i, s, x) ==
    LET m       == x.message
        j       == m.followerMemberId
        heard   == ForgetGracefulClosedLeader(s, j)
        t       == IF s.role = "LEADER" /\ HasVotedSince(m, s.leadershipTermId) THEN heard
                   ELSE Record(heard, j, m.logLeadershipTermId, m.logPosition)
        q       == ElectionQuorumPosition(t, x.active \cup {j})
        answers == s.role = "LEADER" /\ m.logLeadershipTermId < s.leadershipTermId
        gives   == /\ s.electionState \in {"LEADER_LOG_REPLICATION", "LEADER_READY"}
                   /\ m.logLeadershipTermId > s.leadershipTermId
    IN  CASE answers -> Outcome(t, Send(j, ElectionNewLeadershipTerm(i, t, m.logLeadershipTermId, q)))
          [] gives   -> Raise(t)
          [] OTHER   -> Ignore(t)

OnCanvassPosition(i, s, x) ==
    LET m       == x.message
        j       == m.followerMemberId
        stopped == [s EXCEPT !.members[j].catchupReplay = FALSE]
        noted   == IF Rev149 \/ HasVotedSince(m, s.moduleLeadershipTermId) THEN stopped
                   ELSE [stopped EXCEPT !.members = UpdateMemberLogPosition(stopped.members, j,
                                                       m.logLeadershipTermId, m.logPosition)]
        answers == Closed(s, "LEADER") /\ m.logLeadershipTermId <= s.moduleLeadershipTermId
    IN  CASE IsElecting(s) -> OnCanvassPositionInElection(i, s, x)
          [] answers       -> Outcome(noted, Send(j, LeaderNewLeadershipTerm(i, s, m.logLeadershipTermId)))
          [] OTHER         -> Ignore(s)

(***************************************************************************)
(* OnRequestVote(i, s, x): answer one ballot request.                      *)
(*                                                                         *)
(* At most one vote is granted for each term: granting raises the          *)
(* candidate term, on disk before the vote is sent, and a request at or    *)
(* below it is refused.  A refusal because of the candidate's older log    *)
(* uses the term up, too.  Outside elections, a request of a newer term    *)
(* starts an election and is itself lost.  In a state that follows or      *)
(* leads, a refusal is sent; a request that would be granted is            *)
(* ignored.  UpstreamFix: a leader in an election gives it up for a        *)
(* candidate of a newer term, and answers a candidate with an older log    *)
(* only with its vote.                                                     *)
(* Source: Election.onRequestVote, ConsensusModuleAgent.onRequestVote.     *)
(***************************************************************************)
VoteUsedUp(s, m) == m.candidateTermId <= s.candidateTermId

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
        q       == ElectionQuorumPosition(raised, x.active)
        hint    == IF s.role = "LEADER" /\ ~UpstreamFix
                   THEN Send(c, ElectionNewLeadershipTerm(i, raised, m.logLeadershipTermId, q)) ELSE <<>>
    IN  CASE used   -> Outcome(s, answer(FALSE))
          [] longer -> Outcome(raised, answer(FALSE) \o hint)
          [] grants -> Outcome([raised EXCEPT !.electionState = "FOLLOWER_BALLOT",
                                              !.members = ForgetRecords(s.members)], answer(TRUE))
          [] OTHER  -> Ignore(s)

OnRequestVote(i, s, x) ==
    LET m     == x.message
        hears == IsElecting(s) /\ m.candidateMemberId # i
        gives == UpstreamFix /\ s.role = "LEADER" /\ m.candidateTermId > s.leadershipTermId
    IN  CASE hears /\ gives  -> Raise(s)
          [] hears /\ ~gives -> OnRequestVoteInElection(i, s, x)
          [] OutsideElections(s) /\ m.candidateTermId > s.moduleLeadershipTermId ->
                Outcome(NewElection(i, s, NULL_VALUE), <<>>)
          [] OTHER           -> Ignore(s)

(***************************************************************************)
(* OnVote(i, s, x): note a vote in the member's own ballot, and the log of *)
(* the voter.                                                              *)
(* Source: Election.onVote.                                                *)
(***************************************************************************)
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

(***************************************************************************)
(* OnNewLeadershipTerm(i, s, x): a leader announces itself.                *)
(*                                                                         *)
(* The message is accepted in CANVASS whatever its term (hazard HZ3), and  *)
(* in a ballot if it is of the term in which the member has voted.  It     *)
(* must be about the last term of the member's log.  Then one of the two   *)
(* logs is a prefix of the other, up to the base of the leader's next      *)
(* term.  The member truncates its log beyond that base.  Otherwise it     *)
(* follows the leader: it replays if it lacks only the current term; else  *)
(* it copies one older term, and returns for the next one.                 *)
(*                                                                         *)
(* The truncation is not compared with the member's commit position.       *)
(* UpstreamFix: a leader of an older term than the member has voted in is  *)
(* ignored.                                                                *)
(*                                                                         *)
(* A closed follower of 1.49 takes the end of its leader's log as the      *)
(* commit position, even if it is not committed.                           *)
(*                                                                         *)
(* Hardening HZ5: a member whose log ends at the base of the new term      *)
(* opens the term here, before it reports so.  The truncation also removes *)
(* terms beyond it that a leader without a quorum had opened.              *)
(* Source: Election.onNewLeadershipTerm,                                   *)
(* ConsensusModuleAgent.onNewLeadershipTerm.                               *)
(***************************************************************************)
TruncateLog(s, position) ==
    EnterInit([s EXCEPT !.recordedPosition = position,
                        !.appendPosition = IF Rev149 THEN @ ELSE position,
                        !.recordingLog = IF Hardened("HZ5") THEN CutTerms(s.recordingLog, position)
                                         ELSE CommitLogPosition(s.recordingLog,
                                                                s.logLeadershipTermId, position)])

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

JoinTerm(s, m) ==
    IF Hardened("HZ5") /\ s.appendPosition = m.termBaseLogPosition
    THEN [s EXCEPT !.recordingLog = OpenTerm(s, m.leadershipTermId, m.termBaseLogPosition),
                   !.logLeadershipTermId = Max(@, m.leadershipTermId)]
    ELSE s

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
        THEN EnterFollowerState([JoinTerm(t, m) EXCEPT !.notifiedCommitPosition = IF Rev149 THEN 0 ELSE @],
                                "FOLLOWER_REPLAY")
        ELSE ReplicateOlderTerms(t, m)

AcceptsNewLeadershipTerm(s, m) ==
    \/ s.electionState = "CANVASS" /\ (Hardened("HZ3") => m.leadershipTermId >= s.candidateTermId)
    \/ s.electionState \in {"FOLLOWER_BALLOT", "CANDIDATE_BALLOT"} /\ m.leadershipTermId = s.candidateTermId

OnNewLeadershipTermInElection(i, s, m) ==
    LET own   == m.leaderMemberId = i /\ m.leadershipTermId = s.leadershipTermId
        stale == UpstreamFix /\ m.leadershipTermId < s.candidateTermId
        t     == ForgetGracefulClosedLeader(s, m.leaderMemberId)
    IN  IF own \/ stale THEN Ignore(s)
        ELSE Ignore(IF AcceptsNewLeadershipTerm(t, m) THEN AcceptNewLeadershipTerm(i, t, m) ELSE t)

OnNewLeadershipTerm(i, s, x) ==
    LET m         == x.message
        committed == IF Rev149 THEN m.logPosition ELSE m.commitPosition
    IN  CASE IsElecting(s)          -> OnNewLeadershipTermInElection(i, s, m)
          [] IsFromLeader(s, m)     -> Ignore([s EXCEPT !.moduleNotifiedCommitPosition = Max(@, committed)])
          [] IsFromNewerTerm(s, m)  -> Outcome(NewElection(i, s, NULL_VALUE), <<>>)
          [] OTHER                  -> Ignore(s)

(***************************************************************************)
(* OnAppendPosition(i, s, x): a follower reports the end of its recording. *)
(*                                                                         *)
(* The term has only an upper bound, so reports of older terms count (HZ1, *)
(* HZ2).  A follower that is in a catch-up, by the leader's record or by   *)
(* the flag of its report, and has reached the end of the leader's stream  *)
(* gets a StopCatchup.                                                     *)
(* Source: ConsensusModuleAgent.onAppendPosition, trackCatchupCompletion,  *)
(* Election.onAppendPosition.                                              *)
(***************************************************************************)
TrackCatchup(s, m) ==
    LET j      == m.followerMemberId
        caught == /\ s.members[j].catchupReplay \/ m.flags = CATCHUP_FLAG
                  /\ m.logPosition >= s.publicationPosition
    IN  IF caught THEN Outcome([s EXCEPT !.members[j].catchupReplay = FALSE],
                               Send(j, StopCatchup(m.leadershipTermId, j)))
        ELSE Ignore(s)

OnAppendPosition(i, s, x) ==
    LET m     == x.message
        j     == m.followerMemberId
        noted == [s EXCEPT !.members[j].logPosition = m.logPosition,
                           !.members[j].leadershipTermId = IF Rev149 THEN @ ELSE m.leadershipTermId]
    IN  CASE IsElecting(s) /\ m.leadershipTermId <= s.leadershipTermId ->
                TrackCatchup(Record(s, j, m.leadershipTermId, m.logPosition), m)
          [] Closed(s, "LEADER") /\ m.leadershipTermId <= s.moduleLeadershipTermId ->
                TrackCatchup(noted, m)
          [] OTHER -> Ignore(s)

(***************************************************************************)
(* OnCommitPosition(i, s, x): the leader sends its commit position.        *)
(*                                                                         *)
(* In an election only the sender is checked, not the term. 1.49 notes the *)
(* position only while the member copies older terms, or catches up in the *)
(* term of the message.  In 1.49 a closed member notes the last position,  *)
(* so its notified commit position can fall.                               *)
(* Source: Election.onCommitPosition,                                      *)
(* ConsensusModuleAgent.onCommitPosition.                                  *)
(***************************************************************************)
OnCommitPositionInElection(s, m) ==
    LET ours  == m.leaderMemberId = s.leaderMemberId
        noted == Rev149 => \/ s.electionState = "FOLLOWER_LOG_REPLICATION"
                           \/ s.electionState = "FOLLOWER_CATCHUP" /\ m.leadershipTermId = s.leadershipTermId
        gives == s.electionState = "LEADER_READY" /\ m.leadershipTermId > s.leadershipTermId
    IN  CASE ours /\ noted  -> Ignore([s EXCEPT !.notifiedCommitPosition = Max(@, m.logPosition)])
          [] ~ours /\ gives -> Raise(s)
          [] OTHER          -> Ignore(s)

OnCommitPosition(i, s, x) ==
    LET m         == x.message
        committed == IF Rev149 THEN m.logPosition ELSE Max(s.moduleNotifiedCommitPosition, m.logPosition)
    IN  CASE IsElecting(s)         -> OnCommitPositionInElection(s, m)
          [] IsFromLeader(s, m)    -> Ignore([s EXCEPT !.moduleNotifiedCommitPosition = committed])
          [] IsFromNewerTerm(s, m) -> Outcome(NewElection(i, s, NULL_VALUE), <<>>)
          [] OTHER                 -> Ignore(s)
=============================================================================

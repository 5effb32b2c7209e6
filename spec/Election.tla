------------------------------ MODULE Election ------------------------------
(***************************************************************************)
(* The election of one member: one operator for each election state (what  *)
(* one duty cycle does in it) and one for each consensus message.          *)
(*                                                                         *)
(* The states are in the order of Aeron's codes; the messages follow.      *)
(* What a member does with its log, and outside elections, is in           *)
(* Replication.tla.                                                        *)
(***************************************************************************)
EXTENDS MemberState

-----------------------------------------------------------------------------
(***************************************************************************)
(* ElectionInit(i, s, x): clear the decks after an error, then canvass; a  *)
(* single member needs no ballot and leads its next term at once.          *)
(*                                                                         *)
(* Recording has been stopped, so the append position is what the archive  *)
(* has, whatever was reported before.  The candidate term is read back     *)
(* from disk: one that was only learnt from a NewLeadershipTerm and lies   *)
(* above the own term may be forgotten, one that was voted in cannot.      *)
(* Hardening HZ5: a leader that fails has opened its term already, so the  *)
(* term that the log ends with is read back too.                           *)
(*                                                                         *)
(* A single member of 1.49 leads its next term where an election begins    *)
(* (Election's constructor), and the same term again after an error.       *)
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
(* Canvass(i, s, x): publish the own position each interval; stand when    *)
(* all others would vote for this member, or, once the deadline has        *)
(* passed, when a quorum would.                                            *)
(*                                                                         *)
(* A member that is not the appointed leader never stands by itself.       *)
(* UpstreamFix: a member that hears of a leader of an older term than it   *)
(* has voted in stands after a while without a quorum too, so that its     *)
(* request makes that leader enter an election.  That it has heard of one, *)
(* in x.leadershipTermId, is left to the input.                            *)
(* Source: Election.canvass.                                               *)
(***************************************************************************)
PublishCanvassPosition(i, s) ==
    Broadcast(i, CanvassPosition(s.logLeadershipTermId, s.appendPosition, s.leadershipTermId, i))

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
(* ballot in the next candidate term and vote for oneself.                 *)
(*                                                                         *)
(* The term is on disk before anybody hears of it.  Whether the member is  *)
(* still a good candidate is not asked again.  It goes on canvassing while *)
(* it waits, for those that start late.                                    *)
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
(* CandidateBallot(i, s, x): ask for votes, once each, and count them.     *)
(*                                                                         *)
(* All votes win at once.  A quorum wins only when the ballot has timed    *)
(* out, and only without a single vote against: one NO vetoes, however     *)
(* many are in favour.                                                     *)
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
(* FollowerBallot(i, s, x): await the result of the ballot voted in; back  *)
(* to canvassing when it does not come.                                    *)
(* Source: Election.followerBallot.                                        *)
(***************************************************************************)
FollowerBallot(i, s, x) ==
    IF ~At(s, "FOLLOWER_BALLOT") THEN {}
    ELSE Outcome(IF x.timeout THEN EnterCanvass(i, s) ELSE s, <<>>)

(***************************************************************************)
(* What a leader publishes in its election: NewLeadershipTerm each         *)
(* interval, CommitPosition when it is due.  Whether one is due follows    *)
(* from a timer and the value last published; receivers keep the greatest, *)
(* so the spec leaves it to the input.                                     *)
(*                                                                         *)
(* 1.49 sends the CommitPosition in the term of the MODULE, which lags     *)
(* behind the election's; it may be none at all.                           *)
(* Source: Election.publishNewLeadershipTermOnInterval,                    *)
(* publishCommitPositionOnInterval.                                        *)
(***************************************************************************)
PublishedTerm(s) == IF Rev149 THEN s.moduleLeadershipTermId ELSE s.leadershipTermId

PublishLeadership(i, s, x, announces, q) ==
    (IF announces
     THEN Broadcast(i, ElectionNewLeadershipTerm(i, s, s.logLeadershipTermId, q)) ELSE <<>>)
    \o (IF x.commitInterval THEN Broadcast(i, CommitPosition(PublishedTerm(s), q, i)) ELSE <<>>)

(***************************************************************************)
(* LeaderLogReplication(i, s, x): wait until a quorum has recorded all     *)
(* that this leader has.                                                   *)
(*                                                                         *)
(* There is no deadline (L-A), and the terms of the reports are not looked *)
(* at (HZ1).  Hardening HZ5: the quorum must have opened the new term too. *)
(* The leader renews its own record first, so that it is active.           *)
(* UpstreamFix: its record is of the new term from here on.                *)
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
(* LeaderReplay(i, s, x): replay to itself what the own log holds beyond   *)
(* the commit position.  The replay's progress is ConsumeLog and           *)
(* OnReplayNewLeadershipTermEvent.                                         *)
(*                                                                         *)
(* Everything replayed counts as committed by its position alone, though   *)
(* no member has opened the new term: hazard HZ5.  1.49 forgets the        *)
(* followers' positions here.                                              *)
(*                                                                         *)
(* The leader renews its own record when it begins, and not while it       *)
(* replays.  When it leaves the state the timer of the announcement has    *)
(* been reset, so that it always announces itself then.                    *)
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
(* LeaderInit(i, s, x): start recording the own log stream and open the    *)
(* term in the recording log.  This is where the term becomes durable at   *)
(* its leader.  Source: Election.leaderInit.                               *)
(***************************************************************************)
LeaderInit(i, s, x) ==
    IF ~At(s, "LEADER_INIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "LEADER_READY",
                           !.moduleLeadershipTermId = s.leadershipTermId,
                           !.logLeadershipTermId = s.leadershipTermId,
                           !.recordingLog = OpenTerm(s, s.leadershipTermId, s.commitPosition)], <<>>)

(***************************************************************************)
(* The end of an election: the module takes over what it found, the        *)
(* election's variables are dropped.                                       *)
(*                                                                         *)
(* The commit position becomes the election's log position: a leader's is  *)
(* where its own log ends, which in 1.49 its commit position may have      *)
(* fallen below.  1.49 sets the notified commit position, too.             *)
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
(* LeaderReady(i, s, x): wait for a quorum that stands at the leader's     *)
(* position in the new term, then write the NewLeadershipTermEvent, which  *)
(* is the first entry of the term, and close the election.                 *)
(*                                                                         *)
(* x.position is the end of that entry, or null if the log stream took     *)
(* nothing.  A member that is still copying older terms reports in the new *)
(* term too and is counted: hazard HZ7.                                    *)
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
(* sends before it has joined the log.  Hardening HZ7: the term that its   *)
(* own log ends with, so that the leader can tell who has opened its term. *)
(***************************************************************************)
ReportedTerm(s, term) == IF Hardened("HZ7") THEN s.logLeadershipTermId ELSE term

(***************************************************************************)
(* FollowerLogReplication(i, s, x): copy the rest of one term from the     *)
(* leader's archive, wait until the leader's commit position covers it,    *)
(* write the term into the recording log, and canvass again.               *)
(*                                                                         *)
(* The copied bytes are reported, in the NEW leader's term, before their   *)
(* own term is in the recording log: hazards HZ2 and HZ7.  An empty term   *)
(* is written without waiting, and not at all by a member that has no      *)
(* recording yet: it knows of the term in memory alone.  The copying is    *)
(* RecordLog.                                                              *)
(*                                                                         *)
(* A report is due at once when more is recorded than was reported.  So an *)
(* interval that is false there says that the leader's publication refused *)
(* the report, and the member may leave with the position reported before. *)
(*                                                                         *)
(* A copy ends when the own archive says so.  That is where it was asked   *)
(* to end, unless x.position names the end of the recording.  Then the     *)
(* copy has ended there, short, because the leader's archive is lost; or   *)
(* all is recorded and the archive has not said yet that the copy has      *)
(* ended, so that the member goes on reporting.  Aeron takes a copy that   *)
(* ended short for a whole one, and writes down the end that was asked     *)
(* for: hazard HZ10, whose hardening writes the end of what was copied.    *)
(* Of an empty term x.position says that there is a recording, with        *)
(* nothing in it, which the rest of the state does not show.               *)
(*                                                                         *)
(* Hardening HZ2: the term is opened before its first byte is copied.      *)
(* Hardening HZ5: nothing is committed before a quorum has opened the new  *)
(* term, and this member may be one of it, so it does not wait for that.   *)
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
(* FollowerReplay(i, s, x): replay the own log up to what the leader has   *)
(* said is committed, then join the log, through catch-up if the leader    *)
(* is ahead.                                                               *)
(*                                                                         *)
(* While no commit position is known the member only reports where it is:  *)
(* without a deadline and deaf to ballots (L-B).  A replay that ends short *)
(* of the log's end leads back to CANVASS.  1.49 replays everything it has *)
(* recorded, committed or not.  UpstreamFix: it reports also where a       *)
(* commit position is known that its replay has reached.                   *)
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
(* for catch-up and ask the leader to replay its log there.                *)
(* Source: Election.followerCatchupInit, sendCatchupPosition.              *)
(***************************************************************************)
FollowerCatchupInit(i, s, x) ==
    IF ~At(s, "FOLLOWER_CATCHUP_INIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "FOLLOWER_CATCHUP_AWAIT",
                           !.logSubscription = TRUE, !.catchupDestination = TRUE],
                 Send(s.leaderMemberId, CatchupPosition(s.leadershipTermId, s.commitPosition, i)))

(***************************************************************************)
(* FollowerCatchupAwait(i, s, x): the replay has connected; record it and  *)
(* join it.  Recording begins some cycles before (RecordLog).  The         *)
(* recording log is not touched: hazard HZ2, whose hardening opens the     *)
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
(* FollowerCatchup(i, s, x): record and consume what the leader replays,   *)
(* report how far, and go on once the leader has stopped the catch-up and  *)
(* everything known to be committed is processed.                          *)
(*                                                                         *)
(* The reports carry the term of the MODULE, which lags behind the         *)
(* election's until the new term's first entry has been consumed; hardened *)
(* against HZ7, the term that the log ends with.  UpstreamFix: the term of  *)
(* the election.                                                           *)
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
(* FollowerLogInit(i, s, x): make sure that there is a log subscription    *)
(* with a live destination.  Source: Election.followerLogInit.             *)
(***************************************************************************)
FollowerLogInit(i, s, x) ==
    IF ~At(s, "FOLLOWER_LOG_INIT") THEN {}
    ELSE Outcome(IF s.logSubscription THEN [s EXCEPT !.electionState = "FOLLOWER_READY"]
                 ELSE [s EXCEPT !.electionState = "FOLLOWER_LOG_AWAIT", !.logSubscription = TRUE], <<>>)

(***************************************************************************)
(* FollowerLogAwait(i, s, x): the live log has connected at the own        *)
(* position; record it, join it, and open the term on disk.  Recording     *)
(* begins some cycles before (RecordLog), so that what it brings may be on *)
(* disk before its term is: hazard HZ2.  Hardened, the term comes first.   *)
(* Source: Election.followerLogAwait.                                      *)
(***************************************************************************)
FollowerLogAwait(i, s, x) ==
    IF ~At(s, "FOLLOWER_LOG_AWAIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "FOLLOWER_READY",
                           !.appendPosition = IF Rev149 THEN s.commitPosition ELSE @,
                           !.recordingLog = OpenTerm(s, s.leadershipTermId, s.commitPosition),
                           !.logLeadershipTermId = s.leadershipTermId], <<>>)

(***************************************************************************)
(* FollowerReady(i, s, x): tell the leader, and close the election.        *)
(* Source: Election.followerReady.                                         *)
(***************************************************************************)
FollowerReady(i, s, x) ==
    IF ~At(s, "FOLLOWER_READY") THEN {}
    ELSE Outcome(ElectionComplete(s),
                 Send(s.leaderMemberId, AppendPosition(s.leadershipTermId, s.commitPosition, i, 0)))

-----------------------------------------------------------------------------
(***************************************************************************)
(* EnterElection(i, s, x): start an election, because the leader is not    *)
(* heard of, its followers are not, or its log stream has ended.           *)
(*                                                                         *)
(* When the log stream ended in good order the leader is known to have     *)
(* closed, and need not be waited for.  The INIT step runs within this     *)
(* one, so the member is in CANVASS after it.                              *)
(*                                                                         *)
(* A termination that was asked for outlives the election: hazard HZ9.     *)
(* Hardened, it is forgotten with the term in which it was asked for.      *)
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
(* ElectionError(i, s, x): an error, a stalled replication, a time-out of  *)
(* a state that has one.  It can strike in every election state.           *)
(*                                                                         *)
(* It can also strike in the duty cycle that should close the election,    *)
(* when the member connects its ingress channel.  x is that cycle's input  *)
(* then, and x.position the end of the term's first entry, which has been  *)
(* written, or the position that the follower has reported.  The module    *)
(* has taken over the term and the commit position; the election goes back *)
(* to INIT with its own variables.  There the archive may still record the *)
(* entry.  Without a position x says nothing.                              *)
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
(* Restart(i, s, x): the process has ended, in whatever way, and is        *)
(* started again on what is on disk.                                       *)
(*                                                                         *)
(* The commit position is not on disk.  It begins at the snapshot, and     *)
(* everything after it is replayed once a leader says that it is           *)
(* committed.  The log's last term is what the recording log says, its     *)
(* length what the archive has recorded.                                   *)
(*                                                                         *)
(* The recording log also says which recording is the log.  While it holds *)
(* no term nothing does: what was recorded is forgotten, though it may     *)
(* have been reported to a leader (hazard HZ2), and recording begins anew. *)
(* Hardening HZ2 leaves no recording without a term.                       *)
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
(* ForgetGracefulClosedLeader(s, j): a leader that had ended its log in    *)
(* good order and is heard of again is no longer left out of the quorum.   *)
(***************************************************************************)
ForgetGracefulClosedLeader(s, j) ==
    IF s.gracefulClosedLeaderId = j THEN [s EXCEPT !.gracefulClosedLeaderId = NULL_VALUE] ELSE s

(***************************************************************************)
(* Record(s, j, term, position): note what member j reports of its log. In *)
(* the other states of an election nobody reads what is noted before       *)
(* CANVASS forgets it, so nothing is noted: states that differ only in it  *)
(* would be explored apart.                                                *)
(***************************************************************************)
Record(s, j, term, position) ==
    IF s.electionState \in RecordsRead
    THEN [s EXCEPT !.members = UpdateMemberLogPosition(s.members, j, term, position)] ELSE s

(***************************************************************************)
(* OnCanvassPosition(i, s, x): note what the sender has recorded; a leader *)
(* answers with what follows that in its own log.                          *)
(*                                                                         *)
(* In an election a log term above the leader's own means that a newer     *)
(* leader has been: give up.  Outside one such a canvass is not answered   *)
(* (L-C).  From 1.50 a leader notes the sender's position outside          *)
(* elections too, whatever its term: half of hazard HZ1.                   *)
(*                                                                         *)
(* The sender has just been heard of: it is active when the quorum is      *)
(* computed for the answer.                                                *)
(* Source: Election.onCanvassPosition,                                     *)
(* ConsensusModuleAgent.onCanvassPosition, updateMemberLogPosition.        *)
(***************************************************************************)
OnCanvassPositionInElection(i, s, x) ==
    LET m       == x.message
        j       == m.followerMemberId
        t       == Record(ForgetGracefulClosedLeader(s, j), j, m.logLeadershipTermId, m.logPosition)
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
        noted   == IF Rev149 THEN stopped
                   ELSE [stopped EXCEPT !.members = UpdateMemberLogPosition(stopped.members, j,
                                                       m.logLeadershipTermId, m.logPosition)]
        answers == Closed(s, "LEADER") /\ m.logLeadershipTermId <= s.moduleLeadershipTermId
    IN  CASE IsElecting(s) -> OnCanvassPositionInElection(i, s, x)
          [] answers       -> Outcome(noted, Send(j, LeaderNewLeadershipTerm(i, s, m.logLeadershipTermId)))
          [] OTHER         -> Ignore(s)

(***************************************************************************)
(* OnRequestVote(i, s, x): answer one ballot request.                      *)
(*                                                                         *)
(* At most one YES for each term: granting raises the candidate term, on   *)
(* disk before the vote leaves, and a request at or below it is refused.   *)
(* A refusal because the candidate's log is older uses the term up too.    *)
(* Outside elections a request of a newer term starts an election and is   *)
(* itself lost.  In the states that follow or lead it is not answered.     *)
(* UpstreamFix: a leader gives its election up for one of a newer term,    *)
(* and answers an older log with its vote alone.                           *)
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
(* OnVote(i, s, x): note a vote in the own ballot, and the voter's log.    *)
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
(* It is accepted in CANVASS whatever its term (hazard HZ3), and in a      *)
(* ballot if it is of the term voted in.  It must be about the term that   *)
(* the own log ends with: then one log is a prefix of the other, up to     *)
(* where the leader's next term begins.  What lies beyond that is cut off. *)
(* Otherwise the member follows the leader: replays, if it lacks only the  *)
(* current term, else copies one older term and comes back for the next.   *)
(*                                                                         *)
(* Nothing compares the cut with the own commit position.                  *)
(* UpstreamFix: a leader of an older term than was voted in is ignored.    *)
(*                                                                         *)
(* A closed follower of 1.49 takes the end of its leader's log, which need *)
(* not be committed, for the commit position.                              *)
(*                                                                         *)
(* Hardening HZ5: a member that stands where the new term begins opens it  *)
(* here, before it tells anybody so.  A term that was opened, by a leader  *)
(* that never had a quorum, beyond the cut is cut off as well.             *)
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
(* OnAppendPosition(i, s, x): a follower reports what it has recorded.     *)
(*                                                                         *)
(* The term is bounded from above only, so reports of older terms count    *)
(* (HZ1, HZ2).  One that has caught up, or says that it is catching up,    *)
(* and has reached the end of the leader's stream gets a StopCatchup.      *)
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
(* OnCommitPosition(i, s, x): the leader says what is committed.           *)
(*                                                                         *)
(* In an election only the sender is checked, not the term.  1.49 takes    *)
(* note only while it copies older terms, or catches up in the term of the *)
(* message.  There a closed member notes the last position sent: the       *)
(* position can fall.                                                      *)
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

---------------------------- MODULE CommitMutants -----------------------------
(***************************************************************************)
(* Mistakes about the commit position, and about the state that survives a *)
(* restart: one leader and no further election.                            *)
(*                                                                         *)
(* 2 leads term 0 and has recorded the first entry of the term.  Steady: 1 *)
(* is a closed follower, and 0 is down.  Joining: 0 is about to join the   *)
(* log, and 1 is down.                                                     *)
(*                                                                         *)
(* From here everything is explored: the leader writes up to MaxPosition   *)
(* and may no longer hear of its followers; followers take snapshots and   *)
(* restart, and then stay away; when all is committed, the cluster may be  *)
(* shut down.                                                              *)
(***************************************************************************)
EXTENDS MCBounds

Steady == Elected(2, <<0, 1>>, 0) \o Dies(0) \o Records(2)

Joining ==
    Stands(2, 1) \o Silence \o Repeats(2, "LeaderLogReplication", Members)
    \o Arrival(2, 0) \o Arrival(2, 1) \o Silence \o Prepares(2, 0) \o Silence
    \o Joins(2, 1, 0) \o Silence \o Does(0, "FollowerReplay") \o Does(0, "FollowerLogInit")
    \o OpensLog(2, Members) \o Records(2) \o Dies(1)

CommitsInit == StartsAfter(<<Steady, Joining>>)

ReportsAgain(i) == IfQuiet(i) /\ member[i].electionState = "CLOSED"
FollowerRestarts(i) == Closed(member[i], "FOLLOWER")
FollowerSnapshots(i) == Closed(member[i], "FOLLOWER")
WhenAllIsCommitted(i) == member[i].commitPosition = MaxPosition
FollowersFallSilent(i) == {Members, {i}}

-----------------------------------------------------------------------------
(***************************************************************************)
(* MUT_FastestCounts: the longest recording of any member counts as        *)
(* committed.                                                              *)
(***************************************************************************)
MutQuorumPosition(position, active) ==
    CHOOSE p \in {position[j] : j \in active} : \A j \in active : position[j] <= p

(***************************************************************************)
(* MUT_CommitFalls: the commit position is the present quorum position,    *)
(* not the greatest one so far.                                            *)
(***************************************************************************)
MutCommitTo(s, x, q) == IF IsCommitDue(s, x, q) THEN q ELSE s.commitPosition

(***************************************************************************)
(* MUT_CommitsUnrecorded: a leader counts its written entries for itself,  *)
(* though its archive has not recorded them.                               *)
(***************************************************************************)
MutCountsWritten(i, s, x) ==
    LET own == s.publicationPosition
        q   == LeaderQuorumPosition(i, s, s.moduleLeadershipTermId, own, x.active)
    IN  IF ~Closed(s, "LEADER") THEN {}
        ELSE Outcome([NoteOwnPosition(i, s, own) EXCEPT !.commitPosition = CommitTo(s, x, q)],
                     PublishCommitPosition(i, s, x, q))

(***************************************************************************)
(* MUT_FollowerRunsAhead: a follower processes everything that it has      *)
(* recorded.                                                               *)
(***************************************************************************)
MutConsumeBound(s) ==
    IF Closed(s, "FOLLOWER") /\ s.logSubscription THEN s.recordedPosition
    ELSE IF At(s, "FOLLOWER_CATCHUP") THEN Min(s.notifiedCommitPosition, s.recordedPosition)
    ELSE IF At(s, "FOLLOWER_REPLAY") \/ At(s, "LEADER_REPLAY") THEN s.replayStopPosition
    ELSE NULL_POSITION

(***************************************************************************)
(* MUT_ReportsTooMuch: a follower reports one position more than the end   *)
(* of its recording.                                                       *)
(***************************************************************************)
MutUpdateFollowerPosition(i, s, x) ==
    IF ~Closed(s, "FOLLOWER") \/ s.leaderMemberId = NULL_VALUE THEN {}
    ELSE Outcome(s, Send(s.leaderMemberId,
                         AppendPosition(s.moduleLeadershipTermId, s.recordedPosition + 1, i, 0)))

(***************************************************************************)
(* MUT_LogNotOnDisk: recorded entries that are not processed are lost in a *)
(* restart.                                                                *)
(***************************************************************************)
MutDisk(s) == Persistent(s.persistedCandidateTermId, s.recordingLog, s.commitPosition,
                         s.snapshotLeadershipTermId, s.snapshotTermBaseLogPosition,
                         s.snapshotLogPosition)

(***************************************************************************)
(* MUT_RestartCommits: a member that restarts takes its whole recording as *)
(* committed.                                                              *)
(***************************************************************************)
MutRestart(i, s, x) ==
    LET d    == Disk(s)
        term == IF d.recordingLog # <<>> THEN LastTerm(d.recordingLog) ELSE d.snapshotLeadershipTermId
    IN  Outcome(BeginElection(i, [d EXCEPT !.moduleState = "ACTIVE",
                                           !.moduleLeadershipTermId = d.snapshotLeadershipTermId,
                                           !.commitPosition = d.recordedPosition,
                                           !.logLeadershipTermId = term,
                                           !.leadershipTermId = term]), <<>>)

(***************************************************************************)
(* MUT_SnapshotTooFar: a snapshot names the end of the recording, not of   *)
(* the processed log.                                                      *)
(***************************************************************************)
MutTakeSnapshot(i, s, x) ==
    IF \/ s.moduleState # "ACTIVE" \/ s.recordedPosition <= s.snapshotLogPosition
       \/ s.electionState \notin {"CLOSED", "FOLLOWER_CATCHUP", "FOLLOWER_REPLAY", "LEADER_REPLAY"}
    THEN {}
    ELSE Outcome([s EXCEPT
            !.snapshotLeadershipTermId = s.moduleLeadershipTermId,
            !.snapshotTermBaseLogPosition =
                FindTermEntry(s.recordingLog, s.moduleLeadershipTermId).termBaseLogPosition,
            !.snapshotLogPosition = s.recordedPosition], <<>>)

(***************************************************************************)
(* MUT_FollowerOpensNoTerm: a follower joins a log without writing its     *)
(* term to the recording log.                                              *)
(***************************************************************************)
MutFollowerLogAwait(i, s, x) ==
    IF ~At(s, "FOLLOWER_LOG_AWAIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "FOLLOWER_READY",
                           !.logLeadershipTermId = s.leadershipTermId], <<>>)

(***************************************************************************)
(* MUT_LeaderOpensNoTerm: a leader does not write its term to the          *)
(* recording log.                                                          *)
(***************************************************************************)
MutLeaderInit(i, s, x) ==
    IF ~At(s, "LEADER_INIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "LEADER_READY",
                           !.moduleLeadershipTermId = s.leadershipTermId,
                           !.logLeadershipTermId = s.leadershipTermId], <<>>)

(***************************************************************************)
(* MUT_CountsItselfTwice: a leader counts every member that has reported   *)
(* in its term with its own position.                                      *)
(***************************************************************************)
MutCountedPosition(s, term, own, record) ==
    IF record.leadershipTermId = term THEN own ELSE record.logPosition

(***************************************************************************)
(* MUT_ReportsInNextTerm: a follower reports in the term after its own.    *)
(***************************************************************************)
MutReportInNextTerm(i, s, x) ==
    IF ~Closed(s, "FOLLOWER") \/ s.leaderMemberId = NULL_VALUE THEN {}
    ELSE Outcome(s, Send(s.leaderMemberId,
                         AppendPosition(s.moduleLeadershipTermId + 1, s.recordedPosition, i, 0)))

(***************************************************************************)
(* MUT_ReadsAheadOfRecording: a module gets the entry after the next one,  *)
(* recorded or not.                                                        *)
(***************************************************************************)
MutConsumeNext(c, i) == [NoInput EXCEPT !.position = c.member[i].commitPosition + 2]

(***************************************************************************)
(* MUT_RecordsAheadOfLeader: the archive of a leader records beyond the    *)
(* entries that the leader has written.                                    *)
(***************************************************************************)
MutNextEntry(c, i) ==
    LET s == c.member[i]
        j == s.leaderMemberId
        k == s.recordedPosition + 1
    IN  IF Closed(s, "LEADER") THEN s.moduleLeadershipTermId
        ELSE IF j = NULL_VALUE \/ j = i THEN -1
        ELSE IF LeadsInTerm(c.member[j], FollowedTerm(s)) /\ k <= c.member[j].publicationPosition
        THEN StreamEntry(c, j, k)
        ELSE -1

(***************************************************************************)
(* MUT_SilentMembersCount: a leader counts the reports of members however  *)
(* long they have been silent.                                             *)
(***************************************************************************)
MutCountsTheSilent(i, s, term, own, active) == BoundedQuorumPosition(s, term, own, Members)

(***************************************************************************)
(* MUT_QuorumOfTheHeard: a quorum is more than half of the active members. *)
(***************************************************************************)
MutQuorumOfTheHeard(position, active) ==
    LET reached(p) == 2 * Cardinality({j \in active : position[j] >= p}) > Cardinality(active)
        reachable  == {0} \cup {p \in {position[j] : j \in active} : p > 0 /\ reached(p)}
    IN  CHOOSE p \in reachable : \A q \in reachable : q <= p

(***************************************************************************)
(* MUT_SnapshotOfOtherTerm: a snapshot names its own position as the base  *)
(* of its term.                                                            *)
(***************************************************************************)
MutSnapshotBase(i, s, x) ==
    IF \/ s.moduleState # "ACTIVE" \/ s.commitPosition <= s.snapshotLogPosition
       \/ s.electionState \notin {"CLOSED", "FOLLOWER_CATCHUP", "FOLLOWER_REPLAY", "LEADER_REPLAY"}
    THEN {}
    ELSE Outcome([s EXCEPT !.snapshotLeadershipTermId = s.moduleLeadershipTermId,
                           !.snapshotTermBaseLogPosition = s.commitPosition,
                           !.snapshotLogPosition = s.commitPosition], <<>>)

(***************************************************************************)
(* MUT_RestartForgetsLog: a restart keeps only the snapshot.               *)
(***************************************************************************)
MutRecovered(s) == [s EXCEPT !.recordedPosition = s.snapshotLogPosition]

(***************************************************************************)
(* MUT_RestartForgetsTerm: after a restart the last log term is the term   *)
(* of the snapshot.                                                        *)
(***************************************************************************)
MutRestartInOldTerm(i, s, x) ==
    LET d == Disk(Recovered(s))
    IN  Outcome(BeginElection(i, [d EXCEPT !.moduleState = "ACTIVE",
                                           !.moduleLeadershipTermId = d.snapshotLeadershipTermId,
                                           !.commitPosition = d.snapshotLogPosition,
                                           !.logLeadershipTermId = d.snapshotLeadershipTermId,
                                           !.leadershipTermId = d.snapshotLeadershipTermId]), <<>>)

(***************************************************************************)
(* MUT_JoinsWithMore: a member that joins a log reports one entry more     *)
(* than it has.                                                            *)
(***************************************************************************)
MutFollowerReady(i, s, x) ==
    IF ~At(s, "FOLLOWER_READY") THEN {}
    ELSE Outcome(ElectionComplete(s),
                 Send(s.leaderMemberId, AppendPosition(s.leadershipTermId, s.commitPosition + 1, i, 0)))

(***************************************************************************)
(* MUT_CommitsOwnLog: the leader's own recording counts as committed.      *)
(***************************************************************************)
MutCommitsOwnLog(s, x, q) == s.recordedPosition

(***************************************************************************)
(* MUT_ServicesSkip: services get the whole recording in one piece.        *)
(***************************************************************************)
MutConsumesAll(c, i) ==
    [NoInput EXCEPT !.position = Len(c.log[i]), !.leadershipTermId = c.log[i][1],
                    !.termBaseLogPosition = c.member[i].commitPosition]
=============================================================================

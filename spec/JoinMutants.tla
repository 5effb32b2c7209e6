----------------------------- MODULE JoinMutants ------------------------------
(***************************************************************************)
(* Mistakes about joining a leader late: copying terms, catching up, and   *)
(* the recording log.                                                      *)
(*                                                                         *)
(* 2 has led term 0 with 1, and they have committed its first entry. 2 has *)
(* been elected again, and has written and recorded the first entry of     *)
(* term 1. 1, which does not have that entry yet, is down. 0 has missed    *)
(* everything.                                                             *)
(*                                                                         *)
(* From here all behaviours of 0 that joins are explored; the leader       *)
(* writes up to MaxPosition.  Terms are opened before their first byte is  *)
(* recorded (hardening HZ2): else RecordedTermIsKnown does not hold.       *)
(***************************************************************************)
EXTENDS MCBounds

Late ==
    Elected(2, <<1>>, 0) \o Records(2) \o Records(1)
    \o Does(1, "UpdateFollowerPosition") \o Arrival(1, 2) \o Advances(2, Members) \o Silence
    \o Commits(2, "UpdateLeaderPosition", Members) \o Arrival(2, 1) \o Silence \o Reads(1)
    \o EnterElections(<<1, 2>>) \o Elected(2, <<1>>, 0) \o Records(2) \o Dies(1)

JoinsInit == StartsAfter(<<Late>>)

-----------------------------------------------------------------------------
(***************************************************************************)
(* MUT_SeveralTermsAtOnce: a leader names the end of its log as the end of *)
(* the next term.                                                          *)
(***************************************************************************)
MutLeaderNewLeadershipTerm(i, s, logTerm) ==
    LET next == IF logTerm < s.moduleLeadershipTermId
                THEN FindTermEntry(s.recordingLog, logTerm + 1) ELSE NoTermEntry
        base == FindTermEntry(s.recordingLog, s.moduleLeadershipTermId).termBaseLogPosition
    IN  NewLeadershipTerm(
            logTerm, next.leadershipTermId, next.termBaseLogPosition, s.publicationPosition,
            s.moduleLeadershipTermId, base, s.publicationPosition,
            IF IsRev149 THEN NULL_POSITION ELSE s.commitPosition, i)

(***************************************************************************)
(* MUT_CatchupReportsTooMuch: a member in a catch-up reports the position  *)
(* at which it is to join, not the end of its recording.                   *)
(***************************************************************************)
MutFollowerCatchup(i, s, x) ==
    LET done == /\ s.commitPosition >= s.catchupJoinPosition
                /\ s.commitPosition >= s.notifiedCommitPosition
                /\ ~s.catchupDestination
    IN  IF ~At(s, "FOLLOWER_CATCHUP") THEN {}
        ELSE Outcome(IF done THEN [s EXCEPT !.electionState = "FOLLOWER_LOG_INIT",
                                            !.appendPosition = s.commitPosition] ELSE s,
                     IF x.interval
                     THEN Send(s.leaderMemberId,
                               AppendPosition(ReportedTerm(s, s.moduleLeadershipTermId),
                                              s.catchupJoinPosition, i, CATCHUP_FLAG))
                     ELSE <<>>)

(***************************************************************************)
(* MUT_CatchupRunsAhead: a member in a catch-up processes everything that  *)
(* it records.                                                             *)
(***************************************************************************)
MutConsumeBound(s) ==
    IF Closed(s, "FOLLOWER") /\ s.logSubscription
    THEN Min(s.moduleNotifiedCommitPosition, s.recordedPosition)
    ELSE IF At(s, "FOLLOWER_CATCHUP") THEN s.recordedPosition
    ELSE IF At(s, "FOLLOWER_REPLAY") \/ At(s, "LEADER_REPLAY") THEN s.replayStopPosition
    ELSE NULL_POSITION

(***************************************************************************)
(* MUT_TermStaysOpen: a new term is written without closing the previous   *)
(* one.                                                                    *)
(***************************************************************************)
MutEnsureCoherent(rl, initialTerm, initialBase, term, base, end) ==
    IF rl = <<>> THEN <<TermEntry(term, IF base = NULL_POSITION THEN initialBase ELSE base, end)>>
    ELSE IF LastTerm(rl) < term
    THEN Append(rl, TermEntry(term, IF LastEntry(rl).logPosition = NULL_POSITION THEN base
                                    ELSE LastEntry(rl).logPosition, end))
    ELSE IF end # NULL_POSITION THEN CommitLogPosition(rl, term, end)
    ELSE rl

(***************************************************************************)
(* MUT_CopiedTermNotWritten: a term copied from the leader's archive is    *)
(* written after the copy, not before.                                     *)
(***************************************************************************)
MutStartReplication(s) == [s EXCEPT !.logReplication = TRUE]

(***************************************************************************)
(* MUT_OpensAtEnd: a member that copies a term writes it with its end as   *)
(* the base.                                                               *)
(***************************************************************************)
MutReplicate(s, term, base, stop) ==
    LET wrong == IF base = NULL_POSITION THEN base ELSE stop
    IN  EnterFollowerState([s EXCEPT !.replicationLeadershipTermId = term,
                                     !.replicationTermBaseLogPosition = wrong,
                                     !.replicationStopPosition = stop], "FOLLOWER_LOG_REPLICATION")

(***************************************************************************)
(* MUT_OpensTooEarly: a term is written with a base one entry too early.   *)
(***************************************************************************)
MutOpensTooEarly(s, term, base) ==
    EnsureCoherent(s.recordingLog, s.snapshotLeadershipTermId, s.snapshotTermBaseLogPosition,
                   term, Max(0, base - 1), NULL_POSITION)

(***************************************************************************)
(* MUT_CatchupOpensNoTerm: a member in a catch-up does not write the term  *)
(* first.                                                                  *)
(***************************************************************************)
MutCatchupWithoutTerm(i, s, x) ==
    IF ~At(s, "FOLLOWER_CATCHUP_AWAIT") THEN {}
    ELSE Outcome([s EXCEPT !.electionState = "FOLLOWER_CATCHUP"], <<>>)

(***************************************************************************)
(* MUT_TermEndsElsewhere: a term is closed one entry after its end.        *)
(***************************************************************************)
MutTermEndsElsewhere(rl, term, end) ==
    [k \in DOMAIN rl |-> IF rl[k].leadershipTermId = term
                         THEN [rl[k] EXCEPT !.logPosition = end + 1] ELSE rl[k]]
=============================================================================

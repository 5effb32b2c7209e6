----------------------------- MODULE JoinMutants ------------------------------
(***************************************************************************)
(* Where mistakes about joining a leader late are found: copying terms,    *)
(* catching up, and what the recording log says of it.                     *)
(*                                                                         *)
(* 2 has led term 0 with 1, and they have committed its first entry.  2    *)
(* has been elected again, has written and recorded the first entry of     *)
(* term 1, and 1, which does not have that entry yet, is down.  0 has      *)
(* missed everything.                                                      *)
(*                                                                         *)
(* From here everything is explored that comes of 0's joining; the leader  *)
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
(* MUT_SeveralTermsAtOnce: a leader says that the next term reaches as far *)
(* as its log.                                                             *)
(***************************************************************************)
MutLeaderNewLeadershipTerm(i, s, logTerm) ==
    LET next == IF logTerm < s.moduleLeadershipTermId
                THEN FindTermEntry(s.recordingLog, logTerm + 1) ELSE NoTermEntry
        base == FindTermEntry(s.recordingLog, s.moduleLeadershipTermId).termBaseLogPosition
    IN  NewLeadershipTerm(
            logTerm, next.leadershipTermId, next.termBaseLogPosition, s.publicationPosition,
            s.moduleLeadershipTermId, base, s.publicationPosition,
            IF Rev149 THEN NULL_POSITION ELSE s.commitPosition, i)

(***************************************************************************)
(* MUT_CatchupReportsTooMuch: who catches up reports where it is to join,  *)
(* not what it has recorded.                                               *)
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
(* MUT_CatchupRunsAhead: who catches up processes whatever it records.     *)
(***************************************************************************)
MutConsumeBound(s) ==
    IF Closed(s, "FOLLOWER") /\ s.logSubscription
    THEN Min(s.moduleNotifiedCommitPosition, s.recordedPosition)
    ELSE IF At(s, "FOLLOWER_CATCHUP") THEN s.recordedPosition
    ELSE IF At(s, "FOLLOWER_REPLAY") \/ At(s, "LEADER_REPLAY") THEN s.replayStopPosition
    ELSE NULL_POSITION

(***************************************************************************)
(* MUT_TermStaysOpen: a new term is written down without closing the one   *)
(* before.                                                                 *)
(***************************************************************************)
MutEnsureCoherent(rl, initialTerm, initialBase, term, base, end) ==
    IF rl = <<>> THEN <<TermEntry(term, IF base = NULL_POSITION THEN initialBase ELSE base, end)>>
    ELSE IF LastTerm(rl) < term
    THEN Append(rl, TermEntry(term, IF LastEntry(rl).logPosition = NULL_POSITION THEN base
                                    ELSE LastEntry(rl).logPosition, end))
    ELSE IF end # NULL_POSITION THEN CommitLogPosition(rl, term, end)
    ELSE rl

(***************************************************************************)
(* MUT_CopiedTermNotWritten: a term that was copied from the leader's      *)
(* archive is written down after it has been copied, not before.           *)
(***************************************************************************)
MutStartReplication(s) == [s EXCEPT !.logReplication = TRUE]

(***************************************************************************)
(* MUT_OpensAtEnd: who copies a term writes it down where it ends, not     *)
(* where it begins.                                                        *)
(***************************************************************************)
MutReplicate(s, term, base, stop) ==
    LET wrong == IF base = NULL_POSITION THEN base ELSE stop
    IN  EnterFollowerState([s EXCEPT !.replicationLeadershipTermId = term,
                                     !.replicationTermBaseLogPosition = wrong,
                                     !.replicationStopPosition = stop], "FOLLOWER_LOG_REPLICATION")

(***************************************************************************)
(* MUT_OpensTooEarly: a term is written down one entry before it begins.   *)
(***************************************************************************)
MutOpensTooEarly(s, term, base) ==
    EnsureCoherent(s.recordingLog, s.snapshotLeadershipTermId, s.snapshotTermBaseLogPosition,
                   term, Max(0, base - 1), NULL_POSITION)

(***************************************************************************)
(* MUT_CatchupOpensNoTerm: who catches up does not write the term down     *)
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

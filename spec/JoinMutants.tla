----------------------------- MODULE JoinMutants ------------------------------
\* Mistakes about joining a leader late: copying terms, catching up, and the recording log. 2 has
\* led term 0 with 1, and they have committed its first entry. 2 has been elected again, and has
\* written and recorded the first entry of term 1. 1, which does not have that entry yet, is down. 0
\* has missed everything.
\*
\* From here all behaviours of 0 that joins are explored; the leader writes up to MaxPosition. Terms
\* are opened before their first byte is recorded (hardening HZ2): else RecordedTermIsKnown does not
\* hold.
EXTENDS MCBounds

Rules == INSTANCE Replication

Late ==
    Elected(2, <<1>>, 0) \o Records(2) \o Records(1)
    \o Does(1, "UpdateFollowerPosition") \o Arrival(1, 2) \o Advances(2, Members) \o Silence
    \o Commits(2, "UpdateLeaderPosition", Members) \o Arrival(2, 1) \o Silence \o Reads(1)
    \o EnterElections(<<1, 2>>) \o Elected(2, <<1>>, 0) \o Records(2) \o Dies(1)

JoinsInit == StartsAfter(<<Late>>)

-----------------------------------------------------------------------------
\* MUT_SeveralTermsAtOnce: a leader names the end of its log as the end of the next term.
MutLeaderNewLeadershipTerm(i, s, logTerm) ==
    [Rules!LeaderNewLeadershipTerm(i, s, logTerm) EXCEPT !.nextLogPosition = s.publicationPosition]

\* MUT_CatchupReportsTooMuch: a member in a catch-up reports the position at which it is to join.
MutFollowerCatchup(i, s, x) ==
    {[o EXCEPT !.sends = [k \in DOMAIN @ |->
                             [@[k] EXCEPT !.message.logPosition = s.catchupJoinPosition]]] :
        o \in Rules!FollowerCatchup(i, s, x)}

\* MUT_CatchupRunsAhead: a member in a catch-up processes everything that it records.
MutConsumeBound(s) == Rules!ConsumeBound([s EXCEPT !.notifiedCommitPosition = s.recordedPosition])

\* MUT_TermStaysOpen: a new term is written without closing the previous one.
MutEnsureCoherent(rl, initialTerm, initialBase, term, base, end) ==
    LET coherent == Rules!EnsureCoherent(rl, initialTerm, initialBase, term, base, end)
    IN  [k \in DOMAIN coherent |-> IF k = Len(rl) /\ k < Len(coherent) THEN rl[k] ELSE coherent[k]]

\* MUT_CopiedTermNotWritten: a term copied from the leader's archive is written after the copy.
MutStartReplication(s) == [s EXCEPT !.logReplication = TRUE]

\* MUT_OpensAtEnd: a member that copies a term writes it with its end as the base.
MutReplicate(s, term, base, stop) ==
    Rules!Replicate(s, term, IF base = NULL_POSITION THEN base ELSE stop, stop)

\* MUT_OpensTooEarly: a term is written with a base one entry too early.
MutOpensTooEarly(s, term, base) == Rules!OpenTerm(s, term, Max(0, base - 1))

\* MUT_CatchupOpensNoTerm: a member in a catch-up does not write the term first.
MutCatchupWithoutTerm(s) == [s EXCEPT !.electionState = "FOLLOWER_CATCHUP"]

\* MUT_TermEndsElsewhere: a term is closed one entry after its end.
MutTermEndsElsewhere(rl, term, end) == Rules!CommitLogPosition(rl, term, end + 1)
=============================================================================

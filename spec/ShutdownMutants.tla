--------------------------- MODULE ShutdownMutants ---------------------------
\* A clean shutdown, and mistakes about it: the members that a request ends, end at one position,
\* and lose nothing. Two members: 1 leads term 0, and 0 is a closed follower, so each entry needs
\* both. From here everything is explored but restarts, lost leaders and snapshots. The leader
\* writes up to MaxPosition, and may be asked to shut the cluster down at any moment. It ends at any
\* moment after that, as after its deadline.
EXTENDS MCBounds

Rules == INSTANCE Replication

ShutdownInit == Starts(After(Elected(1, <<0>>, 0)))

AtAnyTime(i) == TRUE
ReportsAgain(i) == IfQuiet(i) /\ member[i].electionState = "CLOSED"

TermEnd(i) == member[i].recordingLog[Len(member[i].recordingLog)].logPosition
Ended(i) == member[i].moduleState = "CLOSED" /\ TermEnd(i) # NULL_POSITION

\* INV: EndsTogether. Members that have ended have closed the term at one position.
EndsTogether ==
    \A i, j \in Members : Ended(i) /\ Ended(j) => TermEnd(i) = TermEnd(j)

\* INV: ShutdownLosesNothing. When all have ended, each has recorded and applied the same log, up to
\* the position at which the term is closed.
ShutdownLosesNothing ==
    (\A i \in Members : Ended(i)) =>
        \A i \in Members : log[i] = hist.committed /\ Len(log[i]) = TermEnd(i)

\* Goal: all have ended, with more than the first entry.
NeverShutDown == ~(\A i \in Members : Ended(i) /\ Len(log[i]) = 2)

-----------------------------------------------------------------------------
\* MUT_EndsEarly: a follower ends as soon as it knows the position.
MutEndsEarly(s) == s.terminationPosition # NULL_POSITION

\* MUT_WritesOn: a leader writes after it has named the position.
MutWritesOn(i, s, x) ==
    {[o EXCEPT !.next.terminationPosition = s.terminationPosition] :
        o \in Rules!AppendEntry(i, [s EXCEPT !.terminationPosition = NULL_POSITION], x)}

\* MUT_NamesCommitPosition: a leader asks all to end at its commit position.
MutNamesCommitPosition(i, s, x) ==
    {[o EXCEPT !.next.publicationPosition = s.publicationPosition] :
        o \in Rules!InitiateTermination(i, [s EXCEPT !.publicationPosition = s.commitPosition], x)}
=============================================================================

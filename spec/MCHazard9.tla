----------------------------- MODULE MCHazard9 ------------------------------
\* HZ9: a termination request survives its term.
\*
\* Before the tale member 0 leads term 0 and requests a termination. Member 2, which has just lost
\* its leader, notes it; then member 0 is gone. Member 1 leads term 1, which has two entries. Both
\* are committed. Member 2 has recorded them, but processes neither, because it has reached the
\* noted termination position.
\*
\* The tale: member 2 ends, and closes term 1 at its own commit position, two entries short. It
\* restarts and is elected in term 2, which it opens at the position at which it closed term 1. (In
\* upstream-fix member 1 restarts before, so it reports before it has replayed.) The election of
\* member 1 fails, and its log still ends with term 1; it canvasses, and member 2 answers.
\*
\* Without the tale all steps of members 1 and 2 are explored from its beginning: each may lose the
\* other, and a member whose module has ended starts again. Without the hardening the loss is among
\* them, with it there is none. The hardening has two parts: no termination is noted in an election
\* (MCBefore), and one that was noted before is forgotten when an election begins (MCNotedBefore).
EXTENDS MCBounds

Asked(noting) ==
    Elected(0, <<1, 2>>, 0) \o Records(0) \o Records(1) \o Records(2)
    \o Does(0, "InitiateTermination") \o noting
    \o Does(1, "EnterElection") \o Elected(1, <<2>>, 1) \o Records(1) \o Records(2)
    \o Does(2, "UpdateFollowerPosition") \o Arrival(2, 1) \o Advances(1, Members)
    \o Silence
    \o Writes(1) \o Records(1) \o Records(2) \o Does(2, "UpdateFollowerPosition") \o Arrival(2, 1)
    \o Advances(1, Members) \o Silence

MCBefore(n) == Asked(Does(2, "EnterElection") \o Arrival(0, 2) \o Silence)

MCNotedBefore(n) == Asked(Arrival(0, 2) \o Silence \o Does(2, "EnterElection"))

MCScript(n) ==
    Does(2, "Terminate")
    \o Restarts(2) \o Repeats(2, "Canvass", Members) \o Arrival(2, 1) \o Loss(2, 0) \o Arrival(1, 2)
    \o Joins(1, 2, 3)
    \o (IF IsUpstreamFix THEN Restarts(1) \o Does(2, "EnterElection") ELSE EnterElections(<<1, 2>>))
    \o Stands(2, 1) \o Loss(1, 0)
    \o Repeats(2, "LeaderLogReplication", Members) \o Arrival(2, 1) \o Loss(2, 0)
    \o (IF IsUpstreamFix THEN Reports(2, 1) \o Hearing(2, "LeaderLogReplication", Members) ELSE <<>>)
    \o Prepares(2, 0) \o Loss(2, 0) \o Loss(2, 1) \o Does(1, "ElectionError") \o Does(1, "ElectionInit")
    \o Repeats(1, "Canvass", Members) \o Loss(1, 0) \o Arrival(1, 2) \o Arrival(2, 1)

MCNothing(n) == <<>>
MCAbsent == 0
MCAnyTime(i) == TRUE
MCAfterItsEnd(i) == Playing \/ member[i].moduleState = "CLOSED"
=============================================================================

----------------------------- MODULE MCHazard1 ------------------------------
\* HZ1: the quorum position ignores terms.
\*
\* Before the tale member 2 leads term 0 with both others. It records the first entry of the term,
\* which no other member receives, and becomes silent. Member 1 leads term 1 with member 0 and has
\* recorded the first entry of that term, at the same position; member 0 does not have it yet. From
\* here one model explores all behaviours in which member 2 returns, with at most two messages under
\* way: it shows the commit.
\*
\* The tale of the other model, which shows the loss: member 2 canvasses; member 1 notes its
\* position and sends the quorum position; then member 1 is gone, and its messages are lost or
\* ignored. Member 0 loses its leader. From here all steps of members 0 and 2 are explored. The last
\* step commits another entry in the place of a committed one.
EXTENDS MCBounds

MCBefore(n) == TwoFirstEntries

\* A leader of 1.49 notes the log of a canvassing member only in its election. So here member 1 is
\* still in LEADER_READY when member 2 returns.
MCInElection(n) ==
    Elected(2, <<0, 1>>, 0) \o Records(2) \o EnterElections(<<0, 1>>) \o Stands(1, 0) \o Silence
    \o Repeats(1, "LeaderLogReplication", Members) \o Arrival(1, 0) \o Silence
    \o Prepares(1, 0) \o Silence

MCInit == Starts(After(MCBefore(0)))

MCBoundTerm(i, term) == i = 0 /\ term <= MaxTerm
MCBoundEnterElection(i) == i \in {0, 2}
MCOnlyTheReturning(i) == i = 2

MCScript(n) ==
    Does(2, "EnterElection") \o Repeats(2, "Canvass", {}) \o Arrival(2, 1) \o Loss(1, 2)
    \o Hearing(1, "UpdateLeaderPosition", Members) \o Commits(1, "UpdateLeaderPosition", Members)
    \o Loss(2, 0) \o Loss(1, 0) \o Loss(1, 2)
    \o Does(0, "EnterElection")

MCAbsent == 1
=============================================================================

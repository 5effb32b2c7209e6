----------------------------- MODULE MCHazard8 ------------------------------
\* HZ8: a leader that announces its own term names the same term as the next one in its log.
\*
\* Before the tale member 0 has won term 0 with members 1 and 2, with empty logs, and has opened the
\* term. The tale: member 0 announces itself once more. The message to member 2 is slow. Member 2
\* joins in the meantime, and member 0 writes and commits the first entry of the term with it. From
\* here all steps of members 0 and 2 are explored; member 2 may lose its leader.
EXTENDS MCBounds

MCBefore(n) ==
    Stands(0, 1) \o Silence \o Repeats(0, "LeaderLogReplication", Members)
    \o Arrival(0, 1) \o Arrival(0, 2) \o Silence
    \o (IF IsHardened("HZ5")
        THEN Joins(0, 1, 0) \o Silence \o Hearing(0, "LeaderLogReplication", Members) ELSE <<>>)
    \o Prepares(0, 0) \o Silence

MCScript(n) ==
    Repeats(0, "LeaderReady", Members) \o Loss(0, 1)
    \o Does(2, "FollowerReplay") \o Does(2, "FollowerLogInit") \o Does(2, "FollowerLogAwait")
    \o Does(2, "FollowerReady") \o Arrival(2, 0) \o OpensLog(0, Members)
    \o Records(0) \o Records(2) \o Does(2, "UpdateFollowerPosition") \o Arrival(2, 0)
    \o Advances(0, Members) \o Loss(0, 1)

MCAbsent == 1
MCBoundEnterElection(i) == Playing \/ i = 2
=============================================================================

----------------------------- MODULE MCHazard6 ------------------------------
\* HZ6: a replay of a follower that ends before the end of its log lowers the member's last log
\* term.
\*
\* Before the tale member 0 has led term 0 with two entries, then term 1 with one entry. Member 1
\* has all three, member 2 only the first. All three are committed.
\*
\* The tale: member 0 loses its followers and is elected in term 2 with the vote of member 2; member
\* 1 restarts. Member 0 has heard of member 2 only, so its announcement says that a quorum has
\* recorded one entry. Member 1 replays this entry, which is of term 0, and canvasses again. From
\* here all steps of members 0 and 1 are explored.
EXTENDS MCBounds

MCBefore(n) ==
    Elected(0, <<1, 2>>, 0) \o Records(0) \o Records(1) \o Records(2)
    \o Writes(0) \o Records(0) \o Records(1)
    \o EnterElections(<<0, 1>>) \o Elected(0, <<1>>, 2)
    \o Records(0) \o Records(1) \o Does(1, "UpdateFollowerPosition") \o Arrival(1, 0)
    \o Advances(0, Members) \o Silence

MCScript(n) ==
    EnterElections(<<0, 2>>) \o Stands(0, 2) \o Restarts(1)
    \o (IF IsUpstreamFix
        THEN Repeats(0, "LeaderLogReplication", {0, 2}) \o Loss(0, 1) \o Arrival(0, 2)
             \o Repeats(2, "Canvass", {}) \o Arrival(2, 0) \o Loss(2, 1) \o Arrival(0, 2)
             \o Does(2, "FollowerLogReplication") \o Repeats(2, "FollowerLogReplication", {})
             \o Arrival(2, 0)
        ELSE <<>>)
    \o Repeats(0, "LeaderLogReplication", {0, 2}) \o Arrival(0, 1) \o Loss(0, 2)
    \o Does(1, "FollowerReplay") \o Reads(1) \o Does(1, "FollowerReplay")

\* The same without a commit position: also in 1.49 the term stays lowered if an error ends a replay
\* before the end of the log. In Aeron the replay fails if the archive closes it (replayLogPoll).
MCInterrupted(n) ==
    EnterElections(<<0, 2>>) \o Stands(0, 2) \o Restarts(1)
    \o Repeats(0, "LeaderLogReplication", {0, 2}) \o Arrival(0, 1) \o Loss(0, 2)
    \o Does(1, "FollowerReplay") \o Reads(1) \o GivesUp(1)

\* With all hardenings but HZ6. Member 1 opens term 2 and reports so, then it restarts. Member 0
\* hears of member 2 only and announces that a quorum has recorded one entry.
MCAgain(n) ==
    EnterElections(<<0, 2>>) \o Stands(0, 2) \o Restarts(1)
    \o Repeats(0, "LeaderLogReplication", {0, 2}) \o Arrival(0, 1) \o Arrival(0, 2)
    \o Joins(0, 1, 3) \o Hearing(0, "LeaderLogReplication", Members) \o Prepares(0, 0)
    \o Loss(0, 1) \o Loss(0, 2) \o Restarts(1)
    \o Repeats(0, "LeaderReady", {0, 2}) \o Loss(0, 2) \o Arrival(0, 1)
    \o Does(1, "FollowerReplay") \o Reads(1) \o Does(1, "FollowerReplay")

MCAbsent == 2
=============================================================================

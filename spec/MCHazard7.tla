----------------------------- MODULE MCHazard7 ------------------------------
\* HZ7: a leader counts members as ready in its term that have not opened the term.
\*
\* Before the tale member 1 has led term 0, whose only entry all have recorded, and term 1 with
\* member 2. It has recorded the first entry of term 1, which no other member has.
\*
\* The tale: member 1 is elected again, in term 2, with the vote of member 0. Member 0 copies term 1
\* and reports its position in term 2, although it has no entry of term 2 on disk. Member 1 replays
\* and opens term 2. From here all steps of members 0 and 1 are explored.
EXTENDS MCBounds

MCBefore(n) ==
    Elected(1, <<0, 2>>, 0) \o Records(0) \o Records(1) \o Records(2)
    \o EnterElections(<<1, 2>>) \o Elected(1, <<2>>, 1) \o Records(1) \o EnterElections(<<0, 1>>)

MCScript(n) ==
    Stands(1, 0) \o Loss(0, 2)
    \o Repeats(1, "LeaderLogReplication", {1, 0}) \o Loss(1, 2) \o Arrival(1, 0)
    \o Repeats(0, "Canvass", {}) \o Arrival(0, 1) \o Loss(0, 2) \o Arrival(1, 0)
    \o Does(0, "FollowerLogReplication") \o Records(0)
    \o Repeats(0, "FollowerLogReplication", {}) \o Arrival(0, 1)
    \o Hearing(1, "LeaderLogReplication", {1, 0}) \o Hearing(1, "LeaderReplay", {1, 0}) \o Reads(1)
    \o Hearing(1, "LeaderReplay", {1, 0}) \o Loss(1, 0) \o Loss(1, 2) \o Does(1, "LeaderInit")

MCAbsent == 2
=============================================================================

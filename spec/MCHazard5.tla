----------------------------- MODULE MCHazard5 ------------------------------
\* HZ5: a new leader commits entries of older terms before a quorum has opened its own term.
\*
\* Before the tale member 1 has led term 0. All have recorded its first entry; only member 1 has the
\* second. All are in an election; member 1 has lost one election.
\*
\* The tale: member 0 is elected in term 1 with the vote of member 2, opens that term on disk, and
\* its messages are lost. (In upstream-fix member 2 receives its announcement, reports once, and
\* gives up.) Member 1 is elected in term 2 with the vote of member 2; member 2 copies the second
\* entry, and member 1 commits it. Then member 1 is gone, and member 0 restarts. Hardened, member 0
\* opens its term when it wins, and member 1 commits only when member 2 has opened term 2. From here
\* all steps of members 0 and 2 are explored.
EXTENDS MCBounds

MCBefore(n) ==
    Elected(1, <<0, 2>>, 0) \o Records(0) \o Records(1) \o Records(2) \o Writes(1) \o Records(1)
    \o EnterElections(<<0, 1, 2>>) \o Repeats(2, "Canvass", {}) \o Arrival(2, 1)
    \o Expires(1, "Canvass") \o Expires(1, "Nominate") \o Expires(1, "CandidateBallot") \o Silence

Wins == Stands(0, 2) \o Loss(2, 1)

Opens ==
    (IF IsUpstreamFix
     THEN Repeats(0, "LeaderLogReplication", {0, 2}) \o Loss(0, 1) \o Arrival(0, 2) \o Reports(0, 2)
     ELSE <<>>)
    \o Hearing(0, "LeaderLogReplication", {0, 2}) \o Hearing(0, "LeaderReplay", {0, 2}) \o Reads(0)
    \o Hearing(0, "LeaderReplay", {0, 2}) \o Loss(0, 1) \o Loss(0, 2) \o Does(0, "LeaderInit")

Copies ==
    (IF IsUpstreamFix THEN Does(2, "ElectionError") \o Does(2, "ElectionInit")
     ELSE Expires(2, "FollowerBallot"))
    \o Stands(1, 2) \o Loss(2, 0)
    \o Repeats(1, "LeaderLogReplication", {1, 2}) \o Loss(1, 0) \o Arrival(1, 2)
    \o Does(2, "FollowerLogReplication") \o Records(2)
    \o Repeats(2, "FollowerLogReplication", {}) \o Arrival(2, 1)

MCScript(n) ==
    Wins \o Opens \o Copies \o Hearing(1, "LeaderLogReplication", {1, 2})
    \o Hearing(1, "LeaderReplay", {1, 2}) \o Reads(1) \o Reads(1)
    \o Does(2, "ElectionError") \o Does(2, "ElectionInit") \o Restarts(0)

MCScriptHardened(n) ==
    Wins \o Copies \o Repeats(2, "Canvass", {}) \o Loss(2, 0) \o Arrival(2, 1) \o Arrival(1, 2)
    \o Repeats(2, "FollowerReplay", {}) \o Arrival(2, 1)
    \o Hearing(1, "LeaderLogReplication", {1, 2})
    \o Hearing(1, "LeaderReplay", {1, 2}) \o Reads(1) \o Reads(1)
    \o Does(2, "ElectionError") \o Does(2, "ElectionInit") \o Restarts(0)

MCAbsent == 1

\* The members' disks after Before. With hardening the election before it would have another result.
MCFirst ==
    LET recorded == [i \in Members |-> IF i = 1 THEN 2 ELSE 1]
        disk(i)  == Persistent(IF i = 1 THEN 1 ELSE 0, <<TermEntry(0, 0, NULL_POSITION)>>,
                               recorded[i], NULL_VALUE, 0, 0)
    IN  [Begin EXCEPT !.member = [i \in Members |->
                                     (CHOOSE o \in Restart(i, disk(i), NoInput) : TRUE).next],
                      !.log = [i \in Members |-> [k \in 1 .. recorded[i] |-> 0]]]

MCNothing(n) == <<>>
=============================================================================

---------------------------- MODULE HistoryMutants ----------------------------
\* A committed entry is replaced after every member that had committed it has restarted: no member's
\* state shows any more that it was committed. 2 has led term 0 and has committed the first entry
\* with 1. 1 is down. 2 has restarted, so its commit position is 0 again. 0 has an empty log. 0 and
\* 2 have heard each other canvass.
\*
\* From here everything is explored until the next leader has written MaxPosition entries. A
\* follower reports, and the leader counts, only when all entries are recorded: they are committed
\* in one step, so no shorter committed log is ever seen.
EXTENDS MCBounds

Forgotten ==
    Elected(2, <<0, 1>>, 0) \o Records(2) \o Records(1)
    \o Does(1, "UpdateFollowerPosition") \o Arrival(1, 2) \o Advances(2, Members) \o Silence
    \o Restarts(2) \o Dies(1) \o Does(0, "EnterElection") \o HearEachOther(0, 2)

HistoryInit == StartsAfter(<<Forgotten>>)

NoLeaderYet(i, term) == term <= MaxTerm /\ \A j \in Members : member[j].role # "LEADER"
RepeatsIfHeard(i) ==
    /\ IfQuiet(i)
    /\ \/ member[i].role = "LEADER" /\ InElection(member[i])
       \/ At(member[i], "CANVASS") /\ \E j \in Members : member[j].role = "LEADER"
       \/ Closed(member[i], "FOLLOWER") /\ member[i].recordedPosition = MaxPosition
WhenAllIsRecorded(i) ==
    IF Closed(member[i], "LEADER") /\ member[i].recordedPosition < MaxPosition THEN {} ELSE {Members}

-----------------------------------------------------------------------------
\* MUT_CommittedIsReplaced: no log counts as older than another.
MutNoLogIsOlder(t1, p1, t2, p2) == 0
=============================================================================

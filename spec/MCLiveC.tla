------------------------------ MODULE MCLiveC -------------------------------
\* L-C: a leader does not answer a member whose log ends with a newer term than its own.
\*
\* Before the tale member 2 leads term 0 with both others; no member has recorded anything. Members
\* 0 and 1 lose it. Member 0 is elected in term 1 with the vote of member 1 and opens the term on
\* disk. The ballot of member 1 times out, and it follows member 2 in term 0 again (HZ3). The
\* election of member 0 fails, and it canvasses. Member 1 catches up.
EXTENDS MCLive

MCBefore(n) ==
    Elected(2, <<0, 1>>, 0) \o EnterElections(<<0, 1>>) \o Stands(0, 1) \o Silence
    \o Hearing(0, "LeaderLogReplication", Members) \o Prepares(0, 0) \o Silence
    \o Expires(1, "FollowerBallot") \o Repeats(1, "Canvass", {}) \o Arrival(1, 2) \o Arrival(2, 1)
    \o Silence \o Does(0, "ElectionError") \o Does(0, "ElectionInit")
    \o Does(1, "FollowerReplay") \o Does(1, "FollowerCatchupInit") \o Arrival(1, 2)
    \o Does(1, "FollowerCatchupAwait") \o Records(2) \o Records(1)
    \o Repeats(1, "FollowerCatchup", {}) \o Arrival(1, 2) \o Arrival(2, 1)
    \o Advances(2, Members) \o Arrival(2, 1) \o Reads(1) \o Silence
    \o Does(1, "FollowerCatchup") \o Does(1, "FollowerLogInit") \o Does(1, "FollowerReady") \o Silence

MCScript(n) == <<>>
StaysOut == ~ClosedElection(0)
=============================================================================

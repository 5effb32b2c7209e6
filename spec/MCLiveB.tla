------------------------------ MODULE MCLiveB -------------------------------
\* L-B: a follower without a commit position waits for one for ever after its leader has gone, and
\* without it the others are no quorum.
\*
\* Before the tale member 0 has led term 0 with both others. All have recorded the first entry, and
\* none has heard that it is committed. Member 0 is elected again, in term 1, with the vote of
\* member 1. It has not heard of a quorum when it announces itself, so its announcement has commit
\* position 0. Member 1 follows it. Member 0 is gone; member 2 looks for a leader.
EXTENDS MCLive

MCBefore(n) ==
    Elected(0, <<1, 2>>, 0) \o Records(0) \o Records(1) \o Records(2)
    \o EnterElections(<<0, 1, 2>>) \o Stands(0, 1) \o Silence
    \o Repeats(0, "LeaderLogReplication", {0}) \o Arrival(0, 1) \o Silence

MCScript(n) == <<>>
MCAbsent == 0
MCMended == {"FOLLOWER_REPLAY"}
NobodyLeads == ~ClosedLeader
=============================================================================

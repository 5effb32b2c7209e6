------------------------------ MODULE MCLiveE -------------------------------
\* L-E: a member with a high candidate term vetoes one candidacy after another.
\*
\* Before the tale member 0 leads term 0 with both others. Member 2 loses it and runs for election
\* twice, in terms 1 and 2; its requests are lost. Member 0 has recorded the first entry of term 0
\* in the meantime, so only its log can win. Then all are in an election.
EXTENDS MCLive

Rules == INSTANCE Replication

StandsUnelected(i, j) ==
    Repeats(j, "Canvass", {}) \o Arrival(j, i) \o Expires(i, "Canvass") \o Expires(i, "Nominate")
    \o Expires(i, "CandidateBallot") \o Silence

MCBefore(n) ==
    Elected(0, <<1, 2>>, 0) \o Records(0) \o EnterElections(<<1, 2>>)
    \o StandsUnelected(2, 1) \o StandsUnelected(2, 1) \o Does(0, "EnterElection")

MCScript(n) == <<>>

\* A ballot that is lost (V4). Member 0 is gone. Member 2 has used up term 1 with a candidacy of
\* which nobody heard, and member 1 is about to ask it for its vote in that term.
MCLostBefore(n) ==
    Elected(0, <<1, 2>>, 0) \o EnterElections(<<1, 2>>) \o StandsUnelected(2, 1)
    \o Repeats(2, "Canvass", {}) \o Arrival(2, 1) \o Expires(1, "Canvass") \o Expires(1, "Nominate")
    \o Silence

MCGone == 0

NeverLost == ~(At(member[1], "CANVASS") /\ member[1].candidateTermId = 1)
NobodyLeads == ~ClosedLeader

\* All three are there, the leader has given up, and both others wait for a commit position: L-B,
\* although no member is lost.
NobodyIsStuck ==
    ~(/\ member[0].role # "LEADER"
      /\ \A i \in {1, 2} :
             /\ At(member[i], "FOLLOWER_REPLAY") /\ member[i].replayStopPosition = NULL_POSITION
             /\ member[i].notifiedCommitPosition = 0
             /\ member[i].commitPosition < member[i].appendPosition)

\* MUT_WaitsForVotes: a candidate that was refused does not give up.
MutWaitsForVotes(i, s, x) ==
    {o \in Rules!CandidateBallot(i, s, x) :
        o.next.electionState = "CANVASS" => \A j \in Members : s.members[j].vote # 0}
=============================================================================

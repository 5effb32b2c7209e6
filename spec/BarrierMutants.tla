---------------------------- MODULE BarrierMutants ----------------------------
\* A leader commits entries of older terms before a quorum has opened its own: the situation of
\* figure 8 in Raft's paper, with all hardenings. The script is the one of MCHazard5. Member 1 has
\* two entries of term 0, the others one. 0 has won term 1, and no other member has heard of it. 1
\* has won term 2; 2 has copied the second entry and has reported it, and has not opened term 2.
\*
\* From here all behaviours are explored in which 1 acts alone, without receiving or sending
\* messages; the election of 2 may fail; 0 may restart. The steps of 1 come first, until it has
\* committed its log.
EXTENDS MCHazard5

BarrierInit ==
    LET tale == Played(<<MCFirst>>, Wins \o Copies) IN Starts(tale[Len(tale)])

LeaderIsAlone ==
    channel'[1] = channel[1] /\ \A i \in Members : Len(channel'[i][1]) >= Len(channel[i][1])

TermsOfTheFirst(i, term) == i = 0 /\ term <= MaxTerm
RepeatsAlone(i) == i # 1 /\ \A j \in Members \ {1} : channel[i][j] = <<>>
LeaderRestarts(i) == i = 0 /\ member[0].role = "LEADER"
CopyFails(i) == i = 2 /\ At(member[2], "FOLLOWER_LOG_REPLICATION")
NothingIsWritten(position) == FALSE
Passes(i) ==
    \E o \in LeaderLogReplication(i, member[i], [NoInput EXCEPT !.active = Members]) :
        At(o.next, "LEADER_REPLAY")
LeaderFirst(i) ==
    IF i = 1 THEN Passes(1) \/ (At(member[1], "LEADER_REPLAY") /\ member[1].commitPosition < MaxPosition)
    ELSE InternalFirst(i)

-----------------------------------------------------------------------------
\* MUT_Figure8: a member that has reported the position counts for the new term, whatever its
\* report.
MutReplicasAreEnough(s, term, position, active) ==
    Cardinality({j \in active : s.members[j].logPosition >= position}) >= Quorum
=============================================================================

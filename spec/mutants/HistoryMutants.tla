---------------------------- MODULE HistoryMutants ----------------------------
(***************************************************************************)
(* Where it is found that a committed entry is replaced after every member *)
(* that had committed it has restarted: no member's state says any more    *)
(* that it was committed.                                                  *)
(*                                                                         *)
(* 2 has led term 0 and with 1 it has committed the first entry.  1 is     *)
(* down.  2 has restarted, so that its commit position is 0 again.  0 has  *)
(* an empty log.  0 and 2 have heard each other canvass.                   *)
(*                                                                         *)
(* From here everything is explored up to where the next leader has        *)
(* written MaxPosition entries.  A follower reports, and the leader        *)
(* counts, when they have recorded them all: they are committed in one     *)
(* step, and no shorter log is ever seen to be committed.                  *)
(***************************************************************************)
EXTENDS MutantScenes

CONSTANT MaxPosition

Forgotten ==
    LET a == Keep(Keep(Elected(Begin, 2, {0, 1}), 2), 1)
        b == Silence(Commit(Get(Quiet(a, 1, "UpdateFollowerPosition"), 1, 2), 2))
        c == Down(Quiet(b, 2, "Restart"), 1)
    IN  HearEachOther(Quiet(c, 0, "EnterElection"), 0, 2)

HistoryInit == StartsWith({Forgotten})

NoLeaderYet(i, term) == term <= MaxTerm /\ \A j \in Members : member[j].role # "LEADER"
UpToMax(position) == position <= MaxPosition
Repeats(i) ==
    /\ NotAgain(i)
    /\ \/ member[i].role = "LEADER" /\ InElection(member[i])
       \/ At(member[i], "CANVASS") /\ \E j \in Members : member[j].role = "LEADER"
       \/ Closed(member[i], "FOLLOWER") /\ member[i].recordedPosition = MaxPosition
WhenAllIsRecorded(i) ==
    IF Closed(member[i], "LEADER") /\ member[i].recordedPosition < MaxPosition THEN {} ELSE {Members}
InternalFirst(i) == member[i].electionState \in {"LEADER_INIT", "FOLLOWER_LOG_INIT", "INIT"}

-----------------------------------------------------------------------------
(***************************************************************************)
(* MUT_CommittedIsReplaced: no log is older than another.                  *)
(***************************************************************************)
MutNoLogIsOlder(t1, p1, t2, p2) == 0
=============================================================================

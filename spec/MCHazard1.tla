----------------------------- MODULE MCHazard1 ------------------------------
(***************************************************************************)
(* HZ1: the quorum position ignores terms.                                 *)
(*                                                                         *)
(* Before the tale member 2 leads term 0 with both others, records the     *)
(* term's first entry, which nobody else gets, and falls silent.  Member 1 *)
(* leads term 1 with member 0 and has recorded that term's first entry, at *)
(* the same position; member 0 has not got it yet.                         *)
(*                                                                         *)
(* From here one model explores everything in which member 2 comes back,   *)
(* within two messages under way: it shows the commit.                     *)
(*                                                                         *)
(* The other shows the loss.  Its tale: member 2 canvasses; member 1 takes *)
(* note of its position and tells how much a quorum has; then member 1 is  *)
(* gone, and what it said was lost or ignored.  Member 0 loses it.  From   *)
(* here everything is explored that members 0 and 2 do.  It ends in a step *)
(* in which something else is committed where an entry had been committed  *)
(* before, so the protocol as it is does not refine AbstractLog.tla.       *)
(***************************************************************************)
EXTENDS MCBounds

MCBefore(n) ==
    Elected(2, <<0, 1>>, 0) \o Records(2) \o EnterElections(<<0, 1>>) \o Elected(1, <<0>>, 0)
    \o Records(1)

(***************************************************************************)
(* A leader of 1.49 notes what a canvassing member has recorded only in    *)
(* its election.  So here member 1 is still in LEADER_READY when member 2  *)
(* comes back.                                                             *)
(***************************************************************************)
MCInElection(n) ==
    Elected(2, <<0, 1>>, 0) \o Records(2) \o EnterElections(<<0, 1>>) \o Stands(1, 0) \o Silence
    \o Repeats(1, "LeaderLogReplication", Members) \o Arrival(1, 0) \o Silence
    \o Prepares(1, 0) \o Silence

MCInit == Starts(After(MCBefore(0)))

MCBoundTerm(i, term) == i = 0 /\ term <= MaxTerm
MCBoundEnterElection(i) == i \in {0, 2}
MCOnlyTheReturning(i) == i = 2

MCScript(n) ==
    Does(2, "EnterElection") \o Repeats(2, "Canvass", {}) \o Arrival(2, 1) \o Loss(1, 2)
    \o Hearing(1, "UpdateLeaderPosition", Members) \o Commits(1, "UpdateLeaderPosition", Members)
    \o Loss(2, 0) \o Loss(1, 0) \o Loss(1, 2)
    \o Does(0, "EnterElection")

MCAbsent == 1
=============================================================================

----------------------------- MODULE MCHazard6 ------------------------------
(***************************************************************************)
(* HZ6: a follower's replay that ends short of its log lowers the term     *)
(* that the member believes its log to end with.                           *)
(*                                                                         *)
(* Before the tale member 0 has led term 0, which wrote two entries, then  *)
(* term 1, which wrote one; member 1 has all three and member 2 only the   *)
(* first.  All three are committed.                                        *)
(*                                                                         *)
(* The tale: member 0 loses its followers and is elected in term 2 with    *)
(* member 2's vote; member 1 restarts.  Member 0's announcement says that  *)
(* one entry is recorded by a quorum, for it has heard of member 2 alone.  *)
(* Member 1 replays that one, which is of term 0, and canvasses again.     *)
(*                                                                         *)
(* From here everything is explored that members 0 and 1 do.               *)
(***************************************************************************)
EXTENDS MCBounds

MCBefore(n) ==
    Elected(0, <<1, 2>>, 0) \o Records(0) \o Records(1) \o Records(2)
    \o Writes(0) \o Records(0) \o Records(1)
    \o EnterElections(<<0, 1>>) \o Elected(0, <<1>>, 2)
    \o Records(0) \o Records(1) \o Does(1, "UpdateFollowerPosition") \o Arrival(1, 0)
    \o Advances(0, Members) \o Silence

MCScript(n) ==
    EnterElections(<<0, 2>>) \o Stands(0, 2) \o Restarts(1)
    \o (IF UpstreamFix
        THEN Repeats(0, "LeaderLogReplication", {0, 2}) \o Loss(0, 1) \o Arrival(0, 2)
             \o Repeats(2, "Canvass", {}) \o Arrival(2, 0) \o Loss(2, 1) \o Arrival(0, 2)
             \o Does(2, "FollowerLogReplication") \o Repeats(2, "FollowerLogReplication", {})
             \o Arrival(2, 0)
        ELSE <<>>)
    \o Repeats(0, "LeaderLogReplication", {0, 2}) \o Arrival(0, 1) \o Loss(0, 2)
    \o Does(1, "FollowerReplay") \o Reads(1) \o Does(1, "FollowerReplay")

(***************************************************************************)
(* The same without a commit position: in 1.49, too, a replay that an      *)
(* error ends in the midst of the log leaves the term lowered.  Aeron's    *)
(* fails so when its archive closes the replay (replayLogPoll).            *)
(***************************************************************************)
MCInterrupted(n) ==
    EnterElections(<<0, 2>>) \o Stands(0, 2) \o Restarts(1)
    \o Repeats(0, "LeaderLogReplication", {0, 2}) \o Arrival(0, 1) \o Loss(0, 2)
    \o Does(1, "FollowerReplay") \o Reads(1) \o GivesUp(1)

MCAbsent == 2
=============================================================================

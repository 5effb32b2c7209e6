-------------------------- MODULE MCStepsOfCluster --------------------------
(***************************************************************************)
(* Is each step of the reduced cluster of MCTwoElections one of Cluster?   *)
(*                                                                         *)
(* The behaviours are those of MCTwoElections.  Of each of their steps     *)
(* StepsOfCluster says: in Cluster, within the same bounds on terms,       *)
(* positions, crashes and errors, and with any input that Cluster allows,  *)
(* somebody takes an action after which members, logs and history are the  *)
(* same, and the network too once messages have been lost: LossyTake.      *)
(* There the channels have room for whatever is sent.  With room for one   *)
(* message Cluster would keep the first of two to the same member, and     *)
(* here it may be the second.  GoesOnCanvassing is the one exception.  So  *)
(* whatever MCTwoElections and its variants find, but for that, Cluster    *)
(* can do.                                                                 *)
(*                                                                         *)
(* That the reduction leaves out nothing is not said here.                 *)
(***************************************************************************)
EXTENDS MCReduction

Room == 100

Unreduced ==
    INSTANCE MCReduction WITH Reduced <- FALSE, ChannelCapacity <- Room, NetworkCapacity <- Room

StepsOfCluster == [][Unreduced!Next]_vars

(***************************************************************************)
(* Mistakes in a reduction, each of which StepsOfCluster must find: a      *)
(* leader writes two entries in one step; a message gets under way twice.  *)
(* A third model takes GoesOnCanvassing out (Never).                       *)
(***************************************************************************)
WritesTwo(i) ==
    LET k == member[i].publicationPosition + 2
    IN  /\ Closed(member[i], "LEADER")
        /\ NoUrgency /\ BoundAppend(k)
        /\ Tick(i, "AppendEntry", [NoInput EXCEPT !.position = k])

SentTwice(ch, i, sends, kept) ==
    IF kept = {} THEN ch
    ELSE LET k == CHOOSE k \in kept : TRUE
         IN  [ch EXCEPT ![i][sends[k].to] = <<sends[k].message, sends[k].message>>]
=============================================================================

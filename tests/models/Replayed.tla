------------------------------ MODULE Replayed ------------------------------
(***************************************************************************)
(* A given behaviour, step by step, so that StepsOfCluster can be checked  *)
(* of it.                                                                  *)
(***************************************************************************)
EXTENDS MCStepsOfCluster

CONSTANT Behaviour    \* a sequence of [member, channel, log, hist, auxFaults]

VARIABLE auxStep

ReplayedInit ==
    /\ Starts(Behaviour[1]) /\ auxFaults = Behaviour[1].auxFaults
    /\ auxStep = 1

ReplayedNext ==
    /\ auxStep < Len(Behaviour)
    /\ auxStep' = auxStep + 1
    /\ Becomes(Behaviour[auxStep + 1]) /\ auxFaults' = Behaviour[auxStep + 1].auxFaults
=============================================================================

---------------------------- MODULE AbstractLog -----------------------------
(***************************************************************************)
(* A replicated log as its users see it: one sequence of entries that only *)
(* ever grows, and members that have each applied a prefix of it.          *)
(*                                                                         *)
(* No terms, no leaders, no messages.  MCRefinement.tla shows by TLC that  *)
(* the cluster, with all hardenings in force, does nothing else: what was  *)
(* committed at a position stays, everybody applies the same there, and    *)
(* nothing is applied before it is committed.                              *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANT Appliers    \* the members that apply the log

VARIABLES
    committed,  \* the sequence of entries committed so far
    applied     \* [Appliers -> the entries applied, in order]

logVars == <<committed, applied>>

StartsWith(a, b) == Len(b) <= Len(a) /\ SubSeq(a, 1, Len(b)) = b

(***************************************************************************)
(* Commit(i): member i applies entries that no member has applied.         *)
(* They follow what is committed; with this they are.                      *)
(***************************************************************************)
Commit(i) ==
    /\ Len(applied'[i]) > Len(committed)
    /\ StartsWith(applied'[i], committed)
    /\ committed' = applied'[i]
    /\ \A j \in Appliers \ {i} : applied'[j] = applied[j]

(***************************************************************************)
(* Apply(i): member i applies more of what is committed.                   *)
(***************************************************************************)
Apply(i) ==
    /\ Len(applied'[i]) > Len(applied[i])
    /\ StartsWith(committed, applied'[i])
    /\ committed' = committed
    /\ \A j \in Appliers \ {i} : applied'[j] = applied[j]

(***************************************************************************)
(* Recover(i): member i restarts from a snapshot, which is a prefix of     *)
(* what it has applied before.                                             *)
(***************************************************************************)
Recover(i) ==
    /\ StartsWith(applied[i], applied'[i])
    /\ committed' = committed
    /\ \A j \in Appliers \ {i} : applied'[j] = applied[j]

LogInit == committed = <<>> /\ applied = [i \in Appliers |-> <<>>]

LogNext == \E i \in Appliers : Commit(i) \/ Apply(i) \/ Recover(i)

LogSpec == LogInit /\ [][LogNext]_logVars
=============================================================================

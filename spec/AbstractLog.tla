---------------------------- MODULE AbstractLog -----------------------------
(***************************************************************************)
(* A replicated log as its users see it: one sequence of entries that only *)
(* grows, and members that have each applied a prefix of it.               *)
(*                                                                         *)
(* There are no terms, no leaders and no messages.  MCRefinement.tla shows *)
(* by TLC that the cluster with all hardenings does nothing else: a        *)
(* committed entry stays committed at its position, all members apply the  *)
(* same entry there, and no member applies an entry before it is           *)
(* committed.                                                              *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANT Appliers    \* the members that apply the log

VARIABLES
    committed,  \* the sequence of entries committed so far
    applied     \* [Appliers -> the entries applied, in order]

logVars == <<committed, applied>>

StartsWith(a, b) == Len(b) <= Len(a) /\ SubSeq(a, 1, Len(b)) = b

(***************************************************************************)
(* Commit(i): member i applies entries that no member has applied.  They   *)
(* follow the committed entries, and are committed by this step.           *)
(***************************************************************************)
Commit(i) ==
    /\ Len(applied'[i]) > Len(committed)
    /\ StartsWith(applied'[i], committed)
    /\ committed' = applied'[i]
    /\ \A j \in Appliers \ {i} : applied'[j] = applied[j]

(***************************************************************************)
(* Apply(i): member i applies further committed entries.                   *)
(***************************************************************************)
Apply(i) ==
    /\ Len(applied'[i]) > Len(applied[i])
    /\ StartsWith(committed, applied'[i])
    /\ committed' = committed
    /\ \A j \in Appliers \ {i} : applied'[j] = applied[j]

(***************************************************************************)
(* Recover(i): member i restarts from a snapshot.  A snapshot is a prefix  *)
(* of the entries that the member has applied.                             *)
(***************************************************************************)
Recover(i) ==
    /\ StartsWith(applied[i], applied'[i])
    /\ committed' = committed
    /\ \A j \in Appliers \ {i} : applied'[j] = applied[j]

LogInit == committed = <<>> /\ applied = [i \in Appliers |-> <<>>]

LogNext == \E i \in Appliers : Commit(i) \/ Apply(i) \/ Recover(i)

LogSpec == LogInit /\ [][LogNext]_logVars
=============================================================================

---------------------------- MODULE MCUnrefined -----------------------------
(***************************************************************************)
(* The protocol as it is does not refine AbstractLog.tla: the tale of      *)
(* MCHazard1Loss.tla ends in a step in which something else is committed   *)
(* where an entry had been committed before.                               *)
(***************************************************************************)
EXTENDS MCHazard1Loss

Abstract == INSTANCE AbstractLog WITH
    Appliers  <- Members,
    committed <- hist.committed,
    applied   <- [i \in Members |-> CommittedPrefix(i)]

Refines == Abstract!LogSpec
=============================================================================

----------------------------- MODULE MCLogFive ------------------------------
(***************************************************************************)
(* Five members with all hardenings: every step of the cluster is a        *)
(* sequence of steps of Log.tla, in random behaviours.                     *)
(***************************************************************************)
EXTENDS MCFive, FollowsLog
=============================================================================

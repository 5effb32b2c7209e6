---------------------------- MODULE MCSingleNode ----------------------------
(***************************************************************************)
(* A cluster of one: no ballot, each start leads the next term at once.    *)
(*                                                                         *)
(* Bounds: terms and positions; restarts, errors, lost leaders and         *)
(* snapshots as often as the terms allow.                                  *)
(***************************************************************************)
EXTENDS Properties

CONSTANTS MaxTerm, MaxPosition

MayOpenTerm(i) == Max(member[i].persistedCandidateTermId, member[i].moduleLeadershipTermId) < MaxTerm

MCBoundTerm(i, term) == term <= MaxTerm
MCBoundAppend(position) == position <= MaxPosition
MCBoundElection(i) == MayOpenTerm(i)
MCNever(i) == FALSE
=============================================================================

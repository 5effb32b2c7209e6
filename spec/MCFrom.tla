------------------------------- MODULE MCFrom -------------------------------
(***************************************************************************)
(* From a given moment on: which steps lead to the nearest loss?           *)
(*                                                                         *)
(* `canvass check --from` gives From, the cluster at a moment of a run or  *)
(* as members find it on their disks, with ranks for positions: an entry   *)
(* is what lies between two positions that somebody knows.  TLC searches   *)
(* breadth first, so that the behaviour it finds is a shortest one within  *)
(* the bounds: those of MCTwoElections, without the hardenings, and        *)
(* MaxSteps.                                                               *)
(*                                                                         *)
(* Leaders write one entry more, or two of different terms.  Any member    *)
(* may lose its leader or its followers, stand, and crash.  What is under  *)
(* way at the beginning stays so until it arrives; of what is sent later   *)
(* as much gets through as MaxUnderWay lets.                               *)
(*                                                                         *)
(* The model in the manifest is the moment of HZ1: see Near.               *)
(***************************************************************************)
EXTENDS MCTwoElections

CONSTANTS
    From,      \* [member, channel, log, hist]
    MaxSteps   \* behaviours are searched up to this length

FromInit ==
    Starts(From) /\ auxFaults = 0

(***************************************************************************)
(* NearEnough: of a step, and so an ACTION_CONSTRAINT.  Of a state, TLC    *)
(* 2.15 and newer ones do not mean the same by its level.                  *)
(***************************************************************************)
NearEnough == TLCGet("level") <= MaxSteps

(***************************************************************************)
(* Near: the story of MCHazard1.  Member 2 has an entry of term 0 that     *)
(* nobody else has, and member 1 leads term 1 with member 0.               *)
(***************************************************************************)
Near ==
    After(Elected(2, <<0, 1>>, 0) \o Records(2) \o EnterElections(<<0, 1>>) \o Elected(1, <<0>>, 0)
          \o Records(1))
=============================================================================

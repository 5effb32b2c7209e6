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
EXTENDS MCTwoElections, TLC

CONSTANTS
    From,      \* [member, channel, log, hist]
    MaxSteps   \* behaviours are searched up to this length

FromInit ==
    /\ member = From.member /\ channel = From.channel /\ log = From.log /\ hist = From.hist
    /\ auxCrashes = 0

NearEnough == TLCGet("level") <= MaxSteps

(***************************************************************************)
(* Near: the story of MCHazard1.  Member 2 has an entry of term 0 that     *)
(* nobody else has, and member 1 leads term 1 with member 0.               *)
(***************************************************************************)
Near ==
    LET a == Keep(Elected(Begin, 2, {0, 1}), 2)
        b == Elected(EnterElections(a, {0, 1}), 1, {0})
    IN  Keep(b, 1)
=============================================================================

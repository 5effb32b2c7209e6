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
(* may lose its leader or its followers, stand, and crash.                 *)
(*                                                                         *)
(* The messages under way at the beginning are in From.channel.  Each may  *)
(* arrive at any step, or never; then those before it in its channel are   *)
(* lost.  MaxUnderWay is greater than their number, and each channel has   *)
(* room for one more than at the beginning: none of them keeps a later     *)
(* message from being sent.                                                *)
(*                                                                         *)
(* The models in the manifest begin near the moment of HZ1: see Near.      *)
(***************************************************************************)
EXTENDS MCTwoElections

CONSTANTS
    From,      \* [member, channel, log, hist]
    MaxSteps   \* behaviours are searched up to this length

(***************************************************************************)
(* The network.  A message that its receiver would ignore arrives only if  *)
(* a new message needs its room.                                           *)
(***************************************************************************)
FRHasRoom(ch, i, j) == Len(ch[i][j]) <= Len(From.channel[i][j])

FRMayArrive(i, j) ==
    {k \in DOMAIN channel[i][j] :
        \/ Matters(i, [to |-> j, message |-> channel[i][j][k]])
        \/ ~FRHasRoom(channel, i, j)
        \/ InFlight(channel) >= MaxUnderWay}

FromInit ==
    Starts(From) /\ auxFaults = 0

(***************************************************************************)
(* NearEnough: of a step, and so an ACTION_CONSTRAINT.  Of a state, TLC    *)
(* 2.15 and newer ones do not mean the same by its level.                  *)
(***************************************************************************)
NearEnough == TLCGet("level") <= MaxSteps

(***************************************************************************)
(* Moments for the models of the manifest.  Near: the story of MCHazard1.  *)
(* Member 2 has an entry of term 0 that nobody else has, and member 1      *)
(* leads term 1 with member 0.  NearFull: what member 2 said as leader is  *)
(* still on its way to member 1, who ignores it.  NearLate: member 2 has   *)
(* canvassed since, and that comes behind.                                 *)
(***************************************************************************)
Story ==
    Elected(2, <<0, 1>>, 0) \o Records(2) \o EnterElections(<<0, 1>>) \o Elected(1, <<0>>, 0)
    \o Records(1)

WithOldCommit(c) == [c EXCEPT !.channel[2][1] = <<CommitPosition(0, 0, 2)>> \o @]

Near == After(Story)
NearFull == WithOldCommit(Near)
NearLate == WithOldCommit(After(Story \o Does(2, "EnterElection") \o Repeats(2, "Canvass", {})))
=============================================================================

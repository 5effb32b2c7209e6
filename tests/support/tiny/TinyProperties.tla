--------------------------- MODULE TinyProperties ---------------------------
VARIABLES member, channel

(***************************************************************************)
(* INV: OneNominee.  No two members are nominated at once.                 *)
(* Broken by everybody who does not listen.                                *)
(***************************************************************************)
OneNominee == ~(member[0].electionState = "NOMINATE" /\ member[1].electionState = "NOMINATE")

(***************************************************************************)
(* INV: NothingLost.  A goal: its violation shows a loss.                  *)
(***************************************************************************)
NothingLost == ~(member[0].electionState = "NOMINATE" /\ channel[0][1] = <<>>)

TypeOK == \A i \in {0, 1} : member[i].electionState \in {"CANVASS", "NOMINATE"}
=============================================================================

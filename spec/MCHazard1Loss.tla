--------------------------- MODULE MCHazard1Loss ----------------------------
(***************************************************************************)
(* HZ1 to its end: what a leader commits with a stale member's report is   *)
(* lost.  MCHazard1 shows the commit.                                      *)
(*                                                                         *)
(* Before the tale member 2 has led term 0 with both others and recorded   *)
(* its first entry, which nobody else got.  Member 1 leads term 1 with     *)
(* member 0 and has recorded that term's first entry, at the same          *)
(* position; member 0 has not got it yet.                                  *)
(*                                                                         *)
(* The tale: member 2 canvasses; member 1 takes note of its position and   *)
(* tells how much a quorum has; then member 1 is gone, and what it said    *)
(* was lost or ignored.  Member 0 loses it.                                *)
(*                                                                         *)
(* From here everything is explored that members 0 and 2 do.               *)
(***************************************************************************)
EXTENDS Script

MCBefore(n) ==
    Elected(2, <<0, 1>>, 0) \o Records(2) \o EnterElections(<<0, 1>>) \o Elected(1, <<0>>, 0)
    \o Records(1)

MCScript(n) ==
    Does(2, "EnterElection") \o Repeats(2, "Canvass", {}) \o Arrival(2, 1) \o Loss(1, 2)
    \o Hearing(1, "UpdateLeaderPosition", Members) \o Commits(1, "UpdateLeaderPosition", Members)
    \o Loss(2, 0) \o Loss(1, 0) \o Loss(1, 2)
    \o Does(0, "EnterElection")

MCAbsent == 1
=============================================================================

----------------------------- MODULE MCElection -----------------------------
(***************************************************************************)
(* The election of one term, from CANVASS of all to one closed leader and  *)
(* closed followers, messages included.                                    *)
(*                                                                         *)
(* Bounds: two of the three members stand, once; no entry but the leader's *)
(* first; no restarts, no errors, and nobody loses a leader once it has    *)
(* one.  Two messages at most are under way.  A member repeats its         *)
(* periodic message only when none of its own is under way, and a closed   *)
(* one does not; what the third member says while it canvasses is lost, so *)
(* that the two stand on a quorum.  A leader hears of everybody: with      *)
(* equal and empty logs that makes no difference.  Internal steps that no  *)
(* other member can see, and recording, come first.                        *)
(***************************************************************************)
EXTENDS MCBounds

MCBoundTerm(i, term) == term <= MaxTerm /\ i # 2
MCBoundInterval(i) == /\ member[i].electionState \notin {"NOMINATE", "CLOSED"}
                      /\ i = 2 => member[i].electionState # "CANVASS"
                      /\ IfQuiet(i)

(***************************************************************************)
(* The archive is as fast as can be here.                                  *)
(***************************************************************************)
MCUrgent(i) ==
    \/ ReplayFirst(i)
    \/ MayRecord(i)
    \/ /\ At(member[i], "CANVASS")
       /\ i # 2 /\ IsUnanimousCandidate(i, member[i])
=============================================================================

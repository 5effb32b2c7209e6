------------------------------- MODULE MCFive -------------------------------
(***************************************************************************)
(* Five members, all hardenings, by random simulation: behaviours much     *)
(* longer and richer than an exhaustive search reaches.                    *)
(*                                                                         *)
(* TLC draws each step evenly from all that are possible, so what is rare  *)
(* in a cluster has to be rare in Next: a member repeats its periodic      *)
(* message only when nothing of its own is under way, takes its internal   *)
(* steps first, and fails, restarts, loses its leader or a message only in *)
(* one of Rarity states, picked by some digits of the state.  (A draw of   *)
(* TLC's own would do too, but it cannot rebuild a trace with one.)        *)
(***************************************************************************)
EXTENDS MCBounds

CONSTANT Rarity

Digits(i) ==
    7 * InFlight(channel) + 11 * Cardinality(hist.votes) + 13 * member[i].recordedPosition
    + 17 * member[i].candidateTermId + 19 * member[i].members[(i + 1) % MemberCount].logPosition
    + 23 * Len(channel[(i + 2) % MemberCount][i])
MCRarely(i) == (Digits(i) + i) % Rarity = 0
MCRarely2(i, j) == (Digits(i) + j) % Rarity = 0
MCActiveSets(i) == {Members} \cup {a \in SUBSET Members : i \in a /\ Cardinality(a) = Quorum}
=============================================================================

---------------------------- MODULE MCRefinement ----------------------------
(***************************************************************************)
(* Two leaderships, with all hardenings: every step of the cluster is a    *)
(* step of AbstractLog.tla, or changes nothing there; and all safety       *)
(* properties hold.                                                        *)
(*                                                                         *)
(* The first leadership is told: member 0 leads term 0 with the others,    *)
(* whose logs are empty (MCElection.tla explores what elections of equal   *)
(* logs can do), and writes the first entry.  If Told is "lost", members 1 *)
(* and 2 have lost it before they record anything.  If Told is "won",      *)
(* member 2 has recorded the entry, both have lost member 0, and member 2  *)
(* has won term 1 with the vote of member 1, which lacks it.               *)
(*                                                                         *)
(* From there everything is explored in which the leaders write up to      *)
(* MaxPosition entries in all, the members of Candidates stand in terms up *)
(* to MaxTerm, those of Impatient lose their leader or their followers at  *)
(* any time and any number of times, and those of Fragile restart so.      *)
(*                                                                         *)
(* Bounds: one message is under way on a channel and NetworkCapacity in    *)
(* all, what exceeds that is lost; a member repeats its periodic message   *)
(* only when none of its own is under way; a leader hears of everybody.    *)
(* Steps without sends that read and change nothing but the own state come *)
(* first.                                                                  *)
(***************************************************************************)
EXTENDS Story

CONSTANTS MaxTerm, MaxPosition, Told, Candidates, Impatient, Fragile

Abstract == INSTANCE AbstractLog WITH
    Appliers  <- Members,
    committed <- hist.committed,
    applied   <- [i \in Members |-> CommittedPrefix(i)]

Refines == Abstract!LogSpec

Offer == ElectionNewLeadershipTerm(0, Stand(Begin, 0, 1).member[0], NULL_VALUE, 0)

(***************************************************************************)
(* Hardened, the followers come before the leader: it waits until a quorum *)
(* has opened its term.                                                    *)
(***************************************************************************)
First ==
    LET Follow(c, j) ==
            LET heard == Get([c EXCEPT !.channel[0][j] = <<Offer>>], 0, j)
            IN  Silence(Get(Join(heard, 0, j), j, 0))
        won          == Stand(Begin, 0, 1)
        joined       == ForEach(won, {1, 2}, Follow)
    IN  OpenLog(Prepare(joined, 0), 0)

Second == Silence(Stand(EnterElections(Keep(Keep(First, 0), 2), {1, 2}), 2, 1))

MCInit ==
    LET c == IF Told = "lost" THEN EnterElections(First, {1, 2}) ELSE Second
    IN  member = c.member /\ channel = c.channel /\ log = c.log /\ hist = c.hist

MCBoundTerm(i, term) == term <= MaxTerm /\ i \in Candidates
MCBoundAppend(position) == position <= MaxPosition
MCBoundInterval(i) == \A j \in Members : channel[i][j] = <<>>
MCBoundRestart(i) == i \in Fragile
MCBoundEnterElection(i) == i \in Impatient /\ member[i].moduleLeadershipTermId < MaxTerm
MCNever(i) == FALSE
MCNever2(i, j) == FALSE
MCActiveSets(i) == {Members}
MCAcceptedSets(i) == {Members \ {i}}

MCUrgent(i) ==
    \/ member[i].electionState \in {"LEADER_INIT", "FOLLOWER_LOG_INIT", "INIT"}
    \/ /\ At(member[i], "FOLLOWER_REPLAY")
       /\ member[i].commitPosition >= member[i].appendPosition
=============================================================================

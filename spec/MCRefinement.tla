---------------------------- MODULE MCRefinement ----------------------------
(***************************************************************************)
(* Two leaderships, with all hardenings: every step of the cluster is a    *)
(* step of AbstractLog.tla, or changes nothing there; and all safety       *)
(* properties hold.                                                        *)
(*                                                                         *)
(* The first leadership is scripted: member 0 leads term 0 with others,    *)
(* whose logs are empty (MCElection.tla explores what elections of equal   *)
(* logs can do), and writes the first entry.  If Stage is "lost", the      *)
(* others have lost it before they record anything.  If Stage is "won",    *)
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
EXTENDS MCBounds

CONSTANTS Stage, Candidates, Impatient, Fragile

(***************************************************************************)
(* With HZ5 the followers come before the leader: it waits until a quorum  *)
(* has opened its term.                                                    *)
(***************************************************************************)
FirstLeadership ==
    IF "HZ5" \notin Hardening THEN Elected(0, <<1, 2>>, 0)
    ELSE Stands(0, 1) \o Silence \o Repeats(0, "LeaderLogReplication", Members)
         \o Arrival(0, 1) \o Arrival(0, 2) \o Silence
         \o Joins(0, 1, 0) \o Silence \o Joins(0, 2, 0) \o Silence
         \o Hearing(0, "LeaderLogReplication", Members) \o Prepares(0, 0) \o Silence
         \o OpensLog(0, Members)

LosesItsFollowers == FirstLeadership \o EnterElections(<<1, 2>>)

SecondLeadership ==
    FirstLeadership \o Records(0) \o Records(2) \o EnterElections(<<1, 2>>) \o Stands(2, 1) \o Silence

MCInit == Starts(After(IF Stage = "lost" THEN LosesItsFollowers ELSE SecondLeadership))

MCBoundTerm(i, term) == term <= MaxTerm /\ i \in Candidates
MCBoundRestart(i) == i \in Fragile
MCBoundEnterElection(i) == i \in Impatient /\ member[i].moduleLeadershipTermId < MaxTerm
=============================================================================

----------------------------- MODULE MCHazard1 ------------------------------
(***************************************************************************)
(* HZ1: the quorum position ignores terms.                                 *)
(*                                                                         *)
(* The story: member 2 leads term 0 with both others, records the term's   *)
(* first entry, which nobody else gets, and falls silent.  Member 1 leads  *)
(* term 1 with member 0 and records that term's first entry at the same    *)
(* position; member 0 has not got it yet.                                  *)
(*                                                                         *)
(* From here everything is explored in which member 2 comes back, within   *)
(* two messages under way.                                                 *)
(***************************************************************************)
EXTENDS Story

CONSTANTS MaxTerm, MaxPosition

MCStory ==
    LET a == Keep(Elected(Begin, 2, {0, 1}), 2)
        b == Elected(EnterElections(a, {0, 1}), 1, {0})
    IN  Keep(b, 1)

MCInit ==
    LET c == MCStory
    IN  member = c.member /\ channel = c.channel /\ log = c.log /\ hist = c.hist

MCBoundTerm(i, term) == i = 0 /\ term <= MaxTerm
MCBoundAppend(position) == position <= MaxPosition
MCBoundInterval(i) == \A j \in Members : channel[i][j] = <<>>
MCBoundEnterElection(i) == i \in {0, 2}
MCOnlyTheReturning(i) == i = 2
MCNever(i) == FALSE
MCNever2(i, j) == FALSE
MCActiveSets(i) == {Members}
MCAcceptedSets(i) == {Members \ {i}}
MCUrgent(i) == member[i].electionState \in {"LEADER_INIT", "FOLLOWER_LOG_INIT", "INIT"}
=============================================================================

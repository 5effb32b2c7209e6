--------------------------- MODULE MUT_VoteTwice ----------------------------
(***************************************************************************)
(* A member does not notice that it has already voted in the candidate's   *)
(* term.  Two candidates win one term: ElectionSafety fails.               *)
(***************************************************************************)
EXTENDS MCElection

MutVoteUsedUp(s, m) == m.candidateTermId < s.candidateTermId
=============================================================================

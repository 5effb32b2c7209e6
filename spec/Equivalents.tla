----------------------------- MODULE Equivalents ----------------------------
(***************************************************************************)
(* Facts that make some mutants of the Python core equal to it.            *)
(*                                                                         *)
(* Such a mutant breaks a guard that no behaviour of Cluster.tla ever      *)
(* needs: in every step that a cluster comes to, the broken rule does what *)
(* the rule does, so that no run can give the mutant away, however long it *)
(* is.  Each fact says, over the variables of the cluster, why.  The box   *)
(* names the mutant (canvass.selftest) and the guard.                      *)
(*                                                                         *)
(* A fact is checked like a property.  What breaks it is in mutants/: a    *)
(* fact that nothing could break would say nothing.  That the broken rule  *)
(* does what the rule does where its fact holds is tried on the edges of   *)
(* the member's graphs.                                                    *)
(***************************************************************************)
EXTENDS Cluster

UnderWay(i, j) == {channel[i][j][k] : k \in DOMAIN channel[i][j]}

Serves(s) == s.moduleState = "ACTIVE" /\ s.electionState = "CLOSED"

(***************************************************************************)
(* INV: VotesReachTheirCandidate.  A vote is on its way to the candidate   *)
(* that it names and to nobody else.                                       *)
(*                                                                         *)
(* Mutant count_votes_for_others: OnVote does not ask whether the vote is  *)
(* for this member.                                                        *)
(***************************************************************************)
VotesReachTheirCandidate ==
    \A i, j \in Members :
        \A m \in UnderWay(i, j) : m.type = "Vote" => m.candidateMemberId = j

(***************************************************************************)
(* INV: NomineesHaveNoVotes.  Who is about to open a ballot has noted no   *)
(* vote of anybody: votes are noted in CANDIDATE_BALLOT alone, and the way *)
(* back from there leads through CANVASS, which forgets them.              *)
(*                                                                         *)
(* Mutant votes_of_an_earlier_ballot_are_kept: BecomeCandidate keeps what  *)
(* the others have voted before.                                           *)
(***************************************************************************)
NomineesHaveNoVotes ==
    \A i \in Members :
        At(member[i], "NOMINATE") => \A j \in Members : member[i].members[j].vote = NULL_VALUE

(***************************************************************************)
(* INV: PromisesAreKnown.  In an election that has begun no candidate term *)
(* on disk is above the one in memory: an election begins with the greater *)
(* of what is on disk and the own term, and what raises the one raises the *)
(* other.  A request that is above the one in memory is above both.        *)
(*                                                                         *)
(* Mutant vote_lowers_the_candidate_term_on_disk: OnRequestVote writes the *)
(* term of the request, whatever is on disk.                               *)
(***************************************************************************)
PromisesAreKnown ==
    \A i \in Members :
        LET s == member[i]
        IN  InElection(s) /\ s.electionState # "INIT"
                => s.persistedCandidateTermId <= s.candidateTermId

(***************************************************************************)
(* INV: OwnTermIsAnnouncedByItsLeader.  A member that serves hears its own *)
(* term announced by the leader that it follows and by nobody else, and a  *)
(* leader never does: a term has one leader, which does not announce it to *)
(* itself.                                                                 *)
(*                                                                         *)
(* Mutant announcement_of_the_own_term_starts_an_election:                 *)
(* OnNewLeadershipTerm starts an election where the term is not newer.     *)
(***************************************************************************)
OwnTermIsAnnouncedByItsLeader ==
    \A i, j \in Members :
        LET s == member[j]
        IN  \A m \in UnderWay(i, j) :
                /\ m.type = "NewLeadershipTerm" /\ Serves(s)
                /\ m.leadershipTermId = s.moduleLeadershipTermId
                => s.role = "FOLLOWER" /\ m.leaderMemberId = s.leaderMemberId

(***************************************************************************)
(* INV: NoNewerTermIsReported.  Nobody reports to a closed leader in a     *)
(* term above the leader's own: a report goes to the leader of the term    *)
(* that is followed, in that term or in an older one, and a member that    *)
(* has led a term leads no older one again.                                *)
(*                                                                         *)
(* Mutant reports_of_newer_terms_count: OnAppendPosition outside elections *)
(* does not compare the terms.                                             *)
(***************************************************************************)
NoNewerTermIsReported ==
    \A i, j \in Members :
        LET s == member[j]
        IN  \A m \in UnderWay(i, j) :
                m.type = "AppendPosition" /\ Closed(s, "LEADER")
                    => m.leadershipTermId <= s.moduleLeadershipTermId

(***************************************************************************)
(* INV: OnlyTheRecordedIsProcessed.  What a consensus module may process   *)
(* next is in its own archive: the log that it reads is the recorded one.  *)
(*                                                                         *)
(* Mutant follower_processes_what_is_not_recorded: ConsumeBound of a       *)
(* follower is the announced commit position, recorded or not.             *)
(***************************************************************************)
OnlyTheRecordedIsProcessed ==
    \A i \in Members :
        member[i].commitPosition < Len(log[i])
            => Consume1(Now, i).position <= member[i].recordedPosition

(***************************************************************************)
(* INV: OnlyTheWrittenIsRecorded.  What the archive of a leader may record *)
(* next the leader has written.                                            *)
(*                                                                         *)
(* Mutant record_beyond_what_the_leader_wrote: RecordLog takes any         *)
(* position for a leader's.                                                *)
(***************************************************************************)
OnlyTheWrittenIsRecorded ==
    \A i \in Members :
        Closed(member[i], "LEADER") /\ NextEntry(Now, i) # -1
            => Record1(Now, i).position <= member[i].publicationPosition
=============================================================================

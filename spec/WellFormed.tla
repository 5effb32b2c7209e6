----------------------------- MODULE WellFormed -----------------------------
(***************************************************************************)
(* What every message that a member can send satisfies.                    *)
(*                                                                         *)
(* MemberGraph.tla lets one member receive any well-formed message: this   *)
(* is the assumption it makes about its environment.  It is discharged     *)
(* twice.  MemberGraph's property SendsAreWellFormed says that a member    *)
(* that receives only such messages sends only such messages, and that     *)
(* every message in flight between members is one is an invariant of the   *)
(* cluster's models: MessagesAreWellFormed of Properties.tla.              *)
(*                                                                         *)
(* It is weak on purpose.  Nothing is said about two messages of one       *)
(* member, nor about what the log holds; nor is a vote or a StopCatchup    *)
(* said to reach the member it is for, so that the guards that ask have    *)
(* something to do.                                                        *)
(***************************************************************************)
EXTENDS MemberState

IsTerm(t) == t >= 0
IsTermOrNull(t) == t >= NULL_VALUE
IsPosition(p) == p >= 0
IsPositionOrNull(p) == p >= NULL_POSITION
IsPeer(from, j) == j \in Members \ {from}

-----------------------------------------------------------------------------
(***************************************************************************)
(* The parts of a NewLeadershipTerm.                                       *)
(*                                                                         *)
(* Three fields describe the term that follows logLeadershipTermId.  They  *)
(* are all null when the leader is outside elections and the term asked    *)
(* about is its own.  They name the term that is about to be opened, at    *)
(* the end of the leader's log, when the leader's recording log does not   *)
(* know a next term.  Else they are an entry of its recording log.         *)
(*                                                                         *)
(* The positions of such an entry are not compared with the leader's log   *)
(* or with each other: the recording log can disagree with the log         *)
(* (hazards HZ2 and HZ6).                                                  *)
(***************************************************************************)
NextTermIsNull(m) ==
    /\ m.nextLeadershipTermId = NULL_VALUE
    /\ m.nextTermBaseLogPosition = NULL_POSITION
    /\ m.nextLogPosition = NULL_POSITION
    /\ m.logLeadershipTermId = m.leadershipTermId

NextTermIsAboutToOpen(m) ==
    /\ m.nextLeadershipTermId = m.leadershipTermId
    /\ m.nextTermBaseLogPosition = m.logPosition
    /\ m.nextLogPosition = NULL_POSITION

NextTermIsKnown(m) ==
    /\ m.nextLeadershipTermId = m.logLeadershipTermId + 1
    /\ m.nextLeadershipTermId <= m.leadershipTermId
    /\ IsPosition(m.nextTermBaseLogPosition)
    /\ IsPositionOrNull(m.nextLogPosition)

WellFormedNewLeadershipTerm(from, m) ==
    /\ m.leaderMemberId = from
    /\ IsTerm(m.leadershipTermId)
    /\ IsTermOrNull(m.logLeadershipTermId) /\ m.logLeadershipTermId <= m.leadershipTermId
    /\ IsPosition(m.termBaseLogPosition) /\ m.termBaseLogPosition <= m.logPosition
    /\ IF Rev149 THEN m.commitPosition = NULL_POSITION
       ELSE IsPosition(m.commitPosition) /\ m.commitPosition <= m.logPosition
    /\ NextTermIsNull(m) \/ NextTermIsAboutToOpen(m) \/ NextTermIsKnown(m)

(***************************************************************************)
(* INV: WellFormed(from, m), for a message m that member from has sent.    *)
(*                                                                         *)
(* A candidate's log ends with a term below the one it stands in, since    *)
(* following a leader raises the candidate term first; one that votes for  *)
(* it has no newer log, while one that refuses may have any.  Reports of   *)
(* what is recorded can be of no term at all: a member that catches up in  *)
(* the first term has not consumed that term's first entry yet.  A leader  *)
(* of 1.49 publishes in the term of its module, which is none in its first *)
(* election.                                                               *)
(***************************************************************************)
WellFormed(from, m) ==
    CASE m.type = "CanvassPosition" ->
            /\ m.followerMemberId = from
            /\ IsTermOrNull(m.logLeadershipTermId) /\ IsTermOrNull(m.leadershipTermId)
            /\ IsPosition(m.logPosition)
      [] m.type = "RequestVote" ->
            /\ m.candidateMemberId = from
            /\ IsTerm(m.candidateTermId)
            /\ IsTermOrNull(m.logLeadershipTermId) /\ m.logLeadershipTermId < m.candidateTermId
            /\ IsPosition(m.logPosition)
      [] m.type = "Vote" ->
            /\ m.followerMemberId = from /\ IsPeer(from, m.candidateMemberId)
            /\ IsTerm(m.candidateTermId)
            /\ IsTermOrNull(m.logLeadershipTermId)
            /\ m.vote => m.logLeadershipTermId < m.candidateTermId
            /\ IsPosition(m.logPosition)
      [] m.type = "NewLeadershipTerm" -> WellFormedNewLeadershipTerm(from, m)
      [] m.type = "AppendPosition" ->
            /\ m.followerMemberId = from
            /\ IsTermOrNull(m.leadershipTermId) /\ IsPosition(m.logPosition)
            /\ m.flags \in {0, CATCHUP_FLAG}
      [] m.type = "CommitPosition" ->
            /\ m.leaderMemberId = from
            /\ IsTerm(m.leadershipTermId) \/ (Rev149 /\ m.leadershipTermId = NULL_VALUE)
            /\ IsPosition(m.logPosition)
      [] m.type = "CatchupPosition" ->
            m.followerMemberId = from /\ IsTerm(m.leadershipTermId) /\ IsPosition(m.logPosition)
      [] m.type = "StopCatchup" ->
            IsPeer(from, m.followerMemberId) /\ IsTermOrNull(m.leadershipTermId)
      [] m.type = "TerminationPosition" -> IsTerm(m.leadershipTermId) /\ IsPosition(m.logPosition)
      [] m.type = "TerminationAck" ->
            m.memberId = from /\ IsTerm(m.leadershipTermId) /\ IsPosition(m.logPosition)
=============================================================================

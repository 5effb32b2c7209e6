----------------------------- MODULE WellFormed -----------------------------
\* The property that every message of a member satisfies.
\*
\* MemberGraph.tla assumes it of the messages that its one member receives. The assumption is
\* discharged twice: SendsAreWellFormed of MemberGraph says that this member sends only well-formed
\* messages, and MessagesAreWellFormed of Properties.tla that every message under way in a cluster
\* is well-formed.
\*
\* The property is weak on purpose. It says nothing about two messages of one member, nor about the
\* contents of the log. It does not say that a vote or a StopCatchup reaches the right member, so
\* the guards that check this have an effect.
EXTENDS Member

IsTerm(t) == t >= 0
IsTermOrNull(t) == t >= NULL_VALUE
IsPosition(p) == p >= 0
IsPositionOrNull(p) == p >= NULL_POSITION
IsPeer(from, j) == j \in Members \ {from}

-----------------------------------------------------------------------------
\* The parts of a NewLeadershipTerm. Three fields describe the term that follows
\* logLeadershipTermId. They are null if the leader is outside elections and the message is about
\* its own term; they name the term that the leader is about to open, at the end of its log, if its
\* recording log has no next term; else they are an entry of its recording log. The positions of
\* that entry are not compared with the leader's log or with each other, because the recording log
\* can disagree with the log (hazards HZ2 and HZ6).
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
    /\ IF IsRev149 THEN m.commitPosition = NULL_POSITION
       ELSE IsPosition(m.commitPosition) /\ m.commitPosition <= m.logPosition
    /\ NextTermIsNull(m) \/ NextTermIsAboutToOpen(m) \/ NextTermIsKnown(m)

\* INV: WellFormed(from, m), for a message m of member from.
\*
\* The last term of a candidate's log is below its candidate term, because following a leader raises
\* the candidate term first. A member that votes for it has no newer log; a member that refuses may
\* have any log. A report of a recording may have no term: a member that catches up in the first
\* term has not yet consumed the first entry of that term. A leader of 1.49 publishes in the term of
\* its module, which is null in its first election.
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
            /\ IsTerm(m.leadershipTermId) \/ (IsRev149 /\ m.leadershipTermId = NULL_VALUE)
            /\ IsPosition(m.logPosition)
      [] m.type = "CatchupPosition" ->
            m.followerMemberId = from /\ IsTerm(m.leadershipTermId) /\ IsPosition(m.logPosition)
      [] m.type = "StopCatchup" ->
            IsPeer(from, m.followerMemberId) /\ IsTermOrNull(m.leadershipTermId)
      [] m.type = "TerminationPosition" -> IsTerm(m.leadershipTermId) /\ IsPosition(m.logPosition)
      [] m.type = "TerminationAck" ->
            m.memberId = from /\ IsTerm(m.leadershipTermId) /\ IsPosition(m.logPosition)
=============================================================================

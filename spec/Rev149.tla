------------------------------- MODULE Rev149 -------------------------------
\* Aeron 1.49 (1.49.5): the rules in which it differs from 1.50. The configuration of a model of
\* 1.49 has Rule <- Rev149_Rule for each of these operators; none can be switched alone.
EXTENDS Replication

\* A leader counts members however long they have been silent, and does not bound the position in
\* elections. It notes its own position first, and its commit position is set: it may fall.
Rev149_BoundedQuorumPosition(s, term, own, active) ==
    QuorumPosition(CountedPositions(s, term, own), Members)

Rev149_LeaderQuorumPosition(i, s, term, own, active) ==
    Min(BoundedQuorumPosition(NoteOwnPosition(i, s, own), term, own, active), own)

Rev149_CommitTo(s, x, q) == IF IsCommitDue(s, x, q) THEN q ELSE s.commitPosition

Rev149_HasQuorumAtPosition(s, term, position, active) ==
    Cardinality({j \in Members : HasReached(s, j, term, position)}) >= Quorum

\* A leader waits for every member that took part in the ballot, or until a deadline for a quorum.
\* It announces no commit position, and sends a CommitPosition in the term of the MODULE. This term
\* is older than the term of the election, and may be null.
HasVotersAtPosition(s, term, position) ==
    \A j \in Members : s.members[j].vote # NULL_VALUE => HasReached(s, j, term, position)

Rev149_IsReady(i, s, x) ==
    \/ HasVotersAtPosition(s, s.leadershipTermId, s.appendPosition)
    \/ x.timeout /\ HasQuorumAtPosition(s, s.leadershipTermId, s.appendPosition, x.active)

Rev149_AnnouncedCommit(position) == NULL_POSITION
Rev149_PublishedTerm(s) == s.moduleLeadershipTermId

\* A leader forgets the positions of its followers when its replay begins. A single member leads its
\* next term when an election begins (constructor of Election), and leads the same term again after
\* an error.
Rev149_RecordsAtReplay(s) == [j \in Members |-> [s.members[j] EXCEPT !.logPosition = NULL_POSITION]]

Rev149_BeginAgain(i, s) ==
    IF MemberCount = 1 THEN EnterLeaderLogReplication(i, PrepareForNewLeadership(s))
    ELSE BeginElection(i, s)

\* A closed leader does not note a canvass, and not the term of a report.
Rev149_NoteCanvass(s, m) == s
Rev149_NoteReport(s, m) == [s EXCEPT !.members[m.followerMemberId].logPosition = m.logPosition]

\* A follower replays everything that it has recorded, committed or not. A truncation leaves its
\* append position alone.
Rev149_ReplayTarget(s) == s.appendPosition
Rev149_AwaitsCommit(s) == FALSE
Rev149_NotifiedAtReplay(s) == 0
Rev149_NotifiedAfterCopy(s) == IF s.logReplication THEN 0 ELSE s.notifiedCommitPosition
Rev149_PositionAtJoin(s) == s.commitPosition
Rev149_AppendPositionAfterCut(s, position) == s.appendPosition

\* Commit positions. In an election a member notes them only while it copies older terms, or catches
\* up in the term of the message. The end of an election sets the position. A closed follower takes
\* the end of its leader's log for committed, even if it is not; and it notes the last position,
\* which can be a lower one.
Rev149_NoteCommit(s, m) ==
    IF \/ s.electionState = "FOLLOWER_LOG_REPLICATION"
       \/ s.electionState = "FOLLOWER_CATCHUP" /\ m.leadershipTermId = s.leadershipTermId
    THEN [s EXCEPT !.notifiedCommitPosition = Max(@, m.logPosition)] ELSE s

Rev149_NotifiedAtClose(s, position) == position
Rev149_CommitOf(m) == m.logPosition
Rev149_NotifiedCommit(s, m) == m.logPosition
=============================================================================

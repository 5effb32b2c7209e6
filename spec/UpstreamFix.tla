----------------------------- MODULE UpstreamFix -----------------------------
\* The corrections that a public branch of Aeron proposed in September 2026;
\* docs/findings/upstream-fix.md names the source of each and its effect. Each line of a
\* configuration, such as CountedMembers <- UpstreamFix_CountedMembers, can be left out alone.
EXTENDS Replication

\* A report counts only if it was made in this term, also the leader's own. So its record is of the
\* new term from LEADER_LOG_REPLICATION on.
UpstreamFix_CountedMembers(s, term, active) == {j \in active : s.members[j].leadershipTermId = term}

UpstreamFix_NoteOwnLog(i, s) ==
    [NoteOwnPosition(i, s, s.appendPosition) EXCEPT !.members[i].leadershipTermId = s.leadershipTermId]

\* In CANVASS a member compares the last terms of logs, also its own.
UpstreamFix_OwnTermInCanvass(s) == s.logLeadershipTermId

\* A leader of an older term than the member has voted in is ignored. A member that hears such a
\* leader runs for election after a while, even without a quorum, and its request makes that leader
\* enter an election. The input says in x.leadershipTermId that it has heard of the leader.
UpstreamFix_IsOwnAnnouncement(i, s, m) ==
    \/ m.leaderMemberId = i /\ m.leadershipTermId = s.leadershipTermId
    \/ m.leadershipTermId < s.candidateTermId

HeardOfStaleLeader(s, x) == x.leadershipTermId # NULL_VALUE /\ x.leadershipTermId < s.candidateTermId

UpstreamFix_StandsAtDeadline(i, s, x) == IsQuorumCandidate(i, s) \/ HeardOfStaleLeader(s, x)

\* A leader in an election gives it up for a candidate of a newer term, and answers a candidate with
\* an older log only with its vote.
UpstreamFix_AnswerRequestVote(i, s, x) ==
    IF s.role = "LEADER" /\ x.message.candidateTermId > s.leadershipTermId THEN Raise(s)
    ELSE OnRequestVoteInElection(i, s, x)

UpstreamFix_AnnounceToCandidate(i, s, m, active) == <<>>

\* A follower also reports when its replay has reached the known commit position. In a catch-up it
\* opens the term before recording begins, and reports in the term of the election.
UpstreamFix_AwaitsCommit(s) ==
    s.notifiedCommitPosition = 0 \/ s.commitPosition >= s.notifiedCommitPosition

UpstreamFix_JoinReplay(s) ==
    [s EXCEPT !.electionState = "FOLLOWER_CATCHUP",
              !.recordingLog = OpenTerm(s, s.leadershipTermId, s.commitPosition),
              !.logLeadershipTermId = s.leadershipTermId]

UpstreamFix_CatchupTerm(s) == s.leadershipTermId
=============================================================================

-------------------------- MODULE MCMarkedReports ---------------------------
\* Other rules instead of hardening HZ3: a member follows the leader of any term, and the rule of
\* HZ11 holds for its AppendPositions, too. If it has voted in a newer term than its leader's, it
\* reports without a term. Such a report counts for nothing, and still ends a catch-up.
\*
\* The searches are those of MCTwoElections. The one of MCTwoElectionsNoHZ3 finds no loss here.
EXTENDS MCTwoElections

Marked(s, term) == IF s.persistedCandidateTermId > FollowedTerm(s) THEN NULL_VALUE ELSE term

MarkedReportedTerm(s, term) == Marked(s, IF IsHardened("HZ7") THEN s.logLeadershipTermId ELSE term)

Report(i, s, term, position) ==
    Send(s.leaderMemberId, AppendPosition(Marked(s, term), position, i, 0))

MarkedFollowerReady(i, s, x) ==
    IF ~At(s, "FOLLOWER_READY") THEN {}
    ELSE Outcome(ElectionComplete(s), Report(i, s, s.leadershipTermId, s.commitPosition))

MarkedUpdateFollowerPosition(i, s, x) ==
    IF ~Closed(s, "FOLLOWER") \/ s.leaderMemberId = NULL_VALUE THEN {}
    ELSE Outcome(s, Report(i, s, s.moduleLeadershipTermId, s.recordedPosition))
=============================================================================

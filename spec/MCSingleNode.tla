---------------------------- MODULE MCSingleNode ----------------------------
\* A cluster of one: no ballot, each start leads the next term at once. Bounds: terms and positions;
\* restarts, errors, lost leaders and snapshots as often as the terms allow.
EXTENDS MCBounds

MayOpenTerm(i) == Max(member[i].persistedCandidateTermId, member[i].moduleLeadershipTermId) < MaxTerm

MCBoundElection(i) == MayOpenTerm(i)
=============================================================================

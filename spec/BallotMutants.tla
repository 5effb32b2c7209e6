---------------------------- MODULE BallotMutants -----------------------------
\* Mistakes about votes: three members with empty logs. Three scripts:
\* FirstBallot: 0 and 1 are about to run for election, in term 0.
\* SecondBallot: 0 has given up its ballot in term 0, the vote of 1 for it is still under way, and
\* both are about to run for election in term 1.
\* NextLeader: 0 leads term 0, and 1, which has voted for it, is about to run for election again.
\*
\* From here all results of these ballots are explored. Members restart at any time, no member
\* canvasses, and a leader takes no further step.
EXTENDS MCBounds

Rules == INSTANCE Replication

TellsAll(i) ==
    LET Hears(j) == Arrival(i, j)
    IN  Repeats(i, "Canvass", Members) \o Each(Hears, SelectSeq(<<0, 1, 2>>, LAMBDA j : j # i))

FirstBallot == TellsAll(2) \o TellsAll(1) \o TellsAll(0) \o Expires(1, "Canvass")

SecondBallot ==
    FirstBallot \o Expires(0, "Nominate") \o Asks(0, {1}) \o Arrival(0, 1)
    \o SilenceBut(1, 0) \o GivesUp(0) \o Expires(1, "FollowerBallot")
    \o Repeats(0, "Canvass", Members) \o Arrival(0, 1) \o Expires(1, "Canvass")
    \o Repeats(2, "Canvass", Members) \o Arrival(2, 0) \o Expires(0, "Canvass")

NextLeader ==
    FirstBallot \o Expires(0, "Nominate") \o Asks(0, {1, 2}) \o Arrival(0, 1) \o Arrival(0, 2)
    \o Arrival(1, 0) \o Arrival(2, 0) \o Does(0, "CandidateBallot")
    \o Expires(1, "FollowerBallot") \o Expires(2, "FollowerBallot")
    \o Repeats(2, "Canvass", Members) \o Arrival(2, 1) \o Silence \o Expires(1, "Canvass")

BallotInit == StartsAfter(<<FirstBallot, SecondBallot, NextLeader>>)

NoActiveSets(i) == {}
AnyMessage(i, j) == TRUE
BallotBoundTerm(i, term) == i # 2 /\ term <= MaxTerm
BallotBoundRestart(i) == member[i].electionState # "CANVASS"

-----------------------------------------------------------------------------
\* MUT_VoteTwice: a member ignores that it has already voted in the candidate's term.
MutVoteUsedUp(s, m) == m.candidateTermId < s.candidateTermId

\* MUT_CandidacyNotOnDisk: a candidate sends a term that it forgets in a restart.
MutBecomeCandidate(i, s, term) ==
    [Rules!BecomeCandidate(i, s, term) EXCEPT !.persistedCandidateTermId = s.persistedCandidateTermId]

\* MUT_CandidateTermLost: the file with the candidate term is lost in a crash.
MutDisk(s) == [Rules!Disk(s) EXCEPT !.persistedCandidateTermId = NULL_VALUE]

\* MUT_CandidateTermNotReloaded: a new election begins with the last term of the log.
MutPrepareForNewLeadership(s) ==
    [Rules!PrepareForNewLeadership(s) EXCEPT !.candidateTermId = s.leadershipTermId]

\* MUT_QuorumOfOne: half of the members counts as a quorum.
MutQuorum == MemberCount \div 2

\* MUT_OwnVoteWins: the ballot counts all members that did not vote against.
MutIsQuorumLeader(s) ==
    Cardinality({j \in Members : s.members[j].vote # 0}) >= Quorum

\* MUT_StaleVoteCounts: a vote of an earlier ballot counts.
MutOnVote(i, s, x) == Rules!OnVote(i, s, [x EXCEPT !.message.candidateTermId = s.candidateTermId])

\* MUT_SameTermAgain: a candidate does not open a new term.
MutSameTermAgain(i, s, term) == Rules!BecomeCandidate(i, s, Max(0, s.candidateTermId))

\* MUT_LeadsOldTerm: the winner continues in the previous term.
MutWinTerm(i, s) == [Rules!WinTerm(i, s) EXCEPT !.leadershipTermId = s.leadershipTermId]

\* MUT_VotesGoToAll: a vote is sent to all members.
MutSendVotesToAll(j, m) ==
    IF m.type = "Vote" THEN SendToEach(m.followerMemberId, Members, m)
    ELSE <<[to |-> j, message |-> m]>>

\* MUT_PromiseForgotten: a member that canvasses again has the term of its vote only on disk.
MutEnterCanvass(i, s) == [Rules!EnterCanvass(i, s) EXCEPT !.candidateTermId = s.leadershipTermId]

\* MUT_VoteNotOnDisk: a vote is kept in memory only.
MutVoteInMemory(i, s, x) ==
    {[o EXCEPT !.next.persistedCandidateTermId = s.persistedCandidateTermId] :
        o \in Rules!OnRequestVote(i, s, x)}

\* MUT_AnyAnswerIsAVote: a candidate with an answer of all others wins, whatever the answers.
MutAllHaveAnswered(s) == \A j \in Members : s.members[j].vote # NULL_VALUE

\* MUT_VotesCountLate: a vote is noted after the ballot has ended.
MutVotesCountLate(i, s, x) ==
    {[o EXCEPT !.next.electionState = s.electionState] :
        o \in Rules!OnVote(i, [s EXCEPT !.electionState = "CANDIDATE_BALLOT"], x)}
=============================================================================

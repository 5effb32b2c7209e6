------------------------------ MODULE LogMutants ------------------------------
\* Mistakes about the comparison and the truncation of logs. In each script one of three members is
\* down, and the other two elect a leader. In the first four, 2 has led term 0, and with 1 it has
\* committed the first entry; the second only 2 has, and 0 has none. Then
\* Deposed: 2 is down, 0 and 1 have heard each other canvass.
\* Reelected: 1 is down, 2 has won term 1 with 0's vote.
\* Succeeded: 1 has won term 1 with 0's vote, and 0 is down.
\* Interrupted: 2 is down, 0 has begun to follow 1 in term 1, both have had to start again, and have
\* heard each other canvass.
\* Overtaken: 2 has led term 0 and has two entries of it that nobody else has; 2 would not vote for
\* 1, but 1 has led term 1, with 0 it has committed that term's first entry, and is down; 0 and 2
\* have heard each other canvass.
\* FirstLeader: 0 has won term 0 with 1's vote, and 2 is down.
\*
\* From here everything is explored until the next leader would write or, if it has an empty log,
\* has written.
EXTENDS MCBounds

Rules == INSTANCE Replication

LeaderLost ==
    Elected(2, <<0, 1>>, 0) \o Records(2) \o Records(1)
    \o Does(1, "UpdateFollowerPosition") \o Arrival(1, 2) \o Advances(2, Members) \o Silence
    \o Writes(2) \o Records(2) \o EnterElections(<<0, 1, 2>>)

Deposed == LeaderLost \o Dies(2) \o HearEachOther(0, 1)
Reelected == LeaderLost \o Dies(1) \o Stands(2, 0) \o Silence
Succeeded == LeaderLost \o Stands(1, 0) \o Silence \o Dies(0)

Announces(i, j) == Repeats(i, "LeaderLogReplication", Members) \o Arrival(i, j) \o Silence

Interrupted ==
    LeaderLost \o Dies(2) \o Stands(1, 0) \o Silence \o Announces(1, 0) \o GivesUp(0)
    \o Restarts(1) \o HearEachOther(0, 1)

Overtaken ==
    Elected(2, <<0, 1>>, 0) \o Records(2) \o Writes(2) \o Records(2)
    \o EnterElections(<<0, 1, 2>>) \o HearEachOther(0, 1)
    \o Expires(1, "Canvass") \o Expires(1, "Nominate") \o Asks(1, {0, 2})
    \o Arrival(1, 2) \o Loss(2, 1) \o Arrival(1, 0) \o Arrival(0, 1) \o Expires(1, "CandidateBallot")
    \o Announces(1, 0) \o Prepares(1, 0) \o Silence \o Joins(1, 0, 0) \o Silence
    \o OpensLog(1, Members) \o Records(1) \o Records(0)
    \o Does(0, "UpdateFollowerPosition") \o Arrival(0, 1) \o Advances(1, Members) \o Silence
    \o Dies(1) \o Does(0, "EnterElection") \o GivesUp(2) \o HearEachOther(0, 2)

FirstLeader == Dies(2) \o Stands(0, 1) \o Silence

LogsInit ==
    StartsAfter(<<Deposed, Reelected, Succeeded, Interrupted, Overtaken, FirstLeader>>)

NoLeaderYet(i, term) == term <= MaxTerm /\ \A j \in Members : member[j].role # "LEADER"
FirstEntry(position) == position = 1
RepeatsIfHeard(i) ==
    /\ IfQuiet(i)
    /\ \/ member[i].role = "LEADER"
       \/ At(member[i], "CANVASS") /\ \E j \in Members : member[j].role = "LEADER"

-----------------------------------------------------------------------------
\* MUT_ShorterLogWins: logs are compared by their last terms only.
MutCompareTerms(t1, p1, t2, p2) == IF t1 > t2 THEN 1 ELSE IF t1 < t2 THEN -1 ELSE 0

\* MUT_OlderLogWins: logs are compared by their lengths only.
MutCompareLengths(t1, p1, t2, p2) == IF p1 > p2 THEN 1 ELSE IF p1 < p2 THEN -1 ELSE 0

\* MUT_AsksInWrongTerm: a candidate sends the term that it has followed last.
MutCandidateBallot(i, s, x) ==
    {[o EXCEPT !.sends = [k \in DOMAIN @ |->
                             [@[k] EXCEPT !.message.logLeadershipTermId = s.leadershipTermId]]] :
        o \in Rules!CandidateBallot(i, s, x)}

\* MUT_CutsTooMuch: the whole log is truncated, to be copied again.
MutTruncateLog(s, position) == Rules!TruncateLog(s, 0)

\* MUT_CutsNothing: a follower keeps entries that its leader does not have.
MutNothingIsTooLong(s, m) == FALSE

\* MUT_AnyLogFits: a follower does not compare the last term of its log with the leader's message.
MutEveryTermFits(s, m) == FALSE

\* MUT_LogsNotCompared: a member votes for every candidate.
MutCompareNothing(t1, p1, t2, p2) == 0

\* MUT_CommitsInOldTerm: a new leader sends its commit position in the previous term.
MutPublishedTerm(s) == s.moduleLeadershipTermId

\* MUT_AppliesOwnTail: a new leader replays its log before a quorum has it.
MutIsReplicated(s, active) == TRUE

\* MUT_WritesWithoutQuorum: a leader writes the first entry of its term before a quorum has joined
\* it.
MutHasQuorumAtPosition(s, term, position, active) == TRUE

\* MUT_VotesOutliveBallots: the member records are not reset when an election begins again.
MutRememberRecords(records) == records

\* MUT_TwoLeadOneTerm: one member is a quorum, so two may win one term and announce it.
MutQuorum == 1

\* MUT_StandsAlone: a candidate wins when its ballot times out.
MutOwnVoteIsEnough(s) == TRUE

\* MUT_RefusalIsAVote: a candidate counts each answer as a vote for it.
MutRefusalIsAVote(i, s, x) == Rules!OnVote(i, s, [x EXCEPT !.message.vote = TRUE])

\* MUT_TermBeginsLater: a leader announces a base that is one entry too late.
MutTermBeginsLater(i, s, logTerm, quorumPosition) ==
    [Rules!ElectionNewLeadershipTerm(i, s, logTerm, quorumPosition) EXCEPT
        !.nextTermBaseLogPosition = @ + 1]
=============================================================================

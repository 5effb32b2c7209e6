---------------------------- MODULE BallotMutants -----------------------------
(***************************************************************************)
(* Where mistakes about votes are found: three members with empty logs.    *)
(*                                                                         *)
(* Three scripts.  FirstBallot: 0 and 1 are about to stand, in term 0.     *)
(* SecondBallot: 0 has given up its ballot in term 0, 1's vote for it is   *)
(* still under way, and both are about to stand in term 1.  NextLeader: 0  *)
(* leads term 0, and 1, which has voted for it, is about to stand again.   *)
(*                                                                         *)
(* From here everything is explored that comes of these ballots; members   *)
(* restart as they like, nobody canvasses, and a leader does nothing more. *)
(***************************************************************************)
EXTENDS MCBounds

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
(***************************************************************************)
(* MUT_VoteTwice: a member does not notice that it has voted already in    *)
(* the candidate's term.                                                   *)
(***************************************************************************)
MutVoteUsedUp(s, m) == m.candidateTermId < s.candidateTermId

(***************************************************************************)
(* MUT_CandidacyNotOnDisk: a candidate tells others of a term that it will *)
(* have forgotten after a restart.                                         *)
(***************************************************************************)
MutBecomeCandidate(i, s, term) ==
    [s EXCEPT
        !.electionState = "CANDIDATE_BALLOT",
        !.role = "CANDIDATE",
        !.candidateTermId = term,
        !.members = [j \in Members |->
            [s.members[j] EXCEPT !.candidateTermId = IF j = i THEN term ELSE NULL_VALUE,
                                 !.vote = IF j = i THEN 1 ELSE NULL_VALUE,
                                 !.ballotSent = (j = i)]]]

(***************************************************************************)
(* MUT_CandidateTermLost: the file that holds the candidate term is not    *)
(* there after a crash.                                                    *)
(***************************************************************************)
MutDisk(s) == Persistent(NULL_VALUE, s.recordingLog, s.recordedPosition,
                         s.snapshotLeadershipTermId, s.snapshotTermBaseLogPosition,
                         s.snapshotLogPosition)

(***************************************************************************)
(* MUT_CandidateTermNotReloaded: a new election begins with the term that  *)
(* the log ends with, and not with what was voted in.                      *)
(***************************************************************************)
MutPrepareForNewLeadership(s) ==
    [EndReplication(s) EXCEPT
        !.role = "FOLLOWER",
        !.publicationPosition = NULL_POSITION,
        !.logSubscription = FALSE,
        !.catchupDestination = FALSE,
        !.appendPosition = s.recordedPosition,
        !.notifiedCommitPosition = 0,
        !.catchupJoinPosition = NULL_POSITION,
        !.replayStopPosition = NULL_POSITION,
        !.candidateTermId = s.leadershipTermId]

(***************************************************************************)
(* MUT_QuorumOfOne: half of the members is taken for a quorum.             *)
(***************************************************************************)
MutQuorum == MemberCount \div 2

(***************************************************************************)
(* MUT_OwnVoteWins: the ballot counts who did not vote against.            *)
(***************************************************************************)
MutIsQuorumLeader(s) ==
    Cardinality({j \in Members : s.members[j].vote # 0}) >= Quorum

(***************************************************************************)
(* MUT_StaleVoteCounts: a vote of an earlier ballot is counted.            *)
(***************************************************************************)
MutOnVote(i, s, x) ==
    LET m == x.message
        j == m.followerMemberId
    IN  IF At(s, "CANDIDATE_BALLOT") /\ m.candidateMemberId = i
        THEN Ignore([s EXCEPT !.members = UpdateMemberLogPosition(s.members, j,
                                            m.logLeadershipTermId, m.logPosition),
                              !.members[j].candidateTermId = s.candidateTermId,
                              !.members[j].vote = IF m.vote THEN 1 ELSE 0])
        ELSE Ignore(s)

(***************************************************************************)
(* MUT_SameTermAgain: who stands does not open a new term.                 *)
(***************************************************************************)
MutNominate(i, s, x) ==
    IF ~At(s, "NOMINATE") THEN {}
    ELSE IF x.timeout
    THEN Outcome(BecomeCandidate(i, s, Max(0, s.candidateTermId)), <<>>)
    ELSE Outcome(s, IF x.interval THEN PublishCanvassPosition(i, s) ELSE <<>>)

(***************************************************************************)
(* MUT_LeadsOldTerm: the winner goes on in the term before.                *)
(***************************************************************************)
MutEnterLeaderLogReplication(i, s) ==
    [s EXCEPT !.electionState = "LEADER_LOG_REPLICATION",
              !.role = "LEADER",
              !.leaderMemberId = i,
              !.publicationPosition = s.appendPosition]

(***************************************************************************)
(* MUT_VotesGoToAll: a vote is sent to everybody.                          *)
(***************************************************************************)
MutSendVotesToAll(j, m) ==
    IF m.type = "Vote" THEN SendToEach(m.followerMemberId, Members, m)
    ELSE <<[to |-> j, message |-> m]>>

(***************************************************************************)
(* MUT_PromiseForgotten: who canvasses again remembers on disk alone in    *)
(* which term it has stood or voted.                                       *)
(***************************************************************************)
MutEnterCanvass(i, s) ==
    [EndReplication(s) EXCEPT
        !.electionState = "CANVASS",
        !.role = "FOLLOWER",
        !.leaderMemberId = NULL_VALUE,
        !.candidateTermId = s.leadershipTermId,
        !.catchupJoinPosition = NULL_POSITION,
        !.replayStopPosition = NULL_POSITION,
        !.members = UpdateMemberLogPosition(ForgetRecords(s.members), i,
                                            s.leadershipTermId, s.appendPosition)]

(***************************************************************************)
(* MUT_VoteNotOnDisk: a vote is remembered in memory alone.                *)
(***************************************************************************)
MutVoteInMemory(i, s, x) ==
    LET m == x.message
        answer(yes) == Send(m.candidateMemberId,
                            Vote(m.candidateTermId, s.logLeadershipTermId, s.appendPosition,
                                 m.candidateMemberId, i, yes))
    IN  IF ~InElection(s) \/ s.electionState = "INIT" \/ m.candidateMemberId = i THEN Ignore(s)
        ELSE IF VoteUsedUp(s, m) THEN Outcome(s, answer(FALSE))
        ELSE IF s.electionState \in BallotOpen
        THEN Outcome([s EXCEPT !.candidateTermId = m.candidateTermId,
                               !.electionState = "FOLLOWER_BALLOT",
                               !.members = ForgetRecords(s.members)], answer(TRUE))
        ELSE Ignore(s)

(***************************************************************************)
(* MUT_AnyAnswerIsAVote: who has an answer of all others has won, whatever *)
(* they have answered.                                                     *)
(***************************************************************************)
MutAllHaveAnswered(s) == \A j \in Members : s.members[j].vote # NULL_VALUE
=============================================================================

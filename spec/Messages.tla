------------------------------ MODULE Messages ------------------------------
\* The consensus messages of Aeron Cluster, with the field names of Aeron's SBE schema (id 111). No
\* rule of the protocol reads protocolVersion, appVersion, timestamp, logSessionId,
\* leaderRecordingId, isStartup and catchupEndpoint: they are left out.
\*
\* Terms and positions are integers; -1 is null. The rules only compare them, take min, max or the
\* k-th largest, and add 1 to a term. So a step of a production log with 64-bit positions can be
\* checked on small numbers.
EXTENDS Integers, Sequences, FiniteSets

CONSTANT MemberCount    \* How many members the cluster has; they are 0, 1, ...

Members == 0 .. (MemberCount - 1)

NULL_VALUE    == -1
NULL_POSITION == -1

CATCHUP_FLAG == 1       \* AppendPosition.flags: the sender is in FOLLOWER_CATCHUP.

Max(a, b) == IF a >= b THEN a ELSE b
Min(a, b) == IF a <= b THEN a ELSE b

NoMessage == [type |-> "None"]

\* Constructors. The arguments are in the order of the SBE fields.
CanvassPosition(logTerm, logPosition, term, follower) ==
    [type |-> "CanvassPosition", logLeadershipTermId |-> logTerm, logPosition |-> logPosition,
     leadershipTermId |-> term, followerMemberId |-> follower]

RequestVote(logTerm, logPosition, candidateTerm, candidate) ==
    [type |-> "RequestVote", logLeadershipTermId |-> logTerm, logPosition |-> logPosition,
     candidateTermId |-> candidateTerm, candidateMemberId |-> candidate]

Vote(candidateTerm, logTerm, logPosition, candidate, follower, vote) ==
    [type |-> "Vote", candidateTermId |-> candidateTerm, logLeadershipTermId |-> logTerm,
     logPosition |-> logPosition, candidateMemberId |-> candidate, followerMemberId |-> follower,
     vote |-> vote]

NewLeadershipTerm(logTerm, nextTerm, nextBase, nextPosition, term, base, logPosition, commit, leader) ==
    [type |-> "NewLeadershipTerm", logLeadershipTermId |-> logTerm, nextLeadershipTermId |-> nextTerm,
     nextTermBaseLogPosition |-> nextBase, nextLogPosition |-> nextPosition,
     leadershipTermId |-> term, termBaseLogPosition |-> base, logPosition |-> logPosition,
     commitPosition |-> commit, leaderMemberId |-> leader]

AppendPosition(term, logPosition, follower, flags) ==
    [type |-> "AppendPosition", leadershipTermId |-> term, logPosition |-> logPosition,
     followerMemberId |-> follower, flags |-> flags]

CommitPosition(term, logPosition, leader) ==
    [type |-> "CommitPosition", leadershipTermId |-> term, logPosition |-> logPosition,
     leaderMemberId |-> leader]

CatchupPosition(term, logPosition, follower) ==
    [type |-> "CatchupPosition", leadershipTermId |-> term, logPosition |-> logPosition,
     followerMemberId |-> follower]

StopCatchup(term, follower) ==
    [type |-> "StopCatchup", leadershipTermId |-> term, followerMemberId |-> follower]

TerminationPosition(term, logPosition) ==
    [type |-> "TerminationPosition", leadershipTermId |-> term, logPosition |-> logPosition]

TerminationAck(term, logPosition, member) ==
    [type |-> "TerminationAck", leadershipTermId |-> term, logPosition |-> logPosition,
     memberId |-> member]

\* The sends of a step are a sequence of [to, message] in the order of sending. A broadcast goes to
\* the other members in ascending order of their ids.
Send(j, m) == <<[to |-> j, message |-> m]>>

OthersOf(i, set) ==
    SelectSeq([k \in 1 .. MemberCount |-> k - 1], LAMBDA j : j # i /\ j \in set)

SendToEach(i, set, m) ==
    LET others == OthersOf(i, set)
    IN  [k \in 1 .. Len(others) |-> [to |-> others[k], message |-> m]]

Broadcast(i, m) == SendToEach(i, Members, m)

\* Types, for bounded sets of terms and positions. The caller includes -1 if a field may be null.
ShortMessageOf(Terms, Positions) ==
    LET T == Terms \cup {NULL_VALUE}
    IN  [type : {"CanvassPosition"}, logLeadershipTermId : T, logPosition : Positions,
         leadershipTermId : T, followerMemberId : Members]
        \cup
        [type : {"RequestVote"}, logLeadershipTermId : T, logPosition : Positions,
         candidateTermId : Terms, candidateMemberId : Members]
        \cup
        [type : {"Vote"}, candidateTermId : Terms, logLeadershipTermId : T, logPosition : Positions,
         candidateMemberId : Members, followerMemberId : Members, vote : BOOLEAN]
        \cup
        [type : {"AppendPosition"}, leadershipTermId : T, logPosition : Positions,
         followerMemberId : Members, flags : {0, CATCHUP_FLAG}]
        \cup
        [type : {"CommitPosition"}, leadershipTermId : T, logPosition : Positions,
         leaderMemberId : Members]
        \cup
        [type : {"CatchupPosition"}, leadershipTermId : T, logPosition : Positions,
         followerMemberId : Members]
        \cup
        [type : {"StopCatchup"}, leadershipTermId : T, followerMemberId : Members]
        \cup
        [type : {"TerminationPosition"}, leadershipTermId : T, logPosition : Positions]
        \cup
        [type : {"TerminationAck"}, leadershipTermId : T, logPosition : Positions, memberId : Members]
=============================================================================

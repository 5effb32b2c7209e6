---------------------------- MODULE MemberState -----------------------------
\* The protocol state of one member, its inputs, and the operators that all its steps share. Start
\* reading at Election.tla; Member.tla lists all actions.
\*
\* A step is a pure operator Action(i, s, x): member i in state s consumes input x. The value is the
\* SET of outcomes [next, sends] that the protocol allows; it is empty if the action is not enabled.
\* The input has the facts about time, transport and archive: a deadline has passed, these members
\* are active. So a step has at most one outcome.
\*
\* Variables that nothing reads any more are set to null, which keeps the state graph small: the
\* variables of an election when it closes (Aeron drops the object, too), and the member records of
\* a follower (the next CANVASS resets them before they are read).
\*
\* This module, Election.tla and Replication.tla are Aeron 1.50 and nothing else. Rev149.tla,
\* UpstreamFix.tla and Hardened.tla override some of their operators; a rule of its own, such as
\* CountedPosition, is often what one of these needs.
EXTENDS RecordingLog

CONSTANT AppointedLeaderId  \* The only member that may nominate itself, or -1 if every member may.

NoAppointedLeader == NULL_VALUE    \* a name for configuration files, which take no negative number

ElectionStateTable ==
    <<"INIT", "CANVASS", "NOMINATE", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT",
      "LEADER_LOG_REPLICATION", "LEADER_REPLAY", "LEADER_INIT", "LEADER_READY",
      "FOLLOWER_LOG_REPLICATION", "FOLLOWER_REPLAY", "FOLLOWER_CATCHUP_INIT",
      "FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_CATCHUP", "FOLLOWER_LOG_INIT", "FOLLOWER_LOG_AWAIT",
      "FOLLOWER_READY", "CLOSED">>

NamesIn(table) == {table[k] : k \in DOMAIN table}
ElectionStates == NamesIn(ElectionStateTable)

\* The states in which a member may grant a vote, and those in which it reads its member records.
BallotOpen == {"CANVASS", "NOMINATE", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT"}

RecordsRead == {"CANVASS", "NOMINATE", "CANDIDATE_BALLOT", "LEADER_LOG_REPLICATION",
                "LEADER_REPLAY", "LEADER_INIT", "LEADER_READY"}

\* The input of a step. The fields that an action does not read have these values.
NoInput ==
    [message                |-> NoMessage,  \* the message received
     interval               |-> FALSE,      \* the period of the repeated message has passed
     commitInterval         |-> FALSE,      \* a CommitPosition is due
     timeout                |-> FALSE,      \* the deadline of the state has passed
     active                 |-> {},         \* members heard of within the heartbeat timeout, before this step
     accepted               |-> {},         \* the members to which a RequestVote could be sent
     position               |-> NULL_POSITION,  \* the log is appended, recorded or consumed to here
     entryPosition          |-> NULL_POSITION,  \* the last entry consumed begins here, before a bound within it
     leadershipTermId       |-> NULL_VALUE,     \* of the NewLeadershipTermEvent consumed
     termBaseLogPosition    |-> NULL_POSITION,  \* of the NewLeadershipTermEvent consumed
     gracefulClosedLeaderId |-> NULL_VALUE]     \* the leader that ended its log stream in good order

Outcome(next, sends) == {[next |-> next, sends |-> sends]}

Ignore(s) == Outcome(s, <<>>)

\* A member has a record of each member, itself included. Records are caches and may be stale:
\* hazard HZ1.
\* Source: ClusterMember.java.
NoRecord ==
    [leadershipTermId |-> NULL_VALUE,   \* of the last report; a log term or a leadership term
     logPosition      |-> NULL_POSITION,
     candidateTermId  |-> NULL_VALUE,   \* the ballot that vote belongs to
     vote             |-> NULL_VALUE,   \* -1 none yet, 0 against, 1 in favour
     ballotSent       |-> FALSE,
     catchupReplay    |-> FALSE]        \* a replay runs for this member's catch-up

ForgetRecords(records) ==
    [j \in Members |-> [NoRecord EXCEPT !.catchupReplay = records[j].catchupReplay]]

StopCatchupReplays(records) == [j \in Members |-> [records[j] EXCEPT !.catchupReplay = FALSE]]

UpdateMemberLogPosition(records, j, term, position) ==
    [records EXCEPT ![j].leadershipTermId = term, ![j].logPosition = position]

\* The state of a process that has just started on its disk, before its election begins. NewMember
\* starts for the first time.
Persistent(candidateTerm, recordingLog, recorded, snapshotTerm, snapshotBase, snapshotPosition) ==
    [\* The state that survives a restart.
     persistedCandidateTermId      |-> candidateTerm,
     recordingLog                  |-> recordingLog,
     recordedPosition              |-> recorded,   \* the end of the recording
     snapshotLeadershipTermId      |-> snapshotTerm,
     snapshotTermBaseLogPosition   |-> snapshotBase,
     snapshotLogPosition           |-> snapshotPosition,
     \* The consensus module.
     moduleState                   |-> "CLOSED",
     role                          |-> "FOLLOWER",
     moduleLeadershipTermId        |-> NULL_VALUE, \* of the last NewLeadershipTermEvent consumed, or joined
     moduleNotifiedCommitPosition  |-> 0,
     commitPosition                |-> 0,          \* processed up to here; services may process up to here
     publicationPosition           |-> NULL_POSITION,  \* the end of the log stream that this leader writes
     logSubscription               |-> FALSE,
     catchupDestination            |-> FALSE,
     terminationPosition           |-> NULL_POSITION,
     terminationLeadershipTermId   |-> NULL_VALUE,
     leaderMemberId                |-> NULL_VALUE,
     members                       |-> [j \in Members |-> NoRecord],
     \* The election.
     electionState                 |-> "CLOSED",
     logLeadershipTermId           |-> NULL_VALUE, \* the term that the log ends with
     leadershipTermId              |-> NULL_VALUE, \* the term that this member leads or follows
     candidateTermId               |-> NULL_VALUE,
     appendPosition                |-> NULL_POSITION,
     notifiedCommitPosition        |-> NULL_POSITION,
     catchupJoinPosition           |-> NULL_POSITION,
     replicationLeadershipTermId   |-> NULL_VALUE,
     replicationStopPosition       |-> NULL_POSITION,
     replicationTermBaseLogPosition |-> NULL_POSITION,
     logReplication                |-> FALSE,      \* a replication from the leader's archive runs
     replayStopPosition            |-> NULL_POSITION,  \* a replay of the own log runs up to here
     gracefulClosedLeaderId        |-> NULL_VALUE]

NewMember == Persistent(NULL_VALUE, <<>>, 0, NULL_VALUE, 0, 0)

\* Disk: the state that a restart finds.
Disk(s) == Persistent(s.persistedCandidateTermId, s.recordingLog, s.recordedPosition,
                      s.snapshotLeadershipTermId, s.snapshotTermBaseLogPosition,
                      s.snapshotLogPosition)

\* The phase of a member. A module that is not active does nothing. Outside elections the election
\* state is CLOSED, and the role says what the member does.
InElection(s) == s.moduleState = "ACTIVE" /\ s.electionState # "CLOSED"
IsElecting(s) == InElection(s) /\ s.electionState # "INIT"    \* in INIT no message is taken in
OutsideElections(s) == s.moduleState = "ACTIVE" /\ s.electionState = "CLOSED"
Closed(s, role) == OutsideElections(s) /\ s.role = role
At(s, electionState) == s.moduleState = "ACTIVE" /\ s.electionState = electionState

\* Whether the member has its own log stream, which ends at publicationPosition.
IsPublisher(s) ==
    s.role = "LEADER" /\ s.moduleState = "ACTIVE" /\ s.publicationPosition # NULL_POSITION

\* Outside elections: whether a message is from the leader that this member follows, or from a newer
\* term.
IsFromLeader(s, m) ==
    /\ Closed(s, "FOLLOWER")
    /\ m.leaderMemberId = s.leaderMemberId
    /\ m.leadershipTermId = s.moduleLeadershipTermId

IsFromNewerTerm(s, m) == OutsideElections(s) /\ m.leadershipTermId > s.moduleLeadershipTermId

\* Entering an election state. FOLLOWER_BALLOT does not change the role: a candidate that grants a
\* vote keeps the role CANDIDATE until it canvasses, replicates or replays.
\*
\* CANVASS resets the records of the other members, and sets the member's own record to
\* leadershipTermId. Peers report log terms, so a member compares different quantities when it
\* decides whether to run for election (HZ4). The voters compare again, so this only costs
\* candidacies that must fail.
\* Source: Election.state.
OpenTerm(s, term, base) ==
    EnsureCoherent(s.recordingLog, s.snapshotLeadershipTermId, s.snapshotTermBaseLogPosition,
                   term, base, NULL_POSITION)

EndReplication(s) ==
    [s EXCEPT !.logReplication = FALSE, !.replicationLeadershipTermId = NULL_VALUE,
              !.replicationStopPosition = NULL_POSITION,
              !.replicationTermBaseLogPosition = NULL_POSITION]

OwnTermInCanvass(s) == s.leadershipTermId

EnterCanvass(i, s) ==
    [EndReplication(s) EXCEPT
        !.electionState = "CANVASS",
        !.role = "FOLLOWER",
        !.leaderMemberId = NULL_VALUE,
        !.catchupJoinPosition = NULL_POSITION,
        !.replayStopPosition = NULL_POSITION,
        !.members = UpdateMemberLogPosition(ForgetRecords(s.members), i, OwnTermInCanvass(s),
                                            s.appendPosition)]

WinTerm(i, s) ==
    [s EXCEPT !.role = "LEADER",
              !.leaderMemberId = i,
              !.leadershipTermId = s.candidateTermId,
              !.publicationPosition = s.appendPosition]

EnterLeaderLogReplication(i, s) ==
    [WinTerm(i, s) EXCEPT !.electionState = "LEADER_LOG_REPLICATION"]

EnterFollowerState(s, electionState) ==
    [s EXCEPT !.electionState = electionState,
              !.role = "FOLLOWER",
              !.members = ForgetRecords(s.members)]

\* A non-terminal error ends the step and returns the election to INIT. The INIT step, which changes
\* the role, is in the next duty cycle; messages that arrive before it are lost.
\* Source: ConsensusModuleAgent.doWork, Election.handleError.
EnterInit(s) ==
    [EndReplication(s) EXCEPT !.electionState = "INIT",
                              !.catchupJoinPosition = NULL_POSITION,
                              !.replayStopPosition = NULL_POSITION,
                              !.members = ForgetRecords(s.members)]

Raise(s) == Outcome(EnterInit(s), <<>>)

\* Predicates on logs and member records. Source: ClusterMember.java.
Quorum == (MemberCount \div 2) + 1

CompareLog(t1, p1, t2, p2) ==
    IF t1 > t2 THEN 1 ELSE IF t1 < t2 THEN -1
    ELSE IF p1 > p2 THEN 1 ELSE IF p1 < p2 THEN -1 ELSE 0

WillVoteFor(voter, candidate) ==
    /\ voter.logPosition # NULL_POSITION
    /\ CompareLog(voter.leadershipTermId, voter.logPosition,
                  candidate.leadershipTermId, candidate.logPosition) <= 0

\* The gracefully closed leader is not one of "all" members, but it counts for the size of a quorum.
IsUnanimousCandidate(i, s) ==
    LET others == Members \ {s.gracefulClosedLeaderId}
    IN  /\ \A j \in others : WillVoteFor(s.members[j], s.members[i])
        /\ Cardinality(others) >= Quorum

IsQuorumCandidate(i, s) ==
    Cardinality({j \in Members : WillVoteFor(s.members[j], s.members[i])}) >= Quorum

IsUnanimousLeader(s) ==
    LET others == Members \ {s.gracefulClosedLeaderId}
    IN  /\ \A j \in others : /\ s.members[j].candidateTermId = s.candidateTermId
                             /\ s.members[j].vote = 1
        /\ Cardinality(others) >= Quorum

IsQuorumLeader(s) ==
    LET ballot == {j \in Members : s.members[j].candidateTermId = s.candidateTermId}
    IN  /\ \A j \in ballot : s.members[j].vote # 0
        /\ Cardinality({j \in ballot : s.members[j].vote = 1}) >= Quorum

\* The k-th largest position of the active members, where k is the size of a quorum; other members
\* count as 0. Terms are ignored: hazard HZ1.
QuorumPosition(position, active) ==
    LET reached(p) == Cardinality({j \in active : position[j] >= p}) >= Quorum
        candidates == {0} \cup {position[j] : j \in active}
        reachable  == {p \in candidates : p = 0 \/ (p > 0 /\ reached(p))}
    IN  CHOOSE p \in reachable : \A q \in reachable : q <= p

\* The quorum position of a leader in term, bounded by its own recording up to own. The leader's own
\* record counts in full, those of the others whatever their term.
CountedPosition(s, term, own, record) == record.logPosition

CountedPositions(s, term, own) ==
    [j \in Members |-> IF j = s.leaderMemberId THEN s.members[j].logPosition
                       ELSE CountedPosition(s, term, own, s.members[j])]

CountedMembers(s, term, active) == active

BoundedQuorumPosition(s, term, own, active) ==
    Min(QuorumPosition(CountedPositions(s, term, own), CountedMembers(s, term, active)), own)

ElectionQuorumPosition(s, active) ==
    BoundedQuorumPosition(s, s.leadershipTermId, s.appendPosition, active)

\* The position that a leader, in its election or outside, publishes as committed and commits
\* itself. It computes the quorum position before it updates its own record. So it counts with its
\* position of the previous duty cycle, and only if it is itself active. The quorum position falls
\* when a member is no longer active, and is sent as it is; the commit position only rises.
\* Source: ConsensusModuleAgent.updateLeaderPosition.
NoteOwnPosition(i, s, own) == [s EXCEPT !.members[i].logPosition = own]
LeaderQuorumPosition(i, s, term, own, active) == BoundedQuorumPosition(s, term, own, active)
IsCommitDue(s, x, q) == q > s.commitPosition \/ x.commitInterval
CommitTo(s, x, q) == IF IsCommitDue(s, x, q) THEN Max(s.commitPosition, q) ELSE s.commitPosition

PublishCommitPosition(i, s, x, q) ==
    IF IsCommitDue(s, x, q)
    THEN Broadcast(i, CommitPosition(s.moduleLeadershipTermId, q, i)) ELSE <<>>

HasReached(s, j, term, position) ==
    s.members[j].leadershipTermId = term /\ s.members[j].logPosition >= position

HasQuorumAtPosition(s, term, position, active) ==
    Cardinality({j \in active : HasReached(s, j, term, position)}) >= Quorum

\* The NewLeadershipTerm of a leader about the term that follows logTerm in its log. If the
\* recording log has no next term in an election, the term that the leader is about to open takes
\* its place.
\*
\* In LEADER_READY the message is about the new term itself, and names the same term as the next
\* one, which begins at its base. A member whose log has grown in the term truncates it there:
\* hazard HZ8.
\* Source: Election.publishNewLeadershipTerm, ConsensusModuleAgent.onCanvassPosition.
NamesNextTerm(s, logTerm) == FindTermEntry(s.recordingLog, logTerm + 1) # NoTermEntry

AnnouncedCommit(position) == position

ElectionNewLeadershipTerm(i, s, logTerm, quorumPosition) ==
    LET next  == FindTermEntry(s.recordingLog, logTerm + 1)
        known == NamesNextTerm(s, logTerm)
    IN  NewLeadershipTerm(
            logTerm,
            IF known THEN next.leadershipTermId ELSE s.leadershipTermId,
            IF known THEN next.termBaseLogPosition ELSE s.appendPosition,
            IF next = NoTermEntry THEN NULL_POSITION
            ELSE IF next.logPosition = NULL_POSITION THEN s.appendPosition ELSE next.logPosition,
            s.leadershipTermId, s.appendPosition, s.appendPosition,
            AnnouncedCommit(quorumPosition), i)

LeaderNewLeadershipTerm(i, s, logTerm) ==
    LET next == IF logTerm < s.moduleLeadershipTermId
                THEN FindTermEntry(s.recordingLog, logTerm + 1) ELSE NoTermEntry
        base == FindTermEntry(s.recordingLog, s.moduleLeadershipTermId).termBaseLogPosition
    IN  NewLeadershipTerm(
            logTerm, next.leadershipTermId, next.termBaseLogPosition, next.logPosition,
            s.moduleLeadershipTermId, base, s.publicationPosition,
            AnnouncedCommit(s.commitPosition), i)
=============================================================================

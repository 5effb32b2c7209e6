---------------------------- MODULE MemberState -----------------------------
(***************************************************************************)
(* The protocol state of one member, the inputs that drive it, and what is *)
(* common to all its steps: entering an election state, the predicates on  *)
(* member records, and the NewLeadershipTerm that a leader sends.          *)
(*                                                                         *)
(* A step is a pure operator Action(i, s, x): member i in state s consumes *)
(* input x; the value is the SET of outcomes [next, sends] that the        *)
(* protocol allows, empty if the action is not enabled.  Time, transport   *)
(* and archive enter as facts in the input (a deadline has passed, these   *)
(* members were heard of lately), so that a step has at most one outcome.  *)
(*                                                                         *)
(* Variables that nothing reads any more are set to null: an election's    *)
(* when it closes (Aeron drops the object too), a follower's member        *)
(* records (the next CANVASS resets them unread).  That keeps the state    *)
(* graph small and changes no behaviour.                                   *)
(*                                                                         *)
(* Start reading at Election.tla; Member.tla lists all actions.            *)
(***************************************************************************)
EXTENDS RecordingLog

CONSTANTS
    Revision,          \* "1.49" as the seed documents say, "1.50" as current Aeron does, or
                       \* "upstream-fix": 1.50 with the corrections proposed in September 2026.
    Hardening,         \* The fixes in force, a subset of Hazards.
    AppointedLeaderId  \* The only member that may nominate itself, or -1 if every member may.

NoAppointedLeader == NULL_VALUE    \* a name for configuration files, which take no negative number

(***************************************************************************)
(* The hazards that can be hardened against.  docs/findings/ has a page    *)
(* for each.  HZ4 costs hopeless candidacies only and has no fix here.     *)
(***************************************************************************)
Hazards == {"HZ1", "HZ2", "HZ3", "HZ5", "HZ6", "HZ7", "HZ8", "HZ9", "HZ10"}

ASSUME Hardening \subseteq Hazards

Rev149 == Revision = "1.49"

(***************************************************************************)
(* The corrections that a public branch of Aeron proposes; the page        *)
(* docs/findings/upstream-fix.md names the source of each and its effect.  *)
(***************************************************************************)
UpstreamFix == Revision = "upstream-fix"

Hardened(hazard) == hazard \in Hardening

ElectionStateTable ==
    <<"INIT", "CANVASS", "NOMINATE", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT",
      "LEADER_LOG_REPLICATION", "LEADER_REPLAY", "LEADER_INIT", "LEADER_READY",
      "FOLLOWER_LOG_REPLICATION", "FOLLOWER_REPLAY", "FOLLOWER_CATCHUP_INIT",
      "FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_CATCHUP", "FOLLOWER_LOG_INIT", "FOLLOWER_LOG_AWAIT",
      "FOLLOWER_READY", "CLOSED">>

NamesIn(table) == {table[k] : k \in DOMAIN table}

ElectionStates == NamesIn(ElectionStateTable)

(***************************************************************************)
(* The states in which a vote may be granted, and those in which the       *)
(* member's picture of the others matters.                                 *)
(***************************************************************************)
BallotOpen == {"CANVASS", "NOMINATE", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT"}

RecordsRead == {"CANVASS", "NOMINATE", "CANDIDATE_BALLOT", "LEADER_LOG_REPLICATION",
                "LEADER_REPLAY", "LEADER_INIT", "LEADER_READY"}

(***************************************************************************)
(* The input of a step.  An action reads the fields named in Member.tla's  *)
(* table; the others keep these values.                                    *)
(***************************************************************************)
NoInput ==
    [message                |-> NoMessage,  \* the message received
     interval               |-> FALSE,      \* the period of the repeated message has passed
     commitInterval         |-> FALSE,      \* a CommitPosition is due
     timeout                |-> FALSE,      \* the deadline of the state has passed
     active                 |-> {},         \* members heard of within the heartbeat timeout, before this step
     accepted               |-> {},         \* the members to which a RequestVote could be sent
     position               |-> NULL_POSITION,  \* the log is appended, recorded or consumed to here
     leadershipTermId       |-> NULL_VALUE,     \* of the NewLeadershipTermEvent consumed
     termBaseLogPosition    |-> NULL_POSITION,  \* of the NewLeadershipTermEvent consumed
     gracefulClosedLeaderId |-> NULL_VALUE]     \* the leader that ended its log stream in good order

Outcome(next, sends) == {[next |-> next, sends |-> sends]}

Ignore(s) == Outcome(s, <<>>)

(***************************************************************************)
(* Member records: what a member believes of each member, itself included. *)
(* They are caches and may be stale; hazard HZ1 lives in them.             *)
(* Source: ClusterMember.java.                                             *)
(***************************************************************************)
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

(***************************************************************************)
(* The state of a process that has just been started on what is on disk,   *)
(* before its election begins.  With nothing on disk it is the first start *)
(* of all.                                                                 *)
(***************************************************************************)
Persistent(candidateTerm, recordingLog, recorded, snapshotTerm, snapshotBase, snapshotPosition) ==
    [\* What survives a restart.
     persistedCandidateTermId      |-> candidateTerm,
     recordingLog                  |-> recordingLog,
     recordedPosition              |-> recorded,   \* the end of what the archive has recorded
     snapshotLeadershipTermId      |-> snapshotTerm,
     snapshotTermBaseLogPosition   |-> snapshotBase,
     snapshotLogPosition           |-> snapshotPosition,
     \* The consensus module.
     moduleState                   |-> "CLOSED",
     role                          |-> "FOLLOWER",
     moduleLeadershipTermId        |-> NULL_VALUE, \* of the last NewLeadershipTermEvent consumed, or joined
     moduleNotifiedCommitPosition  |-> 0,
     commitPosition                |-> 0,          \* processed up to here; services may process up to here
     publicationPosition           |-> NULL_POSITION,  \* the end of what this leader has written
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

(***************************************************************************)
(* Disk(s): what a restart finds.                                          *)
(***************************************************************************)
Disk(s) == Persistent(s.persistedCandidateTermId, s.recordingLog, s.recordedPosition,
                      s.snapshotLeadershipTermId, s.snapshotTermBaseLogPosition,
                      s.snapshotLogPosition)

(***************************************************************************)
(* Where a member is. A module that is not active takes no part in         *)
(* anything; outside elections the election's state is CLOSED, and the     *)
(* role says what the member does.                                         *)
(***************************************************************************)
InElection(s) == s.moduleState = "ACTIVE" /\ s.electionState # "CLOSED"

IsElecting(s) == InElection(s) /\ s.electionState # "INIT"    \* in INIT no message is taken in

OutsideElections(s) == s.moduleState = "ACTIVE" /\ s.electionState = "CLOSED"

Closed(s, role) == OutsideElections(s) /\ s.role = role

At(s, electionState) == s.moduleState = "ACTIVE" /\ s.electionState = electionState

(***************************************************************************)
(* Whether the member has a log stream of its own, which ends at           *)
(* publicationPosition.                                                    *)
(***************************************************************************)
IsPublisher(s) ==
    s.role = "LEADER" /\ s.moduleState = "ACTIVE" /\ s.publicationPosition # NULL_POSITION

(***************************************************************************)
(* Outside elections: whether what a leader sends is from the leader that  *)
(* this member follows, or from a newer term.                              *)
(***************************************************************************)
IsFromLeader(s, m) ==
    /\ Closed(s, "FOLLOWER")
    /\ m.leaderMemberId = s.leaderMemberId
    /\ m.leadershipTermId = s.moduleLeadershipTermId

IsFromNewerTerm(s, m) == OutsideElections(s) /\ m.leadershipTermId > s.moduleLeadershipTermId

(***************************************************************************)
(* Entering an election state.  The one place where entry actions are.     *)
(*                                                                         *)
(* CANVASS forgets what was known of the others and fills the own record   *)
(* with leadershipTermId, not logLeadershipTermId: peers report log terms, *)
(* so a member compares unlike quantities when it asks whether to stand    *)
(* (HZ4).  Voters compare again, so this costs hopeless candidacies only.  *)
(*                                                                         *)
(* FOLLOWER_BALLOT leaves the role alone: a candidate that grants a vote   *)
(* keeps role CANDIDATE until it canvasses, replicates or replays.         *)
(*                                                                         *)
(* Hardening HZ5: whoever wins a term opens it in its recording log at     *)
(* once, where its log ends, and counts itself as standing there in it.    *)
(* Source: Election.state.                                                 *)
(***************************************************************************)
OpenTerm(s, term, base) ==
    EnsureCoherent(s.recordingLog, s.snapshotLeadershipTermId, s.snapshotTermBaseLogPosition,
                   term, base, NULL_POSITION)

EndReplication(s) ==
    [s EXCEPT !.logReplication = FALSE, !.replicationLeadershipTermId = NULL_VALUE,
              !.replicationStopPosition = NULL_POSITION,
              !.replicationTermBaseLogPosition = NULL_POSITION]

EnterCanvass(i, s) ==
    [EndReplication(s) EXCEPT
        !.electionState = "CANVASS",
        !.role = "FOLLOWER",
        !.leaderMemberId = NULL_VALUE,
        !.catchupJoinPosition = NULL_POSITION,
        !.replayStopPosition = NULL_POSITION,
        !.members = UpdateMemberLogPosition(ForgetRecords(s.members), i,
                                            IF UpstreamFix THEN s.logLeadershipTermId
                                            ELSE s.leadershipTermId, s.appendPosition)]

EnterLeaderLogReplication(i, s) ==
    LET t == [s EXCEPT !.electionState = "LEADER_LOG_REPLICATION",
                       !.role = "LEADER",
                       !.leaderMemberId = i,
                       !.leadershipTermId = s.candidateTermId,
                       !.publicationPosition = s.appendPosition]
    IN  IF Hardened("HZ5")
        THEN [t EXCEPT !.recordingLog = OpenTerm(s, s.candidateTermId, s.appendPosition),
                       !.members = UpdateMemberLogPosition(s.members, i, s.candidateTermId,
                                                           s.appendPosition)]
        ELSE t

EnterFollowerState(s, electionState) ==
    [s EXCEPT !.electionState = electionState,
              !.role = "FOLLOWER",
              !.members = ForgetRecords(s.members)]

(***************************************************************************)
(* Any non-terminal error ends the step and sends the election back to     *)
(* INIT; the INIT step runs in the next duty cycle, and what arrives in    *)
(* between is lost.  The role is given up there, not here.                 *)
(* Source: ConsensusModuleAgent.doWork, Election.handleError.              *)
(***************************************************************************)
EnterInit(s) ==
    [EndReplication(s) EXCEPT !.electionState = "INIT",
                              !.catchupJoinPosition = NULL_POSITION,
                              !.replayStopPosition = NULL_POSITION,
                              !.members = ForgetRecords(s.members)]

Raise(s) == Outcome(EnterInit(s), <<>>)

(***************************************************************************)
(* Predicates on logs and member records.  Source: ClusterMember.java.     *)
(***************************************************************************)
Quorum == (MemberCount \div 2) + 1

CompareLog(t1, p1, t2, p2) ==
    IF t1 > t2 THEN 1 ELSE IF t1 < t2 THEN -1
    ELSE IF p1 > p2 THEN 1 ELSE IF p1 < p2 THEN -1 ELSE 0

WillVoteFor(voter, candidate) ==
    /\ voter.logPosition # NULL_POSITION
    /\ CompareLog(voter.leadershipTermId, voter.logPosition,
                  candidate.leadershipTermId, candidate.logPosition) <= 0

(***************************************************************************)
(* The gracefully closed leader is left out of "all", but not out of the   *)
(* number that makes a quorum.                                             *)
(***************************************************************************)
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

(***************************************************************************)
(* The k-th largest position of the members heard of, for k a quorum;      *)
(* members that are missing count as 0.  Terms are not looked at: that is  *)
(* hazard HZ1.                                                             *)
(***************************************************************************)
QuorumPosition(position, active) ==
    LET reached(p) == Cardinality({j \in active : position[j] >= p}) >= Quorum
        candidates == {0} \cup {position[j] : j \in active}
        reachable  == {p \in candidates : p = 0 \/ (p > 0 /\ reached(p))}
    IN  CHOOSE p \in reachable : \A q \in reachable : q <= p

(***************************************************************************)
(* Hardening HZ1.  A report counts for as much of it as is surely this     *)
(* leader's log: all of it if it was made in this leader's term, else not  *)
(* beyond the end that the leader's own log has for the reported term.     *)
(***************************************************************************)
SharedPosition(s, term, own, record) ==
    IF record.leadershipTermId = term THEN record.logPosition
    ELSE LET entry == FindTermEntry(s.recordingLog, record.leadershipTermId)
             end   == IF entry = NoTermEntry THEN 0
                      ELSE IF entry.logPosition = NULL_POSITION THEN own ELSE entry.logPosition
         IN  Min(record.logPosition, end)

CountedPosition(s, term, own, record) ==
    IF Hardened("HZ1") THEN SharedPosition(s, term, own, record) ELSE record.logPosition

(***************************************************************************)
(* The bounded quorum position of a leader in term whose own log is        *)
(* recorded up to own.  What the leader knows of itself counts in full.    *)
(* UpstreamFix: a report counts only if it was made in this term, the      *)
(* leader's own included.                                                  *)
(* 1.49 counts members however long silent, and does not bound the         *)
(* position in elections.                                                  *)
(***************************************************************************)
BoundedQuorumPosition(s, term, own, active) ==
    LET position == [j \in Members |-> IF j = s.leaderMemberId THEN s.members[j].logPosition
                                       ELSE CountedPosition(s, term, own, s.members[j])]
        counted  == IF UpstreamFix THEN {j \in active : s.members[j].leadershipTermId = term}
                    ELSE active
    IN  IF Rev149 THEN QuorumPosition(position, Members)
        ELSE Min(QuorumPosition(position, counted), own)

(***************************************************************************)
(* The quorum position that a leader publishes in its election.  Hardening *)
(* HZ5: nothing new counts as committed before a quorum has opened the     *)
(* term, which is when the leader leaves LEADER_LOG_REPLICATION.           *)
(***************************************************************************)
ElectionQuorumPosition(s, active) ==
    IF Hardened("HZ5") /\ s.electionState = "LEADER_LOG_REPLICATION" THEN s.commitPosition
    ELSE BoundedQuorumPosition(s, s.leadershipTermId, s.appendPosition, active)

(***************************************************************************)
(* What a leader in its election, or outside it, publishes as committed    *)
(* and takes for committed.  From 1.50 the quorum is computed first and    *)
(* the own record renewed afterwards, so that the leader counts with the   *)
(* position that it had at its previous duty cycle, and only if it has     *)
(* been heard of in time itself.  1.49 renews its record first.            *)
(*                                                                         *)
(* The quorum position can fall, when a member is no longer heard of, and  *)
(* is sent as it is; the commit position only rises (1.49: is set).        *)
(* Source: ConsensusModuleAgent.updateLeaderPosition.                      *)
(***************************************************************************)
NoteOwnPosition(i, s, own) == [s EXCEPT !.members[i].logPosition = own]

LeaderQuorumPosition(i, s, term, own, active) ==
    IF Rev149 THEN Min(BoundedQuorumPosition(NoteOwnPosition(i, s, own), term, own, active), own)
    ELSE BoundedQuorumPosition(s, term, own, active)

IsCommitDue(s, x, q) == q > s.commitPosition \/ x.commitInterval

CommitTo(s, x, q) ==
    IF ~IsCommitDue(s, x, q) THEN s.commitPosition ELSE IF Rev149 THEN q ELSE Max(s.commitPosition, q)

PublishCommitPosition(i, s, x, q) ==
    IF IsCommitDue(s, x, q)
    THEN Broadcast(i, CommitPosition(s.moduleLeadershipTermId, q, i)) ELSE <<>>

HasQuorumAtPosition(s, term, position, active) ==
    Cardinality({j \in (IF Rev149 THEN Members ELSE active) :
                    /\ s.members[j].leadershipTermId = term
                    /\ s.members[j].logPosition >= position}) >= Quorum

(***************************************************************************)
(* 1.49 waits for every member that took part in the ballot.               *)
(***************************************************************************)
HasVotersAtPosition(s, term, position) ==
    \A j \in Members :
        s.members[j].vote # NULL_VALUE =>
            /\ s.members[j].leadershipTermId = term
            /\ s.members[j].logPosition >= position

(***************************************************************************)
(* The NewLeadershipTerm that a leader sends, about what follows logTerm   *)
(* in its log.  In an election the term that this leader is about to open  *)
(* stands in where its recording log has no next term yet.                 *)
(*                                                                         *)
(* In LEADER_READY the message is about the new term itself, and names     *)
(* that same term as the next one, which begins at its base.  To a member  *)
(* whose log has grown in the term meanwhile it says: cut that off.  That  *)
(* is hazard HZ8; hardened, nothing follows the leader's own term.         *)
(* Source: Election.publishNewLeadershipTerm,                              *)
(* ConsensusModuleAgent.onCanvassPosition.                                 *)
(***************************************************************************)
ElectionNewLeadershipTerm(i, s, logTerm, quorumPosition) ==
    LET next  == FindTermEntry(s.recordingLog, logTerm + 1)
        known == next # NoTermEntry \/ (Hardened("HZ8") /\ logTerm >= s.leadershipTermId)
    IN  NewLeadershipTerm(
            logTerm,
            IF known THEN next.leadershipTermId ELSE s.leadershipTermId,
            IF known THEN next.termBaseLogPosition ELSE s.appendPosition,
            IF next = NoTermEntry THEN NULL_POSITION
            ELSE IF next.logPosition = NULL_POSITION THEN s.appendPosition ELSE next.logPosition,
            s.leadershipTermId, s.appendPosition, s.appendPosition,
            IF Rev149 THEN NULL_POSITION ELSE quorumPosition, i)

LeaderNewLeadershipTerm(i, s, logTerm) ==
    LET next == IF logTerm < s.moduleLeadershipTermId
                THEN FindTermEntry(s.recordingLog, logTerm + 1) ELSE NoTermEntry
        base == FindTermEntry(s.recordingLog, s.moduleLeadershipTermId).termBaseLogPosition
    IN  NewLeadershipTerm(
            logTerm, next.leadershipTermId, next.termBaseLogPosition, next.logPosition,
            s.moduleLeadershipTermId, base, s.publicationPosition,
            IF Rev149 THEN NULL_POSITION ELSE s.commitPosition, i)
=============================================================================

---------------------------- MODULE CommitMutants -----------------------------
\* Mistakes about the commit position, and about the state that survives a restart: one leader and
\* no further election. 2 leads term 0 and has recorded the first entry of the term. Steady: 1 is a
\* closed follower, and 0 is down. Joining: 0 is about to join the log, and 1 is down.
\*
\* From here everything is explored: the leader writes up to MaxPosition and may no longer hear of
\* its followers; followers take snapshots and restart, and then stay away; when all is committed,
\* the cluster may be shut down.
EXTENDS MCBounds

Rules == INSTANCE Cluster

Steady == Elected(2, <<0, 1>>, 0) \o Dies(0) \o Records(2)

Joining ==
    Stands(2, 1) \o Silence \o Repeats(2, "LeaderLogReplication", Members)
    \o Arrival(2, 0) \o Arrival(2, 1) \o Silence \o Prepares(2, 0) \o Silence
    \o Joins(2, 1, 0) \o Silence \o Does(0, "FollowerReplay") \o Does(0, "FollowerLogInit")
    \o OpensLog(2, Members) \o Records(2) \o Dies(1)

CommitsInit == StartsAfter(<<Steady, Joining>>)

ReportsAgain(i) == IfQuiet(i) /\ member[i].electionState = "CLOSED"
FollowerRestarts(i) == Closed(member[i], "FOLLOWER")
FollowerSnapshots(i) == Closed(member[i], "FOLLOWER")
WhenAllIsCommitted(i) == member[i].commitPosition = MaxPosition
FollowersFallSilent(i) == {Members, {i}}

-----------------------------------------------------------------------------
\* MUT_FastestCounts: the longest recording of any member counts as committed.
MutQuorumPosition(position, active) ==
    CHOOSE p \in {position[j] : j \in active} : \A j \in active : position[j] <= p

\* MUT_CommitFalls: the commit position is the present quorum position, not the greatest one so far.
MutCommitTo(s, x, q) == IF IsCommitDue(s, x, q) THEN q ELSE s.commitPosition

\* MUT_CommitsUnrecorded: a leader counts its written entries for itself, recorded or not.
MutCountsWritten(i, s, x) ==
    {[o EXCEPT !.next.recordedPosition = s.recordedPosition] :
        o \in Rules!UpdateLeaderPosition(i, [s EXCEPT !.recordedPosition = s.publicationPosition], x)}

\* MUT_FollowerRunsAhead: a follower processes everything that it has recorded.
MutConsumeBound(s) == Rules!ConsumeBound([s EXCEPT !.moduleNotifiedCommitPosition = s.recordedPosition])

\* MUT_ReportsTooMuch: a follower reports one position more than the end of its recording.
MutUpdateFollowerPosition(i, s, x) ==
    {[o EXCEPT !.sends[1].message.logPosition = @ + 1] : o \in Rules!UpdateFollowerPosition(i, s, x)}

\* MUT_LogNotOnDisk: recorded entries that are not processed are lost in a restart.
MutDisk(s) == [Rules!Disk(s) EXCEPT !.recordedPosition = s.commitPosition]

\* MUT_RestartCommits: a member that restarts takes its whole recording as committed.
MutRestart(i, s, x) ==
    {[o EXCEPT !.next.commitPosition = s.recordedPosition] : o \in Rules!Restart(i, s, x)}

\* MUT_SnapshotTooFar: a snapshot names the end of the recording, not of the processed log.
MutTakeSnapshot(i, s, x) ==
    {[o EXCEPT !.next.snapshotLogPosition = s.recordedPosition] : o \in Rules!TakeSnapshot(i, s, x)}

\* MUT_FollowerOpensNoTerm: a follower joins a log without writing its term to the recording log.
MutFollowerLogAwait(i, s, x) ==
    {[o EXCEPT !.next.recordingLog = s.recordingLog] : o \in Rules!FollowerLogAwait(i, s, x)}

\* MUT_LeaderOpensNoTerm: a leader does not write its term to the recording log.
MutLeaderInit(i, s, x) ==
    {[o EXCEPT !.next.recordingLog = s.recordingLog] : o \in Rules!LeaderInit(i, s, x)}

\* MUT_CountsItselfTwice: a leader counts each report of its term with its own position.
MutCountedPosition(s, term, own, record) ==
    IF record.leadershipTermId = term THEN own ELSE record.logPosition

\* MUT_ReportsInNextTerm: a follower reports in the term after its own.
MutReportInNextTerm(i, s, x) ==
    {[o EXCEPT !.sends[1].message.leadershipTermId = @ + 1] :
        o \in Rules!UpdateFollowerPosition(i, s, x)}

\* MUT_ReadsAheadOfRecording: a module gets the entry after the next one, recorded or not.
MutConsumeNext(c, i) == [NoInput EXCEPT !.position = c.member[i].commitPosition + 2]

\* MUT_RecordsAheadOfLeader: the archive of a leader records more than the leader has written.
MutNextEntry(c, i) ==
    IF Closed(c.member[i], "LEADER") THEN c.member[i].moduleLeadershipTermId
    ELSE Rules!NextEntry(c, i)

\* MUT_SilentMembersCount: a leader counts members however long they have been silent.
MutCountsTheSilent(i, s, term, own, active) == BoundedQuorumPosition(s, term, own, Members)

\* MUT_QuorumOfTheHeard: a quorum is more than half of the active members.
MutQuorumOfTheHeard(position, active) ==
    LET reached(p) == 2 * Cardinality({j \in active : position[j] >= p}) > Cardinality(active)
        reachable  == {0} \cup {p \in {position[j] : j \in active} : p > 0 /\ reached(p)}
    IN  CHOOSE p \in reachable : \A q \in reachable : q <= p

\* MUT_SnapshotOfOtherTerm: a snapshot names its own position as the base of its term.
MutSnapshotBase(i, s, x) ==
    {[o EXCEPT !.next.snapshotTermBaseLogPosition = s.commitPosition] :
        o \in Rules!TakeSnapshot(i, s, x)}

\* MUT_RestartForgetsLog: a restart keeps only the snapshot.
MutRecovered(s) == [s EXCEPT !.recordedPosition = s.snapshotLogPosition]

\* MUT_RestartForgetsTerm: after a restart the last log term is the term of the snapshot.
MutRestartInOldTerm(i, s, x) ==
    {[o EXCEPT !.next.logLeadershipTermId = s.snapshotLeadershipTermId,
               !.next.leadershipTermId = s.snapshotLeadershipTermId] : o \in Rules!Restart(i, s, x)}

\* MUT_JoinsWithMore: a member that joins a log reports one entry more than it has.
MutFollowerReady(i, s, x) ==
    {[o EXCEPT !.sends[1].message.logPosition = @ + 1] : o \in Rules!FollowerReady(i, s, x)}

\* MUT_CommitsOwnLog: the leader's own recording counts as committed.
MutCommitsOwnLog(s, x, q) == s.recordedPosition

\* MUT_ServicesSkip: services get the whole recording in one piece.
MutConsumesAll(c, i) ==
    [NoInput EXCEPT !.position = Len(c.log[i]), !.leadershipTermId = c.log[i][1],
                    !.termBaseLogPosition = c.member[i].commitPosition]

\* MUT_SnapshotOfEarlierTerm: a snapshot names the term before its own.
MutSnapshotTerm(i, s, x) ==
    {[o EXCEPT !.next.snapshotLeadershipTermId = @ - 1] : o \in Rules!TakeSnapshot(i, s, x)}

\* MUT_BeginsBeforeTheLog: a restart with a log and without a snapshot begins at the null position.
MutBeginsBeforeTheLog(i, s, x) ==
    {[o EXCEPT !.next.commitPosition =
                    IF s.recordingLog # <<>> /\ @ = 0 THEN NULL_POSITION ELSE @] :
        o \in Rules!Restart(i, s, x)}
=============================================================================

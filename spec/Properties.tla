----------------------------- MODULE Properties -----------------------------
\* The properties of the protocol: the meaning of each for a user, and mistakes that would break it.
\* The safety monitors of the trace checker have the same names.
EXTENDS Cluster, WellFormed

IsPrefix(a, b) == Len(a) <= Len(b) /\ SubSeq(b, 1, Len(a)) = a

CommittedPrefix(i) == SubSeq(log[i], 1, Min(member[i].commitPosition, Len(log[i])))

\* INV: TypeOK. Every variable holds a value of its type.
TypeOK ==
    /\ \A i \in Members :
        LET s == member[i]
        IN  /\ s.electionState \in ElectionStates
            /\ s.role \in {"FOLLOWER", "CANDIDATE", "LEADER"}
            /\ s.moduleState \in {"ACTIVE", "CLOSED"}
            /\ s.recordedPosition = Len(log[i])
            /\ s.commitPosition \in Nat
            /\ s.leaderMemberId \in Members \cup {NULL_VALUE}
            /\ DOMAIN s.members = Members
            /\ DOMAIN s = DOMAIN NewMember
    /\ \A i, j \in Members : CountMessages(channel[i][j]) <= ChannelCapacity

\* INV: MessagesAreWellFormed. Every message under way is one that MemberGraph.tla lets its member
\* receive. This discharges the assumption of that module, on which the checks of the core and of
\* traces rest.
AreWellFormed(channels) ==
    \A i, j \in Members :
        \A k \in DOMAIN channels[i][j] :
            channels[i][j][k] = PROCESS_END \/ WellFormed(i, channels[i][j][k])

MessagesAreWellFormed == AreWellFormed(channel)

\* INV: ElectionSafety (S1). No term ever has two leaders. It rests on one vote for each member and
\* term, and on overlapping quorums.
ElectionSafety == \A a, b \in hist.leaders : a[1] = b[1] => a[2] = b[2]

\* INV: OneVotePerTerm (S2). No member votes for two candidates in one term, even if it restarts.
\* Broken if the candidate term is not on disk when the vote is sent.
OneVotePerTerm == \A a, b \in hist.votes : a[1] = b[1] /\ a[2] = b[2] => a[3] = b[3]

\* INV: TermOwnership (S4). Only the leader of a term writes in it, and the term begins at one
\* position: a member that may write in a term has won it; the first entry of a term is at the same
\* position in every log that has it, and the recording log has that base. Broken if a member
\* truncates too little, or records a term with another base than the leader's.
TermOwnership ==
    LET begins(i) == {k \in DOMAIN log[i] : IsTermEvent(Now, i, k)}
        terms(i)  == member[i].recordingLog
    IN  \A i \in Members :
            /\ Closed(member[i], "LEADER") =>
                  <<member[i].moduleLeadershipTermId, i>> \in hist.leaders
            /\ \A k \in begins(i) :
                /\ \A n \in DOMAIN terms(i) :
                      terms(i)[n].leadershipTermId = log[i][k]
                          => terms(i)[n].termBaseLogPosition = k - 1
                /\ \A j \in Members : \A n \in begins(j) : log[j][n] = log[i][k] => n = k

\* INV: LogMatching (S5). If two logs have an entry of the same term at the same position, they are
\* equal up to there. Broken if a member follows a leader although its own log is not a prefix of
\* the leader's.
LogMatching ==
    \A i, j \in Members :
        \A k \in 1 .. Min(Len(log[i]), Len(log[j])) :
            log[i][k] = log[j][k] => SubSeq(log[i], 1, k) = SubSeq(log[j], 1, k)

\* INV: LeaderCompleteness (S6). The leader of a closed election has every entry that was committed
\* in an earlier term. Broken if a member votes for a log that is older than its own.
LeaderCompleteness ==
    \A i \in Members :
        Closed(member[i], "LEADER") =>
            LET term   == member[i].moduleLeadershipTermId
                older  == {k \in DOMAIN hist.committed : hist.committed[k] < term}
            IN  \A k \in older : k <= Len(log[i]) /\ log[i][k] = hist.committed[k]

\* INV: StateMachineSafety (S7). Two members never apply different entries at one position; nor does
\* one member before and after any number of restarts: the history keeps the first committed entry
\* of each position. Broken if a committed entry is truncated and replaced.
StateMachineSafety == \A i \in Members : IsPrefix(CommittedPrefix(i), hist.committed)

\* Refines (S7 as a whole). Each step of the cluster is a step of AbstractLog.tla, or changes
\* nothing there: what is acknowledged stays so, also if a minority is lost, and the newest leader
\* has applied it.
Serving ==
    {i \in Members : /\ Closed(member[i], "LEADER")
                     /\ \A won \in hist.leaders : won[1] <= member[i].moduleLeadershipTermId}

Abstract == INSTANCE AbstractLog WITH
    Appliers     <- Members,
    acknowledged <- hist.committed,
    applied      <- [i \in Members |-> CommittedPrefix(i)],
    kept         <- log,
    serving      <- Serving

Refines == Abstract!LogSpec

\* INV: SnapshotAgreement (S17, the part that the log decides). A snapshot has only committed
\* entries, and names their last term and its base; so two snapshots at one position are of the same
\* log. A term without an entry begins at the position of the snapshot. Broken if a member takes a
\* snapshot of uncommitted entries, or of a term that its recording log has at another base.
SnapshotAgreement ==
    \A i \in Members :
        LET term == member[i].snapshotLeadershipTermId
            base == member[i].snapshotTermBaseLogPosition
            p    == member[i].snapshotLogPosition
        IN  p > 0 =>
                /\ base <= p /\ p <= Len(hist.committed)
                /\ \A k \in 1 .. base : hist.committed[k] < term
                /\ \A k \in (base + 1) .. p : hist.committed[k] = term

\* INV: CommittedIsDurable. Each committed entry is recorded by a quorum. An answer to a client
\* stays true if any minority is lost for ever.
CommittedIsDurable ==
    Cardinality({i \in Members : IsPrefix(hist.committed, log[i])}) >= Quorum

\* INV: CommitBounded (S9). No member commits an entry that it has not recorded: after a crash it
\* can replay what it has applied. Broken if a leader counts entries for itself that its archive
\* does not have yet.
CommitBounded == \A i \in Members : member[i].commitPosition <= member[i].recordedPosition

\* INV: RecordingLogCoherent (S12). In no recording log do two terms overlap or leave a gap, and
\* only the last term is open. Broken if a term is written without closing the previous one.
RecordingLogCoherent == \A i \in Members : IsCoherent(member[i].recordingLog)

\* INV: RecordedTermIsKnown (S11, as far as one state shows it). The last term of the recording log
\* is the term of the last entry of the log, or a later one that was opened at the end of the log.
\* AckedIsDurable rests on this.
RecordedTermIsKnown ==
    \A i \in Members :
        Len(log[i]) > 0 => LastTerm(member[i].recordingLog) >= log[i][Len(log[i])]

\* INV: TermOpenedByQuorum (S13). An entry of a term is recorded only after a quorum has that term,
\* or a later one, in its recording log. Then no quorum can elect a log that ends in an older term.
\* Broken without hardening: hazard HZ7.
TermOpenedByQuorum ==
    \A i \in Members : \A k \in DOMAIN log[i] :
        Cardinality({j \in Members : LastTerm(member[j].recordingLog) >= log[i][k]}) >= Quorum

\* INV: ReportersHaveNotVotedSince. A member that follows a leader has voted in no newer term, so
\* its AppendPositions may count for that leader, and hardening HZ11 need not look at them. Broken
\* without hardening HZ3.
IsReporting(s) ==
    \/ Closed(s, "FOLLOWER")
    \/ InElection(s) /\ s.electionState \in {"FOLLOWER_LOG_REPLICATION", "FOLLOWER_REPLAY",
           "FOLLOWER_CATCHUP_INIT", "FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_CATCHUP",
           "FOLLOWER_LOG_INIT", "FOLLOWER_LOG_AWAIT", "FOLLOWER_READY"}

ReportersHaveNotVotedSince ==
    \A i \in Members, vote \in hist.votes :
        vote[1] = i /\ IsReporting(member[i]) => vote[2] <= FollowedTerm(member[i])

\* INV: QuorumIsHeardOf. A leader with fewer active members than a quorum commits nothing, whatever
\* the silent members have reported before. 1.49 counts members however long they are silent.
QuorumIsHeardOf ==
    \A i \in Members, few \in {a \in SUBSET Members : Cardinality(a) < Quorum} :
        Closed(member[i], "LEADER") /\ ~IsRev149 =>
            \A o \in UpdateLeaderPosition(i, member[i], [NoInput EXCEPT !.active = few]) :
                o.next.commitPosition = member[i].commitPosition

\* Action properties.
\* CommitMonotonic (S8): within one process the commit position never falls, except that of a leader
\* of 1.49, which is set to the quorum position.
\* CandidateTermMonotonic (S3): the candidate term on disk never falls.
\* NoTruncationBelowCommit (S10): no member truncates its log below its own commit position.
\* QuorumCountsSameLog (S14): when a leader commits by counting, each counted member has the
\* leader's own log up to there. Broken if reports of another log count: hazard HZ1.
\* AckedIsDurable (S11): a member that restarts has every entry that it had recorded and may have
\* reported, and reports it with the same log term or a newer one. Broken if entries are recorded
\* whose term the recording log lacks: hazard HZ2.
\* ServiceBehindCommit (S15): services process the log from the snapshot on, without a gap. At a
\* follower they never pass the commit position that its leader has sent; in an election, 1.49
\* replays everything that it has recorded, committed or not. The positions of services are not
\* variables: a service may be anywhere up to the commit position.
Restarted(i) ==
    /\ member'[i] # member[i]    \* saves time: few members change in a step
    /\ \E o \in Restart(i, member[i], NoInput) : member'[i] = o.next

CommitRises ==
    \A i \in Members : member'[i].commitPosition >= member[i].commitPosition
                       \/ Restarted(i) \/ member'[i].moduleState = "CLOSED"
                       \/ (Revision = "1.49" /\ member[i].role = "LEADER")

CandidateTermRises ==
    \A i \in Members : member'[i].persistedCandidateTermId >= member[i].persistedCandidateTermId

CutsAboveCommit ==
    \A i \in Members : Len(log'[i]) < Len(log[i]) => Len(log'[i]) >= member[i].commitPosition

Counts(s) == Closed(s, "LEADER") \/ At(s, "LEADER_READY")

CountedHaveTheLog ==
    \A i \in Members :
        LET s       == member[i]
            p       == member'[i].commitPosition
            term    == s.moduleLeadershipTermId
            says(j) == CountedPosition(s, term, s.recordedPosition, s.members[j])
        IN  Counts(s) /\ p > s.commitPosition =>
                \A j \in Members \ {i} :
                    says(j) >= p /\ (IsUpstreamFix => s.members[j].leadershipTermId = term)
                        => IsPrefix(SubSeq(log[i], 1, Min(p, Len(log[i]))), log[j])

RestartsKeepTheLog ==
    \A i \in Members :
        Restarted(i) =>
            /\ log'[i] = log[i]
            /\ log[i] # <<>> => member'[i].logLeadershipTermId >= log[i][Len(log[i])]

KnownCommitted(s) ==
    IF s.electionState = "CLOSED" THEN s.moduleNotifiedCommitPosition
    ELSE IF IsRev149 /\ At(s, "FOLLOWER_REPLAY") THEN s.appendPosition
    ELSE s.notifiedCommitPosition

ServicesFollow ==
    \A i \in Members :
        LET s == member[i]
            p == member'[i].commitPosition
        IN  IF Restarted(i) THEN p = s.snapshotLogPosition
            ELSE p > s.commitPosition /\ s.role = "FOLLOWER" =>
                    p = s.commitPosition + 1 /\ p <= KnownCommitted(s)

CommitMonotonic == [][CommitRises]_vars
CandidateTermMonotonic == [][CandidateTermRises]_vars
NoTruncationBelowCommit == [][CutsAboveCommit]_vars
QuorumCountsSameLog == [][CountedHaveTheLog]_vars
AckedIsDurable == [][RestartsKeepTheLog]_vars
ServiceBehindCommit == [][ServicesFollow]_vars

\* Lemmas: invariants that no property needs. Each is the reason why a guard in a member's rule is
\* never needed in a cluster; a mutant breaks each.
UnderWay(i, j) == {channel[i][j][k] : k \in DOMAIN channel[i][j]}

Serves(s) == s.moduleState = "ACTIVE" /\ s.electionState = "CLOSED"

\* INV: VotesReachTheirCandidate. A vote is under way only to the candidate that it names.
\* Guard: OnVote compares the candidate of the vote with the member.
VotesReachTheirCandidate ==
    \A i, j \in Members :
        \A m \in UnderWay(i, j) : m.type = "Vote" => m.candidateMemberId = j

\* INV: NomineesHaveNoVotes. A member that is about to open a ballot has no vote in its records:
\* votes are noted only in CANDIDATE_BALLOT, and CANVASS, which comes after it, resets them.
\* Guard: BecomeCandidate resets the votes of the other members.
NomineesHaveNoVotes ==
    \A i \in Members :
        At(member[i], "NOMINATE") => \A j \in Members : member[i].members[j].vote = NULL_VALUE

\* INV: PromisesAreKnown. During an election the candidate term on disk is never above the one in
\* memory. An election begins with the greater of the term on disk and the member's own term, and
\* each step that raises the one on disk raises the other.
\* Guard: OnRequestVote keeps the greater term on disk.
PromisesAreKnown ==
    \A i \in Members :
        LET s == member[i]
        IN  InElection(s) /\ s.electionState # "INIT"
                => s.persistedCandidateTermId <= s.candidateTermId

\* INV: OwnTermIsAnnouncedByItsLeader. Outside elections a follower receives an announcement of its
\* own term only from the leader that it follows, and a leader receives none: a term has one leader,
\* which does not send the announcement to itself.
\* Guard: OnNewLeadershipTerm starts an election only for a newer term.
OwnTermIsAnnouncedByItsLeader ==
    \A i, j \in Members :
        LET s == member[j]
        IN  \A m \in UnderWay(i, j) :
                /\ m.type = "NewLeadershipTerm" /\ Serves(s)
                /\ m.leadershipTermId = s.moduleLeadershipTermId
                => s.role = "FOLLOWER" /\ m.leaderMemberId = s.leaderMemberId

\* INV: NoNewerTermIsReported. A closed leader receives no report in a term above its own. A report
\* goes to the leader of the followed term, in that term or an older one, and a member that has led
\* a term leads no older term later.
\* Guard: OnAppendPosition compares the terms outside elections.
NoNewerTermIsReported ==
    \A i, j \in Members :
        LET s == member[j]
        IN  \A m \in UnderWay(i, j) :
                m.type = "AppendPosition" /\ Closed(s, "LEADER")
                    => m.leadershipTermId <= s.moduleLeadershipTermId

\* INV: OnlyTheRecordedIsProcessed. The next entry that a consensus module may process is in its own
\* archive, because it reads the recorded log.
\* Guard: ConsumeBound of a follower ends at the end of its recording.
OnlyTheRecordedIsProcessed ==
    \A i \in Members :
        member[i].commitPosition < Len(log[i])
            => Consume1(Now, i).position <= member[i].recordedPosition

\* INV: OnlyTheWrittenIsRecorded. The leader has written the next entry that its archive may record.
\* Guard: RecordLog of a leader ends at the end of its writing.
OnlyTheWrittenIsRecorded ==
    \A i \in Members :
        Closed(member[i], "LEADER") /\ NextEntry(Now, i) # -1
            => Record1(Now, i).position <= member[i].publicationPosition

-----------------------------------------------------------------------------
\* Liveness, under the fairness that a model states (MCLive): members and links that are up stay up,
\* and messages are faster than deadlines.
\* EventuallyLed (V1): a member leads a closed election, and a quorum is closed and follows it.
\* EventuallyClosed (V2): no member waits for ever.
\* EventuallyApplied (V3): all members apply every entry that the leader has written.
\* BallotsEndWell (V4): after each ballot, won or lost, comes a closed election.
\*
\* Not stated: V5, that a shut-down ends within its deadlines. The spec has no deadlines, and
\* without one a leader may wait for ever for an acknowledgement of a member that it did not ask.
\* V6, that a catch-up merges under continuous load. The models bound the log; EventuallyClosed says
\* the same for a load that ends.
FollowsClosed(i, j) ==
    /\ Closed(member[i], "FOLLOWER") /\ Closed(member[j], "LEADER")
    /\ member[i].leaderMemberId = j
    /\ member[i].moduleLeadershipTermId = member[j].moduleLeadershipTermId

Led ==
    \E j \in Members :
        /\ Closed(member[j], "LEADER")
        /\ Cardinality({i \in Members : i = j \/ FollowsClosed(i, j)}) >= Quorum

ClosedElection(i) == \E j \in Members : FollowsClosed(i, j) \/ (i = j /\ Closed(member[i], "LEADER"))

EventuallyLed == <>[]Led
EventuallyClosed == <>[](\A i \in Members : ClosedElection(i))

EventuallyApplied ==
    <>[](\A i, j \in Members : Closed(member[j], "LEADER") =>
            member[i].commitPosition = member[j].publicationPosition)

BallotsEndWell == (\E i \in Members : At(member[i], "CANDIDATE_BALLOT")) ~> Led

\* Goals are not properties: each is the negation of a reachable situation, so a "violation" of it
\* is a witness.
ClosedLeader == \E i \in Members : Closed(member[i], "LEADER")
AllClosed == \A i \in Members : member[i].moduleState = "ACTIVE" /\ member[i].electionState = "CLOSED"
NeverAllClosed == ~(ClosedLeader /\ AllClosed)
=============================================================================

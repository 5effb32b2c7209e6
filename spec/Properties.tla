----------------------------- MODULE Properties -----------------------------
(***************************************************************************)
(* What the protocol promises, stated over Cluster.tla.                    *)
(*                                                                         *)
(* Each property has a box: its name, what it means to a user, and what    *)
(* could break it.  The safety monitors of the trace checker bear the same *)
(* names.                                                                  *)
(***************************************************************************)
EXTENDS Cluster, WellFormed

IsPrefix(a, b) == Len(a) <= Len(b) /\ SubSeq(b, 1, Len(a)) = a

CommittedPrefix(i) == SubSeq(log[i], 1, Min(member[i].commitPosition, Len(log[i])))

(***************************************************************************)
(* INV: TypeOK.  Every variable holds a value of its type.                 *)
(***************************************************************************)
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
    /\ \A i, j \in Members : Len(channel[i][j]) <= ChannelCapacity

(***************************************************************************)
(* INV: MessagesAreWellFormed.  Every message under way is one that        *)
(* MemberGraph.tla lets its member receive.  This discharges what that     *)
(* module assumes of its environment, and with it all that rests on the    *)
(* graph of one member: the checks of the core and of traces.              *)
(***************************************************************************)
AreWellFormed(channels) ==
    \A i, j \in Members :
        \A k \in DOMAIN channels[i][j] : WellFormed(i, channels[i][j][k])

MessagesAreWellFormed == AreWellFormed(channel)

(***************************************************************************)
(* INV: ElectionSafety (S1).  No term ever has two leaders.  Rests on one  *)
(* vote for each member and term, and on quorums that overlap.             *)
(***************************************************************************)
ElectionSafety == \A a, b \in hist.leaders : a[1] = b[1] => a[2] = b[2]

(***************************************************************************)
(* INV: OneVotePerTerm (S2).  No member votes for two candidates in one    *)
(* term, restarts included.  Broken if the candidate term is not on disk   *)
(* when the vote leaves.                                                   *)
(***************************************************************************)
OneVotePerTerm == \A a, b \in hist.votes : a[1] = b[1] /\ a[2] = b[2] => a[3] = b[3]

(***************************************************************************)
(* INV: TermOwnership (S4).  A term is written by its one leader and       *)
(* begins at one position.  Whoever may write in a term has won it; where  *)
(* a term's first entry stands in one log it stands in every log, and the  *)
(* recording log says so.  Broken if a member cuts less than it should, or *)
(* writes a term down with a base that is not the leader's.                *)
(*                                                                         *)
(* That nobody else writes is not said here: AppendEntry and LeaderReady   *)
(* are the only actions that do, and both are a leader's.                  *)
(***************************************************************************)
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

(***************************************************************************)
(* INV: LogMatching (S5).  Where two logs have an entry of the same term   *)
(* at the same position, they are equal up to there.  Broken if a member   *)
(* follows a leader whose log its own is not a part of.                    *)
(***************************************************************************)
LogMatching ==
    \A i, j \in Members :
        \A k \in 1 .. Min(Len(log[i]), Len(log[j])) :
            log[i][k] = log[j][k] => SubSeq(log[i], 1, k) = SubSeq(log[j], 1, k)

(***************************************************************************)
(* INV: LeaderCompleteness (S6).  Whoever leads a closed election has      *)
(* every entry that was committed in an earlier term.  Broken if a member  *)
(* votes for a log that is older than its own.                             *)
(***************************************************************************)
LeaderCompleteness ==
    \A i \in Members :
        Closed(member[i], "LEADER") =>
            LET term   == member[i].moduleLeadershipTermId
                older  == {k \in DOMAIN hist.committed : hist.committed[k] < term}
            IN  \A k \in older : k <= Len(log[i]) /\ log[i][k] = hist.committed[k]

(***************************************************************************)
(* INV: StateMachineSafety (S7).  No two members ever apply different      *)
(* entries at one position, nor one member before and after a restart.     *)
(* What was committed first is remembered for ever (Remember), so the two  *)
(* moments may lie any number of restarts apart.  Broken if a committed    *)
(* entry is cut off and another takes its place.                           *)
(***************************************************************************)
StateMachineSafety == \A i \in Members : IsPrefix(CommittedPrefix(i), hist.committed)

(***************************************************************************)
(* Refines (S7 as a whole).  What the cluster does is what AbstractLog.tla *)
(* does, or changes nothing there.                                         *)
(***************************************************************************)
Abstract == INSTANCE AbstractLog WITH
    Appliers  <- Members,
    committed <- hist.committed,
    applied   <- [i \in Members |-> CommittedPrefix(i)]

Refines == Abstract!LogSpec

(***************************************************************************)
(* INV: SnapshotAgreement (S17, the part that the log decides).  A         *)
(* snapshot holds committed entries alone, and names the term that they    *)
(* end with and where that term begins.  Two snapshots at one position     *)
(* are then of the same log.  A term that has no entry yet begins at the   *)
(* snapshot's position.  Broken if a member takes a snapshot of what is    *)
(* not committed, or of a term that its recording log has elsewhere.       *)
(***************************************************************************)
SnapshotAgreement ==
    \A i \in Members :
        LET term == member[i].snapshotLeadershipTermId
            base == member[i].snapshotTermBaseLogPosition
            p    == member[i].snapshotLogPosition
        IN  p > 0 =>
                /\ base <= p /\ p <= Len(hist.committed)
                /\ \A k \in 1 .. base : hist.committed[k] < term
                /\ \A k \in (base + 1) .. p : hist.committed[k] = term

(***************************************************************************)
(* INV: CommittedIsDurable.  Each committed entry is recorded by a quorum. *)
(* What a client was answered holds after any minority is lost for ever.   *)
(***************************************************************************)
CommittedIsDurable ==
    Cardinality({i \in Members : IsPrefix(hist.committed, log[i])}) >= Quorum

(***************************************************************************)
(* INV: CommitBounded (S9).  Nobody commits what it has not recorded: what *)
(* a member applies it can replay after a crash.  Broken if a leader       *)
(* counts for itself what its archive has not got yet.                     *)
(***************************************************************************)
CommitBounded == \A i \in Members : member[i].commitPosition <= member[i].recordedPosition

(***************************************************************************)
(* INV: RecordingLogCoherent (S12).  On no disk do two terms overlap or    *)
(* leave a gap, and only the last one is open (IsCoherent).  Broken if a   *)
(* term is written down without closing the one before.                    *)
(***************************************************************************)
RecordingLogCoherent == \A i \in Members : IsCoherent(member[i].recordingLog)

(***************************************************************************)
(* INV: RecordedTermIsKnown (S11, as far as one state shows it).  What     *)
(* AckedIsDurable says of a restart rests on it.  The term that            *)
(* the recording log says the log ends with is the term of its last entry, *)
(* or a later one that was opened at the end of it.                        *)
(***************************************************************************)
RecordedTermIsKnown ==
    \A i \in Members :
        Len(log[i]) > 0 => LastTerm(member[i].recordingLog) >= log[i][Len(log[i])]

(***************************************************************************)
(* INV: TermOpenedByQuorum (S13).  An entry of a term is recorded only     *)
(* once a quorum has that term, or a later one, in its recording log.      *)
(* Then no quorum can elect a log that ends in an older term.  The         *)
(* protocol as it is breaks it: hazard HZ7.                                *)
(***************************************************************************)
TermOpenedByQuorum ==
    \A i \in Members : \A k \in DOMAIN log[i] :
        Cardinality({j \in Members : LastTerm(member[j].recordingLog) >= log[i][k]}) >= Quorum

(***************************************************************************)
(* INV: QuorumIsHeardOf.  A leader that has heard of fewer members than a  *)
(* quorum lately commits nothing, whatever those that are silent have      *)
(* reported before.  1.49 counts members however long they are silent.     *)
(***************************************************************************)
QuorumIsHeardOf ==
    \A i \in Members, few \in {a \in SUBSET Members : Cardinality(a) < Quorum} :
        Closed(member[i], "LEADER") /\ ~Rev149 =>
            \A o \in UpdateLeaderPosition(i, member[i], [NoInput EXCEPT !.active = few]) :
                o.next.commitPosition = member[i].commitPosition

(***************************************************************************)
(* Action properties.  CommitMonotonic (S8): within one process life the   *)
(* commit position never falls; in 1.49 a leader's may, which is set to    *)
(* the quorum position.  CandidateTermMonotonic (S3): on disk the          *)
(* candidate term never falls.  NoTruncationBelowCommit (S10): no member   *)
(* cuts its log below its own commit position.  QuorumCountsSameLog (S14): *)
(* when a leader commits by counting, each member that it counts has the   *)
(* leader's own log up to there.  Broken by reports of a log that is not   *)
(* the leader's: hazard HZ1.  AckedIsDurable (S11): a member that restarts *)
(* has all that it had recorded and may have reported, and reports it with *)
(* the same log term or a newer one.  Broken if entries are recorded that  *)
(* the recording log does not know of: hazard HZ2.                         *)
(*                                                                         *)
(* ServiceBehindCommit (S15): services process the log without a gap, from *)
(* the snapshot on, and at a follower never beyond what its leader has     *)
(* said is committed.  Where services are is no variable: they may be      *)
(* anywhere up to the commit position.  1.49 replays in an election what   *)
(* it has recorded, committed or not.                                      *)
(***************************************************************************)
Restarted(i) ==
    \E o \in Restart(i, member[i], NoInput) : member'[i] = o.next

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
                    says(j) >= p /\ (UpstreamFix => s.members[j].leadershipTermId = term)
                        => IsPrefix(SubSeq(log[i], 1, Min(p, Len(log[i]))), log[j])

RestartsKeepTheLog ==
    \A i \in Members :
        Restarted(i) =>
            /\ log'[i] = log[i]
            /\ log[i] # <<>> => member'[i].logLeadershipTermId >= log[i][Len(log[i])]

KnownCommitted(s) ==
    IF s.electionState = "CLOSED" THEN s.moduleNotifiedCommitPosition
    ELSE IF Rev149 /\ At(s, "FOLLOWER_REPLAY") THEN s.appendPosition
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

(***************************************************************************)
(* Lemmas: invariants that no property needs.  Each says why a guard that  *)
(* a member's rule has is never needed in a cluster.  The box names the    *)
(* guard; what breaks the lemma is in mutants/.                            *)
(***************************************************************************)
UnderWay(i, j) == {channel[i][j][k] : k \in DOMAIN channel[i][j]}

Serves(s) == s.moduleState = "ACTIVE" /\ s.electionState = "CLOSED"

(***************************************************************************)
(* INV: VotesReachTheirCandidate.  A vote is on its way to the candidate   *)
(* that it names and to nobody else.                                       *)
(* Guard: OnVote asks for whom the vote is.                                *)
(***************************************************************************)
VotesReachTheirCandidate ==
    \A i, j \in Members :
        \A m \in UnderWay(i, j) : m.type = "Vote" => m.candidateMemberId = j

(***************************************************************************)
(* INV: NomineesHaveNoVotes.  Who is about to open a ballot has noted no   *)
(* vote of anybody: votes are noted in CANDIDATE_BALLOT alone, and the way *)
(* back from there leads through CANVASS, which forgets them.              *)
(* Guard: BecomeCandidate forgets what the others have voted before.       *)
(***************************************************************************)
NomineesHaveNoVotes ==
    \A i \in Members :
        At(member[i], "NOMINATE") => \A j \in Members : member[i].members[j].vote = NULL_VALUE

(***************************************************************************)
(* INV: PromisesAreKnown.  In an election that has begun no candidate term *)
(* on disk is above the one in memory: an election begins with the greater *)
(* of what is on disk and the own term, and what raises the one raises the *)
(* other.  A request that is above the one in memory is above both.        *)
(* Guard: OnRequestVote keeps the greater term on disk.                    *)
(***************************************************************************)
PromisesAreKnown ==
    \A i \in Members :
        LET s == member[i]
        IN  InElection(s) /\ s.electionState # "INIT"
                => s.persistedCandidateTermId <= s.candidateTermId

(***************************************************************************)
(* INV: OwnTermIsAnnouncedByItsLeader.  A member that serves hears its own *)
(* term announced by the leader that it follows and by nobody else, and a  *)
(* leader never does: a term has one leader, which does not announce it to *)
(* itself.                                                                 *)
(* Guard: OnNewLeadershipTerm starts an election only for a newer term.    *)
(***************************************************************************)
OwnTermIsAnnouncedByItsLeader ==
    \A i, j \in Members :
        LET s == member[j]
        IN  \A m \in UnderWay(i, j) :
                /\ m.type = "NewLeadershipTerm" /\ Serves(s)
                /\ m.leadershipTermId = s.moduleLeadershipTermId
                => s.role = "FOLLOWER" /\ m.leaderMemberId = s.leaderMemberId

(***************************************************************************)
(* INV: NoNewerTermIsReported.  Nobody reports to a closed leader in a     *)
(* term above the leader's own: a report goes to the leader of the term    *)
(* that is followed, in that term or in an older one, and a member that    *)
(* has led a term leads no older one again.                                *)
(* Guard: OnAppendPosition compares the terms outside elections.           *)
(***************************************************************************)
NoNewerTermIsReported ==
    \A i, j \in Members :
        LET s == member[j]
        IN  \A m \in UnderWay(i, j) :
                m.type = "AppendPosition" /\ Closed(s, "LEADER")
                    => m.leadershipTermId <= s.moduleLeadershipTermId

(***************************************************************************)
(* INV: OnlyTheRecordedIsProcessed.  What a consensus module may process   *)
(* next is in its own archive: the log that it reads is the recorded one.  *)
(* Guard: ConsumeBound of a follower ends at what is recorded.             *)
(***************************************************************************)
OnlyTheRecordedIsProcessed ==
    \A i \in Members :
        member[i].commitPosition < Len(log[i])
            => Consume1(Now, i).position <= member[i].recordedPosition

(***************************************************************************)
(* INV: OnlyTheWrittenIsRecorded.  What the archive of a leader may record *)
(* next the leader has written.                                            *)
(* Guard: RecordLog of a leader ends at what it has written.               *)
(***************************************************************************)
OnlyTheWrittenIsRecorded ==
    \A i \in Members :
        Closed(member[i], "LEADER") /\ NextEntry(Now, i) # -1
            => Record1(Now, i).position <= member[i].publicationPosition

-----------------------------------------------------------------------------
(***************************************************************************)
(* Liveness, under the fairness that a model states (MCLive): members and  *)
(* links that are up stay up, and messages are faster than deadlines.      *)
(*                                                                         *)
(* EventuallyLed (V1): some member leads a closed election, and a quorum   *)
(* is closed and follows it.  EventuallyClosed (V2): no member waits for   *)
(* ever.  EventuallyApplied (V3): what the leader has written, all apply.  *)
(* BallotsEndWell (V4): a ballot, whoever wins or loses it, is followed by *)
(* a closed election.                                                      *)
(*                                                                         *)
(* Not stated: V5, that a shut-down ends within its deadlines, because     *)
(* there are no deadlines here, and without one a leader may wait for ever *)
(* for the acknowledgement of a member that it did not ask.  V6, that a    *)
(* catch-up merges under continuous load, because the models bound what is *)
(* written; EventuallyClosed says it for a load that ends.                 *)
(***************************************************************************)
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

(***************************************************************************)
(* Goals.  Not properties: each is the negation of something that must be  *)
(* reachable, so that its "violation" is a witness.                        *)
(***************************************************************************)
ClosedLeader == \E i \in Members : Closed(member[i], "LEADER")

AllClosed == \A i \in Members : member[i].moduleState = "ACTIVE" /\ member[i].electionState = "CLOSED"

NeverAllClosed == ~(ClosedLeader /\ AllClosed)
=============================================================================

------------------------------- MODULE MCLive -------------------------------
\* Liveness: V1 to V4 after a tale. No message is lost and nothing fails any more.
\*
\* Without assumptions about time nothing would ever be reached: a ballot may always time out before
\* the votes arrive. These models assume what the default settings give: an election timeout is
\* longer than a round trip, and a heartbeat timeout is longer than several intervals. So a deadline
\* passes only if no message is under way among the present members. The deadline of a member that
\* waits for a leader passes only if its term has none. Nomination deadlines are random, so two
\* members do not always run for election at once: here they never do, and the deadline of the lower
\* member passes first.
\*
\* Each step below is a step of Next, but for one deadline of Revision upstream-fix: TakeCanvass of
\* Cluster.tla never gives Canvass the leadershipTermId of OlderLeaderships. Fairness: a step that a
\* member or its archive can take at once, and the delivery of a message, happen if they stay
\* possible; periodic messages and deadlines happen if they are possible again and again. With
\* InOrder, the steps that a member can take at once come before messages, messages come before
\* deadlines and periodic messages, and each kind has one order. This gives fewer behaviours, and
\* each is also a behaviour without InOrder.
\*
\* MCLive and MCLiveThree begin at the first start and have one ballot, which is won. They contain
\* no second election, no fault and no member that has fallen behind. MCLiveLost has a ballot that
\* is lost.
EXTENDS MCBounds

CONSTANT InOrder    \* TRUE: of the steps possible at once, the first one in a fixed order happens

\* The states that have a deadline of the leader's heartbeat timeout.
WithDeadline ==
    {"FOLLOWER_LOG_REPLICATION", "FOLLOWER_CATCHUP_INIT", "FOLLOWER_CATCHUP_AWAIT",
     "FOLLOWER_CATCHUP", "FOLLOWER_LOG_AWAIT", "FOLLOWER_READY"}

Mended == {}    \* the states that get one, too; redefined by the MC modules

Present == Members \ {Absent}

HasLeader(s) == \E j \in Present : j = s.leaderMemberId /\ LeadsInTerm(member[j], FollowedTerm(s))

Followed(i) ==
    Cardinality({j \in Present : j = i \/ (Closed(member[j], "FOLLOWER") /\ member[j].leaderMemberId = i
                    /\ member[j].moduleLeadershipTermId = member[i].moduleLeadershipTermId)}) >= Quorum

Heard == [NoInput EXCEPT !.active = Members]
Said == [Heard EXCEPT !.interval = TRUE, !.commitInterval = TRUE]
Live(i) == i # Absent /\ ~Playing

-----------------------------------------------------------------------------
\* The steps that a member takes at once: its own step in its state, and the archive.
CycleOf(i, s, x) ==
    Step(i, s, IF s.electionState = "CLOSED" THEN "UpdateLeaderPosition"
               ELSE OwnAction[s.electionState], x)

OwnInput(i) ==
    LET k == member[i].publicationPosition + 1
    IN  [Heard EXCEPT !.accepted = Members \ {i},
                      !.position = IF At(member[i], "LEADER_READY") /\ BoundAppend(k) THEN k
                                   ELSE NULL_POSITION]

Proceed(i) ==
    /\ Live(i) /\ IsConnected(i)
    /\ Tick(i, CycleOf, OwnInput(i))

Write(i) ==
    /\ Live(i) /\ Closed(member[i], "LEADER") /\ BoundAppend(member[i].publicationPosition + 1)
    /\ Tick(i, AppendEntry, [NoInput EXCEPT !.position = member[i].publicationPosition + 1])

Keep(i) == Live(i) /\ TakeRecordLog(i)

Read(i) == Live(i) /\ (TakeConsumeLog(i) \/ TakeOnReplayNewLeadershipTermEvent(i))

Work(i) == Proceed(i) \/ Write(i) \/ Keep(i) \/ Read(i)

Busy(i) ==
    LET s == member[i]
    IN  \/ /\ IsConnected(i)
           /\ \E o \in CycleOf(i, s, OwnInput(i)) : o.next # s \/ o.sends # <<>>
        \/ Closed(s, "LEADER") /\ BoundAppend(s.publicationPosition + 1)
        \/ MayRecord(i)
        \/ s.commitPosition < Min(Len(log[i]), ConsumeBound(s))

Below(i) == {j \in Present : j < i}
Idle(set) == InOrder => \A i \in set : ~Busy(i)

Receives(i, j) ==
    /\ Live(j) /\ channel[i][j] # <<>> /\ Idle(Present)
    /\ InOrder => \A k, n \in Present : channel[k][n] # <<>> => <<k, n>> = <<i, j>> \/ k > i
                                                              \/ (k = i /\ n > j)
    /\ Deliver(i, j, 1, OnMessage, Members)

\* Periodic messages, if no message is under way among the present members.
Repeat(i) ==
    /\ Live(i) /\ NothingUnderWay /\ Idle(Present)
    /\ LET s == member[i]
       IN  \/ Tick(i, Canvass, Said)
           \/ Tick(i, LeaderLogReplication, Said)
           \/ Tick(i, LeaderReplay, Said)
           \/ At(s, "LEADER_READY") /\ Tick(i, LeaderReady, Said)
           \/ Tick(i, FollowerLogReplication, Said)
           \/ Tick(i, FollowerReplay, Said)
           \/ Tick(i, FollowerCatchup, Said)
           \/ HasLeader(s) /\ Tick(i, UpdateFollowerPosition, Said)
           \/ Tick(i, UpdateLeaderPosition, Said)

\* Deadlines. Revision upstream-fix has one for a member that canvasses and hears only of a leader
\* of an older term than it has voted in.
OlderLeaderships(s) ==
    IF ~IsUpstreamFix \/ ~At(s, "CANVASS") THEN {}
    ELSE {member[j].moduleLeadershipTermId : j \in {j \in Present : Closed(member[j], "LEADER")}}
             \cap 0 .. (s.candidateTermId - 1)

Deadline(i) ==
    /\ Live(i) /\ NothingUnderWay /\ Idle(Present)
    /\ LET s == member[i]
       IN  \/ /\ At(s, "CANVASS") /\ \A j \in Present : member[j].role # "LEADER"
              /\ Tick(i, Canvass, Timeout)
           \/ \E term \in OlderLeaderships(s) :
                  Tick(i, Canvass, [Timeout EXCEPT !.leadershipTermId = term])
           \/ /\ At(s, "NOMINATE") /\ BoundTerm(i, s.candidateTermId + 1)
              /\ \A j \in Present : /\ ~At(member[j], "CANDIDATE_BALLOT")
                                    /\ At(member[j], "NOMINATE") => j >= i
              /\ Tick(i, Nominate, Timeout)
           \/ /\ At(s, "CANDIDATE_BALLOT") /\ \A j \in Members : s.members[j].ballotSent
              /\ Tick(i, CandidateBallot, Timeout)
           \/ Tick(i, FollowerBallot, Timeout)
           \/ /\ s.electionState \in WithDeadline \cup Mended
              /\ IF s.role = "LEADER" THEN \E j \in Present \ {i} : member[j].role = "LEADER"
                 ELSE ~HasLeader(s)
              /\ Tick(i, ElectionError, NoInput)
           \/ /\ IF s.role = "LEADER" THEN ~Followed(i) ELSE ~HasLeader(s)
              /\ Tick(i, EnterElection, NoInput)

ScriptStep ==
    \E k \in 1 .. (Len(Tale) - 1) :
        Now = Tale[k] /\ Becomes(Tale[k + 1])

OwnStep(i)        == Idle(Below(i)) /\ Proceed(i)
LeaderWrites(i)   == Idle(Below(i)) /\ Write(i)
ArchiveRecords(i) == Idle(Below(i)) /\ Keep(i)
LogIsRead(i)      == Idle(Below(i)) /\ Read(i)

LiveNext ==
    \/ ScriptStep
    \/ \E i \in Members : OwnStep(i)
    \/ \E i \in Members : LeaderWrites(i)
    \/ \E i \in Members : ArchiveRecords(i)
    \/ \E i \in Members : LogIsRead(i)
    \/ \E i, j \in Members : Receives(i, j)
    \/ \E i \in Members : Repeat(i)
    \/ \E i \in Members : Deadline(i)
    \/ Rest

Fairness ==
    /\ WF_vars(ScriptStep)
    /\ \A i \in Members : WF_vars(Work(i)) /\ SF_vars(Repeat(i)) /\ SF_vars(Deadline(i))
    /\ \A i, j \in Members : i # j => WF_vars(Receives(i, j))

LiveSpec == TaleInit /\ [][LiveNext]_vars /\ Fairness

\* MUT_CommitNotPublished: a leader sends no commit position.
MutNothingIsPublished(i, s, x, q) == <<>>
=============================================================================

------------------------------ MODULE Cluster -------------------------------
\* The cluster: members that take the steps of Member.tla, the network between them, and the
\* contents of their logs. Start reading at Next.
\*
\* A position counts entries here, and an entry is the term in which it was written. A term has one
\* leader and one base, so term and position identify the bytes. The first entry of a term is its
\* NewLeadershipTermEvent.
\*
\* Time is left out: any deadline may pass at any moment, any periodic message may be due, and a
\* leader may have heard of any set of members.
EXTENDS Network

VARIABLES
    member,   \* [Members -> member state]
    channel,  \* [from -> [to -> sequence of messages]]
    log,      \* [Members -> the recorded log, a sequence of terms]
    hist      \* the history that the properties need; no step reads it

vars == <<member, channel, log, hist>>

\* Bounds, redefined by the MC modules. Here nothing is bounded.
BoundTerm(i, term) == TRUE         \* may this member open this candidate term?
BoundInterval(i) == TRUE           \* may this member repeat its periodic message now?
BoundAppend(position) == TRUE      \* may a leader write up to here?
BoundRestart(i) == TRUE            \* may this member restart now?
BoundLate(i) == TRUE               \* may messages under way to it arrive after a restart?
BoundOvertaking(i) == TRUE         \* may messages of its new process arrive before older ones?
BoundError(i) == TRUE              \* may an election of this member fail now, a copy end short,
                                   \* or its archive be slow to show its recording?
BoundEnterElection(i) == TRUE      \* may this member lose its leader, or its followers, now?
BoundSnapshot(i) == TRUE
BoundTermination(i) == TRUE
BoundLoss(i, j) == TRUE            \* may the next message from i to j be lost now?
ActiveSets(i) == SUBSET Members
AcceptedSets(i) == SUBSET (Members \ {i})
BoundRecord(i) == TRUE             \* may the archive of this member record now?
Urgent(i) == FALSE                 \* has this member an internal step that must come first?

-----------------------------------------------------------------------------
\* The cluster as one value, [member, channel, log, hist]. The operators below take such a value c,
\* so that Script.tla can use them, too.
Now == [member |-> member, channel |-> channel, log |-> log, hist |-> hist]
Starts(c) == member = c.member /\ channel = c.channel /\ log = c.log /\ hist = c.hist
Becomes(c) == member' = c.member /\ channel' = c.channel /\ log' = c.log /\ hist' = c.hist

\* The stream of leader j: its recorded log, then the entries, all of its own term, that it has
\* written and not yet recorded.
StreamEntry(c, j, k) ==
    IF k <= Len(c.log[j]) THEN c.log[j][k] ELSE c.member[j].moduleLeadershipTermId

FollowedTerm(s) == IF s.electionState = "CLOSED" THEN s.moduleLeadershipTermId ELSE s.leadershipTermId

LeadsInTerm(s, term) ==
    /\ IsPublisher(s)
    /\ IF s.electionState = "CLOSED" THEN s.moduleLeadershipTermId = term
       ELSE s.leadershipTermId = term

\* NextEntry: the entry that the archive of member i may record next, or -1. It comes from a
\* leader's own writing, from the leader's stream or catch-up replay, or from a copy of an older
\* term in the leader's archive.
NextEntry(c, i) ==
    LET s       == c.member[i]
        j       == s.leaderMemberId
        k       == s.recordedPosition + 1
        follows == ~IsPublisher(s) /\ j \notin {NULL_VALUE, i}
        copies  == follows /\ At(s, "FOLLOWER_LOG_REPLICATION")
        hears   == follows /\ ~copies /\ LeadsInTerm(c.member[j], FollowedTerm(s))
    IN  CASE IsPublisher(s) /\ k <= s.publicationPosition -> s.moduleLeadershipTermId
          [] copies /\ k <= Min(Len(c.log[j]), s.replicationStopPosition) -> c.log[j][k]
          [] hears /\ k <= c.member[j].publicationPosition -> StreamEntry(c, j, k)
          [] OTHER -> -1

\* The inputs of the steps that record one more entry, and that process one.
Record1(c, i) == [NoInput EXCEPT !.position = c.member[i].recordedPosition + 1]

IsTermEvent(c, i, k) == IF k = 1 THEN TRUE ELSE c.log[i][k - 1] # c.log[i][k]

Consume1(c, i) ==
    LET k == c.member[i].commitPosition + 1
    IN  IF IsTermEvent(c, i, k)
        THEN [NoInput EXCEPT !.position = k, !.leadershipTermId = c.log[i][k],
                             !.termBaseLogPosition = k - 1]
        ELSE [NoInput EXCEPT !.position = k]

-----------------------------------------------------------------------------
\* The history that the properties need: the leader of each term, the votes, and the first entry
\* that any member committed at each position. It only grows. So a member that commits a different
\* entry is found (StateMachineSafety) even if all members that committed the first one have
\* restarted since.
NoHistory == [leaders |-> {}, votes |-> {}, committed |-> <<>>]

Remember(h, i, before, after, sends, logAfter) ==
    LET leads     == after.role = "LEADER" /\ after.electionState = "LEADER_LOG_REPLICATION"
        votes     == {<<i, sends[k].message.candidateTermId, sends[k].message.candidateMemberId>> :
                        k \in {k \in DOMAIN sends : sends[k].message.type = "Vote" /\ sends[k].message.vote}}
        own       == IF after.electionState = "CANDIDATE_BALLOT" /\ before.electionState = "NOMINATE"
                     THEN {<<i, after.candidateTermId, i>>} ELSE {}
        reached   == Min(after.commitPosition, Len(logAfter))
        committed == h.committed \o SubSeq(logAfter, Len(h.committed) + 1, reached)
    IN  [leaders   |-> IF leads THEN h.leaders \cup {<<after.leadershipTermId, i>>} ELSE h.leaders,
         votes     |-> h.votes \cup votes \cup own,
         committed |-> committed]

LogAfter(c, i, after) ==
    LET k == after.recordedPosition
    IN  IF k <= Len(c.log[i]) THEN SubSeq(c.log[i], 1, k) ELSE Append(c.log[i], NextEntry(c, i))

\* Taken: the clusters after member i has taken action A; ch is the network without the message that
\* it receives.
Taken(c, i, A(_, _, _), x, ch) ==
    {LET entries == LogAfter(c, i, o.next)
     IN  [member  |-> [c.member EXCEPT ![i] = o.next],
          channel |-> Transmit(ch, i, o.sends),
          log     |-> [c.log EXCEPT ![i] = entries],
          hist    |-> Remember(c.hist, i, c.member[i], o.next, o.sends, entries)] :
        o \in A(i, c.member[i], x)}

\* MayAct: no member has an urgent internal step, or member i is the first one that has. An MC
\* module bounds the interleavings with it.
NoUrgency == \A j \in Members : ~Urgent(j)

MayAct(i) ==
    LET urgent == {j \in Members : Urgent(j)}
    IN  urgent = {} \/ (i \in urgent /\ \A j \in urgent : i <= j)

Take(i, A(_, _, _), x, ch) ==
    /\ MayAct(i)
    /\ \E c \in Taken(Now, i, A, x, ch) : Becomes(c)

Tick(i, A(_, _, _), x) == Take(i, A, x, channel)

Fail(i, A(_, _, _), x, ch) == Take(i, A, x, ch)    \* a crash, or an election that fails

\* The inputs from the clock: due messages, expired deadlines, and the members that a leader has
\* heard of.
Interval(due)       == [NoInput EXCEPT !.interval = due]
Timeout             == [NoInput EXCEPT !.timeout = TRUE]
Due(i)              == IF BoundInterval(i) THEN BOOLEAN ELSE {FALSE}
Intervals(i)        == {Interval(n) : n \in Due(i)}
IntervalOrTimeout(i) == {[Interval(n) EXCEPT !.timeout = t] : n \in Due(i), t \in BOOLEAN}
LeaderTick(i)       == {[NoInput EXCEPT !.active = a, !.interval = n, !.commitInterval = c] :
                            a \in ActiveSets(i), n \in Due(i), c \in Due(i)}
ReadyInputs(i, ends) ==
    {[x EXCEPT !.timeout = t, !.position = k] :
        x \in LeaderTick(i), t \in (IF IsRev149 THEN BOOLEAN ELSE {FALSE}),
        k \in {k \in ends : k = NULL_POSITION \/ BoundAppend(k)}}

\* The inputs of a duty cycle that closes an election and may fail there.
ClosingInputs(i) ==
    LET s == member[i]
    IN  CASE At(s, "LEADER_READY")   -> ReadyInputs(i, {s.publicationPosition + 1})
          [] At(s, "FOLLOWER_READY") -> {[NoInput EXCEPT !.position = s.commitPosition]}
          [] OTHER                   -> {}

-----------------------------------------------------------------------------
\* Environment actions.
Lose(i, j) ==
    /\ channel[i][j] # <<>>
    /\ NoUrgency /\ BoundLoss(i, j)
    /\ channel' = Receive(channel, i, j, 1)
    /\ UNCHANGED <<member, log, hist>>

RestartMember(i) ==
    LET ended == IF BoundOvertaking(i) THEN EndProcess(channel, i) ELSE channel
    IN  /\ BoundRestart(i) /\ NoUrgency
        /\ \/ Fail(i, Restart, NoInput, LoseAllTo(ended, i))
           \/ BoundLate(i) /\ Fail(i, Restart, NoInput, ended)

\* Messages. The set of active members matters only to a leader that answers with its quorum
\* position. Before its first own step a leader may not be active itself.
\*
\* TLC unfolds an action that is one operator alone, and would name these steps Arrive and Cycle:
\* therefore the /\ before a single conjunct.
MayArrive(i, j) ==    \* places in the channel: the first message of each process
    {k \in DOMAIN channel[i][j] : IF k = 1 THEN TRUE ELSE channel[i][j][k - 1] = PROCESS_END}

AnswerSets(j) ==
    IF member[j].role = "LEADER" THEN ActiveSets(j) \cup {a \ {j} : a \in ActiveSets(j)} ELSE {{j}}

OnMessage(i, s, x) == Step(i, s, ActionOf(x.message), x)    \* the action of the message in x

Deliver(i, j, k, A(_, _, _), active) ==    \* the message in place k
    /\ NoUrgency
    /\ Take(j, A, [NoInput EXCEPT !.message = channel[i][j][k], !.active = active],
            Receive(channel, i, j, k))

Arrive(i, j, type, A(_, _, _), activeSets) ==
    \E k \in MayArrive(i, j) :
        /\ channel[i][j][k].type = type
        /\ \E active \in activeSets : Deliver(i, j, k, A, active)

TakeOnCanvassPosition(i, j) ==
    /\ Arrive(i, j, "CanvassPosition", OnCanvassPosition, AnswerSets(j))
TakeOnRequestVote(i, j)     == /\ Arrive(i, j, "RequestVote", OnRequestVote, AnswerSets(j))
TakeOnVote(i, j)            == /\ Arrive(i, j, "Vote", OnVote, {{j}})
TakeOnNewLeadershipTerm(i, j) ==
    /\ Arrive(i, j, "NewLeadershipTerm", OnNewLeadershipTerm, {{j}})
TakeOnAppendPosition(i, j)  == /\ Arrive(i, j, "AppendPosition", OnAppendPosition, {{j}})
TakeOnCommitPosition(i, j)  == /\ Arrive(i, j, "CommitPosition", OnCommitPosition, {{j}})
TakeOnCatchupPosition(i, j) == /\ Arrive(i, j, "CatchupPosition", OnCatchupPosition, {{j}})
TakeOnStopCatchup(i, j)     == /\ Arrive(i, j, "StopCatchup", OnStopCatchup, {{j}})
TakeOnTerminationPosition(i, j) ==
    /\ Arrive(i, j, "TerminationPosition", OnTerminationPosition, {{j}})
TakeOnTerminationAck(i, j)  == /\ Arrive(i, j, "TerminationAck", OnTerminationAck, {{j}})

\* Election states, in the order of their codes: the duty cycle in each, and the inputs that it may
\* find.
Cycle(i, state, A(_, _, _), inputs) == At(member[i], state) /\ \E x \in inputs : Tick(i, A, x)

\* IsConnected: whether the stream for which the member waits has connected. A catch-up replay
\* connects only if the leader runs one for this member; the live log only if the leader's stream
\* has reached the position of this member.
IsConnected(i) ==
    LET s == member[i]
        j == s.leaderMemberId
    IN  CASE At(s, "FOLLOWER_CATCHUP_AWAIT") ->
                member[j].members[i].catchupReplay /\ LeadsInTerm(member[j], s.leadershipTermId)
          [] At(s, "FOLLOWER_LOG_AWAIT") ->
                /\ LeadsInTerm(member[j], s.leadershipTermId)
                /\ member[j].publicationPosition >= s.commitPosition
          [] OTHER -> TRUE

TakeElectionInit(i)         == /\ Cycle(i, "INIT", ElectionInit, {NoInput})
TakeCanvass(i)              == /\ Cycle(i, "CANVASS", Canvass, IntervalOrTimeout(i))
TakeNominate(i) ==
    /\ BoundTerm(i, member[i].candidateTermId + 1)
    /\ Cycle(i, "NOMINATE", Nominate, IntervalOrTimeout(i))
TakeCandidateBallot(i) ==
    /\ Cycle(i, "CANDIDATE_BALLOT", CandidateBallot,
          {Timeout} \cup {[NoInput EXCEPT !.accepted = a] : a \in AcceptedSets(i)})
TakeFollowerBallot(i)       == /\ Cycle(i, "FOLLOWER_BALLOT", FollowerBallot, {Timeout})
TakeLeaderLogReplication(i) ==
    /\ Cycle(i, "LEADER_LOG_REPLICATION", LeaderLogReplication, LeaderTick(i))
TakeLeaderReplay(i)         == /\ Cycle(i, "LEADER_REPLAY", LeaderReplay, LeaderTick(i))
TakeLeaderInit(i)           == /\ Cycle(i, "LEADER_INIT", LeaderInit, {NoInput})
TakeLeaderReady(i) ==
    /\ Cycle(i, "LEADER_READY", LeaderReady,
          ReadyInputs(i, {NULL_POSITION, member[i].publicationPosition + 1}))
TakeFollowerLogReplication(i) ==
    /\ LET ends == {NULL_POSITION} \cup IF BoundError(i) THEN {member[i].recordedPosition} ELSE {}
       IN  Cycle(i, "FOLLOWER_LOG_REPLICATION", FollowerLogReplication,
                 {[x EXCEPT !.position = p] : x \in Intervals(i), p \in ends})
TakeFollowerReplay(i)       == /\ Cycle(i, "FOLLOWER_REPLAY", FollowerReplay, Intervals(i))
TakeFollowerCatchupInit(i)  == /\ Cycle(i, "FOLLOWER_CATCHUP_INIT", FollowerCatchupInit, {NoInput})
TakeFollowerCatchupAwait(i) ==
    IsConnected(i) /\ Cycle(i, "FOLLOWER_CATCHUP_AWAIT", FollowerCatchupAwait, {NoInput})
TakeFollowerCatchup(i)      == /\ Cycle(i, "FOLLOWER_CATCHUP", FollowerCatchup, Intervals(i))
TakeFollowerLogInit(i)      == /\ Cycle(i, "FOLLOWER_LOG_INIT", FollowerLogInit, {NoInput})
TakeFollowerLogAwait(i) ==
    IsConnected(i) /\ Cycle(i, "FOLLOWER_LOG_AWAIT", FollowerLogAwait, {NoInput})
TakeFollowerReady(i)        == /\ Cycle(i, "FOLLOWER_READY", FollowerReady, {NoInput})

\* The log, and the actions outside elections.
HasMoreToRecord(i) ==
    /\ NextEntry(Now, i) # -1
    /\ ~AwaitsRecording(member[i]) \/ BoundError(i)
MayRecord(i) == HasMoreToRecord(i) /\ RecordLog(i, member[i], Record1(Now, i)) # {}

TakeRecordLog(i) ==
    BoundRecord(i) /\ HasMoreToRecord(i) /\ Tick(i, RecordLog, Record1(Now, i))
TakeConsumeLog(i) ==
    /\ member[i].commitPosition < Len(log[i])
    /\ ~IsTermEvent(Now, i, member[i].commitPosition + 1)
    /\ Tick(i, ConsumeLog, Consume1(Now, i))
TakeOnReplayNewLeadershipTermEvent(i) ==
    /\ member[i].commitPosition < Len(log[i])
    /\ IsTermEvent(Now, i, member[i].commitPosition + 1)
    /\ Tick(i, OnReplayNewLeadershipTermEvent, Consume1(Now, i))
TakeUpdateLeaderPosition(i) ==
    /\ Closed(member[i], "LEADER")
    /\ \E a \in ActiveSets(i), c \in Due(i) :
           Tick(i, UpdateLeaderPosition, [NoInput EXCEPT !.active = a, !.commitInterval = c])
TakeUpdateFollowerPosition(i) == BoundInterval(i) /\ Tick(i, UpdateFollowerPosition, NoInput)
TakeAppendEntry(i) ==
    LET k == member[i].publicationPosition + 1
    IN  /\ Closed(member[i], "LEADER")
        /\ NoUrgency /\ BoundAppend(k)
        /\ Tick(i, AppendEntry, [NoInput EXCEPT !.position = k])
TakeEnterElection(i) ==
    /\ member[i].electionState = "CLOSED"
    /\ NoUrgency /\ BoundEnterElection(i)
    /\ \E g \in {NULL_VALUE, member[i].leaderMemberId} :
           Tick(i, EnterElection, [NoInput EXCEPT !.gracefulClosedLeaderId = g])
TakeElectionError(i) ==
    /\ member[i].electionState # "CLOSED"
    /\ NoUrgency /\ BoundError(i)
    /\ \E x \in {NoInput} \cup ClosingInputs(i) : Fail(i, ElectionError, x, channel)
TakeTakeSnapshot(i)        == BoundSnapshot(i) /\ NoUrgency /\ Tick(i, TakeSnapshot, NoInput)
TakeInitiateTermination(i) ==
    BoundTermination(i) /\ NoUrgency /\ Tick(i, InitiateTermination, NoInput)
TakeTerminate(i) ==
    /\ member[i].terminationPosition # NULL_POSITION
    /\ NoUrgency
    /\ Tick(i, Terminate, NoInput)

-----------------------------------------------------------------------------
\* Every member starts for the first time with an empty disk, and has taken the first step of its
\* election. In a cluster of one, the member leads.
Begin ==
    LET first == [i \in Members |-> (CHOOSE o \in Restart(i, NewMember, NoInput) : TRUE).next]
    IN  [member  |-> first,
         channel |-> NoChannels,
         log     |-> [i \in Members |-> <<>>],
         hist    |-> [NoHistory EXCEPT !.leaders =
                        {<<first[i].leadershipTermId, i>> : i \in {i \in Members : first[i].role = "LEADER"}}]]

Init == Starts(Begin)

\* TLC names a step by its disjunct.
Next ==
    \/ \E i \in Members :
        \/ TakeElectionInit(i)
        \/ TakeCanvass(i)
        \/ TakeNominate(i)
        \/ TakeCandidateBallot(i)
        \/ TakeFollowerBallot(i)
        \/ TakeLeaderLogReplication(i)
        \/ TakeLeaderReplay(i)
        \/ TakeLeaderInit(i)
        \/ TakeLeaderReady(i)
        \/ TakeFollowerLogReplication(i)
        \/ TakeFollowerReplay(i)
        \/ TakeFollowerCatchupInit(i)
        \/ TakeFollowerCatchupAwait(i)
        \/ TakeFollowerCatchup(i)
        \/ TakeFollowerLogInit(i)
        \/ TakeFollowerLogAwait(i)
        \/ TakeFollowerReady(i)
        \/ TakeRecordLog(i)
        \/ TakeConsumeLog(i)
        \/ TakeOnReplayNewLeadershipTermEvent(i)
        \/ TakeUpdateLeaderPosition(i)
        \/ TakeUpdateFollowerPosition(i)
        \/ TakeAppendEntry(i)
        \/ TakeEnterElection(i)
        \/ TakeElectionError(i)
        \/ TakeTakeSnapshot(i)
        \/ TakeInitiateTermination(i)
        \/ TakeTerminate(i)
        \/ RestartMember(i)
    \/ \E i, j \in Members :
        \/ TakeOnCanvassPosition(i, j)
        \/ TakeOnRequestVote(i, j)
        \/ TakeOnVote(i, j)
        \/ TakeOnNewLeadershipTerm(i, j)
        \/ TakeOnAppendPosition(i, j)
        \/ TakeOnCommitPosition(i, j)
        \/ TakeOnCatchupPosition(i, j)
        \/ TakeOnStopCatchup(i, j)
        \/ TakeOnTerminationPosition(i, j)
        \/ TakeOnTerminationAck(i, j)
        \/ Lose(i, j)

Spec == Init /\ [][Next]_vars

\* What models explore. Their bounds allow no step in some states; with Rest, TLC does not take such
\* a state for a deadlock.
Rest == UNCHANGED vars
NextOrRest == Next \/ Rest
=============================================================================

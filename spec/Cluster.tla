------------------------------ MODULE Cluster -------------------------------
(***************************************************************************)
(* The cluster: members that take the steps of Member.tla, the network     *)
(* between them, and the contents of their logs.                           *)
(*                                                                         *)
(* A position counts entries here, and an entry is the term in which it    *)
(* was written.  A term has one leader and one base, so term and position  *)
(* identify the bytes.  The first entry of a term is its                   *)
(* NewLeadershipTermEvent.                                                 *)
(*                                                                         *)
(* Time is left out: any deadline may pass at any moment, any periodic     *)
(* message may be due, and a leader may have heard of any set of members.  *)
(* The MC modules set bounds by redefining the operators under "Bounds"    *)
(* below.                                                                  *)
(*                                                                         *)
(* Start reading at Next.                                                  *)
(***************************************************************************)
EXTENDS Network

VARIABLES
    member,   \* [Members -> member state]
    channel,  \* [from -> [to -> sequence of messages]]
    log,      \* [Members -> the recorded log, a sequence of terms]
    hist      \* the history that the properties need; no step reads it

vars == <<member, channel, log, hist>>

(***************************************************************************)
(* Bounds, redefined by the MC modules.  Here nothing is bounded.          *)
(***************************************************************************)
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
Urgent(i) == FALSE                 \* has this member an internal step that must come first?

-----------------------------------------------------------------------------
(***************************************************************************)
(* The cluster as one value, [member, channel, log, hist].  The operators  *)
(* below take such a value c, so that Script.tla can use them, too.        *)
(***************************************************************************)
Now == [member |-> member, channel |-> channel, log |-> log, hist |-> hist]

Starts(c) == member = c.member /\ channel = c.channel /\ log = c.log /\ hist = c.hist

Becomes(c) == member' = c.member /\ channel' = c.channel /\ log' = c.log /\ hist' = c.hist

(***************************************************************************)
(* The stream of leader j: its recorded log, then the entries that it has  *)
(* written and not yet recorded.  All of these are of its own term.        *)
(***************************************************************************)
StreamEntry(c, j, k) ==
    IF k <= Len(c.log[j]) THEN c.log[j][k] ELSE c.member[j].moduleLeadershipTermId

FollowedTerm(s) == IF s.electionState = "CLOSED" THEN s.moduleLeadershipTermId ELSE s.leadershipTermId

LeadsInTerm(s, term) ==
    /\ IsPublisher(s)
    /\ IF s.electionState = "CLOSED" THEN s.moduleLeadershipTermId = term
       ELSE s.leadershipTermId = term

(***************************************************************************)
(* NextEntry(c, i): the entry that the archive of member i may record      *)
(* next, or -1.  It comes from a leader's own writing, from the leader's   *)
(* stream or catch-up replay, or from a copy of an older term in the       *)
(* leader's archive.                                                       *)
(***************************************************************************)
NextEntry(c, i) ==
    LET s == c.member[i]
        j == s.leaderMemberId
        k == s.recordedPosition + 1
    IN  IF IsPublisher(s)
        THEN IF k <= s.publicationPosition THEN s.moduleLeadershipTermId ELSE -1
        ELSE IF j = NULL_VALUE \/ j = i THEN -1
        ELSE IF At(s, "FOLLOWER_LOG_REPLICATION")
        THEN IF k <= Len(c.log[j]) /\ k <= s.replicationStopPosition THEN c.log[j][k] ELSE -1
        ELSE IF LeadsInTerm(c.member[j], FollowedTerm(s)) /\ k <= c.member[j].publicationPosition
        THEN StreamEntry(c, j, k)
        ELSE -1

(***************************************************************************)
(* The archive of member i records one more entry.                         *)
(***************************************************************************)
Record1(c, i) == [NoInput EXCEPT !.position = c.member[i].recordedPosition + 1]

(***************************************************************************)
(* The next entry that member i's consensus module may process.            *)
(***************************************************************************)
IsTermEvent(c, i, k) == IF k = 1 THEN TRUE ELSE c.log[i][k - 1] # c.log[i][k]

Consume1(c, i) ==
    LET k == c.member[i].commitPosition + 1
    IN  IF IsTermEvent(c, i, k)
        THEN [NoInput EXCEPT !.position = k, !.leadershipTermId = c.log[i][k],
                             !.termBaseLogPosition = k - 1]
        ELSE [NoInput EXCEPT !.position = k]

-----------------------------------------------------------------------------
(***************************************************************************)
(* The history that the properties need: the leader of each term, the      *)
(* votes, and the first entry that any member committed at each position.  *)
(* The history never changes.  So a member that commits a different entry  *)
(* is found (StateMachineSafety) even if all members that committed the    *)
(* first one have restarted since.                                         *)
(***************************************************************************)
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

(***************************************************************************)
(* Taken(c, i, action, x, ch): the clusters after a step of member i; ch   *)
(* is the network without the message that the step receives.              *)
(***************************************************************************)
Taken(c, i, action, x, ch) ==
    {LET entries == LogAfter(c, i, o.next)
     IN  [member  |-> [c.member EXCEPT ![i] = o.next],
          channel |-> Transmit(ch, i, o.sends),
          log     |-> [c.log EXCEPT ![i] = entries],
          hist    |-> Remember(c.hist, i, c.member[i], o.next, o.sends, entries)] :
        o \in Step(i, c.member[i], action, x)}

(***************************************************************************)
(* MayAct(i): no member has an urgent internal step, or member i is the    *)
(* first one that has.  An MC module bounds the interleavings with it.     *)
(***************************************************************************)
NoUrgency == \A j \in Members : ~Urgent(j)

MayAct(i) ==
    LET urgent == {j \in Members : Urgent(j)}
    IN  urgent = {} \/ (i \in urgent /\ \A j \in urgent : i <= j)

Take(i, action, x, ch) ==
    /\ MayAct(i)
    /\ \E c \in Taken(Now, i, action, x, ch) : Becomes(c)

Tick(i, action, x) == Take(i, action, x, channel)

(***************************************************************************)
(* The inputs from the clock: due messages, expired deadlines, and the     *)
(* members that a leader has heard of.  Any of them is possible at any     *)
(* moment.                                                                 *)
(***************************************************************************)
Interval(due)       == [NoInput EXCEPT !.interval = due]
Timeout             == [NoInput EXCEPT !.timeout = TRUE]
Due(i)              == IF BoundInterval(i) THEN BOOLEAN ELSE {FALSE}
IntervalOrTimeout(i) == {[Interval(n) EXCEPT !.timeout = t] : n \in Due(i), t \in BOOLEAN}
LeaderTick(i)       == {[NoInput EXCEPT !.active = a, !.interval = n, !.commitInterval = c] :
                            a \in ActiveSets(i), n \in Due(i), c \in Due(i)}
ReadyInputs(i, ends) ==
    {[x EXCEPT !.timeout = t, !.position = k] :
        x \in LeaderTick(i), t \in (IF IsRev149 THEN BOOLEAN ELSE {FALSE}),
        k \in {k \in ends : k = NULL_POSITION \/ BoundAppend(k)}}

(***************************************************************************)
(* The inputs of a duty cycle that closes an election and may fail there.  *)
(***************************************************************************)
ClosingInputs(i) ==
    LET s == member[i]
    IN  CASE At(s, "LEADER_READY")   -> ReadyInputs(i, {s.publicationPosition + 1})
          [] At(s, "FOLLOWER_READY") -> {[NoInput EXCEPT !.position = s.commitPosition]}
          [] OTHER                   -> {}

-----------------------------------------------------------------------------
(***************************************************************************)
(* Environment actions.                                                    *)
(***************************************************************************)
Lose(i, j) ==
    /\ channel[i][j] # <<>>
    /\ NoUrgency /\ BoundLoss(i, j)
    /\ channel' = Receive(channel, i, j, 1)
    /\ UNCHANGED <<member, log, hist>>

RestartMember(i) ==
    LET ended == IF BoundOvertaking(i) THEN EndProcess(channel, i) ELSE channel
    IN  /\ BoundRestart(i) /\ NoUrgency
        /\ \/ Take(i, "Restart", NoInput, LoseAllTo(ended, i))
           \/ BoundLate(i) /\ Take(i, "Restart", NoInput, ended)

(***************************************************************************)
(* Messages.  The set of active members matters only to a leader that      *)
(* answers with its quorum position.  Before its first own step a leader   *)
(* may not be active itself.                                               *)
(***************************************************************************)
MayArrive(i, j) ==    \* places in the channel: the first message of each process
    {k \in DOMAIN channel[i][j] : IF k = 1 THEN TRUE ELSE channel[i][j][k - 1] = PROCESS_END}

Arrives(i, j, type) == \E k \in MayArrive(i, j) : channel[i][j][k].type = type

Deliver(i, j, type, active) ==
    \E k \in MayArrive(i, j) :
        LET m == channel[i][j][k]
        IN  /\ m.type = type
            /\ NoUrgency
            /\ Take(j, ActionOf(m), [NoInput EXCEPT !.message = m, !.active = active],
                    Receive(channel, i, j, k))

AnswerSets(j) ==
    IF member[j].role = "LEADER" THEN ActiveSets(j) \cup {a \ {j} : a \in ActiveSets(j)} ELSE {{j}}

TakeOnCanvassPosition(i, j) ==
    /\ Arrives(i, j, "CanvassPosition")
    /\ \E a \in AnswerSets(j) : Deliver(i, j, "CanvassPosition", a)
TakeOnRequestVote(i, j) ==
    /\ Arrives(i, j, "RequestVote")
    /\ \E a \in AnswerSets(j) : Deliver(i, j, "RequestVote", a)
TakeOnVote(i, j) ==
    Arrives(i, j, "Vote") /\ Deliver(i, j, "Vote", {j})
TakeOnNewLeadershipTerm(i, j) ==
    Arrives(i, j, "NewLeadershipTerm") /\ Deliver(i, j, "NewLeadershipTerm", {j})
TakeOnAppendPosition(i, j) ==
    Arrives(i, j, "AppendPosition") /\ Deliver(i, j, "AppendPosition", {j})
TakeOnCommitPosition(i, j) ==
    Arrives(i, j, "CommitPosition") /\ Deliver(i, j, "CommitPosition", {j})
TakeOnCatchupPosition(i, j) ==
    Arrives(i, j, "CatchupPosition") /\ Deliver(i, j, "CatchupPosition", {j})
TakeOnStopCatchup(i, j) ==
    Arrives(i, j, "StopCatchup") /\ Deliver(i, j, "StopCatchup", {j})
TakeOnTerminationPosition(i, j) ==
    Arrives(i, j, "TerminationPosition") /\ Deliver(i, j, "TerminationPosition", {j})
TakeOnTerminationAck(i, j) ==
    Arrives(i, j, "TerminationAck") /\ Deliver(i, j, "TerminationAck", {j})

(***************************************************************************)
(* Election states, in the order of their codes.                           *)
(***************************************************************************)
TakeElectionInit(i) ==
    /\ At(member[i], "INIT")
    /\ Tick(i, "ElectionInit", NoInput)
TakeCanvass(i) ==
    /\ At(member[i], "CANVASS")
    /\ \E x \in IntervalOrTimeout(i) : Tick(i, "Canvass", x)
TakeNominate(i) ==
    /\ At(member[i], "NOMINATE")
    /\ BoundTerm(i, member[i].candidateTermId + 1)
    /\ \E x \in IntervalOrTimeout(i) : Tick(i, "Nominate", x)
TakeCandidateBallot(i) ==
    /\ At(member[i], "CANDIDATE_BALLOT")
    /\ \E x \in {Timeout} \cup {[NoInput EXCEPT !.accepted = a] : a \in AcceptedSets(i)} :
           Tick(i, "CandidateBallot", x)
TakeFollowerBallot(i) ==
    /\ At(member[i], "FOLLOWER_BALLOT")
    /\ Tick(i, "FollowerBallot", Timeout)
TakeLeaderLogReplication(i) ==
    /\ At(member[i], "LEADER_LOG_REPLICATION")
    /\ \E x \in LeaderTick(i) : Tick(i, "LeaderLogReplication", x)
TakeLeaderReplay(i) ==
    /\ At(member[i], "LEADER_REPLAY")
    /\ \E x \in LeaderTick(i) : Tick(i, "LeaderReplay", x)
TakeLeaderInit(i) ==
    /\ At(member[i], "LEADER_INIT")
    /\ Tick(i, "LeaderInit", NoInput)
TakeLeaderReady(i) ==
    /\ At(member[i], "LEADER_READY")
    /\ \E x \in ReadyInputs(i, {NULL_POSITION, member[i].publicationPosition + 1}) :
           Tick(i, "LeaderReady", x)
TakeFollowerLogReplication(i) ==
    /\ At(member[i], "FOLLOWER_LOG_REPLICATION")
    /\ \E due \in Due(i), p \in {NULL_POSITION, member[i].recordedPosition} :
           /\ p = NULL_POSITION \/ BoundError(i)
           /\ Tick(i, "FollowerLogReplication", [Interval(due) EXCEPT !.position = p])
TakeFollowerReplay(i) ==
    /\ At(member[i], "FOLLOWER_REPLAY")
    /\ \E due \in Due(i) : Tick(i, "FollowerReplay", Interval(due))
TakeFollowerCatchupInit(i) ==
    /\ At(member[i], "FOLLOWER_CATCHUP_INIT")
    /\ Tick(i, "FollowerCatchupInit", NoInput)

(***************************************************************************)
(* A catch-up replay connects only if the leader runs one for this member. *)
(* The live log connects only if the leader's stream has reached the       *)
(* position of this member.                                                *)
(***************************************************************************)
TakeFollowerCatchupAwait(i) ==
    LET j == member[i].leaderMemberId
    IN  /\ At(member[i], "FOLLOWER_CATCHUP_AWAIT")
        /\ member[j].members[i].catchupReplay /\ LeadsInTerm(member[j], member[i].leadershipTermId)
        /\ Tick(i, "FollowerCatchupAwait", NoInput)
TakeFollowerCatchup(i) ==
    /\ At(member[i], "FOLLOWER_CATCHUP")
    /\ \E due \in Due(i) : Tick(i, "FollowerCatchup", Interval(due))
TakeFollowerLogInit(i) ==
    /\ At(member[i], "FOLLOWER_LOG_INIT")
    /\ Tick(i, "FollowerLogInit", NoInput)
TakeFollowerLogAwait(i) ==
    LET j == member[i].leaderMemberId
    IN  /\ At(member[i], "FOLLOWER_LOG_AWAIT")
        /\ LeadsInTerm(member[j], member[i].leadershipTermId)
        /\ member[j].publicationPosition >= member[i].commitPosition
        /\ Tick(i, "FollowerLogAwait", NoInput)
TakeFollowerReady(i) ==
    /\ At(member[i], "FOLLOWER_READY")
    /\ Tick(i, "FollowerReady", NoInput)

(***************************************************************************)
(* The log, and the actions outside elections.                             *)
(***************************************************************************)
HasMoreToRecord(i) ==
    /\ NextEntry(Now, i) # -1
    /\ ~AwaitsRecording(member[i]) \/ BoundError(i)
MayRecord(i) == HasMoreToRecord(i) /\ RecordLog(i, member[i], Record1(Now, i)) # {}

TakeRecordLog(i) ==
    /\ HasMoreToRecord(i)
    /\ Tick(i, "RecordLog", Record1(Now, i))
TakeConsumeLog(i) ==
    /\ member[i].commitPosition < Len(log[i])
    /\ ~IsTermEvent(Now, i, member[i].commitPosition + 1)
    /\ Tick(i, "ConsumeLog", Consume1(Now, i))
TakeOnReplayNewLeadershipTermEvent(i) ==
    /\ member[i].commitPosition < Len(log[i])
    /\ IsTermEvent(Now, i, member[i].commitPosition + 1)
    /\ Tick(i, "OnReplayNewLeadershipTermEvent", Consume1(Now, i))
TakeUpdateLeaderPosition(i) ==
    /\ Closed(member[i], "LEADER")
    /\ \E a \in ActiveSets(i), c \in Due(i) :
           Tick(i, "UpdateLeaderPosition", [NoInput EXCEPT !.active = a, !.commitInterval = c])
TakeUpdateFollowerPosition(i) ==
    /\ Closed(member[i], "FOLLOWER") /\ BoundInterval(i)
    /\ Tick(i, "UpdateFollowerPosition", NoInput)
TakeAppendEntry(i) ==
    LET k == member[i].publicationPosition + 1
    IN  /\ Closed(member[i], "LEADER")
        /\ NoUrgency /\ BoundAppend(k)
        /\ Tick(i, "AppendEntry", [NoInput EXCEPT !.position = k])
TakeEnterElection(i) ==
    /\ member[i].electionState = "CLOSED"
    /\ NoUrgency /\ BoundEnterElection(i)
    /\ \E g \in {NULL_VALUE, member[i].leaderMemberId} :
           Tick(i, "EnterElection", [NoInput EXCEPT !.gracefulClosedLeaderId = g])
TakeElectionError(i) ==
    /\ member[i].electionState # "CLOSED"
    /\ NoUrgency /\ BoundError(i)
    /\ \E x \in {NoInput} \cup ClosingInputs(i) : Tick(i, "ElectionError", x)
TakeTakeSnapshot(i) ==
    /\ BoundSnapshot(i) /\ NoUrgency
    /\ Tick(i, "TakeSnapshot", NoInput)
TakeInitiateTermination(i) ==
    /\ Closed(member[i], "LEADER")
    /\ BoundTermination(i) /\ NoUrgency
    /\ Tick(i, "InitiateTermination", NoInput)
TakeTerminate(i) ==
    /\ member[i].terminationPosition # NULL_POSITION
    /\ NoUrgency
    /\ Tick(i, "Terminate", NoInput)

-----------------------------------------------------------------------------
(***************************************************************************)
(* Init: every member starts for the first time with an empty disk, and    *)
(* has taken the first step of its election.  In a cluster of one, the     *)
(* member leads.                                                           *)
(***************************************************************************)
Begin ==
    LET first == [i \in Members |-> (CHOOSE o \in Restart(i, NewMember, NoInput) : TRUE).next]
    IN  [member  |-> first,
         channel |-> NoChannels,
         log     |-> [i \in Members |-> <<>>],
         hist    |-> [NoHistory EXCEPT !.leaders =
                        {<<first[i].leadershipTermId, i>> : i \in {i \in Members : first[i].role = "LEADER"}}]]

Init == Starts(Begin)

(***************************************************************************)
(* Next.  Each disjunct has its own name, which TLC uses for the action in *)
(* traces and coverage.                                                    *)
(***************************************************************************)
Next ==
    \/ \E i \in Members : TakeElectionInit(i)
    \/ \E i \in Members : TakeCanvass(i)
    \/ \E i \in Members : TakeNominate(i)
    \/ \E i \in Members : TakeCandidateBallot(i)
    \/ \E i \in Members : TakeFollowerBallot(i)
    \/ \E i \in Members : TakeLeaderLogReplication(i)
    \/ \E i \in Members : TakeLeaderReplay(i)
    \/ \E i \in Members : TakeLeaderInit(i)
    \/ \E i \in Members : TakeLeaderReady(i)
    \/ \E i \in Members : TakeFollowerLogReplication(i)
    \/ \E i \in Members : TakeFollowerReplay(i)
    \/ \E i \in Members : TakeFollowerCatchupInit(i)
    \/ \E i \in Members : TakeFollowerCatchupAwait(i)
    \/ \E i \in Members : TakeFollowerCatchup(i)
    \/ \E i \in Members : TakeFollowerLogInit(i)
    \/ \E i \in Members : TakeFollowerLogAwait(i)
    \/ \E i \in Members : TakeFollowerReady(i)
    \/ \E i \in Members : TakeRecordLog(i)
    \/ \E i \in Members : TakeConsumeLog(i)
    \/ \E i \in Members : TakeOnReplayNewLeadershipTermEvent(i)
    \/ \E i \in Members : TakeUpdateLeaderPosition(i)
    \/ \E i \in Members : TakeUpdateFollowerPosition(i)
    \/ \E i \in Members : TakeAppendEntry(i)
    \/ \E i \in Members : TakeEnterElection(i)
    \/ \E i \in Members : TakeElectionError(i)
    \/ \E i \in Members : TakeTakeSnapshot(i)
    \/ \E i \in Members : TakeInitiateTermination(i)
    \/ \E i \in Members : TakeTerminate(i)
    \/ \E i \in Members : RestartMember(i)
    \/ \E i, j \in Members : TakeOnCanvassPosition(i, j)
    \/ \E i, j \in Members : TakeOnRequestVote(i, j)
    \/ \E i, j \in Members : TakeOnVote(i, j)
    \/ \E i, j \in Members : TakeOnNewLeadershipTerm(i, j)
    \/ \E i, j \in Members : TakeOnAppendPosition(i, j)
    \/ \E i, j \in Members : TakeOnCommitPosition(i, j)
    \/ \E i, j \in Members : TakeOnCatchupPosition(i, j)
    \/ \E i, j \in Members : TakeOnStopCatchup(i, j)
    \/ \E i, j \in Members : TakeOnTerminationPosition(i, j)
    \/ \E i, j \in Members : TakeOnTerminationAck(i, j)
    \/ \E i, j \in Members : Lose(i, j)

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* NextOrRest: what models explore.  Their bounds allow no step in some    *)
(* states; with Rest, TLC does not take such a state for a deadlock.       *)
(***************************************************************************)
Rest == UNCHANGED vars

NextOrRest == Next \/ Rest
=============================================================================

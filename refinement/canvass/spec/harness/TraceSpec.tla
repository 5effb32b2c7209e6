----------------------------- MODULE TraceSpec ------------------------------
\* A recorded run as a specification: it conforms if it is a behaviour of Cluster.tla.
\*
\* A run has one stream of events for each member. TLC searches for an interleaving of the streams
\* in which every event is a step of its member that leads to the recorded state with the recorded
\* sends, every received message is under way, every recorded byte is written, and no safety
\* property of Properties.tla is ever violated. The run conforms if and only if the end of all
\* streams is reachable.
\*
\* Not all interleavings are tried: see Critical.
\*
\* Differences from Cluster.tla, all about messages and data under way:
\*
\*   - messages have their recorded ids, so messages with equal contents
\*     are not confused; a message that nobody receives is lost as soon
\*     as it is sent; channels have no bound;
\*   - a position is the rank of a recorded position, so one event may
\*     append, record or consume several entries, one after the other
\*     without a step of anybody else in between;
\*   - the entries that a leader has written, and a catch-up that it has
\*     granted, outlive its leadership: data may still arrive.
\*
\* If steps of a run are missing, the logs are known only in part, and the safety properties that
\* compare logs are not checked.
\*
\* Start reading at Next.
EXTENDS Properties, Encoding, TLC

CONSTANT Runs   \* a sequence of [whole, empty, missing, streams]; see Load

VARIABLES
    run,    \* which of Runs
    at,     \* [Members -> how many events of the stream are explained]
    next,   \* [Members -> the next event of the stream]
    led,    \* [<<leader, term>> -> what it has written, and to whom it replays]
    held,   \* [Members -> checksums of its log that are not committed, as <<position, checksum>>]
    sums    \* the checksums seen, as <<position, term there, checksum>>

-----------------------------------------------------------------------------
\* An event is a string: its kind, action, sender and id of the message, state after, input, sends,
\* checksums.
\*
\* A send has its receiver and its id; a message that no member receives has no id.
ORDINARY == 0
AFTER_GAP == 1      \* the state before is not known
ABSURD == 2         \* it names a member that there is not

NEVER_RECEIVED == -1
NEVER_SENT == -2
MARK_ID == -3

STATE_START == 5

RECURSIVE DecodeTraceSends(_, _, _)
DecodeTraceSends(r, k, count) ==
    IF count = 0 THEN <<>>
    ELSE <<[to |-> r[k], id |-> r[k + 1], message |-> DecodeMessage(r, k + 2)]>>
         \o DecodeTraceSends(r, AfterMessage(r, k + 2), count - 1)

RECURSIVE AfterTraceSends(_, _, _)
AfterTraceSends(r, k, count) ==
    IF count = 0 THEN k ELSE AfterTraceSends(r, AfterMessage(r, k + 2), count - 1)

SentTo(sends, j) == SelectSeq(sends, LAMBDA e : e.to = j)

Plain(sends) == [k \in DOMAIN sends |-> [to |-> sends[k].to, message |-> sends[k].message]]

\* Messages to different members are in different channels.
SameSends(a, b) == Len(a) = Len(b) /\ \A j \in Members : SentTo(a, j) = SentTo(b, j)

\* Decoded(i, text, before): an event of member i, which was in state before; allowed says whether
\* its step is a step of Member.tla. After a gap the step is unknown. But TLC can check whether a
\* restart leads to the state, because the state after a restart has the whole disk, unless a single
\* member has begun a term since.
Allowed(i, how, before, action, input, state, sends) ==
    \/ how = AFTER_GAP /\ (action # "Restart" \/ MemberCount = 1)
    \/ /\ how # ABSURD
       /\ \E o \in Step(i, IF how = AFTER_GAP THEN state ELSE before, action, input) :
              o.next = state /\ SameSends(o.sends, Plain(sends))

Decoded(i, text, before) ==
    LET r       == TLCEval(IntegersOf(text))
        given   == AfterState(r, STATE_START)
        out     == AfterInput(r, given)
        end     == AfterTraceSends(r, out + 1, r[out])
        action  == ActionTable[r[2] + 1]
        input   == TLCEval(DecodeInput(r, given))
        state   == TLCEval(DecodeState(r, STATE_START))
        sends   == TLCEval(DecodeTraceSends(r, out + 1, r[out]))
    IN  [some    |-> TRUE,
         gap     |-> r[1] = AFTER_GAP,
         absurd  |-> r[1] = ABSURD,
         allowed |-> Allowed(i, r[1], before, action, input, state, sends),
         action  |-> action,
         from    |-> r[3],
         id      |-> r[4],
         state   |-> state,
         input   |-> input,
         sends   |-> sends,
         sums    |-> [k \in 1 .. r[end] |-> <<r[end + 2 * k - 1], r[end + 2 * k]>>]]

NoEvent == [some |-> FALSE]

\* Load(n, i, k, before): event k of member i in run n.
\*
\* whole says that no step of the run is missing, missing names the members with missing steps, and
\* empty says that the run is recorded from the first start.
Load(n, i, k, before) ==
    LET stream == Runs[n].streams[i + 1]
    IN  IF k > Len(stream) THEN NoEvent ELSE TLCEval(Decoded(i, stream[k], before))

Whole == Runs[run].whole

-----------------------------------------------------------------------------
\* Messages. The received message may be at any place in its channel; the messages of the same
\* process before it are lost. After a gap the process may be another one.
IdAt(queue, k) == IF queue[k] = PROCESS_END THEN MARK_ID ELSE queue[k].id

PlaceOf(queue, id) ==
    IF \E k \in DOMAIN queue : IdAt(queue, k) = id
    THEN CHOOSE k \in DOMAIN queue : IdAt(queue, k) = id ELSE 0

MessageIsThere(i) ==
    LET e == next[i]
    IN  \/ e.input.message = NoMessage
        \/ e.id = NEVER_SENT /\ e.from \in Runs[run].missing
        \/ /\ e.id >= 0
           /\ LET queue == channel[e.from][i]
                  k     == PlaceOf(queue, e.id)
              IN  k > 0 /\ queue[k].message = e.input.message

ChannelAfter(i) ==
    LET e      == next[i]
        ended  == IF e.gap \/ e.action = "Restart" THEN EndProcess(channel, i) ELSE channel
        given  == IF e.input.message = NoMessage \/ e.id < 0 THEN ended
                  ELSE Receive(ended, e.from, i, PlaceOf(ended[e.from][i], e.id))
        wanted == SelectSeq(e.sends, LAMBDA s : s.id >= 0)
    IN  Transmit(given, i, [k \in DOMAIN wanted |->
            [to |-> wanted[k].to, message |-> [id |-> wanted[k].id, message |-> wanted[k].message]]])

-----------------------------------------------------------------------------
\* Logs. The stream of a leadership is the log that the leader had when the leadership began, and
\* entries of its own term after it.
\*
\* If steps are missing, an entry may be UNKNOWN.
UNKNOWN == -3

Missing(i) == i \in Runs[run].missing

\* Unseen(i): the member may have taken steps that are not recorded.
Unseen(i) == Missing(i) \/ ~Runs[run].empty

EntryAt(entries, k) == IF k <= Len(entries) THEN entries[k] ELSE UNKNOWN

LedAfter(i, entries) ==
    LET s   == next[i].state
        key == <<i, FollowedTerm(s)>>
        old == IF key \in DOMAIN led THEN led[key]
               ELSE [base |-> [k \in 1 .. s.publicationPosition |-> EntryAt(entries, k)],
                     reach |-> 0, replays |-> {}]
        new == [old EXCEPT !.reach = Max(@, s.publicationPosition),
                           !.replays = @ \cup {j \in Members : s.members[j].catchupReplay}]
    IN  IF ~LeadsInTerm(s, FollowedTerm(s)) THEN led
        ELSE [k \in DOMAIN led \cup {key} |-> IF k = key THEN new ELSE led[k]]

EntryOf(stream, term, k) == IF k <= Len(stream.base) THEN stream.base[k] ELSE term

\* Followed(i): the leadership whose stream member i listens to.
Followed(i) == <<member[i].leaderMemberId, FollowedTerm(member[i])>>

Reaches(i, upTo) == Followed(i) \in DOMAIN led /\ led[Followed(i)].reach >= upTo

SourceIsThere(i, upTo) ==
    \/ IsPublisher(member[i])
    \/ member[i].leaderMemberId # i /\ (Reaches(i, upTo) \/ Missing(member[i].leaderMemberId))

SourceEntry(i, k) ==
    IF IsPublisher(member[i]) THEN member[i].moduleLeadershipTermId
    ELSE IF Reaches(i, k) THEN EntryOf(led[Followed(i)], Followed(i)[2], k) ELSE UNKNOWN

LogAfterEvent(i) ==
    LET to   == next[i].state.recordedPosition
        from == Len(log[i])
    IN  IF next[i].gap THEN [k \in 1 .. to |-> UNKNOWN]
        ELSE IF to <= from THEN SubSeq(log[i], 1, to)
        ELSE log[i] \o [k \in 1 .. (to - from) |-> SourceEntry(i, from + k)]

\* OnTopOfItself(i): the stream continues the log of member i at its end.
OnTopOfItself(i) ==
    \/ IsPublisher(member[i])
    \/ \A k \in DOMAIN log[i] : log[i][k] = EntryOf(led[Followed(i)], Followed(i)[2], k)

\* LogIsThere(i): the event records written entries and consumes recorded entries; it names the
\* first entry of a term, and no other entry, as the first one.
IsKnown(i, from, to) == \A k \in Max(from, 1) .. to : log[i][k] # UNKNOWN

NoTermBegins(i, from, to) == \A k \in from .. to : ~IsTermEvent(Now, i, k)

LogIsThere(i) ==
    LET e    == next[i]
        x    == e.input
        done == member[i].commitPosition
    IN  CASE e.gap -> TRUE
          [] e.action = "ConsumeLog" ->
                /\ x.position <= Len(log[i])
                /\ IsKnown(i, done, x.position) => NoTermBegins(i, done + 1, x.position)
          [] e.action = "OnReplayNewLeadershipTermEvent" ->
                /\ x.position <= Len(log[i])
                /\ IsKnown(i, done, x.position) =>
                      /\ IsTermEvent(Now, i, done + 1)
                      /\ x.leadershipTermId = log[i][done + 1]
                      /\ NoTermBegins(i, done + 2, x.position)
          [] e.action = "FollowerCatchupAwait" ->
                \/ Unseen(member[i].leaderMemberId)
                \/ Followed(i) \in DOMAIN led /\ i \in led[Followed(i)].replays
          [] e.action = "FollowerLogAwait" ->
                Unseen(member[i].leaderMemberId) \/ Reaches(i, done)
          [] OTHER ->
                \/ e.state.recordedPosition <= Len(log[i])
                \/ SourceIsThere(i, e.state.recordedPosition)

\* Checksums. A checksum is of a prefix of a log; the length and the last term of the prefix
\* identify it (LogMatching). A member has a checksum only of recorded entries. If steps are
\* missing, committed entries must be equal in all logs even if the log is unknown. A checksum is of
\* a committed log once the member has committed that far, unless the log was truncated below, or
\* steps are missing, in between.
COMMITTED == -4

LastTermOf(entries, k) == IF k <= 0 THEN NULL_VALUE ELSE entries[k]

HeldSums(i) ==
    LET e   == next[i]
        all == (IF e.gap THEN {} ELSE held[i]) \cup {e.sums[k] : k \in DOMAIN e.sums}
    IN  IF Whole THEN {} ELSE {s \in all : s[1] <= e.state.recordedPosition}

AppliedSums(i) == {s \in HeldSums(i) : s[1] <= next[i].state.commitPosition}

SumsOf(i, entries) ==
    LET e       == next[i]
        p(k)    == e.sums[k][1]
        known   == {k \in DOMAIN e.sums :
                      p(k) <= Len(entries) /\ \A n \in 1 .. p(k) : entries[n] # UNKNOWN}
    IN  {<<p(k), LastTermOf(entries, p(k)), e.sums[k][2]>> : k \in known}
        \cup {<<s[1], COMMITTED, s[2]>> : s \in AppliedSums(i)}

SumsAreRecorded(i) ==
    \A k \in DOMAIN next[i].sums : next[i].sums[k][1] <= next[i].state.recordedPosition

Conflicts(a, b) == a[1] = b[1] /\ a[2] = b[2] /\ a[3] # b[3]

SumsAgree == \A a, b \in sums : a[2] # COMMITTED => ~Conflicts(a, b)

AppliedAgree == \A a, b \in sums : a[2] = COMMITTED => ~Conflicts(a, b)

-----------------------------------------------------------------------------
Explained(i) == next[i].some /\ next[i].allowed /\ MessageIsThere(i) /\ LogIsThere(i)

\* Critical(i): to take the next event of member i now may prevent events that are possible if other
\* members act first.
\*
\* Every other event may be taken as soon as it is explained. It enables other events and disables
\* none, because it only extends channels and streams, and it makes no safety property harder to
\* satisfy. Critical steps are: to commit before a quorum has recorded; to truncate a log before
\* other members have the truncated entries; to close an election as leader; to record on top of
\* another log.
Critical(i) ==
    LET e == next[i]
    IN  /\ Whole
        /\ \/ e.state.commitPosition > Len(hist.committed)
           \/ e.state.recordedPosition < Len(log[i])
           \/ e.action = "LeaderReady" /\ e.state.electionState = "CLOSED"
           \/ e.state.recordedPosition > Len(log[i]) /\ ~OnTopOfItself(i)

-----------------------------------------------------------------------------
\* Broken(i): the safety properties that do not hold after the step of member i, in the primed
\* variables.
Broken(i) ==
    LET known    == ~next[i].gap
        sameLogs == log' = log
        sameSums == sums' = sums
    IN  {name \in {"ElectionSafety", "OneVotePerTerm", "LogMatching", "LeaderCompleteness",
                   "StateMachineSafety", "CommittedIsDurable", "CommitBounded",
                   "RecordingLogCoherent", "CommitMonotonic", "CandidateTermMonotonic",
                   "NoTruncationBelowCommit", "LogStream"} :
            CASE name = "ElectionSafety"          -> ~ElectionSafety'
              [] name = "OneVotePerTerm"          -> ~OneVotePerTerm'
              [] name = "LogMatching"             -> Whole /\ ~sameLogs /\ ~LogMatching'
              [] name = "LeaderCompleteness"      -> Whole /\ ~LeaderCompleteness'
              [] name = "StateMachineSafety"      ->
                    IF Whole THEN ~StateMachineSafety' ELSE ~sameSums /\ ~AppliedAgree'
              [] name = "CommittedIsDurable"      -> Whole /\ ~CommittedIsDurable'
              [] name = "CommitBounded"           -> ~CommitBounded'
              [] name = "RecordingLogCoherent"    -> ~RecordingLogCoherent'
              [] name = "CommitMonotonic"         -> known /\ ~CommitRises
              [] name = "CandidateTermMonotonic"  -> known /\ ~CandidateTermRises
              [] name = "NoTruncationBelowCommit" -> known /\ ~CutsAboveCommit
              [] name = "LogStream"               ->
                    ~SumsAreRecorded(i) \/ (~sameSums /\ ~SumsAgree')}

Reached == [k \in 1 .. MemberCount |-> at[k - 1]]

Take1(i) ==
    LET e       == next[i]
        before  == IF e.gap THEN e.state ELSE member[i]
        entries == LogAfterEvent(i)
    IN  /\ member'  = [member EXCEPT ![i] = e.state]
        /\ channel' = ChannelAfter(i)
        /\ log'     = [log EXCEPT ![i] = entries]
        /\ hist'    = Remember(hist, i, before, e.state, Plain(e.sends),
                              IF Whole THEN entries ELSE <<>>)
        /\ led'     = LedAfter(i, entries)
        /\ held'    = [held EXCEPT ![i] = HeldSums(i) \ AppliedSums(i)]
        /\ sums'    = sums \cup SumsOf(i, entries)
        /\ at'      = [at EXCEPT ![i] = @ + 1]
        /\ run'     = run
        /\ LET broken == Broken(i)
           IN  IF broken = {} THEN TRUE
               ELSE PrintT(<<"broken", run, Reached, i, broken>>) /\ FALSE
        /\ next'    = [next EXCEPT ![i] = Load(run, i, at[i] + 2, e.state)]

\* Printed for a state in which no event is explained: for each member, whether it has a next event,
\* whether this event has a step, a message and log contents, and the member's leader.
Standing(i) ==
    IF ~next[i].some THEN <<0, 0, 0, 0>>
    ELSE <<1, Bit(next[i].allowed), Bit(MessageIsThere(i)),
           Bit(next[i].allowed /\ LogIsThere(i))>>

Stuck == PrintT(<<"stuck", run, Reached, [k \in 1 .. MemberCount |-> Standing(k - 1)]>>)

AtEnd == \A i \in Members : ~next[i].some

\* The search of a run ends when its end is reached for the first time.
Found == TLCGet(run)

Ended == PrintT(<<"end", run>>) /\ TLCSet(run, TRUE)

Least(set) == CHOOSE i \in set : \A j \in set : i <= j

TraceInit ==
    /\ run \in DOMAIN Runs
    /\ TLCSet(run, FALSE)
    /\ member  = [i \in Members |-> NewMember]
    /\ channel = NoChannels
    /\ log     = [i \in Members |-> <<>>]
    /\ hist    = NoHistory
    /\ led     = <<>>
    /\ held    = [i \in Members |-> {}]
    /\ sums    = {}
    /\ at      = [i \in Members |-> 0]
    /\ next    = [i \in Members |-> Load(run, i, 1, NewMember)]

\* Next: the first event that is not critical; if all are critical, any of them.
TraceNext ==
    /\ ~Found
    /\ LET explained == {i \in Members : Explained(i)}
           eager     == {i \in explained : ~Critical(i)}
           chosen    == IF eager # {} THEN {Least(eager)} ELSE explained
       IN  IF AtEnd THEN Ended /\ FALSE
           ELSE IF explained = {} THEN Stuck /\ FALSE
           ELSE \E i \in chosen : Take1(i)

\* The other variables of a state follow from these.
TraceView ==
    <<run, at, [i \in Members |-> [j \in Members |->
                   [k \in DOMAIN channel[i][j] |-> IdAt(channel[i][j], k)]]], hist.committed>>
=============================================================================

---------------------------- MODULE MemberGraph -----------------------------
\* One member in any well-formed environment, within bounds.
\*
\* At every step the environment chooses an action and an input: any well-formed message of any
\* peer, and any facts of clock, transport, archive and log. So every step of a member in a cluster
\* is a step here, if it begins in an expanded state and its numbers are within the bounds. The
\* contents of the log, and whether a message was ever sent, are not checked.
\*
\* The member state graph is the set of states that TLC finds, and the outcomes of all steps from
\* the expanded states. MCMemberGraph.tla prints it.
\*
\* Left out: NewLeadershipTerms whose terms do not follow each other (Orderly), and most messages
\* with contents that a state does not read (LooksInto). This is sound, because StepOracle.tla
\* checks each step that the graph does not have.
\*
\* Start reading at Next.
EXTENDS Encoding, WellFormed, TLC

CONSTANTS
    MaxTerm,      \* Terms of inputs, and of states that are expanded, are at most this.
    MaxPosition,  \* Positions of inputs, and therefore of states, are at most this.
    MaxSteps,     \* States more steps than this from all roots are not expanded; -1: all are.
    PeersAlike    \* Whether states that differ in the numbering of the peers only are one state.

ASSUME
    /\ MaxTerm \in Nat /\ MaxPosition \in Nat
    /\ PeersAlike \in BOOLEAN
    /\ PeersAlike => AppointedLeaderId \in {NULL_VALUE, 0}

Self == 0
Peers == Members \ {Self}

\* The roots of the search: the first start, and further states in some models. A few steps from
\* such a root are many steps after the start.
Roots == {NewMember}

-----------------------------------------------------------------------------
\* The state of the member, and the step that led to it. The step is for readers of a behaviour:
\* VIEW hides it, so it does not multiply the states.
VARIABLES
    member,
    auxStep     \* [action, input, sends]; empty at the start.

vars == <<member, auxStep>>

StateView == member

\* The inputs. An action reads the fields of its input that are named here and, if it has the name
\* of a message, that message. The other fields have the values of NoInput.
FieldsReadBy(action) ==
    CASE action \in {"Canvass", "Nominate"} -> {"interval", "timeout"}
      [] action = "CandidateBallot" -> {"timeout", "accepted"}
      [] action = "FollowerBallot" -> {"timeout"}
      [] action \in {"LeaderLogReplication", "LeaderReplay"} -> {"interval", "commitInterval", "active"}
      [] action \in {"LeaderReady", "ElectionError"} ->
             {"interval", "commitInterval", "timeout", "active", "position"}
      [] action = "FollowerLogReplication" -> {"interval", "position"}
      [] action \in {"FollowerReplay", "FollowerCatchup"} -> {"interval"}
      [] action = "EnterElection" -> {"gracefulClosedLeaderId"}
      [] action \in {"AppendEntry", "RecordLog"} -> {"position"}
      [] action = "ConsumeLog" -> {"position", "entryPosition"}
      [] action = "OnReplayNewLeadershipTermEvent" ->
             {"position", "entryPosition", "leadershipTermId", "termBaseLogPosition"}
      [] action = "UpdateLeaderPosition" -> {"commitInterval", "active"}
      [] action \in {"OnCanvassPosition", "OnRequestVote"} -> {"active"}
      [] OTHER -> {}

Terms == 0 .. MaxTerm
Positions == 0 .. MaxPosition

\* Orderly(m): the terms of a NewLeadershipTerm follow each other, which is true unless a hazard has
\* occurred. Other messages are well-formed, but there are too many.
Orderly(m) ==
    (m.type = "NewLeadershipTerm" /\ m.nextLeadershipTermId # NULL_VALUE) =>
        IF m.nextLeadershipTermId = m.leadershipTermId
        THEN /\ m.nextTermBaseLogPosition = m.termBaseLogPosition
             /\ m.nextLogPosition \in {NULL_POSITION, m.logPosition}
        ELSE /\ m.nextTermBaseLogPosition <= m.nextLogPosition
             /\ m.nextLogPosition <= m.termBaseLogPosition

\* The NewLeadershipTerms are built part by part, because the set of all their combinations is too
\* large to filter. 1.49 has no commitPosition.
NewLeadershipTerms(from) ==
    UNION {
        {NewLeadershipTerm(logTerm, next[1], next[2], next[3], term, base, position, commit, from) :
            next \in {<<NULL_VALUE, NULL_POSITION, NULL_POSITION>>}
                     \cup {<<term, base, end>> : end \in {NULL_POSITION, position}}
                     \cup {<<logTerm + 1, b, end>> : b \in 0 .. base, end \in 0 .. base},
            commit \in (IF IsRev149 THEN {NULL_POSITION} ELSE 0 .. position)} :
        logTerm \in Terms \cup {NULL_VALUE}, term \in Terms, base \in Positions,
        position \in Positions}

Messages(from) ==
    {m \in NewLeadershipTerms(from) \cup ShortMessageOf(Terms, Positions) :
        WellFormed(from, m) /\ Orderly(m)}

Inbox == UNION {Messages(from) : from \in Peers}

\* LooksInto(s, action): whether the outcome depends on the contents of the message. If not, only
\* the messages of Sample are delivered: they have the greatest terms and positions, which would do
\* the most harm.
LooksInto(s, action) ==
    IF s.moduleState # "ACTIVE" \/ s.electionState = "INIT" THEN FALSE
    ELSE IF action = "OnVote" THEN s.electionState = "CANDIDATE_BALLOT"
    ELSE IF action = "OnNewLeadershipTerm"
    THEN s.electionState \in {"CANVASS", "CANDIDATE_BALLOT", "FOLLOWER_BALLOT", "CLOSED"}
    ELSE action # "OnTerminationAck"

Sample(m) ==
    /\ "logPosition" \in DOMAIN m => m.logPosition = MaxPosition
    /\ "leadershipTermId" \in DOMAIN m => m.leadershipTermId = MaxTerm
    /\ "termBaseLogPosition" \in DOMAIN m => m.termBaseLogPosition = MaxPosition

\* The set of active members matters to a leader that answers a message in its election, and in duty
\* cycles. A slow leader may not be active itself, unless it updates its own record first.
\*
\* Left out: that no member is active when a leader answers a RequestVote. The sender of a
\* CanvassPosition is always active.
RenewsItself == {"LeaderLogReplication", "OnRequestVote"}

ActiveSets(action) ==
    IF IsRev149 THEN {{Self}} \cup (IF action \in MessageActions THEN {{}} ELSE {})
    ELSE IF action \in RenewsItself
    THEN {active \in SUBSET Members : Self \in active \/ (active = {} /\ action \in MessageActions)}
    ELSE SUBSET Members

LooksAtActive(s, action) ==
    /\ LooksInto(s, action) /\ InElection(s) /\ s.role = "LEADER"
    /\ action \in {"OnCanvassPosition", "OnRequestVote"} /\ ~IsRev149

IsActiveAsked(s, action, x) ==
    IF ~LooksAtActive(s, action) THEN x.active = {}
    ELSE IF action = "OnCanvassPosition" THEN x.message.followerMemberId \in x.active
    ELSE x.active # {}

\* A cycle can fail to close an election only where it would close it. For other errors, and for a
\* follower's errors, the other fields of the input have no meaning.
IsFailureAsked(s, x) ==
    LET idle == /\ ~x.interval /\ ~x.commitInterval /\ ~x.timeout
                /\ x.active = IF IsRev149 THEN {Self} ELSE {}
    IN  IF x.position = NULL_POSITION THEN idle
        ELSE ClosingStep(Self, s, x) # {} /\ (idle \/ s.electionState = "LEADER_READY")

\* Asked(s, action, x): this input is tried in this state.
Asked(s, action, x) ==
    /\ action \in MessageActions =>
        /\ LooksInto(s, action) \/ Sample(x.message)
        /\ IsActiveAsked(s, action, x)
    /\ action = "ElectionError" => IsFailureAsked(s, x)

MayNamePosition == {"LeaderReady", "FollowerLogReplication", "ElectionError"}

InputsOf(action) ==
    LET Given(field, values) == IF field \in FieldsReadBy(action) THEN values ELSE {NoInput[field]}
    IN  [message : IF action \in MessageActions THEN {m \in Inbox : ActionOf(m) = action}
                   ELSE {NoMessage},
         interval : Given("interval", BOOLEAN),
         commitInterval : Given("commitInterval", BOOLEAN),
         timeout : Given("timeout", BOOLEAN),
         active : Given("active", ActiveSets(action)),
         accepted : Given("accepted", SUBSET Peers),
         position : Given("position", Positions \cup (IF action \in MayNamePosition THEN {NULL_POSITION} ELSE {})),
         entryPosition : {NULL_POSITION},  \* Entries have length one: no bound lies within one.
         leadershipTermId : Given("leadershipTermId", Terms),
         termBaseLogPosition : Given("termBaseLogPosition", Positions),
         gracefulClosedLeaderId : Given("gracefulClosedLeaderId", Peers \cup {NULL_VALUE})]

Inputs == [action \in Actions |-> InputsOf(action)]

-----------------------------------------------------------------------------
\* The numbering of the peers.
\*
\* No rule of the protocol compares members' ids or prefers one member: members are looked up,
\* counted and sent to. The environment treats peers alike, too. So a renaming of the peers in a
\* state and in all later steps changes only the order in which copies of one message leave for
\* different peers, which no member can observe. Among states that are equal up to a renaming,
\* Representative chooses the one with its peers in the order of PeerKey. PeerKey has all fields of
\* a state about a peer, so peers with equal keys may be exchanged, and the choice is unique.
\*
\* The outcome of a step is printed without a renaming; only the state from which the search
\* continues is replaced by its representative.
KeyBase == Max(MaxTerm, MaxPosition) + 3

PeerKey(s, j) ==
    LET r == s.members[j]
        flags == Bit(r.ballotSent) + 2 * Bit(r.catchupReplay) + 4 * Bit(s.leaderMemberId = j)
                 + 8 * Bit(s.gracefulClosedLeaderId = j) + 16 * (r.vote + 1)
    IN  flags + 48 * ((r.leadershipTermId + 1) + KeyBase * ((r.logPosition + 1)
                      + KeyBase * (r.candidateTermId + 1)))

PlaceOf(place, j) == IF j = NULL_VALUE THEN j ELSE CHOOSE k \in Members : place[k] = j

Renamed(s, place) ==
    [s EXCEPT !.members = [j \in Members |-> s.members[place[j]]],
              !.leaderMemberId = PlaceOf(place, @),
              !.gracefulClosedLeaderId = PlaceOf(place, @)]

Representative(s) ==
    LET key   == TLCEval([j \in Peers |-> PeerKey(s, j)])
        before(j, k) == key[j] < key[k] \/ (key[j] = key[k] /\ j < k)
        place == TLCEval([j \in Members |->
                    IF j = Self THEN Self
                    ELSE CHOOSE k \in Peers : Cardinality({l \in Peers : before(l, k)}) = j - 1])
    IN  IF ~PeersAlike \/ \A j \in Members : place[j] = j THEN s ELSE Renamed(s, place)

\* Steps that leave the bounds. All positions come from inputs, and so do all terms except one:
\* opening a ballot raises the candidate term by one. A step that raises it beyond MaxTerm is an
\* edge of the graph, but its target is not expanded. Neither is a state with an incoherent
\* recording log, which only hazards and a wrong environment cause.
Expanded == MaxSteps = -1 \/ TLCGet("level") <= MaxSteps + 1

WithinBounds(s) ==
    /\ s.candidateTermId <= MaxTerm
    /\ s.persistedCandidateTermId <= MaxTerm
    /\ IsCoherent(s.recordingLog)

Do(action) ==
    \E x \in Inputs[action] : \E o \in Step(Self, member, action, x) :
        /\ Expanded /\ Asked(member, action, x) /\ WithinBounds(o.next)
        /\ member' = Representative(o.next)
        /\ auxStep' = [action |-> action, input |-> x, sends |-> o.sends]

Init == member \in {Representative(s) : s \in Roots} /\ auxStep = <<>>

Next == \E action \in Actions : Do(action)

NextOrRest == Next \/ (auxStep # <<>> /\ UNCHANGED vars)    \* for TLC, no deadlock anywhere
=============================================================================

---------------------------- MODULE MemberGraph -----------------------------
(***************************************************************************)
(* One member in any well-formed environment, within bounds.               *)
(*                                                                         *)
(* At every step the environment chooses an action and an input: any       *)
(* well-formed message of any peer, any facts of clock, transport, archive *)
(* and log.  So every step that a member can make in a cluster is a step   *)
(* here, if it begins in a state that is expanded and its numbers are      *)
(* within the bounds.  Which bytes the log holds, and whether a message    *)
(* was ever sent, is not asked.                                            *)
(*                                                                         *)
(* The states that TLC finds, and the outcomes of all steps of those that  *)
(* it expands, are the member state graph.  MCMemberGraph.tla prints it.   *)
(*                                                                         *)
(* Left out: NewLeadershipTerms that describe terms in disorder (Orderly), *)
(* and all but a few of the messages that a state does not look into       *)
(* (LooksInto); sound because a step that the graph does not have is put   *)
(* to StepOracle.tla.                                                      *)
(*                                                                         *)
(* Start reading at Next.                                                  *)
(***************************************************************************)
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

(***************************************************************************)
(* The states in which the search begins.  A model may have more of them   *)
(* than the first start of all, so that a few steps from there are many    *)
(* steps into a member's life.                                             *)
(***************************************************************************)
Roots == {NewMember}

-----------------------------------------------------------------------------
(***************************************************************************)
(* The state of the member, and the step that led to it.  The step is for  *)
(* the reader of a behaviour: VIEW hides it, so that it does not multiply  *)
(* the states.                                                             *)
(***************************************************************************)
VARIABLES
    member,
    auxStep     \* [action, input, sends]; empty at the start.

vars == <<member, auxStep>>

StateView == member

(***************************************************************************)
(* The inputs.  An action reads the fields of its input that are named     *)
(* here, and, if it bears the name of a message, that message.  What it    *)
(* does not read has the value of NoInput.                                 *)
(***************************************************************************)
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
      [] action \in {"AppendEntry", "RecordLog", "ConsumeLog"} -> {"position"}
      [] action = "OnReplayNewLeadershipTermEvent" -> {"position", "leadershipTermId", "termBaseLogPosition"}
      [] action = "UpdateLeaderPosition" -> {"commitInterval", "active"}
      [] action \in {"OnCanvassPosition", "OnRequestVote"} -> {"active"}
      [] OTHER -> {}

Terms == 0 .. MaxTerm
Positions == 0 .. MaxPosition

(***************************************************************************)
(* Orderly(m): the terms that a NewLeadershipTerm describes follow each    *)
(* other, as they do while no hazard has struck.  Others are well-formed,  *)
(* but they are many.                                                      *)
(***************************************************************************)
Orderly(m) ==
    (m.type = "NewLeadershipTerm" /\ m.nextLeadershipTermId # NULL_VALUE) =>
        IF m.nextLeadershipTermId = m.leadershipTermId
        THEN /\ m.nextTermBaseLogPosition = m.termBaseLogPosition
             /\ m.nextLogPosition \in {NULL_POSITION, m.logPosition}
        ELSE /\ m.nextTermBaseLogPosition <= m.nextLogPosition
             /\ m.nextLogPosition <= m.termBaseLogPosition

(***************************************************************************)
(* The NewLeadershipTerms are built part by part, since the set of all     *)
(* their combinations is too large to be sifted.  commitPosition is what   *)
(* 1.49 does not have.                                                     *)
(***************************************************************************)
NewLeadershipTerms(from) ==
    UNION {
        {NewLeadershipTerm(logTerm, next[1], next[2], next[3], term, base, position, commit, from) :
            next \in {<<NULL_VALUE, NULL_POSITION, NULL_POSITION>>}
                     \cup {<<term, base, end>> : end \in {NULL_POSITION, position}}
                     \cup {<<logTerm + 1, b, end>> : b \in 0 .. base, end \in 0 .. base},
            commit \in (IF Rev149 THEN {NULL_POSITION} ELSE 0 .. position)} :
        logTerm \in Terms \cup {NULL_VALUE}, term \in Terms, base \in Positions,
        position \in Positions}

Messages(from) ==
    {m \in NewLeadershipTerms(from) \cup ShortMessageOf(Terms, Positions) :
        WellFormed(from, m) /\ Orderly(m)}

Inbox == UNION {Messages(from) : from \in Peers}

(***************************************************************************)
(* LooksInto(s, action): whether the outcome of this message depends on    *)
(* what is in it.  If not, only the messages of Sample are delivered: they *)
(* have the greatest terms and positions, which would do the most harm.    *)
(***************************************************************************)
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

(***************************************************************************)
(* Who was heard of lately matters to a leader that answers a message of   *)
(* its election, and in duty cycles.  A leader that has been slow need not *)
(* have heard of itself, where it does not renew its own record first.     *)
(*                                                                         *)
(* Left out: that a leader that answers a RequestVote has heard of nobody. *)
(* The sender of a CanvassPosition has always been heard of.               *)
(***************************************************************************)
RenewsItself == {"LeaderLogReplication", "OnRequestVote"}

ActiveSets(action) ==
    IF Rev149 THEN {{Self}} \cup (IF action \in MessageActions THEN {{}} ELSE {})
    ELSE IF action \in RenewsItself
    THEN {active \in SUBSET Members : Self \in active \/ (active = {} /\ action \in MessageActions)}
    ELSE SUBSET Members

LooksAtActive(s, action) ==
    /\ LooksInto(s, action) /\ InElection(s) /\ s.role = "LEADER"
    /\ action \in {"OnCanvassPosition", "OnRequestVote"} /\ ~Rev149

IsActiveAsked(s, action, x) ==
    IF ~LooksAtActive(s, action) THEN x.active = {}
    ELSE IF action = "OnCanvassPosition" THEN x.message.followerMemberId \in x.active
    ELSE x.active # {}

(***************************************************************************)
(* A cycle fails to close an election only where it would close it; of     *)
(* other errors, and of a follower's, the rest of the input says nothing.  *)
(***************************************************************************)
IsFailureAsked(s, x) ==
    LET idle == /\ ~x.interval /\ ~x.commitInterval /\ ~x.timeout
                /\ x.active = IF Rev149 THEN {Self} ELSE {}
    IN  IF x.position = NULL_POSITION THEN idle
        ELSE ClosingStep(Self, s, x) # {} /\ (idle \/ s.electionState = "LEADER_READY")

(***************************************************************************)
(* Asked(s, action, x): this input is tried in this state.                 *)
(***************************************************************************)
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
         leadershipTermId : Given("leadershipTermId", Terms),
         termBaseLogPosition : Given("termBaseLogPosition", Positions),
         gracefulClosedLeaderId : Given("gracefulClosedLeaderId", Peers \cup {NULL_VALUE})]

Inputs == [action \in Actions |-> InputsOf(action)]

-----------------------------------------------------------------------------
(***************************************************************************)
(* The numbering of the peers.                                             *)
(*                                                                         *)
(* No rule of the protocol compares members' ids or prefers one to         *)
(* another: they are looked up, counted and sent to.  The environment      *)
(* treats peers alike, too.  So renaming the peers in a state and in all   *)
(* that can happen to it changes nothing but the order in which copies of  *)
(* one message leave for different peers, which nobody can see.  Of the    *)
(* states that are equal but for such a renaming, Representative chooses   *)
(* the one that has its peers in the order of PeerKey.  PeerKey holds all  *)
(* that a state says of a peer, so peers with equal keys may be exchanged  *)
(* and the choice is unique.                                               *)
(*                                                                         *)
(* The outcome of a step is printed as it is; only the state from which    *)
(* the search goes on is exchanged for its representative.                 *)
(***************************************************************************)
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

(***************************************************************************)
(* What leaves the bounds.  Positions come from inputs only, and so do all *)
(* terms but one: opening a ballot raises the candidate term by one.  A    *)
(* step that raises it beyond MaxTerm is an edge of the graph, but the     *)
(* state that it leads to is not expanded.  Nor is one in which the        *)
(* recording log has fallen into disorder, which only hazards and a lying  *)
(* environment bring about.                                                *)
(***************************************************************************)
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

Spec == Init /\ [][Next]_vars
=============================================================================

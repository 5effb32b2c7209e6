------------------------------- MODULE MCWalk --------------------------------
(***************************************************************************)
(* Three members at random, from their first start, in any revision: the   *)
(* hazards that random walks find.                                         *)
(*                                                                         *)
(* Each step is drawn: a member and an action.  A member may be cut off    *)
(* for a while: no message from it or to it arrives, and no member hears   *)
(* of it.  Messages that are under way then are late, and messages beyond  *)
(* the capacity are lost.  Members lose their leaders, restart, fail in    *)
(* elections, take snapshots and terminate; leaders hear of any set of     *)
(* members.  Each step is a step of Cluster.tla.  Terms have no bound;     *)
(* leaders write up to MaxPosition.  TLC follows all Walks at once, each   *)
(* with Length steps, as one search.  The draws follow from Seed and the   *)
(* number of the walk (Drawn): a walk is the same on every machine, with   *)
(* every version of TLC.                                                   *)
(*                                                                         *)
(* A walk notes its sightings (Sightings) and prints each once.  A         *)
(* sighting of a hazard is the step that its page in docs/findings         *)
(* describes, whether or not a committed entry is lost later.  "Lost" and  *)
(* "Replaced" are losses of committed entries.  The other sightings are    *)
(* goals: situations that walks must reach, or else finding no hazard      *)
(* would mean nothing.                                                     *)
(*                                                                         *)
(* Rare sightings are searched in stages (Course): goals on the way are    *)
(* noted as well, and the next stage begins where a walk has reached one.  *)
(***************************************************************************)
EXTENDS MCHazard5

CONSTANTS
    Seed,
    Walks,     \* Walks numbered from 1.
    Length,    \* The steps of each.
    Course     \* The common part of all walks, as a sequence of <<walk, until>>: the dice
               \* of that walk are rolled until that step.

VARIABLES
    auxWalk,   \* the number of the walk
    auxStep,   \* how many steps it has
    auxDice,   \* three numbers, from which the next draws are made
    auxCut,    \* the member that is cut off, or -1
    auxSeen    \* the sightings so far

-----------------------------------------------------------------------------
(***************************************************************************)
(* Drawn(k, n): the k-th draw of a step, one of 0 .. n - 1, from the sum   *)
(* of three small generators (Wichmann and Hill, Applied Statistics 31,    *)
(* 1982, algorithm AS 183).  All their numbers fit into TLC's integers.    *)
(***************************************************************************)
MODULI == <<30269, 30307, 30323>>
FACTORS == <<171, 172, 170>>
DRAWS == 9    \* in a step

RECURSIVE Power(_, _)
Power(g, k) == IF k = 0 THEN 1 ELSE (FACTORS[g] * Power(g, k - 1)) % MODULI[g]

Powers == [k \in 0 .. DRAWS |-> [g \in 1 .. 3 |-> Power(g, k)]]

Turned(k) == [g \in 1 .. 3 |-> (auxDice[g] * Powers[k][g]) % MODULI[g]]

Drawn(k, n) == LET d == Turned(k) IN (d[1] + d[2] + d[3]) % n

FirstDice(walk) ==
    [g \in 1 .. 3 |-> 1 + ((walk * (7919 + 512 * g) + Seed * (104729 - 4096 * g)) % (MODULI[g] - 1))]

(***************************************************************************)
(* DrawnFrom(k, set): the k-th draw, an element of a set of members.       *)
(***************************************************************************)
DrawnFrom(k, set) ==
    LET n == Drawn(k, Cardinality(set))
    IN  CHOOSE i \in set : Cardinality({j \in set : j < i}) = n

DrawnSet(k) == LET n == Drawn(k, 2 ^ MemberCount) IN {j \in Members : (n \div (2 ^ j)) % 2 = 1}

-----------------------------------------------------------------------------
(***************************************************************************)
(* The drawn action of member i, with its input and the network without    *)
(* the received message; or nothing.                                       *)
(***************************************************************************)
Nothing == [action |-> "", x |-> NoInput, channel |-> channel]

Try(action, x) == [action |-> action, x |-> x, channel |-> channel]

Apart(i, j) == i # j /\ auxCut \in {i, j}

Waiting(i) == {j \in Members : channel[j][i] # <<>> /\ ~Apart(i, j)}

Hears(i, j, a) ==
    IF j = i THEN Nothing
    ELSE LET m == Head(channel[j][i])
         IN  [action |-> ActionOf(m), x |-> [NoInput EXCEPT !.message = m, !.active = a],
              channel |-> Receive(channel, j, i, 1)]

Logs(i, flip) ==
    LET s == member[i]
    IN  IF flip /\ NextEntry(Now, i) # -1 /\ ~Apart(i, s.leaderMemberId)
        THEN Try("RecordLog", Record1(Now, i))
        ELSE IF s.commitPosition >= Len(log[i]) THEN Nothing
        ELSE Try(IF IsTermEvent(Now, i, s.commitPosition + 1)
                 THEN "OnReplayNewLeadershipTermEvent" ELSE "ConsumeLog", Consume1(Now, i))

Connected(i) ==
    /\ member[i].electionState \in {"FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_LOG_AWAIT"}
           => ~Apart(i, member[i].leaderMemberId)
    /\ IsConnected(i)

Ticks(i, flip, late, a) ==
    LET s == member[i]
        x == [NoInput EXCEPT !.active = a, !.interval = flip, !.timeout = late, !.commitInterval = flip]
        k == s.publicationPosition + 1
    IN  IF s.moduleState # "ACTIVE" THEN Try("Restart", NoInput)
        ELSE IF s.electionState = "CLOSED"
        THEN IF IsTerminating(s) /\ flip THEN Try("Terminate", NoInput)
             ELSE IF s.role # "LEADER" THEN Try("UpdateFollowerPosition", NoInput)
             ELSE IF ~late \/ k > MaxPosition THEN Try("UpdateLeaderPosition", x)
             ELSE Try("AppendEntry", [NoInput EXCEPT !.position = k])
        ELSE IF ~Connected(i) THEN Nothing
        ELSE Try(OwnAction[s.electionState],
                 [x EXCEPT !.accepted = Members \ {i},
                           !.timeout = late /\ (s.role # "LEADER" \/ IsRev149),
                           !.position = IF s.electionState = "LEADER_READY" /\ flip /\ k <= MaxPosition
                                        THEN k ELSE NULL_POSITION])

(***************************************************************************)
(* A member that is cut off loses its leader, and so does a member whose   *)
(* leader is cut off.  Terminations and snapshots are rare.                *)
(***************************************************************************)
LosesLeader(i) ==
    IF member[i].electionState # "CLOSED" THEN Nothing
    ELSE IF auxCut \in {i, member[i].leaderMemberId} THEN Try("EnterElection", NoInput)
    ELSE Nothing

Rarely(i, dice) ==
    CASE dice = 1 -> [Try("Restart", NoInput) EXCEPT !.channel = LoseAllTo(channel, i)]
      [] dice = 2 -> Try("ElectionError", NoInput)
      [] dice = 3 -> Try("EnterElection", NoInput)
      [] dice = 4 -> Try("TakeSnapshot", NoInput)
      [] dice \in {5, 6} -> Try("InitiateTermination", NoInput)
      [] OTHER    -> Nothing

Tried(i, j, roll, dice, flip, late, a) ==
    LET try == IF roll <= 40 THEN Hears(i, j, a)
               ELSE IF roll <= 60 THEN Logs(i, flip)
               ELSE IF roll <= 93 THEN Nothing
               ELSE IF roll <= 97 THEN LosesLeader(i)
               ELSE Rarely(i, dice)
    IN  IF try.action = "" THEN Ticks(i, flip, late, a) ELSE try

-----------------------------------------------------------------------------
(***************************************************************************)
(* Sightings.  Each is about the last step of member i.                    *)
(***************************************************************************)
LastEntryOf(i) == log[i][Len(log[i])]

OpenIn(term) == Cardinality({j \in Members : LastTerm(member[j].recordingLog) >= term})

FollowsOlder(i) ==
    LET s == member'[i]
    IN  /\ s.electionState \in {"FOLLOWER_REPLAY", "FOLLOWER_LOG_REPLICATION"}
        /\ s.electionState # member[i].electionState
        /\ s.leadershipTermId < s.persistedCandidateTermId

CommitsOlder(i) ==
    /\ At(member[i], "LEADER_REPLAY") /\ Len(hist'.committed) > Len(hist.committed)
    /\ OpenIn(member[i].leadershipTermId) < Quorum

LowersLogTerm(i) ==    \* by a replay that ends short, or that an error ends
    /\ At(member'[i], "CANVASS") \/ At(member'[i], "INIT")
    /\ At(member[i], "FOLLOWER_REPLAY")
    /\ member'[i].logLeadershipTermId < LastTerm(member[i].recordingLog)

CutsOwnTerm(i, try) ==
    /\ try.action = "OnNewLeadershipTerm" /\ Len(log'[i]) < Len(log[i])
    /\ LastEntryOf(i) = try.x.message.leadershipTermId

TerminatesLater(i, try) ==
    /\ try.action = "Terminate" /\ member[i].role = "FOLLOWER"
    /\ member[i].terminationLeadershipTermId # member[i].moduleLeadershipTermId

(***************************************************************************)
(* Raft's figure 8: a leader has brought an entry of an older term to a    *)
(* quorum and has not opened its own term there.  Another member, without  *)
(* the entry, has opened a term between the two and would win.             *)
(***************************************************************************)
IsFigure8 ==
    \E i, j \in Members :
        LET s == member'[i]
        IN  /\ s.electionState \in {"LEADER_LOG_REPLICATION", "LEADER_REPLAY", "LEADER_INIT", "LEADER_READY"}
            /\ s.role = "LEADER" /\ log'[i] # <<>> /\ j # i
            /\ LET k == Len(log'[i])
               IN  /\ log'[i][k] < s.leadershipTermId
                   /\ Cardinality({m \in Members : IsPrefix(log'[i], log'[m])}) >= Quorum
                   /\ ~IsPrefix(log'[i], log'[j])
                   /\ LastTerm(member'[j].recordingLog) > log'[i][k]
                   /\ LastTerm(member'[j].recordingLog) < s.leadershipTermId

(***************************************************************************)
(* A leader has a report of another log than its own: hazard HZ1, if the   *)
(* report were counted.                                                    *)
(***************************************************************************)
HoldsOtherReport(i) ==
    LET s == member'[i]
    IN  /\ Closed(s, "LEADER")
        /\ \E j \in Members \ {i} :
              LET p == s.members[j].logPosition
              IN  p > 0 /\ p <= Len(log'[i]) /\ ~IsPrefix(SubSeq(log'[i], 1, p), log'[j])

Sightings(i, try) ==
    {n \in {"HZ1", "HZ2", "HZ3", "HZ5", "HZ6", "HZ7", "HZ8", "HZ9", "Lost", "Replaced",
            "Figure8", "OtherReport", "ThirdTerm", "CommittedInThirdTerm", "CutsLog"} :
        CASE n = "HZ1" -> ~CountedHaveTheLog
          [] n = "HZ2" -> ~RecordedTermIsKnown'
          [] n = "HZ3" -> FollowsOlder(i)
          [] n = "HZ5" -> CommitsOlder(i)
          [] n = "HZ6" -> LowersLogTerm(i)
          [] n = "HZ7" -> ~TermOpenedByQuorum'
          [] n = "HZ8" -> CutsOwnTerm(i, try)
          [] n = "HZ9" -> TerminatesLater(i, try)
          [] n = "Lost" -> ~CommittedIsDurable'
          [] n = "Replaced" -> ~StateMachineSafety'
          [] n = "Figure8" -> IsFigure8
          [] n = "OtherReport" -> HoldsOtherReport(i)
          [] n = "ThirdTerm" -> \E l \in hist'.leaders : l[1] >= 2
          [] n = "CommittedInThirdTerm" -> \E k \in DOMAIN hist'.committed : hist'.committed[k] >= 2
          [] OTHER -> Len(log'[i]) < Len(log[i])}

-----------------------------------------------------------------------------
(***************************************************************************)
(* Goals on the way to a sighting, each harder to reach than the previous  *)
(* ones.                                                                   *)
(*                                                                         *)
(* Towards figure 8: a member has an entry that no quorum has; another     *)
(* member, without it, has opened a later term that no other member has;   *)
(* the first member is a candidate after that; it has won.                 *)
(***************************************************************************)
Goals(i) == {}    \* redefined by configurations

HasMore(i) == log'[i] # <<>> /\ Cardinality({m \in Members : IsPrefix(log'[i], log'[m])}) < Quorum

OpenedApart(i, j) ==
    LET open == [m \in Members |-> LastTerm(member'[m].recordingLog)]
    IN  /\ ~IsPrefix(log'[i], log'[j])
        /\ \A m \in Members : (open[m] > log'[i][Len(log'[i])]) <=> (m = j)

TowardsFigure8(step) ==
    LET more  == {i \in Members : HasMore(i)}
        apart == {p \in more \X Members : OpenedApart(p[1], p[2])}
        bids  == {p \in apart : /\ member'[p[1]].electionState \notin {"CLOSED", "CANVASS", "NOMINATE"}
                                /\ member'[p[1]].role \in {"CANDIDATE", "LEADER"}
                                /\ member'[p[1]].candidateTermId > LastTerm(member'[p[2]].recordingLog)}
    IN  (IF more # {} THEN {"HasMore"} ELSE {})
        \cup (IF apart # {} THEN {"OpenedApart"} ELSE {})
        \cup (IF bids # {} THEN {"IsCandidate"} ELSE {})
        \cup (IF \E p \in bids : member'[p[1]].role = "LEADER" THEN {"Wins"} ELSE {})

(***************************************************************************)
(* Towards HZ6: an entry is committed; a log has entries of two terms; its *)
(* member replays all of them; its replay will end before the base of the  *)
(* last term, or its log term is lowered during the replay.                *)
(***************************************************************************)
TowardsHZ6(step) ==
    LET two     == {i \in Members : \E k \in DOMAIN log'[i] : log'[i][k] # log'[i][1]}
        replays == {i \in two : At(member'[i], "FOLLOWER_REPLAY") /\ member'[i].commitPosition = 0}
        short   == {i \in replays : member'[i].replayStopPosition \in
                       {k \in DOMAIN log'[i] : log'[i][k] < LastTerm(member'[i].recordingLog)}}
        lowered == {i \in two : /\ At(member'[i], "FOLLOWER_REPLAY")
                               /\ member'[i].logLeadershipTermId < LastTerm(member'[i].recordingLog)}
    IN  (IF hist'.committed # <<>> THEN {"Committed"} ELSE {})
        \cup (IF two # {} THEN {"TwoTerms"} ELSE {})
        \cup (IF replays # {} THEN {"ReplaysTwo"} ELSE {})
        \cup (IF short # {} THEN {"ReplaysLess"} ELSE {})
        \cup (IF lowered # {} THEN {"Lowered"} ELSE {})

(***************************************************************************)
(* Towards HZ8: a leader's announcement of its term is under way to a      *)
(* member that has recorded entries of that term; the member canvasses.    *)
(***************************************************************************)
AnnouncedLate(i, j) ==
    \E k \in DOMAIN channel'[j][i] :
        LET m == channel'[j][i][k]
        IN  /\ m.type = "NewLeadershipTerm" /\ m.logLeadershipTermId = m.leadershipTermId
            /\ m.nextTermBaseLogPosition \in 0 .. (Len(log'[i]) - 1)
            /\ log'[i][Len(log'[i])] = m.leadershipTermId

TowardsHZ8(step) ==
    LET late == {i \in Members : \E j \in Members : AnnouncedLate(i, j)}
    IN  (IF late # {} THEN {"AnnouncedLate"} ELSE {})
        \cup (IF \E i \in late : At(member'[i], "CANVASS") THEN {"CanvassesLate"} ELSE {})

(***************************************************************************)
(* Towards HZ9: a member in an election notes a termination; it still has  *)
(* the note as a closed follower of a newer term.                          *)
(***************************************************************************)
TowardsHZ9(step) ==
    LET noted == {i \in Members : /\ member'[i].terminationPosition # NULL_POSITION
                                  /\ member'[i].role = "FOLLOWER"}
        kept  == {i \in noted : member'[i].terminationLeadershipTermId < member'[i].moduleLeadershipTermId}
    IN  (IF \E i \in noted : member'[i].electionState # "CLOSED" THEN {"Noted"} ELSE {})
        \cup (IF \E i \in kept : member'[i].electionState = "CLOSED" THEN {"Kept"} ELSE {})

(***************************************************************************)
(* Walks begin at the first start, or at the end of a script.              *)
(* NearFigure8: before figure 8, when a leader has opened its term and no  *)
(* other member has it (MCHazard5).                                        *)
(***************************************************************************)
Opening(n) == <<>>    \* redefined by configurations

NoCourse == <<>>

NearFigure8(n) == MCBefore(0) \o Wins \o Opens \o Silence

(***************************************************************************)
(* Rolling(step, walk): the walks whose dice may be rolled after that      *)
(* step, if the dice of walk were rolled before.  A course ends in all     *)
(* walks.                                                                  *)
(***************************************************************************)
Rolling(step, walk) ==
    LET ended == {k \in DOMAIN Course : Course[k][2] <= step}
        next  == Cardinality(ended) + 1
    IN  IF next <= Len(Course) THEN {Course[next][1]}
        ELSE IF step = 0 \/ \E k \in ended : Course[k][2] = step THEN 1 .. Walks
        ELSE {walk}

Turns(step) == step = 0 \/ \E k \in DOMAIN Course : Course[k][2] = step

WalkInit ==
    /\ Starts(After(Opening(0)))
    /\ auxWalk \in Rolling(0, 0) /\ auxDice = FirstDice(auxWalk) /\ auxStep = 0 /\ auxCut = -1 /\ auxSeen = {}

(***************************************************************************)
(* Each choice is evaluated once.                                          *)
(***************************************************************************)
WalkNext ==
    /\ auxStep < Length /\ auxStep' = auxStep + 1 /\ auxWalk' \in Rolling(auxStep', auxWalk)
    /\ auxDice' = IF Turns(auxStep') THEN FirstDice(auxWalk') ELSE Turned(DRAWS)
    /\ \E i \in {Drawn(0, MemberCount)}, roll \in {Drawn(1, 100) + 1},
          dice \in {Drawn(2, 12) + 1}, flip \in {Drawn(3, 2) = 1},
          late \in {Drawn(4, 4) = 1}, moves \in {Drawn(5, 80) + 1},
          cut \in {Drawn(6, MemberCount + 2) - 1}, heard \in {DrawnSet(7)} :
       \E j \in {IF Waiting(i) = {} THEN i ELSE DrawnFrom(8, Waiting(i))} :
           LET reach == IF auxCut = i THEN {i} ELSE Members \ {auxCut}
               try   == Tried(i, j, roll, dice, flip, late, IF dice <= 9 THEN reach ELSE heard \cup {i})
               after == IF try.action = "" THEN {}
                        ELSE Taken(Now, i, LAMBDA k, s, y : Step(k, s, try.action, y), try.x, try.channel)
           IN  /\ auxCut' = IF moves = 1 THEN (IF cut = MemberCount THEN -1 ELSE cut) ELSE auxCut
               /\ IF after = {} THEN UNCHANGED <<member, channel, log, hist, auxSeen>>
                  ELSE \E c \in after :
                       /\ Becomes(c)
                       /\ LET new == (Sightings(i, try) \cup Goals(i)) \ auxSeen
                          IN  /\ auxSeen' = auxSeen \cup new
                              /\ \A n \in new : PrintT(<<"sighting", n, auxWalk, auxStep>>)

WalkOrRest ==
    \/ WalkNext
    \/ auxStep = Length /\ UNCHANGED <<vars, auxWalk, auxDice, auxStep, auxCut, auxSeen>>

(***************************************************************************)
(* Courses that a search in stages has found, and the sighting of each as  *)
(* a counterexample.                                                       *)
(***************************************************************************)
CourseToFigure8 == <<<<52, 73>>, <<61, 173>>, <<3, 219>>, <<96, 237>>, <<41, 300>>>>

CourseToHZ6 == <<<<83, 120>>, <<63, 478>>, <<43, 853>>, <<80, 933>>, <<96, 1100>>>>

CourseToHZ6Rev149 == <<<<83, 116>>, <<63, 474>>, <<80, 632>>, <<28, 700>>>>

CourseToHZ8 == <<<<37, 106>>, <<40, 125>>, <<3, 200>>>>

CourseToHZ9 == <<<<16, 235>>, <<28, 384>>, <<15, 500>>>>

CourseToHZ9UpstreamFix == <<<<16, 235>>, <<28, 384>>, <<13, 500>>>>

NotFigure8 == "Figure8" \notin auxSeen
NotHZ6 == "HZ6" \notin auxSeen
NotHZ8 == "HZ8" \notin auxSeen
NotHZ9 == "HZ9" \notin auxSeen
=============================================================================

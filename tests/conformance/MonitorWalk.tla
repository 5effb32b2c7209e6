---------------------------- MODULE MonitorWalk -----------------------------
(***************************************************************************)
(* Random walks through Cluster.tla, in which now and then a member does   *)
(* what it may not do, so that every safety property is broken sometimes.  *)
(*                                                                         *)
(* Of each step is printed: the walk, the member, its action, the part of  *)
(* its state that the safety monitors look at, the vote it sends, whether  *)
(* its recording log is coherent, and which properties hold after it.      *)
(***************************************************************************)
EXTENDS Properties, Encoding, TLC

CONSTANTS Walks, Length, SpoilPercent

VARIABLES walk, step

Nothing == [action |-> "", x |-> NoInput, channel |-> channel]

Act(action, x) == [action |-> action, x |-> x, channel |-> channel]

Heard(x) == [x EXCEPT !.active = Members]

(***************************************************************************)
(* What member i tries, after rolls of the dice.                           *)
(***************************************************************************)
Hears(i, j) ==
    IF channel[j][i] = <<>> THEN Nothing
    ELSE LET m == Head(channel[j][i])
         IN  [action |-> ActionOf(m), x |-> Heard([NoInput EXCEPT !.message = m]),
              channel |-> Receive(channel, j, i, 1)]

Logs(i, flip) ==
    IF flip /\ NextEntry(Now, i) # -1 THEN Act("RecordLog", Record1(Now, i))
    ELSE IF member[i].commitPosition >= Len(log[i]) THEN Nothing
    ELSE Act(IF IsTermEvent(Now, i, member[i].commitPosition + 1)
             THEN "OnReplayNewLeadershipTermEvent" ELSE "ConsumeLog", Consume1(Now, i))

Ticks(i, flip, late) ==
    LET s == member[i]
        x == Heard([NoInput EXCEPT !.interval = flip, !.timeout = late, !.commitInterval = flip])
    IN  IF s.moduleState # "ACTIVE" THEN Act("Restart", NoInput)
        ELSE IF s.electionState = "CLOSED"
        THEN IF s.role # "LEADER" THEN Act("UpdateFollowerPosition", NoInput)
             ELSE IF flip THEN Act("UpdateLeaderPosition", x)
             ELSE Act("AppendEntry", [NoInput EXCEPT !.position = s.publicationPosition + 1])
        ELSE Act(OwnAction[s.electionState],
                 [x EXCEPT !.accepted = Members \ {i},
                           !.timeout = late /\ s.role # "LEADER" /\ s.leaderMemberId = NULL_VALUE,
                           !.position = IF s.electionState = "LEADER_READY" /\ late
                                        THEN s.publicationPosition + 1 ELSE NULL_POSITION])

Rarely(i, j) ==
    CASE j = 0 -> [Act("Restart", NoInput) EXCEPT !.channel = LoseAllTo(channel, i)]
      [] j = 1 -> Act("EnterElection", NoInput)
      [] OTHER -> Act("TakeSnapshot", NoInput)

Tried(i, j, roll, flip, late) ==
    IF roll <= 30 THEN Hears(i, j)
    ELSE IF roll <= 60 THEN Logs(i, flip)
    ELSE IF roll <= 98 THEN Ticks(i, flip, late) ELSE Rarely(i, j)

(***************************************************************************)
(* What a member may not do.                                               *)
(***************************************************************************)
Claim(i, s, term) ==
    LET t == [NewElection(i, s, NULL_VALUE) EXCEPT !.candidateTermId = term,
                                                  !.appendPosition = s.recordedPosition]
    IN  IF s.moduleState # "ACTIVE" \/ <<term, i>> \in hist.leaders THEN s
        ELSE EnterLeaderLogReplication(i, t)

Close(s) ==
    IF s.moduleState = "ACTIVE" /\ s.role = "LEADER" /\ s.electionState # "CLOSED"
    THEN ElectionComplete([s EXCEPT !.publicationPosition = @ + 1]) ELSE s

Follow(s, j) ==
    LET leader == member[j]
    IN  IF ~Closed(leader, "LEADER") \/ leader = s THEN s
        ELSE [s EXCEPT !.moduleState = "ACTIVE", !.role = "FOLLOWER", !.electionState = "CLOSED",
                       !.leaderMemberId = j, !.logSubscription = TRUE,
                       !.publicationPosition = NULL_POSITION,
                       !.moduleLeadershipTermId = leader.moduleLeadershipTermId]

Disordered(rl) == IF rl = <<>> THEN <<TermEntry(1, 2, 1)>> ELSE [rl EXCEPT ![1].logPosition = 77]

(***************************************************************************)
(* No rule says which entries a publisher whose log is cut records next.   *)
(***************************************************************************)
Cut(s) == IF IsPublisher(s) THEN s ELSE [s EXCEPT !.recordedPosition = Max(0, @ - 1)]

(***************************************************************************)
(* CommitMonotonic takes what looks like a restart for one.                *)
(***************************************************************************)
UnlikeRestart(s) == [s EXCEPT !.moduleNotifiedCommitPosition = 77]

Spoilt(i, s, j, kind, term) ==
    CASE kind = 1 -> [s EXCEPT !.commitPosition = @ + 1]
      [] kind = 2 -> UnlikeRestart([s EXCEPT !.commitPosition = Max(0, @ - 1)])
      [] kind = 3 -> [s EXCEPT !.persistedCandidateTermId = Max(-1, @ - 1)]
      [] kind = 4 -> Cut(s)
      [] kind = 5 -> [s EXCEPT !.recordingLog = Disordered(@)]
      [] kind = 6 -> Claim(i, s, term)
      [] kind = 7 -> Close(s)
      [] kind = 8 -> Follow(s, j)
      [] kind = 9 -> [s EXCEPT !.commitPosition = Max(@, s.recordedPosition)]
      [] OTHER    -> s

(***************************************************************************)
(* Each walk has its own vices.                                            *)
(***************************************************************************)
Vices(n) ==
    CASE n % 6 = 0 -> {6, 7, 8}
      [] n % 6 = 1 -> {6, 7, 8, 9}
      [] n % 6 = 2 -> {4, 6, 7, 8}
      [] n % 6 = 3 -> {1, 2, 3, 5, 6, 7, 10}
      [] n % 6 = 4 -> {2, 4, 6, 7, 8, 9}
      [] OTHER     -> {0}

FalseVote(i, j, kind, term) ==
    IF kind = 10 /\ i # j THEN Send(j, Vote(term, NULL_VALUE, 0, j, i, TRUE)) ELSE <<>>

AfterSpoil(i, j, kind, term) ==
    LET s       == Spoilt(i, member[i], j, kind, term)
        entries == LogAfter(Now, i, s)
    IN  [member |-> [member EXCEPT ![i] = s], channel |-> channel,
         log    |-> [log EXCEPT ![i] = entries],
         hist   |-> Remember(hist, i, member[i], s, FalseVote(i, j, kind, term), entries)]

-----------------------------------------------------------------------------
PropertyBits ==
    <<Bit(ElectionSafety'), Bit(OneVotePerTerm'), Bit(CandidateTermRises), Bit(LogMatching'),
      Bit(LeaderCompleteness'), Bit(CommittedIsDurable'), Bit(CommitRises), Bit(CommitBounded'),
      Bit(CutsAboveCommit), Bit(StateMachineSafety'), Bit(RecordingLogCoherent')>>

Seen(s) ==
    <<s.recordedPosition, s.commitPosition, s.publicationPosition, s.appendPosition,
      ModuleStateCode[s.moduleState], RoleCode[s.role], ElectionStateCode[s.electionState],
      s.moduleLeadershipTermId, s.leadershipTermId, s.candidateTermId, s.persistedCandidateTermId,
      s.leaderMemberId>>

NewVote(i, c) ==
    LET votes == {v \in c.hist.votes \ hist.votes : v[3] # i}
    IN  IF votes = {} THEN <<-1, -1>> ELSE LET v == CHOOSE v \in votes : TRUE IN <<v[2], v[3]>>

ActionCode == Codes(ActionTable)

Goto(i, action, c) ==
    /\ member' = c.member /\ channel' = c.channel /\ log' = c.log /\ hist' = c.hist
    /\ PrintT(<<walk, i, ActionCode[action], Seen(c.member[i]), NewVote(i, c),
                Bit(IsCoherent(c.member[i].recordingLog)), PropertyBits>>)

WalkInit ==
    LET c == [Begin EXCEPT !.member = [i \in Members |-> NewMember], !.hist = NoHistory]
    IN  /\ member = c.member /\ channel = c.channel /\ log = c.log /\ hist = c.hist
        /\ walk \in 1 .. Walks /\ step = 0

(***************************************************************************)
(* Each choice is bound once.  The first steps start the members.          *)
(***************************************************************************)
WalkNext ==
    /\ step < Length
    /\ step' = step + 1 /\ walk' = walk
    /\ \E i \in {IF step < MemberCount THEN step ELSE RandomElement(Members)},
          j \in {RandomElement(Members)}, roll \in {RandomElement(1 .. 100)},
          flip \in {RandomElement(BOOLEAN)}, late \in {RandomElement(1 .. 4) = 1},
          spoils \in {step > 5 /\ RandomElement(1 .. 100) <= SpoilPercent},
          kind \in {RandomElement(Vices(walk))}, term \in {RandomElement(0 .. 3)} :
          IF spoils THEN Goto(i, "UpdateFollowerPosition", AfterSpoil(i, j, kind, term))
          ELSE LET try   == IF step < MemberCount THEN Act("Restart", NoInput)
                            ELSE Tried(i, j, roll, flip, late)
                   after == IF try.action = "" THEN {}
                            ELSE Taken(Now, i, LAMBDA k, s, y : Step(k, s, try.action, y),
                                       try.x, try.channel)
               IN  IF after = {} THEN UNCHANGED vars
                   ELSE \E c \in after : Goto(i, try.action, c)
=============================================================================

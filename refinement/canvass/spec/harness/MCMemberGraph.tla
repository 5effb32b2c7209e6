--------------------------- MODULE MCMemberGraph ----------------------------
\* MemberGraph.tla for TLC: the roots of the search, and the printing of the graph.
\*
\* There are too many reachable states, because the possible records of peers multiply the possible
\* disks. So the models of two and three members begin in every state of some typical lives, which
\* together have all election states, and go a few steps from there. With one member the whole graph
\* is small.
EXTENDS MemberGraph

-----------------------------------------------------------------------------
\* A life is a sequence of steps. It ends at a step that is not enabled; the assumption below says
\* that every step of every life is enabled.
Does(action) == <<action, NoInput>>
DoesBy(action, position) == <<action, [NoInput EXCEPT !.position = position]>>
IntervalPasses(action) == <<action, [NoInput EXCEPT !.interval = TRUE]>>
TimesOut(action) == <<action, [NoInput EXCEPT !.timeout = TRUE]>>
Leads(action) == <<action, [NoInput EXCEPT !.active = Members]>>
Opens(position) == [NoInput EXCEPT !.active = Members, !.position = position]
OpensLog(position) == <<"LeaderReady", Opens(position)>>
FailsToClose(position) == <<"ElectionError", Opens(position)>>
CopiesStill(position) ==
    <<"FollowerLogReplication", [NoInput EXCEPT !.interval = TRUE, !.position = position]>>
Receives(m) == <<ActionOf(m), [NoInput EXCEPT !.message = m]>>
Enters(term, base, position) ==
    <<"OnReplayNewLeadershipTermEvent",
      [NoInput EXCEPT !.leadershipTermId = term, !.termBaseLogPosition = base,
                      !.position = position]>>

Commit(position) == IF IsRev149 THEN NULL_POSITION ELSE position

\* Hardened against HZ5 a leader waits until a quorum has opened its term.
OpenedBy(from, term, position) ==
    IF IsHardened("HZ5") THEN <<Receives(AppendPosition(term, position, from, 0))>> ELSE <<>>

\* A leader's life. Elected by all in term 0, it writes two entries, takes a snapshot after the
\* first, and helps a follower to catch up. It loses its followers, and member 1 wins term 1 without
\* the second entry, which is truncated. Then it catches up, follows, terminates and restarts.
LifeOfLeader ==
    <<Does("Restart"),
      Receives(CanvassPosition(NULL_VALUE, 0, NULL_VALUE, 1)),
      Receives(CanvassPosition(NULL_VALUE, 0, NULL_VALUE, 2)),
      IntervalPasses("Canvass"),
      TimesOut("Nominate"),
      <<"CandidateBallot", [NoInput EXCEPT !.accepted = Peers]>>,
      Receives(Vote(0, NULL_VALUE, 0, Self, 1, TRUE)),
      Receives(Vote(0, NULL_VALUE, 0, Self, 2, TRUE)),
      Does("CandidateBallot")>>
    \o OpenedBy(1, 0, 0) \o
    <<Leads("LeaderLogReplication"),
      Leads("LeaderReplay"),
      Does("LeaderInit"),
      Receives(AppendPosition(0, 0, 1, 0)),
      Receives(AppendPosition(0, 0, 2, 0)),
      OpensLog(1),
      DoesBy("RecordLog", 1),
      Receives(AppendPosition(0, 1, 1, 0)),
      Leads("UpdateLeaderPosition"),
      Leads("UpdateLeaderPosition"),
      Does("TakeSnapshot"),
      DoesBy("AppendEntry", 2),
      DoesBy("RecordLog", 2),
      Receives(CatchupPosition(0, 0, 2)),
      Receives(AppendPosition(0, 2, 2, CATCHUP_FLAG)),
      Does("EnterElection"),
      Receives(RequestVote(0, 2, 1, 1)),
      Receives(NewLeadershipTerm(0, 1, 1, NULL_POSITION, 1, 1, 1, Commit(1), 1)),
      Does("ElectionInit"),
      Receives(NewLeadershipTerm(0, 1, 1, NULL_POSITION, 1, 1, 2, Commit(1), 1)),
      Does("FollowerReplay"),
      Does("FollowerCatchupInit"),
      Does("FollowerCatchupAwait"),
      DoesBy("RecordLog", 2),
      Receives(CommitPosition(1, 2, 1)),
      Enters(1, 1, 2),
      IntervalPasses("FollowerCatchup"),
      Receives(StopCatchup(1, Self)),
      IntervalPasses("FollowerCatchup"),
      Does("FollowerLogInit"),
      Does("FollowerReady"),
      DoesBy("RecordLog", 3),
      Receives(CommitPosition(1, 3, 1)),
      DoesBy("ConsumeLog", 3),
      Does("UpdateFollowerPosition"),
      Receives(TerminationPosition(1, 3)),
      Does("Terminate"),
      Does("Restart")>>

\* A follower's life: new to the cluster in term 1, it copies term 0 from the leader's archive,
\* replays it and joins the live log.
LifeOfFollower ==
    <<Does("Restart"),
      Receives(NewLeadershipTerm(NULL_VALUE, 0, 0, 1, 1, 1, 1, Commit(0), 1)),
      Does("FollowerLogReplication"),
      DoesBy("RecordLog", 1),
      Receives(CommitPosition(1, 1, 1)),
      CopiesStill(1),
      IntervalPasses("FollowerLogReplication"),
      Receives(NewLeadershipTerm(0, 1, 1, NULL_POSITION, 1, 1, 1, Commit(1), 1)),
      Does("FollowerReplay"),
      Enters(0, 0, 1),
      Does("FollowerReplay"),
      Does("FollowerLogInit"),
      Does("FollowerLogAwait"),
      Does("FollowerReady")>>

\* A new leader's life. It follows member 1 in term 0 until that member closes gracefully, with one
\* entry that is not known to be committed. Member 2 has a shorter log, votes for it, and must copy
\* the rest before it may lead. In another life its election fails when the first entry of its term
\* is written.
JoinsNewTerm ==
    <<Does("Restart"),
      Receives(NewLeadershipTerm(NULL_VALUE, 0, 0, NULL_POSITION, 0, 0, 0, Commit(0), 1)),
      Does("FollowerReplay"),
      Does("FollowerLogInit"),
      Does("FollowerLogAwait"),
      Does("FollowerReady"),
      DoesBy("RecordLog", 1),
      Receives(CommitPosition(0, 1, 1)),
      Enters(0, 0, 1)>>

LosesLeader == <<"EnterElection", [NoInput EXCEPT !.gracefulClosedLeaderId = 1]>>

WinsNewTerm ==
    JoinsNewTerm \o
    <<DoesBy("RecordLog", 2),
      LosesLeader,
      Receives(CanvassPosition(0, 1, 0, 2)),
      IntervalPasses("Canvass"),
      TimesOut("Nominate"),
      <<"CandidateBallot", [NoInput EXCEPT !.accepted = {2}]>>,
      Receives(Vote(1, 0, 1, Self, 2, TRUE)),
      Does("CandidateBallot"),
      Leads("LeaderLogReplication"),
      Receives(AppendPosition(1, 2, 2, 0)),
      Leads("LeaderLogReplication"),
      Leads("LeaderReplay"),
      DoesBy("ConsumeLog", 2),
      Leads("LeaderReplay"),
      Does("LeaderInit"),
      Receives(AppendPosition(1, 2, 2, 0))>>

LifeOfSuccessor == WinsNewTerm \o <<OpensLog(3)>>

LifeOfFailed ==
    WinsNewTerm \o
    <<FailsToClose(3),
      DoesBy("RecordLog", 3),
      Does("ElectionInit")>>

\* Two hopeful lives. The member begins to catch up in the first term and runs for election before
\* that term is in its recording log: after a restart, when it has forgotten the term and its
\* recording, or after an error, when it has not.
BeginsToCatchUp ==
    <<Does("Restart"),
      Receives(NewLeadershipTerm(NULL_VALUE, 0, 0, NULL_POSITION, 0, 0, 2, Commit(1), 1)),
      Does("FollowerReplay"),
      Does("FollowerCatchupInit"),
      Does("FollowerCatchupAwait"),
      DoesBy("RecordLog", 1)>>

Stands(logTerm, term) ==
    <<Receives(CanvassPosition(logTerm, 0, logTerm, 1)),
      TimesOut("Canvass"),
      TimesOut("Nominate"),
      <<"CandidateBallot", [NoInput EXCEPT !.accepted = {1}]>>,
      Receives(Vote(term, logTerm, 0, Self, 1, TRUE)),
      TimesOut("CandidateBallot")>>

LifeOfForgetful == BeginsToCatchUp \o <<Does("Restart")>> \o Stands(NULL_VALUE, 0)

LifeOfInterrupted ==
    BeginsToCatchUp \o <<Does("ElectionError"), Does("ElectionInit")>> \o Stands(NULL_VALUE, 1)

\* A leader of the second ballot: the first ballot fails, so no log ever has term 0.
HearsBoth ==
    <<Receives(CanvassPosition(NULL_VALUE, 0, NULL_VALUE, 1)),
      Receives(CanvassPosition(NULL_VALUE, 0, NULL_VALUE, 2)),
      IntervalPasses("Canvass"),
      TimesOut("Nominate"),
      <<"CandidateBallot", [NoInput EXCEPT !.accepted = Peers]>> >>

LifeOfPersistent ==
    <<Does("Restart")>> \o HearsBoth \o
    <<Receives(Vote(0, NULL_VALUE, 0, Self, 1, TRUE)),
      Receives(Vote(0, NULL_VALUE, 0, Self, 2, FALSE)),
      TimesOut("CandidateBallot")>>
    \o HearsBoth \o
    <<Receives(Vote(1, NULL_VALUE, 0, Self, 1, TRUE)),
      TimesOut("CandidateBallot")>>
    \o OpenedBy(1, 1, 0) \o
    <<Leads("LeaderLogReplication"),
      Leads("LeaderReplay"),
      Does("LeaderInit"),
      Receives(AppendPosition(1, 0, 1, 0)),
      OpensLog(1)>>

\* An unlucky life: the member wins the ballot and fails at once.
LifeOfUnlucky ==
    <<Does("Restart")>> \o HearsBoth \o
    <<Receives(Vote(0, NULL_VALUE, 0, Self, 1, TRUE)),
      TimesOut("CandidateBallot"),
      Does("ElectionError"),
      Does("ElectionInit")>>

\* A stray life: the member follows member 2 into term 1 though its log is longer than the base of
\* that term: the leader's recording log disagrees with its log (hazards HZ2 and HZ6).
LifeOfStray ==
    JoinsNewTerm \o
    <<DoesBy("RecordLog", 2),
      Does("EnterElection"),
      Receives(NewLeadershipTerm(0, 1, 2, NULL_POSITION, 1, 1, 3, Commit(2), 2)),
      Does("FollowerReplay"),
      DoesBy("ConsumeLog", 2),
      Does("FollowerReplay"),
      Does("FollowerCatchupInit"),
      Does("FollowerCatchupAwait")>>

\* A latecomer's life: it has caught up to the end that the leader's log had when the catch-up
\* began, and may hear of more before it leaves the catch-up.
LifeOfLatecomer ==
    <<Does("Restart"),
      Receives(NewLeadershipTerm(NULL_VALUE, 0, 0, NULL_POSITION, 0, 0, 1, Commit(0), 1)),
      Does("FollowerReplay"),
      Does("FollowerCatchupInit"),
      Does("FollowerCatchupAwait"),
      DoesBy("RecordLog", 1),
      Receives(CommitPosition(0, 1, 1)),
      Enters(0, 0, 1),
      Receives(StopCatchup(0, Self))>>

\* A life in which a termination request survives its term: no member waits for the acknowledgement
\* any more.
LifeOfReminded ==
    JoinsNewTerm \o
    <<Receives(TerminationPosition(0, 1)),
      Does("EnterElection"),
      Receives(NewLeadershipTerm(0, 1, 1, NULL_POSITION, 1, 1, 1, Commit(1), 2)),
      Does("FollowerReplay"),
      Does("FollowerLogInit"),
      Does("FollowerLogAwait"),
      Does("FollowerReady")>>

\* A life in which the leader's archive is lost while a term is copied from it: the copy is short
\* (hazard HZ10).
CopiesShort ==
    <<Does("Restart"),
      Receives(NewLeadershipTerm(NULL_VALUE, 0, 0, 2, 1, 2, 2, Commit(1), 1)),
      Does("FollowerLogReplication"),
      DoesBy("RecordLog", 1),
      Receives(CommitPosition(1, 1, 1)),
      DoesBy("FollowerLogReplication", 1)>>

LifeOfShortCopy == CopiesShort \o <<Does("Restart")>>

\* A hasty life: the live log is recorded before the member joins it, and then the election fails
\* (hazard HZ2).
LifeOfHasty ==
    IF IsHardened("HZ2") THEN <<>>
    ELSE JoinsNewTerm \o
         <<Does("EnterElection"),
           Receives(NewLeadershipTerm(0, 1, 1, NULL_POSITION, 1, 1, 1, Commit(1), 2)),
           Does("FollowerReplay"),
           Does("FollowerLogInit"),
           DoesBy("RecordLog", 2),
           Does("ElectionError"),
           Does("ElectionInit")>>

\* A life in a cluster of two, whose leader closes gracefully.
LifeOfOther ==
    JoinsNewTerm \o
    <<LosesLeader,
      Receives(AppendPosition(0, 1, 1, 0)),
      TimesOut("Canvass"),
      TimesOut("Nominate"),
      <<"CandidateBallot", [NoInput EXCEPT !.accepted = {1}]>>,
      Receives(Vote(1, 0, 1, Self, 1, TRUE)),
      TimesOut("CandidateBallot")>>
    \o OpenedBy(1, 1, 1) \o
    <<Leads("LeaderLogReplication"),
      Leads("LeaderReplay"),
      Does("LeaderInit"),
      Receives(AppendPosition(1, 1, 1, 0)),
      OpensLog(2)>>

\* Lives of three terms, for models whose bounds allow them: there terms may differ by more than
\* one, and a log may have more terms than a message describes.
\*
\* A veteran's life: it follows member 1 in term 0, member 2 in term 1, and leads term 2.
LifeOfVeteran ==
    JoinsNewTerm \o
    <<Does("EnterElection"),
      Receives(NewLeadershipTerm(0, 1, 1, NULL_POSITION, 1, 1, 1, Commit(1), 2)),
      Does("FollowerReplay"),
      Does("FollowerLogInit"),
      Does("FollowerLogAwait"),
      Does("FollowerReady"),
      DoesBy("RecordLog", 2),
      Receives(CommitPosition(1, 2, 2)),
      Enters(1, 1, 2),
      <<"EnterElection", [NoInput EXCEPT !.gracefulClosedLeaderId = 2]>>,
      Receives(CanvassPosition(1, 2, 1, 1)),
      IntervalPasses("Canvass"),
      TimesOut("Nominate"),
      <<"CandidateBallot", [NoInput EXCEPT !.accepted = {1}]>>,
      Receives(Vote(2, 1, 2, Self, 1, TRUE)),
      Does("CandidateBallot")>>
    \o OpenedBy(1, 2, 2) \o
    <<Leads("LeaderLogReplication"),
      Leads("LeaderReplay"),
      Does("LeaderInit"),
      Receives(AppendPosition(2, 2, 1, 0)),
      OpensLog(3),
      DoesBy("RecordLog", 3),
      Receives(AppendPosition(2, 3, 1, 0)),
      Leads("UpdateLeaderPosition"),
      Leads("UpdateLeaderPosition"),
      Receives(CanvassPosition(0, 1, 0, 2)),
      Receives(CatchupPosition(2, 1, 2))>>

\* A sleeper's life: new to the cluster in term 2, it copies terms 0 and 1 one after the other
\* before it joins.
LifeOfSleeper ==
    <<Does("Restart"),
      Receives(NewLeadershipTerm(NULL_VALUE, 0, 0, 1, 2, 2, 2, Commit(0), 1)),
      Does("FollowerLogReplication"),
      DoesBy("RecordLog", 1),
      Receives(CommitPosition(2, 1, 1)),
      IntervalPasses("FollowerLogReplication"),
      Receives(NewLeadershipTerm(0, 1, 1, 2, 2, 2, 2, Commit(1), 1)),
      Does("FollowerLogReplication"),
      DoesBy("RecordLog", 2),
      Receives(CommitPosition(2, 2, 1)),
      IntervalPasses("FollowerLogReplication"),
      Receives(NewLeadershipTerm(1, 2, 2, NULL_POSITION, 2, 2, 2, Commit(2), 1)),
      Does("FollowerReplay"),
      Enters(0, 0, 1),
      Enters(1, 1, 2),
      Does("FollowerReplay"),
      Does("FollowerLogInit"),
      Does("FollowerLogAwait"),
      Does("FollowerReady")>>

\* A skipper's life: nobody won term 1, so its log has term 2 directly after term 0; it catches up
\* in term 2 and starts again.
LifeOfSkipper ==
    JoinsNewTerm \o
    <<Does("EnterElection"),
      Receives(NewLeadershipTerm(0, 2, 1, NULL_POSITION, 2, 1, 2, Commit(1), 2)),
      Does("FollowerReplay"),
      Does("FollowerCatchupInit"),
      Does("FollowerCatchupAwait"),
      DoesBy("RecordLog", 2),
      Receives(CommitPosition(2, 2, 2)),
      Enters(2, 1, 2),
      Receives(StopCatchup(2, Self)),
      IntervalPasses("FollowerCatchup"),
      Does("FollowerLogInit"),
      Does("FollowerReady"),
      Does("Restart")>>

\* A stubborn member's life: it refuses a candidate of term 1 with a shorter log, which uses that
\* term up, and wins term 2 on top of term 0.
LifeOfStubborn ==
    JoinsNewTerm \o
    <<Does("EnterElection"),
      Receives(RequestVote(NULL_VALUE, 0, 1, 2)),
      Receives(CanvassPosition(0, 1, 0, 1)),
      Receives(CanvassPosition(NULL_VALUE, 0, NULL_VALUE, 2)),
      IntervalPasses("Canvass"),
      TimesOut("Nominate"),
      <<"CandidateBallot", [NoInput EXCEPT !.accepted = Peers]>>,
      Receives(Vote(2, 0, 1, Self, 1, TRUE)),
      TimesOut("CandidateBallot")>>
    \o OpenedBy(1, 2, 1) \o
    <<Leads("LeaderLogReplication"),
      Leads("LeaderReplay"),
      Does("LeaderInit"),
      Receives(AppendPosition(2, 1, 1, 0)),
      OpensLog(2)>>

\* A misled member's life: its copy of term 0 was short, and it wins term 2 on top of that.
LifeOfMisled ==
    CopiesShort \o
    <<Receives(CanvassPosition(0, 1, 0, 2)),
      TimesOut("Canvass"),
      TimesOut("Nominate"),
      <<"CandidateBallot", [NoInput EXCEPT !.accepted = {2}]>>,
      Receives(Vote(2, 0, 1, Self, 2, TRUE)),
      TimesOut("CandidateBallot")>>
    \o OpenedBy(2, 2, 1) \o
    <<Leads("LeaderLogReplication"),
      Leads("LeaderReplay"),
      Enters(0, 0, 1),
      Leads("LeaderReplay"),
      Does("LeaderInit"),
      Receives(AppendPosition(2, 1, 2, 0)),
      OpensLog(2),
      Receives(CanvassPosition(0, 2, 0, 1))>>

\* A leader's life in a cluster of five. Member 4 is always silent, and the votes of members 1 and 2
\* make a quorum when the ballot ends. Two followers have the first entry, and one has the second.
LifeOfLeaderOfFive ==
    <<Does("Restart"),
      Receives(CanvassPosition(NULL_VALUE, 0, NULL_VALUE, 1)),
      Receives(CanvassPosition(NULL_VALUE, 0, NULL_VALUE, 2)),
      Receives(CanvassPosition(NULL_VALUE, 0, NULL_VALUE, 3)),
      TimesOut("Canvass"),
      TimesOut("Nominate"),
      <<"CandidateBallot", [NoInput EXCEPT !.accepted = Peers]>>,
      Receives(Vote(0, NULL_VALUE, 0, Self, 1, TRUE)),
      Receives(Vote(0, NULL_VALUE, 0, Self, 2, TRUE)),
      TimesOut("CandidateBallot"),
      Leads("LeaderLogReplication"),
      Leads("LeaderReplay"),
      Does("LeaderInit"),
      Receives(AppendPosition(0, 0, 1, 0)),
      Receives(AppendPosition(0, 0, 2, 0)),
      OpensLog(1),
      DoesBy("RecordLog", 1),
      Receives(AppendPosition(0, 1, 1, 0)),
      Receives(AppendPosition(0, 1, 2, 0)),
      Leads("UpdateLeaderPosition"),
      Leads("UpdateLeaderPosition"),
      DoesBy("AppendEntry", 2),
      DoesBy("RecordLog", 2),
      Receives(AppendPosition(0, 2, 1, 0)),
      Leads("UpdateLeaderPosition"),
      Receives(CatchupPosition(0, 0, 3)),
      Does("EnterElection")>>

LongLives == {LifeOfVeteran, LifeOfSleeper, LifeOfSkipper, LifeOfStubborn, LifeOfMisled}

Lives ==
    IF MemberCount = 2 THEN {LifeOfOther}
    ELSE IF MemberCount = 5 THEN {LifeOfLeaderOfFive, LifeOfFollower}
    ELSE {LifeOfLeader, LifeOfFollower, LifeOfSuccessor, LifeOfFailed, LifeOfForgetful,
          LifeOfInterrupted, LifeOfPersistent, LifeOfUnlucky, LifeOfStray, LifeOfLatecomer, LifeOfReminded,
          LifeOfShortCopy, LifeOfHasty}

RECURSIVE StatesOf(_, _)
StatesOf(s, life) ==
    IF life = <<>> THEN {s}
    ELSE {s} \cup UNION {StatesOf(o.next, Tail(life)) :
                            o \in Step(Self, s, life[1][1], life[1][2])}

RECURSIVE IsLived(_, _)
IsLived(s, life) ==
    IF life = <<>> THEN TRUE
    ELSE LET outcomes == Step(Self, s, life[1][1], life[1][2])
         IN  IF outcomes = {} THEN Assert(FALSE, <<"a life ends early", life[1], s>>)
             ELSE \A o \in outcomes : IsLived(o.next, Tail(life))

LivedRoots == UNION {StatesOf(NewMember, life) : life \in Lives}

ASSUME MemberCount \in {2, 3, 5} => \A life \in Lives : IsLived(NewMember, life)

LongLivedRoots == LivedRoots \cup UNION {StatesOf(NewMember, life) : life \in LongLives}

ASSUME MemberCount = 3 /\ MaxTerm >= 2 => \A life \in LongLives : IsLived(NewMember, life)

-----------------------------------------------------------------------------
\* The assumption about the environment is discharged: a member that receives well-formed messages
\* sends well-formed messages. TLC stops at a step that breaks it, in the model (an action
\* constraint) and when it prints.
AreWellFormed(sends) ==
    \A k \in DOMAIN sends :
        IF sends[k].to \in Peers /\ WellFormed(Self, sends[k].message) THEN TRUE
        ELSE Assert(FALSE, <<"not well-formed", sends[k], "sent by", member>>)

SendsAreWellFormed == AreWellFormed(auxStep'.sends)

-----------------------------------------------------------------------------
\* Printing. Each line is a string with one tuple of integers, and one write to the output. TLC
\* would break a tuple over many lines. Input k of action a is the k-th entry of InputTable.
\*
\*   <<0, a, k, input>>     an input
\*   <<1, state>>           a state that is expanded; what follows is of
\*                          this state, up to the next line of this kind
\*   <<2, a, r0, r1, ...>>  the results of the action's inputs in turn:
\*                          0 not enabled, 1 nothing changes and nothing
\*                          is sent, 2 an outcome, 3 not asked
\*   <<3, a>>               no input of this action is enabled
\*   <<4, k, state, sends>> the outcome of input k of the line of kind 2
\*                          before
\*
\* Use one worker: the lines of two would mix.
PrintLine(tuple) == PrintT(ToString(tuple))

RECURSIVE SequenceOf(_)
SequenceOf(set) ==
    IF set = {} THEN <<>>
    ELSE LET x == CHOOSE x \in set : TRUE IN <<x>> \o SequenceOf(set \ {x})

InputTable == [a \in DOMAIN ActionTable |-> SequenceOf(Inputs[ActionTable[a]])]

\* TLC evaluates an operator at each use, except values that are kept in its registers.
TABLE == 1

ASSUME
    /\ TLCSet(TABLE, TLCEval(InputTable))
    /\ \A a \in DOMAIN ActionTable : \A k \in DOMAIN TLCGet(TABLE)[a] :
        PrintLine(<<0, a - 1, k - 1, EncodeInput(TLCGet(TABLE)[a][k])>>)

NOT_ENABLED == 0
NO_CHANGE == 1
CHANGE == 2
NOT_ASKED == 3

\* The result of one input: its kind, and the outcome if there is one.
ResultOf(action, x) ==
    IF ~Asked(member, action, x) THEN <<NOT_ASKED>>
    ELSE LET outcomes == Step(Self, member, action, x)
         IN  IF outcomes = {} THEN <<NOT_ENABLED>>
             ELSE LET o == CHOOSE o \in outcomes : TRUE
                  IN  IF o.next = member /\ o.sends = <<>> THEN <<NO_CHANGE>> ELSE <<CHANGE, o>>

ResultsOf(a) ==
    [k \in DOMAIN TLCGet(TABLE)[a] |-> TLCEval(ResultOf(ActionTable[a], TLCGet(TABLE)[a][k]))]

PrintResults(a, results) ==
    IF \A k \in DOMAIN results : results[k][1] = NOT_ENABLED THEN PrintLine(<<3, a - 1>>)
    ELSE /\ PrintLine(<<2, a - 1, [k \in DOMAIN results |-> results[k][1]]>>)
         /\ \A k \in DOMAIN results :
                results[k][1] = CHANGE =>
                    /\ AreWellFormed(results[k][2].sends)
                    /\ PrintLine(<<4, k - 1, EncodeState(results[k][2].next),
                                   EncodeSends(results[k][2].sends)>>)

\* Next with printing; it leads to the same states. The inputs of each action are tried once. The
\* quantifiers over sets of one element make TLC evaluate an expression once; it would evaluate a
\* LET in an action at each use.
PrintingNext ==
    /\ Expanded
    /\ PrintLine(<<1, EncodeState(member)>>)
    /\ \E a \in DOMAIN ActionTable : \E results \in {TLCEval(ResultsOf(a))} :
        /\ PrintResults(a, results)
        /\ \E next \in {results[k][2].next :
                            k \in {k \in DOMAIN results : results[k][1] = CHANGE}} :
            /\ WithinBounds(next)
            /\ member' = Representative(next)
            /\ auxStep' = <<>>

=============================================================================

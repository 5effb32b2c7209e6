--------------------------- MODULE MCTwoElections ---------------------------
\* Two elections with crashes and all hardenings: all safety properties, and refinement of
\* AbstractLog.tla.
\*
\* The first election is a script (FirstLeadership; MCElection.tla explores elections of equal
\* logs): member 0 leads term 0, the others are closed followers, and it has written the first entry
\* of the term, which no member has recorded. If Start is "lost", members 1 and 2 have lost it
\* since. If Start is "won", the second election is a script, too (SecondLeadership): members 0 and
\* 2 have recorded the entry, members 1 and 2 have lost member 0, and member 2 has won term 1 with
\* the vote of member 1.
\*
\* From there everything is explored: recording, reports and commits; members of Impatient lose
\* their leader at any time and as often as they like, and return to it; members of Candidates run
\* for election in term 1; up to MaxFaults times a member of Fragile crashes, at any point, and
\* restarts; the old leader continues or learns of the new one; the new one opens its term and
\* writes its first entry, which is committed and applied. With ClientEntries leaders write further
\* entries, up to MaxPosition in all.
\*
\* MCTwoTerms and MCTwoTermsFailing begin at the first start. At any step the leaders of MCTwoTerms
\* hear of any members (MovingSets), as in MCTwoElectionsMoving. In MCTwoTermsFailing, in place of a
\* crash, the election of a member fails in LEADER_READY or FOLLOWER_READY, also in the cycle that
\* would close it (TEBoundError).
\*
\* Each step is a step of Cluster.tla within the bounds of the configuration, followed by the loss
\* of messages; point 4 names the only exception. MCStepsOfCluster checks this. No check shows that
\* nothing of Cluster is missed. The argument for that is below: each bound of the search, with the
\* reason why the properties lose nothing by it, or with the behaviours that it leaves out.
\*
\* 1. Messages without effect are not sent. A message that its receiver would ignore if it arrived
\* at once is dropped (Matters), and so is a step of a leader that changes nothing. Periodic
\* messages repeat, so a message that matters later can be sent later. This leaves out a message
\* that had no effect when it was sent, has one when it arrives, and is not repeated by its sender.
\*
\* 2. At most MaxUnderWay messages are under way at once, any ones that fit; the others are lost. If
\* a step sends two messages to one member, either may be kept. Any message may be lost anyway. This
\* leaves out behaviours that need more messages at once: with one, no message is so slow that
\* others are sent and arrive in the meantime; with two, one may be. HZ3 and HZ8 need a slow
\* message.
\*
\* 3. Local steps come first (TEUrgent), except FOLLOWER_READY while an election may fail there. A
\* local step reads and changes only the member's own state, or reads only whether its leader leads.
\* Its messages can also be sent earlier or later: UpdateFollowerPosition repeats the report of
\* FOLLOWER_READY, and a leader repeats the messages of LEADER_REPLAY in LEADER_READY. A message
\* that could arrive in between has the same effect before or after, or is ignored, like a lost one.
\* A crash in between finds the same disk as a crash before or after: when a local step opens a
\* term, the archive has recorded nothing of it yet. Local steps consume the log earlier, so a lost
\* committed entry, or two different entries, are found earlier. A nomination deadline passes at
\* once: a member that votes or canvasses in NOMINATE does the same in CANVASS.
\*
\* 4. A ballot request goes to one member at a time. A leader announces itself or sends its commit
\* position, not both in one step: two steps do the same. A leader hears of ActiveSets. A member
\* that may not run for election continues to canvass instead. In Cluster it would send the same in
\* NOMINATE, but would not be in CANVASS when messages arrive: this is more than the protocol
\* allows, and not less.
\*
\* 5. Left out by choice: errors other than crashes, lost leaders, truncations and the ones of
\* TEBoundError; graceful closes; snapshots; terminations.
EXTENDS MCRefinement

CONSTANTS
    Start,          \* "first", "led", "lost" or "won"
    ClientEntries,  \* do leaders write more than the first entries of their terms?
    MaxFaults,      \* at most so many crashes and failed elections
    MaxUnderWay

VARIABLE
    auxFaults       \* how often a member has crashed, or an election failed

-----------------------------------------------------------------------------
\* The network: the messages of a step that get under way.
Matters(i, send) ==
    LET j == send.to
        x == [NoInput EXCEPT !.message = send.message, !.active = Members]
    IN  j # i /\ OnMessage(j, member[j], x) # Ignore(member[j])

HasRoom(ch, i, j) ==    \* no message of the present process of member i is under way to j
    IF ch[i][j] = <<>> THEN TRUE ELSE ch[i][j][Len(ch[i][j])] = PROCESS_END

Fitting(ch, i, sends) ==
    {k \in DOMAIN sends : HasRoom(ch, i, sends[k].to) /\ Matters(i, sends[k])}

RECURSIVE Sent(_, _, _, _)
Sent(ch, i, sends, kept) ==
    IF kept = {} THEN ch
    ELSE LET k == CHOOSE k \in kept : TRUE
         IN  Sent([ch EXCEPT ![i][sends[k].to] = Append(@, sends[k].message)], i, sends, kept \ {k})

Transmissions(ch, i, sends) ==
    IF sends = <<>> THEN {ch}
    ELSE LET fitting == Fitting(ch, i, sends)
             number  == Min(Cardinality(fitting), MaxUnderWay - InFlight(ch))
             choices == {kept \in SUBSET fitting :
                            /\ Cardinality(kept) = number
                            /\ \A a, b \in kept : a # b => sends[a].to # sends[b].to}
         IN  {Sent(ch, i, sends, kept) : kept \in choices}

-----------------------------------------------------------------------------
\* Local steps, which come first.
Consumes(i) == member[i].commitPosition < Min(ConsumeBound(member[i]), Len(log[i]))

Replays(s) ==
    \/ s.replayStopPosition # NULL_POSITION
    \/ s.commitPosition >= s.appendPosition
    \/ s.notifiedCommitPosition >= s.appendPosition

Notes(i) ==    \* the next step of a closed leader only notes its own position
    LET s == member[i]
    IN  /\ s.members[i].logPosition # s.recordedPosition
        /\ \A o \in UpdateLeaderPosition(i, s, [NoInput EXCEPT !.active = Members]) : o.sends = <<>>

TEUrgent(i) ==
    LET s == member[i]
    IN  CASE s.electionState = "CLOSED" -> IF s.role = "FOLLOWER" THEN Consumes(i) ELSE Notes(i)
          [] s.electionState \in {"INIT", "NOMINATE", "LEADER_REPLAY", "LEADER_INIT",
                                  "FOLLOWER_LOG_INIT"} -> TRUE
          [] s.electionState = "FOLLOWER_READY" -> ~BoundError(i)
          [] s.electionState = "FOLLOWER_REPLAY" -> Replays(s)
          [] s.electionState = "FOLLOWER_LOG_REPLICATION" -> ~s.logReplication
          [] s.electionState \in {"FOLLOWER_LOG_AWAIT", "FOLLOWER_CATCHUP_AWAIT"} -> IsConnected(i)
          [] s.electionState = "FOLLOWER_CATCHUP" -> Consumes(i)
          [] OTHER -> FALSE

-----------------------------------------------------------------------------
\* Steps.
TakeReduced(i, A(_, _, _), x, ch) ==
    /\ MayAct(i)
    /\ \E o \in A(i, member[i], x) :
        LET entries == LogAfter(Now, i, o.next)
        IN  /\ member' = [member EXCEPT ![i] = o.next]
            /\ \E c \in Transmissions(ch, i, o.sends) : channel' = c
            /\ log' = [log EXCEPT ![i] = entries]
            /\ hist' = Remember(hist, i, member[i], o.next, o.sends, entries)

TETake(i, A(_, _, _), x, ch) == TakeReduced(i, A, x, ch) /\ UNCHANGED auxFaults

TEFail(i, A(_, _, _), x, ch) == TakeReduced(i, A, x, ch) /\ auxFaults' = auxFaults + 1

TEBoundRecord(i) == ~Urgent(i)

TETakeCanvass(i) ==
    /\ At(member[i], "CANVASS")
    /\ IF BoundTerm(i, member[i].candidateTermId + 1)
       THEN \E x \in IntervalOrTimeout(i) : Tick(i, Canvass, x)
       ELSE /\ MayAct(i)
            /\ \E c \in Transmissions(channel, i, PublishCanvassPosition(i, member[i])) :
                  channel' = c
            /\ UNCHANGED <<member, log, hist, auxFaults>>

TETakeUpdateLeaderPosition(i) ==
    /\ Closed(member[i], "LEADER")
    /\ \E a \in ActiveSets(i) :
           Tick(i, UpdateLeaderPosition, [NoInput EXCEPT !.active = a, !.commitInterval = ~Notes(i)])
    /\ \/ channel' # channel
       \/ member'[i] # member[i]

TETakeAppendEntry(i) ==
    LET k == member[i].publicationPosition + 1
    IN  /\ ClientEntries /\ Closed(member[i], "LEADER")
        /\ NoUrgency /\ BoundAppend(k)
        /\ Tick(i, AppendEntry, [NoInput EXCEPT !.position = k])

TETakeEnterElection(i) ==
    /\ member[i].electionState = "CLOSED"
    /\ NoUrgency /\ BoundEnterElection(i)
    /\ Tick(i, EnterElection, NoInput)

TEBoundRestart(i) == i \in Fragile /\ auxFaults < MaxFaults
TEBoundError(i) == TEBoundRestart(i) /\ member[i].electionState \in {"LEADER_READY", "FOLLOWER_READY"}
TEAnyInterval(i) == TRUE
TEAcceptedSets(i) == {{j} : j \in Members \ {i}}
TEAnswerSets(j) == ActiveSets(j)
TEIntervalOrTimeout(i) == {Interval(TRUE), Timeout}
TELeaderTick(i) ==
    LET heard(a) == [NoInput EXCEPT !.active = a]
    IN  UNION {{heard(a), [heard(a) EXCEPT !.interval = TRUE], [heard(a) EXCEPT !.commitInterval = TRUE]} :
                   a \in ActiveSets(i)}

\* The candidate of the first term is called member 0. This leaves out nothing, because no rule
\* compares members' ids.
FirstIsZero(i, term) == IF term = 0 THEN i = 0 ELSE MCBoundTerm(i, term)
MovingSets(i) == {a \in SUBSET Members : i \in a}

-----------------------------------------------------------------------------
TEInit ==
    /\ Starts(After(CASE Start = "first" -> <<>>
                      [] Start = "led"  -> FirstLeadership
                      [] Start = "lost" -> LosesItsFollowers
                      [] Start = "won"  -> SecondLeadership))
    /\ auxFaults = 0

\* INV: UrgentMayMove. A property of the reduction, not of the protocol: a member whose step comes
\* first can take it. Otherwise all steps of the others would be cut off.
UrgentMayMove == NoUrgency \/ ENABLED Next

\* Goals: after a crash or a failed election all three members are closed; they are closed in the
\* second term, and have applied the first entries of both terms; a message may arrive before one of
\* an earlier process.
NeverRecovered == ~(auxFaults > 0 /\ \A i \in Members : ClosedElection(i))

NeverSettled ==
    ~(/\ auxFaults > 0
      /\ \A i \in Members : ClosedElection(i) /\ CommittedPrefix(i) = <<0, 1>>)

NeverOvertakes == \A i, j \in Members : MayArrive(i, j) \subseteq {1}

TENextOrRest == Next \/ UNCHANGED <<vars, auxFaults>>
=============================================================================

--------------------------- MODULE MCTwoElections ---------------------------
(***************************************************************************)
(* Two elections, and members that crash: with all hardenings all safety   *)
(* properties, and refinement of AbstractLog.tla.                          *)
(*                                                                         *)
(* The first election is a script (FirstLeadership; MCElection.tla         *)
(* explores what elections of equal logs can do): member 0 leads term 0,   *)
(* the others are closed followers, and it has written the first entry of  *)
(* the term, not recorded by any.  If Start is "lost", members 1 and 2     *)
(* have lost it since.  If Start is "won", the second one is a script as   *)
(* well (SecondLeadership): members 0 and 2 have recorded the entry, 1 and *)
(* 2 have lost member 0, and 2 has won term 1 with the vote of 1.          *)
(*                                                                         *)
(* From there everything is explored: what is recorded where, reported and *)
(* committed; members of Impatient lose their leader at any time and as    *)
(* often as they like, and come back to it; those of Candidates stand, in  *)
(* term 1; up to MaxFaults times a member of Fragile crashes, at any       *)
(* point, and starts again; the old leader lives on or learns of the new   *)
(* one; the new one opens its term and writes its first entry, which is    *)
(* committed and applied.  With ClientEntries leaders write further        *)
(* entries, up to MaxPosition in all.                                      *)
(*                                                                         *)
(* MCTwoTerms begins at the first start, and at any step its leaders hear  *)
(* of any members (MovingSets), as those of MCTwoElectionsMoving do.       *)
(* MCTwoTermsFailing begins there too; in    *)
(* the place of a crash the election of a member fails in LEADER_READY or  *)
(* FOLLOWER_READY, also in the cycle that should close it (TEBoundError).  *)
(*                                                                         *)
(* Each step is one of Cluster.tla, within the bounds of the               *)
(* configuration, after which messages are lost; but for one, which point  *)
(* 4 names.  So what is found here Cluster can do: MCStepsOfCluster checks *)
(* that.  That nothing of Cluster is missed is argued below and checked by *)
(* nothing: what bounds the search, each with the reason why it loses      *)
(* nothing that the properties could see, or with what it leaves out.      *)
(*                                                                         *)
(* 1. What would change nothing is not sent.  A message that its receiver  *)
(*    would ignore, were it to arrive at once, is dropped (Matters), and   *)
(*    so is a step of a leader that changes nothing.  A periodic message   *)
(*    is sent again and again, so whatever matters later can be sent       *)
(*    later.  What this leaves out is a message that was idle talk when it *)
(*    was sent and no longer is when it comes, and that its sender would   *)
(*    not send any more.                                                   *)
(*                                                                         *)
(* 2. MaxUnderWay messages are under way at once, any that fit; others are *)
(*    lost.  Of two that a step sends to one member either may be kept.    *)
(*    Every message may be lost anyway.  Left out is what needs            *)
(*    more of them at once: with one, no message is so slow that others    *)
(*    are sent and arrive meanwhile; with two, one may be.  HZ3 and HZ8    *)
(*    are about a slow message.                                            *)
(*                                                                         *)
(* 3. Local steps come first (TEUrgent), but for FOLLOWER_READY while an   *)
(*    election may fail there.  Each of them reads and changes             *)
(*    nothing but the member's own state, or reads of its leader only that *)
(*    it leads.  What it sends can be sent before or after as well: the    *)
(*    report of FOLLOWER_READY is repeated by UpdateFollowerPosition, what *)
(*    a leader says in LEADER_REPLAY it says in LEADER_READY too.  What    *)
(*    could arrive between has the same effect before or after, or is      *)
(*    ignored, as if it were lost.  A crash between finds on disk what a   *)
(*    crash before or after them finds: where one of them opens a term,    *)
(*    the archive has recorded nothing of it yet.  What they consume they  *)
(*    consume earlier, so a committed entry that is lost, or two that      *)
(*    differ, are seen earlier, not later.  A nomination deadline passes   *)
(*    at once: who votes or canvasses in NOMINATE does in CANVASS what it  *)
(*    would do there.                                                      *)
(*                                                                         *)
(* 4. A ballot request goes to one member at a time; a leader announces    *)
(*    itself or says what is committed, not both in one step: two steps    *)
(*    do the same.  A leader hears of ActiveSets.  A member that may not   *)
(*    stand goes on canvassing where it would stand.  In Cluster it would  *)
(*    say the same in NOMINATE, but would no longer be in CANVASS when     *)
(*    messages come: this is more than the protocol allows, and nothing    *)
(*    less.                                                                *)
(*                                                                         *)
(* 5. Left out by choice: errors other than crashes, lost leaders,         *)
(*    truncations and those of TEBoundError; graceful closes; snapshots;   *)
(*    terminations.                                                        *)
(***************************************************************************)
EXTENDS MCRefinement

CONSTANTS
    Start,          \* "first", "led", "lost" or "won"
    ClientEntries,  \* do leaders write more than the first entries of their terms?
    MaxFaults,      \* at most so many crashes and failed elections
    MaxUnderWay

VARIABLE
    auxFaults       \* how often a member has crashed, or an election failed

-----------------------------------------------------------------------------
(***************************************************************************)
(* The network: which of the messages of a step get under way.             *)
(***************************************************************************)
Matters(i, send) ==
    LET j == send.to
        x == [NoInput EXCEPT !.message = send.message, !.active = Members]
    IN  j # i /\ Step(j, member[j], ActionOf(send.message), x) # Ignore(member[j])

HasRoom(ch, i, j) == ch[i][j] = <<>>

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
(***************************************************************************)
(* Local steps, which come first.                                          *)
(***************************************************************************)
Consumes(i) == member[i].commitPosition < Min(ConsumeBound(member[i]), Len(log[i]))

Replays(s) ==
    \/ s.replayStopPosition # NULL_POSITION
    \/ s.commitPosition >= s.appendPosition
    \/ s.notifiedCommitPosition >= s.appendPosition

Connects(i, s) ==
    LET j == s.leaderMemberId
    IN  /\ LeadsInTerm(member[j], s.leadershipTermId)
        /\ IF s.electionState = "FOLLOWER_LOG_AWAIT"
           THEN member[j].publicationPosition >= s.commitPosition
           ELSE member[j].members[i].catchupReplay

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
          [] s.electionState \in {"FOLLOWER_LOG_AWAIT", "FOLLOWER_CATCHUP_AWAIT"} -> Connects(i, s)
          [] s.electionState = "FOLLOWER_CATCHUP" -> Consumes(i)
          [] OTHER -> FALSE

-----------------------------------------------------------------------------
(***************************************************************************)
(* Steps.                                                                  *)
(***************************************************************************)
TETake(i, action, x, ch) ==
    /\ MayAct(i)
    /\ Urgent(i) => action # "RecordLog"
    /\ \E o \in Step(i, member[i], action, x) :
        LET entries == LogAfter(Now, i, o.next)
        IN  /\ member' = [member EXCEPT ![i] = o.next]
            /\ \E c \in Transmissions(ch, i, o.sends) : channel' = c
            /\ log' = [log EXCEPT ![i] = entries]
            /\ hist' = Remember(hist, i, member[i], o.next, o.sends, entries)
            /\ auxFaults' = auxFaults + IF action \in {"Restart", "ElectionError"} THEN 1 ELSE 0

TETakeCanvass(i) ==
    /\ At(member[i], "CANVASS")
    /\ IF BoundTerm(i, member[i].candidateTermId + 1)
       THEN \E x \in IntervalOrTimeout(i) : Tick(i, "Canvass", x)
       ELSE /\ MayAct(i)
            /\ \E c \in Transmissions(channel, i, PublishCanvassPosition(i, member[i])) :
                  channel' = c
            /\ UNCHANGED <<member, log, hist, auxFaults>>

TETakeUpdateLeaderPosition(i) ==
    /\ Closed(member[i], "LEADER")
    /\ \E a \in ActiveSets(i) :
           Tick(i, "UpdateLeaderPosition", [NoInput EXCEPT !.active = a, !.commitInterval = ~Notes(i)])
    /\ \/ channel' # channel
       \/ member'[i] # member[i]

TETakeAppendEntry(i) ==
    LET k == member[i].publicationPosition + 1
    IN  /\ ClientEntries /\ Closed(member[i], "LEADER")
        /\ NoUrgency /\ BoundAppend(k)
        /\ Tick(i, "AppendEntry", [NoInput EXCEPT !.position = k])

TETakeEnterElection(i) ==
    /\ member[i].electionState = "CLOSED"
    /\ NoUrgency /\ BoundEnterElection(i)
    /\ Tick(i, "EnterElection", NoInput)

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

(***************************************************************************)
(* From the first start: who stands in the first term is called 0, which   *)
(* leaves nothing out, as no rule compares members' ids.                   *)
(***************************************************************************)
FirstIsZero(i, term) == IF term = 0 THEN i = 0 ELSE MCBoundTerm(i, term)
MovingSets(i) == {a \in SUBSET Members : i \in a}

-----------------------------------------------------------------------------
TEInit ==
    /\ Starts(After(CASE Start = "first" -> <<>>
                      [] Start = "led"  -> FirstLeadership
                      [] Start = "lost" -> LosesItsFollowers
                      [] Start = "won"  -> SecondLeadership))
    /\ auxFaults = 0

(***************************************************************************)
(* INV: UrgentMayMove.  Not of the protocol but of the reduction: whoever  *)
(* comes first can take a step.  Else all that others do would be cut off. *)
(***************************************************************************)
UrgentMayMove == NoUrgency \/ ENABLED Next

(***************************************************************************)
(* Goals: after a crash or a failed election all three are closed; so in   *)
(* the second term, and have applied the first entries of both.            *)
(***************************************************************************)
NeverRecovered == ~(auxFaults > 0 /\ \A i \in Members : ClosedElection(i))

NeverSettled ==
    ~(/\ auxFaults > 0
      /\ \A i \in Members : ClosedElection(i) /\ CommittedPrefix(i) = <<0, 1>>)
=============================================================================

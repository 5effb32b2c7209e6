------------------------------- MODULE Script -------------------------------
\* Scripts: a model plays a prefix of a behaviour, and continues exhaustively. A hazard often needs
\* two or three elections before it has an effect. A script is a sequence of steps of Cluster.tla,
\* so the cluster at its end is reachable by construction, and a model may begin there (After).
\*
\* A model whose traces show the steps of the script has two scripts: Before, at whose end TLC
\* begins, and Script. The clusters of Script, the tale, are computed once. Then TLC follows Next
\* under one constraint (AsScripted): after a cluster of the tale comes the next cluster of the
\* tale. So each step of a script is a step of Next. An MC module lifts its bounds while the script
\* plays (Playing). TLC stops with the reason if a step of a script is not enabled, or if a script
\* returns to an earlier state: AsScripted could not tell the two moments apart.
\*
\* Both scripts are operators with an unused argument: TLC evaluates an operator without arguments
\* each time it starts, and slowly. TaleInit and After bind what is played with \E and CHOOSE. With
\* LET, TLC would play the script again at each use of the name in an initial predicate.
EXTENDS Properties, TLC

First == Begin       \* redefined by the MC modules
Before(n) == <<>>    \* redefined by the MC modules
Script(n) == <<>>    \* redefined by the MC modules

-----------------------------------------------------------------------------
\* The steps. Each is a sequence of length one, so \o joins them. A silence loses all messages but
\* the ones from i to j. A member that dies keeps its disk.
StepOf(kind, i, j, action, x) == <<[kind |-> kind, i |-> i, j |-> j, action |-> action, x |-> x]>>

Act(i, action, x)            == StepOf("act", i, i, action, x)
Does(i, action)              == Act(i, action, NoInput)
Expires(i, action)           == Act(i, action, Timeout)
Hearing(i, action, a)        == Act(i, action, [NoInput EXCEPT !.active = a])
Repeats(i, action, a)        == Act(i, action, [NoInput EXCEPT !.active = a, !.interval = TRUE])
Commits(i, action, a)        == Act(i, action, [NoInput EXCEPT !.active = a, !.commitInterval = TRUE])
Asks(i, voters)              == Act(i, "CandidateBallot", [NoInput EXCEPT !.accepted = voters])
Restarts(i)                  == StepOf("restart", i, i, "Restart", NoInput)
Arrival(i, j)                == StepOf("arrive", i, j, "", [NoInput EXCEPT !.active = Members])
Loss(i, j)                   == StepOf("lose", i, j, "", NoInput)
SilenceBut(i, j)             == StepOf("silence", i, j, "", NoInput)    \* never in Script
Silence                      == SilenceBut(0, 0)                        \* never in Script
Dies(i)                      == StepOf("die", i, i, "", NoInput)        \* never in Script
Records(i)                   == StepOf("record", i, i, "RecordLog", NoInput)
Reads(i)                     == StepOf("read", i, i, "", NoInput)
Writes(i)                    == StepOf("write", i, i, "AppendEntry", NoInput)
OpensLog(i, a)               == StepOf("write", i, i, "LeaderReady",
                                       [NoInput EXCEPT !.active = a, !.timeout = IsRev149])

RECURSIVE Times(_, _)
Times(n, steps) == IF n = 0 THEN <<>> ELSE steps \o Times(n - 1, steps)

\* Play: the cluster after step p. The sends of a script must satisfy MessagesAreWellFormed, too,
\* although no state of the model has them.
Play(c, p) ==
    LET queue  == c.channel[p.i][p.j]
        m      == IF queue = <<>> THEN Assert(FALSE, <<"nothing is under way", p.i, p.j>>) ELSE Head(queue)
        ends   == c.member[p.j].publicationPosition + 1
        action == IF p.kind = "arrive" THEN ActionOf(m)
                  ELSE IF p.kind # "read" THEN p.action
                  ELSE IF IsTermEvent(c, p.j, c.member[p.j].commitPosition + 1)
                  THEN "OnReplayNewLeadershipTermEvent" ELSE "ConsumeLog"
        x      == CASE p.kind = "arrive" -> [p.x EXCEPT !.message = m]
                    [] p.kind = "read"   -> Consume1(c, p.j)
                    [] p.kind = "record" -> Record1(c, p.j)
                    [] p.kind = "write"  -> [p.x EXCEPT !.position = ends]
                    [] OTHER             -> p.x
        ch     == CASE p.kind = "arrive"  -> Receive(c.channel, p.i, p.j, 1)
                    [] p.kind = "restart" -> LoseAllTo(c.channel, p.j)
                    [] OTHER              -> c.channel
        after  == Taken(c, p.j, LAMBDA i, s, y : Step(i, s, action, y), x, ch)
    IN  IF p.kind = "silence" THEN [c EXCEPT !.channel = [NoChannels EXCEPT ![p.i][p.j] = queue]]
        ELSE IF p.kind = "die" THEN [c EXCEPT !.member[p.j] = Disk(@)]
        ELSE IF p.kind = "lose" THEN [c EXCEPT !.channel = Receive(@, p.i, p.j, 1)]
        ELSE IF after = {}
        THEN Assert(FALSE, <<"the script stops at", p.j, action, c.member[p.j].electionState>>)
        ELSE LET d == CHOOSE d \in after : TRUE
             IN  IF AreWellFormed(d.channel) THEN d ELSE Assert(FALSE, <<"not well-formed", d.channel>>)

\* Plain: c itself. TLC evaluates a function only when it is applied, and fails on functions that
\* were changed many times. It evaluates a state of a behaviour at once, and this operator, too.
Plain(c) ==
    LET records(i) == TLCEval([j \in Members |-> c.member[i].members[j]])
        queues(i)  == TLCEval([j \in Members |-> c.channel[i][j]])
    IN  [member  |-> TLCEval([i \in Members |-> [c.member[i] EXCEPT !.members = records(i)]]),
         channel |-> TLCEval([i \in Members |-> queues(i)]),
         log     |-> TLCEval([i \in Members |-> c.log[i]]),
         hist    |-> c.hist]

\* Played: the clusters so far, then the one after each step. The halves of a script are played one
\* after the other, so that Java's usual stack suffices for a long one.
RECURSIVE Played(_, _)
Played(clusters, script) ==
    LET half == Len(script) \div 2
    IN  CASE script = <<>>   -> clusters
          [] Len(script) = 1 -> Append(clusters, TLCEval(Plain(Play(clusters[Len(clusters)], script[1]))))
          [] OTHER           ->
                CHOOSE all \in {TLCEval(Played(begin, SubSeq(script, half + 1, Len(script)))) :
                                    begin \in {TLCEval(Played(clusters, SubSeq(script, 1, half)))}} : TRUE

After(script) ==
    CHOOSE c \in {clusters[Len(clusters)] : clusters \in {Played(<<First>>, script)}} : TRUE

StartsAfter(scripts) == \E c \in {After(scripts[k]) : k \in DOMAIN scripts} : Starts(c)

\* Parts of scripts.
\* Stands: j canvasses, i runs for election in the next term, j votes for it, and i wins when the
\* ballot times out.
\* Elected: the same with a sequence of followers, which have the leader's log and n entries to
\* replay, as the leader has. It ends when all are closed and the leader has written the first entry
\* of its term, which no member has recorded. In the revision upstream-fix a vote is not a report:
\* the followers report before the leader replays. With HZ5 the followers act first: they open the
\* term, and report so.
\* Advances: closed leader i notes the end of its own recording, then commits; a leader of 1.49 does
\* both in one step.
\* HearEachOther: i and j canvass and hear each other.
\* GivesUp: the election of i fails, and it canvasses again.
Stands(i, j) ==
    Repeats(j, "Canvass", Members) \o Arrival(j, i) \o Expires(i, "Canvass") \o Expires(i, "Nominate")
    \o Asks(i, {j}) \o Arrival(i, j) \o Arrival(j, i) \o Expires(i, "CandidateBallot")

Joins(i, j, n) ==
    Does(j, "FollowerReplay")
    \o (IF n = 0 THEN <<>> ELSE Times(n, Reads(j)) \o Does(j, "FollowerReplay"))
    \o Does(j, "FollowerLogInit") \o Does(j, "FollowerLogAwait") \o Does(j, "FollowerReady")
    \o Arrival(j, i)

Prepares(i, n) ==
    Hearing(i, "LeaderReplay", Members)
    \o (IF n = 0 THEN <<>> ELSE Times(n, Reads(i)) \o Hearing(i, "LeaderReplay", Members))
    \o Does(i, "LeaderInit")

Advances(i, a) == Times(IF IsRev149 THEN 1 ELSE 2, Hearing(i, "UpdateLeaderPosition", a))

RECURSIVE Each(_, _)
Each(F(_), members) == IF members = <<>> THEN <<>> ELSE F(Head(members)) \o Each(F, Tail(members))

Reports(i, j) == Repeats(j, "FollowerReplay", {}) \o Arrival(j, i)

Elected(i, followers, n) ==
    LET Hears(j) == Arrival(i, j)
        Says(j) == Reports(i, j)
        Enters(j) == Joins(i, j, n)
        won == Stands(i, followers[1]) \o Silence \o Repeats(i, "LeaderLogReplication", Members)
               \o Each(Hears, followers) \o Silence
        reported == IF ~IsUpstreamFix \/ n = 0 THEN <<>>
                    ELSE Each(Says, followers) \o Commits(i, "LeaderLogReplication", Members)
                         \o Each(Hears, followers) \o Silence
        first == IF n = 0 THEN Each(Enters, followers) ELSE Each(Says, followers)
        later == IF n = 0 THEN <<>>
                 ELSE Commits(i, "LeaderReady", Members) \o Each(Hears, followers) \o Silence
                      \o Each(Enters, followers)
    IN  won \o (IF IsHardened("HZ5")
                THEN first \o Silence \o Hearing(i, "LeaderLogReplication", Members)
                     \o Prepares(i, n) \o Silence \o later
                ELSE reported \o Prepares(i, n) \o Silence \o Each(Enters, followers))
        \o OpensLog(i, Members)

HearEachOther(i, j) ==
    Repeats(i, "Canvass", Members) \o Arrival(i, j) \o Silence
    \o Repeats(j, "Canvass", Members) \o Arrival(j, i) \o Silence

GivesUp(i) == Does(i, "ElectionError") \o Does(i, "ElectionInit")

EnterElections(members) == LET Enters(j) == Does(j, "EnterElection") IN Each(Enters, members)

-----------------------------------------------------------------------------
\* The behaviour: the script, then Next.
TALE == 7    \* the register of TLC that holds the tale
Tale == TLCGet(TALE)

TaleInit ==
    \E tale \in {Played(<<After(Before(0))>>, Script(0))} :
        /\ Assert(\A k \in DOMAIN tale : \A n \in 1 .. (k - 1) : tale[k] # tale[n],
                  "the script comes back to a state of its own")
        /\ TLCSet(TALE, tale)
        /\ Starts(tale[1])

Playing == \E k \in 1 .. (Len(Tale) - 1) : Now = Tale[k]

AsScripted ==
    \A k \in 1 .. (Len(Tale) - 1) :
        Now = Tale[k] => Now' = Tale[k + 1]
=============================================================================

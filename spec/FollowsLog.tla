----------------------------- MODULE FollowsLog -----------------------------
\* The cluster with all hardenings follows Log.tla, which is proved for any number of members, terms
\* and logEntries.
\*
\* The variables of Log are history variables here. After each step of the cluster they catch up:
\* for each thing that the step did, they take the action of Log that does it. If no action of Log
\* does it, the history cannot catch up: StepsAreOfLog is violated. So Log.tla alone says what is
\* allowed. A step of the cluster may be several steps of Log: who wins a term opens it and counts
\* itself, too.
\*
\* A report is what a member sends to the newest leader about that leader's term: an AppendPosition,
\* or a CanvassPosition of a member that has voted in no newer term. It counts when it is sent. A
\* leader reports to itself. A leader commits once it has left LEADER_LOG_REPLICATION: before, its
\* commit position is that of an older term.
EXTENDS MCBounds

VARIABLES promises, lastTerms, logEnds, logEntries, openedTerms, ballots, electedTerms, bases, tips,
          streams, counted, commits

history == <<promises, lastTerms, logEnds, logEntries, openedTerms, ballots, electedTerms, bases, tips,
             streams, counted, commits>>

Terms     == NULL_VALUE .. MaxTerm + 1
Positions == 0 .. MaxPosition

L == INSTANCE Log WITH
    Quorums <- {q \in SUBSET Members : Cardinality(q) >= Quorum},
    promised <- promises, lastTerm <- lastTerms, end <- logEnds, log <- logEntries,
    recordingLog <- openedTerms, votes <- ballots, elected <- electedTerms, base <- bases,
    tip <- tips, stream <- streams, reports <- counted, committed <- commits

HistoryInit ==
    /\ promises = [i \in Members |-> NULL_VALUE]
    /\ lastTerms = [i \in Members |-> NULL_VALUE]
    /\ logEnds = [i \in Members |-> 0]
    /\ logEntries = {}
    /\ openedTerms = {<<i, NULL_VALUE, 0>> : i \in Members}
    /\ ballots = {}
    /\ electedTerms = {}
    /\ bases = [t \in Terms |-> 0]
    /\ tips = [t \in Terms |-> 0]
    /\ streams = {}
    /\ counted = {}
    /\ commits = {}
-----------------------------------------------------------------------------
\* What the cluster has done and the history lacks.
NewVotes == {v \in hist.votes : \A known \in ballots : SubSeq(known, 1, 3) # v}

NewLeaders == {l \in hist.leaders : l[1] \notin electedTerms}

NewestTerm(j) ==
    LET led == {l[1] : l \in {l \in hist.leaders : l[2] = j}}
    IN  IF led = {} THEN NULL_VALUE ELSE CHOOSE t \in led : \A u \in led : u <= t

Leads(j, t) == t # NULL_VALUE /\ t = NewestTerm(j) /\ IsPublisher(member[j])

Writers == {j \in Members : \E t \in electedTerms : Leads(j, t) /\ member[j].publicationPosition > tips[t]}

Cutters == {i \in Members : Len(log[i]) < logEnds[i]}

Recorders == {i \in Members : Len(log[i]) > logEnds[i]}

NewTerms(i) ==
    {entry.leadershipTermId : entry \in
        {entry \in {member[i].recordingLog[k] : k \in DOMAIN member[i].recordingLog} :
            <<i, entry.leadershipTermId, entry.termBaseLogPosition>> \notin openedTerms}}

Openers == {i \in Members : NewTerms(i) # {}}

\* Whether a message to the leader of term t is a report in that term of its position.
IsReport(m, t) ==
    CASE m.type = "AppendPosition"  -> m.leadershipTermId = t
      [] m.type = "CanvassPosition" -> m.logLeadershipTermId = t /\ m.leadershipTermId <= t
      [] OTHER                      -> FALSE

Reported(i, j, t) ==    \* the positions that i has under way to the leader j of term t
    IF i = j THEN IF Leads(j, t) THEN {member[j].members[j].logPosition} ELSE {}
    ELSE {channel[i][j][k].logPosition : k \in {k \in DOMAIN channel[i][j] : IsReport(channel[i][j][k], t)}}

IsNewReport(i, t, p) == t \in electedTerms /\ bases[t] <= p /\ <<i, t, p>> \notin counted

Reporters ==
    {<<i, t>> \in Members \X electedTerms :
        \E j \in Members : NewestTerm(j) = t /\ \E p \in Reported(i, j, t) : IsNewReport(i, t, p)}

HasQuorum(s) == s.electionState \in {"LEADER_REPLAY", "LEADER_INIT", "LEADER_READY", "CLOSED"}

Committers ==
    {j \in Members : \E t \in electedTerms :
        /\ Leads(j, t) /\ HasQuorum(member[j])
        /\ bases[t] <= member[j].commitPosition /\ <<t, member[j].commitPosition>> \notin commits}

Settled ==
    /\ NewVotes = {} /\ NewLeaders = {} /\ Writers = {} /\ Cutters = {} /\ Openers = {}
    /\ Recorders = {} /\ Reporters = {} /\ Committers = {}
-----------------------------------------------------------------------------
\* The actions of Log that the history takes, first things first.
OneOf(set) == CHOOSE i \in set : TRUE

TakeVote ==
    LET own == {v \in NewVotes : v[1] = v[3]}
        v   == OneOf(IF own # {} THEN own ELSE NewVotes)
        c   == v[3]
    IN  IF own # {} THEN L!Vote(c, v[2], c, member[c].logLeadershipTermId, member[c].appendPosition)
        ELSE \E known \in ballots :
                /\ known[1] = c /\ known[2] = v[2] /\ known[3] = c
                /\ L!Vote(v[1], v[2], c, known[4], known[5])

TakeWin ==
    LET l == OneOf(NewLeaders)
    IN  \E Q \in SUBSET Members : Cardinality(Q) = Quorum /\ L!Win(l[2], l[1], Q)

TakeAppend ==
    LET j == OneOf(Writers) IN L!Append(NewestTerm(j), member[j].publicationPosition)

TakeTruncate ==
    LET i == OneOf(Cutters)
    IN  \E t \in electedTerms : L!Truncate(i, t, Len(log[i]), LastTerm(member[i].recordingLog))

TakeOpen ==
    LET i == OneOf(Openers)
        x == CHOOSE x \in NewTerms(i) : \A y \in NewTerms(i) : x <= y
    IN  /\ \E t \in electedTerms : L!Open(i, t, x)
        /\ <<i, x, FindTermEntry(member[i].recordingLog, x).termBaseLogPosition>> \in openedTerms'

TakeCopy ==
    LET i == OneOf(Recorders)
    IN  \E t \in electedTerms :
            /\ L!Copy(i, t, Len(log[i]))
            /\ \A k \in DOMAIN log[i] : <<i, k, log[i][k]>> \in logEntries'

TakeReport == LET r == OneOf(Reporters) IN L!Report(r[1], r[2])

TakeCommit ==
    LET j == OneOf(Committers)
    IN  \E Q \in SUBSET Members :
            Cardinality(Q) = Quorum /\ L!Commit(NewestTerm(j), member[j].commitPosition, Q)

CatchUp ==
    IF NewVotes # {} THEN TakeVote
    ELSE IF NewLeaders # {} THEN TakeWin
    ELSE IF Writers # {} THEN TakeAppend
    ELSE IF Cutters # {} THEN TakeTruncate
    ELSE IF Openers # {} THEN TakeOpen
    ELSE IF Recorders # {} THEN TakeCopy
    ELSE IF Reporters # {} THEN TakeReport
    ELSE TakeCommit

FollowsNext == IF Settled THEN NextOrRest /\ UNCHANGED history ELSE CatchUp /\ UNCHANGED vars

\* A story from the first start on comes first. The history of a story must be complete, so TLC
\* plays all of it.
Story(n) == <<>>    \* redefined by the MC modules; the argument is unused, as in Script.tla

StoryInit ==
    \E tale \in {Played(<<First>>, Story(0))} :
        TLCSet(TALE, tale) /\ Starts(tale[1]) /\ HistoryInit

StoryPlaces == {k \in DOMAIN Tale : Now = Tale[k]}

Place == IF StoryPlaces = {} THEN Len(Tale) ELSE CHOOSE k \in StoryPlaces : \A n \in StoryPlaces : n <= k

PlaysStory == Place < Len(Tale)

StoryNext ==
    IF Settled /\ PlaysStory THEN Becomes(Tale[Place + 1]) /\ UNCHANGED history ELSE FollowsNext

\* INV: StepsAreOfLog. Log allows what the cluster has done.
StepsAreOfLog == Settled \/ ENABLED CatchUp

\* INV: HistoryIsTrue. The history has the logs of the cluster, and the terms that its members have
\* opened.
HistoryIsTrue ==
    Settled =>
        \A i \in Members :
            /\ logEnds[i] = Len(log[i]) /\ lastTerms[i] = LastTerm(member[i].recordingLog)
            /\ {e \in logEntries : e[1] = i} = {<<i, k, log[i][k]>> : k \in DOMAIN log[i]}
            /\ Cardinality({r \in openedTerms : r[1] = i}) = Len(member[i].recordingLog) + 1
=============================================================================

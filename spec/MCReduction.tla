---------------------------- MODULE MCReduction -----------------------------
\* A switch between the reduced cluster of MCTwoElections and MCFrom, and Cluster.tla.
\*
\* A configuration replaces an operator everywhere, also in instances. So each operator that the
\* configuration of MCTwoElections redefines is redefined here by a switch: if Reduced, it is the
\* operator of MCTwoElections, else the one of Cluster, which Own!Take and similar names still
\* denote. Both sides have the Bound operators of the configuration. If not Reduced, nothing is
\* urgent and ActiveSets has all sets of members, as in Cluster itself.
EXTENDS MCFrom

CONSTANT Reduced

Own == INSTANCE Cluster

\* LossyTake: Cluster's Take, and the loss of any messages. Cluster loses the first message of a
\* channel (Lose), a later one when its turn comes; no step reads it before, and the arriving
\* messages are the same. To save time, the case that no message is lost comes first.
RECURSIVE IsPart(_, _)
IsPart(a, b) ==    \* is a equal to b without some of its elements?
    \/ a = <<>>
    \/ b # <<>> /\ IsPart(IF Head(a) = Head(b) THEN Tail(a) ELSE a, Tail(b))

Loses(from, to) == \A i, j \in Members : IsPart(to[i][j], from[i][j])

LossyTake(i, A(_, _, _), x, ch) ==
    /\ \A j \in Members \ {i} : member'[j] = member[j]
    /\ MayAct(i)
    /\ \E c \in Taken(Now, i, A, x, ch) :
        /\ member' = c.member /\ log' = c.log /\ hist' = c.hist
        /\ Loses(c.channel, channel')

\* The only step that Cluster does not have. A member that may open no further term stays in
\* CANVASS, and sends there the messages of NOMINATE.
GoesOnCanvassing(i) ==
    /\ At(member[i], "CANVASS") /\ ~BoundTerm(i, member[i].candidateTermId + 1)
    /\ UNCHANGED <<member, log, hist>>
    /\ \E o \in Nominate(i, [member[i] EXCEPT !.electionState = "NOMINATE"], Interval(TRUE)) :
           Loses(Transmit(channel, i, o.sends), channel')

\* In MCFrom lost messages may be before an arriving message in its channel. Cluster loses them
\* first (Lose), without reading them.
LossyArrival(i, j) == DOMAIN channel[i][j]

-----------------------------------------------------------------------------
REActiveSets(i) == IF Reduced THEN MovingSets(i) ELSE Own!ActiveSets(i)
REAcceptedSets(i) == IF Reduced THEN TEAcceptedSets(i) ELSE Own!AcceptedSets(i)
REAnswerSets(j) == IF Reduced THEN TEAnswerSets(j) ELSE Own!AnswerSets(j)
REIntervalOrTimeout(i) == IF Reduced THEN TEIntervalOrTimeout(i) ELSE Own!IntervalOrTimeout(i)
RELeaderTick(i) == IF Reduced THEN TELeaderTick(i) ELSE Own!LeaderTick(i)
REUrgent(i) == IF Reduced THEN TEUrgent(i) ELSE Own!Urgent(i)
REMayArrive(i, j) == IF Reduced THEN FRMayArrive(i, j) ELSE LossyArrival(i, j)
RETake(i, A(_, _, _), x, ch) == IF Reduced THEN TETake(i, A, x, ch) ELSE LossyTake(i, A, x, ch)
REFail(i, A(_, _, _), x, ch) == IF Reduced THEN TEFail(i, A, x, ch) ELSE LossyTake(i, A, x, ch)
REBoundRecord(i) == IF Reduced THEN TEBoundRecord(i) ELSE Own!BoundRecord(i)
RETakeAppendEntry(i) == IF Reduced THEN TETakeAppendEntry(i) ELSE Own!TakeAppendEntry(i)
RETakeCanvass(i) ==
    IF Reduced THEN TETakeCanvass(i) ELSE Own!TakeCanvass(i) \/ GoesOnCanvassing(i)
RETakeEnterElection(i) == IF Reduced THEN TETakeEnterElection(i) ELSE Own!TakeEnterElection(i)
RETakeUpdateLeaderPosition(i) ==
    IF Reduced THEN TETakeUpdateLeaderPosition(i) ELSE Own!TakeUpdateLeaderPosition(i)
=============================================================================

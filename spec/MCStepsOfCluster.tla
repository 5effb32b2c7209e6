-------------------------- MODULE MCStepsOfCluster --------------------------
\* Each step of the reduced cluster of MCTwoElections is a step of Cluster, so Cluster can do
\* everything else that MCTwoElections and its variants find. This does not show that the reduction
\* leaves out nothing.
\*
\* StepsOfCluster says of each step: in Cluster, within the same bounds on terms, positions, crashes
\* and errors, and with any input that Cluster allows, some member takes an action after which
\* members, logs and history are the same, and, after a loss of messages, the network, too
\* (LossyTake). Its channels have room for any number of messages: with room for one, Cluster would
\* keep the first of two messages to the same member, while the reduction may keep the second.
\* GoesOnCanvassing is the only exception.
EXTENDS MCReduction

Room == 100

Unreduced ==
    INSTANCE MCReduction WITH Reduced <- FALSE, ChannelCapacity <- Room, NetworkCapacity <- Room

StepsOfCluster == [][Unreduced!Next]_vars

\* Mistakes in a reduction that StepsOfCluster must find: a leader writes two entries in one step; a
\* message gets under way twice. A third model takes out GoesOnCanvassing (Never).
WritesTwo(i) ==
    LET k == member[i].publicationPosition + 2
    IN  /\ Closed(member[i], "LEADER")
        /\ NoUrgency /\ BoundAppend(k)
        /\ Tick(i, AppendEntry, [NoInput EXCEPT !.position = k])

SentTwice(ch, i, sends, kept) ==
    IF kept = {} THEN ch
    ELSE LET k == CHOOSE k \in kept : TRUE
         IN  [ch EXCEPT ![i][sends[k].to] = <<sends[k].message, sends[k].message>>]
=============================================================================

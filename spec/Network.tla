------------------------------ MODULE Network -------------------------------
\* The consensus channels: one queue for each ordered pair of members. It may lose messages, but
\* never repeats them. The messages of one process of the sender arrive in their order, as in an
\* Aeron publication while it is connected.
\*
\* A message is lost if the transport refuses it, if an image times out, and mostly if its receiver
\* restarts. Each process of a sender has an image of its own at the receiver, which polls its
\* images in turn. So after a pause it may receive messages of a new process before the rest of the
\* old one's (Subscription.poll; docs/decisions/0015).
\*
\* A channel holds at most ChannelCapacity messages, and all channels together at most
\* NetworkCapacity. A message beyond that is lost. Any message may be lost anyway, so this only
\* bounds how many are under way at once.
EXTENDS Member

CONSTANTS ChannelCapacity, NetworkCapacity

NoChannels == [i \in Members |-> [j \in Members |-> <<>>]]

\* A mark in a channel: the messages before it are of earlier processes of the sender than those
\* after it.
PROCESS_END == [type |-> "ProcessEnd"]

CountMessages(queue) ==
    IF queue = <<>> THEN 0
    ELSE Len(queue) - Cardinality({k \in DOMAIN queue : queue[k] = PROCESS_END})

RECURSIVE Total(_, _)
Total(count, j) == IF j < 0 THEN 0 ELSE count[j] + Total(count, j - 1)

InFlight(channel) ==
    Total([i \in Members |-> Total([j \in Members |-> CountMessages(channel[i][j])], MemberCount - 1)],
          MemberCount - 1)

\* Transmit: the sends of member i enter its channels.
RECURSIVE Transmit(_, _, _)
Transmit(channel, i, sends) ==
    IF sends = <<>> THEN channel
    ELSE LET j    == Head(sends).to
             full == \/ j = i
                     \/ CountMessages(channel[i][j]) >= ChannelCapacity
                     \/ InFlight(channel) >= NetworkCapacity
         IN  Transmit(IF full THEN channel
                      ELSE [channel EXCEPT ![i][j] = Append(@, Head(sends).message)],
                      i, Tail(sends))

\* EndProcess: the network after a process of member i has ended.
EndProcess(channel, i) ==
    LET ended(queue) == IF queue = <<>> THEN queue
                        ELSE IF queue[Len(queue)] = PROCESS_END THEN queue
                        ELSE Append(queue, PROCESS_END)
    IN  [channel EXCEPT ![i] = [j \in Members |-> ended(@[j])]]

\* Without: a queue after the message in place k has arrived. The messages of the same process
\* before it are lost.
Without(queue, k) ==
    LET ends == {e \in 1 .. (k - 1) : queue[e] = PROCESS_END}
        kept == IF ends = {} THEN 0 ELSE CHOOSE e \in ends : \A f \in ends : f <= e
        rest == SubSeq(queue, k + 1, Len(queue))
    IN  SubSeq(queue, 1, kept)
        \o (IF rest # <<>> /\ rest[1] = PROCESS_END THEN Tail(rest) ELSE rest)

Receive(channel, i, j, k) == [channel EXCEPT ![i][j] = Without(@, k)]

\* When a member restarts, either all messages under way to it are lost, or none: what a sender had
\* not yet put on the wire reaches the new process. Messages that the member itself has sent may
\* still arrive.
LoseAllTo(channel, j) == [i \in Members |-> [channel[i] EXCEPT ![j] = <<>>]]
=============================================================================

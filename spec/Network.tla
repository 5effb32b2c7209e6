------------------------------ MODULE Network -------------------------------
(***************************************************************************)
(* The consensus channels: one first-in, first-out queue for each ordered  *)
(* pair of members.  It may lose messages, but never repeats or reorders   *)
(* them.                                                                   *)
(*                                                                         *)
(* An Aeron publication for each pair behaves so while it is connected.  A *)
(* message is lost if the transport refuses it, if an image times out, and *)
(* mostly if its receiver restarts.                                        *)
(*                                                                         *)
(* A channel holds at most ChannelCapacity messages, and all channels      *)
(* together at most NetworkCapacity.  A message beyond that is lost.  Any  *)
(* message may be lost anyway, so this only bounds how many messages are   *)
(* under way at once.                                                      *)
(***************************************************************************)
EXTENDS Member

CONSTANTS ChannelCapacity, NetworkCapacity

NoChannels == [i \in Members |-> [j \in Members |-> <<>>]]

RECURSIVE Total(_, _)
Total(count, j) == IF j < 0 THEN 0 ELSE count[j] + Total(count, j - 1)

InFlight(channel) ==
    Total([i \in Members |-> Total([j \in Members |-> Len(channel[i][j])], MemberCount - 1)],
          MemberCount - 1)

(***************************************************************************)
(* Transmit(channel, i, sends): the sends of member i enter its channels.  *)
(***************************************************************************)
RECURSIVE Transmit(_, _, _)
Transmit(channel, i, sends) ==
    IF sends = <<>> THEN channel
    ELSE LET j    == Head(sends).to
             full == \/ j = i
                     \/ Len(channel[i][j]) >= ChannelCapacity
                     \/ InFlight(channel) >= NetworkCapacity
         IN  Transmit(IF full THEN channel
                      ELSE [channel EXCEPT ![i][j] = Append(@, Head(sends).message)],
                      i, Tail(sends))

(***************************************************************************)
(* Receive(channel, i, j, k): the network after the message in place k of  *)
(* a channel has arrived.  The messages before it are lost.                *)
(***************************************************************************)
Receive(channel, i, j, k) == [channel EXCEPT ![i][j] = SubSeq(@, k + 1, Len(@))]

(***************************************************************************)
(* When a member restarts, either all messages under way to it are lost,   *)
(* or none: messages that a sender had not yet put on the wire reach the   *)
(* new process.  Messages that the member itself has sent may still        *)
(* arrive.                                                                 *)
(***************************************************************************)
LoseAllTo(channel, j) == [i \in Members |-> [channel[i] EXCEPT ![j] = <<>>]]
=============================================================================

------------------------------ MODULE Network -------------------------------
(***************************************************************************)
(* The consensus channels: one for each ordered pair of members, first in, *)
(* first out, that may lose messages but never repeats or reorders them.   *)
(*                                                                         *)
(* That is what one Aeron publication for each pair gives while it is      *)
(* connected.  A message is lost when the transport refuses it, when an    *)
(* image times out, and mostly when its receiver restarts.                 *)
(*                                                                         *)
(* A channel holds at most ChannelCapacity messages, all together at most  *)
(* NetworkCapacity, and a send beyond that is lost.  Every message may be  *)
(* lost anyway, so this bounds how much is under way at once, and nothing  *)
(* else.                                                                   *)
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
(* Transmit(channel, i, sends): what member i sends enters its channels.   *)
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
(* Receive(channel, i, j, k): what is left when the message in place k of  *)
(* a channel has arrived.  Messages before it are lost.                    *)
(***************************************************************************)
Receive(channel, i, j, k) == [channel EXCEPT ![i][j] = SubSeq(@, k + 1, Len(@))]

(***************************************************************************)
(* Of what was on its way to a member that restarts all may be lost, or    *)
(* nothing: what its sender had not put on the wire yet comes to the new   *)
(* process.  What it had sent itself may still arrive.                     *)
(***************************************************************************)
LoseAllTo(channel, j) == [i \in Members |-> [channel[i] EXCEPT ![j] = <<>>]]
=============================================================================

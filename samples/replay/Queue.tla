------------------------------- MODULE Queue --------------------------------
(* A FIFO queue between a producer and a consumer, which may miss an item. *)
EXTENDS Integers, Sequences
VARIABLES queue, produced, consumed

Init == queue = <<>> /\ produced = 0 /\ consumed = {}

Put  == /\ Len(queue) < 2
        /\ produced' = produced + 1
        /\ queue' = Append(queue, [item |-> produced + 1])
        /\ UNCHANGED consumed
Take == /\ queue # <<>>
        /\ queue' = Tail(queue)
        /\ consumed' = consumed \cup {Head(queue).item}
        /\ UNCHANGED produced
Lose == /\ queue # <<>>
        /\ queue' = Tail(queue)
        /\ UNCHANGED <<produced, consumed>>

Next == Put \/ Take \/ Lose
Spec == Init /\ [][Next]_<<queue, produced, consumed>>

Bound == produced < 4
=============================================================================

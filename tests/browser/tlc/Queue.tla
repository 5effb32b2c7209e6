---- MODULE Queue ----
EXTENDS Naturals, Sequences
CONSTANT Most
VARIABLES queue, taken
vars == <<queue, taken>>
Init == queue = <<>> /\ taken = {}
Next == queue' = Append(queue, 1) /\ UNCHANGED taken

Safe ==
    /\ Len(queue) <= Most
    /\ LET last == queue[Len(queue)]  \* the newest
       IN  queue # <<>> => (last > 0 /\
                            last \notin taken)
    /\ \A k \in DOMAIN queue : \A n \in (1 .. k) :
         /\ queue[k] = 0 => taken = {}
         /\ n = k \/ \E x \in taken : x = queue[n]

Grows == Len(queue') >= Len(queue) /\ (\A x \in taken : x \in taken')
OnlyGrows == [][Grows]_vars
Ends == <>(queue = <<>>)
====

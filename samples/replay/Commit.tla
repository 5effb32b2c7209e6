------------------------------- MODULE Commit -------------------------------
(* A coordinator asks each worker; all commit if each of them is ready.    *)
EXTENDS Integers, FiniteSets
CONSTANT Workers
VARIABLES state, decision, sent

Init == /\ state = [w \in Workers |-> "working"]
        /\ decision = "none"
        /\ sent = {}

Ready(w) == /\ state[w] = "working"
            /\ state' = [state EXCEPT ![w] = "ready"]
            /\ sent' = sent \cup {[kind |-> "ready", from |-> w]}
            /\ UNCHANGED decision

GiveUp(w) == /\ state[w] = "working"
             /\ state' = [state EXCEPT ![w] = "aborted"]
             /\ UNCHANGED <<decision, sent>>

Decide(d) == /\ decision = "none"
             /\ d = "commit" => \A w \in Workers : [kind |-> "ready", from |-> w] \in sent
             /\ decision' = d
             /\ UNCHANGED <<state, sent>>

Learn(w) == /\ decision # "none"
            /\ state[w] \in {"working", "ready"}
            /\ state' = [state EXCEPT ![w] = IF decision = "commit" THEN "committed" ELSE "aborted"]
            /\ UNCHANGED <<decision, sent>>

Next == \/ \E w \in Workers : Ready(w) \/ GiveUp(w) \/ Learn(w)
        \/ \E d \in {"commit", "abort"} : Decide(d)
Spec == Init /\ [][Next]_<<state, decision, sent>>

Agree == \A v, w \in Workers : ~(state[v] = "committed" /\ state[w] = "aborted")
=============================================================================

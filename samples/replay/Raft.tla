-------------------------------- MODULE Raft --------------------------------
(* Servers elect a leader, which replicates its log. A log is a sequence of *)
(* terms. Requests and their answers are one step.                          *)
EXTENDS Naturals, Sequences, FiniteSets
CONSTANTS Servers, None, MaxTerm, MaxLog
VARIABLES term, role, vote, log

Init == /\ term = [s \in Servers |-> 0]
        /\ role = [s \in Servers |-> "follower"]
        /\ vote = [s \in Servers |-> None]
        /\ log = [s \in Servers |-> <<>>]

LastTerm(s) == IF log[s] = <<>> THEN 0 ELSE log[s][Len(log[s])]
UpToDate(c, v) == \/ LastTerm(c) > LastTerm(v)
                  \/ LastTerm(c) = LastTerm(v) /\ Len(log[c]) >= Len(log[v])

Timeout(s) == /\ role[s] # "leader" /\ term[s] < MaxTerm
              /\ term' = [term EXCEPT ![s] = @ + 1]
              /\ role' = [role EXCEPT ![s] = "candidate"]
              /\ vote' = [vote EXCEPT ![s] = s]
              /\ UNCHANGED log

Grant(v, c) == /\ role[c] = "candidate"
               /\ term[c] > term[v] \/ (term[c] = term[v] /\ vote[v] = None)
               /\ UpToDate(c, v)
               /\ term' = [term EXCEPT ![v] = term[c]]
               /\ role' = [role EXCEPT ![v] = "follower"]
               /\ vote' = [vote EXCEPT ![v] = c]
               /\ UNCHANGED log

Lead(c) == /\ role[c] = "candidate"
           /\ 2 * Cardinality({v \in Servers : vote[v] = c /\ term[v] = term[c]})
                > Cardinality(Servers)
           /\ role' = [role EXCEPT ![c] = "leader"]
           /\ UNCHANGED <<term, vote, log>>

Propose(l) == /\ role[l] = "leader" /\ Len(log[l]) < MaxLog
              /\ log' = [log EXCEPT ![l] = Append(@, term[l])]
              /\ UNCHANGED <<term, role, vote>>

Replicate(l, f) == /\ role[l] = "leader" /\ f # l /\ term[f] <= term[l]
                   /\ term' = [term EXCEPT ![f] = term[l]]
                   /\ role' = [role EXCEPT ![f] = "follower"]
                   /\ vote' = [vote EXCEPT ![f] = IF term[f] < term[l] THEN None ELSE @]
                   /\ log' = [log EXCEPT ![f] = log[l]]

Next == \E s \in Servers : \/ Timeout(s) \/ Lead(s) \/ Propose(s)
                           \/ \E o \in Servers : Grant(s, o) \/ Replicate(s, o)
Spec == Init /\ [][Next]_<<term, role, vote, log>>

OneLeader == \A a, b \in Servers :
                role[a] = "leader" /\ role[b] = "leader" /\ term[a] = term[b] => a = b
=============================================================================

-------------------------------- MODULE Mail --------------------------------
\* Parcels carried between depots: model values, a symmetric set, functions over model values,
\* sets of sequences, sets of sets, and temporal properties.
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS Depots, Parcels, Nowhere

VARIABLES at, routes, pairs
vars == <<at, routes, pairs>>

Symmetry == Permutations(Parcels)

Init == /\ at = [p \in Parcels |-> Nowhere]
        /\ routes = {<<>>}
        /\ pairs = {{}}

Load(p, d) == /\ at[p] = Nowhere
              /\ at' = [at EXCEPT ![p] = d]
              /\ routes' = routes \cup {<<p, d>>}
              /\ pairs' = pairs \cup {{d}}

Move(p, d) == /\ at[p] \notin {Nowhere, d}
              /\ Cardinality(routes) < 3
              /\ at' = [at EXCEPT ![p] = d]
              /\ routes' = routes \cup {<<p, at[p], d>>}
              /\ pairs' = pairs \cup {{at[p], d}}

Next == \E p \in Parcels, d \in Depots : Load(p, d) \/ Move(p, d)

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(\E p \in Parcels, d \in Depots : Load(p, d))

AllLoaded == \A p \in Parcels : at[p] # Nowhere
NotAllLoaded == ~AllLoaded
EventuallyLoaded == <>[]AllLoaded
Delivered == Cardinality(routes) <= 1 + 2 * Cardinality(Parcels)
=============================================================================

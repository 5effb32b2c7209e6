------------------------------- MODULE Lights -------------------------------
\* A crossing of two streets: records, nested functions, strings and tuples.
\* Each street has a lamp and a queue of cars; a lamp changes one colour at a time.
EXTENDS Integers, Sequences

CONSTANT Streets, MaxCars, Careless

VARIABLES lamp, queue, last
vars == <<lamp, queue, last>>

Colours == {"red", "green", "amber"}

TypeOK == /\ lamp \in [Streets -> [colour : Colours, since : {0, 1}]]
          /\ queue \in [Streets -> Seq({"car", "bus"})]

Init == /\ lamp = [s \in Streets |-> [colour |-> "red", since |-> 0]]
        /\ queue = [s \in Streets |-> <<>>]
        /\ last = <<"none", -1, {}>>

Arrive(s) == /\ Len(queue[s]) < MaxCars
             /\ \E kind \in {"car", "bus"} : queue' = [queue EXCEPT ![s] = Append(@, kind)]
             /\ UNCHANGED <<lamp, last>>

Go(s) == /\ lamp[s].colour = "red"
         /\ Careless \/ \A t \in Streets : lamp[t].colour = "red"
         /\ lamp' = [lamp EXCEPT ![s] = [colour |-> "green", since |-> 1]]
         /\ last' = <<"go", 1, {s}>>
         /\ UNCHANGED queue

Slow(s) == /\ lamp[s].colour = "green"
           /\ lamp' = [lamp EXCEPT ![s].colour = "amber"]
           /\ last' = <<"slow \"down\"", 0, {}>>
           /\ UNCHANGED queue

Stop(s) == /\ lamp[s].colour = "amber"
           /\ lamp' = [lamp EXCEPT ![s] = [colour |-> "red", since |-> 0]]
           /\ last' = <<"back\\slash", 0, {s, "x"}>>
           /\ UNCHANGED queue

Pass(s) == /\ lamp[s].colour = "green"
           /\ queue[s] # <<>>
           /\ queue' = [queue EXCEPT ![s] = Tail(@)]
           /\ UNCHANGED <<lamp, last>>

Next == \E s \in Streets : Arrive(s) \/ Go(s) \/ Slow(s) \/ Stop(s) \/ Pass(s)

Spec == Init /\ [][Next]_vars /\ WF_vars(Next)

OneMoves == \A s, t \in Streets : s # t => lamp[s].colour = "red" \/ lamp[t].colour = "red"

NeverQueued == \A s \in Streets : queue[s] = <<>>
EveryoneGoes == \A s \in Streets : []<>(lamp[s].colour = "green")
=============================================================================

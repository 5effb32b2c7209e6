-------------------------------- MODULE Tiny --------------------------------
EXTENDS Integers, Sequences, TinyProperties
CONSTANT Limit

Other(i) == 1 - i

Init == /\ member = [i \in {0, 1} |-> [electionState |-> "CANVASS", candidateTermId |-> -1]]
        /\ channel = [i \in {0, 1} |-> [j \in {0, 1} |-> <<>>]]

Nominate(i) ==
    /\ member[i].electionState = "CANVASS"
    /\ member' = [member EXCEPT ![i] = [electionState |-> "NOMINATE", candidateTermId |-> 0]]
    /\ channel' = [channel EXCEPT ![i][Other(i)] = Append(@, [type |-> "RequestVote", from |-> i])]

Lose(i, j) == /\ channel[i][j] # <<>>
              /\ channel' = [channel EXCEPT ![i][j] = Tail(@)]
              /\ UNCHANGED member

Retry(i) == /\ member[i].electionState = "NOMINATE"
            /\ member[i].candidateTermId < Limit
            /\ member' = [member EXCEPT ![i].candidateTermId = @ + 1]
            /\ UNCHANGED channel

TakeNominate == \E i \in {0, 1} : Nominate(i)
TakeLose     == \E i, j \in {0, 1} : Lose(i, j)
TakeRetry    == \E i \in {0, 1} : Retry(i)

Next == TakeNominate \/ TakeLose \/ TakeRetry
Spec == Init /\ [][Next]_<<member, channel>> /\ WF_<<member, channel>>(TakeNominate)

Settles == <>[](channel[0][1] # <<>>)
=============================================================================

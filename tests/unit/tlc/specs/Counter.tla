------------------------------ MODULE Counter -------------------------------
\* A counter that can be made to fail in each way that TLC tells apart; Mode chooses.
EXTENDS Integers, Sequences, TLC

CONSTANTS Mode, Limit

VARIABLE n

ASSUME LimitIsSmall == Mode = "assumption" => Limit < 0

Init == n = 0

Step == /\ n < Limit
        /\ n' = n + 1
        /\ Mode = "assertion" => Assert(n < 2, <<"too far", n>>)
        /\ Mode = "evaluation" => <<1, 2>>[n + 1] > 0
        /\ Mode = "print" => PrintT(<<"step", n, [to |-> n + 1, why |-> {"a", "b"}]>>)
        /\ Mode = "wide" => PrintT([to |-> n, wide |-> [k \in 10..19 |-> <<"abcdef", {k}>>]])

Wrap == /\ n = Limit
        /\ Mode # "deadlock"
        /\ n' = 0

Next == Step \/ Wrap

Spec == Init /\ [][Next]_n

Small == n <= Limit
NotThree == n # 3
NotZero == n # 0
NotARecord == n.field = 0
ReachesNine == <>(n = 9)
StepRises == [][n' > n]_n
=============================================================================

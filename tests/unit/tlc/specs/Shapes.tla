------------------------------- MODULE Shapes -------------------------------
\* Every kind of value at least once, those that TLC prints in an unexpected way above all.
\* Thing may be given any value; the variable `given` shows what has arrived.
EXTENDS Integers, Sequences, TLC

CONSTANTS Thing, m1, m2

VARIABLES interval, functions, empty, named, texts, given

Init == /\ interval = <<1..3, 5..4, -2..-1>>
        /\ functions = <<[x \in 2..3 |-> x], [x \in {m1, m2} |-> [y \in {<<1>>} |-> {}]]>>
        /\ empty = <<<<>>, {}, [x \in {} |-> x], "">>
        /\ named = <<"a b" :> 1 @@ "" :> 2, [x \in {"TRUE", "_b", "1a"} |-> 0],
                     [b1 |-> 1, b_ |-> -1]>>
        /\ texts = <<"q\"uo", "b\\s", "n\nl", "t\tt", "<<", ",", " @@ ", "/\\ x = 1">>
        /\ given = <<Thing, 2147483647, -2147483647 - 1, TRUE>>

Next == UNCHANGED <<interval, functions, empty, named, texts, given>>
=============================================================================

-------------------------------- MODULE Jugs --------------------------------
(* Two jugs without marks, of three and of five litres.                    *)
EXTENDS Integers
VARIABLES small, big

Least(a, b) == IF a < b THEN a ELSE b

Init == small = 0 /\ big = 0

FillSmall  == small' = 3 /\ UNCHANGED big
FillBig    == big' = 5 /\ UNCHANGED small
EmptySmall == small' = 0 /\ UNCHANGED big
EmptyBig   == big' = 0 /\ UNCHANGED small
SmallToBig == LET poured == Least(small, 5 - big)
              IN  small' = small - poured /\ big' = big + poured
BigToSmall == LET poured == Least(big, 3 - small)
              IN  big' = big - poured /\ small' = small + poured

Next == FillSmall \/ FillBig \/ EmptySmall \/ EmptyBig \/ SmallToBig \/ BigToSmall
Spec == Init /\ [][Next]_<<small, big>>
=============================================================================

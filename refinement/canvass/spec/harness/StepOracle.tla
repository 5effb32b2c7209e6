----------------------------- MODULE StepOracle -----------------------------
(***************************************************************************)
(* Says of given steps whether the spec allows them.                       *)
(*                                                                         *)
(* There is no behaviour here, only an assumption that is evaluated: for   *)
(* each step it prints its number, how many outcomes the spec allows for   *)
(* state, action and input (none or one), and 1 if what was observed is    *)
(* among them.  Where it is not, the spec's own outcomes follow, so that a *)
(* report can say what would have been right.                              *)
(*                                                                         *)
(* A step is a string that IntegersOf reads: member, action, state, state  *)
(* after, input, sends, each part as in Encoding.tla.                      *)
(***************************************************************************)
EXTENDS Encoding, TLC

CONSTANT Steps    \* a sequence of strings

(***************************************************************************)
(* What is sent to different members travels in different channels, so     *)
(* only the order of what one member is sent is compared.                  *)
(***************************************************************************)
SentTo(sends, j) == SelectSeq(sends, LAMBDA e : e.to = j)

SameSends(a, b) ==
    /\ Len(a) = Len(b)
    /\ \A j \in Members : SentTo(a, j) = SentTo(b, j)

(***************************************************************************)
(* Where the parts of a step begin.                                        *)
(***************************************************************************)
BEFORE == 3
After(r) == AfterState(r, BEFORE)
Given(r) == AfterState(r, After(r))

Observed(r) ==
    [next |-> DecodeState(r, After(r)), sends |-> DecodeSends(r, AfterInput(r, Given(r)))]

Allowed(r) ==
    Step(r[1], DecodeState(r, BEFORE), ActionTable[r[2] + 1], DecodeInput(r, Given(r)))

SameOutcome(a, b) == a.next = b.next /\ SameSends(a.sends, b.sends)

Answer(n, text) ==
    LET r        == TLCEval(IntegersOf(text))
        allowed  == Allowed(r)
        observed == Observed(r)
        right    == \E o \in allowed : SameOutcome(o, observed)
    IN  PrintT(<<n, Cardinality(allowed), Bit(right),
                 IF right THEN {}
                 ELSE {<<EncodeState(o.next), EncodeSends(o.sends)>> : o \in allowed}>>)

(***************************************************************************)
(* The sequence is bound once: TLC would evaluate it anew at each use.     *)
(***************************************************************************)
ASSUME LET steps == Steps IN \A n \in DOMAIN steps : Answer(n, steps[n])
=============================================================================

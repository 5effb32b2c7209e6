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
(* A step is <<member, action, state, input, state after, sends>>, each    *)
(* part a tuple of integers as in Encoding.tla, the sends a tuple of       *)
(* <<receiver, message>>.                                                  *)
(***************************************************************************)
EXTENDS Encoding, TLC

CONSTANT Steps    \* a sequence of steps

(***************************************************************************)
(* What is sent to different members travels in different channels, so     *)
(* only the order of what one member is sent is compared.                  *)
(***************************************************************************)
SentTo(sends, j) == SelectSeq(sends, LAMBDA e : e.to = j)

SameSends(a, b) ==
    /\ Len(a) = Len(b)
    /\ \A j \in Members : SentTo(a, j) = SentTo(b, j)

Observed(step) ==
    [next  |-> DecodeState(step[5], 1),
     sends |-> [n \in DOMAIN step[6] |-> [to      |-> step[6][n][1],
                                          message |-> DecodeMessage(step[6][n][2], 1)]]]

Allowed(step) ==
    Step(step[1], DecodeState(step[3], 1), ActionTable[step[2] + 1], DecodeInput(step[4], 1))

SameOutcome(a, b) == a.next = b.next /\ SameSends(a.sends, b.sends)

Judge(n, step) ==
    LET allowed  == Allowed(step)
        observed == Observed(step)
        right    == \E o \in allowed : SameOutcome(o, observed)
    IN  PrintT(<<n, Cardinality(allowed), Bit(right),
                 IF right THEN {}
                 ELSE {<<EncodeState(o.next), EncodeSends(o.sends)>> : o \in allowed}>>)

(***************************************************************************)
(* The sequence is bound once: TLC would evaluate it anew at each use.     *)
(***************************************************************************)
ASSUME LET steps == Steps IN \A n \in DOMAIN steps : Judge(n, steps[n])
=============================================================================

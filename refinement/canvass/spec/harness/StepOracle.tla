----------------------------- MODULE StepOracle -----------------------------
\* Tells for given steps whether the spec allows them.
\*
\* There is no behaviour here, only an assumption that TLC evaluates. For each step it prints the
\* step's number, and 1 if the observed outcome is among those that the spec allows for state,
\* action and input.
\*
\* A step is a string that IntegersOf reads: member, action, state, state after, input, sends, each
\* part as in Encoding.tla.
EXTENDS Encoding, TLC

CONSTANT Steps    \* a sequence of strings

\* Messages to different members are in different channels, so only the order of the messages to one
\* member is compared.
SentTo(sends, j) == SelectSeq(sends, LAMBDA e : e.to = j)

SameSends(a, b) ==
    /\ Len(a) = Len(b)
    /\ \A j \in Members : SentTo(a, j) = SentTo(b, j)

\* The places at which the parts of a step begin.
BEFORE == 3
After(r) == AfterState(r, BEFORE)
Given(r) == AfterState(r, After(r))

Observed(r) ==
    [next |-> DecodeState(r, After(r)), sends |-> DecodeSends(r, AfterInput(r, Given(r)))]

Allowed(r) ==
    Step(r[1], DecodeState(r, BEFORE), ActionTable[r[2] + 1], DecodeInput(r, Given(r)))

SameOutcome(a, b) == a.next = b.next /\ SameSends(a.sends, b.sends)

Answer(n, text) ==
    LET r == TLCEval(IntegersOf(text))
    IN  PrintT(<<n, Bit(\E o \in Allowed(r) : SameOutcome(o, Observed(r)))>>)

\* The sequence is bound once, because TLC would evaluate it again at each use.
ASSUME LET steps == Steps IN \A n \in DOMAIN steps : Answer(n, steps[n])
=============================================================================

----------------------------- MODULE SizeMutants ------------------------------
\* Tests for mistakes about the size of numbers. The rules compare and copy positions and never
\* compute with them. So a step stays a step if all its positions are renamed in order (docs/theory/
\* order-abstraction.md). A rule that knew a number would break this, and with it every verdict on
\* large positions that rests on small ones.
\*
\* The model tries all steps of MemberGraph.tla in the states of a member's lives and one step
\* around them, each also with positions that are further apart. Left out: terms and members, which
\* random steps rename (tests/unit/steps/test_equivariance.py).
EXTENDS MCMemberGraph

PositionFields ==
    {"appendPosition", "catchupJoinPosition", "commitPosition", "logPosition",
     "moduleNotifiedCommitPosition", "nextLogPosition", "nextTermBaseLogPosition",
     "notifiedCommitPosition", "position", "publicationPosition", "recordedPosition",
     "replayStopPosition", "replicationStopPosition", "replicationTermBaseLogPosition",
     "snapshotLogPosition", "snapshotTermBaseLogPosition", "termBaseLogPosition",
     "terminationPosition"}

DrawnApart(position) == IF position <= 0 THEN position ELSE 40 * position + 3

Apart(r) == [f \in DOMAIN r |-> IF f \in PositionFields THEN DrawnApart(r[f]) ELSE r[f]]

ApartState(s) ==
    [Apart(s) EXCEPT !.members = [j \in Members |-> Apart(s.members[j])],
                     !.recordingLog = [k \in DOMAIN s.recordingLog |-> Apart(s.recordingLog[k])]]

ApartInput(x) == [Apart(x) EXCEPT !.message = Apart(x.message)]

ApartOutcome(o) ==
    [next |-> ApartState(o.next),
     sends |-> [k \in DOMAIN o.sends |-> [o.sends[k] EXCEPT !.message = Apart(o.sends[k].message)]]]

\* INV: the steps of a state are the steps of the state with its positions further apart. So a step
\* of production size may be looked up by its small form.
OrderAbstraction ==
    LET apart == ApartState(member)
    IN  \A action \in Actions : \A x \in Inputs[action] :
            Asked(member, action, x) =>
                {ApartOutcome(o) : o \in Step(Self, member, action, x)}
                    = Step(Self, apart, action, ApartInput(x))

-----------------------------------------------------------------------------
\* MUT_LargePositionsCountForNothing: a quorum has recorded nothing beyond a position that the rule
\* knows.
MutQuorumUpTo(position, active) ==
    LET reached(p) == Cardinality({j \in active : position[j] >= p}) >= Quorum
        candidates == {0} \cup {position[j] : j \in active}
        reachable  == {p \in candidates : p = 0 \/ (p > 0 /\ p <= 40 /\ reached(p))}
    IN  CHOOSE p \in reachable : \A q \in reachable : q <= p

=============================================================================

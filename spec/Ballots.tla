------------------------------ MODULE Ballots ------------------------------
\* The ballots of an election, without logs and without messages: who may vote in which term, and
\* who leads. `canvass prove Ballots` shows with Z3 that Lemmas is inductive and implies Safety, for
\* any number of members and terms. MCBallots.tla shows with TLC that Cluster.tla refines this
\* module, within the bounds of its models.
\*
\* A member may vote for any member, asked or not, and a winner may count every vote that was ever
\* cast for it. So this module covers lost, late and overtaken messages.
\*
\* Terms is any total order. Quorums are any sets of members of which each two overlap. Nothing here
\* adds one to a term.
EXTENDS Integers

CONSTANTS Members, Terms, Quorums

ASSUME QuorumsOverlap ==
    \A P, Q \in Quorums : \E i \in Members : i \in P /\ i \in Q

VARIABLES
    persisted,  \* candidate term of each member on its disk
    current,    \* candidate term of each member in its memory
    votes,      \* <<voter, term, candidate>> of each vote ever cast
    leaders     \* <<term, leader>> of each ballot ever won

vars == <<persisted, current, votes, leaders>>

TypeOK ==
    /\ persisted \in [Members -> Terms]
    /\ current \in [Members -> Terms]
    /\ votes \subseteq (Members \X Terms \X Members)
    /\ leaders \subseteq (Terms \X Members)

Init ==
    /\ \A i \in Members : persisted[i] <= current[i]
    /\ votes = {}
    /\ leaders = {}

\* The term in memory becomes any that is not below the one on disk. A restart and the start of an
\* election read the disk. A term learnt from a leader is in memory alone, and a member may forget
\* it.
Learn(i, t) ==
    /\ persisted[i] <= t
    /\ current' = [current EXCEPT ![i] = t]
    /\ UNCHANGED <<persisted, votes, leaders>>

\* Member i decides about term t, for the only time: the term is newer than all that i knows, and it
\* is on disk before anything is sent.
Decide(i, t) ==
    /\ current[i] < t
    /\ persisted' = [persisted EXCEPT ![i] = t]
    /\ current' = [current EXCEPT ![i] = t]

Vote(i, t, c) ==
    /\ Decide(i, t)
    /\ votes' = votes \cup {<<i, t, c>>}
    /\ UNCHANGED leaders

Refuse(i, t) ==
    /\ Decide(i, t)
    /\ UNCHANGED <<votes, leaders>>

\* A quorum has voted for i in its candidate term.
Win(i, Q) ==
    /\ \A j \in Members : j \in Q => <<j, current[i], i>> \in votes
    /\ leaders' = leaders \cup {<<current[i], i>>}
    /\ UNCHANGED <<persisted, current, votes>>

\* The only member of a cluster leads without a ballot.
LeadAlone(i, t) ==
    /\ \A j \in Members : j = i
    /\ persisted[i] <= t
    /\ persisted' = [persisted EXCEPT ![i] = t]
    /\ current' = [current EXCEPT ![i] = t]
    /\ leaders' = leaders \cup {<<t, i>>}
    /\ UNCHANGED votes

Next ==
    \/ \E i \in Members, t \in Terms : Learn(i, t)
    \/ \E i, c \in Members, t \in Terms : Vote(i, t, c)
    \/ \E i \in Members, t \in Terms : Refuse(i, t)
    \/ \E i \in Members, Q \in Quorums : Win(i, Q)
    \/ \E i \in Members, t \in Terms : LeadAlone(i, t)

Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
ElectionSafety ==
    \A t \in Terms, i, j \in Members :
        <<t, i>> \in leaders /\ <<t, j>> \in leaders => i = j

OneVotePerTerm ==
    \A i, c, d \in Members, t \in Terms :
        <<i, t, c>> \in votes /\ <<i, t, d>> \in votes => c = d

Safety ==
    /\ ElectionSafety
    /\ OneVotePerTerm

DiskIsNotAhead == \A i \in Members : persisted[i] <= current[i]

VotesAreOnDisk ==
    \A i, c \in Members, t \in Terms : <<i, t, c>> \in votes => t <= persisted[i]

LeadersHaveQuorums ==
    \A t \in Terms, i \in Members :
        <<t, i>> \in leaders =>
            \/ \A j \in Members : j = i
            \/ \E Q \in Quorums : \A j \in Members : j \in Q => <<j, t, i>> \in votes

Lemmas ==
    /\ DiskIsNotAhead
    /\ VotesAreOnDisk
    /\ OneVotePerTerm
    /\ LeadersHaveQuorums
=============================================================================

------------------------------- MODULE MCFive -------------------------------
\* Five members with all hardenings, by random simulation: behaviours that are much longer and
\* richer than in an exhaustive search. TLC draws each step with equal probability from all possible
\* ones, so a rare event of a cluster must be rare in Next: a member repeats its periodic message
\* only if none of its own is under way, and takes its internal steps first. A failure, a restart, a
\* lost leader, a snapshot, a termination and a lost message are possible in only one of Rarity
\* states, which digits of the state select. (With random draws of its own, TLC could not rebuild a
\* trace.)
EXTENDS MCBounds

CONSTANT Rarity

Digits(i) ==
    7 * InFlight(channel) + 11 * Cardinality(hist.votes) + 13 * member[i].recordedPosition
    + 17 * member[i].candidateTermId + 19 * member[i].members[(i + 1) % MemberCount].logPosition
    + 23 * Len(channel[(i + 2) % MemberCount][i])
MCRarely(i) == (Digits(i) + i) % Rarity = 0
MCRestarts(i) == MCRarely(i) \/ member[i].moduleState = "CLOSED"
MCRarely2(i, j) == (Digits(i) + j) % Rarity = 0
MCActiveSets(i) == {Members} \cup {a \in SUBSET Members : i \in a /\ Cardinality(a) = Quorum}
=============================================================================

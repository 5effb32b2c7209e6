---------------------------- MODULE MCRefinement ----------------------------
\* Two leaderships with all hardenings: every step of the cluster is a step of AbstractLog.tla, or
\* changes nothing there, and all safety properties hold.
\*
\* The first leadership is a script: member 0 leads term 0 with others, whose logs are empty, and
\* writes the first entry. (MCElection.tla explores elections of equal logs.) If Stage is "lost",
\* the others have lost it before they record anything. If Stage is "won", member 2 has recorded the
\* entry, both have lost member 0, and member 2 has won term 1 with the vote of member 1, which
\* lacks the entry.
\*
\* From there all behaviours are explored in which the leaders write up to MaxPosition entries in
\* all, the members of Candidates run for election in terms up to MaxTerm, and, any number of times,
\* the members of Impatient lose their leader or their followers and the members of Fragile restart.
\* One message is under way in a channel and NetworkCapacity in all; further messages are lost. A
\* member repeats its periodic message only if none of its own is under way; a leader hears of all
\* members. Steps without sends that read and change only the member's own state come first.
EXTENDS MCBounds

CONSTANTS Stage, Candidates, Impatient, Fragile

FirstLeadership == Elected(0, <<1, 2>>, 0)
LosesItsFollowers == FirstLeadership \o EnterElections(<<1, 2>>)

SecondLeadership ==
    FirstLeadership \o Records(0) \o Records(2) \o EnterElections(<<1, 2>>) \o Stands(2, 1) \o Silence

MCInit == Starts(After(IF Stage = "lost" THEN LosesItsFollowers ELSE SecondLeadership))

MCBoundTerm(i, term) == term <= MaxTerm /\ i \in Candidates
MCBoundRestart(i) == i \in Fragile
MCBoundEnterElection(i) == i \in Impatient /\ member[i].moduleLeadershipTermId < MaxTerm
=============================================================================

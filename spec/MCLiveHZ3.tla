----------------------------- MODULE MCLiveHZ3 ------------------------------
\* The price of hardening HZ3: a member that lost an election cannot return to a leader of a lower
\* term. In revision upstream-fix it runs for election again after a while, so that leader enters an
\* election.
\*
\* Before the tale member 2 leads term 0 with both others. Member 0 loses it and runs for election
\* in term 1; its request is lost. Member 1, whose canvass had allowed this, has returned to member
\* 2.
EXTENDS MCLive

MCBefore(n) ==
    Elected(2, <<0, 1>>, 0) \o EnterElections(<<0, 1>>)
    \o Repeats(1, "Canvass", {}) \o Arrival(1, 0) \o Arrival(1, 2) \o Expires(0, "Canvass")
    \o Expires(0, "Nominate") \o Expires(0, "CandidateBallot") \o Arrival(2, 1) \o Silence

MCScript(n) == <<>>

OneEntryPerTerm(position) ==
    Playing \/ position <= Cardinality({leader[1] : leader \in hist.leaders})

StaysOut == ~ClosedElection(0)
StandsOnce == ~At(member[0], "NOMINATE")
=============================================================================
